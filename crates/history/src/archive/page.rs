//! Builds a page of a list.
//!
//! In: the stored rows, and rows that override them ("fresh"), both sorted. Out: the total number of
//! both, and those in the window. Rows come in runs; a run outside the window without fresh rows between
//! its rows is counted, not scanned.

use std::{iter::Peekable, sync::Arc, vec};

use facts::event::Sport;

use super::rows::{IndexRow, RowRun, SortKey, StatusCount};
use crate::match_query::{MatchPage, MatchQuery, Window};
use record::{MatchSummary, Status};

/// A summary with its sort key, so that the summary need not be read.
type OrderedSummary<'a> = (SortKey, &'a Arc<MatchSummary>);

/// The page while it is built.
pub(super) struct PageBuilder<'a> {
    window: Window,
    newest_first: bool,
    fresh: Peekable<vec::IntoIter<OrderedSummary<'a>>>,
    found: MatchPage,
}

impl<'a> PageBuilder<'a> {
    /// `fresh` is in any order.
    pub(super) fn new(
        window: Window,
        newest_first: bool,
        mut fresh: Vec<OrderedSummary<'a>>,
    ) -> Self {
        fresh.sort_unstable_by(|(one, _), (other, _)| one.compare(*other, newest_first));
        let found = MatchPage { count: 0, summaries: Vec::new() };
        Self { window, newest_first, fresh: fresh.into_iter().peekable(), found }
    }

    /// Adds all of these, which are sorted from the oldest on; all of them have a start, or none of them.
    pub(super) fn fill(&mut self, stored: impl DoubleEndedIterator<Item = OrderedSummary<'a>>) {
        if self.newest_first {
            stored.rev().for_each(|stored| self.take_stored(stored));
        } else {
            stored.for_each(|stored| self.take_stored(stored));
        }
    }

    /// The same for rows that a filter selects, except those that are `replaced` by fresh rows.
    pub(super) fn fill_with_runs(
        &mut self,
        runs: impl DoubleEndedIterator<Item = RowRun<'a>>,
        filter: &RowFilter<'_>,
        replaced: &[SortKey],
    ) {
        let newest_first = self.newest_first;
        let mut fill = |run: RowRun<'a>| {
            if let Some(count) = run.counts.and_then(|counts| filter.count(counts))
                && !touches(replaced, run)
                && self.can_pass(run, count)
            {
                self.found.count += count;
                return;
            }
            let stored = run
                .rows
                .iter()
                .filter(|row| filter.selects(row) && replaced.binary_search(&row.order).is_err());
            self.fill(stored.map(|row| (row.order, &row.summary)));
        };
        if newest_first {
            runs.rev().for_each(&mut fill);
        } else {
            runs.for_each(&mut fill);
        }
    }

    /// The total of both.
    pub(super) fn finish(mut self) -> MatchPage {
        while let Some((_, summary)) = self.fresh.next() {
            self.take(summary);
        }
        self.found
    }

    /// Whether the run can be skipped: none of its `count` selected rows is in the window, and no
    /// fresh rows are between its rows.
    fn can_pass(&mut self, run: RowRun<'_>, count: usize) -> bool {
        let [Some(oldest), Some(newest)] = [run.rows.first(), run.rows.last()] else {
            return true;
        };
        let (first, last) = match self.newest_first {
            true => (newest.order, oldest.order),
            false => (oldest.order, newest.order),
        };
        self.take_fresh_before(first);
        let next = self.fresh.peek().map(|(new, _)| *new);
        let has_fresh = next.is_some_and(|new| self.is_before(new, last));
        let Window { offset, limit } = self.window;
        let is_before = self.found.count.saturating_add(count) <= offset;
        !has_fresh && (is_before || self.found.summaries.len() >= limit)
    }

    fn is_before(&self, one: SortKey, other: SortKey) -> bool {
        one.compare(other, self.newest_first).is_lt()
    }

    fn take_stored(&mut self, (order, summary): OrderedSummary<'_>) {
        self.take_fresh_before(order);
        self.take(summary);
    }

    fn take_fresh_before(&mut self, order: SortKey) {
        let newest_first = self.newest_first;
        let is_due = |(new, _): &OrderedSummary<'_>| new.compare(order, newest_first).is_lt();
        while let Some((_, new)) = self.fresh.next_if(is_due) {
            self.take(new);
        }
    }

    fn take(&mut self, summary: &Arc<MatchSummary>) {
        let Self { window, found, .. } = self;
        if found.count >= window.offset && found.summaries.len() < window.limit {
            found.summaries.push(Arc::clone(summary));
        }
        found.count += 1;
    }
}

/// Whether some of these keys are between the first and the last of the run.
fn touches(orders: &[SortKey], run: RowRun<'_>) -> bool {
    let [Some(first), Some(last)] = [run.rows.first(), run.rows.last()] else { return false };
    let next = orders.partition_point(|order| *order < first.order);
    orders.get(next).is_some_and(|order| *order <= last.order)
}

/// How a query selects rows: by their own fields, and only if necessary by the summary.
#[derive(Debug)]
pub(super) struct RowFilter<'a> {
    query: &'a MatchQuery,
    /// One bit per status.
    statuses: u32,
    reads_summaries: bool,
}

impl<'a> RowFilter<'a> {
    pub(super) fn new(query: &'a MatchQuery) -> Self {
        let bits = |statuses: &Vec<Status>| statuses.iter().fold(0, |bits, it| bits | bit(*it));
        let statuses = query.statuses.as_ref().map_or(u32::MAX, bits);
        Self { query, statuses, reads_summaries: query.reads_summaries() }
    }

    fn selects(&self, row: &IndexRow) -> bool {
        self.is_of(row.sport, row.status)
            && self.query.round.is_none_or(|round| Some(round) == row.round)
            && (!self.reads_summaries || self.query.selects(&row.summary))
    }

    /// How many of these it selects; `None` if rounds or summaries have to be checked.
    fn count(&self, counts: &[StatusCount]) -> Option<usize> {
        let counted = counts.iter().filter(|it| self.is_of(it.sport, it.status));
        let is_enough = self.query.round.is_none() && !self.reads_summaries;
        is_enough.then(|| counted.map(|it| it.count).sum())
    }

    fn is_of(&self, sport: Sport, status: Status) -> bool {
        self.statuses & bit(status) != 0 && self.query.sport.is_none_or(|wanted| wanted == sport)
    }
}

fn bit(status: Status) -> u32 {
    1 << status as u32
}
