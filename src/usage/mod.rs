//! What accounts use: calls, calls over MCP, time on sockets and messages delivered to them, counted
//! for each account, product and day in UTC.
//!
//! Counting is adding to a number in memory. What was counted goes to the store in one transaction
//! every few seconds, and when the hub stops; a hub that is killed loses what was counted since the
//! last one. A flush that fails loses nothing, and what it tried is tried again, never twice: see
//! `flush`. It knows neither requests nor sockets; time comes in as `now`.
//!
//! In reading order: [`Counts`], [`Day`], `tally`, `tallies`, then `flush`, `store`, [`UsageDay`] and
//! `task`.

mod counts;
mod day;
mod flush;
mod report;
mod store;
mod tallies;
mod tally;
mod task;

use std::{fmt, sync::Arc};

use metrics::counter;
use tokio::sync::{RwLock, RwLockReadGuard};

pub use self::{
    counts::Counts,
    day::Day,
    report::UsageDay,
    task::{Flushes, start},
};
use self::{flush::Flusher, tallies::Tallies, tally::Slot};
use crate::{
    accounts::{AccountId, Micros},
    config::UsageConfig,
    database::Database,
    products::Product,
};

/// Days of which use is shown, the present one included.
pub const DAYS_SHOWN: u32 = 30;

/// A call that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Rest,
    Mcp,
}

/// Why a call could not be checked against a quota. Ours to mend, never the caller's.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// The store takes nothing, or there are more accounts at work than the settings allow for.
    #[error("no room to count in")]
    Full,
    #[error("the usage database failed")]
    Store(#[from] sqlx::Error),
}

/// A handle on all that is counted; clones share it.
#[derive(Clone)]
pub struct Meter {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    tallies: Tallies,
    /// Written by a flush. Whoever reads the store and the tallies together does so between two.
    flushing: RwLock<Flusher>,
    keep_days: u32,
}

impl Meter {
    /// `writer`: a random number, by which the store tells this process's flushes from others'.
    #[must_use]
    pub fn new(database: Database, config: &UsageConfig, writer: i64) -> Self {
        Self {
            shared: Arc::new(Shared {
                database,
                tallies: Tallies::new(config.entries_max),
                flushing: RwLock::new(Flusher::new(writer)),
                keep_days: config.keep_days,
            }),
        }
    }

    // --------------------------------------------------------------------------- counting

    /// Counts a REST call.
    pub fn call(&self, account: AccountId, product: Product, now: Micros) {
        self.count(account, product, Call::Rest.counts(), now);
    }

    /// Counts a call of a tool over MCP.
    pub fn mcp_call(&self, account: AccountId, product: Product, now: Micros) {
        self.count(account, product, Call::Mcp.counts(), now);
    }

    /// Counts what a socket was given until `now`, and how long it was open before; time over
    /// midnight belongs to both days.
    pub fn socket(&self, account: AccountId, open_ms: u64, messages: u64, now: Micros) {
        let given = Counts { messages, ..Counts::default() };
        self.count(account, Product::Websocket, given, now);
        for (day, socket_ms) in Day::shares(open_ms, now) {
            let open = Counts { socket_ms, ..Counts::default() };
            self.add(Slot { account, product: Product::Websocket, day }, open);
        }
    }

    /// Calls of either kind today, with those that were counted before this process began.
    ///
    /// # Errors
    ///
    /// If the store fails; it is asked once for each account, product and day.
    pub async fn today(
        &self,
        account: AccountId,
        product: Product,
        now: Micros,
    ) -> Result<u64, UsageError> {
        let slot = Slot { account, product, day: Day::of(now) };
        self.loaded(slot, |tally| tally.calls()).await
    }

    /// Counts a call if fewer than `limit`, of either kind, were made today, and says how many more
    /// may be; `None` if there are none left, and then nothing was counted. Of many calls at the same
    /// moment exactly as many get through as may. Another process on the same database is heard of
    /// with each flush.
    ///
    /// # Errors
    ///
    /// As [`Self::today`].
    pub async fn reserve(
        &self,
        account: AccountId,
        product: Product,
        call: Call,
        limit: u64,
        now: Micros,
    ) -> Result<Option<u64>, UsageError> {
        let slot = Slot { account, product, day: Day::of(now) };
        self.loaded(slot, |tally| tally.reserve(call, limit)).await
    }

    fn count(&self, account: AccountId, product: Product, counts: Counts, now: Micros) {
        self.add(Slot { account, product, day: Day::of(now) }, counts);
    }

