//! Delivers publications to WebSocket clients.
//!
//! **In:** publications with their numbers, accepted sockets with an owner and a permission, and answers
//! of the host to catch-up requests. **Out:** frames, close codes, and the usage of each connection.
//! **Must not know** sports, bookmakers, accounts, HTTP, or the content of documents: channels are names,
//! permissions are bits, documents are JSON that only a client's pick looks into.
//!
//! # Threads
//!
//! A shard is one thread with a loop over the readiness of its sockets (`mio`). There is no task per
//! connection: an idle connection is one `Subscriber` in a slab and nothing else, and delivery iterates
//! over an array and writes, instead of waking one task per follower. Shards share only immutable bytes.
//! A shard that panics closes its mailbox, so that no sender waits for it.
//!
//! One turn (`Shard::turn`) processes everything that is ready:
//!
//! 1. Input of sockets. All connections read through one shared buffer, and `Inbound` finds complete
//!    messages, so the crate stores nothing for a client that has not sent half a message. `Session`
//!    executes commands.
//! 2. The mailbox: publications, answers of the host, new connections, closes.
//! 3. The batch of publications (`Subscribers::broadcast`), queued frames, and requests to the host.
//! 4. Every 20 ms, timers of a part of the connections: beats, idle and stalled clients. Each connection
//!    is visited once per beat interval, so that beats do not come in bursts. Slow and closing
//!    connections are visited ten times per second.
//!
//! # Delivery
//!
//! `Topics` maps each channel at each rate to a flat array of subscribers. A `Batch` groups publications
//! by topic. Each subscriber collects the *set* of its topics in the batch. Subscribers with the same set
//! get the same bytes, which are combined once (`Batch::frames_of`), in one write. `Publication::frame`
//! encodes a frame when the first shard needs it.
//!
//! **Views.** Followers of a topic with the same `View`, a part of the documents (`pick`) or compressed frames or both, have
//! an array of their own and share one encoding. What a change leaves of a pick may be nothing: then their topic passes it
//! over, and a beat says so. A `pick` is the only reason to look into a frame of the host.
//!
//! **Order.** Frames of a set keep the order of publication across channels. A batch is delivered before
//! the next one begins, and before any answer, command or change of a channel. A client that keeps up
//! therefore sees the writer's order.
//!
//! **Slow clients.** A client that does not keep up, or is new to a topic, gets frames one by one into
//! its `Outbox`, limited in bytes and age. If there is no room, the subscription leaves the index and
//! stores a position. When half of the outbox is free again, it requests the host to catch up
//! (`HostRequest::CatchUp`). The answer comes through the mailbox, so it contains every earlier
//! publication and precedes every later one. Joining and resuming use the same mechanism.
//!
//! **Suspensions.** An urgent publication overtakes queued frames: the queued frames of its channel are
//! removed, and one merged answer of the host goes first. Queued beats would then be wrong and are
//! dropped.
//!
//! **Patterns** are indexed by segment. A new channel of k segments visits fewer than 2^(k+1) nodes,
//! however many patterns exist. Equal patterns of several sockets share one path.
//!
//! **Kernel buffers** are small, because data in them can no longer be merged or overtaken. A TLS session
//! accepts new bytes only after its last records were sent, for the same reason.
//!
//! # Inspection
//!
//! The host's operator can list the slowest connections and have one explained (`inspect`). What happened is in the `Journal`
//! of each shard, which costs a connection nothing but a few counts.
//!
//! # Dialects
//!
//! The crate contains the commands and frames of one protocol, that of `/stream/v1`. A host with another one
//! implements `HostDialect`: it reads commands and renders every frame except those with data. Its
//! subscriptions are groups of channels, with the same positions, outboxes and catch-ups. Reasons to close a
//! socket that only the host has are `HostClose` values.
//!
//! # Limits
//!
//! | queue or resource | limit | beyond it |
//! |---|---|---|
//! | publications for a shard | `fanout.mailbox` | all its subscriptions catch up (`Subscribers::mark_all_behind`) |
//! | bytes and age in an outbox | `fanout.outbox_bytes`, `fanout.outbox_age_ms` | the subscription falls behind; commands wait |
//! | new connections per turn, open requests to the host, half of them of one payer | 64 to 1,024, by the length of the last turn | they wait |
//! | requests that the host answers later, such as while a document is not due | 1,024 | they count as open ones |
//! | requests of one connection | 1 | its commands wait |
//! | time of commands of one payer, and of all, in a turn; reads per connection | 250 µs, 1 ms; 2 of 8 KiB | the next turn |
//! | processor time of commands, and of the host for them, of one payer | `Limits::work` | its commands wait |
//! | requests of one payer that are open and dear: patterns, lists, hashes, and all of sockets with picks | 4 | they wait |
//! | bytes and fragments of one command | `server.command_bytes_max`, `server.command_fragments_max` | closed with 4413 |
//! | channels and patterns per socket | `fanout.channels_max`, `fanout.patterns_max` | refused, or left out of a pattern |
//! | channels of all connections of one payer | `fanout.channels_max_per_account` | the same |
//! | different picks per socket | 8 | refused |
//! | recent frames that are kept as rendered for views | 64, 4 MiB | the oldest go |
//! | bytes of a batch, and per write | `fanout.write_bytes_max` | the next batch or turn |
//! | kernel buffers | `fanout.send_buffer_bytes`, `fanout.unsent_bytes` | frames stay in the outbox |
//! | catch-up requests of one payer, over all shards | `fanout.catch_up_burst`, `fanout.catch_ups_per_second` | its commands wait |
//! | inspections of the host's operator that are open; connections that one looks at in a turn | 8; 1,024 | refused; the next turn |
//! | remembered things: rare ones of a shard; of each of at most 4 watched connections | 4,096; 256 | the oldest go |
//! | silence and stalls | `fanout.idle_ms`, `fanout.stall_ms` | closed |
//!
//! If a source can wait, it waits for room in the mailboxes before it overflows them
//! (`Fanout::wait_for_room`), or until all readers have nearly everything (`Fanout::wait_for_readers`).

pub mod channel;
pub mod encode;

pub mod catch_up;
pub mod close;
pub mod dialect;
pub mod permission;
pub mod probe;
pub mod protocol;
pub mod replay;

pub mod batch;
pub mod journal;
pub mod members;
pub mod outbox;
pub mod patterns;
pub mod session;
pub mod subscribers;
pub mod topics;
pub mod view;

pub mod inspect;
pub mod socket;

mod clock;
mod connection;
mod deflate;
mod inbound;
mod mailbox;
mod pick;
mod quota;
mod resume;
mod shard;
mod sync;

mod fanout;

pub use crate::{
    channel::{ChannelId, Epoch, Pattern, Position, Publication, Seq},
    deflate::DEFLATE_WINDOW_BITS,
    dialect::Dialect,
    fanout::{Change, Expiry, Fanout, Guard, Limits, Owner, StartError},
    permission::{Classes, Permission},
    shard::Drain,
};

/// Microseconds since the Unix epoch, UTC.
pub type Micros = i64;
