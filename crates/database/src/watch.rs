//! Detects commits by other processes: `matchwire key revoke` next to a running hub.
//!
//! PostgreSQL sends notifications. SQLite has none across processes, so it is polled. A file-system
//! watch would not do: it reports changes of the write-ahead log rather than commits, and is not
//! available on every file system.

use std::time::Duration;

use sqlx::{AnyConnection, Connection};
use tokio::time::{self, Interval, MissedTickBehavior};

use self::postgres::Listener;
use super::{Database, DatabaseName, sqlite};

/// Waits for changes, on its own connection.
#[derive(Debug)]
pub struct Watcher {
    /// No wait yet: everything counts as changed.
    new: bool,
    backend: WatchBackend,
}

#[derive(Debug)]
enum WatchBackend {
    Sqlite { connection: AnyConnection, ticks: Interval, seen: Option<i64> },
    Postgres(Listener),
}

impl Database {
    /// Starts to watch for changes; earlier ones count as one. SQLite is polled at this interval.
    ///
    /// # Errors
    ///
    /// If the database cannot be reached.
    ///
    /// # Panics
    ///
    /// If `every` is zero.
    pub async fn watch(&self, every: Duration) -> sqlx::Result<Watcher> {
        let backend = match &self.name {
            DatabaseName::File(path) => {
                let mut ticks = time::interval(every);
                ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                let connection = AnyConnection::connect_with(&sqlite::options(path)?).await?;
                WatchBackend::Sqlite { connection, ticks, seen: None }
            }
            DatabaseName::Postgres(url) => WatchBackend::Postgres(Listener::connect(url).await?),
        };
        Ok(Watcher { new: true, backend })
    }
}

impl Watcher {
    /// Waits until something may have changed since the last call, including changes by this
    /// process.
    ///
    /// # Errors
    ///
    /// If the database fails. Changes missed then are covered by a new watcher's first change.
    pub async fn changed(&mut self) -> sqlx::Result<()> {
        let new = std::mem::take(&mut self.new);
        match &mut self.backend {
            WatchBackend::Sqlite { connection, ticks, seen } => loop {
                ticks.tick().await;
                let version = Some(sqlite::data_version(connection).await?);
                if *seen != version {
                    *seen = version;
                    return Ok(());
                }
            },
            WatchBackend::Postgres(_) if new => Ok(()),
            WatchBackend::Postgres(listener) => listener.changed().await,
        }
    }
}

#[cfg(feature = "postgres")]
mod postgres {
    use std::time::Duration;

    use sqlx::postgres::{PgListener, PgPoolOptions};
    use tokio::time::timeout;

    use crate::{PostgresUrl, within};

    /// The channel on which triggers notify of changes.
    const CHANNEL: &str = "matchwire";

    /// How long PostgreSQL may take to accept a connection, and then to let it listen. Short, because
    /// the caller retries, and the delays between attempts within it grow with it.
    const LISTEN_MAX: Duration = Duration::from_secs(2);
    /// A broken connection is silent, like one without changes, and a pooler may drop notifications. So
    /// PostgreSQL is checked at this interval anyway, which costs one short query.
    const SILENCE_MAX: Duration = Duration::from_secs(1);

    /// A connection to PostgreSQL that listens for notifications.
    #[derive(Debug)]
    pub(super) struct Listener(PgListener);

    impl Listener {
        pub(super) async fn connect(url: &PostgresUrl) -> sqlx::Result<Self> {
            let options = PgPoolOptions::new().max_connections(1).acquire_timeout(LISTEN_MAX);
            let pool = options.connect(url.expose()).await?;
            let mut listener = PgListener::connect_with(&pool).await?;
            within(LISTEN_MAX, listener.listen(CHANNEL)).await?;
            Ok(Self(listener))
        }

        pub(super) async fn changed(&mut self) -> sqlx::Result<()> {
            match timeout(SILENCE_MAX, self.0.try_recv()).await {
                // `None`: the connection was lost and restored. Notifications sent meanwhile are lost.
                Ok(notification) => notification.map(|_| ()),
                Err(_) => Ok(()),
            }
        }
    }
}

/// Without the feature no PostgreSQL database can be opened, so none is watched.
#[cfg(not(feature = "postgres"))]
mod postgres {
    use std::convert::Infallible;

    use crate::PostgresUrl;

    #[derive(Debug)]
    pub(super) struct Listener(Infallible);

    impl Listener {
        pub(super) async fn connect(_: &PostgresUrl) -> sqlx::Result<Self> {
            Err(sqlx::Error::PoolClosed)
        }

        pub(super) async fn changed(&self) -> sqlx::Result<()> {
            match self.0 {}
        }
    }
}
