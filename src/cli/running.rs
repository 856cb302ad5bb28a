//! `matchwire check`, `reload` and `connections`: the settings of a hub, and a hub that runs on this machine.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use database::DatabaseName;

use super::OutputArgs;
use crate::{config::Flags, control::ControlRequest, table::Format};

/// The hub that runs on this machine, by its database.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct RunningHubArgs {
    /// The config file [default: the one that MATCHWIRE_CONFIG names].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The database of the hub [default: matchwire.db].
    #[arg(long, value_name = "FILE|URL")]
    pub db: Option<DatabaseName>,
}

impl RunningHubArgs {
    /// The settings among the arguments.
    #[must_use]
    pub fn flags(&self) -> Flags {
        Flags { db: self.db.clone(), ..Flags::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ConnectionsCommand {
    /// List open connections of clients, the slowest first, at most 100.
    ///
    /// Prints a header line, then one line per connection, separated by tabs: its id, as `conn` of its `hello`, the number
    /// of its account, its address, its protocol, the seconds for which it is open, its channels, its patterns, the bytes
    /// that wait for it and for how many milliseconds, and the messages it has been sent.
    List(ConnectionsListArgs),
    /// Close a connection. Its client connects again at once.
    Close(ConnectionsCloseArgs),
}

impl ConnectionsCommand {
    /// The hub to ask, what, and how to print the answer.
    #[must_use]
    pub fn request(&self) -> (&RunningHubArgs, ControlRequest, Format) {
        match self {
            Self::List(args) => {
                let request = ControlRequest::Connections { account: args.account };
                (&args.hub, request, args.output.format())
            }
            Self::Close(args) => {
                (&args.hub, ControlRequest::Close { id: args.id.clone() }, Format::Text)
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ConnectionsListArgs {
    #[command(flatten)]
    pub hub: RunningHubArgs,
    /// Only those of the account with this number.
    #[arg(long, value_name = "NUMBER")]
    pub account: Option<i64>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ConnectionsCloseArgs {
    #[command(flatten)]
    pub hub: RunningHubArgs,
    /// The id, as `list` shows it.
    #[arg(value_name = "ID")]
    pub id: String,
}
