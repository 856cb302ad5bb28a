//! The same behaviour on both databases.

use std::{pin::pin, sync::Mutex, time::Duration};

use base::work::{Payer, Pool, Work, scope};
use futures_util::FutureExt;
use tokio::time::timeout;

use super::{
    testing::{PostgresTestDatabase, on_each, on_postgres, on_sqlite, postgres_or_skipped},
    *,
};

const WAIT: Duration = Duration::from_secs(10);
const OFTEN: Duration = Duration::from_millis(10);

async fn insert_meta(database: &Database, name: &str) {
    let insert = sqlx::query("INSERT INTO meta (name, value) VALUES ($1, 'x')").bind(name);
    insert.execute(database.pool()).await.unwrap();
}

#[tokio::test]
#[ignore = "needs PostgreSQL: make test-systems runs it"]
async fn postgresql_is_tested_too() {
    let Some(server) = postgres_or_skipped() else { return };
    let empty = PostgresTestDatabase::create_empty(&server).await;
    let database = Database::open(&empty.name).await.unwrap();
    assert!(!database.is_sqlite());
    database.close().await;
    empty.drop().await;
}

#[tokio::test]
async fn reopened_database_has_its_data() {
    on_each(async |database| {
        insert_meta(&database, "stored").await;
        let again = Database::open_existing(database.name()).await.unwrap();
        let stored: Vec<String> =
            sqlx::query_scalar("SELECT name FROM meta").fetch_all(again.pool()).await.unwrap();
        assert_eq!(stored, ["stored"]);
        again.close().await;
    })
    .await;
}

