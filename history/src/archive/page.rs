//! Builds a page of a list.
//!
//! In: the stored rows, and rows that override them ("news"), both sorted. Out: the total number of
//! both, and those in the window. Rows come in runs; a run outside the window without news between
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
    news: Peekable<vec::IntoIter<OrderedSummary<'a>>>,
    found: MatchPage,
}

impl<'a> PageBuilder<'a> {
    /// `news` is in any order.
    pub(super) fn new(
        window: Window,
        newest_first: bool,
        mut news: Vec<OrderedSummary<'a>>,
    ) -> Self {
        news.sort_unstable_by(|(one, _), (other, _)| one.compare(*other, newest_first));
        let found = MatchPage { count: 0, briefs: Vec::new() };
        Self { window, newest_first, news: news.into_iter().peekable(), found }
    }

    /// Adds all of these, which are sorted from the oldest on; all of them have a start, or none of them.
    pub(super) fn fill(&mut self, stored: impl DoubleEndedIterator<Item = OrderedSummary<'a>>) {
        if self.newest_first {
            stored.rev().for_each(|stored| self.take_stored(stored));
        } else {
            stored.for_each(|stored| self.take_stored(stored));
        }
    }

    /// The same for rows that a filter selects, except those that are `replaced` by news.
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
            self.fill(stored.map(|row| (row.order, &row.brief)));
        };
        if newest_first {
            runs.rev().for_each(&mut fill);
        } else {
            runs.for_each(&mut fill);
        }
    }

    /// The total of both.
    pub(super) fn finish(mut self) -> MatchPage {
        while let Some((_, brief)) = self.news.next() {
            self.take(brief);
        }
        self.found
    }

    /// Whether the run can be skipped: none of its `count` selected rows is in the window, and no
    /// news are between its rows.
    fn can_pass(&mut self, run: RowRun<'_>, count: usize) -> bool {
        let [Some(oldest), Some(newest)] = [run.rows.first(), run.rows.last()] else {
            return true;
        };
        let (first, last) = match self.newest_first {
            true => (newest.order, oldest.order),
            false => (oldest.order, newest.order),
        };
        self.take_news_before(first);
        let next = self.news.peek().map(|(new, _)| *new);
        let has_news = next.is_some_and(|new| self.is_before(new, last));
        let Window { offset, limit } = self.window;
        let is_before = self.found.count.saturating_add(count) <= offset;
        !has_news && (is_before || self.found.briefs.len() >= limit)
    }

    fn is_before(&self, one: SortKey, other: SortKey) -> bool {
        one.compare(other, self.newest_first).is_lt()
    }

    fn take_stored(&mut self, (order, brief): OrderedSummary<'_>) {
        self.take_news_before(order);
        self.take(brief);
    }

    fn take_news_before(&mut self, order: SortKey) {
        let newest_first = self.newest_first;
        let is_due = |(new, _): &OrderedSummary<'_>| new.compare(order, newest_first).is_lt();
        while let Some((_, new)) = self.news.next_if(is_due) {
            self.take(new);
        }
    }

    fn take(&mut self, brief: &Arc<MatchSummary>) {
        let Self { window, found, .. } = self;
        if found.count >= window.offset && found.briefs.len() < window.limit {
            found.briefs.push(Arc::clone(brief));
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
    pub(super) fn of(query: &'a MatchQuery) -> Self {
        let bits = |statuses: &Vec<Status>| statuses.iter().fold(0, |bits, it| bits | bit(*it));
        let statuses = query.statuses.as_ref().map_or(u32::MAX, bits);
        Self { query, statuses, reads_summaries: query.reads_summaries() }
    }

    fn selects(&self, row: &IndexRow) -> bool {
        self.is_of(row.sport, row.status)
            && self.query.round.is_none_or(|round| Some(round) == row.round)
            && (!self.reads_summaries || self.query.selects(&row.brief))
    }

    /// How many of these it selects; `None` if rounds or summaries have to be checked.
    fn count(&self, counts: &[StatusCount]) -> Option<usize> {
        let counted = counts.iter().filter(|it| self.is_of(it.sport, it.status));
        let is_enough = self.query.round.is_none() && !self.reads_summaries;
        is_enough.then(|| counted.map(|it| it.count).sum())
    }

    fn is_of(&self, sport: Sport, status: Status) -> bool {
        self.statuses & bit(status) != 0 && self.query.sport.is_none_or(|own| own == sport)
    }
}

fn bit(status: Status) -> u32 {
    1 << status as u32
}
