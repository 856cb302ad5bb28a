//! Authentication and entitlements: who is calling, and what they have paid for.
//!
//! Owns accounts and their life cycle, keys, add-ons, passwords, links and sessions; knows neither
//! matches nor sockets, pages nor cookies. Time comes in as `now`. Keys themselves are never
//! stored: the database and the cache hold their keyed hash. Every change, by this process or
//! another on the same database, is sent once to the receivers of [`Accounts::changes`].
//!
//! In reading order: [`Addon`], [`Key`], [`Caller`], then `cache` and `store`, `changes`, `ledger`,
//! `founders`, `demo`; [`KeyTerms`], the limits of named keys, with [`Scopes`] and [`Networks`];
//! [`FeedGrant`], for keys with which sources push; and [`access`], which decides who may use what.
//!
//! The life of an account: `registration`, `new_key`, `log_in` and `session`, `recovery`,
//! `email_change`, `deletion`, [`Customer`]; [`OAuth`], by which applications act for an account;
//! underneath them [`Email`], [`Password`] and its `hasher`, `link`, `secret`, [`Device`]; then
//! [`Admin`], `directory` for operators, and `sweep`.

pub mod access;
mod addon;
mod admin;
mod cache;
mod caller;
mod changes;
mod common_passwords;
mod customer;
mod deletion;
mod demo;
mod device;
mod directory;
mod email;
mod email_change;
mod error;
mod feed;
mod founders;
mod hasher;
mod key;
pub(crate) mod ledger;
mod link;
mod log_in;
mod named_key;
mod networks;
mod new_key;
mod oauth;
mod password;
mod recovery;
mod registration;
mod scope;
mod secret;
mod session;
mod store;
mod sweep;
mod ticket;
mod zone_name;

use std::{
    fmt,
    net::IpAddr,
    path::Path,
    sync::{Arc, atomic::AtomicI64},
};

use base::clock::monotonic;
use sqlx::AnyConnection;
use tokio::sync::{Mutex, broadcast};
use zeroize::Zeroizing;

pub(crate) use self::error::Result;
pub use self::{
    addon::{Addon, Addons, UnknownAddon},
    admin::{Admin, AdminId},
    caller::{AccountId, Caller, KeyId},
    customer::Customer,
    device::Device,
    directory::{AccountSearch, AccountState, AccountSummary},
    email::Email,
    email_change::EmailChangeOutcome,
    error::AccountsError,
    feed::{FeedGrant, FeedKeySummary},
    founders::FounderGrantOutcome,
    key::{EntropyError, Key},
    ledger::{LedgerEntry, LedgerKind},
    link::LinkOutcome,
    log_in::{LogInOutcome, ReauthOutcome},
    named_key::{KeyTerms, KeyTermsError},
    networks::{Networks, NetworksError},
    new_key::NewKeyKind,
    oauth::{
        CodeChallenge, CodeRedemption, ConnectedApp, Consent, IssuedTokens, OAuth, RefreshRequest,
        Token, TokenRefusal,
    },
    password::{NewPassword, Password, WeakPassword},
    registration::{Requester, VerificationOutcome},
    scope::{Scope, Scopes, UnknownScope},
    secret::{SessionSecret, Visitor},
    session::{Session, SessionOwner},
    sweep::SweepResult,
    zone_name::ZoneName,
};
use self::{
    cache::Cache,
    device::DeviceKey,
    feed::FeedKeyCache,
    hasher::Hasher,
    key::{KeyHash, Pepper, PresentedKey},
    link::LinkKey,
    new_key::NewKeys,
    store::{AccountStore, StoredKey},
};
use crate::config::AccountsConfig;
use database::{Database, DatabaseName, STATEMENT_MAX, within};

/// Microseconds since the Unix epoch, UTC.
pub type Micros = i64;

const HOUR_US: Micros = 60 * 60 * 1_000_000;
const DAY_US: Micros = 24 * HOUR_US;

/// A handle to the account store; clones share everything.
#[derive(Clone)]
pub struct Accounts {
    shared: Arc<Shared>,
}

struct Shared {
    store: AccountStore,
    pepper: Pepper,
    cache: Cache,
    feed_keys: FeedKeyCache,
    changes: broadcast::Sender<KeyId>,
    /// The number of the last change that was broadcast. Locked during a broadcast, so that none is
    /// repeated.
    latest_broadcast: Mutex<i64>,
    /// When the database last told of all changes, by the monotonic clock in microseconds.
    changes_read: AtomicI64,
    hasher: Hasher,
    link_key: LinkKey,
    device_key: DeviceKey,
    new_keys: NewKeys,
    config: AccountsConfig,
}

/// A key, for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySummary {
    pub key: KeyId,
    pub account: AccountId,
    /// The public part of the key.
    pub prefix: String,
    pub email: Option<String>,
    pub created: Micros,
    pub revoked: Option<Micros>,
    /// The account's add-ons; the same for all of its keys.
    pub addons: Addons,
    /// Of a named key; `None` for a main key.
    pub terms: Option<KeyTerms>,
}

