//! `matchwire cluster`: sets up and inspects a cluster of hubs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum ClusterCommand {
    /// Create the stream of the cluster's log on the NATS servers.
    ///
    /// Does nothing if it exists. Exits with 1 if it exists with other settings.
    Init(ClusterArgs),
    /// Show the nodes, which one leads, and the stream.
    ///
    /// Exits with 0 if all is well, with 1 if no node could take over, a server lacks the stream, or the command fails, and
    /// with 2 if nothing leads or the log takes no records.
    Status(ClusterStatusArgs),
    /// Let another node lead.
    HandOver(ClusterHandOverArgs),
    /// Send the clients of a node to other nodes, and let it take no more.
    ///
    /// The node is not ready from now on, and closes its sockets 2 s later. It keeps following or leading: `hand-over`
    /// moves the lead. A restart ends the drain.
    Drain(ClusterDrainArgs),
    /// Compare the documents of all channels between the nodes.
    ///
    /// Documents are compared where nodes are at the same position. Exits with 1 if documents differ, a node does not
    /// answer, or a channel cannot be compared.
    Verify(ClusterArgs),
}

/// The cluster to use.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ClusterArgs {
    /// The config file of a node.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ClusterStatusArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ClusterHandOverArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// The node that should lead [default: the first that takes it].
    #[arg(value_name = "NODE", default_value = "")]
    pub to: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ClusterDrainArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// The node to drain.
    #[arg(value_name = "NODE")]
    pub node: String,
    /// Let the node take clients again.
    #[arg(long)]
    pub end: bool,
}

impl ClusterCommand {
    /// The cluster to use.
    #[must_use]
    pub fn cluster(&self) -> &ClusterArgs {
        match self {
            Self::Init(args) | Self::Verify(args) => args,
            Self::Status(args) => &args.cluster,
            Self::HandOver(args) => &args.cluster,
            Self::Drain(args) => &args.cluster,
        }
    }
}
