//! A line of the quarantine: a message that could not be used, with all that is known of it. Keys of ours in
//! it are made useless.

use fanout::Micros;
use ingest::{base64, error::Refusal};
use serde::{Deserialize, Serialize};

use crate::accounts::redact_keys;

/// A message that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineEntry {
    /// When it was refused.
    pub at: Micros,
    pub source: String,
    /// What the source's messages are written in, by the names that recordings have for it.
    #[serde(default)]
    pub format: String,
    pub place: String,
    pub kind: String,
    pub reason: String,
    /// The message, where it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// The message, where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Only the beginning of it was kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// Characters of a reason: it may quote what it speaks of.
const REASON_MAX: usize = 1000;

impl QuarantineEntry {
    /// `bytes_max`: of the message, of which no more is kept.
    pub(super) fn new(
        source: &str,
        format: &str,
        refusal: &Refusal,
        bytes_max: usize,
        at: Micros,
    ) -> Self {
        // Somebody may have sent a key where a line was expected; before the cut, so that no half of one
        // is left.
        let harmless = redact_keys(&refusal.bytes);
        let kept = &harmless[..harmless.len().min(bytes_max)];
        let (bytes, base64) = match std::str::from_utf8(kept) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => (None, Some(base64::encode(kept))),
        };
        Self {
            at,
            source: source.to_owned(),
            format: format.to_owned(),
            place: refusal.place.to_string(),
            kind: refusal.kind.as_str().to_owned(),
            reason: String::from_utf8_lossy(&redact_keys(refusal.reason.as_bytes()))
                .chars()
                .take(REASON_MAX)
                .collect(),
            bytes,
            base64,
            truncated: kept.len() < refusal.length,
        }
    }

    /// The message, as much of it as was kept; `None` where the line has been tampered with.
    #[must_use]
    pub fn message(&self) -> Option<Vec<u8>> {
        match (&self.bytes, &self.base64) {
            (Some(text), None) => Some(text.clone().into_bytes()),
            (None, Some(text)) => base64::decode(text),
            _ => None,
        }
    }
}
