//! Live peers that misbehave, and what sources send of it to the hub.

mod betfair;
mod live;
#[path = "../../../../tests/ports/mod.rs"]
mod ports;
mod support;
