//! Feed keys: with these a source pushes its data.
//!
//! A feed key has its own prefix, is stored in its own table, and names one source. So it opens no
//! channel, and a client's key cannot push. Like the others it is stored as a keyed hash.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use database::within;
use tokio::time::Instant;

use super::{
    Accounts, Micros, Result,
    key::{self, Key, KeyHash, PresentedKey},
    store::StoredFeedKey,
};

/// How long the database may take to say whether a key that it knew before still works.
const ANSWER_WITHIN: Duration = Duration::from_millis(500);

/// A database that did not answer is not asked about known keys for this time.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Keys that are known at a time; usually there is one per source.
const KNOWN_MAX: usize = 1_024;

/// What a valid feed key allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedGrant {
    id: i64,
    /// The one source that it may push.
    pub source: String,
    /// Whether it may refer to matches by other providers' keys.
    pub all_matches: bool,
    /// The deadline of pushes that state none, in milliseconds.
    pub deadline_ms: Option<i64>,
}

/// The feed keys that worked here when the database last said so. They count while it does not answer: an outage does not stop
/// the feeds.
#[derive(Debug, Default)]
pub(super) struct FeedKeyCache(Mutex<CachedGrants>);

#[derive(Debug, Default)]
struct CachedGrants {
    grants: HashMap<KeyHash, FeedGrant>,
    /// When the database may be asked about them again, if it has just failed to answer.
    ask_at: Option<Instant>,
}

impl FeedKeyCache {
    fn get(&self, hash: &KeyHash) -> Option<FeedGrant> {
        self.lock().grants.get(hash).cloned()
    }

    /// The database has said what this key allows.
    fn learn(&self, hash: KeyHash, grant: Option<&FeedGrant>) {
        let mut state = self.lock();
        let Some(grant) = grant else {
            state.grants.remove(&hash);
            return;
        };
        while state.grants.len() >= KNOWN_MAX && !state.grants.contains_key(&hash) {
            let Some(victim) = state.grants.keys().next().copied() else { break };
            state.grants.remove(&victim);
        }
        state.grants.insert(hash, grant.clone());
    }

    fn database_failed(&self) {
        self.lock().ask_at = Some(Instant::now() + ASK_AGAIN_AFTER);
    }

    fn has_database_failed(&self) -> bool {
        self.lock().ask_at.is_some_and(|at| Instant::now() < at)
    }

    fn lock(&self) -> MutexGuard<'_, CachedGrants> {
        // It is complete after each statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A feed key, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedKeySummary {
    pub source: String,
    /// The public part of the key.
    pub prefix: String,
    pub all_matches: bool,
    pub deadline_ms: Option<i64>,
    pub created: Micros,
    pub revoked: Option<Micros>,
}