/// The result of revoking a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevokeOutcome {
    /// It was valid until now.
    Now(KeyId),
    /// It was revoked before.
    Already { at: Micros },
    /// There is no such key.
    Unknown,
}

impl Accounts {
    /// The maximum days that can be added to an add-on at once: a century. It keeps sums far from
    /// the limit of 64 bits of microseconds.
    pub const DAYS_MAX: u32 = 36_500;

    /// Opens a file with the default settings, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// As [`Database::open`].
    pub async fn open(db: &Path) -> Result<Self> {
        Self::open_with(&db.into(), &AccountsConfig::default()).await
    }

    /// Opens the database, and creates the file if it is one and is missing.
    ///
    /// # Errors
    ///
    /// As [`Database::open`], and if its keys were hashed with another pepper.
    pub async fn open_with(db: &DatabaseName, config: &AccountsConfig) -> Result<Self> {
        Self::new(Database::open(db).await?, config).await
    }

    /// Opens an existing database.
    ///
    /// # Errors
    ///
    /// As [`Database::open_existing`], and if its keys were hashed with another pepper.
    pub async fn open_existing(db: &DatabaseName, config: &AccountsConfig) -> Result<Self> {
        Self::new(Database::open_existing(db).await?, config).await
    }

    /// The accounts in this database.
    ///
    /// # Errors
    ///
    /// If its keys were hashed with another pepper, or if the store fails.
    pub async fn new(database: Database, config: &AccountsConfig) -> Result<Self> {
        let store = AccountStore::new(database);
        let pepper = pepper(&store, config).await?;
        let latest_broadcast = Mutex::new(store.latest_change().await?);
        let cache = Cache::new(config.cache_entries_max, config.cache_age_max());
        let (changes, _) = broadcast::channel(changes::WAITING_MAX);
        let hasher = Hasher::new(config, pepper.derive("passwords"))?;
        let link_key = LinkKey::new(pepper.derive("links"));
        let device_key = DeviceKey::new(pepper.derive("devices"));
        let new_keys = NewKeys::new(config.new_keys_max, config.new_key_age_max());
        let config = config.clone();
        let shared = Shared {
            store,
            pepper,
            cache,
            feed_keys: FeedKeyCache::default(),
            changes,
            latest_broadcast,
            changes_read: AtomicI64::new(monotonic()),
            hasher,
            link_key,
            device_key,
            new_keys,
            config,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Creates a key. With an address, for that account, which is created if necessary; without
    /// one, for a new account. The days are added to the expiry of each add-on, or to now if it has
    /// passed.
    ///
    /// # Errors
    ///
    /// If more than [`Self::DAYS_MAX`] days are requested, or if the store fails; nothing has
    /// changed then.
    pub async fn create_key(
        &self,
        email: Option<&str>,
        addons: &[(Addon, u32)],
        now: Micros,
    ) -> Result<Key> {
        self.create_key_with(email, addons, None, now).await
    }

    /// Creates a key like [`Self::create_key`]; with terms, it is a named one.
    ///
    /// # Errors
    ///
    /// As [`Self::create_key`], and [`AccountsError::TooManyKeys`].
    pub async fn create_key_with(
        &self,
        email: Option<&str>,
        addons: &[(Addon, u32)],
        terms: Option<&KeyTerms>,
        now: Micros,
    ) -> Result<Key> {
        let mut tx = self.shared.store.begin().await?;
        let account = store::account(&mut tx, email, now).await?;
        for &(addon, days) in addons {
            let grant = ledger::NewLedgerEntry::grant(account, addon, checked(days)?, "with a key");
            ledger::enter(&mut tx, &grant, now).await?;
        }
        let key = match terms {
            Some(terms) => self.insert_named_key(&mut tx, account, terms, now).await?,
            None => self.insert_new_key(&mut tx, account, None, now).await?,
        };
        tx.commit().await?;
        self.broadcast_own_changes().await;
        Ok(key)
    }

    /// All keys ever created, the oldest first.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn keys(&self) -> Result<Vec<KeySummary>> {
        let keys = self.shared.store.all_keys().await?;
        Ok(keys.into_iter().map(KeySummary::from).collect())
    }

    /// Revokes a key, given in full or by its public part. When this returns, it no longer works
    /// here, and within one interval of [`Self::watch`] in every other process on the same
    /// database.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn revoke(&self, key_or_prefix: &str, now: Micros) -> Result<RevokeOutcome> {
        let Some(found) = self.find(key_or_prefix).await? else {
            return Ok(RevokeOutcome::Unknown);
        };
        if let Some(at) = found.revoked {
            return Ok(RevokeOutcome::Already { at });
        }
        if !self.shared.store.revoke(found.account, found.key, now).await? {
            // Another process has revoked it meanwhile.
            return Ok(RevokeOutcome::Already { at: now });
        }
        self.broadcast_own_changes().await;
        Ok(RevokeOutcome::Now(found.key))
    }

