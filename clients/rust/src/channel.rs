//! One document, its position, and how far it can be trusted.

use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::session::Millis;

/// For a document that does not say: two beats and a margin.
const STALE_AFTER_MS: Millis = 15_000;

/// A channel that is followed.
#[derive(Debug, Clone, Default)]
pub struct Channel {
    /// The epoch of the position; empty before the first image.
    pub epoch: String,
    /// The sequence of the position.
    pub seq: u64,
    /// The document; null before the first image, and if the driver keeps documents itself.
    pub data: Value,
    /// The code with which the hub refused or ended the channel.
    pub refused: Option<String>,
    /// When a frame or a beat last proved that the document is the newest.
    pub(crate) heard: Millis,
    /// Whether this connection has confirmed the position.
    pub(crate) synced: bool,
    /// An image was announced, for this reason.
    pub(crate) image_due: Option<String>,
    /// The highest sequence of this epoch whose events were handed out.
    pub(crate) delivered: u64,
    /// What an earlier beat showed to be on its way, and by when it has to be here.
    pub(crate) owed: Option<(u64, Millis)>,
    /// Requests in a row for what is missing, without a result.
    pub(crate) doubts: u32,
}

/// Whether a document can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// There is no document yet.
    Waiting,
    /// There is a connection, and the position is not confirmed yet.
    CatchingUp,
    /// It is what the hub has, and its source is healthy.
    Live,
    /// Its source is late, as the hub sees it.
    Late,
    /// Its source is down, or in a state that this version does not know.
    Down,
    /// Its source is connecting, or not complete yet.
    Recovering,
    /// Nothing has confirmed it for too long.
    Stale,
    /// There is no connection.
    Lost,
    /// It is final.
    Ended,
    /// The hub does not, or no longer, offer the channel.
    Refused,
}

impl Health {
    /// Its name, as the clients in other languages spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::CatchingUp => "catching_up",
            Self::Live => "live",
            Self::Late => "late",
            Self::Down => "down",
            Self::Recovering => "recovering",
            Self::Stale => "stale",
            Self::Lost => "lost",
            Self::Ended => "ended",
            Self::Refused => "refused",
        }
    }
}

impl Channel {
    /// The hash of the document, as the hub computes it for `hash`.
    #[must_use]
    pub fn sha256(&self) -> String {
        sha256(&self.data)
    }

    /// Where to resume from; `None` without a document, or if resuming has failed twice.
    pub(crate) fn position(&self) -> Option<(&str, u64)> {
        (!self.epoch.is_empty() && self.doubts < 2).then_some((self.epoch.as_str(), self.seq))
    }

    pub(crate) fn stale_after(&self) -> Millis {
        self.data["stale_after_ms"].as_u64().unwrap_or(STALE_AFTER_MS)
    }

    /// The health at a moment at which the connection is open, or not.
    pub(crate) fn judge(&self, now: Millis, is_open: bool, hub_is_stale: bool) -> Health {
        if self.refused.is_some() {
            return Health::Refused;
        }
        if self.epoch.is_empty() {
            return Health::Waiting;
        }
        if !is_open {
            return Health::Lost;
        }
        if !self.synced {
            return Health::CatchingUp;
        }
        if self.data["life"] == "ended" {
            return Health::Ended;
        }
        if hub_is_stale || now >= self.heard + self.stale_after() {
            return Health::Stale;
        }
        match self.data["feed"].as_str() {
            Some("live") | None => Health::Live,
            Some("late") => Health::Late,
            Some("recovering") => Health::Recovering,
            Some(_) => Health::Down,
        }
    }
}

/// The SHA-256 of a value in the canonical form of RFC 8785, in lower-case hexadecimal digits.
#[must_use]
pub fn sha256(value: &Value) -> String {
    // Only a number that JSON cannot have, or a failing writer, would be an error.
    let canonical = serde_json_canonicalizer::to_vec(value).unwrap_or_default();
    HEXLOWER.encode(&Sha256::digest(canonical))
}
