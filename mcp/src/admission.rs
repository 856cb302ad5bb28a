//! What a caller may use, and what a call counts as.

use std::{error::Error, sync::Arc};

use accounts::{
    Addon, Caller, Micros,
    limits::{Limits, QuotaStatus},
    products::{Catalogue, Product},
    usage::{Call, Meter},
};
use base::clock;
use tracing::warn;

use crate::refusal::Refusal;

/// The accounts' side of a call.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    pub catalogue: Arc<Catalogue>,
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
            self.meter.mcp_call(caller.account, product, now);
            return Ok(None);
        };
        match self.meter.reserve(caller.account, product, Call::Mcp, quota.per_day, now).await {
            Ok(Some(left)) => Ok(Some(quota.status(left, now))),
            Ok(None) => Err(Refusal::exhausted(&quota.status(0, now), &self.public_url)),
            // If counting fails, the call is free: the failure is the hub's, not the client's.
            Err(error) => {
                warn!(
                    error = &error as &dyn Error,
                    "a call could not be counted against its quota"
                );
                self.meter.mcp_call(caller.account, product, now);
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
        match self.catalogue.needs(product, now) {
            Some(addon)
                if !caller.has(addon, now) && self.limits.quota(caller, product, now).is_none() =>
            {
                Err(self.lacks(addon))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn lacks(&self, addon: Addon) -> Refusal {
        Refusal::addon(addon, &self.catalogue, &self.public_url)
    }
}
