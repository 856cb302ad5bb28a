//! The tables of the account database, version by version. They only ever go forward.
//!
//! The files of `migrations/` are named here one by one: that keeps sqlx's macros, which want
//! a database at build time for their other half, out of the build.

use sqlx::{
    SqlSafeStr, SqliteConnection,
    migrate::{AppliedMigration, Migrate, MigrateError, Migration, MigrationType},
};

use super::AccountsError;

/// Version, name, statements. A released one is never edited: its checksum is in every database.
const ALL: [(i64, &str, &str); 3] = [
    (1, "accounts", include_str!("../../migrations/0001_accounts.sql")),
    (2, "feed keys", include_str!("../../migrations/0002_feed_keys.sql")),
    (3, "identity", include_str!("../../migrations/0003_identity.sql")),
];

/// Where sqlx writes down what was applied; its own tools look for it under this name.
const TABLE: &str = "_sqlx_migrations";

/// Brings the database up to date, within the transaction of the caller.
///
/// This is sqlx's `Migrator::run` but for two things: a database that is ahead of us is told from
/// one whose history differs, and the future is `Send`.
///
/// # Errors
///
/// If the database is ahead of this program, or if a statement fails.
pub(super) async fn run(connection: &mut SqliteConnection) -> Result<(), AccountsError> {
    connection.ensure_migrations_table(TABLE).await?;
    let applied = connection.list_applied_migrations(TABLE).await?;
    refuse_newer(&applied)?;
    for migration in ALL.map(migration) {
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

fn migration((version, name, sql): (i64, &'static str, &'static str)) -> Migration {
    Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
}

fn refuse_newer(applied: &[AppliedMigration]) -> Result<(), AccountsError> {
    let (known, ..) = ALL[ALL.len() - 1];
    match applied.iter().map(|applied| applied.version).max() {
        Some(found) if found > known => Err(AccountsError::NewerDatabase { found, known }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_count_up_from_one() {
        for (place, (version, ..)) in (1..).zip(ALL) {
            assert_eq!(version, place);
        }
    }

    #[test]
    fn every_file_is_named() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), ALL.len());
    }
}
