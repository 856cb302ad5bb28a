//! The database and the clock of a test hub.
//!
//! A test database outlives the hubs that are started on it: a file in a folder, or a database on
//! the PostgreSQL that `TEST_POSTGRES_URL` names, which `make test-systems` starts.

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use sqlx::{AnyPool, AssertSqlSafe, Connection, Executor, PgConnection, any::AnyPoolOptions};
use tempfile::TempDir;

use super::{clock::Clock, hub};

/// Clones share the same database.
#[derive(Clone)]
pub(crate) struct TestDatabase {
    pub(crate) folder: Arc<TempDir>,
    postgres: Option<Arc<Postgres>>,
    clock: Option<Arc<Clock>>,
}

/// A temporary database, dropped with this value.
struct Postgres {
    /// A database on the same server, used to create and drop this one.
    server: String,
    name: String,
    url: String,
}

/// Runs a test on SQLite, or on PostgreSQL if there is a server. Each kind takes a run of its own.
pub(crate) async fn on_each(test: impl AsyncFn(TestDatabase)) {
    match postgres_server() {
        Some(server) => test(TestDatabase::postgres(&server)).await,
        None => test(TestDatabase::file()).await,
    }
}

/// Runs a test on SQLite, and in long runs as `on_each` does. Unit tests run what such a test
/// makes of the database on each kind, and `databases` runs the program on each.
pub(crate) async fn on_sqlite(test: impl AsyncFn(TestDatabase)) {
    if is_long() {
        on_each(test).await;
    } else {
        test(TestDatabase::file()).await;
    }
}

/// Whether this is `make test-long`, in which tests take all the time that they need.
#[expect(clippy::disallowed_methods, reason = "no setting of the hub's")]
pub(crate) fn is_long() -> bool {
    std::env::var_os("TEST_LONG").is_some()
}

/// The URL of the test's server; `None`, with a message, if it is not set.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn postgres_or_skipped() -> Option<String> {
    let server = postgres_server();
    if server.is_none() {
        eprintln!("skipped: TEST_POSTGRES_URL names no PostgreSQL");
    }
    server
}

#[expect(clippy::disallowed_methods, reason = "no setting of the hub's")]
fn postgres_server() -> Option<String> {
    std::env::var("TEST_POSTGRES_URL").ok()
}

impl TestDatabase {
    /// A file in a temporary folder.
    pub(crate) fn file() -> Self {
        Self::in_folder(Arc::new(tempfile::tempdir().expect("a temporary folder")))
    }

    /// The file in a folder that may contain the database of an earlier run.
    pub(crate) fn in_folder(folder: Arc<TempDir>) -> Self {
        Self { folder, postgres: None, clock: None }
    }

    /// A new database on this server.
    pub(crate) fn postgres(server: &str) -> Self {
        Self { postgres: Some(Arc::new(Postgres::create(server))), ..Self::file() }
    }

    /// The same database with this clock.
    pub(crate) fn by(&self, clock: &Arc<Clock>) -> Self {
        Self { clock: Some(Arc::clone(clock)), ..self.clone() }
    }

    /// Whether programs in this environment have a clock that a test sets.
    pub(super) fn has_own_clock(&self) -> bool {
        self.clock.is_some()
    }

    /// The database as `--db` takes it.
    pub(crate) fn db(&self) -> String {
        match &self.postgres {
            Some(postgres) => postgres.url.clone(),
            None => self.folder.path().join("hub.db").to_str().expect("text").to_owned(),
        }
    }

    /// The program under test in this environment.
    pub(crate) fn program(&self) -> Command {
        let mut command = hub::program();
        if self.postgres.is_some() {
            // Beside a server, the files of a hub are in its working directory.
            command.current_dir(self.folder.path());
        }
        if let Some(clock) = &self.clock {
            clock.is_the_clock_of(&mut command);
        }
        command
    }

    /// A direct connection, for what no command shows.
    pub(crate) async fn pool(&self) -> AnyPool {
        sqlx::any::install_default_drivers();
        let url = match &self.postgres {
            Some(postgres) => postgres.url.clone(),
            None => format!("sqlite:{}", self.db()),
        };
        let options = AnyPoolOptions::new().max_connections(2);
        options.connect(&url).await.expect("the database opens")
    }
}

impl Postgres {
    fn create(server: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("it_{}_{count}", std::process::id());
        execute(server, format!("CREATE DATABASE {name}"));
        let (base, _) = server.rsplit_once('/').expect("a URL with a database");
        Self { server: server.to_owned(), url: format!("{base}/{name}"), name }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        execute(&self.server, format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

/// On a separate thread and runtime, because a test may already be in one.
fn execute(server: &str, statement: String) {
    let server = server.to_owned();
    let executing = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let mut connection = PgConnection::connect(&server).await?;
            connection.execute(AssertSqlSafe(statement)).await?;
            connection.close().await
        })
    });
    executing.join().expect("no panic").expect("databases can be made and dropped");
}
