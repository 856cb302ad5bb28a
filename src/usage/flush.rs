//! From the tallies to the store: all or nothing, and nothing twice.
//!
//! Each flush has a number, which is written in the same transaction as what it adds. When the answer
//! to a commit is lost, the next flush reads the number and knows whether the one before it took
//! place; until then its counts are neither forgotten nor added again.

use std::{collections::HashMap, sync::Arc};

use sqlx::{Any, Transaction};

use super::{
    Counts, Day, store,
    tallies::Tallies,
    tally::{Slot, Tally},
};
use crate::database::Database;

/// The state of one writer, of which each process has its own.
#[derive(Debug)]
pub(super) struct Flusher {
    writer: i64,
    /// The flush of which it is not known whether it took place.
    unsettled: Option<Flush>,
}

/// A flush that waits for its commit.
pub(super) struct PendingFlush {
    pub(super) tx: Transaction<'static, Any>,
    number: i64,
    all_calls: HashMap<Slot, u64>,
}

#[derive(Debug)]
struct Flush {
    number: i64,
    /// Each with all that had been counted when the flush began.
    written: Vec<(Slot, Arc<Tally>, Counts)>,
}

impl Flusher {
    /// `writer`: random, and no other process's.
    pub(super) fn new(writer: i64) -> Self {
        Self { writer, unsettled: None }
    }

    /// Whether it is known of every flush whether it took place.
    pub(super) fn is_settled(&self) -> bool {
        self.unsettled.is_none()
    }

    /// Brings to the store what it does not have. Returns how many rows were written.
    pub(super) async fn flush(
        &mut self,
        database: &Database,
        tallies: &Tallies,
        today: Day,
    ) -> Result<usize, sqlx::Error> {
        let Some(pending) = self.begin(database, tallies, today).await? else { return Ok(0) };
        pending.tx.commit().await?;
        Ok(self.settle(pending.number, &pending.all_calls))
    }

    /// Writes everything but the commit; `None` where there is nothing to write. From then on it may
    /// take place, whatever is heard of it.
    pub(super) async fn begin(
        &mut self,
        database: &Database,
        tallies: &Tallies,
        today: Day,
    ) -> Result<Option<PendingFlush>, sqlx::Error> {
        let unstored = tallies.unstored();
        if unstored.is_empty() && self.is_settled() {
            return Ok(None);
        }
        let mut tx = database.begin().await?;
        let last = store::last_flush(&mut tx, self.writer).await?;
        let flush = self.next(unstored, last);
        let (number, rows) = (flush.number, flush.rows());
        let all_calls = store::add(&mut tx, &rows).await?.into_iter().collect();
        store::set_last_flush(&mut tx, self.writer, number, today).await?;
        self.unsettled = Some(flush);
        Ok(Some(PendingFlush { tx, number, all_calls }))
    }

    /// The flush after the one that the store has had last. If that is the unsettled one, it took
    /// place, and if not, it never will. What it wrote is part of this one too, be it by nothing, to
    /// learn what the store has in all.
    fn next(&mut self, unstored: Vec<(Slot, Arc<Tally>)>, last: i64) -> Flush {
        let mut written: HashMap<Slot, Arc<Tally>> = unstored.into_iter().collect();
        if let Some(before) = self.unsettled.take() {
            for (slot, tally, counted) in before.written {
                if before.number == last {
                    tally.is_stored(counted);
                }
                // One that was forgotten meanwhile had nothing left that the store does not have, and
                // must not stand in the way of the one that has been counted on since.
                written.entry(slot).or_insert(tally);
            }
        }
        let counted = |(slot, tally): (Slot, Arc<Tally>)| {
            let counted = tally.counted();
            (slot, tally, counted)
        };
        let mut written: Vec<_> = written.into_iter().map(counted).collect();
        // All hubs in the same order, so that no two of them wait for each other.
        written.sort_unstable_by_key(|(slot, ..)| (slot.account, slot.product.as_str(), slot.day));
        Flush { number: last + 1, written }
    }

    /// It is known that this flush took place. Returns how many rows it wrote.
    fn settle(&mut self, number: i64, all_calls: &HashMap<Slot, u64>) -> usize {
        let Some(flush) = self.unsettled.take_if(|flush| flush.number == number) else { return 0 };
        let rows = flush.written.len();
        for (slot, tally, counted) in flush.written {
            tally.is_stored(counted);
            if let Some(calls) = all_calls.get(&slot) {
                tally.store_has(*calls);
            }
        }
        rows
    }
}

impl Flush {
    fn rows(&self) -> Vec<(Slot, Counts)> {
        let row = |(slot, tally, counted): &(Slot, Arc<Tally>, Counts)| {
            (*slot, counted.since(tally.stored()))
        };
        self.written.iter().map(row).collect()
    }
}
