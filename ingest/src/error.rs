//! What can go wrong with a feed, and where.
//!
//! Nothing here ends a feed: a message that cannot be used is refused, counted by its kind, and the
//! next one is read.

use std::{fmt, sync::Arc};

/// Why a message could not be used. The names are metric labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RefusalKind {
    /// The bytes are not of the format (bad JSON, a broken CSV row).
    Syntax,
    /// The format is right, a value is not (a price with 30 digits, a minute of -4).
    Value,
    /// It refers to something that was never introduced (a market before its image).
    Unknown,
    /// The source's clock ran backwards. The message is still used; this is a notice.
    TimeBackwards,
    /// The message is longer than the limit.
    TooLong,
    /// The input ends in the middle of a message or of its compression.
    Truncated,
    /// The input could not be read at all.
    Io,
}

impl RefusalKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Value => "value",
            Self::Unknown => "unknown",
            Self::TimeBackwards => "time_backwards",
            Self::TooLong => "too_long",
            Self::Truncated => "truncated",
            Self::Io => "io",
        }
    }
}

/// What a pure decoder or normaliser says of a message that it cannot use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct DecodeError {
    pub kind: RefusalKind,
    /// A lower-case fragment with the offending value: `price 1e40 does not fit a decimal`.
    pub reason: String,
}

/// What comes of reading a message.
pub type Result<T = (), E = DecodeError> = std::result::Result<T, E>;

impl DecodeError {
    pub fn new(kind: RefusalKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }

    /// An error of [`RefusalKind::Syntax`].
    pub fn syntax(reason: impl Into<String>) -> Self {
        Self::new(RefusalKind::Syntax, reason)
    }

    /// An error of [`RefusalKind::Value`].
    pub fn value(reason: impl Into<String>) -> Self {
        Self::new(RefusalKind::Value, reason)
    }
}

/// A message that could not be used, with its place, for the quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub kind: RefusalKind,
    pub location: Place,
    pub reason: String,
    /// The message itself, cut to [`Refusal::BYTES_MAX`].
    pub bytes: Vec<u8>,
    /// Bytes of the whole message.
    pub length: usize,
}

impl Refusal {
    /// Bytes stored of a refused message: nearly all are stored whole, so that they can be retried.
    pub const BYTES_MAX: usize = 64 * 1024;

    #[must_use]
    pub fn new(error: DecodeError, location: Place, bytes: &[u8]) -> Self {
        let prefix = &bytes[..bytes.len().min(Self::BYTES_MAX)];
        let DecodeError { kind, reason } = error;
        Self { kind, location, reason, bytes: prefix.to_vec(), length: bytes.len() }
    }
}

/// Where in the input something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub file: Arc<str>,
    /// Counted from 1; 0 where the input has no lines.
    pub line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
