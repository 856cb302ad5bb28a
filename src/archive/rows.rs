//! Matches in the order of lists, in blocks: a row is put in or taken out of its block alone, however
//! many there are.

use std::sync::Arc;

use fanout::Micros;
use ingest::event::Sport;

use crate::record::{Key, MatchSummary, Status};

/// Rows of a block before it is halved. Its rows are moved when one is put in, 16 KiB at most; among
/// the blocks of a million matches one is found in a dozen steps.
const ROWS_MAX: usize = if cfg!(test) { 6 } else { 512 };

/// By start and id; without a start last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SortKey {
    pub(super) start: Micros,
    pub(super) id: Key,
}

impl SortKey {
    pub(super) fn of(brief: &MatchSummary) -> Self {
        Self { start: brief.start.unwrap_or(Micros::MAX), id: brief.id }
    }
}

/// A match and what nearly every list asks for.
#[derive(Debug)]
pub(super) struct IndexRow {
    pub(super) order: SortKey,
    pub(super) brief: Arc<MatchSummary>,
    pub(super) sport: Sport,
    pub(super) status: Status,
    pub(super) round: Option<u16>,
}

impl IndexRow {
    pub(super) fn of(brief: &Arc<MatchSummary>) -> Self {
        Self {
            order: SortKey::of(brief),
            brief: Arc::clone(brief),
            sport: brief.sport,
            status: brief.status,
            round: brief.round,
        }
    }
}

/// Matches that follow each other, and how many of them there are of each sport and status: where no row of
/// a block is in a window, it need not be looked at.
#[derive(Debug, Default)]
struct RowBlock {
    rows: Vec<IndexRow>,
    counts: Vec<StatusCount>,
}

/// So many of one sport and status.
#[derive(Debug)]
pub(super) struct StatusCount {
    pub(super) sport: Sport,
    pub(super) status: Status,
    pub(super) count: usize,
}

impl RowBlock {
    fn of(rows: Vec<IndexRow>) -> Self {
        let mut block = Self { rows, counts: Vec::new() };
        block.count();
        block
    }

    /// Counts anew what it has.
    fn count(&mut self) {
        self.counts.clear();
        for IndexRow { sport, status, .. } in &self.rows {
            let known =
                self.counts.iter_mut().find(|it| (it.sport, it.status) == (*sport, *status));
            match known {
                Some(known) => known.count += 1,
                None => self.counts.push(StatusCount { sport: *sport, status: *status, count: 1 }),
            }
        }
    }
}

/// Rows that follow each other, at least one.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowRun<'a> {
    pub(super) rows: &'a [IndexRow],
    /// How many there are of each sport and status, where that was counted.
    pub(super) counts: Option<&'a [StatusCount]>,
}

/// No block is empty, and all of one comes before all of the next.
#[derive(Debug, Default)]
pub(super) struct IndexRows {
    blocks: Vec<RowBlock>,
}

impl IndexRows {
    pub(super) fn of(mut rows: Vec<IndexRow>) -> Self {
        rows.sort_unstable_by_key(|row| row.order);
        let mut blocks = Vec::with_capacity(rows.len() / (ROWS_MAX / 2) + 1);
        let mut rows = rows.into_iter();
        loop {
            // Half full: those that come next have room.
            let block: Vec<_> = rows.by_ref().take(ROWS_MAX / 2).collect();
            if block.is_empty() {
                return Self { blocks };
            }
            blocks.push(RowBlock::of(block));
        }
    }

    pub(super) fn insert(&mut self, row: IndexRow) {
        // Behind all others it goes into the last block.
        let number = self.block(row.order).min(self.blocks.len().saturating_sub(1));
        let Some(block) = self.blocks.get_mut(number) else {
            self.blocks.push(RowBlock::of(vec![row]));
            return;
        };
        let place = block.rows.partition_point(|other| other.order < row.order);
        block.rows.insert(place, row);
        if block.rows.len() > ROWS_MAX {
            let behind = RowBlock::of(block.rows.split_off(ROWS_MAX / 2));
            block.count();
            self.blocks.insert(number + 1, behind);
        } else {
            block.count();
        }
    }

    /// Puts it in the place of the one of the same order.
    pub(super) fn replace(&mut self, row: IndexRow) {
        let number = self.block(row.order);
        if let Some(block) = self.blocks.get_mut(number)
            && let Ok(place) = block.rows.binary_search_by_key(&row.order, |other| other.order)
        {
            block.rows[place] = row;
            block.count();
        }
    }

    pub(super) fn remove(&mut self, order: SortKey) {
        let number = self.block(order);
        let Some(block) = self.blocks.get_mut(number) else { return };
        if let Ok(place) = block.rows.binary_search_by_key(&order, |row| row.order) {
            block.rows.remove(place);
            block.count();
            if block.rows.is_empty() {
                self.blocks.remove(number);
            }
        }
    }

    /// From this order on and before that.
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

    /// The block in which this order is, or into which it goes.
    fn block(&self, order: SortKey) -> usize {
        self.blocks.partition_point(|block| block.rows.last().is_some_and(|row| row.order < order))
    }
}
