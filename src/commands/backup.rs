//! `matchwire backup`: copies the database, with or without a running hub.

use std::io::{self, Write};

use crate::cli::BackupArgs;
use database::{BackupError, back_up};

#[derive(Debug, thiserror::Error)]
pub enum BackupCommandError {
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error("cannot write the output")]
    Output(#[from] io::Error),
}

/// Makes the copy, and prints its size.
///
/// # Errors
///
/// If the copy fails, or if the output cannot be written.
pub async fn run(args: &BackupArgs, out: &mut impl Write) -> Result<(), BackupCommandError> {
    let bytes = back_up(&args.db, &args.to).await?;
    Ok(writeln!(out, "{} bytes in {}", bytes, args.to.display())?)
}
