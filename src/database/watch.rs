//! Hears of what other programs have committed: `matchwire key revoke` beside a running hub.
//!
//! PostgreSQL tells by itself. SQLite tells nobody across processes, so there it is asked again and
//! again. A file-system notice would not do: it says that the write-ahead log was touched, not that
//! something was committed, and does not exist on every file system.

use std::time::Duration;

use sqlx::{
    AnyConnection, Connection,
    postgres::{PgListener, PgPoolOptions},
};
use tokio::time::{self, Interval, MissedTickBehavior, timeout};

use super::{Database, DatabaseName, sqlite};

/// The channel on which triggers tell of changes.
const CHANNEL: &str = "matchwire";

/// How long PostgreSQL may take to let us listen before that is an error. Short, for whoever waits tries
/// again, and the pauses between tries within it grow with it.
const LISTEN_MAX: Duration = Duration::from_secs(2);
/// A line that was cut somewhere on the way is silent, as one without changes is, and a pooler may have
/// swallowed the notice. So PostgreSQL is looked at anyway, this often; a look is one short query.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// A way to wait for changes, on a connection of its own.
#[derive(Debug)]
pub struct Watcher {
    /// Nothing was waited for yet: whatever is there is new.
    new: bool,
    watching: Watching,
}

#[derive(Debug)]
enum Watching {
    Sqlite { connection: AnyConnection, ticks: Interval, seen: Option<i64> },
    Postgres(PgListener),
}

impl Database {
    /// Begins to watch for changes; those before count as one. SQLite is asked `every` so often.
    ///
    /// # Errors
    ///
    /// If the database cannot be reached.
    ///
    /// # Panics
    ///
    /// If `every` is zero.
    pub async fn watch(&self, every: Duration) -> Result<Watcher, sqlx::Error> {
        let watching = match &self.name {
            DatabaseName::File(path) => {
                let mut ticks = time::interval(every);
                ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                let connection = AnyConnection::connect_with(&sqlite::options(path)?).await?;
                Watching::Sqlite { connection, ticks, seen: None }
            }
            DatabaseName::Postgres(url) => {
                let options = PgPoolOptions::new().max_connections(1).acquire_timeout(LISTEN_MAX);
                let pool = options.connect(url.expose()).await?;
                let mut listener = PgListener::connect_with(&pool).await?;
                listener.listen(CHANNEL).await?;
                Watching::Postgres(listener)
            }
        };
        Ok(Watcher { new: true, watching })
    }
}

impl Watcher {
    /// Waits until something may have changed since the last time, by whoever. Our own changes count
    /// too.
    ///
    /// # Errors
    ///
    /// If the database fails. What is missed then is found by a new watcher's first change.
    pub async fn changed(&mut self) -> Result<(), sqlx::Error> {
        let new = std::mem::take(&mut self.new);
        match &mut self.watching {
            Watching::Sqlite { connection, ticks, seen } => loop {
                ticks.tick().await;
                let version = Some(sqlite::data_version(connection).await?);
                if *seen != version {
                    *seen = version;
                    return Ok(());
                }
            },
            Watching::Postgres(_) if new => Ok(()),
            // Nothing: the connection was lost and is there again. What was told meanwhile is lost.
            Watching::Postgres(listener) => match timeout(SILENCE_MAX, listener.try_recv()).await {
                Ok(told) => told.map(|_| ()),
                Err(_) => Ok(()),
            },
        }
    }
}
