//! SQLite specifics.

use std::{io, path::Path};

use sqlx::{AnyConnection, Connection, Executor, any::AnyConnectOptions};
use tempfile::{NamedTempFile, TempPath};

use super::DatabaseError;
use crate::percent;

/// Per connection. A writer waits this many milliseconds for another process's transaction. With
/// less than `FULL`, a power failure could undo a confirmed revocation or paid day. Pages that are written again before the
/// log has 64 MiB are written to the file once. The pages that an insertion of several rows changes are kept until its end, in
/// memory: in a file they were half as many bytes as the log has.
const PREPARATION: &str = "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON; \
                           PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
                           PRAGMA wal_autocheckpoint = 16000; PRAGMA temp_store = MEMORY";
/// Pages take at most 2 MiB, and the system's own cache has more of them.
pub(super) const CACHE: &str = "PRAGMA cache_size = -2048";
/// In a bulk write, whose rows are all over their indexes: a changed page for which there is no room is written, and read
/// for its next row, a dozen times in one transaction.
pub(super) const LARGE_CACHE: &str = "PRAGMA cache_size = -16384";

pub(super) async fn prepare(connection: &mut AnyConnection) -> sqlx::Result<()> {
    connection.execute(PREPARATION).await?;
    connection.execute(CACHE).await.map(|_| ())
}

/// Opens the file once. The error says what is wrong with it.
pub(super) async fn examine(path: &Path) -> sqlx::Result<()> {
    let mut connection = AnyConnection::connect_with(&options(path)?).await?;
    prepare(&mut connection).await?;
    connection.close().await
}

/// Whether a connection can return to the pool. If its disk is full, SQLite ends a transaction by
/// itself; sqlx still counts it as open, and refuses to begin another one on this connection. Such
/// a connection is closed, and the pool opens a new one on demand.
pub(super) async fn is_reusable(connection: &mut AnyConnection) -> sqlx::Result<bool> {
    if connection.is_in_transaction() {
        // A dropped transaction is rolled back by the next use of the connection.
        connection.ping().await?;
    }
    let is_reusable = !connection.is_in_transaction();
    if !is_reusable {
        base::log_limited!(
            warn,
            "closed a database connection whose transaction ended unexpectedly"
        );
    }
    Ok(is_reusable)
}

pub(super) fn options(path: &Path) -> sqlx::Result<AnyConnectOptions> {
    let path = std::path::absolute(path)?;
    let path = path.to_str().ok_or_else(|| {
        sqlx::Error::Configuration("the path of the database is not UTF-8".into())
    })?;
    super::quiet(&format!("sqlite:{}", percent::encode_path(path)))
}

/// Creates a new, empty database, unless another process is faster.
///
/// It is created under another name and renamed when it is ready, for two reasons. It is accessible
/// to its owner only from the start, whereas SQLite would make it readable by everybody. And it is
/// in WAL mode from the start: processes that switch a new file concurrently are refused, not
/// queued.
pub(super) async fn create(path: &Path) -> Result<(), DatabaseError> {
    let not_created = |source| DatabaseError::Create { name: path.into(), source };
    let new = empty_file_beside(path).map_err(not_created)?;
    let made = async {
        let mut connection = AnyConnection::connect_with(&options(&new)?).await?;
        prepare(&mut connection).await?;
        connection.close().await
    };
    made.await.map_err(|source| DatabaseError::Open { name: path.into(), source })?;
    match new.persist_noclobber(path) {
        Err(failed) if failed.error.kind() != io::ErrorKind::AlreadyExists => {
            Err(not_created(failed.error))
        }
        _ => Ok(()),
    }
}

/// Closed before SQLite opens it: closing a file drops this process's locks on it.
fn empty_file_beside(path: &Path) -> io::Result<TempPath> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let file = NamedTempFile::new_in(folder.unwrap_or_else(|| Path::new(".")))?;
    Ok(file.into_temp_path())
}

/// A number that changes when another connection, of this or any other process, has committed. It
/// is comparable only with earlier values of the same connection.
///
/// It reads no page of the file, takes no lock that a writer would meet, and costs some microseconds.
pub(super) async fn data_version(connection: &mut AnyConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar("PRAGMA data_version").fetch_one(connection).await
}