impl Accounts {
    /// Creates another key for a source. `deadline_ms`: the deadline of its pushes that state none.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn create_feed_key(
        &self,
        source: &str,
        all_matches: bool,
        deadline_ms: Option<i64>,
        now: Micros,
    ) -> Result<Key> {
        loop {
            let key = Key::generate_for_feed()?;
            let hash = self.shared.pepper.hash(key.as_presented());
            let names = (key.prefix(), hash.as_bytes());
            let terms = (all_matches, deadline_ms);
            if self.shared.store.insert_feed_key(source, names, terms, now).await? {
                return Ok(key);
            }
        }
    }

    /// All feed keys ever created, the oldest first.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn feed_keys(&self) -> Result<Vec<FeedKeySummary>> {
        let keys = self.shared.store.all_feed_keys().await?;
        Ok(keys.into_iter().map(FeedKeySummary::from).collect())
    }

    /// Revokes all keys of a source, or the one given in full or by its public part. Returns how
    /// many were valid until now.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn revoke_feed_keys(
        &self,
        source: &str,
        key_or_prefix: Option<&str>,
        now: Micros,
    ) -> Result<u64> {
        let prefix = match key_or_prefix {
            Some(text) if key::is_feed_prefix(text) => Some(text),
            Some(text) => match PresentedKey::parse_of_feed(text) {
                Some(key) => Some(key.prefix()),
                None => return Ok(0),
            },
            None => None,
        };
        Ok(self.shared.store.revoke_feed_keys(source, prefix, now).await?)
    }

    /// Returns what this key allows; `None` if it is malformed, a client's, unknown or revoked.
    ///
    /// Each call queries the store, which is acceptable for a push. If that fails, or does not answer within half a second, a
    /// key counts that worked when it last answered; for a second, such keys do not wait for it again.
    ///
    /// # Errors
    ///
    /// If the store fails, and the key has not worked here.
    pub async fn authenticate_feed(&self, key: &str) -> Result<Option<FeedGrant>> {
        let Some(key) = PresentedKey::parse_of_feed(key) else { return Ok(None) };
        let hash = self.shared.pepper.hash(key);
        let keys = &self.shared.feed_keys;
        let reading = self.shared.store.feed_key_by_prefix(key.prefix());
        let stored = match keys.get(&hash) {
            None => reading.await?,
            Some(cached) if keys.has_database_failed() => return Ok(Some(cached)),
            Some(cached) => match within(ANSWER_WITHIN, reading).await {
                Ok(stored) => stored,
                Err(_) => {
                    keys.database_failed();
                    return Ok(Some(cached));
                }
            },
        };
        let stored = stored.filter(|it| hash.matches(&it.hash) && it.revoked.is_none());
        let grant = stored.map(|key| {
            let StoredFeedKey { id, source, all_matches, deadline_ms, .. } = key;
            FeedGrant { id, source, all_matches, deadline_ms }
        });
        keys.learn(hash, grant.as_ref());
        Ok(grant)
    }

    /// Whether this key worked here when the store last answered.
    #[must_use]
    pub fn knows_feed_key(&self, key: &str) -> bool {
        let hash = PresentedKey::parse_of_feed(key).map(|key| self.shared.pepper.hash(key));
        hash.is_some_and(|hash| self.shared.feed_keys.get(&hash).is_some())
    }

    /// Whether the key of this grant is still valid. A store that fails, or does not answer in time, does not count against it,
    /// as in [`Self::authenticate_feed`].
    pub async fn is_granted(&self, grant: &FeedGrant) -> bool {
        let keys = &self.shared.feed_keys;
        if keys.has_database_failed() {
            return true;
        }
        let is_valid = within(ANSWER_WITHIN, self.shared.store.is_feed_key_valid(grant.id)).await;
        is_valid.unwrap_or_else(|_| {
            keys.database_failed();
            true
        })
    }
}

impl From<StoredFeedKey> for FeedKeySummary {
    fn from(stored: StoredFeedKey) -> Self {
        let StoredFeedKey {
            source,
            prefix,
            all_matches,
            deadline_ms,
            created,
            revoked,
            id: _,
            hash: _,
        } = stored;
        Self { source, prefix, all_matches, deadline_ms, created, revoked }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{accounts::HERE, config::AccountsConfig};
    use database::testing::on_each;

    #[tokio::test]
    async fn feed_key_is_valid_for_its_source_until_revoked() {
        on_each(async |database| {
            let accounts = Accounts::new(database, &AccountsConfig::default()).await.unwrap();
            let key = accounts.create_feed_key("acme", false, None, 1).await.unwrap();
            let other = accounts.create_feed_key("acme", true, Some(30_000), 2).await.unwrap();
            let client = accounts.create_key(None, &[], 3).await.unwrap();

            let grant = accounts.authenticate_feed(key.expose()).await.unwrap().unwrap();
            let FeedGrant { source, all_matches, deadline_ms, .. } = &grant;
            assert_eq!((&**source, *all_matches, *deadline_ms), ("acme", false, None));
            assert_eq!(accounts.authenticate_feed(client.expose()).await.unwrap(), None);
            assert_eq!(accounts.authenticate(key.expose(), HERE, 4).await.unwrap(), None);

            assert!(
                accounts.knows_feed_key(key.expose()) && !accounts.knows_feed_key(other.expose())
            );

            let prefix = Some(key.prefix());
            assert_eq!(accounts.revoke_feed_keys("other", prefix, 5).await.unwrap(), 0);
            assert_eq!(accounts.revoke_feed_keys("acme", prefix, 5).await.unwrap(), 1);
            assert!(!accounts.is_granted(&grant).await);
            assert_eq!(accounts.authenticate_feed(key.expose()).await.unwrap(), None);
            assert!(!accounts.knows_feed_key(key.expose()), "it was revoked");
            let grant = accounts.authenticate_feed(other.expose()).await.unwrap().unwrap();
            assert_eq!((grant.all_matches, grant.deadline_ms), (true, Some(30_000)));
            assert_eq!(accounts.revoke_feed_keys("acme", None, 6).await.unwrap(), 1);
            let revoked: Vec<_> =
                accounts.feed_keys().await.unwrap().into_iter().map(|it| it.revoked).collect();
            assert_eq!(revoked, [Some(5), Some(6)]);
        })
        .await;
    }
}
