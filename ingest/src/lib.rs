//! Feed bytes in, facts out.
//!
//! **In:** bytes of live feeds, recordings and pushed lines. **Out:** batches of [`facts`], each with
//! all facts of one message; [`error::Refusal`]s for unusable input, with their place; the health of live
//! sources. **Must not know** channels, clients, sequences or the hub's documents.
//!
//! # From bytes to facts
//!
//! - [`decode`]: bytes to a provider's messages. Pure, one module per format. Any input yields a message
//!   or an error, never a panic.
//! - [`normalize`]: messages to facts: order, duplicates, corrections, stable ids. Pure, with the state
//!   that a feed needs between messages. The time of receipt is an argument, so a recorded day replays
//!   identically.
//!
//! [`normalize::Interpret`] joins both: one message in; facts, notices and signals (alive, complete,
//! late, recovering) out. Live sources, recordings and the retry of quarantined messages share it, so the
//! same bytes produce the same facts however they arrive. A connection knows no format and a format
//! no connection. The exception is the routing keys of the Unified Odds Feed, which a file does not
//! contain. Formats that need several messages or files at once, such as Wyscout with its companions,
//! have no interpreter and are read only by [`recording`].
//!
//! # Where bytes come from
//!
//! - [`source`]: connections to live feeds: authentication, subscription, resume, quotas, back-off. The
//!   only I/O other than recordings. A message is interpreted as soon as it is read.
//! - [`recording`]: files. Format and compression are recognised from the content. Streams are read line
//!   by line, so memory does not grow with their length. Pacing is the player's task.
//!
//! # Limits
//!
//! | resource | limit | beyond it |
//! |---|---|---|
//! | one message of a live source | 16 MiB; 32 MiB for polls; 8 MiB for the Unified Odds Feed | refused, or the poll fails; if changes were lost, the source requests an image |
//! | one message of a recording | `feeds.message_bytes_max` | refused as `too_long` |

pub mod recording;
pub mod source;

pub mod decode;
pub mod normalize;

pub mod error;
