//! Publications in, frames out.
//!
//! The host (the hub) numbers what happens on its channels and hands [`Publication`]s to the
//! [`Fanout`]; shards write them to the sockets that follow those channels. Each shard is one thread
//! that owns its connections, its part of the index and nothing else; what shards share is immutable
//! bytes. Whoever joins or has fallen behind is served by the host from its image and its tail
//! ([`catch_up`]), through the same queue as publications, so that a join has no race and a slow
//! reader costs a position, not a queue.
//!
//! This crate knows channels and the words of two dialects: the stream protocol, and that of the older
//! sockets. It does not know sports, and the documents it carries are opaque bytes to it.

pub mod channel;
pub mod encode;

pub mod catch_up;
pub mod close;
pub mod live;
pub mod permission;
pub mod protocol;

pub mod subscribers;
pub mod outbox;
pub mod patterns;
pub mod batch;
pub mod session;
pub mod topics;

pub mod socket;

mod clock;
mod connection;
mod inbound;
mod mailbox;
mod shard;
mod sync;

mod fanout;

pub use crate::{
    channel::{ChannelId, Epoch, Pattern, Position, Publication, Seq},
    fanout::{Change, Dialect, Fanout, Guard, Limits, Owner, StartError},
    permission::{Classes, Permission},
};

/// Microseconds since the Unix epoch, UTC.
pub type Micros = i64;