/// Issue 16: a leader that was suspended, and wakes after another one has written, changes nothing.
#[tokio::test]
async fn only_the_newest_leader_writes() {
    on_each(async |database| {
        async fn write(database: &Database, value: &str) -> sqlx::Result<()> {
            let mut tx = database.begin().await?;
            let statement = "INSERT INTO meta (name, value) VALUES ('row', $1) \
                             ON CONFLICT (name) DO UPDATE SET value = excluded.value";
            sqlx::query(statement).bind(value).execute(&mut *tx).await?;
            tx.commit().await
        }
        let stored = async || -> String {
            let value = sqlx::query_scalar("SELECT value FROM meta WHERE name = 'row'");
            value.fetch_one(database.pool()).await.unwrap()
        };
        let fences = [Fence::default(), Fence::default()];
        let [old, new] = [0, 1].map(|it: usize| database.fenced(&fences[it]));
        write(&old, "of a node that has not led").await.unwrap();
        assert_eq!(database.stored_term("MW_a 1").await.unwrap(), 0);
        fences[0].lead("MW_a 1", 4, false);
        assert_eq!((old.term(), new.term()), (Some(4), None));
        write(&old, "term 4").await.unwrap();
        fences[1].lead("MW_a 1", 5, false);
        write(&old, "before the new leader writes").await.unwrap();
        write(&new, "term 5").await.unwrap();
        assert_eq!(database.stored_term("MW_a 1").await.unwrap(), 5);
        assert_eq!(database.stored_term("MW_a 2").await.unwrap(), 0, "of another log");
        let refused = write(&old, "late").await.unwrap_err();
        assert!(is_deposed(&refused), "{refused}");
        assert_eq!(stored().await, "term 5");
        write(&new, "again").await.unwrap();
        // It leads once more.
        fences[0].lead("MW_a 1", 6, false);
        write(&old, "term 6").await.unwrap();
        assert!(is_deposed(&write(&new, "late").await.unwrap_err()));
        // The stream has lost terms, and a new history begins with a smaller one.
        fences[1].lead("MW_a 1", 3, true);
        write(&new, "of a new history").await.unwrap();
        assert!(is_deposed(&write(&old, "late").await.unwrap_err()));
        // Another stream has terms of its own.
        fences[0].lead("MW_a 2", 1, false);
        write(&old, "of the stream that replaces it").await.unwrap();
        assert!(!is_deposed(&sqlx::Error::RowNotFound));
    })
    .await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL: make test-systems runs it"]
async fn leader_that_is_alive_is_seen_for_a_while() {
    let Some(server) = postgres_or_skipped() else { return };
    let empty = PostgresTestDatabase::create_empty(&server).await;
    let database = Database::open(&empty.name).await.unwrap();
    let signs =
        |log: &str, node: &str| LeaderSigns::new(&database, log.to_owned(), node.to_owned());
    let (a, b) = (signs("MW_a 1", "a"), signs("MW_a 1", "b"));
    assert!(!b.has_other_leader(WAIT).await.unwrap(), "there was none");
    a.note().await.unwrap();
    a.note().await.unwrap();
    assert!(b.has_other_leader(WAIT).await.unwrap());
    assert!(!a.has_other_leader(WAIT).await.unwrap(), "it was this node");
    assert!(!b.has_other_leader(Duration::ZERO).await.unwrap(), "it was earlier");
    assert!(!signs("MW_a 2", "b").has_other_leader(WAIT).await.unwrap(), "of another log");
    b.note().await.unwrap();
    assert!(a.has_other_leader(WAIT).await.unwrap(), "the lead has changed");
    assert!(!b.has_other_leader(WAIT).await.unwrap());
    database.close().await;
    empty.drop().await;
}

/// What is in progress when another node takes the lead is committed before that one writes.
#[tokio::test]
#[ignore = "needs PostgreSQL: make test-systems runs it"]
async fn new_leader_waits_for_a_transaction_of_the_old_one() {
    let Some(server) = postgres_or_skipped() else { return };
    let empty = PostgresTestDatabase::create_empty(&server).await;
    let database = Database::open(&empty.name).await.unwrap();
    let fences = [Fence::default(), Fence::default()];
    let [old, new] = [0, 1].map(|it: usize| database.fenced(&fences[it]));
    fences[0].lead("MW_a 1", 1, false);
    let tx = old.begin().await.unwrap();
    fences[1].lead("MW_a 1", 2, false);
    let begun = new.begin();
    tokio::pin!(begun);
    assert!(timeout(Duration::from_millis(200), &mut begun).await.is_err(), "it waits");
    tx.commit().await.unwrap();
    timeout(WAIT, begun).await.expect("its turn comes").unwrap();
    database.close().await;
    empty.drop().await;
}

#[tokio::test]
async fn newer_database_is_refused() {
    on_each(async |database| {
        let newer = "INSERT INTO _sqlx_migrations \
                     SELECT 999, description, installed_on, success, checksum, execution_time \
                     FROM _sqlx_migrations WHERE version = 1";
        sqlx::query(newer).execute(database.pool()).await.unwrap();
        let refused = Database::open_existing(database.name()).await.unwrap_err();
        assert!(matches!(refused, DatabaseError::Newer { found: 999, .. }), "{refused:?}");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL: make test-systems runs it"]
async fn concurrent_programs_create_the_tables_once() {
    let Some(server) = postgres_or_skipped() else { return };
    let empty = PostgresTestDatabase::create_empty(&server).await;
    let opening = std::iter::repeat_with(|| Database::open(&empty.name)).take(8);
    for opened in join_all(opening).await {
        opened.unwrap().close().await;
    }
    empty.drop().await;
}

#[tokio::test]
async fn uncommitted_rows_are_not_stored() {
    on_each(async |database| {
        let mut tx = database.begin().await.unwrap();
        sqlx::query("INSERT INTO meta (name, value) VALUES ('lost', 'x')")
            .execute(&mut *tx)
            .await
            .unwrap();
        drop(tx);
        let count: i64 = sqlx::query_scalar("SELECT count(*) FROM meta")
            .fetch_one(database.pool())
            .await
            .unwrap();
        assert_eq!(count, 0);
    })
    .await;
}

/// As after a fault of the network, or a client that does not wait for its response.
#[tokio::test]
#[ignore = "needs PostgreSQL: make test-systems runs it"]
async fn connection_that_still_waits_for_an_answer_is_replaced() {
    let Some(server) = postgres_or_skipped() else { return };
    let empty = PostgresTestDatabase::create_empty(&server).await;
    let config =
        DatabaseConfig { connections_max: 1, acquire_ms: 10_000, ..DatabaseConfig::default() };
    let database = Database::open_with(&empty.name, &config).await.unwrap();
    let backend = "SELECT CAST(pg_backend_pid() AS BIGINT)";
    let (slot, mut only) = database.pool().acquire().await.unwrap();
    let first: i64 = sqlx::query_scalar(backend).fetch_one(&mut *only).await.unwrap();
    let silent = sqlx::query("SELECT CAST(1 AS BIGINT) FROM pg_sleep(60)").execute(&mut *only);
    // Long enough to prepare it on a busy machine.
    let cut_off = within(Duration::from_secs(2), silent).await.unwrap_err();
    assert!(is_unavailable(&cut_off), "{cut_off}");
    drop((slot, only));
    let second: i64 = sqlx::query_scalar(backend).fetch_one(database.pool()).await.unwrap();
    assert_ne!(first, second, "nobody waits for the answer that is missing");
    // One that has answered is used again, also after a transaction that was dropped.
    drop(database.begin().await.unwrap());
    let third: i64 = sqlx::query_scalar(backend).fetch_one(database.pool()).await.unwrap();
    assert_eq!(second, third);
    database.close().await;
    empty.drop().await;
}

/// Another handle stands for another program.
#[tokio::test]
async fn watcher_sees_changes_by_other_programs() {
    on_each(async |database| {
        let mut watcher = database.watch(OFTEN).await.unwrap();
        watcher.changed().await.unwrap();
        let other = Database::open_existing(database.name()).await.unwrap();
        let account = "INSERT INTO accounts (id, created_us) VALUES (1, 1)";
        sqlx::query(account).execute(other.pool()).await.unwrap();
        let addon = "INSERT INTO addons (account_id, addon, expires_us) VALUES (1, 'odds', 1)";
        sqlx::query(addon).execute(other.pool()).await.unwrap();
        timeout(WAIT, watcher.changed()).await.expect("it hears of it").unwrap();
        other.close().await;
    })
    .await;
}

/// Every column of every table and view: `table.column: type`, whether it is required, its default.
const COLUMNS: [&str; 2] = [
    "SELECT m.name || '.' || c.name || ': ' || lower(c.type) || \
     CASE WHEN c.\"notnull\" <> 0 OR c.pk <> 0 THEN ' not null' ELSE '' END || \
     coalesce(' default ' || c.dflt_value, '') \
     FROM sqlite_master m JOIN pragma_table_info(m.name) c \
     WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite%' \
     AND m.name <> '_sqlx_migrations' ORDER BY m.name, c.cid",
    "SELECT CAST(table_name || '.' || column_name || ': ' || CASE data_type \
     WHEN 'bigint' THEN 'integer' WHEN 'bytea' THEN 'blob' \
     WHEN 'double precision' THEN 'real' ELSE data_type END || \
     CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END || \
     coalesce(' default ' || replace(column_default, '::text', ''), '') AS TEXT) \
     FROM information_schema.columns \
     WHERE table_schema = 'public' AND table_name <> '_sqlx_migrations' \
     ORDER BY table_name COLLATE \"C\", ordinal_position",
];

/// Every named index.
const INDEXES: [&str; 2] = [
    "SELECT tbl_name || '.' || name || CASE WHEN sql LIKE 'CREATE UNIQUE%' THEN ' unique' ELSE '' END \
     FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY tbl_name, name",
    "SELECT CAST(tablename || '.' || indexname || \
     CASE WHEN indexdef LIKE 'CREATE UNIQUE%' THEN ' unique' ELSE '' END AS TEXT) FROM pg_indexes \
     WHERE schemaname = 'public' AND indexname NOT IN (SELECT conname FROM pg_constraint) \
     ORDER BY tablename COLLATE \"C\", indexname COLLATE \"C\"",
];

/// Every foreign key and its action on deletion.
const REFERENCES: [&str; 2] = [
    "SELECT m.name || '.' || f.\"from\" || ' -> ' || f.\"table\" || ' ' || lower(f.on_delete) \
     FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table' \
     ORDER BY m.name, f.\"from\"",
    "SELECT CAST(c.conrelid::regclass::text || '.' || a.attname || ' -> ' || \
     c.confrelid::regclass::text || ' ' || \
     CASE c.confdeltype WHEN 'c' THEN 'cascade' WHEN 'a' THEN 'no action' ELSE c.confdeltype::text END \
     AS TEXT) FROM pg_constraint c \
     JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1] WHERE c.contype = 'f' \
     ORDER BY c.conrelid::regclass::text COLLATE \"C\", a.attname COLLATE \"C\"",
];

async fn texts(database: &Database, [of_sqlite, of_postgres]: [&'static str; 2]) -> Vec<String> {
    let statement = if database.is_sqlite() { of_sqlite } else { of_postgres };
    sqlx::query_scalar(statement).fetch_all(database.pool()).await.unwrap()
}

/// Both databases have the same tables with the same meaning.
#[tokio::test]
#[ignore = "needs PostgreSQL: make test-systems runs it"]
async fn both_databases_have_the_same_tables() {
    let Some(server) = postgres_or_skipped() else { return };
    let seen: Mutex<Vec<[Vec<String>; 3]>> = Mutex::default();
    let see = async |database: Database| {
        let [columns, indexes, references] = [COLUMNS, INDEXES, REFERENCES];
        let schema = [
            texts(&database, columns).await,
            texts(&database, indexes).await,
            texts(&database, references).await,
        ];
        assert!(schema[0].contains(&"accounts.id: integer not null".to_owned()), "{schema:?}");
        seen.lock().unwrap().push(schema);
    };
    on_sqlite(see).await;
    on_postgres(&server, see).await;
    let seen = seen.into_inner().unwrap();
    let [of_sqlite, of_postgres] = seen.as_slice() else { panic!("one for each database") };
    for (of_sqlite, of_postgres) in of_sqlite.iter().zip(of_postgres) {
        assert_eq!(of_sqlite, of_postgres);
    }
}

/// Of concurrent orders, every one is seen, even if the one with the higher number is committed
/// first.
#[tokio::test]
async fn order_rows_become_visible_in_id_order() {
    let insert = "INSERT INTO match_orders (kind, provider, key, swapped, ordered_us) \
                  VALUES ('split', 'a', '1', 0, 1) RETURNING id";
    on_each(async |database| {
        let mut first = database.begin().await.unwrap();
        let one: i64 = sqlx::query_scalar(insert).fetch_one(&mut *first).await.unwrap();
        let second = async {
            let mut tx = database.begin().await.unwrap();
            let other: i64 = sqlx::query_scalar(insert).fetch_one(&mut *tx).await.unwrap();
            tx.commit().await.unwrap();
            other
        };
        let mut second = std::pin::pin!(second);
        // It cannot get there before the first one is seen.
        assert!(timeout(Duration::from_millis(50), &mut second).await.is_err());
        first.commit().await.unwrap();
        assert!(one < timeout(WAIT, second).await.expect("its turn comes"));
    })
    .await;
}

/// SQLite has no queue of writers: a bulk writer has to let the others in, each within its timeout.
#[tokio::test]
async fn bulk_writer_lets_others_write() {
    on_each(async |database| {
        let other = Database::open_existing(database.name()).await.unwrap();
        let mut budget = WriteBudget::default();
        let writing = async {
            let mut batch_writer = database.batch_writer(&mut budget);
            for number in 0_u64.. {
                let insert = sqlx::query("INSERT INTO meta (name, value) VALUES ($1, 'x')");
                let insert = insert.bind(format!("much {number}"));
                insert.execute(batch_writer.next().await.unwrap()).await.unwrap();
            }
        };
        let others = async {
            for number in 0..20 {
                let mut tx = other.begin().await.unwrap();
                sqlx::query("INSERT INTO meta (name, value) VALUES ($1, 'x')")
                    .bind(format!("other {number}"))
                    .execute(&mut *tx)
                    .await
                    .unwrap();
                tx.commit().await.unwrap();
            }
        };
        tokio::select! {
            () = writing => panic!("it has no end"),
            () = others => {}
        }
        other.close().await;
    })
    .await;
}

/// SQLite's; kibibytes are negative.
async fn cache_size(connection: &mut AnyConnection) -> i64 {
    sqlx::query_scalar("PRAGMA cache_size").fetch_one(connection).await.unwrap()
}

/// Neither a bulk write that is finished nor one that is dropped leaves its cache to the next user of the connection.
#[tokio::test]
async fn cache_is_large_in_a_bulk_write_alone() {
    on_sqlite(async |database| {
        let config = DatabaseConfig { connections_max: 1, ..DatabaseConfig::default() };
        let single = Database::open_with(database.name(), &config).await.unwrap();
        let usual = cache_size(&mut single.pool().acquire().await.unwrap().1).await;
        for is_finished in [true, false] {
            let mut budget = WriteBudget::for_starts();
            let mut batch_writer = single.batch_writer(&mut budget);
            let large = cache_size(batch_writer.next().await.unwrap()).await;
            assert!(large < 4 * usual && usual < 0, "{large}, {usual}");
            if is_finished {
                batch_writer.finish().await.unwrap();
            } else {
                drop(batch_writer);
            }
            assert_eq!(cache_size(&mut single.pool().acquire().await.unwrap().1).await, usual);
        }
        single.close().await;
    })
    .await;
}

#[tokio::test]
async fn steps_of_one_kind_are_committed_together() {
    on_each(async |database| {
        let insert = |name: &'static str| {
            sqlx::query("INSERT INTO meta (name, value) VALUES ($1, 'x')").bind(name)
        };
        let mut budget = WriteBudget::default();
        let mut batch_writer = database.batch_writer(&mut budget);
        insert("a").execute(batch_writer.next().await.unwrap()).await.unwrap();
        insert("b").execute(batch_writer.same().await.unwrap()).await.unwrap();
        drop(batch_writer);
        let mut batch_writer = database.batch_writer(&mut budget);
        insert("c").execute(batch_writer.next().await.unwrap()).await.unwrap();
        batch_writer.finish().await.unwrap();
        let stored = sqlx::query_scalar("SELECT name FROM meta WHERE name IN ('a', 'b', 'c')");
        let stored: Vec<String> = stored.fetch_all(database.pool()).await.unwrap();
        assert_eq!(stored, ["c"], "a batch dropped before it is finished is not stored");
    })
    .await;
}

#[tokio::test]
async fn current_database_is_opened_during_another_write() {
    on_each(async |database| {
        let mut tx = database.begin().await.unwrap();
        sqlx::query("INSERT INTO meta (name, value) VALUES ('held', 'x')")
            .execute(&mut *tx)
            .await
            .unwrap();
        let opened = timeout(WAIT, Database::open_existing(database.name())).await;
        opened.expect("it does not wait").unwrap().close().await;
        tx.commit().await.unwrap();
    })
    .await;
}

/// Simulates a full disk for every open connection of the pool.
async fn fill(database: &Database) {
    let mut all = Vec::new();
    for _ in 0..SQLITE_CONNECTIONS {
        let (slot, mut connection) = database.pool().acquire().await.unwrap();
        sqlx::query("PRAGMA max_page_count = 1").execute(&mut *connection).await.unwrap();
        all.push((slot, connection));
    }
}

async fn insert_much(database: &Database, name: &str) -> sqlx::Result<()> {
    let mut tx = database.begin().await?;
    // More than the free space of the last page.
    let insert = sqlx::query("INSERT INTO meta (name, value) VALUES ($1, $2)");
    insert.bind(name).bind("x".repeat(20_000)).execute(&mut *tx).await?;
    tx.commit().await
}

/// If there is no space, SQLite rolls a transaction back on its own, but sqlx still counts it as
/// open. Such a connection is not reused; new ones have the usual limit.
#[tokio::test]
async fn connection_whose_transaction_was_rolled_back_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let name = DatabaseName::File(folder.path().join("test.db"));
    let database = Database::open(&name).await.unwrap();
    fill(&database).await;
    // A replaced connection may come before one that is still full.
    let mut failed = 0;
    for round in 0..4 * SQLITE_CONNECTIONS {
        if let Err(error) = insert_much(&database, &format!("full {round}")).await {
            assert!(is_unavailable(&error), "try {round}: {error:?}");
            failed += 1;
        }
    }
    assert_eq!(failed, SQLITE_CONNECTIONS, "each connection fails once and is not used again");
    for round in 0..2 * SQLITE_CONNECTIONS {
        insert_much(&database, &format!("room {round}")).await.unwrap();
    }
    let names: Vec<String> = sqlx::query_scalar("SELECT name FROM meta WHERE name LIKE 'room%'")
        .fetch_all(database.pool())
        .await
        .unwrap();
    let expected: Vec<_> = (0..2 * SQLITE_CONNECTIONS).map(|it| format!("room {it}")).collect();
    assert_eq!(names, expected);
    database.close().await;
}

/// Clients that come back together after a start must not wait until each connection is made.
#[tokio::test]
async fn all_connections_are_open_before_requests_come() {
    on_each(async |database| {
        let config = DatabaseConfig { connections_max: 3, ..DatabaseConfig::default() };
        let warm = Database::open_with(database.name(), &config).await.unwrap();
        warm.open_connections().await;
        assert_eq!(warm.pool().connections.size(), 3);
        // None is held any longer.
        let pool = warm.pool();
        let (first, second, third) = tokio::join!(pool.acquire(), pool.acquire(), pool.acquire());
        drop((first.unwrap(), second.unwrap(), third.unwrap()));
        warm.close().await;
    })
    .await;
}

/// An account that has as many connections as it may leaves the others to everyone else.
#[tokio::test]
async fn connections_are_shared_between_accounts() {
    on_each(async |database| {
        let config = DatabaseConfig { connections_max: 4, ..DatabaseConfig::default() };
        let shared = Database::open_with(database.name(), &config).await.unwrap();
        let (work, pool) = (Work::unlimited(), shared.pool());
        let acquire = |account| scope(work.clone(), Payer::Account(account), pool.acquire());
        let first = acquire(1).await.unwrap();
        let second = acquire(1).await.unwrap();
        let mut third = pin!(acquire(1));
        assert!(third.as_mut().now_or_never().is_none(), "it has half of them");
        assert!(pool.turns.waiting().contains(&(Pool::Database, 1)));
        let other = acquire(2).await.unwrap();
        let one: i64 =
            sqlx::query_scalar("SELECT CAST(1 AS BIGINT)").fetch_one(pool).await.unwrap();
        assert_eq!(one, 1, "the hub");
        drop(first);
        let third = third.await.unwrap();
        drop((second, third, other));
        shared.close().await;
    })
    .await;
}
