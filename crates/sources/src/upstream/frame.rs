//! The fields of a frame that concern the protocol. The interpreter decodes the documents.

use std::collections::HashMap;

use serde::Deserialize;

/// The protocol fields of any frame. Other fields are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FrameHeader {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) id: Option<u64>,
    pub(super) ch: Option<String>,
    pub(super) epoch: Option<String>,
    pub(super) seq: Option<u64>,
    pub(super) prev: Option<u64>,
    pub(super) resumed: Option<bool>,
    /// In `subscribed`: how many channels the pattern covers.
    pub(super) channels: Option<usize>,
    pub(super) why: Option<String>,
    pub(super) heads: HashMap<String, u64>,
    pub(super) more: bool,
    pub(super) code: Option<String>,
    pub(super) beat_ms: Option<u64>,
    pub(super) limits: SessionLimits,
    pub(super) reconnect_after_ms: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SessionLimits {
    pub(super) command_bytes: Option<usize>,
    pub(super) from_bytes: Option<usize>,
}
