//! Matchwire: real feeds come in, are normalised, and fan out to WebSocket channels.
//!
//! The crate in which sports and channels meet. Read it in this order: [`hub`] applies facts and
//! numbers what they change, [`wire`] and [`dialect`] give that its public shape.

pub mod document;

pub mod hub;

pub mod channels;
pub mod wire;

pub mod catch_up;
pub mod dialect;
