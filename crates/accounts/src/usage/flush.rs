//! Writes tallies to the store: all or nothing, and nothing twice.
//!
//! Each flush has a number, which is written in the same transaction as its counts. If the answer
//! to a commit is lost, the next flush reads the number and knows whether the previous one was
//! committed; until then its counts are neither dropped nor added again. The same holds if a statement
//! is cut off by its time limit, which each has, because a reader waits until the flush has ended.

use std::{collections::HashMap, sync::Arc};

use sqlx::{Any, Transaction};

use super::{
    Counts, Day,
    journal::Journal,
    store,
    tallies::Tallies,
    tally::{Slot, Tally},
};
use database::{Database, STATEMENT_MAX, within};

/// The state of one writer; each process has its own.
#[derive(Debug)]
pub(super) struct Flusher {
    writer: i64,
    /// The number of the last flush. None is used twice, also by flushes that fail.
    number: i64,
    /// The flush whose commit is not known to have succeeded.
    unsettled: Option<Flush>,
}

/// A tally that a flush writes, with its total when the flush began.
pub(super) type WrittenTally = (Slot, Arc<Tally>, Counts);

/// A flush that waits for its commit.
pub(super) struct PendingFlush {
    pub(super) tx: Transaction<'static, Any>,
    number: i64,
    all_calls: HashMap<Slot, u64>,
}

#[derive(Debug)]
struct Flush {
    number: i64,
    /// Each with its total when the flush began.
    written: Vec<WrittenTally>,
}

impl Flusher {
    /// `writer`: random, and unique to this process and those before it whose journal it continues.
    /// `number`: the highest number of a flush of theirs.
    pub(super) fn new(writer: i64, number: i64) -> Self {
        Self { writer, number, unsettled: None }
    }

    /// The number and the totals of the flush whose outcome is not known.
    pub(super) fn unsettled(&self) -> Option<(i64, &[WrittenTally])> {
        self.unsettled.as_ref().map(|flush| (flush.number, &*flush.written))
    }

    /// Whether the outcome of every flush is known.
    pub(super) fn is_settled(&self) -> bool {
        self.unsettled.is_none()
    }

    /// Writes the counts that the store lacks. Returns the number of rows written.
    pub(super) async fn flush(
        &mut self,
        database: &Database,
        tallies: &Tallies,
        journal: Option<&Journal>,
        today: Day,
    ) -> sqlx::Result<usize> {
        let begun = self.begin(database, tallies, journal, today).await?;
        let Some(pending) = begun else { return Ok(0) };
        within(STATEMENT_MAX, pending.tx.commit()).await?;
        Ok(self.settle(pending.number, &pending.all_calls))
    }

    /// Writes everything but the commit; `None` if there is nothing to write. From then on the
    /// commit may take effect, even if its answer is lost.
    pub(super) async fn begin(
        &mut self,
        database: &Database,
        tallies: &Tallies,
        journal: Option<&Journal>,
        today: Day,
    ) -> sqlx::Result<Option<PendingFlush>> {
        let unstored = tallies.unstored();
        if unstored.is_empty() && self.is_settled() {
            return Ok(None);
        }
        let mut tx = within(STATEMENT_MAX, database.begin()).await?;
        let last = within(STATEMENT_MAX, store::last_flush(&mut tx, self.writer)).await?;
        let flush = self.next(unstored, last);
        let (number, rows) = (flush.number, flush.rows());
        let all_calls = store::add(&mut tx, &rows).await?.into_iter().collect();
        let set = store::set_last_flush(&mut tx, self.writer, number, today);
        within(STATEMENT_MAX, set).await?;
        if let Some(journal) = journal {
            journal.flush(number, &flush.written);
        }
        self.unsettled = Some(flush);
        Ok(Some(PendingFlush { tx, number, all_calls }))
    }

    /// The next flush, given the number of the last one in the store. If that is the unsettled one,
    /// it was committed, and otherwise it never will be. Its rows are part of this flush too, even
    /// with zero counts, to learn the store's totals.
    fn next(&mut self, unstored: Vec<(Slot, Arc<Tally>)>, last: i64) -> Flush {
        let mut written: HashMap<Slot, Arc<Tally>> = unstored.into_iter().collect();
        if let Some(before) = self.unsettled.take() {
            for (slot, tally, counted) in before.written {
                if before.number == last {
                    tally.is_stored(counted);
                }
                // A tally that was evicted meanwhile had nothing left that the store lacks, and
                // must not replace the newer one.
                written.entry(slot).or_insert(tally);
            }
        }
        let counted = |(slot, tally): (Slot, Arc<Tally>)| {
            let counted = tally.counted();
            (slot, tally, counted)
        };
        let mut written: Vec<_> = written.into_iter().map(counted).collect();
        // All hubs in the same order, to prevent deadlocks.
        written.sort_unstable_by_key(|(slot, ..)| (slot.account, slot.product.as_str(), slot.day));
        self.number = self.number.max(last) + 1;
        Flush { number: self.number, written }
    }

    /// Marks this flush as committed. Returns the number of its rows.
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
