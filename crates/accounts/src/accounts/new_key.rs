//! Newly created keys, which are shown in full once, and their creation.
//!
//! A key is created when a link is followed, often in another browser than the one that will show
//! it. Until its owner sees it, it waits here in memory, so that it is neither stored in the
//! database nor survives a restart. If it has expired, the owner creates a new one.

use std::{collections::VecDeque, fmt, sync::Mutex};

use super::{AccountId, Accounts, AccountsError, Key, Micros, Result, store};

pub(super) struct NewKeys {
    /// The oldest first.
    waiting: Mutex<VecDeque<NewKey>>,
    keys_max: usize,
    age_max: Micros,
}

/// Which of an account's keys is new: each kind has a page of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewKeyKind {
    Main,
    Named,
}

struct NewKey {
    account: AccountId,
    kind: NewKeyKind,
    key: Key,
    made: Micros,
}

impl NewKeys {
    pub(super) fn new(keys_max: usize, age_max: Micros) -> Self {
        Self { waiting: Mutex::new(VecDeque::new()), keys_max, age_max }
    }

    fn put(&self, account: AccountId, kind: NewKeyKind, key: Key, now: Micros) {
        let mut waiting = self.lock();
        waiting.retain(|it| !it.is(account, kind) && now.saturating_sub(it.made) < self.age_max);
        if waiting.len() >= self.keys_max {
            waiting.pop_front();
        }
        waiting.push_back(NewKey { account, kind, key, made: now });
    }

    fn take(&self, account: AccountId, kind: NewKeyKind, now: Micros) -> Option<Key> {
        let mut waiting = self.lock();
        let index = waiting.iter().position(|it| it.is(account, kind))?;
        let found = waiting.remove(index)?;
        (now.saturating_sub(found.made) < self.age_max).then_some(found.key)
    }

    pub(super) fn remove_all(&self, account: AccountId) {
        self.lock().retain(|it| it.account != account);
    }

    fn remove_main(&self, account: AccountId) {
        self.lock().retain(|it| !it.is(account, NewKeyKind::Main));
    }

    pub(super) fn drop_old(&self, now: Micros) {
        self.lock().retain(|it| now.saturating_sub(it.made) < self.age_max);
    }

    /// Nothing panics while it holds the lock, and a partial change would be harmless.
    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<NewKey>> {
        self.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl NewKey {
    fn is(&self, account: AccountId, kind: NewKeyKind) -> bool {
        self.account == account && self.kind == kind
    }
}

impl fmt::Debug for NewKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewKeys").field("waiting", &self.lock().len()).finish_non_exhaustive()
    }
}

impl Accounts {
    /// Creates a main key that replaces the others of the account; named keys stay. When this returns,
    /// those no longer work, neither over REST nor MCP, and their sockets are being closed. Of
    /// concurrent calls, the last one wins.
    ///
    /// # Errors
    ///
    /// [`AccountsError::Gone`] if the account cannot have keys: it is not active, blocked, or
    /// deleted. If the store fails.
    pub async fn regenerate_key(&self, account: AccountId, now: Micros) -> Result<Key> {
        let mut tx = self.shared.store.begin().await?;
        let locked = store::lock(&mut tx, account).await?;
        if !locked.is_some_and(|account| account.is_open()) {
            return Err(AccountsError::Gone);
        }
        let revoked = store::revoke_main_keys(&mut tx, account, now).await?;
        let key = self.insert_new_key(&mut tx, account, None, now).await?;
        tx.commit().await?;
        self.shared.new_keys.remove_main(account);
        self.broadcast_keys(revoked).await;
        Ok(key)
    }

    /// Returns the key that was created last, in full. It is returned once, and only within
    /// `accounts.new_key_minutes`.
    #[must_use]
    pub fn take_new_key(&self, account: AccountId, kind: NewKeyKind, now: Micros) -> Option<Key> {
        self.shared.new_keys.take(account, kind, now)
    }

    /// Stores a key for [`Self::take_new_key`], for a page that redirects to the page that shows
    /// it.
    pub fn keep_new_key(&self, account: AccountId, kind: NewKeyKind, key: Key, now: Micros) {
        self.shared.new_keys.put(account, kind, key, now);
    }
}

#[cfg(test)]
mod tests {
    use super::{
        NewKeyKind::{Main, Named},
        *,
    };

    fn key() -> Key {
        Key::generate().unwrap()
    }

    #[test]
    fn new_key_is_shown_once_and_only_to_its_owner() {
        let (keys, key) = (NewKeys::new(2, 100), key());
        keys.put(AccountId(1), Main, key.clone(), 0);
        assert_eq!(keys.take(AccountId(2), Main, 0), None);
        assert_eq!(keys.take(AccountId(1), Main, 99), Some(key));
        assert_eq!(keys.take(AccountId(1), Main, 99), None);
    }

    #[test]
    fn main_and_named_keys_are_shown_apart() {
        let (keys, main, named) = (NewKeys::new(4, 100), key(), key());
        keys.put(AccountId(1), Main, main.clone(), 0);
        keys.put(AccountId(1), Named, named.clone(), 0);
        assert_eq!(keys.take(AccountId(1), Named, 0), Some(named));
        assert_eq!(keys.take(AccountId(1), Main, 0), Some(main));
    }

    #[test]
    fn new_key_expires() {
        let keys = NewKeys::new(2, 100);
        keys.put(AccountId(1), Main, key(), 0);
        assert_eq!(keys.take(AccountId(1), Main, 100), None);
        keys.put(AccountId(1), Main, key(), 0);
        keys.drop_old(100);
        assert!(keys.lock().is_empty());
    }

    #[test]
    fn number_of_stored_keys_is_bounded() {
        let keys = NewKeys::new(2, 100);
        for account in 1..=3 {
            keys.put(AccountId(account), Main, key(), 0);
            assert!(keys.lock().len() <= 2);
        }
        assert_eq!(keys.take(AccountId(1), Main, 0), None, "the oldest goes");
        assert!(keys.take(AccountId(3), Main, 0).is_some());
        let (first, second) = (key(), key());
        keys.put(AccountId(2), Main, first, 0);
        keys.put(AccountId(2), Main, second.clone(), 0);
        assert_eq!(keys.take(AccountId(2), Main, 0), Some(second), "one for each account");
    }
}
