//! `matchwire log`: the log of a hub.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use database::DatabaseName;

use crate::config::Flags;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum LogCommand {
    /// Show where the log begins and ends, its size, its snapshots and its films.
    Status(LogArgs),
    /// Check that the log is whole, and that its inputs give its outputs again.
    ///
    /// Exits with 1 if something is wrong.
    Verify(LogArgs),
    /// Write what came in as a recording that `replay` plays.
    ///
    /// It begins with the matches as they were at the oldest snapshot.
    Export(LogExportArgs),
}

/// Which log. All commands work beside a running hub.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct LogArgs {
    /// The config file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The database beside which the log is [default: matchwire.db].
    #[arg(long, value_name = "FILE|URL")]
    pub db: Option<DatabaseName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct LogExportArgs {
    #[command(flatten)]
    pub log: LogArgs,
    /// Only this match, by its id.
    #[arg(long = "match", value_name = "ID")]
    pub match_id: Option<u64>,
    /// The file to write; it must not exist.
    #[arg(value_name = "FILE")]
    pub to: PathBuf,
}

impl LogCommand {
    /// Which log.
    #[must_use]
    pub fn log(&self) -> &LogArgs {
        match self {
            Self::Status(args) | Self::Verify(args) => args,
            Self::Export(args) => &args.log,
        }
    }
}

impl LogArgs {
    /// The settings among the arguments.
    #[must_use]
    pub fn flags(&self) -> Flags {
        Flags { db: self.db.clone(), ..Flags::default() }
    }
}
