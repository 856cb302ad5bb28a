//! Why a socket is closed, with which code, and whether the client should reconnect.

/// How the hub ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// No key or an invalid one. Reconnect with another key.
    Unauthorised,
    /// The account lacks the WebSocket add-on. Reconnect when it is paid.
    AddonRequired,
    /// There is no such socket. Do not reconnect here.
    NotFound,
    /// The client sent nothing, not even a pong. Reconnect at once.
    Idle,
    /// The key was regenerated or revoked. Reconnect with the new one.
    TokenRevoked,
    /// A command had more bytes or more fragments than the limits allow. Fix the client.
    CommandTooLarge,
    /// The account has reached its limit of sockets. Close another one first.
    TooManySockets,
    /// The hub is stopping. Reconnect after the delay given in `bye`.
    Drain { reconnect_after_ms: u32 },
    /// The client chose to be closed rather than to get merged values, or read nothing for too long.
    /// Reconnect at once; resuming works.
    TooSlow,
    /// The client broke the WebSocket protocol.
    Protocol,
    /// A text message or the reason of a close was not UTF-8.
    NotText,
    /// The client closed with this code, or with none, which counts as 1000. The hub echoes it.
    Client { code: u16 },
}

impl Close {
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Unauthorised => 4401,
            Self::AddonRequired => 4402,
            Self::NotFound => 4404,
            Self::Idle => 4408,
            Self::TokenRevoked => 4410,
            Self::CommandTooLarge => 4413,
            Self::TooManySockets => 4429,
            Self::Drain { .. } => 4503,
            Self::TooSlow => 4508,
            Self::Protocol => 1002,
            Self::NotText => 1007,
            Self::Client { code } => code,
        }
    }

    /// The text of the close frame, and the label of the metric that counts it.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unauthorised => "auth_failed",
            Self::AddonRequired => "addon_required",
            Self::NotFound => "not_found",
            Self::Idle => "idle",
            Self::TokenRevoked => "token_revoked",
            Self::CommandTooLarge => "command_too_large",
            Self::TooManySockets => "too_many_sockets",
            Self::Drain { .. } => "drain",
            Self::TooSlow => "slow",
            Self::Protocol => "protocol_error",
            Self::NotText => "not_utf8",
            Self::Client { .. } => "closed",
        }
    }

    /// The `why` and `reconnect_after_ms` of the `bye` frame before the close frame, if there is one.
    #[must_use]
    pub fn bye(self) -> Option<(&'static str, u32)> {
        match self {
            Self::Idle | Self::TooSlow | Self::TokenRevoked => Some((self.reason(), 0)),
            Self::Drain { reconnect_after_ms } => Some((self.reason(), reconnect_after_ms)),
            Self::Unauthorised
            | Self::AddonRequired
            | Self::NotFound
            | Self::CommandTooLarge
            | Self::TooManySockets
            | Self::Protocol
            | Self::NotText
            | Self::Client { .. } => None,
        }
    }
}
