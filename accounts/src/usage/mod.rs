//! Usage of accounts: REST calls, MCP calls, time on sockets and messages delivered to them,
//! counted per account, product and UTC day.
//!
//! Counting increments a number in memory. The counts are written to the store in one transaction
//! every few seconds and when the hub stops; a hub that is killed loses the counts since the last
//! flush. A failed flush loses nothing and is retried, but nothing is added twice: see `flush`.
//! This module knows neither requests nor sockets; time comes in as `now`.
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
    products::Product,
};
use database::Database;

/// Days of usage that are shown, including the current one.
pub const DAYS_SHOWN: u32 = 30;

/// A call that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Rest,
    Mcp,
}

/// Why a call could not be checked against a quota. Always a fault of the service, not the caller.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// The store is unavailable, or more accounts are active than the settings allow.
    #[error("too many counters")]
    Full,
    #[error("the usage database failed")]
    Store(#[from] sqlx::Error),
}

/// A handle to the counts; clones share it.
#[derive(Clone)]
pub struct Meter {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    tallies: Tallies,
    /// Locked exclusively by a flush. A reader that combines store and tallies does so between
    /// flushes.
    flushing: RwLock<Flusher>,
    keep_days: u32,
}

impl Meter {
    /// `writer`: a random number that distinguishes this process's flushes from others'.
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

    /// Counts messages delivered by a socket until `now`, and the preceding time it was open; time
    /// across midnight is split between both days.
    pub fn socket(&self, account: AccountId, open_ms: u64, messages: u64, now: Micros) {
        let given = Counts { messages, ..Counts::default() };
        self.count(account, Product::Websocket, given, now);
        for (day, socket_ms) in Day::shares(open_ms, now) {
            let open = Counts { socket_ms, ..Counts::default() };
            self.add(Slot { account, product: Product::Websocket, day }, open);
        }
    }

    /// Calls of both kinds today, including those before this process started.
    ///
    /// # Errors
    ///
    /// If the store fails; it is queried once for each account, product and day.
    pub async fn today(
        &self,
        account: AccountId,
        product: Product,
        now: Micros,
    ) -> Result<u64, UsageError> {
        let slot = Slot { account, product, day: Day::of(now) };
        self.loaded(slot, |tally| tally.calls()).await
    }

    /// Counts a call if fewer than `limit` calls of both kinds were made today, and returns how
    /// many are left; `None` if the quota is exhausted, and then nothing is counted. Of concurrent
    /// calls, exactly as many succeed as are left. Calls counted by another process become known
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

    /// Accesses a tally that has loaded the store's count.
    async fn loaded<R>(
        &self,
        slot: Slot,
        act: impl Fn(&tally::Tally) -> R,
    ) -> Result<R, UsageError> {
        let tallies = &self.shared.tallies;
        loop {
            // Under the lock of the tally: it may have been evicted since it was loaded.
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

    /// While this is held, the store and the unstored counts together are complete.
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

    /// The usage of an account in the last [`DAYS_SHOWN`] days, the latest first, up to now.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn last_30_days(
        &self,
        account: AccountId,
        now: Micros,
    ) -> Result<Vec<UsageDay>, UsageError> {
        let (from, to) = displayed_days(now);
        let _between_flushes = self.between_flushes(to).await?;
        let stored = store::days_of(&self.shared.database, account, from, to).await?;
        let unstored = self.shared.tallies.of(account, from, to);
        Ok(report::merged(stored.into_iter().chain(unstored)))
    }

    /// The usage of all accounts together.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn last_30_days_of_all(&self, now: Micros) -> Result<Vec<UsageDay>, UsageError> {
        let (from, to) = displayed_days(now);
        let _between_flushes = self.between_flushes(to).await?;
        let stored = store::days_of_all(&self.shared.database, from, to).await?;
        let unstored = self.shared.tallies.of_all(from, to);
        Ok(report::merged(stored.into_iter().chain(unstored)))
    }

    // --------------------------------------------------------------------------- flushing

    /// Writes the counts to the store, in one transaction. Returns the number of rows.
    ///
    /// # Errors
    ///
    /// If the store fails. Nothing is lost: the counts are part of the next flush.
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

    /// Deletes usage older than the configured retention. Returns the number of rows.
    ///
    /// # Errors
    ///
    /// If the store fails; nothing was deleted then.
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

/// The first and the last of the displayed days.
fn displayed_days(now: Micros) -> (Day, Day) {
    let today = Day::of(now);
    (today.before(DAYS_SHOWN - 1), today)
}

#[cfg(test)]
mod tests;
