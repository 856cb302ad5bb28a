//! Who is calling, and what they have paid for.
//!
//! It owns accounts, their keys and their add-ons, and knows neither matches nor sockets. Time comes
//! in as `now`. A key lives in the caller's head alone: here there is its keyed hash, in the database
//! and in the cache. Whatever changes, by this program or by another on the same file, is told once to
//! whoever listens to [`Accounts::changes`].
//!
//! In reading order: [`Addon`], [`Key`], [`Caller`], then `cache`, `store` and `migrations`,
//! `changes`, `demo`; and [`FeedGrant`], for keys by which sources push what they have.

mod addon;
mod cache;
mod caller;
mod changes;
mod demo;
mod error;
mod feed;
mod key;
mod migrations;
mod store;

use std::{fmt, path::Path, sync::Arc};

use sqlx::{SqliteConnection, SqlitePool};
use tokio::sync::{Mutex, broadcast};

pub use self::{
    addon::{Addon, Addons, UnknownAddon},
    caller::{AccountId, Caller, KeyId},
    error::AccountsError,
    feed::{FeedGrant, FeedKeySummary},
    key::{Key, NoEntropy},
};
use self::{
    cache::Cache,
    key::{KeyHash, Pepper, Presented},
    store::{Store, StoredKey},
};
use crate::config::AccountsConfig;

/// Microseconds since the Unix epoch, UTC.
pub type Micros = i64;

const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;

/// A handle on the account store; clones share everything.
#[derive(Clone)]
pub struct Accounts {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    pepper: Pepper,
    cache: Cache,
    changes: broadcast::Sender<KeyId>,
    /// The number of the last change that was told. Locked while telling, so that none is told twice.
    told: Mutex<i64>,
}

/// A key as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySummary {
    pub key: KeyId,
    pub account: AccountId,
    /// The public part of the key.
    pub prefix: String,
    pub email: Option<String>,
    pub created: Micros,
    pub revoked: Option<Micros>,
    /// What the account has; all keys of an account show the same.
    pub addons: Addons,
}

/// What became of a wish to revoke a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revoked {
    /// It worked until now.
    Now(KeyId),
    /// It had stopped working before.
    Already { at: Micros },
    /// There is no such key.
    Unknown,
}

impl Accounts {
    /// The most days that can be added to an add-on at once: a century. It keeps sums of days far
    /// from where 64 bits of microseconds end.
    pub const DAYS_MAX: u32 = 36_500;

    /// Opens the database with the default settings, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// If it cannot be opened or created, or was written by a newer program.
    pub async fn open(db: &Path) -> Result<Self, AccountsError> {
        Self::open_with(db, &AccountsConfig::default()).await
    }

    /// Opens the database, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// As [`Self::open`], and if its keys were hashed with another pepper.
    pub async fn open_with(db: &Path, config: &AccountsConfig) -> Result<Self, AccountsError> {
        if !db.exists() {
            store::create(db).await?;
        }
        Self::open_file(db, config).await
    }

    /// Opens a database that must be there, so that a mistyped path is an error and not a new and
    /// empty database.
    ///
    /// # Errors
    ///
    /// As [`Self::open_with`], and if there is no file.
    pub async fn open_existing(db: &Path, config: &AccountsConfig) -> Result<Self, AccountsError> {
        if !db.exists() {
            return Err(AccountsError::NoDatabase { path: db.to_owned() });
        }
        Self::open_file(db, config).await
    }

    async fn open_file(db: &Path, config: &AccountsConfig) -> Result<Self, AccountsError> {
        let store = Store::open(db).await?;
        let pepper = pepper(&store, config).await?;
        let told = Mutex::new(store.latest_change().await?);
        let cache = Cache::new(config.cache_entries_max, config.cache_age_max());
        let (changes, _) = broadcast::channel(changes::WAITING_MAX);
        Ok(Self { shared: Arc::new(Shared { store, pepper, cache, changes, told }) })
    }

    /// Makes a key. With an address it is that account's, which is made if there is none; without
    /// one it gets a new account. The days are added to what the account has left, or to now where
    /// nothing is left.
    ///
    /// # Errors
    ///
    /// If more than [`Self::DAYS_MAX`] days are asked for, or if the store fails; nothing has
    /// changed then.
    pub async fn create_key(
        &self,
        email: Option<&str>,
        addons: &[(Addon, u32)],
        now: Micros,
    ) -> Result<Key, AccountsError> {
        let mut tx = self.shared.store.begin().await?;
        let account = store::account(&mut tx, email, now).await?;
        for &(addon, days) in addons {
            store::extend_addon(&mut tx, account, addon, span(days)?, now).await?;
        }
        let key = self.insert_new_key(&mut tx, account, now).await?;
        tx.commit().await?;
        self.tell_own_changes().await;
        Ok(key)
    }

