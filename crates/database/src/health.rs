//! Monitors whether the database accepts writes: a full disk, a lock held by another process, an
//! unreachable server.
//!
//! A task writes one small row periodically, and more often while that fails. The result is the
//! metric `matchwire_database_writable`. Nothing else depends on it: each request tries for itself,
//! so recovery is immediate.

use std::{error::Error, time::Duration};

use metrics::gauge;
use tokio::{sync::watch, time};
use tracing::{info, warn};

use super::{Database, STATEMENT_MAX, within};

const METRIC: &str = "matchwire_database_writable";
/// The row of `meta` that is written.
const ROW: &str = "written_at";
/// The interval between attempts while writes fail.
const RETRY_AFTER: Duration = Duration::from_millis(500);

impl Database {
    /// Writes at this interval and updates the metric until stopped. `clock`: the time that is
    /// written.
    pub async fn watch_writes(
        self,
        every: Duration,
        clock: fn() -> i64,
        mut stopped: watch::Receiver<bool>,
    ) {
        let mut is_writable = true;
        loop {
            let written = tokio::select! {
                written = within(STATEMENT_MAX, self.write_row(clock())) => written,
                _ = stopped.wait_for(|stopped| *stopped) => return,
            };
            match &written {
                Ok(()) if !is_writable => info!("the database accepts writes again"),
                Err(error) if is_writable => {
                    warn!(error = error as &dyn Error, "the database does not accept writes");
                }
                _ => {}
            }
            is_writable = written.is_ok();
            gauge!(METRIC).set(f64::from(u8::from(is_writable)));
            let pause = if is_writable { every } else { RETRY_AFTER.min(every) };
            tokio::select! {
                () = time::sleep(pause) => {}
                _ = stopped.wait_for(|stopped| *stopped) => return,
            }
        }
    }

    async fn write_row(&self, now: i64) -> sqlx::Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query(
            "INSERT INTO meta (name, value) VALUES ($1, $2) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )
        .bind(ROW)
        .bind(now.to_string())
        .execute(&mut *tx)
        .await?;
        tx.commit().await
    }
}

/// Whether the database is unavailable, as opposed to refusing a statement: it is unreachable, locked or damaged, its disk
/// is full, or all connections are in use. A retry may succeed, of a damaged one after the operator has replaced it.
#[must_use]
pub fn is_unavailable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        // A proxy without a server behind it ends a connection that is being made.
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::BeginFailed
        | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| is_passing(&code)),
        _ => false,
    }
}

/// PostgreSQL has codes of five characters. A server that stops, starts, is read-only or lacks
/// space reports the classes 08 (connection), 53 (resources), 57P (operator intervention) and 58
/// (system), and 25006; XX001 and XX002 are damage. SQLite has numbers of up to four digits, whose lowest byte is the kind: 5
/// and 6 are locks, 8 is read-only, 10 an I/O error, 11 a damaged file, 13 a full disk, 14 a file that cannot be
/// opened, 26 no database.
fn is_passing(code: &str) -> bool {
    if code.len() == 5 {
        return ["25006", "XX001", "XX002"].contains(&code)
            || ["08", "53", "57P", "58"].iter().any(|it| code.starts_with(it));
    }
    code.parse::<u32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 8 | 10 | 11 | 13 | 14 | 26))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unavailable_database_is_distinguished_from_a_refused_query() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        assert!(is_unavailable(&sqlx::Error::Io(refused)));
        assert!(is_unavailable(&sqlx::Error::PoolTimedOut));
        let ended = "unexpected response from SSLRequest: 0x00";
        assert!(is_unavailable(&sqlx::Error::Protocol(ended.to_owned())));
        assert!(!is_unavailable(&sqlx::Error::RowNotFound));
        for (code, passing) in [
            ("57P01", true),
            ("53300", true),
            ("53100", true),
            ("08006", true),
            ("25006", true),
            ("23505", false),
            ("5", true),
            ("517", true),
            ("13", true),
            ("778", true),
            ("11", true),
            ("267", true),
            ("26", true),
            ("XX001", true),
            ("1", false),
            ("2067", false),
        ] {
            assert_eq!(is_passing(code), passing, "{code}");
        }
    }
}
