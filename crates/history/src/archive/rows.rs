//! Matches in the order of lists, in blocks: an insertion or removal changes only its block,
//! regardless of the number of matches.

use std::{cmp::Ordering, sync::Arc};

use base::Micros;
use facts::event::Sport;

use record::{Key, MatchSummary, Status};

/// Rows per block before it is split. An insertion moves the rows of its block, 16 KiB at most;
/// finding a block among those of a million matches takes a dozen steps.
const ROWS_MAX: usize = if cfg!(test) { 6 } else { 512 };

/// By start and id; matches without a start come last, in lists with the newest first too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SortKey {
    pub(super) start: Micros,
    pub(super) id: Key,
}

impl SortKey {
    /// Before all matches without a start.
    pub(super) const UNDATED: Self = Self { start: Micros::MAX, id: 0 };

    pub(super) fn new(summary: &MatchSummary) -> Self {
        Self { start: summary.start.unwrap_or(Micros::MAX), id: summary.id }
    }

    /// The order of two in a list.
    pub(super) fn compare(self, other: Self, newest_first: bool) -> Ordering {
        let by_start = if newest_first { other.cmp(&self) } else { self.cmp(&other) };
        (self >= Self::UNDATED).cmp(&(other >= Self::UNDATED)).then(by_start)
    }
}

/// A match and the fields that almost every list filters by.
#[derive(Debug)]
pub(super) struct IndexRow {
    pub(super) order: SortKey,
    pub(super) summary: Arc<MatchSummary>,
    pub(super) sport: Sport,
    pub(super) status: Status,
    pub(super) round: Option<u16>,
}

impl IndexRow {
    pub(super) fn new(summary: &Arc<MatchSummary>) -> Self {
        Self {
            order: SortKey::new(summary),
            summary: Arc::clone(summary),
            sport: summary.sport,
            status: summary.status,
            round: summary.round,
        }
    }
}

/// Consecutive matches, with their number per sport and status: a block with no row in the window
/// need not be scanned.
#[derive(Debug, Default)]
struct RowBlock {
    rows: Vec<IndexRow>,
    counts: Vec<StatusCount>,
}

/// The number of matches of one sport and status.
#[derive(Debug)]
pub(super) struct StatusCount {
    pub(super) sport: Sport,
    pub(super) status: Status,
    pub(super) count: usize,
}

impl RowBlock {
    fn new(rows: Vec<IndexRow>) -> Self {
        let mut block = Self { rows, counts: Vec::new() };
        block.count();
        block
    }

    /// Recomputes the counts.
    fn count(&mut self) {
        self.counts.clear();
        for IndexRow { sport, status, .. } in &self.rows {
            let existing =
                self.counts.iter_mut().find(|it| (it.sport, it.status) == (*sport, *status));
            match existing {
                Some(existing) => existing.count += 1,
                None => self.counts.push(StatusCount { sport: *sport, status: *status, count: 1 }),
            }
        }
    }
}

/// Consecutive rows, at least one.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowRun<'a> {
    pub(super) rows: &'a [IndexRow],
    /// The number per sport and status, if it was counted.
    pub(super) counts: Option<&'a [StatusCount]>,
}

/// No block is empty, and all rows of a block come before all rows of the next.
#[derive(Debug, Default)]
pub(super) struct IndexRows {
    blocks: Vec<RowBlock>,
}

impl IndexRows {
    pub(super) fn new(mut rows: Vec<IndexRow>) -> Self {
        rows.sort_unstable_by_key(|row| row.order);
        let mut blocks = Vec::with_capacity(rows.len() / (ROWS_MAX / 2) + 1);
        let mut rows = rows.into_iter();
        loop {
            // Half full, so that later rows fit.
            let block: Vec<_> = rows.by_ref().take(ROWS_MAX / 2).collect();
            if block.is_empty() {
                return Self { blocks };
            }
            blocks.push(RowBlock::new(block));
        }
    }

    pub(super) fn insert(&mut self, row: IndexRow) {
        // A row after all others goes into the last block.
        let number = self.block(row.order).min(self.blocks.len().saturating_sub(1));
        let Some(block) = self.blocks.get_mut(number) else {
            self.blocks.push(RowBlock::new(vec![row]));
            return;
        };
        let index = block.rows.partition_point(|other| other.order < row.order);
        block.rows.insert(index, row);
        if block.rows.len() > ROWS_MAX {
            let behind = RowBlock::new(block.rows.split_off(ROWS_MAX / 2));
            block.count();
            self.blocks.insert(number + 1, behind);
        } else {
            block.count();
        }
    }

    /// Replaces the row with the same sort key.
    pub(super) fn replace(&mut self, row: IndexRow) {
        let number = self.block(row.order);
        if let Some(block) = self.blocks.get_mut(number)
            && let Ok(index) = block.rows.binary_search_by_key(&row.order, |other| other.order)
        {
            block.rows[index] = row;
            block.count();
        }
    }

    pub(super) fn remove(&mut self, order: SortKey) {
        let number = self.block(order);
        let Some(block) = self.blocks.get_mut(number) else { return };
        if let Ok(index) = block.rows.binary_search_by_key(&order, |row| row.order) {
            block.rows.remove(index);
            block.count();
            if block.rows.is_empty() {
                self.blocks.remove(number);
            }
        }
    }

    /// The rows from the first key up to but without the second.
    pub(super) fn range(
        &self,
        first: SortKey,
        last: Option<SortKey>,
    ) -> impl DoubleEndedIterator<Item = RowRun<'_>> {
        let begin = self.block(first);
        let end = last.map_or(self.blocks.len(), |last| {
            self.blocks
                .partition_point(|block| block.rows.first().is_some_and(|row| row.order < last))
        });
        let blocks = self.blocks.get(begin..end).unwrap_or_default();
        let runs = blocks.iter().map(move |RowBlock { rows, counts }| {
            let begin = rows.partition_point(|row| row.order < first);
            let end = last.map_or(rows.len(), |last| rows.partition_point(|row| row.order < last));
            let within = rows.get(begin..end).unwrap_or_default();
            let is_whole = within.len() == rows.len();
            RowRun { rows: within, counts: is_whole.then_some(&**counts) }
        });
        runs.filter(|run| !run.rows.is_empty())
    }

    /// The block that contains this key, or into which it would be inserted.
    fn block(&self, order: SortKey) -> usize {
        self.blocks.partition_point(|block| block.rows.last().is_some_and(|row| row.order < order))
    }
}
