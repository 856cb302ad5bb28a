//! The database: an SQLite file or PostgreSQL.
//!
//! **In:** the name of a database. **Out:** connections, migrations, transactions, change notifications,
//! backups. **Must not know** what the tables mean.
//!
//! Statements are written once for both databases, in types that both support. `migrations/` has a folder for
//! each version: SQL in the dialect of SQLite, translated for PostgreSQL, and `sqlite.sql` and `postgres.sql`, of which
//! one applies; a test compares the tables. Published migrations never change. Stores of all crates are tested on both databases.
//!
//! - **Writing.** Every writer starts with `Database::begin`. SQLite has one writer at a time and no
//!   queue, so long writes are split (`BatchWriter`): after 200 ms, at a start after a second, the open
//!   transaction is committed, followed by a pause in which other writers get their turn.
//! - **Change notifications.** Triggers number the changes that other programs must notice, so no writer
//!   can forget them. `Watcher::changed` waits for them: PostgreSQL uses `NOTIFY`, SQLite is polled by
//!   `data_version`. A change is visible only after it is committed.
//! - **Fences.** In a cluster only the node that leads may write to the archive. A handle with a `Fence`
//!   checks that in each transaction.
//! - **Failures.** `is_unavailable` distinguishes temporary errors (503) from others (500). SQLite ends a
//!   transaction by itself if its disk is full, and sqlx still counts it as open; such a connection is
//!   discarded instead of returned to the pool. `Database::watch_writes` probes whether writes succeed,
//!   for the metric `matchwire_database_writable`.
//! - **Time limits.** PostgreSQL may vanish in the middle of a statement. Revocations, usage, the archive and the
//!   probe of health limit each with `within`; requests end with their clients.

mod backup;
mod batch_writer;
mod config;
mod fence;
mod health;
mod leader_signs;
mod migrations;
mod name;
mod pool;
mod sqlite;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time_limit;
mod watch;

use std::{fmt, time::Duration};

use futures_util::future::join_all;
use sqlx::{
    Any, AnyConnection, ConnectOptions, Connection, Executor, Transaction,
    any::{AnyConnectOptions, AnyPoolOptions},
};
use tokio::time::timeout;

pub use self::config::DatabaseConfig;
pub use self::{
    backup::{BackupError, back_up},
    batch_writer::{BatchWriter, WriteBudget},
    fence::{Deposed, Fence, is_deposed},
    health::is_unavailable,
    leader_signs::LeaderSigns,
    name::{DatabaseName, PostgresUrl},
    pool::SharedPool,
    time_limit::{DELETION_MAX, STATEMENT_MAX, within},
    watch::Watcher,
};
use base::{feature::MissingFeature, percent};

/// Look-ups are short, and SQLite has one writer at a time, so a few connections suffice. Each has
/// its own thread there, and at most about 2 MiB of page cache, in a bulk write 16 MiB.
const SQLITE_CONNECTIONS: u32 = 4;
/// PostgreSQL writes concurrently; each connection is a process of the server.
const POSTGRES_CONNECTIONS: u32 = 8;

/// A server process only grows, and old connections must end after a failover.
const LIFETIME_MAX: Duration = Duration::from_secs(30 * 60);

/// How long PostgreSQL may take to answer what was sent last over a connection that is released. Beyond it, a new
/// connection costs less than the wait of others for this one.
const LAST_ANSWER_MAX: Duration = Duration::from_secs(2);

