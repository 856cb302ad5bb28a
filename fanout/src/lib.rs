//! Delivers publications to WebSocket clients.
//!
//! **In:** the host (the hub) numbers the changes of its channels and passes them to the [`Fanout`] as
//! [`Publication`]s, together with the connections that it has accepted, each with its [`Owner`] and
//! [`Permission`]. **Out:** frames on sockets, close codes, and the usage of each connection. When a
//! reader subscribes, resumes or has fallen behind, the crate requests a catch-up from its host
//! ([`catch_up::Host`]). The response comes through the same queue as publications, so that joining has
//! no race, and a slow reader costs a position instead of a queue.
//!
//! Each shard is one thread that owns its connections and its part of the index and nothing else. Shards
//! share only immutable bytes: a publication is encoded once for all readers.
//!
//! **It must not know** sports, bookmakers, accounts, prices of add-ons, HTTP, or the contents of the
//! documents that it carries: channels are names, permissions are bits, documents are opaque bytes. It
//! knows the commands and control frames of two dialects: the stream protocol ([`protocol`]) and that of
//! the older sockets ([`live`]). Three places still break the rule: [`live`] contains events and
//! bookmakers, and [`close`] and [`protocol`] name the add-ons of the host.
//!
//! The modules, in reading order: [`channel`] and [`encode`] (what is published), [`catch_up`] (what the
//! host must provide), [`protocol`], [`live`], [`close`] and [`permission`] (what clients see), [`topics`],
//! [`patterns`], [`outbox`], [`session`], [`batch`] and [`subscribers`] (plain state of one shard), and
//! then the threads and sockets around it.

pub mod channel;
pub mod encode;

pub mod catch_up;
pub mod close;
pub mod live;
pub mod permission;
pub mod protocol;

pub mod batch;
pub mod outbox;
pub mod patterns;
pub mod session;
pub mod subscribers;
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
