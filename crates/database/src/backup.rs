//! Backup of a database that is in use.
//!
//! The copy contains what was committed at one moment. It is created under a temporary name,
//! readable by its owner only, and renamed once it is complete and on disk; an existing file is
//! never overwritten. Nothing is migrated: a database of an older or newer version is copied as it
//! is.

use std::{
    ffi::OsString,
    fs::File,
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use reqwest::Url;
use sqlx::{AnyConnection, Connection, Executor};
use tempfile::{NamedTempFile, TempPath};

use super::{DatabaseName, PostgresUrl, sqlite};
use base::{feature::MissingFeature, percent};

/// PostgreSQL's backup program.
const PG_DUMP: &str = "pg_dump";

/// URL parameters, and the environment variables through which PostgreSQL's programs accept the
/// same.
const PARAMETERS: [(&str, &str); 10] = [
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("port", "PGPORT"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("dbname", "PGDATABASE"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
];

/// Why a backup failed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("no database at {0}")]
    Missing(DatabaseName),
    #[error(transparent)]
    MissingFeature(#[from] MissingFeature),
    #[error("{} already exists and is not overwritten", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot copy the database {name}")]
    Copy { name: DatabaseName, source: sqlx::Error },
    #[error(
        "pg_dump is not in PATH: it comes with PostgreSQL's client programs, on Debian \
         `apt-get install postgresql-client`"
    )]
    NoPgDump,
    #[error("cannot run pg_dump")]
    PgDump(#[source] io::Error),
    #[error("pg_dump failed: {0}")]
    Dump(String),
    #[error("the database URL is invalid")]
    Url,
}

/// Copies a database into a new file: an SQLite database, or a PostgreSQL archive for `pg_restore`.
/// Returns the file's size in bytes. Blocks while `pg_dump` runs.
///
/// # Errors
///
/// If there is no such database, if the file exists already, or if the copy fails; no new file is
/// left behind then.
pub async fn back_up(name: &DatabaseName, to: &Path) -> Result<u64, BackupError> {
    name.check_feature()?;
    if to.exists() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    let unwritten = |source| BackupError::Write { path: to.to_owned(), source };
    let new = new_file_beside(to).map_err(unwritten)?;
    match name {
        DatabaseName::File(path) => {
            if !path.exists() {
                return Err(BackupError::Missing(name.clone()));
            }
            let copied = copy_sqlite(path, &new).await;
            copied.map_err(|source| BackupError::Copy { name: name.clone(), source })?;
        }
        DatabaseName::Postgres(url) => dump(pg_dump(url, &new)?)?,
    }
    let length = keep(new, to).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => BackupError::Exists(to.to_owned()),
        _ => unwritten(error),
    })?;
    Ok(length)
}

/// An empty file, accessible to its owner only.
fn new_file_beside(path: &Path) -> io::Result<TempPath> {
    Ok(NamedTempFile::new_in(folder(path))?.into_temp_path())
}

fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or_else(|| Path::new("."))
}

/// Renames the file once it is complete and on disk.
fn keep(new: TempPath, to: &Path) -> io::Result<u64> {
    let file = File::open(&new)?;
    file.sync_all()?;
    let length = file.metadata()?.len();
    new.persist_noclobber(to).map_err(|failed| failed.error)?;
    File::open(folder(to))?.sync_all()?;
    Ok(length)
}

/// Copies within one read transaction, which blocks no writer and sees no later commits.
async fn copy_sqlite(from: &Path, to: &Path) -> sqlx::Result<()> {
    let mut connection = AnyConnection::connect_with(&sqlite::options(from)?).await?;
    connection.execute("PRAGMA busy_timeout = 5000").await?;
    let to = to
        .to_str()
        .ok_or_else(|| sqlx::Error::Configuration("the path of the copy is not UTF-8".into()))?;
    sqlx::query("VACUUM INTO $1").bind(to).execute(&mut connection).await?;
    connection.close().await
}

/// The connection is passed by environment: every user of the machine can read arguments.
fn pg_dump(url: &PostgresUrl, to: &Path) -> Result<Command, BackupError> {
    let mut command = Command::new(PG_DUMP);
    command
        .args(["--format=custom", "--no-password", "--file"])
        .arg(to)
        .envs(variables(url)?)
        .stdin(Stdio::null());
    Ok(command)
}

fn dump(mut command: Command) -> Result<(), BackupError> {
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => BackupError::NoPgDump,
        _ => BackupError::PgDump(error),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(BackupError::Dump(said.trim().replace('\n', "; ")))
}

/// The URL as environment variables. Missing parts come from the environment, as usual.
fn variables(url: &PostgresUrl) -> Result<Vec<(&'static str, OsString)>, BackupError> {
    let url = Url::parse(url.expose()).map_err(|_| BackupError::Url)?;
    let host = url.host_str().map(|host| host.trim_matches(['[', ']']));
    let port = url.port().map(|port| port.to_string());
    let parts = [
        ("PGHOST", host),
        ("PGPORT", port.as_deref()),
        ("PGUSER", Some(url.username())),
        ("PGPASSWORD", url.password()),
        ("PGDATABASE", Some(url.path().trim_start_matches('/'))),
    ];
    let mut variables = Vec::new();
    for (name, text) in parts {
        let Some(text) = text.filter(|text| !text.is_empty()) else { continue };
        variables.push((name, percent::decode(text).ok_or(BackupError::Url)?.into()));
    }
    for (parameter, text) in url.query_pairs() {
        if let Some((_, name)) = PARAMETERS.iter().find(|(listed, _)| *listed == parameter) {
            variables.push((name, text.into_owned().into()));
        }
    }
    Ok(variables)
}

#[cfg(test)]
mod tests;