/// How long connections are held that are open already while others are opened.
const OPENING_MAX: Duration = Duration::from_secs(2);

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("no database at {name}")]
    Missing { name: DatabaseName },
    #[error("cannot open the database {name}")]
    Open { name: DatabaseName, source: sqlx::Error },
    #[error("cannot create the database {name}")]
    Create { name: DatabaseName, source: std::io::Error },
    #[error(
        "the database has version {found}, this program knows up to {latest}: \
         it was written by a newer matchwire, or by one before 0.1.0"
    )]
    Newer { found: i64, latest: i64 },
    #[error("cannot migrate the database")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    #[error(transparent)]
    MissingFeature(#[from] MissingFeature),
    #[error("the database failed")]
    Store(#[from] sqlx::Error),
}

/// A handle to the database; clones share its connections.
#[derive(Clone)]
pub struct Database {
    name: DatabaseName,
    pool: SharedPool,
    /// Checked by each write transaction.
    fence: Option<Fence>,
}

impl Database {
    /// Opens it with the default settings and migrates it. A missing SQLite file is created.
    ///
    /// # Errors
    ///
    /// If it cannot be opened or created, or was written by a newer version.
    pub async fn open(name: &DatabaseName) -> Result<Self, DatabaseError> {
        Self::open_with(name, &DatabaseConfig::default()).await
    }

    /// Opens it with these settings.
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

    /// Opens an existing database, so that a mistyped path is an error rather than a new, empty
    /// database.
    ///
    /// # Errors
    ///
    /// As [`Self::open`], and if there is no file.
    pub async fn open_existing(name: &DatabaseName) -> Result<Self, DatabaseError> {
        Self::connect(name, &DatabaseConfig::default()).await
    }

    async fn connect(name: &DatabaseName, config: &DatabaseConfig) -> Result<Self, DatabaseError> {
        name.check_feature()?;
        let connections =
            |default| if config.connections_max == 0 { default } else { config.connections_max };
        let options = AnyPoolOptions::new().acquire_timeout(config.acquire());
        let failed = |source| DatabaseError::Open { name: name.clone(), source };
        let pool = match name {
            DatabaseName::File(path) if !path.exists() => {
                return Err(DatabaseError::Missing { name: name.clone() });
            }
            DatabaseName::File(path) => options
                .max_connections(connections(SQLITE_CONNECTIONS))
                .after_connect(move |connection, _| Box::pin(sqlite::prepare(connection)))
                .after_release(|connection, _| Box::pin(sqlite::is_reusable(connection)))
                .connect_with(sqlite::options(path).map_err(failed)?),
            DatabaseName::Postgres(url) => options
                .max_connections(connections(POSTGRES_CONNECTIONS))
                .max_lifetime(LIFETIME_MAX)
                .after_connect(|connection, _| Box::pin(end_idle_transactions(connection)))
                .after_release(|connection, _| Box::pin(has_answered(connection)))
                .connect_with(quiet(url.expose()).map_err(failed)?),
        };
        let pool = match (pool.await, name) {
            // It has tried again and again; a single attempt says why.
            (Err(sqlx::Error::PoolTimedOut), DatabaseName::File(path)) => {
                Err(sqlite::examine(path).await.err().unwrap_or(sqlx::Error::PoolTimedOut))
            }
            (pool, _) => pool,
        };
        let pool = SharedPool::new(pool.map_err(failed)?);
        let database = Self { name: name.clone(), pool, fence: None };
        database.migrate().await?;
        Ok(database)
    }

    /// In one transaction, so that two processes starting on a new database do not both create its
    /// tables. If there is nothing to do, it does not wait for writers.
    async fn migrate(&self) -> Result<(), DatabaseError> {
        let is_sqlite = self.is_sqlite();
        let mut connection = self.pool.connections.acquire().await?;
        if migrations::are_applied(&mut connection, is_sqlite).await? {
            return Ok(());
        }
        drop(connection);
        let mut tx = self.begin().await?;
        migrations::run(&mut tx, is_sqlite).await?;
        Ok(tx.commit().await?)
    }

    /// Opens as many connections as there may be: requests that come at once then wait for none. To PostgreSQL one takes a
    /// second on a busy machine. Those that cannot be opened in time are opened when they are needed.
    pub async fn open_connections(&self) {
        let connections = &self.pool.connections;
        let most = connections.options().get_max_connections();
        // All are held until the last one is there, because one that is released would be given out again.
        let opening = join_all((0..most).map(|_| connections.acquire()));
        // Those that are open stay so.
        timeout(OPENING_MAX, opening).await.ok();
    }

    /// Begins a write transaction. `IMMEDIATE` in SQLite, because a transaction that reads first
    /// and then writes is refused there, not queued, if another has written in between. In
    /// PostgreSQL, a caller that reads before it writes must lock the row that its decision depends
    /// on.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn begin(&self) -> sqlx::Result<Transaction<'static, Any>> {
        let statement = if self.is_sqlite() { "BEGIN IMMEDIATE" } else { "BEGIN" };
        if let Some(fence) = &self.fence {
            fence.raise(self).await?;
        }
        // Until it has begun: in SQLite the others wait there.
        let turn = self.pool.turn().await?;
        let mut tx = self.pool.connections.begin_with(statement).await?;
        drop(turn);
        if let Some(fence) = &self.fence {
            fence.check(&mut tx, self.is_sqlite()).await?;
        }
        Ok(tx)
    }

    /// A handle whose write transactions are refused once another node of the cluster leads: see
    /// [`is_deposed`].
    #[must_use]
    pub fn fenced(&self, fence: &Fence) -> Self {
        Self { fence: Some(fence.clone()), ..self.clone() }
    }

    /// The term of this handle's fence, once it has one.
    #[must_use]
    pub fn term(&self) -> Option<u64> {
        self.fence.as_ref().and_then(Fence::term)
    }

    /// Stores the term of this handle's fence, as its next write does. Afterwards no node that led before can commit
    /// anything, so what is read then is up to date.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn store_term(&self) -> sqlx::Result<()> {
        match &self.fence {
            Some(fence) => fence.raise(self).await,
            None => Ok(()),
        }
    }

    /// The greatest term of a log that was stored; 0 if none was.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn stored_term(&self, log: &str) -> sqlx::Result<u64> {
        fence::stored_term(self.pool(), log).await
    }

    /// The connection pool.
    #[must_use]
    pub fn pool(&self) -> &SharedPool {
        &self.pool
    }

    #[must_use]
    pub fn name(&self) -> &DatabaseName {
        &self.name
    }

    /// Whether it is an SQLite file.
    #[must_use]
    pub fn is_sqlite(&self) -> bool {
        matches!(self.name, DatabaseName::File(_))
    }

    /// Waits for work in progress and closes all connections, for all clones of this handle. Any
    /// later query is an error. Without it nothing is lost, but SQLite has more recovery work at
    /// the next start.
    pub async fn close(&self) {
        self.pool.connections.close().await;
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Whether a connection to PostgreSQL can return to the pool: once everything that was sent over it is answered.
///
/// Nearly always it is. It is not if the future of a statement was dropped, or a transaction, whose `ROLLBACK` is sent
/// only here. sqlx does not say so, but `flush` sends what is left and reads the answers that are missing; if there are
/// none it costs nothing. The ping of the pool, which follows each release, would wait for them too, but without a limit:
/// a server that has vanished would keep the connection's place in the pool. A ping here instead would be a second round
/// trip for each use of a connection, and would leave that of the pool as it is.
async fn has_answered(connection: &mut AnyConnection) -> sqlx::Result<bool> {
    within(LAST_ANSWER_MAX, connection.flush()).await.map(|()| true)
}

/// A process that is suspended in a transaction would hold up all others until its connection ends.
async fn end_idle_transactions(connection: &mut AnyConnection) -> sqlx::Result<()> {
    connection.execute("SET idle_in_transaction_session_timeout = '15s'").await.map(|_| ())
}

/// The watchers poll ten times a second, which would flood the debug log.
fn quiet(url: &str) -> sqlx::Result<AnyConnectOptions> {
    sqlx::any::install_default_drivers();
    Ok(url.parse::<AnyConnectOptions>()?.disable_statement_logging())
}

#[cfg(test)]
mod tests;
