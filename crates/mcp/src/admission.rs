//! What a caller may use, and what a call counts as.

use std::{error::Error, sync::Arc, time::Duration};

use accounts::{
    Accounts, Caller, KeyId,
    access::{self, Resource},
    limits::{Limits, Quota, QuotaStatus},
    products::{CurrentCatalogue, Product},
    usage::{Call, Meter},
};
use base::clock;
use tokio::{sync::broadcast, time::sleep};
use tracing::warn;

use crate::refusal::Refusal;

/// How often a stream's caller is checked without a change: add-ons end by time.
const CHECK_EVERY: Duration = Duration::from_secs(60);

/// Waits for a change of this key, or of one that was missed.
async fn changed(changes: &mut broadcast::Receiver<KeyId>, used: KeyId) {
    loop {
        match changes.recv().await {
            Ok(key) if key != used => {}
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return,
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// The accounts' side of a call.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    pub accounts: Accounts,
    pub prices: CurrentCatalogue,
    pub limits: Limits,
    pub meter: Meter,
    pub public_url: Arc<str>,
}

impl Admission {
    /// Counts a call against the account's usage, and against the day's quota if there is one.
    ///
    /// # Errors
    ///
    /// If the quota is used up.
    pub(crate) async fn count(
        &self,
        caller: &Caller,
        product: Product,
    ) -> Result<Option<QuotaStatus>, Refusal> {
        let now = clock::wall();
        let (quota, called) = (self.limits.quota(caller, product, now), (product, Call::Mcp));
        let charged = self.meter.charge(caller.account, called, quota, now).await;
        charged.map_err(|status| Refusal::exhausted(&status, &self.public_url))
    }

    /// Whether the account may use a product that is not the server's own, of which it gets what the add-on pays for.
    ///
    /// # Errors
    ///
    /// If it lacks the scope or the add-on; likewise below.
    pub(crate) fn check(&self, caller: &Caller, product: Product) -> Result<(), Refusal> {
        let Some(addon) = product.addon() else { return Ok(()) };
        let quota = self.limits.quota(caller, product, clock::wall());
        self.decide(caller, quota, Resource::Content(addon))
    }

    /// Whether the caller may read the account and its usage.
    pub(crate) fn check_account(&self, caller: &Caller) -> Result<(), Refusal> {
        self.decide(caller, None, Resource::AccountTool)
    }

    fn decide(
        &self,
        caller: &Caller,
        quota: Option<Quota>,
        resource: Resource,
    ) -> Result<(), Refusal> {
        let prices = self.prices.now();
        let decided = access::decide(caller, quota, resource, &prices, clock::wall());
        decided.map_err(|denial| Refusal::denied(denial, &prices, &self.public_url))
    }

    /// Completes when the caller may no longer use this product: its key is revoked, its access token or its
    /// add-on ends. A stream outlasts the check of its request.
    pub(crate) async fn until_withdrawn(&self, caller: Caller, product: Product) {
        let mut changes = self.accounts.changes();
        let mut caller = caller;
        loop {
            // A key may have been revoked before the changes were received.
            match self.accounts.renew(&caller).await {
                Ok(Some(renewed)) => caller = renewed,
                Ok(None) => return,
                // Without the database nobody is cut off.
                Err(error) => warn!(error = &error as &dyn Error, "a caller cannot be read again"),
            }
            let now = clock::wall();
            if self.check(&caller, product).is_err() {
                return;
            }
            let prices = self.prices.now();
            let addon = product.addon().filter(|addon| !prices.is_free(*addon, now));
            let paid = addon.and_then(|addon| caller.expiry(addon));
            let ends = [caller.ends(), paid].into_iter().flatten().min();
            let left = ends.and_then(|ends| u64::try_from(ends - now).ok());
            let is_over = ends.is_some_and(|ends| ends <= now);
            if is_over {
                return;
            }
            tokio::select! {
                () = changed(&mut changes, caller.key) => {}
                () = sleep(left.map_or(CHECK_EVERY, Duration::from_micros).min(CHECK_EVERY)) => {}
            }
        }
    }
}
