//! The briefs of all matches in memory, in the order in which lists show them.
//!
//! A list is answered from the shortest run that has all its matches: the postings of a competition,
//! a season, a team, a venue, a referee or a coach, which hold orders alone, or the rows of all
//! matches, which hold beside the order what nearly every list asks for. A brief is looked at only
//! where that is not enough. What a list counts it has to walk, so that is what it costs, wherever its
//! window is.

use std::{borrow::Cow, sync::Arc};

use fanout::Micros;
use ingest::event::Sport;
use rustc_hash::{FxHashMap, FxHashSet};

use super::rows::{Order, Row, Rows};
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
pub struct Index {
    briefs: FxHashMap<Key, Arc<Brief>>,
    rows: Rows,
    postings: FxHashMap<Posting, Vec<Order>>,
}

/// By what a list is short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Posting {
    Competition(Key),
    Season(Key),
    Team(Key),
    Venue(Key),
    Referee(Key),
    Coach(Key),
}

impl Posting {
    fn all_of(brief: &Brief) -> impl Iterator<Item = Self> {
        // Whoever is on both sides is listed once.
        let sides = brief.sides.map(|[first, second]| (first, (second != first).then_some(second)));
        let sides = sides.into_iter().flat_map(|(first, second)| [Some(first), second]).flatten();
        let [first, second] = brief.coaches;
        let coaches = [first, second.filter(|_| second != first)].into_iter().flatten();
        let one = [
            brief.competition.map(Self::Competition),
            brief.season.map(Self::Season),
            brief.venue.map(Self::Venue),
            brief.referee.map(Self::Referee),
        ];
        one.into_iter().flatten().chain(sides.map(Self::Team)).chain(coaches.map(Self::Coach))
    }
}

impl Index {
    #[must_use]
    pub fn of(briefs: Vec<Brief>) -> Self {
        let mut index = Self::default();
        let mut rows = Vec::with_capacity(briefs.len());
        for brief in briefs {
            let brief = Arc::new(brief);
            if index.briefs.insert(brief.id, Arc::clone(&brief)).is_some() {
                continue;
            }
            rows.push(Row::of(&brief));
            for posting in Posting::all_of(&brief) {
                index.postings.entry(posting).or_default().push(Order::of(&brief));
            }
        }
        index.postings.values_mut().for_each(|orders| orders.sort_unstable());
        index.rows = Rows::of(rows);
        index
    }

    /// Adds these, in place of what was there of the same matches.
    pub fn extend(&mut self, briefs: impl IntoIterator<Item = Brief>) {
        for brief in briefs {
            let brief = Arc::new(brief);
            let before = self.briefs.insert(brief.id, Arc::clone(&brief));
            let (row, order) = (Row::of(&brief), Order::of(&brief));
            match &before {
                Some(before) if Order::of(before) == order => self.rows.replace(row),
                Some(before) => {
                    self.rows.remove(Order::of(before));
                    self.rows.insert(row);
                }
                None => self.rows.insert(row),
            }
            match &before {
                Some(before)
                    if Order::of(before) == order
                        && Posting::all_of(before).eq(Posting::all_of(&brief)) => {}
                _ => {
                    before.iter().for_each(|before| self.unpost(before));
                    self.post(&brief);
                }
            }
        }
    }

    /// Removes these.
    pub fn remove(&mut self, ids: &[Key]) {
        for id in ids {
            if let Some(brief) = self.briefs.remove(id) {
                self.rows.remove(Order::of(&brief));
                self.unpost(&brief);
            }
        }
    }

    fn post(&mut self, brief: &Brief) {
        let order = Order::of(brief);
        for posting in Posting::all_of(brief) {
            let orders = self.postings.entry(posting).or_default();
            if let Err(place) = orders.binary_search(&order) {
                orders.insert(place, order);
            }
        }
    }

