//! Why the hub itself refuses or ends a socket. The other reasons are those of the fan-out.

use accounts::{Addon, Caller};
use fanout::{
    Expiry,
    close::{Close, HostClose},
};

/// No key or an invalid one. Reconnect with another key.
pub(crate) const UNAUTHORISED: Close =
    Close::Host(&HostClose { code: 4401, reason: "auth_failed", message: None, bye: false });

/// The account lacks the WebSocket add-on. Reconnect when it is paid.
pub(crate) const ADDON_REQUIRED: Close = Close::Host(&HostClose {
    code: 4402,
    reason: "addon_required",
    message: Some("the WebSocket add-on has run out"),
    bye: false,
});

/// There is no such socket. Do not reconnect here.
pub(crate) const NOT_FOUND: Close =
    Close::Host(&HostClose { code: 4404, reason: "not_found", message: None, bye: false });

/// The key was regenerated or revoked, or has ended. Reconnect with another one.
pub(crate) const TOKEN_REVOKED: Close =
    Close::Host(&HostClose { code: 4410, reason: "token_revoked", message: None, bye: true });

/// The account has reached its limit of sockets. Close another one first.
pub(crate) const TOO_MANY_SOCKETS: Close =
    Close::Host(&HostClose { code: 4429, reason: "too_many_sockets", message: None, bye: false });

/// When a socket of this caller must be closed, and how: with its add-on or with its key, whichever ends first.
pub(crate) fn expiry(caller: &Caller) -> Option<Expiry> {
    let addon = caller.expiry(Addon::Websocket).map(|at| Expiry { at, close: ADDON_REQUIRED });
    let key = caller.ends().map(|at| Expiry { at, close: TOKEN_REVOKED });
    [addon, key].into_iter().flatten().min_by_key(|expiry| expiry.at)
}
