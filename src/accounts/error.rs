//! What can go wrong with the account store. All of it is ours or the operator's, never the
//! caller's: a bad key is an answer, not an error.

use std::path::PathBuf;

use super::key::NoEntropy;

#[derive(Debug, thiserror::Error)]
pub enum AccountsError {
    #[error("no account database at {path}")]
    NoDatabase { path: PathBuf },
    #[error("cannot open the account database {path}")]
    Open { path: PathBuf, source: sqlx::Error },
    #[error("cannot create the account database {path}")]
    Create { path: PathBuf, source: std::io::Error },
    #[error(
        "the account database has version {found}, this program knows up to {known}: \
         it was written by a newer matchwire"
    )]
    NewerDatabase { found: i64, known: i64 },
    #[error("cannot bring the account database up to date")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    #[error("the keys in this account database were hashed with another pepper")]
    OtherPepper,
    #[error("{days} days are more than the {limit} that can be added at once")]
    TooManyDays { days: u32, limit: u32 },
    #[error("cannot make a key")]
    NoEntropy(#[from] NoEntropy),
    #[error("the account database failed")]
    Store(#[from] sqlx::Error),
}
