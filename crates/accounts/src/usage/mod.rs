//! Usage of accounts: REST calls, MCP calls, time on sockets and messages delivered to them,
//! counted per account, product and UTC day.
//!
//! Counting increments a number in memory. The counts are written to the store in one transaction
//! every few seconds and when the hub stops. Until then they are in the usage journal next to the
//! database, so that a hub that is killed loses nothing: see `journal`. A failed flush loses nothing
//! and is retried, but nothing is added twice: see `flush`.
//! This module knows neither requests nor sockets; time comes in as `now`.
//!
//! In reading order: [`Counts`], [`Day`], `call_time`, `tally`, `tallies`, then `journal`, `flush`,
//! `store`, [`UsageDay`] and `task`; `lease` is for several nodes.

mod call_time;
mod counts;
mod day;
mod flush;
mod journal;
mod lease;
mod report;
mod store;
mod tallies;
mod tally;
mod task;

use std::{error::Error, fmt, path::Path, sync::Arc};

use metrics::counter;
use tokio::sync::{RwLock, RwLockReadGuard};
use tracing::warn;

use self::{
    call_time::CallTime,
    flush::Flusher,
    journal::{Journal, OpenedFile, Recovered},
    lease::{NoLease, ReturnError},
    tallies::Tallies,
    tally::{Slot, Tally},
};
pub use self::{
    counts::Counts,
    day::Day,
    journal::path_beside,
    report::UsageDay,
    task::{Flushes, start},
};
use crate::{
    accounts::{AccountId, Micros},
    config::UsageConfig,
    limits::{Quota, QuotaStatus},
    products::Product,
};
use database::{Database, STATEMENT_MAX, within};

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
    /// As a moment ago.
    #[error("the usage database failed a moment ago")]
    Unavailable,
    #[error("the usage database failed")]
    Store(#[from] sqlx::Error),
}

/// Who admits calls under the quotas of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotas {
    /// This process. Calls counted by another process become known with each flush.
    Alone,
    /// The nodes of a cluster, which lease parts of each quota.
    WithOtherNodes,
}

/// A handle to the counts; clones share it.
#[derive(Clone)]
pub struct Meter {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    tallies: Tallies,
    journal: Option<Journal>,
    /// Locked exclusively by a flush. A reader that combines store and tallies does so between
    /// flushes.
    flushing: RwLock<Flusher>,
    quotas: Quotas,
    keep_days: u32,
}

impl Meter {
    /// `writer`: a random number that distinguishes this process's flushes from others'.
    #[must_use]
    pub fn new(database: Database, config: &UsageConfig, writer: i64) -> Self {
        Self::with_parts(database, config, Quotas::Alone, None, Flusher::new(writer, 0))
    }

