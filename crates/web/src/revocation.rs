//! Closes the sockets of revoked keys at once, and updates the entitlements of the others.
//!
//! The store reports changed keys, including changes by other processes. This module decides what
//! to do from the key's current state; the fan-out does it.

use std::time::Duration;

use fanout::Fanout;
use tokio::{
    sync::{broadcast, watch},
    task::JoinHandle,
    time,
};
use tracing::error;

use crate::{
    clock,
    entitlement::Entitlement,
    http::{Registry, close},
    supervisor::{self, Lifetime},
};
use accounts::{Accounts, Caller, KeyId};

/// The delay between attempts to read a changed key while the database is unavailable.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What is needed to process a changed key.
#[derive(Debug)]
pub struct Revoker {
    pub accounts: Accounts,
    pub registry: Registry,
    pub entitlement: Entitlement,
    pub fanout: Fanout,
}

/// Watches for changes until `stopped` turns true: polls the store at this interval, and processes
/// changes at once.
pub fn start(
    revoker: Revoker,
    every: Duration,
    stopped: &watch::Receiver<bool>,
) -> [JoinHandle<()>; 2] {
    let changes = revoker.accounts.changes();
    let store = revoker.accounts.clone();
    let watching = store.watch(every, until(stopped.clone()));
    let watching = supervisor::spawn("key-watcher", Lifetime::UntilStop, watching);
    let stop = until(stopped.clone());
    let looking = supervisor::spawn("revocation", Lifetime::UntilStop, async move {
        tokio::select! {
            () = revoker.run(changes) => {}
            () = stop => {}
        }
    });
    [watching, looking]
}

async fn until(mut stopped: watch::Receiver<bool>) {
    stopped.wait_for(|stopped| *stopped).await.ok();
}

impl Revoker {
    /// Until the accounts are gone.
    async fn run(self, changes: broadcast::Receiver<KeyId>) {
        tokio::select! {
            () = self.follow_accounts(changes) => {}
            () = self.follow_prices() => {}
        }
    }

    async fn follow_accounts(&self, mut changes: broadcast::Receiver<KeyId>) {
        loop {
            match changes.recv().await {
                Ok(key) => self.recheck(key).await,
                // The receiver lagged.
                Err(broadcast::error::RecvError::Lagged(_)) => self.recheck_all().await,
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    }

    /// Other prices need no database, so they do not wait for a key that is being read.
    async fn follow_prices(&self) {
        let mut prices = self.entitlement.changes();
        // The sender lives as long as the entitlement.
        while prices.changed().await.is_ok() {
            // Accounts have what they had.
            let keys = self.registry.callers().into_keys();
            keys.filter_map(|key| self.registry.caller(key)).for_each(|caller| self.permit(caller));
        }
    }

    async fn recheck_all(&self) {
        for key in self.registry.callers().into_keys() {
            self.recheck(key).await;
        }
    }

    /// Updates what a key's sockets may follow, and until when.
    fn permit(&self, caller: Caller) {
        let permission = self.entitlement.permission(&caller, clock::wall());
        self.registry.renew(caller, &permission);
        self.fanout.permit(caller.key.number(), &permission, close::expiry(&caller));
    }

    /// Retries until the database answers. Other keys wait meanwhile; they could not be read
    /// either.
    async fn recheck(&self, key: KeyId) {
        while let Some(caller) = self.registry.caller(key) {
            match self.accounts.renew(&caller).await {
                Ok(Some(caller)) if self.entitlement.keeps_sockets(&caller, clock::wall()) => {
                    self.permit(caller);
                }
                Ok(Some(_)) => self.fanout.close(key.number(), close::ADDON_REQUIRED),
                Ok(None) => self.fanout.close(key.number(), close::TOKEN_REVOKED),
                Err(error) => {
                    error!(%error, "cannot check a changed key");
                    time::sleep(RETRY_AFTER).await;
                    continue;
                }
            }
            return;
        }
    }
}
