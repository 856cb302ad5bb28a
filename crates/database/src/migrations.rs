//! Schema migrations, forward only.
//!
//! The files of `migrations/` are listed here one by one: this keeps sqlx's macros, which need a
//! database at build time, out of the build. Each version exists twice, for SQLite and PostgreSQL,
//! with the same meaning. Rows of which there may be many are converted in steps (`crates/database/migrations/steps/`), each in a transaction
//! of its own; a row says how far they are, and a migration that drops the old rows follows.

use sqlx::{
    AnyConnection, Executor, SqlSafeStr,
    migrate::{AppliedMigration, Migrate, MigrateError, Migration, MigrationType},
};
use tracing::info;

use super::DatabaseError;

macro_rules! both {
    ($($version:literal $name:literal: $file:literal),* $(,)?) => {
        [$((
            $version,
            $name,
            include_str!(concat!("../migrations/sqlite/", $file)),
            include_str!(concat!("../migrations/postgres/", $file)),
        )),*]
    };
}

/// Version, name, and the statements for SQLite and PostgreSQL. A released migration must not be
/// edited: its checksum is in every database.
const ALL: [(i64, &str, &str, &str); 26] = both![
    1 "accounts": "0001_accounts.sql",
    2 "feed keys": "0002_feed_keys.sql",
    3 "identity": "0003_identity.sql",
    4 "customers": "0004_customers.sql",
    5 "archive": "0005_archive.sql",
    6 "public ids": "0006_public_ids.sql",
    7 "mail budgets": "0007_mail_budgets.sql",
    8 "match details": "0008_match_details.sql",
    9 "list indexes": "0009_list_indexes.sql",
    10 "oauth": "0010_oauth.sql",
    11 "nodes": "0011_nodes.sql",
    12 "webhooks": "0012_webhooks.sql",
    13 "receipts": "0013_receipts.sql",
    14 "prices of webhooks": "0014_webhook_prices.sql",
    15 "named keys": "0015_named_keys.sql",
    16 "countries": "0016_countries.sql",
    17 "deductions": "0017_deductions.sql",
    18 "competitions": "0018_competitions.sql",
    19 "signs of leaders": "0019_leader_signs.sql",
    20 "states of sources": "0020_source_states.sql",
    21 "packed prices": "0021_packed_prices.sql",
    22 "time zones": "0022_time_zones.sql",
    23 "converted prices": "0023_converted_prices.sql",
    24 "deadlines of feed keys": "0024_feed_deadlines.sql",
    25 "packed documents": "0025_packed_documents.sql",
    26 "fewer indexes": "0026_fewer_indexes.sql",
];

/// The migration before which stored rows are converted, and a step of that, for SQLite and PostgreSQL.
const CONVERTED: i64 = 23;
const STEPS: [&str; 2] = [
    include_str!("../migrations/steps/0021_sqlite.sql"),
    include_str!("../migrations/steps/0021_postgres.sql"),
];
/// How the checksums of migration 21 began while it converted everything itself, for SQLite and PostgreSQL.
const CONVERTED_AT_ONCE: [[u8; 4]; 2] = [[0xc6, 0xfa, 0x30, 0xae], [0x6d, 0x27, 0xee, 0x4b]];
/// The matches up to which rows are converted.
const CONVERTED_UNTIL: &str = "SELECT until_id FROM archive_conversion";

/// sqlx's table of applied migrations; its tools expect this name.
const TABLE: &str = "_sqlx_migrations";

/// Two processes that start at the same time migrate a PostgreSQL database one after the other: the
/// second waits here until the first has committed. The number is arbitrary.
const ONE_AT_A_TIME: &str = "SELECT CAST(pg_advisory_xact_lock(7821563) AS TEXT)";

/// The statements of all migrations for PostgreSQL, in order.
#[cfg(any(test, feature = "testing"))]
pub(super) fn of_postgres() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().map(|(.., of_postgres)| of_postgres)
}

/// Migrates the database, within the caller's transaction. Returns whether it is up to date; else a step of a conversion
/// is done, and the next one needs another transaction.
///
/// Differs from sqlx's `Migrator::run` in two ways: a newer database is distinguished from one with
/// another history, and the future is `Send`.
///
/// # Errors
///
/// If the database is newer than this program, or if a statement fails.
pub(super) async fn run(
    connection: &mut AnyConnection,
    sqlite: bool,
) -> Result<bool, DatabaseError> {
    prepare(connection, sqlite).await?;
    apply_before(connection, sqlite, CONVERTED).await?;
    if !is_converted(connection, sqlite).await? {
        return Ok(false);
    }
    apply_before(connection, sqlite, i64::MAX).await?;
    Ok(true)
}