    /// All keys ever made, the oldest first.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn keys(&self) -> Result<Vec<KeySummary>, AccountsError> {
        let keys = self.shared.store.all_keys().await?;
        Ok(keys.into_iter().map(KeySummary::from).collect())
    }

    /// Ends a key, given in full or by its public part. It works no more when this returns, here
    /// and, within one turn of [`Self::watch`], in every other program on the same file.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn revoke(&self, key_or_prefix: &str, now: Micros) -> Result<Revoked, AccountsError> {
        let Some(found) = self.find(key_or_prefix).await? else { return Ok(Revoked::Unknown) };
        if let Some(at) = found.revoked {
            return Ok(Revoked::Already { at });
        }
        if !self.shared.store.revoke(found.key, now).await? {
            // Another program has done it since we looked.
            return Ok(Revoked::Already { at: now });
        }
        self.tell_own_changes().await;
        Ok(Revoked::Now(found.key))
    }

    /// Says whose key this is; `None` if it is malformed, unknown or revoked. Mostly answered from
    /// the cache; what is malformed never reaches the database.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn authenticate(
        &self,
        key: &str,
        now: Micros,
    ) -> Result<Option<Caller>, AccountsError> {
        let Some(key) = Presented::parse(key) else { return Ok(None) };
        let hash = self.shared.pepper.hash(key);
        match self.shared.cache.get(&hash, now) {
            Some(caller) => Ok(Some(caller)),
            None => self.look_up(key, hash, now).await,
        }
    }

    /// Reads a caller again; `None` when its key has been revoked. Costs nothing while no change has
    /// been noticed since it was last read.
    ///
    /// A socket asks this twice: once right after it began to listen to [`Self::changes`], because
    /// its key may have been revoked between [`Self::authenticate`] and then, and once for each
    /// change of its key.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn renew(&self, caller: &Caller) -> Result<Option<Caller>, AccountsError> {
        let generation = self.shared.cache.generation();
        if caller.generation == generation {
            return Ok(Some(*caller));
        }
        let stored = self.shared.store.key_by_id(caller.key).await?;
        Ok(stored.and_then(|stored| Caller::from_stored(&stored, generation)))
    }

    /// A value that belongs to this database, such as an epoch that must outlive a restart.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn meta(&self, name: &str) -> Result<Option<String>, AccountsError> {
        Ok(self.shared.store.meta(name).await?)
    }

    /// Sets such a value, or replaces it.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn set_meta(&self, name: &str, value: &str) -> Result<(), AccountsError> {
        Ok(self.shared.store.set_meta(name, value).await?)
    }

    /// The database, for what else is kept in the same file. It is closed with [`Self::close`].
    #[must_use]
    pub fn pool(&self) -> SqlitePool {
        self.shared.store.pool().clone()
    }

    /// Waits for what is under way and closes the database for all clones of this handle. Anything
    /// asked afterwards is an error. Nothing is lost without it; SQLite then has more to tidy up at
    /// the next start.
    pub async fn close(&self) {
        self.shared.store.close().await;
    }

    async fn insert_new_key(
        &self,
        tx: &mut SqliteConnection,
        account: AccountId,
        now: Micros,
    ) -> Result<Key, AccountsError> {
        // With a million keys, one in four thousand finds its prefix taken and tries once more.
        loop {
            let key = Key::generate()?;
            let hash = self.shared.pepper.hash(key.as_presented());
            if store::insert_key(tx, account, key.prefix(), hash.as_bytes(), now).await? {
                return Ok(key);
            }
        }
    }

    async fn look_up(
        &self,
        key: Presented<'_>,
        hash: KeyHash,
        now: Micros,
    ) -> Result<Option<Caller>, AccountsError> {
        let generation = self.shared.cache.generation();
        let stored = self.stored(key, hash).await?;
        let caller = stored.and_then(|stored| Caller::from_stored(&stored, generation));
        if let Some(caller) = caller {
            self.shared.cache.insert(hash, caller, now);
        }
        Ok(caller)
    }

    async fn find(&self, key_or_prefix: &str) -> Result<Option<StoredKey>, AccountsError> {
        if let Some(key) = Presented::parse(key_or_prefix) {
            return self.stored(key, self.shared.pepper.hash(key)).await;
        }
        if key::is_prefix(key_or_prefix) {
            return Ok(self.shared.store.key_by_prefix(key_or_prefix).await?);
        }
        Ok(None)
    }

    async fn stored(
        &self,
        key: Presented<'_>,
        hash: KeyHash,
    ) -> Result<Option<StoredKey>, AccountsError> {
        let stored = self.shared.store.key_by_prefix(key.prefix()).await?;
        Ok(stored.filter(|stored| hash.matches(&stored.hash)))
    }
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accounts").finish_non_exhaustive()
    }
}

impl From<StoredKey> for KeySummary {
    fn from(stored: StoredKey) -> Self {
        let StoredKey { key, account, email, prefix, created, revoked, addons, hash: _ } = stored;
        Self { key, account, prefix, email, created, revoked, addons }
    }
}

fn span(days: u32) -> Result<Micros, AccountsError> {
    if days > Accounts::DAYS_MAX {
        return Err(AccountsError::TooManyDays { days, limit: Accounts::DAYS_MAX });
    }
    Ok(Micros::from(days) * DAY_US)
}

/// The pepper of the settings or else of the database, provided that the keys were hashed with it:
/// with another one, every key would silently stop working.
async fn pepper(store: &Store, config: &AccountsConfig) -> Result<Pepper, AccountsError> {
    let pepper = match config.pepper.expose() {
        Some(secret) => Pepper::new(secret.to_owned()),
        None => Pepper::new(store.meta_or("pepper", Pepper::generate()?.expose()).await?),
    };
    let mark = pepper.mark();
    if store.meta_or("pepper_mark", &mark).await? != mark {
        return Err(AccountsError::OtherPepper);
    }
    Ok(pepper)
}

#[cfg(test)]
mod tests;
