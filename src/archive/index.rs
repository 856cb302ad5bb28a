//! The briefs of all matches in memory, in the order in which lists show them.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use fanout::Micros;
use ingest::event::Sport;

use crate::record::{Brief, Key, Status};

/// Which matches a list is of. What is absent lets everything through.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub sport: Option<Sport>,
    /// From this moment on.
    pub from: Option<Micros>,
    /// Before this moment.
    pub before: Option<Micros>,
    pub competition: Option<Key>,
    pub season: Option<Key>,
    /// Either side.
    pub team: Option<Key>,
    /// Either side is one of these, which were found by a part of their names.
    pub teams: Option<Vec<Key>>,
    /// One of these.
    pub statuses: Option<Vec<Status>>,
    pub round: Option<u16>,
    pub venue: Option<Key>,
    pub referee: Option<Key>,
    pub manager: Option<Key>,
    /// The newest first; else the oldest.
    pub newest_first: bool,
}

/// A page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub offset: usize,
    pub limit: usize,
}

impl Window {
    /// All there is.
    pub const ALL: Self = Self { offset: 0, limit: usize::MAX };
}

/// How many matches a filter lets through, and those in the window.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub count: usize,
    pub briefs: Vec<Arc<Brief>>,
}

/// Sorted by start and id; those without a start come last.
#[derive(Debug, Default)]
pub(super) struct Index {
    briefs: Vec<Arc<Brief>>,
    places: HashMap<Key, (Micros, Key)>,
}

impl Index {
    pub(super) fn of(briefs: Vec<Brief>) -> Self {
        let mut index = Self::default();
        index.extend(briefs);
        index
    }

    /// Adds these, in place of what was there of the same matches.
    pub(super) fn extend(&mut self, briefs: impl IntoIterator<Item = Brief>) {
        let mut added = 0;
        for brief in briefs {
            let order = order(&brief);
            match self.places.insert(brief.id, order) {
                Some(before) if before == order => {
                    if let Ok(place) = self.place(order) {
                        self.briefs[place] = Arc::new(brief);
                        continue;
                    }
                    // One of those that were added just now and are not sorted in yet.
                    let own = self.briefs.iter().rposition(|it| it.id == brief.id);
                    if let Some(own) = own {
                        self.briefs[own] = Arc::new(brief);
                    }
                }
                Some(_) => {
                    self.briefs.retain(|it| it.id != brief.id);
                    self.briefs.push(Arc::new(brief));
                    added += 1;
                }
                None => {
                    self.briefs.push(Arc::new(brief));
                    added += 1;
                }
            }
        }
        if added > 0 {
            // Nearly sorted already, which this sort makes use of.
            self.briefs.sort_by_key(|brief| order(brief));
        }
    }

    fn place(&self, order: (Micros, Key)) -> Result<usize, usize> {
        self.briefs.binary_search_by_key(&order, |brief| self::order(brief))
    }

    pub(super) fn find(&self, filter: &Filter, window: Window) -> Found {
        let first = filter.from.map_or(0, |from| self.first_from(from));
        let last = filter.before.map_or(self.briefs.len(), |before| self.first_from(before));
        let span = self.briefs.get(first..last).unwrap_or_default();
        let mut found = Found { count: 0, briefs: Vec::new() };
        let mut take = |brief: &Arc<Brief>| {
            if filter.lets_through(brief) {
                if found.count >= window.offset && found.briefs.len() < window.limit {
                    found.briefs.push(Arc::clone(brief));
                }
                found.count += 1;
            }
        };
        if filter.newest_first {
            span.iter().rev().for_each(&mut take);
        } else {
            span.iter().for_each(&mut take);
        }
        found
    }

    pub(super) fn get(&self, id: Key) -> Option<Arc<Brief>> {
        self.place(*self.places.get(&id)?).ok().map(|place| Arc::clone(&self.briefs[place]))
    }

    /// As [`Self::find`], but of the matches in `fresh` it is these that count, and not what is kept
    /// of them; and a condition more than a filter has words for.
    pub(super) fn find_under(
        &self,
        fresh: &[Arc<Brief>],
        filter: &Filter,
        window: Window,
        also: impl Fn(&Brief) -> bool,
    ) -> Found {
        let first = filter.from.map_or(0, |from| self.first_from(from));
        let last = filter.before.map_or(self.briefs.len(), |before| self.first_from(before));
        let span = self.briefs.get(first..last).unwrap_or_default();
        let passes = |brief: &Brief| filter.lets_through(brief) && also(brief);
        let known: HashSet<Key> = fresh.iter().map(|brief| brief.id).collect();
        let kept = span.iter().filter(|brief| passes(brief) && !known.contains(&brief.id));
        let is_within = |brief: &Brief| {
            let start = order(brief).0;
            filter.from.is_none_or(|from| from <= start)
                && filter.before.is_none_or(|before| start < before)
        };
        let mut news: Vec<_> =
            fresh.iter().filter(|brief| is_within(brief) && passes(brief)).collect();
        news.sort_unstable_by_key(|brief| order(brief));
        if filter.newest_first {
            let is_first = |a: &Brief, b: &Brief| order(a) > order(b);
            in_window(window, kept.rev(), news.into_iter().rev(), is_first)
        } else {
            in_window(window, kept, news.into_iter(), |a, b| order(a) < order(b))
        }
    }

    fn first_from(&self, moment: Micros) -> usize {
        self.briefs.partition_point(|brief| order(brief).0 < moment)
    }
}

/// Counts two sorted lists as one, and takes what is in the window of it.
fn in_window<'a>(
    window: Window,
    kept: impl Iterator<Item = &'a Arc<Brief>>,
    news: impl Iterator<Item = &'a Arc<Brief>>,
    is_first: impl Fn(&Brief, &Brief) -> bool,
) -> Found {
    let (mut kept, mut news) = (kept.peekable(), news.peekable());
    let mut found = Found { count: 0, briefs: Vec::new() };
    loop {
        let takes_kept = match (kept.peek(), news.peek()) {
            (Some(a), Some(b)) => is_first(a, b),
            (Some(_), None) => true,
            (None, _) => false,
        };
        let Some(brief) = (if takes_kept { kept.next() } else { news.next() }) else {
            return found;
        };
        if found.count >= window.offset && found.briefs.len() < window.limit {
            found.briefs.push(Arc::clone(brief));
        }
        found.count += 1;
    }
}

fn order(brief: &Brief) -> (Micros, Key) {
    (brief.start.unwrap_or(Micros::MAX), brief.id)
}

impl Filter {
    fn lets_through(&self, brief: &Brief) -> bool {
        fn is<T: PartialEq + Copy>(wanted: Option<T>, own: Option<T>) -> bool {
            wanted.is_none() || wanted == own
        }
        let plays = |team: &Key| brief.sides.is_some_and(|sides| sides.contains(team));
        is(self.sport, Some(brief.sport))
            && is(self.competition, brief.competition)
            && is(self.season, brief.season)
            && is(self.round, brief.round)
            && is(self.venue, brief.venue)
            && is(self.referee, brief.referee)
            && self.manager.is_none_or(|manager| brief.coaches.contains(&Some(manager)))
            && self.team.as_ref().is_none_or(plays)
            && self.teams.as_ref().is_none_or(|teams| teams.iter().any(plays))
            && self.statuses.as_ref().is_none_or(|statuses| statuses.contains(&brief.status))
            // Those without a start have no day.
            && (brief.start.is_some() || self.from.is_none() && self.before.is_none())
    }
}
