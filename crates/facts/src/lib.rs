//! The vocabulary that every part of the hub speaks.
//!
//! **In and out:** nothing; these are plain values, with their text (serde) and binary (borsh) forms.
//! **Must not know** where facts come from or what is made of them: feeds, channels, clients, SQL, HTTP. Only the
//! profile of a sport says what feeds call it and how it is sold. It does no I/O and has no clock.
//!
//! - [`event`]: every fact that a feed can report. A fact is **absolute** ("the score is 2-1"), so applying one
//!   twice changes nothing. Providers' field names do not appear here. [`event::SportProfile`]: the sports.
//! - [`mod@line`]: facts as lines of `matchwire-events`, Matchwire's own format. `ingest` reads them.
//! - [`football`] and [`tennis`]: the rules of periods, minutes, momentum and points, as pure functions.
//! - [`market`]: the names of markets and outcomes, and every word for them that clients use.
//! - [`decimal`]: comparisons of prices and sizes.
//! - [`merge_patch()`]: JSON merge patches, as documents are updated with.
//! - [`codec`]: the binary form of values for which `borsh` has no derive. Logs and states are written with it.
//!
//! # Ids
//!
//! An id is a 52-bit digest of the provider's key ([`event::Id::derive`]). The hub replaces it by a public
//! number.
//!
//! # Features
//!
//! - `schema`: the types implement `schemars::JsonSchema`. Only the crate `schema` needs it, whose tests write
//!   `docs/events.schema.json`.

pub mod event;
pub mod line;

pub mod football;
pub mod tennis;

pub mod market;

pub mod codec;
pub mod decimal;
mod merge_patch;

pub use merge_patch::merge_patch;
