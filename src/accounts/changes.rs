//! Tells listeners of every change, ours and those of other programs: `matchwire key revoke` beside a
//! running hub.

use std::{collections::HashSet, convert::Infallible, time::Duration};

use tokio::{sync::broadcast, time};
use tracing::warn;

use super::{Accounts, AccountsError, KeyId};

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

    /// Watches the database for changes by other programs until `stop` is ready. Runs beside the hub,
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

    /// Our own writes count as changes too; they find that there is nothing left to tell.
    async fn watch_until_failure(&self, every: Duration) -> Result<Infallible, AccountsError> {
        let mut watcher = self.database().watch(every).await?;
        loop {
            watcher.changed().await?;
            self.broadcast_changes().await?;
        }
    }

    /// After a write of our own that changed these keys. They are forgotten first, whatever happens
    /// after that: when this returns, nobody is answered from before the change.
    pub(super) async fn broadcast_keys(&self, keys: Vec<KeyId>) {
        self.shared.cache.forget(&HashSet::from_iter(keys));
        self.broadcast_own_changes().await;
    }

    /// After a write of our own. The write stands whatever happens here, so a failure is not the
    /// writer's; [`Self::watch`] tries again.
    pub(crate) async fn broadcast_own_changes(&self) {
        if let Err(error) = self.broadcast_changes().await {
            warn!(error = &error as &dyn std::error::Error, "cannot tell of a change at once");
        }
    }

    /// Forgets what has changed since the last time, and tells the listeners. In this order: who is
    /// told of a change and asks again must not get the answer from before it.
    async fn broadcast_changes(&self) -> Result<(), AccountsError> {
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
