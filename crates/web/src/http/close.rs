//! Why the hub itself refuses or ends a socket. The other reasons are those of the fan-out.

use accounts::{Addon, Caller, access::Denial};
use fanout::{
    Expiry,
    close::{Close, HostClose},
};

/// No key, or one that is not valid; a ticket that was used; a named key without the scope `stream` or from another
/// address (docs/ACCOUNTS.md#named-keys). Reconnect with another key or ticket.
pub(crate) const UNAUTHORISED: Close =
    Close::Host(&HostClose { code: 4401, reason: "auth_failed", message: None, bye: false });

/// The WebSocket add-on is missing or has expired, also during the connection. Reconnect when it is paid.
pub(crate) const ADDON_REQUIRED: Close = Close::Host(&HostClose {
    code: 4402,
    reason: "addon_required",
    message: Some("the WebSocket add-on has run out"),
    bye: false,
});

/// There is no socket at this address. Do not reconnect.
pub(crate) const NOT_FOUND: Close =
    Close::Host(&HostClose { code: 4404, reason: "not_found", message: None, bye: false });

/// The key was revoked, or has ended. Reconnect with another key.
pub(crate) const TOKEN_REVOKED: Close =
    Close::Host(&HostClose { code: 4410, reason: "token_revoked", message: None, bye: true });

/// The account or the hub has reached its maximum number of sockets. Close another one first.
pub(crate) const TOO_MANY_SOCKETS: Close =
    Close::Host(&HostClose { code: 4429, reason: "too_many_sockets", message: None, bye: false });

/// How a socket is closed to which its caller has no access.
pub(crate) fn of_denial(denial: Denial) -> Close {
    if denial.close_code() == 4402 { ADDON_REQUIRED } else { UNAUTHORISED }
}

/// When a socket of this caller must be closed, and how: with its add-on or with its key, whichever ends first.
pub(crate) fn expiry(caller: &Caller) -> Option<Expiry> {
    let addon = caller.expiry(Addon::Websocket).map(|at| Expiry { at, close: ADDON_REQUIRED });
    let key = caller.ends().map(|at| Expiry { at, close: TOKEN_REVOKED });
    [addon, key].into_iter().flatten().min_by_key(|expiry| expiry.at)
}
