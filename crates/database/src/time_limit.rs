//! Limits on the time of statements.
//!
//! The pool limits only how long a connection takes to be got. If the machine of PostgreSQL vanishes without a word, a
//! statement that is under way would wait for its answer for ever: sqlx sets neither keepalives nor a time limit.

use std::{io, time::Duration};

use tokio::time::timeout;

/// How long one statement of a background task may take, including the wait for a connection.
///
/// None of our statements takes that long, even on a busy server. TCP gives up much later: after a quarter of an hour if
/// data is unacknowledged, otherwise never. The limit is also longer than the 15 s after which
/// PostgreSQL ends a transaction that is idle: a `COMMIT` that was cut off and has not arrived by then takes no effect
/// later, when the transaction is repeated.
pub const STATEMENT_MAX: Duration = Duration::from_secs(30);

/// The same for a statement that deletes old data, which may concern many rows.
pub const DELETION_MAX: Duration = Duration::from_secs(5 * 60);

/// Does this within the time limit, or fails as if the connection had timed out.
///
/// Work that is cut off may still take effect: a `COMMIT` may have been sent. Its connection returns to the pool only once
/// it has answered.
///
/// # Errors
///
/// As the work, and [`io::ErrorKind::TimedOut`] when the time is over.
pub async fn within<T>(
    limit: Duration,
    work: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    // On the heap, so that the futures of callers do not contain it twice.
    let done = timeout(limit, Box::pin(work)).await;
    done.unwrap_or_else(|_| Err(sqlx::Error::Io(io::ErrorKind::TimedOut.into())))
}

#[cfg(test)]
mod tests {
    use std::future;

    use super::*;
    use crate::is_unavailable;

    #[tokio::test]
    async fn work_without_an_end_fails_as_if_the_database_were_away() {
        let limit = Duration::from_millis(1);
        let cut_off = within(limit, future::pending::<sqlx::Result<()>>()).await;
        let error = cut_off.unwrap_err();
        assert!(is_unavailable(&error), "{error}");
        let done = within(STATEMENT_MAX, future::ready(Ok::<_, sqlx::Error>(7))).await;
        assert_eq!(done.unwrap(), 7);
    }
}
