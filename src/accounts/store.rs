//! Where accounts are kept: one SQLite file, and all the SQL there is.
//!
//! It does not know what a key looks like or who holds a socket. Every value is bound, none is
//! written into a statement; placeholders are numbered as PostgreSQL numbers them too.

mod feeds;

use std::{io, path::Path, time::Duration};

use sqlx::{
    ConnectOptions, Connection, FromRow, Row, Sqlite, SqliteConnection, SqlitePool, Transaction,
    sqlite::{
        SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
    },
};

use tempfile::{NamedTempFile, TempPath};

pub(super) use self::feeds::StoredFeedKey;
use super::{AccountId, AccountsError, Addon, Addons, KeyId, Micros, migrations};

/// Look-ups are short and there is one writer at a time, so few connections go a long way. Each
/// has a thread of its own and about 2 MiB of page cache at most.
const CONNECTIONS_MAX: u32 = 4;
/// How long a writer waits for another process to finish its own transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Store {
    pool: SqlitePool,
}

/// A key as it is stored, with what its account has.
#[derive(Debug)]
pub(super) struct StoredKey {
    pub(super) key: KeyId,
    pub(super) account: AccountId,
    pub(super) email: Option<String>,
    pub(super) prefix: String,
    pub(super) hash: Vec<u8>,
    pub(super) created: Micros,
    pub(super) revoked: Option<Micros>,
    pub(super) addons: Addons,
}

impl Store {
    /// Opens the file, which is there, and brings it up to date.
    pub(super) async fn open(path: &Path) -> Result<Self, AccountsError> {
        let pool = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS_MAX)
            .connect_with(options(path))
            .await
            .map_err(|source| AccountsError::Open { path: path.to_owned(), source })?;
        let store = Self { pool };
        store.migrate().await?;
        Ok(store)
    }

    /// In one transaction, so that two programs starting on a new file do not both create its
    /// tables.
    async fn migrate(&self) -> Result<(), AccountsError> {
        let mut tx = self.begin().await?;
        migrations::run(&mut tx).await?;
        Ok(tx.commit().await?)
    }

    /// Begins to write. `IMMEDIATE`, because a transaction that reads first and then wants to
    /// write is refused, not queued, when another has written in between.
    pub(super) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
        self.pool.begin_with("BEGIN IMMEDIATE").await
    }

    /// A connection beside the pool, for who must always be asking the same one.
    pub(super) async fn connect(&self) -> Result<SqliteConnection, sqlx::Error> {
        self.pool.connect_options().connect().await
    }

    pub(super) async fn key_by_prefix(
        &self,
        prefix: &str,
    ) -> Result<Option<StoredKey>, sqlx::Error> {
        let rows = sqlx::query_as("SELECT * FROM key_addons WHERE prefix = $1")
            .bind(prefix)
            .fetch_all(&self.pool)
            .await?;
        Ok(gather(rows).pop())
    }

    pub(super) async fn key_by_id(&self, key: KeyId) -> Result<Option<StoredKey>, sqlx::Error> {
        let rows = sqlx::query_as("SELECT * FROM key_addons WHERE key_id = $1")
            .bind(key.0)
            .fetch_all(&self.pool)
            .await?;
        Ok(gather(rows).pop())
    }

    pub(super) async fn all_keys(&self) -> Result<Vec<StoredKey>, sqlx::Error> {
        let rows = sqlx::query_as("SELECT * FROM key_addons ORDER BY key_id")
            .fetch_all(&self.pool)
            .await?;
        Ok(gather(rows))
    }

    /// False if it had been revoked before.
    pub(super) async fn revoke(&self, key: KeyId, now: Micros) -> Result<bool, sqlx::Error> {
        let done =
            sqlx::query("UPDATE keys SET revoked_us = $1 WHERE id = $2 AND revoked_us IS NULL")
                .bind(now)
                .bind(key.0)
                .execute(&self.pool)
                .await?;
        Ok(done.rows_affected() == 1)
    }

    pub(super) async fn latest_change(&self) -> Result<i64, sqlx::Error> {
        sqlx::query_scalar("SELECT latest FROM changes").fetch_one(&self.pool).await
    }

    /// The keys that were changed after the change of this number, the earliest first.
    pub(super) async fn keys_changed_since(
        &self,
        change: i64,
    ) -> Result<Vec<(KeyId, i64)>, sqlx::Error> {
        let rows: Vec<(i64, i64)> =
            sqlx::query_as("SELECT id, changed FROM keys WHERE changed > $1 ORDER BY changed")
                .bind(change)
                .fetch_all(&self.pool)
                .await?;
        Ok(rows.into_iter().map(|(key, changed)| (KeyId(key), changed)).collect())
    }

    pub(super) async fn meta(&self, name: &str) -> Result<Option<String>, sqlx::Error> {
        sqlx::query_scalar("SELECT value FROM meta WHERE name = $1")
            .bind(name)
            .fetch_optional(&self.pool)
            .await
    }

    pub(super) async fn set_meta(&self, name: &str, value: &str) -> Result<(), sqlx::Error> {
        sqlx::query(
            "INSERT INTO meta (name, value) VALUES ($1, $2) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )
        .bind(name)
        .bind(value)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Sets it if it is not there, and says what is there then.
    pub(super) async fn meta_or(&self, name: &str, value: &str) -> Result<String, sqlx::Error> {
        if let Some(there) = self.meta(name).await? {
            return Ok(there);
        }
        // Two programs may get here at once; both are told what the first one set.
        sqlx::query_scalar(
            "INSERT INTO meta (name, value) VALUES ($1, $2) \
             ON CONFLICT (name) DO UPDATE SET value = meta.value RETURNING value",
        )
        .bind(name)
        .bind(value)
        .fetch_one(&self.pool)
        .await
    }

    /// For what else is kept in the same file.
    pub(super) fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }

    pub(super) async fn remove_meta(&self, name: &str) -> Result<(), sqlx::Error> {
        sqlx::query("DELETE FROM meta WHERE name = $1").bind(name).execute(&self.pool).await?;
        Ok(())
    }
}

