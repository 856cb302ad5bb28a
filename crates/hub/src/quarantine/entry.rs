//! An entry of the quarantine: a refused message and its details. Keys of this hub in it are
//! redacted.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use fanout::Micros;
use ingest::error::Refusal;
use serde::{Deserialize, Serialize};

use base::redact::redact_keys;

/// A message that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineEntry {
    /// When it was refused.
    pub at: Micros,
    pub source: String,
    /// The format of the message, by the names that recordings use.
    pub format: String,
    #[serde(rename = "place")]
    pub location: String,
    pub kind: String,
    pub reason: String,
    /// The message, if it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// The message in base64, if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Whether only the beginning is stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// Maximum characters of a reason, which may quote the message.
const REASON_MAX: usize = 1000;

impl QuarantineEntry {
    /// `bytes_max`: how much of the message is stored.
    pub(super) fn new(
        source: &str,
        format: &str,
        refusal: &Refusal,
        bytes_max: usize,
        at: Micros,
    ) -> Self {
        // A sender may have put a key in place of a line. Redacted before the cut, so that no part
        // of one remains.
        let harmless = redact_keys(&refusal.bytes);
        let prefix = &harmless[..harmless.len().min(bytes_max)];
        let (bytes, base64) = match std::str::from_utf8(prefix) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => (None, Some(BASE64_STANDARD.encode(prefix))),
        };
        Self {
            at,
            source: source.to_owned(),
            format: format.to_owned(),
            location: refusal.location.to_string(),
            kind: refusal.kind.as_str().to_owned(),
            reason: String::from_utf8_lossy(&redact_keys(refusal.reason.as_bytes()))
                .chars()
                .take(REASON_MAX)
                .collect(),
            bytes,
            base64,
            truncated: prefix.len() < refusal.length,
        }
    }

    /// The stored part of the message; `None` if the entry has been tampered with.
    #[must_use]
    pub fn message(&self) -> Option<Vec<u8>> {
        match (&self.bytes, &self.base64) {
            (Some(text), None) => Some(text.clone().into_bytes()),
            (None, Some(text)) => BASE64_STANDARD.decode(text).ok(),
            _ => None,
        }
    }
}