async fn prepare(connection: &mut AnyConnection, sqlite: bool) -> Result<(), DatabaseError> {
    if !sqlite {
        sqlx::query(ONE_AT_A_TIME).execute(&mut *connection).await?;
    }
    Ok(connection.ensure_migrations_table(TABLE).await?)
}

/// Applies the migrations before this version.
async fn apply_before(
    connection: &mut AnyConnection,
    sqlite: bool,
    version: i64,
) -> Result<(), DatabaseError> {
    let applied = connection.list_applied_migrations(TABLE).await?;
    refuse_newer(&applied)?;
    let all = ALL.map(|files| migration(files, sqlite)).into_iter();
    for migration in all.filter(|migration| migration.version < version) {
        match applied.iter().find(|applied| applied.version == migration.version) {
            Some(applied) if is_same(applied, &migration, sqlite) => {}
            Some(_) => return Err(MigrateError::VersionMismatch(migration.version).into()),
            None => {
                connection.apply(TABLE, &migration).await?;
            }
        }
    }
    Ok(())
}

/// Converts rows unless all are; returns whether all are now.
async fn is_converted(connection: &mut AnyConnection, sqlite: bool) -> Result<bool, DatabaseError> {
    let applied = connection.list_applied_migrations(TABLE).await?;
    let is_done =
        |it: &AppliedMigration| it.version == CONVERTED || was_converted_at_once(it, sqlite);
    if applied.iter().any(is_done) {
        return Ok(true);
    }
    connection.execute(STEPS[usize::from(!sqlite)]).await?;
    let until: i64 = sqlx::query_scalar(CONVERTED_UNTIL).fetch_one(connection).await?;
    Ok(until == i64::MAX)
}

/// Logs which rows of a conversion are left.
pub(super) async fn log_conversion(connection: &mut AnyConnection) -> Result<(), DatabaseError> {
    let left = "SELECT count(*) FROM archive_odds WHERE match_id > $1";
    let until: i64 = sqlx::query_scalar(CONVERTED_UNTIL).fetch_one(&mut *connection).await?;
    let left: i64 = sqlx::query_scalar(left).bind(until).fetch_one(connection).await?;
    info!(
        after_match = until,
        prices_left = left,
        "converting the prices of the archive; after a stop, the next start goes on from there"
    );
    Ok(())
}

/// Whether the database is up to date.
///
/// # Errors
///
/// If it is newer than this program.
pub(super) async fn are_applied(
    connection: &mut AnyConnection,
    sqlite: bool,
) -> Result<bool, DatabaseError> {
    // A new database lacks even this table.
    let Ok(applied) = connection.list_applied_migrations(TABLE).await else { return Ok(false) };
    refuse_newer(&applied)?;
    let is_applied = |migration: &Migration| {
        let same = |existing: &&AppliedMigration| existing.version == migration.version;
        applied.iter().find(same).is_some_and(|existing| is_same(existing, migration, sqlite))
    };
    Ok(ALL.iter().all(|files| is_applied(&migration(*files, sqlite))))
}

fn is_same(applied: &AppliedMigration, migration: &Migration, sqlite: bool) -> bool {
    applied.checksum == migration.checksum || was_converted_at_once(applied, sqlite)
}

fn was_converted_at_once(applied: &AppliedMigration, sqlite: bool) -> bool {
    let checksum = &CONVERTED_AT_ONCE[usize::from(!sqlite)];
    applied.version == 21 && applied.checksum.starts_with(checksum)
}

