//! The crate against real NATS servers, alone and three in a cluster, on free ports of 127.0.0.1.
//!
//! `TEST_NATS_SERVERS` names the programs, with colons between them; otherwise it is `nats-server` of the system. Every test
//! runs with each of them.

mod append;
mod beats;
mod cluster;
mod follow;
mod limits;
mod peers;
mod read;
mod settings;
mod support;
