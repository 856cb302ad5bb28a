//! What a caller may use, and what a call counts as.

use std::{error::Error, sync::Arc, time::Duration};

use accounts::{
    Accounts, Addon, Caller, KeyId, Micros, Scope,
    limits::{Limits, QuotaStatus},
    products::{Prices, Product},
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
    pub prices: Prices,
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
        let Some(quota) = self.limits.quota(caller, product, now) else {
            self.meter.count_call(caller.account, product, Call::Mcp, now).await;
            return Ok(None);
        };
        match self.meter.reserve(caller.account, product, Call::Mcp, quota.per_day, now).await {
            Ok(Some(left)) => Ok(Some(quota.status(left, now))),
            Ok(None) => Err(Refusal::exhausted(&quota.status(0, now), &self.public_url)),
            // If counting fails, the call is free: the failure is the hub's, not the client's.
            Err(error) => {
                base::log_limited!(warn, error, "a call could not be counted against its quota");
                self.meter.count_call(caller.account, product, Call::Mcp, now).await;
                Ok(None)
            }
        }
    }

    /// Whether the account may use a product that is not the server's own: 402 of the REST interface.
    ///
    /// # Errors
    ///
    /// If it lacks the add-on.
    pub(crate) fn check(&self, caller: &Caller, product: Product) -> Result<(), Refusal> {
        let now: Micros = clock::wall();
        // What is free for a time is not in the scopes of every access token.
        let scope = product.addon().and_then(Scope::of_addon);
        if let Some(scope) = scope.filter(|scope| !caller.has_scope(*scope)) {
            return Err(Refusal::scope(scope));
        }
        match self.prices.now().needs(product, now) {
            Some(addon)
                if !caller.has(addon, now) && self.limits.quota(caller, product, now).is_none() =>
            {
                Err(self.lacks(addon))
            }
            _ => Ok(()),
        }
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
            let addon =
                self.prices.now().needs(product, now).and_then(|addon| caller.expiry(addon));
            let ends = [caller.ends(), addon].into_iter().flatten().min();
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

    pub(crate) fn lacks(&self, addon: Addon) -> Refusal {
        Refusal::addon(addon, &self.prices.now(), &self.public_url)
    }
}
