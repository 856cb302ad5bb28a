//! The hub as plain data: batches of facts in, frames out, no socket and no clock of its own.
//!
//! A reader that knows nothing but the protocol page follows every channel from its first change,
//! and must hold, at any moment and from wherever it resumes, what the hub says is the image.

mod bench;
mod boards;
mod facts;
mod joining;
mod json;
mod live;
mod properties;
mod rate_tiers;
mod recordings;
mod resumes;
mod rules;
mod simulated;
mod sources;
