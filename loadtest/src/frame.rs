//! A frame of the hub as a client reads it: all fields of all types, most of them absent. Documents
//! and patches stay text until they are needed.

use std::{borrow::Cow, collections::HashMap};

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug, Deserialize)]
pub(crate) struct Frame<'a> {
    #[serde(rename = "type")]
    pub(crate) kind: &'a str,
    /// Channel names need no escapes, so they can be borrowed.
    pub(crate) ch: Option<&'a str>,
    pub(crate) epoch: Option<&'a str>,
    pub(crate) seq: Option<u64>,
    pub(crate) prev: Option<u64>,
    pub(crate) at: Option<Timestamps>,
    /// How many channels a pattern covers.
    pub(crate) channels: Option<u64>,
    /// Whether everything since the given position follows.
    pub(crate) resumed: Option<bool>,
    /// The number of changes merged into this one.
    pub(crate) n: Option<u64>,
    #[serde(borrow)]
    pub(crate) data: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) patch: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) events: Vec<Event<'a>>,
    #[serde(borrow, default)]
    pub(crate) heads: HashMap<&'a str, u64>,
    pub(crate) code: Option<&'a str>,
    pub(crate) why: Option<&'a str>,
}

/// When a change was due, and when it was published.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Timestamps {
    pub(crate) src: Option<u64>,
    #[serde(rename = "pub")]
    pub(crate) published: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Event<'a> {
    #[serde(borrow)]
    pub(crate) eid: Cow<'a, str>,
}
