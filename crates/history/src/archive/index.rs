//! The summaries of all matches in memory, in the order of lists.
//!
//! A list is computed from the shortest sequence that contains all its matches: the postings of a
//! competition, a season, a team, a venue, a referee or a coach, which contain only sort keys, or
//! the rows of all matches, which also contain the fields that almost every list filters by. A
//! summary is read only if that is not enough. A list always counts all its matches, wherever its
//! window is: for the rows of all matches it adds up the counts of each block, and scans only a few
//! blocks.

use std::{borrow::Cow, sync::Arc};

use base::Micros;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    page::{PageBuilder, RowFilter},
    rows::{IndexRow, IndexRows, SortKey},
};
use crate::match_query::{MatchPage, MatchQuery};
use record::{Key, MatchSummary};

/// Sorted by start and id; those without a start come last.
#[derive(Debug, Default)]
pub struct Index {
    summaries: FxHashMap<Key, Arc<MatchSummary>>,
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
    fn all_of(summary: &MatchSummary) -> impl Iterator<Item = Self> {
        // A team on both sides is listed once.
        let sides = summary.sides.map(|[one, other]| (one, (other != one).then_some(other)));
        let sides = sides.into_iter().flat_map(|(first, second)| [Some(first), second]).flatten();
        let [first, second] = summary.coaches;
        let coaches = [first, second.filter(|_| second != first)].into_iter().flatten();
        let one = [
            summary.competition.map(Self::Competition),
            summary.season.map(Self::Season),
            summary.venue.map(Self::Venue),
            summary.referee.map(Self::Referee),
        ];
        one.into_iter().flatten().chain(sides.map(Self::Team)).chain(coaches.map(Self::Coach))
    }
}

impl Index {
    #[must_use]
    pub fn new(summaries: Vec<MatchSummary>) -> Self {
        let mut index = Self::default();
        let mut rows = Vec::with_capacity(summaries.len());
        for summary in summaries {
            let summary = Arc::new(summary);
            if index.summaries.insert(summary.id, Arc::clone(&summary)).is_some() {
                continue;
            }
            rows.push(IndexRow::new(&summary));
            for posting in Posting::all_of(&summary) {
                index.postings.entry(posting).or_default().push(SortKey::new(&summary));
            }
        }
        for orders in index.postings.values_mut() {
            orders.sort_unstable();
            // Growth by doubling would leave them a third larger, and few continue to grow.
            orders.shrink_to_fit();
        }
        index.rows = IndexRows::new(rows);
        index
    }

    /// Adds these matches, replacing earlier entries of the same matches.
    pub fn extend(&mut self, summaries: impl IntoIterator<Item = impl Into<Arc<MatchSummary>>>) {
        for summary in summaries {
            let summary: Arc<MatchSummary> = summary.into();
            let before = self.summaries.insert(summary.id, Arc::clone(&summary));
            let (row, order) = (IndexRow::new(&summary), SortKey::new(&summary));
            match &before {
                Some(before) if SortKey::new(before) == order => self.rows.replace(row),
                Some(before) => {
                    self.rows.remove(SortKey::new(before));
                    self.rows.insert(row);
                }
                None => self.rows.insert(row),
            }
            match &before {
                Some(before)
                    if SortKey::new(before) == order
                        && Posting::all_of(before).eq(Posting::all_of(&summary)) => {}
                _ => {
                    before.iter().for_each(|before| self.remove_posting(before));
                    self.post(&summary);
                }
            }
        }
    }

    /// Removes these matches.
    pub fn remove(&mut self, ids: &[Key]) {
        for id in ids {
            if let Some(summary) = self.summaries.remove(id) {
                self.rows.remove(SortKey::new(&summary));
                self.remove_posting(&summary);
            }
        }
    }

    fn post(&mut self, summary: &MatchSummary) {
        let order = SortKey::new(summary);
        for posting in Posting::all_of(summary) {
            let orders = self.postings.entry(posting).or_default();
            if let Err(position) = orders.binary_search(&order) {
                // There are thousands of short ones, which doubling would make a third larger.
                if orders.len() == orders.capacity() {
                    orders.reserve_exact(orders.len() / 4 + 1);
                }
                orders.insert(position, order);
            }
        }
    }

    fn remove_posting(&mut self, summary: &MatchSummary) {
        let order = SortKey::new(summary);
        for posting in Posting::all_of(summary) {
            if let Some(orders) = self.postings.get_mut(&posting) {
                if let Ok(position) = orders.binary_search(&order) {
                    orders.remove(position);
                }
                if orders.is_empty() {
                    self.postings.remove(&posting);
                }
            }
        }
    }

    #[must_use]
    pub fn summary(&self, id: Key) -> Option<Arc<MatchSummary>> {
        self.summaries.get(&id).map(Arc::clone)
    }

