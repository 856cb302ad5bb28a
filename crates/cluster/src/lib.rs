//! The nodes of a cluster, and what they share over NATS.
//!
//! **In:** messages of the leader, made of encoded records; what a node says about itself, and how
//! many sockets accounts have there; snapshots as bytes.
//! **Out:** the same messages at every node, in one order and without a gap; who leads and how far all nodes are;
//! snapshots of other nodes; a hub that leads or follows. **Must not know** matches, connections of clients, HTTP, SQL,
//! or what records mean. Only [`node`] knows the hub.
//!
//! The log of the cluster is one JetStream stream. [`Stream::append`] names the sequence that the writer has seen last, and
//! the server refuses a message if another one follows it. So there is no lock apart from the log: a node that was
//! deposed notices at its next append, and everybody reads the same order.
//!
//! # Modules, in reading order
//!
//! - [`config`]: `[cluster]`, the settings. Without the feature `nats` there is little else, and no [`node`] ever runs: a program without
//!   clusters can read and refuse the settings.
//! - [`message`]: the messages of the log, as bytes.
//! - `connection`: the connection to NATS, and when it is interrupted.
//! - [`stream`]: the log: create, append, read, find, follow.
//! - [`node_log`]: the log of a node: what the stream commits, and the node's own copy.
//! - [`beat`]: what nodes say about themselves.
//! - [`socket_reports`]: how many sockets accounts have at each node.
//! - [`limit_reports`]: what was used of limits at each node.
//! - [`peer`]: requests between nodes, and the download of snapshots.
//! - `status`: what a node shows of the cluster and of itself.
//! - `running`: a node as its program sees it, until it stops.
//! - [`node`]: joins the cluster, and follows or leads.
//!
//! # Subjects of a cluster `C`
//!
//! | subject | what |
//! |---|---|
//! | `mw.C.log` | messages that are appended to the stream `MW_C` |
//! | `mw.C.out` | messages that the server has stored |
//! | `mw.C.beat.NODE` | beats of a node |
//! | `mw.C.sockets.NODE` | accounts with many sockets at a node |
//! | `mw.C.limits.NODE` | what was used of limits at a node |
//! | `mw.C.node.NODE` | requests to a node |
//!
//! # Queues and limits
//!
//! | queue | limit | beyond it |
//! |---|---|---|
//! | messages of a subscription | 1,024 | the client drops new ones; a follower reads them from the stream |
//! | messages for the reader of a [`Following`] | 256 | the follower waits |
//! | messages that are read at a time | 64 | they are requested later |
//! | parts of a snapshot in flight | 4 of 512 KiB | they are requested later |
//! | requests that a node answers at a time | 16 | they wait in the subscription |
//! | nodes whose beats and reports are kept | 256 | further ones are ignored |
//! | accounts in a report of a node | 4,000 with the most sockets | the others do not count at other nodes |
//! | uses of limits in a report | 8,000, the greatest; 4,096 of each limit | the others do not count at other nodes |
//!
//! Without a connection nothing is queued: appends and requests wait for at most `answer_ms`, or 2 s for peers, and
//! fail; beats and reports are not sent.

pub mod config;

#[cfg(feature = "nats")]
pub mod beat;
#[cfg(feature = "nats")]
mod connection;
#[cfg(feature = "nats")]
pub mod limit_reports;
#[cfg(feature = "nats")]
pub mod message;
#[cfg_attr(not(feature = "nats"), path = "no_node.rs")]
pub mod node;
#[cfg(feature = "nats")]
pub mod node_log;
#[cfg(feature = "nats")]
pub mod peer;
mod running;
#[cfg(feature = "nats")]
pub mod socket_reports;
mod status;
#[cfg(feature = "nats")]
pub mod stream;

#[cfg(feature = "nats")]
pub use self::{
    beat::{Beat, BeatSender, Beats, CLOCK_UNFIT_US, ReceivedBeat},
    connection::ClusterError,
    message::{Body, Formats, Message, MessageError, Part, Records},
    peer::{ChannelDigest, PeerError, PeerHandler, PeerReply, PeerRequest, Peers, SnapshotInfo},
    stream::{
        AppendError, EndReader, Following, Stream, StreamEnd, StreamEntry, StreamError,
        StreamState, Unavailable, WholeMessage,
    },
};
pub use self::{
    config::{ClusterConfig, ClusterConfigError, Role},
    running::{NodeOrder, NodeParts, RunningNode},
    status::{ClusterNode, ClusterState, NodeHealth, NodeState, Unready, ViewCluster},
};
