//! Feed bytes in, facts out.
//!
//! **In:** bytes of live feeds, recordings and pushed lines. **Out:** batches of [`facts`], each with
//! all facts of one message; [`error::Refusal`]s for unusable input, with their place. **Must not know** connections,
//! clocks, channels, clients, sequences or the hub's documents.
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
//! same bytes produce the same facts however they arrive. Formats that need several messages or files at once, such as
//! Wyscout with its companions, have no interpreter and are read only by [`recording`].
//!
//! # Recordings
//!
//! [`recording`] reads files, the only I/O here. Format and compression are recognised from the content. Streams are read line
//! by line, so memory does not grow with their length. Pacing is the player's task.
//!
//! # Limits
//!
//! | resource | limit | beyond it |
//! |---|---|---|
//! | one message of a recording | `feeds.message_bytes_max` | refused as `too_long` |

pub mod recording;

pub mod decode;
pub mod normalize;

pub mod error;
