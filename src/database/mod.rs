//! The one database that everything which must last is kept in: an SQLite file by default, PostgreSQL
//! where that is configured.
//!
//! It knows connections, versions of tables and how to hear of changes by other programs; it knows
//! nothing of what is in the tables. Statements are written once for both: placeholders are numbered,
//! and every type is one that both have (whole numbers of 64 bits, text, bytes, double precision).
//!
//! In reading order: [`DatabaseName`], [`Database`], [`BatchWriter`], [`Watcher`], then `health`, `sqlite`,
//! `migrations` and `backup`.

mod backup;
mod batch_writer;
mod health;
mod migrations;
mod name;
mod sqlite;
#[cfg(test)]
pub(crate) mod testing;
mod watch;

use std::{fmt, time::Duration};

use sqlx::{
    Any, AnyConnection, AnyPool, ConnectOptions, Connection, Transaction,
    any::{AnyConnectOptions, AnyPoolOptions},
};

use tracing::warn;

pub use self::{
    backup::{BackupError, back_up},
    batch_writer::{BatchWriter, WriteBudget},
    health::is_unavailable,
    name::{DatabaseName, PostgresUrl},
    watch::Watcher,
};
use crate::config::DatabaseConfig;

/// Look-ups are short, and SQLite has one writer at a time, so few connections go a long way. Each has
/// a thread of its own there, and about 2 MiB of page cache at most.
const SQLITE_CONNECTIONS: u32 = 4;
/// PostgreSQL writes side by side; each connection is a process on its side.
const POSTGRES_CONNECTIONS: u32 = 8;

/// A server-side process only grows, and after a move to another server the old connections are to end.
const LIFETIME_MAX: Duration = Duration::from_secs(30 * 60);

/// What can go wrong before there is a database to ask.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("no database at {name}")]
    Missing { name: DatabaseName },
    #[error("cannot open the database {name}")]
    Open { name: DatabaseName, source: sqlx::Error },
    #[error("cannot create the database {name}")]
    Create { name: DatabaseName, source: std::io::Error },
    #[error(
        "the database has version {found}, this program knows up to {known}: \
         it was written by a newer matchwire"
    )]
    Newer { found: i64, known: i64 },
    #[error("cannot bring the database up to date")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    #[error("the database failed")]
    Store(#[from] sqlx::Error),
}

/// A handle on the database; clones share its connections.
#[derive(Clone)]
pub struct Database {
    name: DatabaseName,
    pool: AnyPool,
}

impl Database {
    /// Opens it with the default settings and brings its tables up to date. An SQLite file that is missing
    /// is created.
    ///
    /// # Errors
    ///
    /// If it cannot be opened or created, or was written by a newer program.
    pub async fn open(name: &DatabaseName) -> Result<Self, DatabaseError> {
        Self::open_with(name, &DatabaseConfig::default()).await
    }

    /// The same with these settings.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub async fn open_with(
        name: &DatabaseName,
        config: &DatabaseConfig,
    ) -> Result<Self, DatabaseError> {
        if let DatabaseName::File(path) = name
            && !path.exists()
        {
            sqlite::create(path).await?;
        }
        Self::connect(name, config).await
    }

    /// The same for one that must be there, so that a mistyped path is an error and not a new and empty
    /// database.
    ///
    /// # Errors
    ///
    /// As [`Self::open`], and if there is no file.
    pub async fn open_existing(name: &DatabaseName) -> Result<Self, DatabaseError> {
        Self::connect(name, &DatabaseConfig::default()).await
    }

    async fn connect(name: &DatabaseName, config: &DatabaseConfig) -> Result<Self, DatabaseError> {
        let connections =
            |own| if config.connections_max == 0 { own } else { config.connections_max };
        let options = AnyPoolOptions::new()
            .acquire_timeout(config.acquire())
            .after_release(|connection, _| Box::pin(is_reusable(connection)));
        let failed = |source| DatabaseError::Open { name: name.clone(), source };
        let pool = match name {
            DatabaseName::File(path) if !path.exists() => {
                return Err(DatabaseError::Missing { name: name.clone() });
            }
            DatabaseName::File(path) => options
                .max_connections(connections(SQLITE_CONNECTIONS))
                .after_connect(|connection, _| Box::pin(sqlite::prepare(connection)))
                .connect_with(sqlite::options(path).map_err(failed)?),
            DatabaseName::Postgres(url) => options
                .max_connections(connections(POSTGRES_CONNECTIONS))
                .max_lifetime(LIFETIME_MAX)
                .connect_with(quiet(url.expose()).map_err(failed)?),
        };
        let database = Self { name: name.clone(), pool: pool.await.map_err(failed)? };
        database.migrate().await?;
        Ok(database)
    }

    /// In one transaction, so that two programs starting on a new database do not both create its
    /// tables. Where there is nothing to do nobody who writes is waited for.
    async fn migrate(&self) -> Result<(), DatabaseError> {
        if migrations::are_applied(&mut *self.pool.acquire().await?, self.is_sqlite()).await? {
            return Ok(());
        }
        let mut tx = self.begin().await?;
        migrations::run(&mut tx, self.is_sqlite()).await?;
        Ok(tx.commit().await?)
    }

    /// Begins to write. `IMMEDIATE` in SQLite, because there a transaction that reads first and then
    /// wants to write is refused, not queued, when another has written in between. In PostgreSQL
    /// whoever reads first in order to write what follows from it locks the row that it decides by.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn begin(&self) -> Result<Transaction<'static, Any>, sqlx::Error> {
        let statement = if self.is_sqlite() { "BEGIN IMMEDIATE" } else { "BEGIN" };
        self.pool.begin_with(statement).await
    }

    /// What statements are run on.
    #[must_use]
    pub fn pool(&self) -> &AnyPool {
        &self.pool
    }

    #[must_use]
    pub fn name(&self) -> &DatabaseName {
        &self.name
    }

    /// Whether it is a file of SQLite's.
    #[must_use]
    pub fn is_sqlite(&self) -> bool {
        matches!(self.name, DatabaseName::File(_))
    }

    /// Waits for what is under way and closes all connections, for all clones of this handle. Anything
    /// asked afterwards is an error. Nothing is lost without it; SQLite then has more to tidy up at the
    /// next start.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Whether a connection can go back to the pool. Where its disk is full, SQLite ends a transaction by itself;
/// sqlx counts it as open all the same, and refuses to begin another on this connection for ever. Such a
/// connection is closed, and the pool opens a new one when it needs one.
async fn is_reusable(connection: &mut AnyConnection) -> Result<bool, sqlx::Error> {
    if connection.is_in_transaction() {
        // A transaction that was dropped is rolled back by the next thing that the connection does.
        connection.ping().await?;
    }
    let is_reusable = !connection.is_in_transaction();
    if !is_reusable {
        warn!("a database connection is closed: its transaction ended by itself");
    }
    Ok(is_reusable)
}

/// The watchers ask ten times a second; at debug level nothing else would be readable.
fn quiet(url: &str) -> Result<AnyConnectOptions, sqlx::Error> {
    sqlx::any::install_default_drivers();
    Ok(url.parse::<AnyConnectOptions>()?.disable_statement_logging())
}

#[cfg(test)]
mod tests;
