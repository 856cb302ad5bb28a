//! The briefs of all matches in memory, in the order in which lists show them.

use std::{collections::HashMap, sync::Arc};

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

    fn first_from(&self, moment: Micros) -> usize {
        self.briefs.partition_point(|brief| order(brief).0 < moment)
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
