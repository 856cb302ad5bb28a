//! The stored accounts: all SQL about accounts and keys.
//!
//! It does not know the format of keys or who holds a socket. Every value is bound, none is
//! interpolated; each statement means the same in both databases.

mod accounts;
mod admins;
mod directory;
mod feeds;
mod grants;
mod links;
mod named_keys;
mod sessions;
mod tickets;

use sqlx::{Any, AnyConnection, FromRow, Row, Transaction, any::AnyRow};

pub(super) use self::{
    accounts::{
        StoredAccount, account_of_email, activate, all_key_ids, anonymise, count_mail_request,
        count_notice, has_key, lock, lock_by_email, lock_or_insert, remove_unconfirmed,
        remove_webhooks, revoke_all_keys, set_blocked, set_email, set_password,
    },
    admins::{StoredAdmin, lock_admin, set_admin_password},
    directory::Wanted,
    feeds::StoredFeedKey,
    grants::{
        NewGrant, NewTokens, StoredGrant, grant_by_prefix, insert_grant, issue_tokens,
        keep_newest_grants, remove_ended_grants, revoke_all_grants, revoke_grant,
    },
    links::{
        Effect, StoredLink, insert_link, registered_password, remove_links, remove_old_links,
        use_link, void_links,
    },
    named_keys::{
        count_named_keys, count_new_named_keys, revoke_ended_named_keys, revoke_main_keys,
        revoke_named_key,
    },
    sessions::{
        StoredSession, insert_session, keep_newest_sessions, remove_ended_sessions, remove_sessions,
    },
    tickets::remove_ended_tickets,
};
use super::{AccountId, Addon, Addons, KeyId, KeyTerms, Micros, Networks, Scopes, ZoneName};
use database::Database;

#[derive(Debug)]
pub(super) struct AccountStore {
    database: Database,
}

/// A stored key, with its account's add-ons.
#[derive(Debug)]
pub(super) struct StoredKey {
    pub(super) key: KeyId,
    pub(super) account: AccountId,
    pub(super) email: Option<String>,
    pub(super) prefix: String,
    pub(super) hash: Vec<u8>,
    pub(super) created: Micros,
    pub(super) revoked: Option<Micros>,
    /// When its account was blocked.
    pub(super) blocked: Option<Micros>,
    pub(super) zone: Option<ZoneName>,
    pub(super) addons: Addons,
    /// Of a named key.
    pub(super) terms: Option<KeyTerms>,
}

impl AccountStore {
    pub(super) fn new(database: Database) -> Self {
        Self { database }
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    pub(super) async fn begin(&self) -> sqlx::Result<Transaction<'static, Any>> {
        self.database.begin().await
    }

    pub(super) async fn key_by_prefix(&self, prefix: &str) -> sqlx::Result<Option<StoredKey>> {
        let rows = sqlx::query_as("SELECT * FROM key_addons WHERE prefix = $1")
            .bind(prefix)
            .fetch_all(self.database.pool())
            .await?;
        Ok(gather_keys(rows).pop())
    }

    pub(super) async fn key_by_id(&self, key: KeyId) -> sqlx::Result<Option<StoredKey>> {
        let rows = sqlx::query_as("SELECT * FROM key_addons WHERE key_id = $1")
            .bind(key.0)
            .fetch_all(self.database.pool())
            .await?;
        Ok(gather_keys(rows).pop())
    }

    pub(super) async fn all_keys(&self) -> sqlx::Result<Vec<StoredKey>> {
        let rows = sqlx::query_as("SELECT * FROM key_addons WHERE is_grant = 0 ORDER BY key_id")
            .fetch_all(self.database.pool())
            .await?;
        Ok(gather_keys(rows))
    }

    /// False if it was already revoked. The account is locked first, as in all changes of it:
    /// locking the key before its account would be the opposite order, and PostgreSQL would detect
    /// a deadlock.
    pub(super) async fn revoke(
        &self,
        account: AccountId,
        key: KeyId,
        now: Micros,
    ) -> sqlx::Result<bool> {
        let mut tx = self.begin().await?;
        lock(&mut tx, account).await?;
        let done =
            sqlx::query("UPDATE keys SET revoked_us = $1 WHERE id = $2 AND revoked_us IS NULL")
                .bind(now)
                .bind(key.0)
                .execute(&mut *tx)
                .await?;
        tx.commit().await?;
        Ok(done.rows_affected() == 1)
    }

    pub(super) async fn latest_change(&self) -> sqlx::Result<i64> {
        sqlx::query_scalar("SELECT latest FROM changes").fetch_one(self.database.pool()).await
    }

    /// The keys changed after this change number, the earliest first.
    pub(super) async fn keys_changed_since(&self, change: i64) -> sqlx::Result<Vec<(KeyId, i64)>> {
        let rows: Vec<(i64, i64)> =
            sqlx::query_as("SELECT id, changed FROM keys WHERE changed > $1 ORDER BY changed")
                .bind(change)
                .fetch_all(self.database.pool())
                .await?;
        Ok(rows.into_iter().map(|(key, changed)| (KeyId(key), changed)).collect())
    }

    pub(super) async fn meta(&self, name: &str) -> sqlx::Result<Option<String>> {
        sqlx::query_scalar("SELECT value FROM meta WHERE name = $1")
            .bind(name)
            .fetch_optional(self.database.pool())
            .await
    }