/// Puts a new and empty database there, unless another program is faster.
///
/// It is made under another name and moved when it is ready, for two reasons. It is its owner's
/// alone from the start, where SQLite would let everybody read it. And it is in WAL mode from the
/// start: programs that switch a new file at the same moment are refused, not queued.
pub(super) async fn create(path: &Path) -> Result<(), AccountsError> {
    let new = empty_file_beside(path)
        .map_err(|source| AccountsError::Create { path: path.to_owned(), source })?;
    let made = async { options(&new).connect().await?.close().await };
    made.await.map_err(|source| AccountsError::Open { path: path.to_owned(), source })?;
    match new.persist_noclobber(path) {
        Err(failed) if failed.error.kind() != io::ErrorKind::AlreadyExists => {
            Err(AccountsError::Create { path: path.to_owned(), source: failed.error })
        }
        _ => Ok(()),
    }
}

/// Closed again before SQLite opens it: closing a file drops this process's locks on it.
fn empty_file_beside(path: &Path) -> io::Result<TempPath> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let file = NamedTempFile::new_in(folder.unwrap_or_else(|| Path::new(".")))?;
    Ok(file.into_temp_path())
}

/// The account with this address, made if there is none; always a new one without an address.
pub(super) async fn account(
    tx: &mut SqliteConnection,
    email: Option<&str>,
    now: Micros,
) -> Result<AccountId, sqlx::Error> {
    // The update changes nothing; without it an account that is there would not be returned.
    sqlx::query_scalar(
        "INSERT INTO accounts (email, created_us) VALUES ($1, $2) \
         ON CONFLICT (email) DO UPDATE SET email = accounts.email RETURNING id",
    )
    .bind(email)
    .bind(now)
    .fetch_one(tx)
    .await
    .map(AccountId)
}

/// Adds time to an add-on: to its expiry, or to now when that has passed.
pub(super) async fn extend_addon(
    tx: &mut SqliteConnection,
    account: AccountId,
    addon: Addon,
    span: Micros,
    now: Micros,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO addons (account_id, addon, expires_us) VALUES ($1, $2, $3 + $4) \
         ON CONFLICT (account_id, addon) DO UPDATE SET expires_us = max(addons.expires_us, $3) + $4",
    )
    .bind(account.0)
    .bind(addon.as_str())
    .bind(now)
    .bind(span)
    .execute(tx)
    .await?;
    Ok(())
}

/// False if another key has the prefix.
pub(super) async fn insert_key(
    tx: &mut SqliteConnection,
    account: AccountId,
    prefix: &str,
    hash: &[u8],
    now: Micros,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query(
        "INSERT INTO keys (account_id, prefix, hash, created_us) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (prefix) DO NOTHING",
    )
    .bind(account.0)
    .bind(prefix)
    .bind(hash)
    .bind(now)
    .execute(tx)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A number that differs from the one before when another connection, of this program or of any
/// other, has committed something since.
pub(super) async fn data_version(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("PRAGMA data_version").fetch_one(connection).await
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .journal_mode(SqliteJournalMode::Wal)
        // With less, a power cut could take back a revocation or a paid day that was confirmed.
        .synchronous(SqliteSynchronous::Full)
        // The watcher asks ten times a second; at debug level nothing else would be readable.
        .disable_statement_logging()
}

/// One row of the view `key_addons`.
struct KeyRow {
    key: StoredKey,
    addon: Option<(Addon, Micros)>,
}

impl FromRow<'_, SqliteRow> for KeyRow {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let key = StoredKey {
            key: KeyId(row.try_get("key_id")?),
            account: AccountId(row.try_get("account_id")?),
            email: row.try_get("email")?,
            prefix: row.try_get("prefix")?,
            hash: row.try_get("hash")?,
            created: row.try_get("created_us")?,
            revoked: row.try_get("revoked_us")?,
            addons: Addons::default(),
        };
        Ok(Self { key, addon: addon(row)? })
    }
}

/// An add-on that we do not know unlocks nothing that we have, so it is passed over.
fn addon(row: &SqliteRow) -> Result<Option<(Addon, Micros)>, sqlx::Error> {
    let name: Option<String> = row.try_get("addon")?;
    let Some(addon) = name.and_then(|name| name.parse().ok()) else { return Ok(None) };
    Ok(Some((addon, row.try_get("expires_us")?)))
}

/// Rows of the same key follow each other.
fn gather(rows: Vec<KeyRow>) -> Vec<StoredKey> {
    let mut keys: Vec<StoredKey> = Vec::new();
    for row in rows {
        if keys.last().is_none_or(|last| last.key != row.key.key) {
            keys.push(row.key);
        }
        if let (Some(key), Some((addon, expiry))) = (keys.last_mut(), row.addon) {
            key.addons.set(addon, expiry);
        }
    }
    keys
}
