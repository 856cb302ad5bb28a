//! Databases for tests: new, empty ones.
//!
//! Tests run on SQLite, unless the variable `TEST_POSTGRES_URL` names a server on which databases
//! may be created and dropped: then they run there. `make test` does the one, and
//! `make test-systems`, which starts a server, the other.
//!
//! Migrating takes most of the time of a short test, so it is done once: files are copies of one, and on the server databases
//! are made of a template. It stays there, for other test programs and for the next run.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use sqlx::{AnyConnection, AssertSqlSafe, Connection, Executor};
use tokio::sync::OnceCell;

use super::{Database, DatabaseName, migrations};

/// Runs a test on a new database. Each kind of database takes a run of its own.
pub async fn on_each(test: impl AsyncFn(Database)) {
    match postgres_server() {
        Some(server) => on_postgres(&server, test).await,
        None => on_sqlite(test).await,
    }
}

pub(crate) async fn on_sqlite(test: impl AsyncFn(Database)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("test.db");
    fs::write(&file, migrated_file().await).expect("a file in a temporary folder");
    let database = Database::open(&DatabaseName::File(file)).await.expect("SQLite opens");
    test(database.clone()).await;
    database.close().await;
}

pub(crate) async fn on_postgres(server: &str, test: impl AsyncFn(Database)) {
    let migrated = PostgresTestDatabase::create_from(server, migrated_template(server).await).await;
    let database = Database::open(&migrated.name).await.expect("PostgreSQL opens");
    test(database.clone()).await;
    database.close().await;
    migrated.drop().await;
}

/// The bytes of a new SQLite database.
async fn migrated_file() -> &'static [u8] {
    static FILE: OnceCell<Vec<u8>> = OnceCell::const_new();
    let made = FILE.get_or_init(|| async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("template.db");
        open_and_close(&DatabaseName::File(file.clone())).await;
        assert!(
            !Path::new(&format!("{}-wal", file.display())).exists(),
            "closing writes all to the file"
        );
        fs::read(&file).expect("SQLite has written it")
    });
    made.await
}

/// The name of the server's template for these migrations. Several programs may make it at the same time: it gets its name
/// when it is complete.
async fn migrated_template(server: &str) -> &'static str {
    static NAME: OnceCell<String> = OnceCell::const_new();
    let made = NAME.get_or_init(|| async {
        let mut digest = DefaultHasher::new();
        migrations::postgres_statements().for_each(|statements| statements.hash(&mut digest));
        let name = format!("test_template_{:016x}", digest.finish());
        if exists(server, &name).await {
            return name;
        }
        let new = PostgresTestDatabase::create_empty(server).await;
        open_and_close(&new.name).await;
        let rename = format!("ALTER DATABASE {} RENAME TO {name}", new.database);
        if let Err(error) = try_execute(server, rename).await {
            assert!(exists(server, &name).await, "the template gets its name: {error}");
            new.drop().await;
        }
        name
    });
    made.await
}

async fn open_and_close(name: &DatabaseName) {
    Database::open(name).await.expect("a new database opens").close().await;
}

async fn exists(server: &str, database: &str) -> bool {
    let mut connection = connect(server).await;
    let found = sqlx::query("SELECT 1 FROM pg_database WHERE datname = $1").bind(database);
    let found =
        found.fetch_optional(&mut connection).await.expect("the server lists its databases");
    connection.close().await.expect("it can be closed");
    found.is_some()
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

/// A database on the test's server.
#[derive(Debug)]
pub struct PostgresTestDatabase {
    server: String,
    database: String,
    pub name: DatabaseName,
}

impl PostgresTestDatabase {
    /// One without any table. `server`: the URL of a database on it, such as `postgres://postgres@localhost:5433/postgres`.
    pub async fn create_empty(server: &str) -> Self {
        Self::create_from(server, "template1").await
    }

    async fn create_from(server: &str, template: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let database = format!("test_{}_{count}", process::id());
        execute(server, format!("CREATE DATABASE {database} TEMPLATE {template}")).await;
        let (base, _) = server.rsplit_once('/').expect("a URL with a database");
        let name = DatabaseName::from(&*format!("{base}/{database}"));
        Self { server: server.to_owned(), database, name }
    }

    pub async fn drop(self) {
        execute(&self.server, format!("DROP DATABASE {} WITH (FORCE)", self.database)).await;
    }
}

async fn execute(server: &str, statement: String) {
    try_execute(server, statement).await.expect("databases may be created and dropped");
}

async fn try_execute(server: &str, statement: String) -> sqlx::Result<()> {
    let mut connection = connect(server).await;
    let result = connection.execute(AssertSqlSafe(statement)).await;
    connection.close().await.expect("it can be closed");
    result.map(|_| ())
}

async fn connect(server: &str) -> AnyConnection {
    let options = super::quiet(server).expect("a URL of PostgreSQL's");
    AnyConnection::connect_with(&options).await.expect("the server answers")
}