fn migration(
    (version, name, of_sqlite, of_postgres): (i64, &'static str, &'static str, &'static str),
    sqlite: bool,
) -> Migration {
    let sql = if sqlite { of_sqlite } else { of_postgres };
    Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
}

fn refuse_newer(applied: &[AppliedMigration]) -> Result<(), DatabaseError> {
    let (latest, ..) = ALL[ALL.len() - 1];
    match applied.iter().map(|applied| applied.version).max() {
        Some(found) if found > latest => Err(DatabaseError::Newer { found, latest }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, testing::on_empty};

    /// 400 matches with 15 prices each, of which each has three ticks.
    const OLD_ROWS: [&str; 3] = [
        "INSERT INTO archive_matches (id, sport, status, brief, record, seen_us, change)
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
         SELECT i, 'football', 'full_time', '{}', '{}', 1, 1 FROM n",
        "INSERT INTO archive_odds (id, match_id, bookmaker, market, outcome, opening, opening_us, price, price_us,
             received_us, is_open, is_offered, in_play, ticked_us, updated_us, public_id)
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
         SELECT i, i / 15, 'acme', 'match_winner', 'home', '2', 1, '3', 2, 2, 1, 1, 0, 2, 2, i FROM n",
        "INSERT INTO archive_ticks (odds, at_us, received_us, price)
         WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 17999)
         SELECT i / 3 + 1, i, i, '2' FROM n",
    ];

    async fn count(database: &Database, question: [&'static str; 2]) -> i64 {
        let question = question[usize::from(!database.is_sqlite())];
        sqlx::query_scalar(question).fetch_one(database.pool()).await.unwrap()
    }

    /// A process that ends in the middle of a conversion loses nothing, and repeats nothing.
    #[tokio::test]
    async fn interrupted_conversion_goes_on() {
        on_empty(async |name| {
            let database = Database::unmigrated(&name).await.unwrap();
            let sqlite = database.is_sqlite();
            let mut tx = database.begin().await.unwrap();
            prepare(&mut tx, sqlite).await.unwrap();
            apply_before(&mut tx, sqlite, 21).await.unwrap();
            for rows in OLD_ROWS {
                sqlx::query(rows).execute(&mut *tx).await.unwrap();
            }
            tx.commit().await.unwrap();

            let converted = ["SELECT CAST(coalesce(sum(total), 0) AS BIGINT) FROM archive_prices"; 2];
            let mut tx = database.begin().await.unwrap();
            assert!(!run(&mut tx, sqlite).await.unwrap(), "one step is not enough");
            tx.commit().await.unwrap();
            let first = count(&database, converted).await;
            assert!((2_000..3_000).contains(&first), "{first}");
            let mut tx = database.begin().await.unwrap();
            assert!(!run(&mut tx, sqlite).await.unwrap());
            log_conversion(&mut tx).await.unwrap();
            // The process is killed.
            drop(tx);
            assert_eq!(count(&database, converted).await, first);
            database.close().await;

            let database = Database::open_existing(&name).await.unwrap();
            assert_eq!(count(&database, converted).await, 6_000);
            let ticks = [
                "SELECT sum(json_array_length(CAST(ticks AS TEXT), '$.odds')) FROM archive_trails",
                "SELECT sum(json_array_length(CAST(convert_from(ticks, 'UTF8') AS json) -> 'odds')) FROM archive_trails",
            ];
            assert_eq!(count(&database, ticks).await, 18_000);
            assert_eq!(count(&database, ["SELECT count(*) FROM archive_price_ids"; 2]).await, 6_000);
            assert_eq!(count(&database, ["SELECT count(*) FROM archive_matches"; 2]).await, 400);
            let (_slot, mut connection) = database.pool().acquire().await.unwrap();
            assert!(are_applied(&mut connection, sqlite).await.unwrap());
            drop(connection);
            database.close().await;
        })
        .await;
    }

    #[tokio::test]
    async fn database_that_was_converted_at_once_is_migrated() {
        on_empty(async |name| {
            let database = Database::unmigrated(&name).await.unwrap();
            let sqlite = database.is_sqlite();
            let mut tx = database.begin().await.unwrap();
            prepare(&mut tx, sqlite).await.unwrap();
            apply_before(&mut tx, sqlite, 22).await.unwrap();
            for old in [
                "DROP TABLE archive_conversion",
                "DROP TABLE archive_ticks",
                "DROP TABLE archive_odds",
            ] {
                sqlx::query(old).execute(&mut *tx).await.unwrap();
            }
            let former = "UPDATE _sqlx_migrations SET checksum = $1 WHERE version = 21";
            let checksum = CONVERTED_AT_ONCE[usize::from(!sqlite)].to_vec();
            sqlx::query(former).bind(checksum).execute(&mut *tx).await.unwrap();
            assert!(run(&mut tx, sqlite).await.unwrap());
            assert!(are_applied(&mut tx, sqlite).await.unwrap());
            tx.commit().await.unwrap();
            database.close().await;
        })
        .await;
    }

    #[test]
    fn versions_increase_from_one() {
        let versions = ALL.map(|(version, ..)| version);
        assert_eq!(versions[0], 1);
        assert!(versions.is_sorted_by(|one, next| one < next), "{versions:?}");
    }

    #[test]
    fn every_migration_file_is_listed() {
        for database in ["sqlite", "postgres"] {
            let folder = format!("{}/migrations/{database}", env!("CARGO_MANIFEST_DIR"));
            assert_eq!(std::fs::read_dir(folder).unwrap().count(), ALL.len());
        }
    }
}
