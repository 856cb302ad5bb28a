//! A window of a list, while it is filled.
//!
//! In: what is kept, in order, and what is known better ("news"), in order too. Out: how many there are of
//! both together, and those in the window. Rows come in parts; one that lies before or behind the window
//! with nothing between its rows is counted and not walked.

use std::{iter::Peekable, sync::Arc, vec};

use ingest::event::Sport;

use super::{
    index::{Filter, MatchPage, Window},
    rows::{IndexRow, RowRun, SortKey, StatusCount},
};
use crate::record::{MatchSummary, Status};

/// What a filter has no words for.
pub type Condition<'a> = &'a dyn Fn(&MatchSummary) -> bool;

/// A brief with its order at hand, so that it need not be looked at.
type OrderedSummary<'a> = (SortKey, &'a Arc<MatchSummary>);

/// What is found, while it is looked for.
pub(super) struct PageBuilder<'a> {
    window: Window,
    newest_first: bool,
    news: Peekable<vec::IntoIter<OrderedSummary<'a>>>,
    found: MatchPage,
}

impl<'a> PageBuilder<'a> {
    /// `news` from the oldest on.
    pub(super) fn new(
        window: Window,
        newest_first: bool,
        mut news: Vec<OrderedSummary<'a>>,
    ) -> Self {
        if newest_first {
            news.reverse();
        }
        let found = MatchPage { count: 0, briefs: Vec::new() };
        Self { window, newest_first, news: news.into_iter().peekable(), found }
    }

    /// Takes all of these, which come from the oldest on.
    pub(super) fn fill(&mut self, kept: impl DoubleEndedIterator<Item = OrderedSummary<'a>>) {
        if self.newest_first {
            kept.rev().for_each(|kept| self.take_kept(kept));
        } else {
            kept.for_each(|kept| self.take_kept(kept));
        }
    }

    /// The same of rows that a filter lets through, but for those that are `replaced` by news.
    pub(super) fn fill_with_runs(
        &mut self,
        runs: impl DoubleEndedIterator<Item = RowRun<'a>>,
        filter: &RowFilter,
        replaced: &[SortKey],
        also: Option<Condition<'_>>,
    ) {
        let newest_first = self.newest_first;
        let mut fill = |run: RowRun<'a>| {
            let counted = run.counts.filter(|_| also.is_none()).and_then(|it| filter.count(it));
            if let Some(count) = counted
                && !touches(replaced, run)
                && self.can_pass(run, count)
            {
                self.found.count += count;
                return;
            }
            let kept = run.rows.iter().filter(|row| {
                filter.lets_through(row)
                    && replaced.binary_search(&row.order).is_err()
                    && also.is_none_or(|also| also(&row.brief))
            });
            self.fill(kept.map(|row| (row.order, &row.brief)));
        };
        if newest_first {
            runs.rev().for_each(&mut fill);
        } else {
            runs.for_each(&mut fill);
        }
    }

    /// What there is of both.
    pub(super) fn finish(mut self) -> MatchPage {
        while let Some((_, brief)) = self.news.next() {
            self.take(brief);
        }
        self.found
    }

    /// Whether none of the part's rows, of which so many count, is in the window, and no news are among them.
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
        if self.newest_first { one > other } else { one < other }
    }

    fn take_kept(&mut self, (order, brief): OrderedSummary<'_>) {
        self.take_news_before(order);
        self.take(brief);
    }

    fn take_news_before(&mut self, order: SortKey) {
        let newest_first = self.newest_first;
        let is_due =
            |(new, _): &OrderedSummary<'_>| if newest_first { *new > order } else { *new < order };
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

/// Whether some of these orders lie between the part's first and last.
fn touches(orders: &[SortKey], run: RowRun<'_>) -> bool {
    let [Some(first), Some(last)] = [run.rows.first(), run.rows.last()] else { return false };
    let next = orders.partition_point(|order| *order < first.order);
    orders.get(next).is_some_and(|order| *order <= last.order)
}

/// The part of a filter that is decided by a row alone.
#[derive(Debug)]
pub(super) struct RowFilter {
    sport: Option<Sport>,
    /// A bit for each.
    statuses: u32,
    round: Option<u16>,
}

impl RowFilter {
    pub(super) fn of(filter: &Filter) -> Self {
        let bits = |statuses: &Vec<Status>| statuses.iter().fold(0, |bits, it| bits | bit(*it));
        Self {
            sport: filter.sport,
            statuses: filter.statuses.as_ref().map_or(u32::MAX, bits),
            round: filter.round,
        }
    }

    fn lets_through(&self, row: &IndexRow) -> bool {
        self.is_of(row.sport, row.status) && self.round.is_none_or(|round| Some(round) == row.round)
    }

    /// How many of these it lets through; `None` where rounds have to be looked at.
    fn count(&self, counts: &[StatusCount]) -> Option<usize> {
        let counted = counts.iter().filter(|it| self.is_of(it.sport, it.status));
        self.round.is_none().then(|| counted.map(|it| it.count).sum())
    }

    fn is_of(&self, sport: Sport, status: Status) -> bool {
        self.statuses & bit(status) != 0 && self.sport.is_none_or(|own| own == sport)
    }
}

fn bit(status: Status) -> u32 {
    1 << status as u32
}
