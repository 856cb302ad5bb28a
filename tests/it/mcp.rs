//! The MCP servers from the outside: JSON-RPC over POST, as clients of both generations of the protocol
//! send it.
//!
//! The client here knows the specification and nothing of the server. What a tool answers is compared with
//! REST, its schemas with what it answers, and its bounds with the bytes that arrive.

mod access;
mod arguments;
mod client;
mod listening;
mod lists;
mod names;
mod questions;
pub(crate) mod recordings;
mod resources;
mod results;
mod saturday;
mod stage;
mod transport;
mod waiting;
