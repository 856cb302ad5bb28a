//! The summaries of all matches in memory, in the order of lists.
//!
//! A list is computed from the shortest sequence that contains all its matches: the postings of a
//! competition, a season, a team, a venue, a referee or a coach, which contain only sort keys, or
//! the rows of all matches, which also contain the fields that almost every list filters by. A
//! summary is read only if that is not enough. A list always counts all its matches, wherever its
//! window is: for the rows of all matches it adds up the counts of each block, and scans only a few
//! blocks.

use std::{borrow::Cow, sync::Arc};

use fanout::Micros;
use ingest::event::Sport;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    page::{Condition, PageBuilder, RowFilter},
    rows::{IndexRow, IndexRows, SortKey},
};
use crate::record::{Key, MatchSummary, Status};

/// A filter of matches. Absent fields match everything.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub sport: Option<Sport>,
    /// From this time on.
    pub from: Option<Micros>,
    /// Before this time.
    pub before: Option<Micros>,
    pub competition: Option<Key>,
    /// In one of these competitions.
    pub competitions: Option<Vec<Key>>,
    pub season: Option<Key>,
    /// Either side.
    pub team: Option<Key>,
    /// Either side is one of these teams, which were found by a part of their names.
    pub teams: Option<Vec<Key>>,
    /// One of these.
    pub statuses: Option<Vec<Status>>,
    pub round: Option<u16>,
    pub venue: Option<Key>,
    pub referee: Option<Key>,
    pub manager: Option<Key>,
    /// Newest first; otherwise oldest first.
    pub newest_first: bool,
}

/// A page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub offset: usize,
    pub limit: usize,
}

impl Window {
    /// All matches.
    pub const ALL: Self = Self { offset: 0, limit: usize::MAX };
}

/// The number of matches that a filter selects, and those in the window.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchPage {
    pub count: usize,
    pub briefs: Vec<Arc<MatchSummary>>,
}

/// Sorted by start and id; those without a start come last.
#[derive(Debug, Default)]
pub struct Index {
    briefs: FxHashMap<Key, Arc<MatchSummary>>,
    rows: IndexRows,
    postings: FxHashMap<Posting, Vec<SortKey>>,
}