    #[must_use]
    pub fn find(&self, query: &MatchQuery) -> MatchPage {
        self.find_under(&[], query)
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
        met.filter_map(|order| self.summaries.get(&order.id)).map(Arc::clone).collect()
    }

    fn orders(&self, posting: Posting) -> &[SortKey] {
        self.postings.get(&posting).map_or(&[][..], Vec::as_slice)
    }

    /// Like [`Self::find`], but the matches in `fresh` override the stored ones.
    #[must_use]
    pub fn find_under(&self, fresh: &[Arc<MatchSummary>], query: &MatchQuery) -> MatchPage {
        let fresh_ids: FxHashSet<Key> = fresh.iter().map(|summary| summary.id).collect();
        let selected = fresh.iter().filter(|summary| query.selects(summary));
        let selected = selected.map(|summary| (SortKey::new(summary), summary)).collect();
        let mut page = PageBuilder::new(query.window, query.newest_first, selected);
        let (first, last) = span(query);
        if let Some(orders) = self.shortest(query) {
            let orders = within(&orders, first, last);
            let (dated, undated) =
                orders.split_at(orders.partition_point(|order| *order < SortKey::UNDATED));
            for orders in [dated, undated] {
                let stored = orders.iter().filter(|order| !fresh_ids.contains(&order.id));
                let stored = stored.filter_map(|key| Some((*key, self.summaries.get(&key.id)?)));
                page.fill(stored.filter(|(_, summary)| query.selects(summary)));
            }
        } else {
            let replaced = fresh_ids.iter().filter_map(|id| self.summaries.get(id));
            let mut replaced: Vec<_> = replaced.map(|summary| SortKey::new(summary)).collect();
            replaced.sort_unstable();
            let filter = RowFilter::new(query);
            let end = last.map_or(SortKey::UNDATED, |last| last.min(SortKey::UNDATED));
            page.fill_with_runs(self.rows.range(first, Some(end)), &filter, &replaced);
            if last.is_none() {
                page.fill_with_runs(self.rows.range(SortKey::UNDATED, None), &filter, &replaced);
            }
        }
        page.finish()
    }

    /// The sort keys of all matches that the query can select, from its ids or the shortest posting
    /// list; `None` if it has no filter by either.
    fn shortest(&self, query: &MatchQuery) -> Option<Cow<'_, [SortKey]>> {
        if let Some(ids) = &query.ids {
            let summaries = ids.iter().filter_map(|id| self.summaries.get(id));
            let mut orders: Vec<_> = summaries.map(|summary| SortKey::new(summary)).collect();
            orders.sort_unstable();
            orders.dedup();
            return Some(Cow::Owned(orders));
        }
        let orders_of = |posting: Posting| self.orders(posting);
        let one = [
            query.competition.map(Posting::Competition),
            query.season.map(Posting::Season),
            query.team.map(Posting::Team),
            query.venue.map(Posting::Venue),
            query.referee.map(Posting::Referee),
            query.manager.map(Posting::Coach),
        ];
        let shortest = one.into_iter().flatten().map(orders_of).min_by_key(|orders| orders.len());
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
            Some(ids.iter().map(|id| orders_of(posting(*id))).collect::<Vec<_>>())
        };
        let first = query.meeting.as_ref().map(|[first, _]| first.clone());
        let any = runs(&query.teams, Posting::Team)
            .or_else(|| runs(&first, Posting::Team))
            .or_else(|| runs(&query.seasons, Posting::Season))
            .or_else(|| runs(&query.competitions, Posting::Competition));
        any.map(of_any).or_else(|| shortest.map(Cow::Borrowed))
    }
}

fn within(orders: &[SortKey], first: SortKey, last: Option<SortKey>) -> &[SortKey] {
    let begin = orders.partition_point(|order| *order < first);
    let end = last.map_or(orders.len(), |last| orders.partition_point(|order| *order < last));
    orders.get(begin..end).unwrap_or_default()
}

/// The midnight of the day of a start is no further from it in any zone: a day, and the furthest zone from UTC.
const ZONE_US_MAX: Micros = (24 + 26) * 3600 * 1_000_000;

/// The range of sort keys of a query's days, with all that it can select: from the first, up to but without the second.
fn span(query: &MatchQuery) -> (SortKey, Option<SortKey>) {
    let at = |start| SortKey { start, id: 0 };
    let margin = if query.has_days_in_zone() { ZONE_US_MAX } else { 0 };
    // Matches without a start belong to no day.
    let is_of_days = query.from.is_some() || query.before.is_some();
    let last = is_of_days.then(|| query.before.map_or(Micros::MAX, |it| it.saturating_add(margin)));
    let first = query.from.map_or(Micros::MIN, |it| it.saturating_sub(margin));
    (at(first), last.map(at))
}

#[cfg(test)]
mod tests;
