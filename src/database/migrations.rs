//! The tables of the database, version by version. They only ever go forward.
//!
//! The files of `migrations/` are named here one by one: that keeps sqlx's macros, which want
//! a database at build time for their other half, out of the build. Each version is there twice, for
//! SQLite and for PostgreSQL, and means the same in both.

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

/// Version, name, statements for SQLite and for PostgreSQL. A released one is never edited: its
/// checksum is in every database.
const ALL: [(i64, &str, &str, &str); 9] = both![
    1 "accounts": "0001_accounts.sql",
    2 "feed keys": "0002_feed_keys.sql",
    3 "identity": "0003_identity.sql",
    4 "customers": "0004_customers.sql",
    5 "archive": "0005_archive.sql",
    6 "public ids": "0006_public_ids.sql",
    7 "mail budgets": "0007_mail_budgets.sql",
    8 "match details": "0008_match_details.sql",
    9 "list indexes": "0009_list_indexes.sql",
];

/// Where sqlx writes down what was applied; its own tools look for it under this name.
const TABLE: &str = "_sqlx_migrations";

/// Two programs that start at the same moment bring a PostgreSQL database up to date one after the
/// other: the second waits here until the first has committed. The number is ours alone.
const ONE_AT_A_TIME: &str = "SELECT CAST(pg_advisory_xact_lock(7821563) AS TEXT)";

/// Brings the database up to date, within the transaction of the caller.
///
/// This is sqlx's `Migrator::run` but for two things: a database that is ahead of us is told from
/// one whose history differs, and the future is `Send`.
///
/// # Errors
///
/// If the database is ahead of this program, or if a statement fails.
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
/// If it is ahead of this program.
pub(super) async fn are_applied(
    connection: &mut AnyConnection,
    sqlite: bool,
) -> Result<bool, DatabaseError> {
    // A new database has not even the table.
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
    fn versions_rise_from_one() {
        let versions = ALL.map(|(version, ..)| version);
        assert_eq!(versions[0], 1);
        assert!(versions.is_sorted_by(|one, next| one < next), "{versions:?}");
    }

    #[test]
    fn every_file_is_named() {
        for database in ["sqlite", "postgres"] {
            let folder = format!("{}/migrations/{database}", env!("CARGO_MANIFEST_DIR"));
            assert_eq!(std::fs::read_dir(folder).unwrap().count(), ALL.len());
        }
    }
}
