//! `matchwire backup`: a copy of the database, beside a running hub or without one.

use std::io::{self, Write};

use crate::{
    cli::BackupArgs,
    database::{BackupError, back_up},
};

#[derive(Debug, thiserror::Error)]
pub enum BackupCommandError {
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error("cannot write the output")]
    Output(#[from] io::Error),
}

/// Makes the copy, and says how long it is.
///
/// # Errors
///
/// If there is no copy, or if nobody reads the answer.
pub async fn run(args: &BackupArgs, out: &mut impl Write) -> Result<(), BackupCommandError> {
    let bytes = back_up(&args.db, &args.to).await?;
    Ok(writeln!(out, "{} bytes in {}", bytes, args.to.display())?)
}
