//! Errors of the account store. Unless noted, they are faults of the service or its operator, not
//! of the caller: a bad key is an answer, not an error.

use super::key::EntropyError;
use database::{self, DatabaseError};

#[derive(Debug, thiserror::Error)]
pub enum AccountsError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("the keys in this account database were hashed with another pepper")]
    OtherPepper,
    #[error("cannot add {days} days at once: the limit is {limit}")]
    TooManyDays { days: u32, limit: u32 },
    /// The caller may retry in a moment.
    #[error("too many passwords are being hashed")]
    Busy,
    #[error("cannot hash a password")]
    Hashing,
    /// The account is blocked, deleted or not active.
    #[error("the account no longer exists")]
    Gone,
    #[error("there is no such account")]
    UnknownAccount,
    /// The key works, from other addresses.
    #[error("the key does not work from this address")]
    WrongAddress,
    #[error("the account has {limit} named keys, as many as it may have")]
    TooManyKeys { limit: u32 },
    #[error("cannot create a key")]
    EntropyError(#[from] EntropyError),
    #[error("the account database failed")]
    Store(#[from] sqlx::Error),
}

pub(crate) type Result<T, E = AccountsError> = std::result::Result<T, E>;

impl AccountsError {
    /// Whether the database is temporarily unavailable, as opposed to refusing the query; see
    /// [`database::is_unavailable`]. A retry may succeed.
    #[must_use]
    pub fn is_away(&self) -> bool {
        match self {
            Self::Store(error) | Self::Database(DatabaseError::Store(error)) => {
                database::is_unavailable(error)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unavailable_database_is_distinguished_from_a_refused_query() {
        assert!(AccountsError::Store(sqlx::Error::PoolTimedOut).is_away());
        assert!(!AccountsError::Store(sqlx::Error::RowNotFound).is_away());
        assert!(!AccountsError::OtherPepper.is_away());
    }
}
