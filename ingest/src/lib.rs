//! Feed bytes in, events out.
//!
//! A source yields bytes; a decoder parses them into the provider's messages (pure); a normaliser
//! converts those to [`event`]s (pure: order, duplicates, corrections, stable ids). Unusable input
//! becomes a [`error::Refusal`] with its place, and the feed continues.
//!
//! This crate knows sports and providers. It does not know channels, clients, sequences or the hub's
//! JSON documents. It has no clock: the time is an argument.

pub mod recording;
pub mod source;

pub mod decode;
pub mod normalize;

pub mod event;
pub mod football;
pub mod tennis;

pub mod simulator;

pub mod error;
