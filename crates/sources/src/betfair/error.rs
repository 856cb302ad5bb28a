//! Why a connection to Betfair failed or ended. No message contains a secret.

use std::io;

use crate::lines::ReadError;

/// Why a connection failed or ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionError {
    #[error("the session file cannot be read: {0}")]
    Session(io::Error),
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    #[error("not connected and authenticated within {0} ms")]
    Slow(u64),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("a request could not be sent: {0}")]
    Write(io::Error),
    #[error("the peer does not answer as Betfair does")]
    UnexpectedReply,
    #[error("refused: {0}")]
    Refused(ErrorCode),
    /// The requested position is not available, so the next attempt requests an image.
    #[error("refused: INVALID_CLOCK")]
    NoResume,
    #[error("something was lost again soon after an image")]
    LostAgain,
}

/// Betfair's `errorCode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ErrorCode(&'static str);

/// How long to wait before the next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remedy {
    /// The next attempt differs from this one: it does not use the refused position.
    AtOnce,
    Wait,
    /// Waiting alone is unlikely to fix it.
    WaitLong,
}

/// The codes of Betfair's specification and its documentation.
const CODES: [&str; 14] = [
    "NO_APP_KEY",
    "INVALID_APP_KEY",
    "NO_SESSION",
    "INVALID_SESSION_INFORMATION",
    "NOT_AUTHORIZED",
    "INVALID_INPUT",
    "INVALID_CLOCK",
    "UNEXPECTED_ERROR",
    "TIMEOUT",
    "SUBSCRIPTION_LIMIT_EXCEEDED",
    "INVALID_REQUEST",
    "CONNECTION_FAILED",
    "MAX_CONNECTION_LIMIT_EXCEEDED",
    "TOO_MANY_REQUESTS",
];

impl ErrorCode {
    pub(super) const INVALID_CLOCK: Self = Self("INVALID_CLOCK");

    /// An unknown code is not repeated, because an unknown peer may put anything there.
    pub(super) fn from_code(code: Option<&str>) -> Self {
        let listed = CODES.into_iter().find(|&listed| code == Some(listed));
        Self(listed.unwrap_or("an error code that is not known"))
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl ConnectionError {
    /// `may_change`: the session token may differ at the next attempt.
    pub(super) fn remedy(&self, may_change: bool) -> Remedy {
        let Self::Refused(ErrorCode(code)) = self else {
            return if matches!(self, Self::NoResume) { Remedy::AtOnce } else { Remedy::Wait };
        };
        match *code {
            "NO_SESSION" | "INVALID_SESSION_INFORMATION" if may_change => Remedy::Wait,
            "NO_SESSION"
            | "INVALID_SESSION_INFORMATION"
            | "NO_APP_KEY"
            | "INVALID_APP_KEY"
            | "NOT_AUTHORIZED"
            | "INVALID_INPUT"
            | "INVALID_REQUEST"
            | "SUBSCRIPTION_LIMIT_EXCEEDED"
            | "TOO_MANY_REQUESTS" => Remedy::WaitLong,
            _ => Remedy::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: &str, may_change: bool, expected: Remedy) {
        let error = ConnectionError::Refused(ErrorCode::from_code(Some(code)));
        assert_eq!(error.remedy(may_change), expected, "{code}");
        assert_eq!(error.to_string(), format!("refused: {code}"));
    }

    #[test]
    fn wait_depends_on_how_lasting_the_error_is() {
        assert_eq!(ConnectionError::NoResume.remedy(false), Remedy::AtOnce);
        check("INVALID_CLOCK", false, Remedy::Wait);
        check("INVALID_APP_KEY", true, Remedy::WaitLong);
        check("INVALID_SESSION_INFORMATION", true, Remedy::Wait);
        check("INVALID_SESSION_INFORMATION", false, Remedy::WaitLong);
        check("MAX_CONNECTION_LIMIT_EXCEEDED", false, Remedy::Wait);
        check("TIMEOUT", false, Remedy::Wait);
        assert_eq!(ConnectionError::UnexpectedReply.remedy(true), Remedy::Wait);
    }

    #[test]
    fn code_that_is_not_known_is_not_repeated() {
        let code = ErrorCode::from_code(Some("TOKEN"));
        assert_eq!(code.to_string(), "an error code that is not known");
    }
}