    pub(super) async fn set_meta(&self, name: &str, value: &str) -> sqlx::Result<()> {
        sqlx::query(
            "INSERT INTO meta (name, value) VALUES ($1, $2) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )
        .bind(name)
        .bind(value)
        .execute(self.database.pool())
        .await?;
        Ok(())
    }

    /// Sets the value unless there is one, and returns the stored one.
    pub(super) async fn meta_or(&self, name: &str, value: &str) -> sqlx::Result<String> {
        if let Some(there) = self.meta(name).await? {
            return Ok(there);
        }
        // Two processes may get here at once; both get the first one's value.
        sqlx::query_scalar(
            "INSERT INTO meta (name, value) VALUES ($1, $2) \
             ON CONFLICT (name) DO UPDATE SET value = meta.value RETURNING value",
        )
        .bind(name)
        .bind(value)
        .fetch_one(self.database.pool())
        .await
    }

    pub(super) async fn remove_meta(&self, name: &str) -> sqlx::Result<()> {
        sqlx::query("DELETE FROM meta WHERE name = $1")
            .bind(name)
            .execute(self.database.pool())
            .await?;
        Ok(())
    }
}

/// The account with this address, created if there is none; always a new one without an address.
pub(super) async fn account(
    tx: &mut AnyConnection,
    email: Option<&str>,
    now: Micros,
) -> sqlx::Result<AccountId> {
    // The update changes nothing; without it an existing account would not be returned.
    sqlx::query_scalar(
        "INSERT INTO accounts (email, created_us, active_us) VALUES ($1, $2, $2) \
         ON CONFLICT (email) DO UPDATE SET email = accounts.email RETURNING id",
    )
    .bind(email.map(str::to_ascii_lowercase))
    .bind(now)
    .fetch_one(tx)
    .await
    .map(AccountId)
}

/// False if another key has the prefix.
pub(super) async fn insert_key(
    tx: &mut AnyConnection,
    account: AccountId,
    (prefix, hash): (&str, &[u8]),
    terms: Option<&KeyTerms>,
    now: Micros,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "INSERT INTO keys (account_id, prefix, hash, created_us, name, scopes, networks, ends_us) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (prefix) DO NOTHING",
    )
    .bind(account.0)
    .bind(prefix)
    .bind(hash)
    .bind(now)
    .bind(terms.map(|terms| terms.name.clone()))
    .bind(terms.map(|terms| terms.scopes.to_string()).unwrap_or_default())
    .bind(terms.map(|terms| terms.networks.to_string()).unwrap_or_default())
    .bind(terms.and_then(|terms| terms.ends))
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

impl FromRow<'_, AnyRow> for StoredKey {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        Ok(Self {
            key: KeyId(row.try_get("key_id")?),
            account: AccountId(row.try_get("account_id")?),
            email: row.try_get("email")?,
            prefix: row.try_get("prefix")?,
            hash: row.try_get("hash")?,
            created: row.try_get("created_us")?,
            revoked: row.try_get("revoked_us")?,
            blocked: row.try_get("blocked_us")?,
            zone: zone(row)?,
            addons: Addons::default(),
            terms: terms(row)?,
        })
    }
}

/// The time zone of an account. One that this machine does not know is none.
fn zone(row: &AnyRow) -> sqlx::Result<Option<ZoneName>> {
    let name: Option<String> = row.try_get("time_zone")?;
    Ok(name.and_then(|name| ZoneName::parse(&name)))
}

/// The terms of a named key. Networks that cannot be read are an error: the key must not work from everywhere.
fn terms(row: &AnyRow) -> sqlx::Result<Option<KeyTerms>> {
    let Some(name) = row.try_get::<Option<String>, _>("name")? else { return Ok(None) };
    let networks = Networks::parse(&row.try_get::<String, _>("networks")?);
    Ok(Some(KeyTerms {
        name,
        scopes: Scopes::parse(&row.try_get::<String, _>("scopes")?),
        networks: networks.map_err(|error| sqlx::Error::Decode(Box::new(error)))?,
        ends: row.try_get("ends_us")?,
    }))
}

/// A row with a key or an account, and at most one of its add-ons.
struct AddonRow<T> {
    owner: T,
    addon: Option<(Addon, Micros)>,
}

impl<T: for<'r> FromRow<'r, AnyRow>> FromRow<'_, AnyRow> for AddonRow<T> {
    fn from_row(row: &AnyRow) -> sqlx::Result<Self> {
        let owner = T::from_row(row)?;
        let name: Option<String> = row.try_get("addon")?;
        // An unknown add-on unlocks nothing here, so it is skipped.
        let Some(addon) = name.and_then(|name| name.parse().ok()) else {
            return Ok(Self { owner, addon: None });
        };
        Ok(Self { owner, addon: Some((addon, row.try_get("expires_us")?)) })
    }
}

fn gather_keys(rows: Vec<AddonRow<StoredKey>>) -> Vec<StoredKey> {
    gather(rows, |one, other| one.key == other.key, |key| &mut key.addons)
}

/// Merges the rows of the same owner, which are adjacent.
fn gather<T>(
    rows: Vec<AddonRow<T>>,
    is_same: fn(&T, &T) -> bool,
    addons: fn(&mut T) -> &mut Addons,
) -> Vec<T> {
    let mut owners: Vec<T> = Vec::new();
    for AddonRow { owner, addon } in rows {
        if owners.last().is_none_or(|last| !is_same(last, &owner)) {
            owners.push(owner);
        }
        if let (Some(owner), Some((addon, expiry))) = (owners.last_mut(), addon) {
            addons(owner).set(addon, expiry);
        }
    }
    owners
}