    fn unpost(&mut self, brief: &Brief) {
        let order = Order::of(brief);
        for posting in Posting::all_of(brief) {
            if let Some(orders) = self.postings.get_mut(&posting) {
                if let Ok(place) = orders.binary_search(&order) {
                    orders.remove(place);
                }
                if orders.is_empty() {
                    self.postings.remove(&posting);
                }
            }
        }
    }

    #[must_use]
    pub fn brief(&self, id: Key) -> Option<Arc<Brief>> {
        self.briefs.get(&id).map(Arc::clone)
    }

    #[must_use]
    pub fn find(&self, filter: &Filter, window: Window) -> Found {
        let (first, last) = filter.span();
        let mut page = Page::new(window);
        if let Some(orders) = self.shortest(filter) {
            let orders = within(&orders, first, last);
            let briefs = orders.iter().filter_map(|order| self.briefs.get(&order.id));
            let briefs = briefs.filter(|brief| filter.lets_through(brief));
            page.fill(briefs, filter.newest_first);
        } else {
            let coarse = Coarse::of(filter);
            let rows = self.rows.range(first, last).filter(|row| coarse.lets_through(row));
            page.fill(rows.map(|row| &row.brief), filter.newest_first);
        }
        page.found
    }

    /// The matches in which these two meet, the newest first.
    #[must_use]
    pub fn meetings(&self, one: Key, other: Key) -> Vec<Arc<Brief>> {
        let filter = Filter {
            team: Some(one),
            teams: Some(vec![other]),
            newest_first: true,
            ..Filter::default()
        };
        self.find(&filter, Window::ALL).briefs
    }

    /// As [`Self::find`], but of the matches in `fresh` it is these that count, and not what is kept
    /// of them; and a condition more than a filter has words for.
    #[must_use]
    pub fn find_under(
        &self,
        fresh: &[Arc<Brief>],
        filter: &Filter,
        window: Window,
        also: impl Fn(&Brief) -> bool,
    ) -> Found {
        let (first, last) = filter.span();
        let known: FxHashSet<Key> = fresh.iter().map(|brief| brief.id).collect();
        let is_within = |order: Order| first <= order && last.is_none_or(|last| order < last);
        let mut news: Vec<_> = fresh.iter().map(|brief| (Order::of(brief), brief)).collect();
        news.retain(|(order, brief)| {
            is_within(*order) && filter.lets_through(brief) && also(brief)
        });
        news.sort_unstable_by_key(|(order, _)| *order);
        let mut page = Page::new(window);
        if let Some(orders) = self.shortest(filter) {
            let orders = within(&orders, first, last).iter();
            let kept = orders.filter(|order| !known.contains(&order.id));
            let kept = kept.filter_map(|order| Some((*order, self.briefs.get(&order.id)?)));
            let kept = kept.filter(|(_, brief)| filter.lets_through(brief) && also(brief));
            page.fill_with(kept, news, filter.newest_first);
        } else {
            let coarse = Coarse::of(filter);
            let rows = self.rows.range(first, last).filter(|row| coarse.lets_through(row));
            let kept = rows.map(|row| (row.order, &row.brief));
            let kept = kept.filter(|(order, brief)| !known.contains(&order.id) && also(brief));
            page.fill_with(kept, news, filter.newest_first);
        }
        page.found
    }

    /// The orders of all matches among which those must be that the filter lets through; `None` where
    /// it says nothing that there are postings of.
    fn shortest(&self, filter: &Filter) -> Option<Cow<'_, [Order]>> {
        let of = |posting: Posting| self.postings.get(&posting).map_or(&[][..], Vec::as_slice);
        let one = [
            filter.competition.map(Posting::Competition),
            filter.season.map(Posting::Season),
            filter.team.map(Posting::Team),
            filter.venue.map(Posting::Venue),
            filter.referee.map(Posting::Referee),
            filter.manager.map(Posting::Coach),
        ];
        let shortest = one.into_iter().flatten().map(of).min_by_key(|orders| orders.len());
        let of_teams = |teams: &Vec<Key>| {
            let runs = teams.iter().map(|team| of(Posting::Team(*team)));
            if let Some(shortest) = shortest
                && shortest.len() <= runs.clone().map(<[_]>::len).sum()
            {
                return Cow::Borrowed(shortest);
            }
            let mut all: Vec<_> = runs.flatten().copied().collect();
            all.sort_unstable();
            all.dedup();
            Cow::Owned(all)
        };
        filter.teams.as_ref().map(of_teams).or_else(|| shortest.map(Cow::Borrowed))
    }
}

