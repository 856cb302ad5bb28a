//! Which accounts may get events of which channels: the same as on sockets.

use std::{
    collections::{BTreeSet, HashMap},
    error::Error,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use accounts::{AccountId, Accounts, Caller};
use base::clock::wall;
use fanout::ChannelId;
use hub::pipeline::HubHandle;
use web::entitlement::Entitlement;
use webhooks::{FollowedHub, MayReceive};

/// The accounts that have webhooks, as callers. Clones share them.
#[derive(Clone)]
pub(super) struct Recipients {
    pub accounts: Accounts,
    pub entitlement: Entitlement,
    pub hub: HubHandle,
    /// `None` for an account without a valid key.
    pub callers: Arc<Mutex<HashMap<i64, Option<Caller>>>>,
}

impl Recipients {
    fn covers(&self, caller: &Caller, channel: &str) -> bool {
        let now = wall();
        self.entitlement.keeps_sockets(caller, now)
            && self.entitlement.check_channel(caller, channel, now).is_ok()
    }

    /// Nothing panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, HashMap<i64, Option<Caller>>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FollowedHub for Recipients {
    fn leads(&self) -> bool {
        self.hub.leads()
    }

    async fn channels(&self) -> Option<Vec<ChannelId>> {
        self.hub.channels().await.ok()
    }

    /// It costs nothing for those that have not changed.
    async fn refresh(&self, wanted: BTreeSet<i64>) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut callers = HashMap::with_capacity(wanted.len());
        for account in wanted {
            let current = self.lock().get(&account).copied().flatten();
            let renewed = match current {
                Some(caller) => self.accounts.renew(&caller).await?,
                None => None,
            };
            let caller = match renewed {
                Some(caller) => Some(caller),
                // Its key was revoked. It may have another one.
                None => self.accounts.caller_of(AccountId(account)).await?,
            };
            callers.insert(account, caller);
        }
        *self.lock() = callers;
        Ok(())
    }

    fn may_receive(&self) -> MayReceive {
        let recipients = self.clone();
        Arc::new(move |account, channel| {
            let caller = *recipients.lock().get(&account)?;
            Some(caller.is_some_and(|caller| recipients.covers(&caller, channel)))
        })
    }
}
