//! Matches in the order of lists, in blocks: a row is put in or taken out of its block alone, however
//! many there are.

use std::sync::Arc;

use fanout::Micros;
use ingest::event::Sport;

use crate::record::{Brief, Key, Status};

/// Rows of a block before it is halved. Its rows are moved when one is put in, 16 KiB at most; among
/// the blocks of a million matches one is found in a dozen steps.
const ROWS_MAX: usize = 512;

/// By start and id; without a start last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order {
    pub(super) start: Micros,
    pub(super) id: Key,
}

impl Order {
    pub(super) fn of(brief: &Brief) -> Self {
        Self { start: brief.start.unwrap_or(Micros::MAX), id: brief.id }
    }
}

/// A match and what nearly every list asks for.
#[derive(Debug)]
pub(super) struct Row {
    order: Order,
    pub(super) brief: Arc<Brief>,
    pub(super) sport: Sport,
    pub(super) status: Status,
    pub(super) round: Option<u16>,
}

impl Row {
    pub(super) fn of(brief: &Arc<Brief>) -> Self {
        Self {
            order: Order::of(brief),
            brief: Arc::clone(brief),
            sport: brief.sport,
            status: brief.status,
            round: brief.round,
        }
    }
}

/// No block is empty, and all of one comes before all of the next.
#[derive(Debug, Default)]
pub(super) struct Rows {
    blocks: Vec<Vec<Row>>,
}

impl Rows {
    pub(super) fn of(mut rows: Vec<Row>) -> Self {
        rows.sort_unstable_by_key(|row| row.order);
        let mut blocks = Vec::with_capacity(rows.len() / (ROWS_MAX / 2) + 1);
        let mut rows = rows.into_iter();
        loop {
            // Half full: those that come next have room.
            let block: Vec<_> = rows.by_ref().take(ROWS_MAX / 2).collect();
            if block.is_empty() {
                return Self { blocks };
            }
            blocks.push(block);
        }
    }

    pub(super) fn insert(&mut self, row: Row) {
        // Behind all others it goes into the last block.
        let number = self.block(row.order).min(self.blocks.len().saturating_sub(1));
        let Some(block) = self.blocks.get_mut(number) else {
            self.blocks.push(vec![row]);
            return;
        };
        let place = block.partition_point(|other| other.order < row.order);
        block.insert(place, row);
        if block.len() > ROWS_MAX {
            let behind = block.split_off(ROWS_MAX / 2);
            self.blocks.insert(number + 1, behind);
        }
    }

    /// Puts it in the place of the one of the same order.
    pub(super) fn replace(&mut self, row: Row) {
        let number = self.block(row.order);
        if let Some(block) = self.blocks.get_mut(number)
            && let Ok(place) = block.binary_search_by_key(&row.order, |other| other.order)
        {
            block[place] = row;
        }
    }

    pub(super) fn remove(&mut self, order: Order) {
        let number = self.block(order);
        let Some(block) = self.blocks.get_mut(number) else { return };
        if let Ok(place) = block.binary_search_by_key(&order, |row| row.order) {
            block.remove(place);
            if block.is_empty() {
                self.blocks.remove(number);
            }
        }
    }

    /// From this order on and before that.
    pub(super) fn range(
        &self,
        first: Order,
        last: Option<Order>,
    ) -> impl DoubleEndedIterator<Item = &Row> {
        let begin = self.block(first);
        let end = last.map_or(self.blocks.len(), |last| {
            self.blocks.partition_point(|block| block.first().is_some_and(|row| row.order < last))
        });
        let blocks = self.blocks.get(begin..end).unwrap_or_default();
        blocks.iter().flat_map(move |block| {
            let begin = block.partition_point(|row| row.order < first);
            let end =
                last.map_or(block.len(), |last| block.partition_point(|row| row.order < last));
            block.get(begin..end).unwrap_or_default()
        })
    }

    /// The block in which this order is, or into which it goes.
    fn block(&self, order: Order) -> usize {
        self.blocks.partition_point(|block| block.last().is_some_and(|row| row.order < order))
    }
}