fn within(orders: &[Order], first: Order, last: Option<Order>) -> &[Order] {
    let begin = orders.partition_point(|order| *order < first);
    let end = last.map_or(orders.len(), |last| orders.partition_point(|order| *order < last));
    orders.get(begin..end).unwrap_or_default()
}

/// A brief with its order at hand, so that it need not be looked at.
type Placed<'a> = (Order, &'a Arc<Brief>);

/// What is found, while it is looked for.
struct Page {
    window: Window,
    found: Found,
}

impl Page {
    fn new(window: Window) -> Self {
        Self { window, found: Found { count: 0, briefs: Vec::new() } }
    }

    fn fill<'a>(
        &mut self,
        briefs: impl DoubleEndedIterator<Item = &'a Arc<Brief>>,
        newest_first: bool,
    ) {
        if newest_first {
            briefs.rev().for_each(|brief| self.take(brief));
        } else {
            briefs.for_each(|brief| self.take(brief));
        }
    }

    /// The same of two lists, each in its order, as if they were one.
    fn fill_with<'a>(
        &mut self,
        kept: impl DoubleEndedIterator<Item = Placed<'a>>,
        news: Vec<Placed<'a>>,
        newest_first: bool,
    ) {
        let news = news.into_iter();
        if newest_first {
            self.merge(kept.rev(), news.rev(), |a, b| a > b);
        } else {
            self.merge(kept, news, |a, b| a < b);
        }
    }

    fn merge<'a>(
        &mut self,
        kept: impl Iterator<Item = Placed<'a>>,
        news: impl Iterator<Item = Placed<'a>>,
        is_first: impl Fn(Order, Order) -> bool,
    ) {
        let mut news = news.peekable();
        for (order, brief) in kept {
            while let Some((_, new)) = news.next_if(|(new, _)| is_first(*new, order)) {
                self.take(new);
            }
            self.take(brief);
        }
        news.for_each(|(_, new)| self.take(new));
    }

    fn take(&mut self, brief: &Arc<Brief>) {
        let Self { window, found } = self;
        if found.count >= window.offset && found.briefs.len() < window.limit {
            found.briefs.push(Arc::clone(brief));
        }
        found.count += 1;
    }
}

/// The part of a filter that is decided by a row alone.
struct Coarse {
    sport: Option<Sport>,
    /// A bit for each.
    statuses: u32,
    round: Option<u16>,
}

impl Coarse {
    fn of(filter: &Filter) -> Self {
        let bits = |statuses: &Vec<Status>| statuses.iter().fold(0, |bits, it| bits | bit(*it));
        Self {
            sport: filter.sport,
            statuses: filter.statuses.as_ref().map_or(u32::MAX, bits),
            round: filter.round,
        }
    }

    fn lets_through(&self, row: &Row) -> bool {
        self.statuses & bit(row.status) != 0
            && self.sport.is_none_or(|sport| sport == row.sport)
            && self.round.is_none_or(|round| Some(round) == row.round)
    }
}

fn bit(status: Status) -> u32 {
    1 << status as u32
}

impl Filter {
    /// From which order on, and before which.
    fn span(&self) -> (Order, Option<Order>) {
        let at = |start| Order { start, id: 0 };
        // Those without a start have no day.
        let is_of_days = self.from.is_some() || self.before.is_some();
        let last = is_of_days.then(|| self.before.unwrap_or(Micros::MAX));
        (at(self.from.unwrap_or(Micros::MIN)), last.map(at))
    }

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
    }
}

#[cfg(test)]
mod tests;
