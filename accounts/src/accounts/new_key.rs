//! Newly created keys, which are shown in full once, and their creation.
//!
//! A key is created when a link is followed, often in another browser than the one that will show
//! it. Until its owner sees it, it waits here in memory, so that it is neither stored in the
//! database nor survives a restart. If it has expired, the owner creates a new one.

use std::{collections::VecDeque, fmt, sync::Mutex};

use super::{AccountId, Accounts, AccountsError, Key, Micros, store};

pub(super) struct NewKeys {
    /// The oldest first.
    waiting: Mutex<VecDeque<NewKey>>,
    keys_max: usize,
    age_max: Micros,
}

struct NewKey {
    account: AccountId,
    key: Key,
    made: Micros,
}

impl NewKeys {
    pub(super) fn new(keys_max: usize, age_max: Micros) -> Self {
        Self { waiting: Mutex::new(VecDeque::new()), keys_max, age_max }
    }

    fn put(&self, account: AccountId, key: Key, now: Micros) {
        let mut waiting = self.lock();
        waiting.retain(|it| it.account != account && now.saturating_sub(it.made) < self.age_max);
        if waiting.len() >= self.keys_max {
            waiting.pop_front();
        }
        waiting.push_back(NewKey { account, key, made: now });
    }

    fn take(&self, account: AccountId, now: Micros) -> Option<Key> {
        let mut waiting = self.lock();
        let place = waiting.iter().position(|it| it.account == account)?;
        let found = waiting.remove(place)?;
        (now.saturating_sub(found.made) < self.age_max).then_some(found.key)
    }

    fn drop_of(&self, account: AccountId) {
        self.lock().retain(|it| it.account != account);
    }

    fn drop_old(&self, now: Micros) {
        self.lock().retain(|it| now.saturating_sub(it.made) < self.age_max);
    }

    /// Nothing panics while it holds the lock, and a partial change would be harmless.
    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<NewKey>> {
        self.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl fmt::Debug for NewKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewKeys").field("waiting", &self.lock().len()).finish_non_exhaustive()
    }
}

impl Accounts {
    /// Creates a key that replaces all others of the account. When this returns, those no longer
    /// work, neither over REST nor MCP, and their sockets are being closed. Of concurrent calls,
    /// the last one wins.
    ///
    /// # Errors
    ///
    /// [`AccountsError::Gone`] if the account cannot have keys: it is not active, blocked, or
    /// deleted. If the store fails.
    pub async fn regenerate_key(
        &self,
        account: AccountId,
        now: Micros,
    ) -> Result<Key, AccountsError> {
        let mut tx = self.shared.store.begin().await?;
        let locked = store::lock(&mut tx, account).await?;
        if !locked.is_some_and(|account| account.is_open()) {
            return Err(AccountsError::Gone);
        }
        let revoked = store::revoke_all_keys(&mut tx, account, now).await?;
        let key = self.insert_new_key(&mut tx, account, now).await?;
        tx.commit().await?;
        self.forget_new_key(account);
        self.broadcast_keys(revoked).await;
        Ok(key)
    }

    /// Returns the key that was created when the account was confirmed, in full. It is returned
    /// once, and only within `accounts.new_key_minutes`.
    #[must_use]
    pub fn take_new_key(&self, account: AccountId, now: Micros) -> Option<Key> {
        self.shared.new_keys.take(account, now)
    }

    /// Stores a key for [`Self::take_new_key`], for a page that redirects to the page that shows
    /// it.
    pub fn keep_new_key(&self, account: AccountId, key: Key, now: Micros) {
        self.shared.new_keys.put(account, key, now);
    }

    pub(super) fn forget_new_key(&self, account: AccountId) {
        self.shared.new_keys.drop_of(account);
    }

    pub(super) fn forget_old_new_keys(&self, now: Micros) {
        self.shared.new_keys.drop_old(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key::generate().unwrap()
    }

    #[test]
    fn new_key_is_shown_once_and_only_to_its_owner() {
        let (keys, key) = (NewKeys::new(2, 100), key());
        keys.put(AccountId(1), key.clone(), 0);
        assert_eq!(keys.take(AccountId(2), 0), None);
        assert_eq!(keys.take(AccountId(1), 99), Some(key));
        assert_eq!(keys.take(AccountId(1), 99), None);
    }

    #[test]
    fn new_key_expires() {
        let keys = NewKeys::new(2, 100);
        keys.put(AccountId(1), key(), 0);
        assert_eq!(keys.take(AccountId(1), 100), None);
        keys.put(AccountId(1), key(), 0);
        keys.drop_old(100);
        assert!(keys.lock().is_empty());
    }

    #[test]
    fn number_of_stored_keys_is_bounded() {
        let keys = NewKeys::new(2, 100);
        for account in 1..=3 {
            keys.put(AccountId(account), key(), 0);
            assert!(keys.lock().len() <= 2);
        }
        assert_eq!(keys.take(AccountId(1), 0), None, "the oldest goes");
        assert!(keys.take(AccountId(3), 0).is_some());
        let (first, second) = (key(), key());
        keys.put(AccountId(2), first, 0);
        keys.put(AccountId(2), second.clone(), 0);
        assert_eq!(keys.take(AccountId(2), 0), Some(second), "one for each account");
    }
}