    /// Like [`Self::new`], with a journal in this file. First restores the counts that were not flushed
    /// when the previous process was killed; the next flush writes them. If the journal cannot be used,
    /// or another process uses it, this is logged and the meter runs without a journal.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn with_journal(
        database: Database,
        config: &UsageConfig,
        quotas: Quotas,
        writer: i64,
        journal: &Path,
    ) -> Result<Self, UsageError> {
        let opened = match OpenedFile::open(journal) {
            Ok(opened) => opened,
            Err(error) => {
                warn!(
                    error = &error as &dyn Error,
                    path = %journal.display(),
                    "cannot use the usage journal: counts since the last flush are lost if the hub is killed"
                );
                let flusher = Flusher::new(writer, 0);
                return Ok(Self::with_parts(database, config, quotas, None, flusher));
            }
        };
        let recovered = Recovered::read(&opened.bytes);
        if recovered.unreadable > 0 {
            warn!(
                bytes = recovered.unreadable,
                path = %journal.display(),
                "the usage journal is damaged; counts in these bytes are lost"
            );
        }
        let number = recovered.last_number;
        // Continues as the same writer: the database stores the number of its last flush under it.
        let last_writer = recovered.writer;
        let writer = last_writer.unwrap_or(writer);
        let journal = Journal::new(opened, writer);
        let flusher = Flusher::new(writer, number);
        let meter = Self::with_parts(database, config, quotas, Some(journal), flusher);
        if last_writer.is_some() {
            let mut tx = meter.shared.database.begin().await?;
            let last = store::last_flush(&mut tx, writer).await?;
            tx.rollback().await?;
            for (slot, counts) in recovered.unstored(last) {
                meter.add_unjournaled(slot, counts);
            }
        }
        if let Some(journal) = &meter.shared.journal
            && !journal.reduce(|| meter.shared.tallies.unstored(), None)
        {
            // From now on its ids would refer to other tallies.
            journal.clear();
        }
        Ok(meter)
    }

    fn with_parts(
        database: Database,
        config: &UsageConfig,
        quotas: Quotas,
        journal: Option<Journal>,
        flusher: Flusher,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                database,
                tallies: Tallies::new(config.entries_max),
                journal,
                flushing: RwLock::new(flusher),
                quotas,
                keep_days: config.keep_days,
            }),
        }
    }

    // --------------------------------------------------------------------------- counting

    /// Counts a call. Once this returns, the count survives a kill of the process. Calls that are counted
    /// at the same time share a write to the journal.
    pub async fn count_call(&self, account: AccountId, product: Product, call: Call, now: Micros) {
        let slot = Slot { account, product, day: Day::at(now) };
        let tally = self.add_unjournaled(slot, call.counts());
        if let Some(tally) = tally {
            self.journal_shared(slot, &tally).await;
        }
    }

    /// Counts a REST call.
    pub fn call(&self, account: AccountId, product: Product, now: Micros) {
        self.count(account, product, Call::Rest.counts(), now);
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
    /// If the store fails, for a second without being asked again; it is queried once for each account,
    /// product and day.
    pub async fn today(
        &self,
        account: AccountId,
        product: Product,
        now: Micros,
    ) -> Result<u64, UsageError> {
        let slot = Slot { account, product, day: Day::at(now) };
        self.loaded(slot, |tally| tally.calls(), CallTime::beginning(now)).await
    }

    /// Counts a call if fewer than `limit` calls of both kinds were made today, and returns how
    /// many are left; `None` if the quota is exhausted, and then nothing is counted. Of concurrent
    /// calls, exactly as many succeed as are left: of this process, or of all nodes, see [`Quotas`].
    /// Among nodes, the number that is left is what this node knows of it.
    ///
    /// # Errors
    ///
    /// As [`Self::today`]. A node asks the store whenever it has used up its part.
    pub async fn reserve(
        &self,
        account: AccountId,
        product: Product,
        call: Call,
        limit: u64,
        now: Micros,
    ) -> Result<Option<u64>, UsageError> {
        let time = CallTime::beginning(now);
        let slot = Slot { account, product, day: Day::at(now) };
        let (left, tally) = match self.shared.quotas {
            Quotas::Alone => {
                let reserve = |tally: &Arc<Tally>| (tally.reserve(call, limit), Arc::clone(tally));
                self.loaded(slot, reserve, time).await?
            }
            Quotas::WithOtherNodes => self.reserve_leased(slot, call, limit, time).await?,
        };
        if left.is_some() {
            self.journal_shared(slot, &tally).await;
        }
        Ok(left)
    }

    /// Counts a call, against the day's quota if there is one, of which it returns the status.
    ///
    /// # Errors
    ///
    /// If the quota is used up.
    pub async fn charge(
        &self,
        account: AccountId,
        (product, call): (Product, Call),
        quota: Option<Quota>,
        now: Micros,
    ) -> Result<Option<QuotaStatus>, QuotaStatus> {
        if let Some(quota) = quota {
            match self.reserve(account, product, call, quota.per_day, now).await {
                Ok(Some(left)) => return Ok(Some(quota.status(left, now))),
                Ok(None) => return Err(quota.status(0, now)),
                // The call is free: the failure is the hub's, not the client's.
                Err(error) => {
                    base::log_limited!(
                        warn,
                        error,
                        "a call could not be counted against its quota"
                    );
                }
            }
        }
        self.count_call(account, product, call, now).await;
        Ok(None)
    }

    /// As [`Self::reserve`], with leases.
    async fn reserve_leased(
        &self,
        slot: Slot,
        call: Call,
        limit: u64,
        time: CallTime,
    ) -> Result<(Option<u64>, Arc<Tally>), UsageError> {
        let Shared { database, tallies, .. } = &*self.shared;
        loop {
            // Under the lock of the tally, like the part that is added to its lease: it may have been evicted.
            let reserve = |tally: &Arc<Tally>| {
                (tally.reserve_leased(call, limit, time.now()), Arc::clone(tally))
            };
            let (left, tally) = tallies.with(slot, reserve).ok_or(UsageError::Full)?;
            if left.is_some() {
                return Ok((left, tally));
            }
            let lease = tally.lease();
            let mut last_refusal = lease.last_refusal.lock().await;
            if lease.left() > 0 {
                continue;
            }
            // Now, since others may have waited for the same answer.
            match last_refusal.holds(time.now()) {
                Some(NoLease::Exhausted) => return Ok((None, Arc::clone(&tally))),
                Some(NoLease::Unavailable) => return Err(UsageError::Unavailable),
                None => {}
            }
            match within(STATEMENT_MAX, lease::take(database, slot, limit)).await {
                Ok(Some(part)) => {
                    let added = tallies.with(slot, |tally| tally.lease().add(part, time.now()));
                    added.ok_or(UsageError::Full)?;
                }
                Ok(None) => {
                    last_refusal.set(NoLease::Exhausted, time.now());
                    return Ok((None, Arc::clone(&tally)));
                }
                Err(error) => {
                    last_refusal.set(NoLease::Unavailable, time.now());
                    return Err(error.into());
                }
            }
        }
    }

    /// Returns the leases of accounts that have made no call since `before`, for other nodes to use.
    ///
    /// # Errors
    ///
    /// If the store fails. The leases go on then, and are returned by the next call, unless it is not known whether they
    /// were returned.
    pub async fn return_leases(&self, before: Micros, now: Micros) -> Result<(), UsageError> {
        let Shared { database, tallies, .. } = &*self.shared;
        let mut unused = tallies.end_leases(before, Day::at(now));
        if unused.is_empty() {
            return Ok(());
        }
        match lease::put_back(database, &mut unused).await {
            Ok(()) => Ok(()),
            Err(ReturnError::Leased(error)) => {
                tallies.go_on_with_leases(unused);
                Err(error.into())
            }
            Err(ReturnError::Unknown(error)) => Err(error.into()),
        }
    }

    fn count(&self, account: AccountId, product: Product, counts: Counts, now: Micros) {
        self.add(Slot { account, product, day: Day::at(now) }, counts);
    }

    fn add(&self, slot: Slot, counts: Counts) {
        let tally = self.add_unjournaled(slot, counts);
        if let (Some(tally), Some(journal)) = (tally, &self.shared.journal) {
            journal.write(journal.append(slot, &tally));
        }
    }

    /// The tally, unless there is nothing to count or no room.
    fn add_unjournaled(&self, slot: Slot, counts: Counts) -> Option<Arc<Tally>> {
        if counts.is_zero() {
            return None;
        }
        let add = |tally: &Arc<Tally>| {
            tally.add(counts);
            Arc::clone(tally)
        };
        let tally = self.shared.tallies.with(slot, add);
        if tally.is_none() {
            counter!("matchwire_usage_uncounted_total").increment(1);
        }
        tally
    }

    /// Writes the total of a tally to the journal. Tasks that are ready to run share one write, because a
    /// write costs a twentieth of a request.
    async fn journal_shared(&self, slot: Slot, tally: &Tally) {
        if let Some(journal) = &self.shared.journal {
            let ticket = journal.append(slot, tally);
            tokio::task::yield_now().await;
            journal.write(ticket);
        }
    }

    /// Accesses a tally that has loaded the store's count.
    async fn loaded<R>(
        &self,
        slot: Slot,
        act: impl Fn(&Arc<Tally>) -> R,
        time: CallTime,
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
                Some(Err(tally)) => self.load(slot, &tally, time).await?,
                None => return Err(UsageError::Full),
            }
        }
    }

    /// Of concurrent calls one asks the store, and the others wait for its answer, or that there is none.
    async fn load(&self, slot: Slot, tally: &Tally, time: CallTime) -> Result<(), UsageError> {
        let read = async {
            if tally.has_load_failed(time.now()) {
                return Err(UsageError::Unavailable);
            }
            let read = self.read_calls(slot, tally).await;
            if read.is_err() {
                tally.load_failed(time.now());
            }
            read
        };
        tally.loaded().get_or_try_init(|| read).await.copied()
    }

    async fn read_calls(&self, slot: Slot, tally: &Tally) -> Result<(), UsageError> {
        let _between_flushes = self.between_flushes(slot.day).await?;
        let calls = store::all_calls(&self.shared.database, slot);
        tally.store_has(within(STATEMENT_MAX, calls).await?);
        Ok(())
    }

    /// While this is held, the store and the unstored counts together are complete. Flushes wait for it.
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
        let to = Day::at(now);
        let from = to.before(DAYS_SHOWN - 1);
        let _between_flushes = self.between_flushes(to).await?;
        let stored = store::days_of(&self.shared.database, account, from, to);
        let stored = within(STATEMENT_MAX, stored).await?;
        let unstored = self.shared.tallies.days(account, from, to);
        Ok(report::merged(stored.into_iter().chain(unstored)))
    }

    // --------------------------------------------------------------------------- flushing

    /// Writes the counts to the store, in one transaction. Returns the number of rows.
    ///
    /// # Errors
    ///
    /// If the store fails. Nothing is lost: the counts are part of the next flush.
    pub async fn flush(&self, now: Micros) -> Result<usize, UsageError> {
        self.flush_on(Day::at(now)).await
    }

    async fn flush_on(&self, today: Day) -> Result<usize, UsageError> {
        let Shared { database, tallies, journal, flushing, .. } = &*self.shared;
        let mut flushing = flushing.write().await;
        let flushed = flushing.flush(database, tallies, journal.as_ref(), today).await;
        if let Some(journal) = journal {
            journal.reduce(|| tallies.unstored(), flushing.unsettled());
        }
        tallies.tidy(today);
        Ok(flushed?)
    }

    /// Deletes usage older than the configured retention. Returns the number of rows.
    ///
    /// # Errors
    ///
    /// If the store fails; nothing was deleted then.
    pub async fn sweep(&self, now: Micros) -> Result<u64, UsageError> {
        let mut tx = within(STATEMENT_MAX, self.shared.database.begin()).await?;
        let swept = store::sweep(&mut tx, Day::at(now).before(self.shared.keep_days)).await?;
        within(STATEMENT_MAX, tx.commit()).await?;
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

#[cfg(test)]
mod tests;
