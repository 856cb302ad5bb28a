//! Live feeds: connections in, inputs of the hub out.
//!
//! **In:** the settings of live sources, and the bytes that their providers send. **Out:** [`Input`](hub::pipeline::Input)s
//! for the writer of the hub, and the positions from which sources go on after a restart. **Must not know** clients, channels
//! or sequences, nor what a message means: an [`Interpret`](ingest::normalize::Interpret) does.
//!
//! A source connects, authenticates, subscribes, resumes, and reconnects by itself after a disconnect. It interprets a message
//! as soon as it is read, and sends what comes of it through its [`SourceSender`]. Each is a task that [`follow`] creates from
//! its [settings](config), and ends when the hub does. A connection knows no format and a format no connection. The exception
//! is the routing keys of the Unified Odds Feed, which a file does not contain.
//!
//! # Limits
//!
//! | queue or resource | limit | beyond it |
//! |---|---|---|
//! | one message | 16 MiB; 32 MiB for polls; 8 MiB for the Unified Odds Feed | refused, or the poll fails; if changes were lost, the source requests an image |
//! | inputs waiting for the writer | `hub.inbox_batches`, of all sources | the source stops reading; its provider waits or merges |
//! | positions that wait for the log and the database | 64 | the next one is written |

pub mod config;
pub mod follow;
pub mod positions;

pub mod betfair;
pub mod poll;
#[cfg(feature = "amqp")]
pub mod sportradar_uof;
pub mod upstream;
pub mod websocket;

mod lines;
mod lookup;
mod reconnect;
mod sender;
mod signal_capture;

pub use self::sender::{RawMessage, Resume, SourceSender};
