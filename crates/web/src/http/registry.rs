//! The registry of open sockets: counts per account and in total, and the callers behind them.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use dashmap::DashMap;
use fanout::{Guard, Micros, Permission};

use crate::usage::Meter;
use accounts::{AccountId, Caller, KeyId};

/// The registry of open sockets; clones share it.
#[derive(Debug, Clone)]
pub struct Registry {
    shared: Arc<RegistryShared>,
}

#[derive(Debug)]
struct RegistryShared {
    accounts: DashMap<AccountId, usize>,
    callers: DashMap<KeyId, KeySockets>,
    all: AtomicUsize,
    /// The sockets of accounts at other nodes of a cluster, as of a moment ago. Those with few are missing.
    at_others: RwLock<HashMap<i64, usize>>,
    account_max: usize,
    all_max: usize,
}

/// The open sockets of a key.
#[derive(Debug)]
struct KeySockets {
    caller: Caller,
    /// What they may follow, shared by all of them.
    permission: Permission,
    sockets: usize,
}

/// A permit for one open socket, returned to the registry on drop.
#[derive(Debug)]
pub struct SocketPermit {
    shared: Arc<RegistryShared>,
    account: AccountId,
    key: KeyId,
}

/// Holds the permit of a socket and meters its use for the account.
#[derive(Debug)]
pub(super) struct SocketGuard {
    pub(super) permit: SocketPermit,
    pub(super) meter: Meter,
}

impl Guard for SocketGuard {
    fn record_usage(&self, messages: u64, open_ms: u64, now: Micros) {
        self.meter.socket(self.permit.account, open_ms, messages, now);
    }
}

impl Registry {
    /// `account_max`: sockets per account; `all_max`: sockets in total.
    #[must_use]
    pub fn new(account_max: usize, all_max: usize) -> Self {
        Self {
            shared: Arc::new(RegistryShared {
                accounts: DashMap::new(),
                callers: DashMap::new(),
                all: AtomicUsize::new(0),
                at_others: RwLock::default(),
                account_max,
                all_max,
            }),
        }
    }

    /// Acquires a permit for a socket of the caller; `None` if a limit is reached.
    #[must_use]
    ///
    /// `permission`: what the caller's sockets may follow; called only if no open socket of the key has it.
    pub fn enter(
        &self,
        caller: Caller,
        permission: impl Fn() -> Permission,
    ) -> Option<(SocketPermit, Permission)> {
        let shared = &self.shared;
        {
            let at_others = self.at_others(caller.account);
            let mut count = shared.accounts.entry(caller.account).or_insert(0);
            if *count + at_others >= shared.account_max
                || shared.all.load(Ordering::Relaxed) >= shared.all_max
            {
                return None;
            }
            *count += 1;
        }
        shared.all.fetch_add(1, Ordering::Relaxed);
        let mut key_sockets = shared.callers.entry(caller.key).or_insert_with(|| KeySockets {
            caller,
            permission: permission(),
            sockets: 0,
        });
        key_sockets.sockets += 1;
        if key_sockets.caller.addons != caller.addons {
            (key_sockets.caller, key_sockets.permission) = (caller, permission());
        }
        let permission = key_sockets.permission.clone();
        drop(key_sockets);
        let (account, key) = (caller.account, caller.key);
        Some((SocketPermit { shared: Arc::clone(shared), account, key }, permission))
    }

    /// Updates a caller with open sockets and its permission.
    pub fn renew(&self, caller: Caller, permission: &Permission) {
        if let Some(mut key_sockets) = self.shared.callers.get_mut(&caller.key) {
            (key_sockets.caller, key_sockets.permission) = (caller, permission.clone());
        }
    }

    /// The caller behind open sockets of this key, if there are any.
    #[must_use]
    pub fn caller(&self, key: KeyId) -> Option<Caller> {
        self.shared.callers.get(&key).map(|entry| entry.caller)
    }

    /// The accounts with at least a sixteenth of the sockets that an account may have, for the other nodes.
    #[must_use]
    pub fn accounts_with_many(&self) -> Vec<(i64, u32)> {
        let many = (self.shared.account_max / 16).max(1);
        let accounts = self.shared.accounts.iter().filter(|entry| *entry.value() >= many);
        let sockets = |sockets: usize| sockets.try_into().unwrap_or(u32::MAX);
        accounts.map(|entry| (entry.key().number(), sockets(*entry.value()))).collect()
    }

    /// Sets how many sockets accounts have at all other nodes together.
    pub fn set_at_others(&self, sockets: HashMap<i64, usize>) {
        *self.shared.at_others.write().unwrap_or_else(PoisonError::into_inner) = sockets;
    }

    fn at_others(&self, account: AccountId) -> usize {
        let sockets = self.shared.at_others.read().unwrap_or_else(PoisonError::into_inner);
        sockets.get(&account.number()).copied().unwrap_or(0)
    }

    /// How many sockets an account has open, at this node.
    #[must_use]
    pub fn sockets_of(&self, account: AccountId) -> usize {
        self.shared.accounts.get(&account).map_or(0, |count| *count)
    }

    /// Everyone who has a socket open.
    #[must_use]
    pub fn callers(&self) -> HashMap<KeyId, Caller> {
        self.shared.callers.iter().map(|entry| (*entry.key(), entry.caller)).collect()
    }
}

impl Drop for SocketPermit {
    fn drop(&mut self) {
        self.shared.all.fetch_sub(1, Ordering::Relaxed);
        self.shared.accounts.remove_if_mut(&self.account, |_, count| {
            *count -= 1;
            *count == 0
        });
        self.shared.callers.remove_if_mut(&self.key, |_, key_sockets| {
            key_sockets.sockets -= 1;
            key_sockets.sockets == 0
        });
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use accounts::{Accounts, config::AccountsConfig};
    use database::testing::on_each;

    use super::*;

    /// Issue 16, point 3: the limit of an account holds for all nodes together.
    #[tokio::test]
    async fn sockets_at_other_nodes_count_towards_the_limit_of_an_account() {
        on_each(async |database| {
            let accounts = Accounts::new(database, &AccountsConfig::default()).await.unwrap();
            let mut callers = Vec::new();
            for _ in 0..2 {
                let key = accounts.create_key(None, &[], 0).await.unwrap();
                callers.push(
                    accounts
                        .authenticate(key.expose(), Ipv4Addr::LOCALHOST.into(), 0)
                        .await
                        .unwrap()
                        .unwrap(),
                );
            }
            let [one, other] = callers[..] else { panic!("two") };
            let registry = Registry::new(32, 1_000);
            let enter = |caller| registry.enter(caller, Permission::default);
            let local: Vec<_> = (0..2).filter_map(|_| enter(one)).collect();
            assert_eq!(registry.accounts_with_many(), [(one.account.number(), 2)]);
            let few = enter(other);
            assert!(few.is_some());
            assert_eq!(registry.accounts_with_many().len(), 1, "one of 32 is not many");
            registry.set_at_others(HashMap::from([(one.account.number(), 29)]));
            let last = enter(one);
            assert!(last.is_some() && enter(one).is_none(), "3 here and 29 there");
            assert!(enter(other).is_some(), "another account");
            drop(local);
            assert!(enter(one).is_some(), "one here has left");
            registry.set_at_others(HashMap::from([(one.account.number(), 32)]));
            assert!(enter(one).is_none());
            registry.set_at_others(HashMap::new());
            assert!(enter(one).is_some(), "the other nodes are gone");
        })
        .await;
    }
}
