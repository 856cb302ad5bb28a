//! The codes with which sockets are closed, in words for whoever writes a client.

use fanout::close::Close;

/// A line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Closing {
    pub(super) code: u16,
    pub(super) reason: &'static str,
    pub(super) what: &'static str,
    pub(super) back: &'static str,
}

/// Every way in which the hub closes a socket.
const ALL: [Close; 12] = [
    Close::Client,
    Close::Protocol,
    Close::NotText,
    Close::Unauthorised,
    Close::AddonRequired,
    Close::NotFound,
    Close::Idle,
    Close::TokenRevoked,
    Close::CommandTooLarge,
    Close::TooManySockets,
    Close::Drain { reconnect_after_ms: 0 },
    Close::TooSlow,
];

/// All of them, by their codes.
pub(super) fn all() -> [Closing; ALL.len()] {
    ALL.map(|close| {
        let (what, back) = words(close);
        Closing { code: close.code(), reason: close.reason(), what, back }
    })
}

fn words(close: Close) -> (&'static str, &'static str) {
    match close {
        Close::Client => ("your client closed, and is answered", "as you like"),
        Close::Protocol => ("what came was no WebSocket protocol", "after mending the client"),
        Close::NotText => ("a text message was not UTF-8", "after mending the client"),
        Close::Unauthorised => ("no key, or one that is not valid", "with another key or ticket"),
        Close::AddonRequired => {
            ("the WebSocket add-on is missing or has run out", "when it is paid")
        }
        Close::NotFound => ("there is no socket at this address", "no"),
        Close::Idle => ("nothing was heard, not even the answer to a ping", "at once"),
        Close::TokenRevoked => ("the key was regenerated", "with the new key"),
        Close::CommandTooLarge => ("a command was too long", "after mending the client"),
        Close::TooManySockets => {
            ("your account has as many sockets as it may", "after closing another")
        }
        Close::Drain { .. } => ("the service starts again", "after the delay that the bye told"),
        Close::TooSlow => ("what waited was not taken in time", "at once; resume works"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_stand_in_order_each_once() {
        let codes = all().map(|it| it.code);
        assert!(codes.is_sorted_by(|one, other| one < other), "{codes:?}");
    }
}
