//! Feed bytes in, events out.
//!
//! A source yields bytes; a decoder turns them into that provider's own messages (pure); a
//! normaliser turns those into our [`event`]s (pure: order, duplicates, corrections, stable ids).
//! What cannot be used becomes a [`error::Refusal`] with its place, and the feed goes on.
//!
//! This crate knows sports and providers. It does not know channels, clients, sequences or JSON
//! documents of ours, and it has no clock of its own: it is told the time.

pub mod recording;
pub mod source;

pub mod decode;
pub mod normalize;

pub mod event;
pub mod football;
pub mod tennis;

pub mod simulator;

pub mod error;
