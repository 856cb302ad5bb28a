//! `matchwire log`: inspects, verifies and exports a hub's log.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use database::DatabaseName;

use crate::config::Flags;

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum LogCommand {
    /// Show where the log begins and ends, its size, its snapshots and its films.
    Status(LogArgs),
    /// Verify the log's integrity, and that its inputs reproduce its outputs.
    ///
    /// Exits with 1 if a check fails.
    Verify(LogArgs),
    /// Export the inputs as a recording that `replay` plays.
    ///
    /// It starts with the state of the oldest snapshot.
    Export(LogExportArgs),
}

/// The log to use. All commands can be used while the hub runs.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct LogArgs {
    /// The config file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The hub's database; the log is next to it [default: matchwire.db].
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
    /// The log to use.
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
