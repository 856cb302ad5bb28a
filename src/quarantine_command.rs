//! `matchwire feeds quarantine`: what could not be used, listed, printed and tried again.
//!
//! It works on the files beside the database, whether a hub is running on them or not.

mod retry;

use std::{
    io::{self, Write},
    path::PathBuf,
};

use crate::{
    cli::feeds::{QuarantineArgs, QuarantineCommand},
    feeds_command::time,
    quarantine::{self, Kept, Line},
};

#[derive(Debug, thiserror::Error)]
pub enum QuarantineError {
    #[error("the quarantine {} cannot be read or written", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("cannot write the answer")]
    Output(#[from] io::Error),
    #[error("cannot push to {url}")]
    Unreachable { url: String, source: reqwest::Error },
    #[error("{url} answered {status}: {detail}")]
    NotTaken { url: String, status: u16, detail: String },
    #[error(transparent)]
    Trust(#[from] ingest::source::tls::TrustError),
}

/// Does what the command says, and writes its answer.
///
/// # Errors
///
/// If the quarantine cannot be used, the hub does not take what is pushed, or nobody reads the
/// answer.
pub async fn run(command: QuarantineCommand, out: &mut impl Write) -> Result<(), QuarantineError> {
    match command {
        QuarantineCommand::List(which) => {
            writeln!(out, "REFUSED\tKIND\tSOURCE\tFORMAT\tPLACE\tBYTES\tREASON")?;
            for kept in read(&which)? {
                writeln!(out, "{}", row(&kept.line))?;
            }
            Ok(())
        }
        QuarantineCommand::Export(which) => {
            for kept in read(&which)? {
                serde_json::to_writer(&mut *out, &kept.line).map_err(io::Error::from)?;
                out.write_all(b"\n")?;
            }
            Ok(())
        }
        QuarantineCommand::Retry(args) => retry::run(args, out).await,
    }
}

fn read(which: &QuarantineArgs) -> Result<Vec<Kept>, QuarantineError> {
    let path = quarantine::path_beside(which.db.beside());
    let mut all =
        quarantine::read(&path).map_err(|source| QuarantineError::Unreadable { path, source })?;
    all.retain(|Kept { line, .. }| {
        which.source.as_ref().is_none_or(|source| line.source == *source)
            && which.kind.as_ref().is_none_or(|kind| line.kind == *kind)
    });
    Ok(all)
}

/// Tab-separated; a `+` behind the bytes where only the beginning was kept.
fn row(line: &Line) -> String {
    let bytes = line.message().map_or(0, |message| message.len());
    let more = if line.truncated { "+" } else { "" };
    let Line { at, source, format, place, kind, reason, .. } = line;
    let reason = reason.replace(char::is_control, " ");
    format!("{}\t{kind}\t{source}\t{format}\t{place}\t{bytes}{more}\t{reason}", time(*at))
}
