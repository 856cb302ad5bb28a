//! What can go wrong with the account store. All of it is ours or the operator's, never the
//! caller's: a bad key is an answer, not an error. The exceptions say so.

use super::key::NoEntropy;
use crate::database::DatabaseError;

#[derive(Debug, thiserror::Error)]
pub enum AccountsError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("the keys in this account database were hashed with another pepper")]
    OtherPepper,
    #[error("{days} days are more than the {limit} that can be added at once")]
    TooManyDays { days: u32, limit: u32 },
    /// The caller may try again in a moment.
    #[error("too many passwords are being hashed")]
    Busy,
    #[error("a password could not be hashed")]
    Hashing,
    /// The account that the caller speaks of is blocked, deleted or not active.
    #[error("the account is not there any more")]
    Gone,
    #[error("there is no such account")]
    UnknownAccount,
    #[error("cannot make a key")]
    NoEntropy(#[from] NoEntropy),
    #[error("the account database failed")]
    Store(#[from] sqlx::Error),
}

impl AccountsError {
    /// Whether the database could not be asked, as opposed to a question that it refused: it is away, or
    /// all connections are in use. The same may succeed later.
    #[must_use]
    pub fn is_away(&self) -> bool {
        let (Self::Store(error) | Self::Database(DatabaseError::Store(error))) = self else {
            return false;
        };
        match error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => true,
            sqlx::Error::Database(error) => error.code().is_some_and(|code| is_going(&code)),
            _ => false,
        }
    }
}

/// PostgreSQL's words for a server that stops, starts or takes no more connections: the classes 08
/// (connection) and 57P (operator's intervention), and 53300 (too many connections). SQLite's 5 and 6
/// say that another program has it locked.
fn is_going(code: &str) -> bool {
    code.starts_with("08") || code.starts_with("57P") || matches!(code, "53300" | "5" | "6")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_is_away_is_told_from_one_that_refuses() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        assert!(AccountsError::Store(sqlx::Error::Io(refused)).is_away());
        assert!(AccountsError::Store(sqlx::Error::PoolTimedOut).is_away());
        assert!(!AccountsError::Store(sqlx::Error::RowNotFound).is_away());
        assert!(!AccountsError::OtherPepper.is_away());
        for (code, going) in [("57P01", true), ("53300", true), ("08006", true), ("23505", false)] {
            assert_eq!(is_going(code), going, "{code}");
        }
    }
}
