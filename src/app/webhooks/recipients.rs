//! Which accounts may get events of which channels: the same as on sockets.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use accounts::{AccountId, Accounts, AccountsError, Addon, Caller};
use base::clock::wall;
use web::entitlement::Entitlement;
use webhooks::MayReceive;

/// The accounts that have webhooks, as callers. Clones share them.
#[derive(Clone)]
pub(super) struct Recipients {
    accounts: Accounts,
    entitlement: Entitlement,
    /// `None` for an account without a valid key.
    callers: Arc<Mutex<HashMap<i64, Option<Caller>>>>,
}

impl Recipients {
    pub(super) fn new(accounts: Accounts, entitlement: Entitlement) -> Self {
        Self { accounts, entitlement, callers: Arc::default() }
    }

    /// Reads what these accounts may follow, and forgets others. It costs nothing for those that have not changed.
    pub(super) async fn refresh(&self, wanted: BTreeSet<i64>) -> Result<(), AccountsError> {
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

    /// Forgets all accounts: whether they may get something is not known any more.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    pub(super) fn may_receive(&self) -> MayReceive {
        let recipients = self.clone();
        Arc::new(move |account, channel| {
            let caller = *recipients.lock().get(&account)?;
            Some(caller.is_some_and(|caller| recipients.covers(&caller, channel)))
        })
    }

    fn covers(&self, caller: &Caller, channel: &str) -> bool {
        let now = wall();
        caller.has(Addon::Websocket, now)
            && self.entitlement.lacking(caller, channel, now).is_none()
    }

    /// Nothing panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, HashMap<i64, Option<Caller>>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
