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
                    before.iter().for_each(|before| self.remove_posting(before));
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
                self.remove_posting(&brief);
            }
        }
    }

    fn post(&mut self, brief: &MatchSummary) {
        let order = SortKey::of(brief);
        for posting in Posting::all_of(brief) {
            let orders = self.postings.entry(posting).or_default();
            if let Err(place) = orders.binary_search(&order) {
                // There are thousands of short ones, which doubling would make a third larger.
                if orders.len() == orders.capacity() {
                    orders.reserve_exact(orders.len() / 4 + 1);
                }
                orders.insert(place, order);
            }
        }
    }

    fn remove_posting(&mut self, brief: &MatchSummary) {
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
        met.filter_map(|order| self.briefs.get(&order.id)).map(Arc::clone).collect()
    }

    fn orders(&self, posting: Posting) -> &[SortKey] {
        self.postings.get(&posting).map_or(&[][..], Vec::as_slice)
    }

    /// Like [`Self::find`], but the matches in `fresh` override the stored ones.
    #[must_use]
    pub fn find_under(&self, fresh: &[Arc<MatchSummary>], query: &MatchQuery) -> MatchPage {
        let known: FxHashSet<Key> = fresh.iter().map(|brief| brief.id).collect();
        let news = fresh.iter().filter(|brief| query.selects(brief));
        let news = news.map(|brief| (SortKey::of(brief), brief)).collect();
        let mut page = PageBuilder::new(query.window, query.newest_first, news);
        let (first, last) = span(query);
        if let Some(orders) = self.shortest(query) {
            let orders = within(&orders, first, last);
            let (dated, undated) =
                orders.split_at(orders.partition_point(|order| *order < SortKey::UNDATED));
            for orders in [dated, undated] {
                let stored = orders.iter().filter(|order| !known.contains(&order.id));
                let stored = stored.filter_map(|order| Some((*order, self.briefs.get(&order.id)?)));
                page.fill(stored.filter(|(_, brief)| query.selects(brief)));
            }
        } else {
            let replaced = known.iter().filter_map(|id| self.briefs.get(id));
            let mut replaced: Vec<_> = replaced.map(|brief| SortKey::of(brief)).collect();
            replaced.sort_unstable();
            let filter = RowFilter::of(query);
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
            let briefs = ids.iter().filter_map(|id| self.briefs.get(id));
            let mut orders: Vec<_> = briefs.map(|brief| SortKey::of(brief)).collect();
            orders.sort_unstable();
            orders.dedup();
            return Some(Cow::Owned(orders));
        }
        let of = |posting: Posting| self.orders(posting);
        let one = [
            query.competition.map(Posting::Competition),
            query.season.map(Posting::Season),
            query.team.map(Posting::Team),
            query.venue.map(Posting::Venue),
            query.referee.map(Posting::Referee),
            query.manager.map(Posting::Coach),
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
