//! What feeds send, from damaged files to live peers that misbehave, and the facts that come of it.

mod bad_input;
mod betfair;
mod live;
#[path = "../../../tests/ports/mod.rs"]
mod ports;
mod recordings;
mod support;
