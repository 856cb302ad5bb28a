//! The client's half of the stream protocol (`docs/PROTOCOL.md`) as a state machine: frames and the time in; commands,
//! documents and events out.
//!
//! It has no socket, no clock and no thread, and knows no sports. The program that drives a [`Session`]
//!
//! 1. opens a connection and calls [`Session::connecting`];
//! 2. calls [`Session::receive`] for each message, and [`Session::tick`] when [`Session::deadline`] has passed;
//! 3. performs what [`Session::outputs`] returns after each call;
//! 4. calls [`Session::ended`] when the connection has ended, or when one of the calls returned an error, and connects again after
//!    the time that it returns.
//!
//! `examples/conformance_client.rs` is such a program. One that keeps documents itself, in a form of its own, reads each message
//! as a [`Frame`] and calls [`Session::track`] in place of [`Session::receive`]: the [`Effect`] says what to do with the
//! document. In reading order: `patch`, `frame`, `channel`, `session`, `request`.
//!
//! Invariant: a document is what the hub had at its epoch and sequence, or its [`Health`] says why it may not be.

mod channel;
mod frame;
mod patch;
mod request;
mod session;

pub use self::{
    channel::{Channel, Health, sha256},
    frame::{Frame, FrameLimits, Timestamps, UpdateOrder},
    patch::merge_patch,
    request::{covers, resume_from},
    session::{Effect, FINAL_CODES, FrameError, Millis, Output, Session},
};
