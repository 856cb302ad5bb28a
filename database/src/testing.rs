//! Databases for tests: a new, empty one of each kind that is available.
//!
//! PostgreSQL is available if the variable `TEST_POSTGRES_URL` names a server on which databases
//! may be created and dropped; `make test` starts one. Otherwise tests run on SQLite only and say
//! so.

use std::{
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use sqlx::{AnyConnection, AssertSqlSafe, Connection, Executor};

use super::{Database, DatabaseName};

/// Runs a test on a new database of each kind.
pub async fn on_each(test: impl AsyncFn(Database)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = DatabaseName::File(folder.path().join("test.db"));
    let database = Database::open(&file).await.expect("SQLite opens");
    test(database.clone()).await;
    database.close().await;
    // The test that needs PostgreSQL reports once for all tests that they ran on SQLite only.
    let Some(server) = postgres_server() else { return };
    let empty = EmptyPostgresDatabase::create(&server).await;
    let database = Database::open(&empty.name).await.expect("PostgreSQL opens");
    test(database.clone()).await;
    database.close().await;
    empty.drop().await;
}

/// The server, for tests that need it; prints a note and returns `None` if there is none.
pub fn postgres_or_skipped() -> Option<String> {
    let server = postgres_server();
    if server.is_none() {
        skipped("TEST_POSTGRES_URL names no server");
    }
    server
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

#[expect(clippy::disallowed_methods, reason = "no setting of the hub's")]
fn postgres_server() -> Option<String> {
    std::env::var("TEST_POSTGRES_URL").ok()
}

/// A database on the test's server, without any table.
#[derive(Debug)]
pub struct EmptyPostgresDatabase {
    server: String,
    database: String,
    pub name: DatabaseName,
}

impl EmptyPostgresDatabase {
    /// `server`: the URL of a database on it, such as `postgres://postgres@localhost:5433/postgres`.
    pub async fn create(server: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let database = format!("test_{}_{count}", process::id());
        execute(server, format!("CREATE DATABASE {database}")).await;
        let (base, _) = server.rsplit_once('/').expect("a URL with a database");
        let name = DatabaseName::from(&*format!("{base}/{database}"));
        Self { server: server.to_owned(), database, name }
    }

    pub async fn drop(self) {
        execute(&self.server, format!("DROP DATABASE {} WITH (FORCE)", self.database)).await;
    }
}

async fn execute(server: &str, statement: String) {
    let options = super::quiet(server).expect("a URL of PostgreSQL's");
    let mut connection = AnyConnection::connect_with(&options).await.expect("the server answers");
    connection.execute(AssertSqlSafe(statement)).await.expect("databases may be created");
    connection.close().await.expect("it can be closed");
}
