//! Why a socket is closed, with which code, and whether the client should reconnect.

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// The host refuses or ends it, for a reason of its own.
    Host(&'static HostClose),
    /// The client sent nothing, not even the answer to a ping. Reconnect at once.
    Idle,
    /// A command was longer than `limits.command_bytes`, or a `subscribe` to a pattern with `from` or a command
    /// with `chs` than `limits.from_bytes`, or had too many fragments. Fix the client.
    CommandTooLarge,
    /// The hub is stopping, or this node of a cluster sends its clients to other nodes. Reconnect after
    /// `reconnect_after_ms`.
    Drain { reconnect_after_ms: u32 },
    /// The client chose `on_slow:"close"`, or accepted no queued data for 30 s. Reconnect at once, and resume.
    TooSlow,
    /// The client broke the WebSocket protocol, or closed with a code that must not be sent. Fix the client.
    Protocol,
    /// A text message or the reason of a close was not UTF-8. Fix the client.
    NotText,
    /// The client closed. The hub echoes its code, or 1000 if it sent none.
    Client { code: u16 },
}

/// A reason of the host to refuse or end a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostClose {
    pub code: u16,
    /// The text of the close frame, and the `code` of the `error` frame with the message.
    pub reason: &'static str,
    /// The message of an `error` frame before the close frame, unless the connection is refused.
    pub message: Option<&'static str>,
    /// Whether a `bye` frame asks the client to reconnect at once.
    pub bye: bool,
}

impl Close {
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Host(close) => close.code,
            Self::Idle => 4408,
            Self::CommandTooLarge => 4413,
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
            Self::Host(close) => close.reason,
            Self::Idle => "idle",
            Self::CommandTooLarge => "command_too_large",
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
            Self::Idle | Self::TooSlow => Some((self.reason(), 0)),
            Self::Drain { reconnect_after_ms } => Some((self.reason(), reconnect_after_ms)),
            Self::Host(close) => close.bye.then_some((close.reason, 0)),
            Self::CommandTooLarge | Self::Protocol | Self::NotText | Self::Client { .. } => None,
        }
    }
}
