//! What needs no process. `docs`, `layers` and `names` hold the documentation, the dependencies of crates and their names against
//! the rules; the rest is the hub as plain data: batches of facts in, frames out, without socket or clock.
//!
//! A reader that knows only the protocol page follows every channel from its first change. At any
//! moment, and from any position that it resumes at, it must hold what the hub's image shows.

mod absent;
#[path = "../agreement/mod.rs"]
mod agreement;
mod bench;
mod boards;
mod cases;
mod demo;
mod docs;
mod facts;
mod joining;
mod json;
mod layers;
mod live;
mod names;
mod properties;
mod rate_tiers;
mod recordings;
mod rendered;
mod resumes;
mod rules;
mod simulated;
mod sources;
mod truths;
