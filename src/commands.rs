//! The commands besides `serve` and `replay`. Most work on the database or the files of a hub, which may run meanwhile.
//!
//! - [`key`], [`feeds`] and [`quarantine`], [`mod@matches`], [`operator`], [`backup`]: on the database of a hub.
//! - [`import`]: recordings and tables of results into the archive.
//! - [`log`]: the files of the log. `cluster`: a cluster of hubs, by its NATS servers, with the feature `cluster`.
//! - [`record`]: a live source into a file.
//! - [`probe`]: whether a hub is ready. [`check`]: whether one can start. [`running`]: what one on this machine is asked.
//! - [`mcp`]: the bridge between a local host of MCP servers and a hub, which it knows only by its URL.
//! - `conformance`: grades a client of the stream protocol, with the feature `conformance`.

pub mod backup;
pub mod check;
#[cfg(feature = "cluster")]
pub mod cluster;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod feeds;
pub mod import;
pub mod key;
pub mod log;
pub mod matches;
pub mod mcp;
pub mod operator;
pub mod probe;
pub mod quarantine;
pub mod record;
pub mod running;
