//! Close codes of sockets, explained for authors of clients.

use fanout::close::Close;

use crate::http::close;

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CloseCodeRow {
    pub(super) code: u16,
    pub(super) reason: &'static str,
    pub(super) what: &'static str,
    pub(super) back: &'static str,
}

/// Every reason for which the hub closes a socket, what it means, and when to reconnect.
const ALL: [(Close, &str, &str); 12] = [
    (Close::Client { code: 1000 }, "your client closed the socket", "optional"),
    (Close::Protocol, "your client broke the WebSocket protocol", "after fixing the client"),
    (Close::NotText, "a text message was not UTF-8", "after fixing the client"),
    (close::UNAUTHORISED, "the key or ticket is missing or invalid", "with another key or ticket"),
    (
        close::ADDON_REQUIRED,
        "the account has no WebSocket add-on, or it has expired",
        "after buying it",
    ),
    (close::NOT_FOUND, "there is no socket at this path", "no"),
    (Close::Idle, "your client sent nothing and did not answer a ping", "immediately"),
    (close::TOKEN_REVOKED, "the key was regenerated", "with the new key"),
    (Close::CommandTooLarge, "a command was too long", "after fixing the client"),
    (close::TOO_MANY_SOCKETS, "your account has too many open sockets", "after closing another"),
    (
        Close::Drain { reconnect_after_ms: 0 },
        "the service is restarting",
        "after the delay in the bye frame",
    ),
    (Close::TooSlow, "your client read too slowly", "immediately, with resume"),
];

/// All of them, by code.
pub(super) fn all() -> [CloseCodeRow; ALL.len()] {
    ALL.map(|(close, what, back)| CloseCodeRow {
        code: close.code(),
        reason: close.reason(),
        what,
        back,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_unique() {
        let codes = all().map(|it| it.code);
        assert!(codes.is_sorted_by(|one, other| one < other), "{codes:?}");
    }
}
