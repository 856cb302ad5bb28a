//! Schema migrations, forward only.
//!
//! The files of `migrations/` are listed here one by one: this keeps sqlx's macros, which need a
//! database at build time, out of the build. Each version exists twice, for SQLite and PostgreSQL,
//! with the same meaning.

use sqlx::{
    AnyConnection, SqlSafeStr,
    migrate::{AppliedMigration, Migrate, MigrateError, Migration, MigrationType},
};

use super::DatabaseError;

macro_rules! both {
    ($($version:literal $name:literal: $file:literal),* $(,)?) => {
        [$((
            $version,
            $name,
            include_str!(concat!("../../migrations/sqlite/", $file)),
            include_str!(concat!("../../migrations/postgres/", $file)),
        )),*]
    };
}

/// Version, name, and the statements for SQLite and PostgreSQL. A released migration must not be
/// edited: its checksum is in every database.
const ALL: [(i64, &str, &str, &str); 22] = both![
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
    25 "packed documents": "0025_packed_documents.sql",
];

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

/// Migrates the database, within the caller's transaction.
///
/// Differs from sqlx's `Migrator::run` in two ways: a newer database is distinguished from one with
/// another history, and the future is `Send`.
///
/// # Errors
///
/// If the database is newer than this program, or if a statement fails.
pub(super) async fn run(connection: &mut AnyConnection, sqlite: bool) -> Result<(), DatabaseError> {
    if !sqlite {
        sqlx::query(ONE_AT_A_TIME).execute(&mut *connection).await?;
    }
    connection.ensure_migrations_table(TABLE).await?;
    let applied = connection.list_applied_migrations(TABLE).await?;
    refuse_newer(&applied)?;
    for migration in ALL.map(|of| migration(of, sqlite)) {
        match applied.iter().find(|applied| applied.version == migration.version) {
            Some(applied) if applied.checksum == migration.checksum => {}
            Some(_) => return Err(MigrateError::VersionMismatch(migration.version).into()),
            None => {
                connection.apply(TABLE, &migration).await?;
            }
        }
    }
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
        let same = |own: &&AppliedMigration| own.version == migration.version;
        applied.iter().find(same).is_some_and(|own| own.checksum == migration.checksum)
    };
    Ok(ALL.iter().all(|of| is_applied(&migration(*of, sqlite))))
}

fn migration(
    (version, name, of_sqlite, of_postgres): (i64, &'static str, &'static str, &'static str),
    sqlite: bool,
) -> Migration {
    let sql = if sqlite { of_sqlite } else { of_postgres };
    Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
}

fn refuse_newer(applied: &[AppliedMigration]) -> Result<(), DatabaseError> {
    let (known, ..) = ALL[ALL.len() - 1];
    match applied.iter().map(|applied| applied.version).max() {
        Some(found) if found > known => Err(DatabaseError::Newer { found, known }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_increase_from_one() {
        let versions = ALL.map(|(version, ..)| version);
        assert_eq!(versions[0], 1);
        assert!(versions.is_sorted_by(|one, next| one < next), "{versions:?}");
    }

    #[test]
    fn every_migration_file_is_listed() {
        for database in ["sqlite", "postgres"] {
            let folder = format!("{}/../migrations/{database}", env!("CARGO_MANIFEST_DIR"));
            assert_eq!(std::fs::read_dir(folder).unwrap().count(), ALL.len());
        }
    }
}
