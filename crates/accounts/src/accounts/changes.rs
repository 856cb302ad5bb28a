//! Notifies listeners of every change, by this process and by others: `matchwire key revoke` next
//! to a running hub.

use std::{collections::HashSet, convert::Infallible, sync::atomic::Ordering, time::Duration};

use tokio::{sync::broadcast, time};

use super::{Accounts, Caller, KeyId, Result};
use base::clock::monotonic;
use database::{STATEMENT_MAX, within};

/// Changes a listener may lag behind, 8 bytes each and stored once for all listeners. One that lags
/// further is notified of it, and renews every caller it holds.
pub(super) const WAITING_MAX: usize = 4096;

/// The delay before the watching connection is retried after a failure.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl Accounts {
    /// Receives the keys that were revoked and the keys whose account's add-ons changed.
    /// [`Self::renew`] distinguishes the two. A receiver that lags renews every caller it holds.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<KeyId> {
        self.shared.changes.subscribe()
    }

    /// How long the database has not told of changes: it is asked once a second, also while nothing changes, if it is
    /// PostgreSQL.
    #[must_use]
    pub fn changes_silent(&self) -> Duration {
        let silent = monotonic() - self.shared.changes_read.load(Ordering::Relaxed);
        Duration::from_micros(u64::try_from(silent).unwrap_or(0))
    }

    /// Has receivers of [`Self::changes`] read this caller again, as if its key had changed.
    pub fn recheck(&self, caller: &Caller) {
        // An error means that there are no listeners, which is fine.
        self.shared.changes.send(caller.key).ok();
    }

    /// Watches the database for changes by other processes until `stop` completes. Must run once
    /// per process.
    ///
    /// # Panics
    ///
    /// If `every` is zero.
    pub async fn watch(self, every: Duration, stop: impl Future<Output = ()> + Send) {
        tokio::select! {
            () = stop => {}
            () = self.watch_always(every) => {}
        }
    }

    async fn watch_always(&self, every: Duration) {
        loop {
            let Err(error) = self.watch_until_failure(every).await;
            base::log_limited!(warn, error, "cannot watch the account database");
            time::sleep(RETRY_AFTER).await;
        }
    }

    /// This process's own writes count as changes too; by then there is nothing left to broadcast.
    async fn watch_until_failure(&self, every: Duration) -> Result<Infallible> {
        let mut watcher = self.database().watch(every).await?;
        loop {
            watcher.changed().await?;
            self.broadcast_changes().await?;
        }
    }

    /// Broadcasts a write by this process that changed these keys. They are evicted first, even if
    /// the broadcast fails: once this returns, no answer predates the change.
    pub(super) async fn broadcast_keys(&self, keys: Vec<KeyId>) {
        self.shared.cache.forget(&HashSet::from_iter(keys));
        self.broadcast_own_changes().await;
    }

    /// Broadcasts a write by this process. The write stands even if this fails, so a failure is
    /// not reported to the writer; [`Self::watch`] tries again.
    pub(crate) async fn broadcast_own_changes(&self) {
        if let Err(error) = self.broadcast_changes().await {
            base::log_limited!(warn, error, "cannot announce a change at once");
        }
    }

    /// Evicts what has changed since the last time, then notifies the listeners. The order matters:
    /// a listener that authenticates again must not get the old answer.
    ///
    /// The query has a time limit, because all later changes wait for it.
    async fn broadcast_changes(&self) -> Result<()> {
        let mut broadcast = self.shared.latest_broadcast.lock().await;
        let changed = self.shared.store.keys_changed_since(*broadcast);
        let asked = monotonic();
        let changed = within(STATEMENT_MAX, changed).await?;
        self.shared.changes_read.store(asked, Ordering::Relaxed);
        let Some(&(_, latest)) = changed.last() else { return Ok(()) };
        self.shared.cache.forget(&changed.iter().map(|&(key, _)| key).collect::<HashSet<_>>());
        *broadcast = latest;
        for (key, _) in changed {
            // An error means that there are no listeners, which is fine.
            self.shared.changes.send(key).ok();
        }
        Ok(())
    }
}
