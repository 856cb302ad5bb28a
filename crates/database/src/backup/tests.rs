use std::{
    fs,
    os::unix::fs::PermissionsExt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use tempfile::TempDir;
use tokio::task::JoinSet;

use super::*;
use crate::{
    Database,
    testing::{PostgresTestDatabase, postgres_or_skipped},
};

/// Writers that add rows `0, 1, 2..` to a table, each in a transaction that also updates their sum:
/// the two agree at any time, in any copy.
struct Writers {
    stop: Arc<AtomicBool>,
    /// The number of rows that are known to be committed.
    committed: Arc<AtomicI64>,
    tasks: JoinSet<()>,
}

impl Writers {
    async fn start(database: &Database) -> Self {
        for statement in
            ["CREATE TABLE copied (n BIGINT)", "CREATE TABLE total (n BIGINT, rows BIGINT)"]
        {
            database.pool().execute(statement).await.unwrap();
        }
        database.pool().execute("INSERT INTO total VALUES (0, 0)").await.unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let committed = Arc::new(AtomicI64::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..3 {
            let (database, stop) = (database.clone(), Arc::clone(&stop));
            let committed = Arc::clone(&committed);
            tasks.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    write(&database).await;
                    committed.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let writers = Self { stop, committed, tasks };
        writers.until(20).await;
        writers
    }

    /// Waits until this many rows are committed in total.
    async fn until(&self, count: i64) {
        let coming = async {
            while self.committed.load(Ordering::SeqCst) < count {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), coming).await.expect("they write");
    }

    async fn stop(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(task) = self.tasks.join_next().await {
            task.unwrap();
        }
    }
}

async fn write(database: &Database) {
    let mut tx = database.begin().await.unwrap();
    let rows: i64 = sqlx::query_scalar("UPDATE total SET rows = rows + 1 RETURNING rows")
        .fetch_one(&mut *tx)
        .await
        .unwrap();
    for statement in ["INSERT INTO copied VALUES ($1)", "UPDATE total SET n = n + $1"] {
        sqlx::query(statement).bind(rows).execute(&mut *tx).await.unwrap();
    }
    tx.commit().await.unwrap();
}

/// The number of rows; checks that every transaction is present completely or not at all.
async fn check_whole(copy: &Database) -> i64 {
    let (rows, sum): (i64, i64) =
        sqlx::query_as("SELECT count(*), CAST(sum(n) AS BIGINT) FROM copied")
            .fetch_one(copy.pool())
            .await
            .unwrap();
    let total: (i64, i64) =
        sqlx::query_as("SELECT rows, n FROM total").fetch_one(copy.pool()).await.unwrap();
    assert_eq!(total, (rows, sum));
    rows
}

fn files(folder: &TempDir) -> Vec<String> {
    let name = |file: io::Result<fs::DirEntry>| file.unwrap().file_name().into_string().unwrap();
    let mut names = fs::read_dir(folder.path()).unwrap().map(name).collect::<Vec<_>>();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_is_copied_during_writes() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("hub.db").into();
    let database = Database::open(&name).await.unwrap();
    let writers = Writers::start(&database).await;
    for round in 0..5 {
        let copies = tempfile::tempdir().unwrap();
        let to = copies.path().join("copy.db");
        let before = writers.committed.load(Ordering::SeqCst);
        let bytes = back_up(&name, &to).await.unwrap();
        assert_eq!(files(&copies), ["copy.db"], "nothing else is left behind");
        let about = fs::metadata(&to).unwrap();
        assert_eq!((about.len(), about.permissions().mode() & 0o777), (bytes, 0o600));

        let copy = Database::open_existing(&to.into()).await.unwrap();
        let sound: String =
            sqlx::query_scalar("PRAGMA integrity_check").fetch_one(copy.pool()).await.unwrap();
        assert_eq!(sound, "ok");
        let rows = check_whole(&copy).await;
        assert!(rows >= before, "round {round}: {rows} of {before} that were committed before");
        copy.close().await;
        writers.until(before + 1).await;
    }
    writers.stop().await;
    database.close().await;
}

#[tokio::test]
async fn existing_file_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("hub.db").into();
    Database::open(&name).await.unwrap().close().await;
    let to = folder.path().join("copy.db");
    fs::write(&to, "precious").unwrap();
    let refused = back_up(&name, &to).await.unwrap_err();
    assert!(matches!(refused, BackupError::Exists(_)), "{refused}");
    assert_eq!(fs::read_to_string(&to).unwrap(), "precious");
}

#[tokio::test]
async fn failed_backup_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("copy.db");
    let missing = folder.path().join("missing.db").into();
    let refused = back_up(&missing, &to).await.unwrap_err();
    assert!(matches!(refused, BackupError::Missing(_)), "{refused}");

    let wrong = folder.path().join("wrong.db");
    fs::write(&wrong, "this is no database, and long enough to be seen as none").unwrap();
    let refused = back_up(&wrong.into(), &to).await.unwrap_err();
    assert!(matches!(refused, BackupError::Copy { .. }), "{refused}");
    assert_eq!(files(&folder), ["wrong.db"]);
}

#[test]
fn password_is_not_a_command_line_argument() {
    let DatabaseName::Postgres(url) = DatabaseName::from(
        "postgres://me%40x:s%3Acr%C3%A9t@[::1]:5433/my%20db?sslmode=require&statement-cache-capacity=9",
    ) else {
        panic!("a URL")
    };
    let command = pg_dump(&url, Path::new("to")).unwrap();
    let arguments = command.get_args().map(|it| it.to_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(arguments, ["--format=custom", "--no-password", "--file", "to"]);
    let mut variables = command
        .get_envs()
        .map(|(name, value)| format!("{}={}", name.display(), value.unwrap().display()))
        .collect::<Vec<_>>();
    variables.sort();
    assert_eq!(
        variables,
        [
            "PGDATABASE=my db",
            "PGHOST=::1",
            "PGPASSWORD=s:crét",
            "PGPORT=5433",
            "PGSSLMODE=require",
            "PGUSER=me@x",
        ]
    );
}

#[test]
fn unix_socket_is_passed_as_host() {
    for url in ["postgres://%2Frun%2Fpg/db", "postgres:///db?host=/run/pg"] {
        let DatabaseName::Postgres(url) = DatabaseName::from(url) else { panic!("a URL") };
        let variables = variables(&url).unwrap();
        assert!(variables.contains(&("PGHOST", "/run/pg".into())), "{variables:?}");
    }
}

#[test]
fn missing_pg_dump_names_the_package_to_install() {
    let missing = dump(Command::new("/nowhere/pg_dump")).unwrap_err();
    assert!(matches!(missing, BackupError::NoPgDump), "{missing}");
    assert!(missing.to_string().contains("postgresql-client"), "{missing}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: make test-systems runs it"]
async fn postgres_is_copied_during_writes_and_restored() {
    let Some(server) = postgres_or_skipped() else { return };
    let (from, into) = (
        PostgresTestDatabase::create_empty(&server).await,
        PostgresTestDatabase::create_empty(&server).await,
    );
    let database = Database::open(&from.name).await.unwrap();
    let writers = Writers::start(&database).await;
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("copy.dump");
    let before = writers.committed.load(Ordering::SeqCst);
    back_up(&from.name, &to).await.unwrap();
    writers.stop().await;
    assert_eq!(files(&folder), ["copy.dump"]);
    assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);

    let DatabaseName::Postgres(url) = &into.name else { panic!("a URL") };
    let restored = Command::new("pg_restore")
        .args(["--no-owner", "--exit-on-error", "--dbname", url.expose()])
        .arg(&to)
        .status()
        .expect("pg_restore comes with pg_dump");
    assert!(restored.success());
    let copy = Database::open_existing(&into.name).await.unwrap();
    assert!(check_whole(&copy).await >= before);
    // The copy includes the triggers that notify hubs of changes.
    let tells = "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal";
    let triggers = async |database: &Database| -> i64 {
        sqlx::query_scalar(tells).fetch_one(database.pool()).await.unwrap()
    };
    assert_eq!(triggers(&copy).await, triggers(&database).await);
    for database in [copy, database] {
        database.close().await;
    }
    from.drop().await;
    into.drop().await;
}
