//! Matchwire: real feeds come in, are normalised, and fan out to WebSocket channels.
//!
//! The crate in which sports and channels meet. Read it in this order: [`pipeline`] is the data path
//! on one page; [`hub`] applies facts and numbers what they change; [`channels`] names who is
//! addressed; [`wire`] and [`dialect`] give it its public shape; [`catch_up`] brings readers forward.
//! Beside the path stand [`accounts`], [`config`] and the command line.

pub mod cli;
pub mod config;
pub mod key_command;

pub mod pipeline;

pub mod hub;

pub mod channels;
pub mod document;
pub mod wire;

pub mod catch_up;
pub mod dialect;

pub mod accounts;
pub mod app;
pub mod clock;
pub mod demo;
pub mod http;
pub mod quarantine;
pub mod revocation;
pub mod sources;
pub mod telemetry;
