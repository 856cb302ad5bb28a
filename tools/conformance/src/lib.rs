//! The conformance kit: the corpus of frame scripts, and a hub's side that plays it to any client and grades it.
//!
//! **In:** the scripts in `scripts/`, whose format is in `README.md`. **Out:** for each case whether a client passed, and why not.
//! It knows the stream protocol only, no sports and nothing of the hub.
//!
//! - [`script`]: a script as data, and the corpus that the program contains.
//! - [`answer`]: the subscriptions that a script expects, and the hub's answers to a client's commands. No I/O.
//! - [`report`]: what a client reports, compared with what the script expects. No I/O.
//! - `connection`: one WebSocket to a client, as whole messages or in small pieces.
//! - [`play`]: plays a script over a real socket.
//! - [`client`]: a client that is started as a program, or by hand.

pub mod answer;
pub mod client;
mod connection;
pub mod play;
pub mod report;
pub mod script;