    /// Returns the caller of this key, presented from this address; `None` if it is malformed, unknown or
    /// revoked, or has ended. Usually answered from the cache; a malformed key never reaches the
    /// database.
    ///
    /// # Errors
    ///
    /// [`AccountsError::WrongAddress`] if the key does not work from this address. If the store fails.
    pub async fn authenticate(
        &self,
        key: &str,
        from: IpAddr,
        now: Micros,
    ) -> Result<Option<Caller>> {
        let Some(key) = PresentedKey::parse(key) else { return Ok(None) };
        let hash = self.shared.pepper.hash(key);
        let found = match self.shared.cache.get(&hash, now) {
            Some(found) => Some(found),
            None => self.look_up(key, hash, now).await?,
        };
        let Some((caller, networks)) = found.filter(|(caller, _)| caller.lasts(now)) else {
            return Ok(None);
        };
        if networks.allow(from) { Ok(Some(caller)) } else { Err(AccountsError::WrongAddress) }
    }

    /// Reads a caller again; `None` if its key has been revoked. Costs nothing unless a change has
    /// been noticed since it was last read.
    ///
    /// A socket calls this twice: once right after it subscribed to [`Self::changes`], because its
    /// key may have been revoked between [`Self::authenticate`] and then, and once for each change
    /// of its key.
    ///
    /// # Errors
    ///
    /// If the store fails, or does not answer within [`STATEMENT_MAX`].
    pub async fn renew(&self, caller: &Caller) -> Result<Option<Caller>> {
        let generation = self.shared.cache.generation();
        if caller.generation == generation {
            return Ok(Some(*caller));
        }
        let stored = within(STATEMENT_MAX, self.shared.store.key_by_id(caller.key)).await?;
        let renewed = stored.and_then(|stored| Caller::from_stored(&stored, generation));
        // An access token may do less than its grant; the terms of a key do not change.
        Ok(renewed.map(|renewed| Caller { access: caller.access, ..renewed }))
    }

    /// A value that is stored with this database, such as an epoch that must outlive a restart.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn meta(&self, name: &str) -> Result<Option<String>> {
        Ok(self.shared.store.meta(name).await?)
    }

    /// Sets or replaces such a value.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn set_meta(&self, name: &str, value: &str) -> Result<()> {
        Ok(self.shared.store.set_meta(name, value).await?)
    }

    /// A secret for one purpose that survives a restart: it is derived from the pepper.
    #[must_use]
    pub fn derived_secret(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        self.shared.pepper.derive(purpose)
    }

    /// The database, for other data that is stored in it. Close it with [`Self::close`].
    #[must_use]
    pub fn database(&self) -> &Database {
        self.shared.store.database()
    }

    /// Closes the database for all clones of this handle: see [`Database::close`].
    pub async fn close(&self) {
        self.database().close().await;
    }

    async fn insert_new_key(
        &self,
        tx: &mut AnyConnection,
        account: AccountId,
        terms: Option<&KeyTerms>,
        now: Micros,
    ) -> Result<Key> {
        // With a million keys, one in four thousand prefixes collides and is generated again.
        loop {
            let key = Key::generate()?;
            let hash = self.shared.pepper.hash(key.as_presented());
            let names = (key.prefix(), hash.as_bytes());
            if store::insert_key(tx, account, names, terms, now).await? {
                return Ok(key);
            }
        }
    }

    async fn look_up(
        &self,
        key: PresentedKey<'_>,
        hash: KeyHash,
        now: Micros,
    ) -> Result<Option<(Caller, Networks)>> {
        let generation = self.shared.cache.generation();
        let Some(stored) = self.stored(key, hash).await? else { return Ok(None) };
        let Some(caller) = Caller::from_stored(&stored, generation) else { return Ok(None) };
        let networks = stored.terms.map(|terms| terms.networks).unwrap_or_default();
        self.shared.cache.insert(hash, caller, networks.clone(), now);
        Ok(Some((caller, networks)))
    }

    async fn find(&self, key_or_prefix: &str) -> Result<Option<StoredKey>> {
        if let Some(key) = PresentedKey::parse(key_or_prefix) {
            return self.stored(key, self.shared.pepper.hash(key)).await;
        }
        if key::is_prefix(key_or_prefix) {
            return Ok(self.shared.store.key_by_prefix(key_or_prefix).await?);
        }
        Ok(None)
    }

    async fn stored(&self, key: PresentedKey<'_>, hash: KeyHash) -> Result<Option<StoredKey>> {
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
        let StoredKey {
            key,
            account,
            email,
            prefix,
            created,
            revoked,
            addons,
            terms,
            hash: _,
            blocked: _,
            zone: _,
        } = stored;
        Self { key, account, prefix, email, created, revoked, addons, terms }
    }
}

/// Checks the number of days added at once.
fn checked(days: u32) -> Result<u32> {
    if days > Accounts::DAYS_MAX {
        return Err(AccountsError::TooManyDays { days, limit: Accounts::DAYS_MAX });
    }
    Ok(days)
}

/// The pepper from the settings or the database, provided that the keys were hashed with it: with
/// another one, every key would silently stop working.
async fn pepper(store: &AccountStore, config: &AccountsConfig) -> Result<Pepper> {
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

/// The address of the callers in tests.
#[cfg(test)]
pub(crate) const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

#[cfg(test)]
mod life_tests;
#[cfg(test)]
mod tests;