    fn add(&self, slot: Slot, counts: Counts) {
        if counts.is_zero() {
            return;
        }
        if self.shared.tallies.with(slot, |tally| tally.add(counts)).is_none() {
            counter!("matchwire_usage_uncounted_total").increment(1);
        }
    }

    /// Does something with a tally that knows what the store has.
    async fn loaded<R>(
        &self,
        slot: Slot,
        act: impl Fn(&tally::Tally) -> R,
    ) -> Result<R, UsageError> {
        let tallies = &self.shared.tallies;
        loop {
            // With the lock on the tally: by the time that it is loaded, it may have been forgotten.
            let done = tallies.with(slot, |tally| match tally.loaded().get() {
                Some(()) => Ok(act(tally)),
                None => Err(Arc::clone(tally)),
            });
            match done {
                Some(Ok(done)) => return Ok(done),
                Some(Err(tally)) => self.load(slot, &tally).await?,
                None => return Err(UsageError::Full),
            }
        }
    }

    async fn load(&self, slot: Slot, tally: &tally::Tally) -> Result<(), UsageError> {
        tally.loaded().get_or_try_init(|| self.read_calls(slot, tally)).await.copied()
    }

    async fn read_calls(&self, slot: Slot, tally: &tally::Tally) -> Result<(), UsageError> {
        let _between_flushes = self.between_flushes(slot.day).await?;
        tally.store_has(store::all_calls(&self.shared.database, slot).await?);
        Ok(())
    }

    /// For as long as this is held, what the store has and what it does not have make up the whole.
    async fn between_flushes(
        &self,
        today: Day,
    ) -> Result<RwLockReadGuard<'_, Flusher>, UsageError> {
        loop {
            let between = self.shared.flushing.read().await;
            if between.is_settled() {
                return Ok(between);
            }
            drop(between);
            self.flush_on(today).await?;
        }
    }

    // -------------------------------------------------------------------------- reporting

    /// What an account used in the last [`DAYS_SHOWN`] days, the latest first, up to this moment.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn last_30_days(
        &self,
        account: AccountId,
        now: Micros,
    ) -> Result<Vec<UsageDay>, UsageError> {
        let (from, to) = shown(now);
        let _between_flushes = self.between_flushes(to).await?;
        let stored = store::days_of(&self.shared.database, account, from, to).await?;
        let unstored = self.shared.tallies.of(account, from, to);
        Ok(report::merged(stored.into_iter().chain(unstored)))
    }

    /// The same for all accounts together.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn last_30_days_of_all(&self, now: Micros) -> Result<Vec<UsageDay>, UsageError> {
        let (from, to) = shown(now);
        let _between_flushes = self.between_flushes(to).await?;
        let stored = store::days_of_all(&self.shared.database, from, to).await?;
        let unstored = self.shared.tallies.of_all(from, to);
        Ok(report::merged(stored.into_iter().chain(unstored)))
    }

    // --------------------------------------------------------------------------- flushing

    /// Writes what was counted to the store, in one transaction. Returns how many rows it wrote.
    ///
    /// # Errors
    ///
    /// If the store fails. Nothing is lost then: it is part of the next flush.
    pub async fn flush(&self, now: Micros) -> Result<usize, UsageError> {
        self.flush_on(Day::of(now)).await
    }

    async fn flush_on(&self, today: Day) -> Result<usize, UsageError> {
        let Shared { database, tallies, flushing, .. } = &*self.shared;
        let mut flushing = flushing.write().await;
        let flushed = flushing.flush(database, tallies, today).await;
        tallies.tidy(today);
        Ok(flushed?)
    }

    /// Deletes what is older than the settings say it is kept. Returns how many rows went.
    ///
    /// # Errors
    ///
    /// If the store fails; nothing has gone then.
    pub async fn sweep(&self, now: Micros) -> Result<u64, UsageError> {
        let mut tx = self.shared.database.begin().await?;
        let swept = store::sweep(&mut tx, Day::of(now).before(self.shared.keep_days)).await?;
        tx.commit().await?;
        Ok(swept)
    }
}

impl Call {
    fn counts(self) -> Counts {
        match self {
            Self::Rest => Counts { calls: 1, ..Counts::default() },
            Self::Mcp => Counts { mcp_calls: 1, ..Counts::default() },
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").finish_non_exhaustive()
    }
}

/// The first and the last of the days that are shown.
fn shown(now: Micros) -> (Day, Day) {
    let today = Day::of(now);
    (today.before(DAYS_SHOWN - 1), today)
}

#[cfg(test)]
mod tests;
