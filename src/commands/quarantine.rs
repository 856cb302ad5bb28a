//! `matchwire feeds quarantine`: lists, exports and retries refused messages.
//!
//! It works on the files next to the database, whether a hub is running or not.

mod retry;

use std::{
    io::{self, Write},
    path::PathBuf,
};

use crate::{
    cli::feeds::{QuarantineArgs, QuarantineCommand, QuarantineListArgs},
    table::{Table, time},
};
use hub::quarantine::{self, QuarantinedLine};

#[derive(Debug, thiserror::Error)]
pub enum QuarantineError {
    #[error("the quarantine {} cannot be read or written", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("cannot write the output")]
    Output(#[from] io::Error),
    #[error("cannot push to {url}")]
    Unreachable { url: String, source: reqwest::Error },
    #[error("{url} answered {status}: {detail}")]
    NotTaken { url: String, status: u16, detail: String },
    #[error(transparent)]
    Trust(#[from] base::tls::TrustError),
}

/// Runs the command, and writes its output.
///
/// # Errors
///
/// If the quarantine cannot be read or written, the hub refuses the push, or the output cannot be
/// written.
pub async fn run(command: QuarantineCommand, out: &mut impl Write) -> Result<(), QuarantineError> {
    match command {
        QuarantineCommand::List(args) => list(&args, out),
        QuarantineCommand::Export(which) => {
            for line in read(&which)? {
                serde_json::to_writer(&mut *out, &line.entry).map_err(io::Error::from)?;
                out.write_all(b"\n")?;
            }
            Ok(())
        }
        QuarantineCommand::Retry(args) => retry::run(args, out).await,
    }
}

/// A `+` follows the number of bytes if only the beginning is stored.
fn list(args: &QuarantineListArgs, out: &mut impl Write) -> Result<(), QuarantineError> {
    let all = read(&args.which)?;
    let columns = ["refused", "kind", "source", "format", "place", "bytes", "reason"];
    let mut table = Table::new(out, args.output.format(), columns)?;
    for QuarantinedLine { entry, .. } in &all {
        let bytes = entry.message().map_or(0, |message| message.len());
        let more = if entry.truncated { "+" } else { "" };
        table.row([
            Some(&time(entry.at)),
            Some(&entry.kind),
            Some(&entry.source),
            Some(&entry.format),
            Some(&entry.location),
            Some(&format!("{bytes}{more}")),
            Some(&entry.reason),
        ])?;
    }
    Ok(())
}

fn read(which: &QuarantineArgs) -> Result<Vec<QuarantinedLine>, QuarantineError> {
    let path = quarantine::path_beside(which.db.beside());
    let mut all =
        quarantine::read(&path).map_err(|source| QuarantineError::Unreadable { path, source })?;
    all.retain(|QuarantinedLine { entry, .. }| {
        which.source.as_ref().is_none_or(|source| entry.source == *source)
            && which.kind.as_ref().is_none_or(|kind| entry.kind == *kind)
    });
    Ok(all)
}