/// The fields with postings.
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
    fn all_of(brief: &MatchSummary) -> impl Iterator<Item = Self> {
        // A team on both sides is listed once.
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
    pub fn of(briefs: Vec<MatchSummary>) -> Self {
        let mut index = Self::default();
        let mut rows = Vec::with_capacity(briefs.len());
        for brief in briefs {
            let brief = Arc::new(brief);
            if index.briefs.insert(brief.id, Arc::clone(&brief)).is_some() {
                continue;
            }
            rows.push(IndexRow::of(&brief));
            for posting in Posting::all_of(&brief) {
                index.postings.entry(posting).or_default().push(SortKey::of(&brief));
            }
        }
        for orders in index.postings.values_mut() {
            orders.sort_unstable();
            // Growth by doubling would leave them a third larger, and few continue to grow.
            orders.shrink_to_fit();
        }
        index.rows = IndexRows::of(rows);
        index
    }

    /// Adds these matches, replacing earlier entries of the same matches.
    pub fn extend(&mut self, briefs: impl IntoIterator<Item = impl Into<Arc<MatchSummary>>>) {
        for brief in briefs {
            let brief: Arc<MatchSummary> = brief.into();
            let before = self.briefs.insert(brief.id, Arc::clone(&brief));
            let (row, order) = (IndexRow::of(&brief), SortKey::of(&brief));
            match &before {
                Some(before) if SortKey::of(before) == order => self.rows.replace(row),
                Some(before) => {
                    self.rows.remove(SortKey::of(before));
                    self.rows.insert(row);
                }
                None => self.rows.insert(row),
            }
            match &before {
                Some(before)
                    if SortKey::of(before) == order
                        && Posting::all_of(before).eq(Posting::all_of(&brief)) => {}
                _ => {
                    before.iter().for_each(|before| self.unpost(before));
                    self.post(&brief);
                }
            }
        }
    }

    /// Removes these matches.
    pub fn remove(&mut self, ids: &[Key]) {
        for id in ids {
            if let Some(brief) = self.briefs.remove(id) {
                self.rows.remove(SortKey::of(&brief));
                self.unpost(&brief);
            }
        }
    }

    fn post(&mut self, brief: &MatchSummary) {
        let order = SortKey::of(brief);
        for posting in Posting::all_of(brief) {
            let orders = self.postings.entry(posting).or_default();
            if let Err(place) = orders.binary_search(&order) {
                orders.insert(place, order);
            }
        }
    }

    fn unpost(&mut self, brief: &MatchSummary) {
        let order = SortKey::of(brief);
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
    pub fn brief(&self, id: Key) -> Option<Arc<MatchSummary>> {
        self.briefs.get(&id).map(Arc::clone)
    }

    #[must_use]
    pub fn find(&self, filter: &Filter, window: Window) -> MatchPage {
        self.find_under(&[], filter, window, None)
    }

    /// The matches between these two, oldest first. Only matches that both have are read: the keys
    /// of each are contiguous in memory, the summaries are not.
    #[must_use]
    pub fn meetings(&self, one: Key, other: Key) -> Vec<Arc<MatchSummary>> {
        let [one, other] = [one, other].map(|team| self.orders(Posting::Team(team)));
        let mut other = other.iter().peekable();
        let met = one.iter().filter(|order| {
            while other.next_if(|other| other < order).is_some() {}
            other.peek() == Some(order)
        });
        met.filter_map(|order| self.briefs.get(&order.id)).map(Arc::clone).collect()
    }

    fn orders(&self, posting: Posting) -> &[SortKey] {
        self.postings.get(&posting).map_or(&[][..], Vec::as_slice)
    }

    /// Like [`Self::find`], but the matches in `fresh` override the stored ones; and with a
    /// condition beyond the filter, for which every summary is read.
    #[must_use]
    pub fn find_under(
        &self,
        fresh: &[Arc<MatchSummary>],
        filter: &Filter,
        window: Window,
        also: Option<Condition<'_>>,
    ) -> MatchPage {
        let (first, last) = filter.span();
        let known: FxHashSet<Key> = fresh.iter().map(|brief| brief.id).collect();
        let is_within = |order: SortKey| first <= order && last.is_none_or(|last| order < last);
        let lets_through = |brief: &MatchSummary| also.is_none_or(|also| also(brief));
        let mut news: Vec<_> = fresh.iter().map(|brief| (SortKey::of(brief), brief)).collect();
        news.retain(|(order, brief)| {
            is_within(*order) && filter.lets_through(brief) && lets_through(brief)
        });
        news.sort_unstable_by_key(|(order, _)| *order);
        let mut page = PageBuilder::new(window, filter.newest_first, news);
        if let Some(orders) = self.shortest(filter) {
            let orders = within(&orders, first, last).iter();
            let kept = orders.filter(|order| !known.contains(&order.id));
            let kept = kept.filter_map(|order| Some((*order, self.briefs.get(&order.id)?)));
            page.fill(kept.filter(|(_, brief)| filter.lets_through(brief) && lets_through(brief)));
        } else {
            let replaced = known.iter().filter_map(|id| self.briefs.get(id));
            let mut replaced: Vec<_> = replaced.map(|brief| SortKey::of(brief)).collect();
            replaced.sort_unstable();
            let parts = self.rows.range(first, last);
            page.fill_with_runs(parts, &RowFilter::of(filter), &replaced, also);
        }
        page.finish()
    }

    /// The sort keys of all matches that the filter can select, from the shortest posting list;
    /// `None` if it uses no field with postings.
    fn shortest(&self, filter: &Filter) -> Option<Cow<'_, [SortKey]>> {
        let of = |posting: Posting| self.orders(posting);
        let one = [
            filter.competition.map(Posting::Competition),
            filter.season.map(Posting::Season),
            filter.team.map(Posting::Team),
            filter.venue.map(Posting::Venue),
            filter.referee.map(Posting::Referee),
            filter.manager.map(Posting::Coach),
        ];
        let shortest = one.into_iter().flatten().map(of).min_by_key(|orders| orders.len());
        let of_any = |runs: Vec<&[SortKey]>| {
            if let Some(shortest) = shortest
                && shortest.len() <= runs.iter().map(|run| run.len()).sum()
            {
                return Cow::Borrowed(shortest);
            }
            let mut all: Vec<_> = runs.into_iter().flatten().copied().collect();
            all.sort_unstable();
            all.dedup();
            Cow::Owned(all)
        };
        let runs = |ids: &Option<Vec<Key>>, posting: fn(Key) -> Posting| {
            let ids = ids.as_ref()?;
            Some(ids.iter().map(|id| of(posting(*id))).collect::<Vec<_>>())
        };
        let any = runs(&filter.teams, Posting::Team)
            .or_else(|| runs(&filter.competitions, Posting::Competition));
        any.map(of_any).or_else(|| shortest.map(Cow::Borrowed))
    }
}

fn within(orders: &[SortKey], first: SortKey, last: Option<SortKey>) -> &[SortKey] {
    let begin = orders.partition_point(|order| *order < first);
    let end = last.map_or(orders.len(), |last| orders.partition_point(|order| *order < last));
    orders.get(begin..end).unwrap_or_default()
}

impl Filter {
    /// The range of sort keys: from the first, up to but without the second.
    fn span(&self) -> (SortKey, Option<SortKey>) {
        let at = |start| SortKey { start, id: 0 };
        // Matches without a start belong to no day.
        let is_of_days = self.from.is_some() || self.before.is_some();
        let last = is_of_days.then(|| self.before.unwrap_or(Micros::MAX));
        (at(self.from.unwrap_or(Micros::MIN)), last.map(at))
    }

    fn lets_through(&self, brief: &MatchSummary) -> bool {
        fn is<T: PartialEq + Copy>(wanted: Option<T>, own: Option<T>) -> bool {
            wanted.is_none() || wanted == own
        }
        let plays = |team: &Key| brief.sides.is_some_and(|sides| sides.contains(team));
        is(self.sport, Some(brief.sport))
            && is(self.competition, brief.competition)
            && self
                .competitions
                .as_ref()
                .is_none_or(|any| brief.competition.is_some_and(|own| any.contains(&own)))
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
