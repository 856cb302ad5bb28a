//! Tells listeners of every change, ours and those of other programs: `matchwire key revoke` beside a
//! running hub.
//!
//! For the latter it polls, because SQLite tells nobody across processes. A file-system notice would
//! not do either: it says that the write-ahead log was touched, not that something was committed, and
//! does not exist on every file system. `PRAGMA data_version` reads no page of the file, takes no lock
//! that a writer would meet, and costs some microseconds; ten times a second it is not to be seen in a
//! profile.

use std::{collections::HashSet, convert::Infallible, time::Duration};

use tokio::{
    sync::broadcast,
    time::{self, MissedTickBehavior},
};
use tracing::warn;

use super::{Accounts, AccountsError, KeyId, store};

/// Changes that a listener may be behind, 8 bytes each and kept once for all. One that falls further
/// behind is told so, and renews every caller it holds.
pub(super) const WAITING_MAX: usize = 4096;

/// Between one failure of the watching connection and the next try.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl Accounts {
    /// The keys that were revoked and the keys whose account's add-ons changed, as it is noticed.
    /// [`Self::renew`] tells which it was. A receiver that lags renews every caller it holds.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<KeyId> {
        self.shared.changes.subscribe()
    }

    /// Watches the file for changes by other programs until `stop` is ready. Runs beside the hub,
    /// once.
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
            warn!(error = &error as &dyn std::error::Error, "cannot watch the account database");
            time::sleep(RETRY_AFTER).await;
        }
    }

    /// On one connection throughout: the number can be compared only with what the same connection
    /// saw before. Our own writes change it too; they find that there is nothing left to tell.
    async fn watch_until_failure(&self, every: Duration) -> Result<Infallible, AccountsError> {
        let mut connection = self.shared.store.connect().await?;
        let mut seen = None;
        let mut ticks = time::interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let version = store::data_version(&mut connection).await?;
            if seen != Some(version) {
                self.tell_changes().await?;
                seen = Some(version);
            }
        }
    }

    /// After a write of our own. The write stands whatever happens here, so a failure is not the
    /// writer's; [`Self::watch`] tries again.
    pub(super) async fn tell_own_changes(&self) {
        if let Err(error) = self.tell_changes().await {
            warn!(error = &error as &dyn std::error::Error, "cannot tell of a change at once");
        }
    }

    /// Forgets what has changed since the last time, and tells the listeners. In this order: who is
    /// told of a change and asks again must not get the answer from before it.
    async fn tell_changes(&self) -> Result<(), AccountsError> {
        let mut told = self.shared.told.lock().await;
        let changed = self.shared.store.keys_changed_since(*told).await?;
        let Some(&(_, latest)) = changed.last() else { return Ok(()) };
        self.shared.cache.forget(&changed.iter().map(|&(key, _)| key).collect::<HashSet<_>>());
        *told = latest;
        for (key, _) in changed {
            // An error means that nobody listens, which is fine.
            self.shared.changes.send(key).ok();
        }
        Ok(())
    }
}
