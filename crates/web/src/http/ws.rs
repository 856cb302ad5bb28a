//! Upgrades: authenticates the client and decides whether the fan-out gets the socket. Knows no frames.
//!
//! Both ways in use the same decisions: the acceptor's, for the first request of a connection, and the
//! router's, for all others.

use std::{io, sync::Arc};

use axum::{
    Extension,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use fanout::{
    Dialect, Owner,
    close::Close,
    protocol::{self, Code, Refusal},
    socket::Stream,
};
use hyper::{StatusCode, upgrade::Upgraded};
use hyper_util::rt::TokioIo;
use metrics::counter;
use serde_json::Value;
use tracing::debug;

use super::{
    Shared, close,
    credential::{self, Credential, PresentedCredential},
    error::HttpError,
    handshake::UpgradeRequest,
    legacy_sockets,
    peer::Peer,
    registry::SocketGuard,
    transport::Preread,
};
use crate::clock::wall;
use accounts::{AccountsError, Addon, Caller, Scope, products::Catalogue};

/// What happens to a socket after the handshake.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The permission of the owner follows from these prices.
    Serve(Owner, Dialect, Caller, Arc<Catalogue>),
    /// The frame gives the reason.
    Refuse(Bytes, Close),
}

/// Why a socket is refused.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reason {
    NoKey,
    WrongKey,
    DifferentKeys,
    WrongAddress,
    NoScope,
    NoAddon,
    TooMany,
    NoSocket,
}

/// The protocol dialect of a path, with or without a trailing slash; `None` if there is no socket.
pub(super) fn dialect(path: &str) -> Option<Dialect> {
    match path.strip_suffix('/').unwrap_or(path) {
        "/stream/v1" => Some(Dialect::Stream),
        path => legacy_sockets::dialect(path),
    }
}

/// The sockets, for upgrades that the acceptor leaves to the router.
pub(crate) async fn socket(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, HttpError> {
    let dialect = dialect(request.uri().path()).ok_or(HttpError::NotFound)?;
    let mut upgrade_request = UpgradeRequest::of_request(&request).map_err(HttpError::Handshake)?;
    upgrade_request.agree_to_deflate(&shared);
    let verdict = match authenticate(&shared, upgrade_request.presented(), peer).await {
        Ok(Some(caller)) => admit(&shared, caller, peer, dialect, upgrade_request.deflates()),
        Ok(None) => refuse_unauthenticated(&shared, upgrade_request.presented(), peer, dialect)?,
        Err(AccountsError::WrongAddress) => Reason::WrongAddress.refuse(dialect),
        Err(error) => return Err(error.into()),
    };
    Ok(upgrade(shared, request, &upgrade_request, verdict))
}

/// Everything else. An upgrade is accepted and refused in its own dialect, since a browser cannot read the
/// status of a refused upgrade.
pub(crate) async fn unknown(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let Ok(upgrade_request) = UpgradeRequest::of_request(&request) else {
        return HttpError::NotFound.into_response();
    };
    let dialect = legacy_sockets::dialect_near(request.uri().path()).unwrap_or(Dialect::Stream);
    let verdict = Reason::NoSocket.refuse(dialect);
    upgrade(shared, request, &upgrade_request, verdict)
}

/// Resolves a credential to its caller; `None` if it is missing, invalid or ambiguous.
///
/// # Errors
///
/// [`AccountsError::WrongAddress`] if the key does not work from the peer's address. If the account store fails.
pub(super) async fn authenticate(
    shared: &Shared,
    presented: &PresentedCredential,
    Peer(from): Peer,
) -> Result<Option<Caller>, AccountsError> {
    match presented {
        PresentedCredential::Nothing | PresentedCredential::Conflicting => Ok(None),
        PresentedCredential::One(Credential::Key(key)) => {
            shared.parts.customers.accounts.authenticate(key, from, wall()).await
        }
        PresentedCredential::One(Credential::Ticket(ticket)) => {
            shared.tickets.redeem(ticket, &shared.parts.customers.accounts).await
        }
    }
}

/// Whether this caller may open a socket. `deflates`: compressed messages have been agreed to.
pub(super) fn admit(
    shared: &Shared,
    caller: Caller,
    peer: Peer,
    dialect: Dialect,
    deflates: bool,
) -> Verdict {
    let now = wall();
    // A ticket may outlive its key.
    if !caller.lasts(now) {
        return Reason::WrongKey.refuse(dialect);
    }
    if !caller.has_scope(Scope::Stream) {
        return Reason::NoScope.refuse(dialect);
    }
    if !caller.has(Addon::Websocket, now) {
        return Reason::NoAddon.refuse(dialect);
    }
    let prices = shared.parts.admission.entitlement.prices();
    let permission = || shared.parts.admission.entitlement.permission(&caller, now);
    let Some((permit, permission)) = shared.parts.admission.registry.enter(caller, permission)
    else {
        return Reason::TooMany.refuse(dialect);
    };
    let owner = Owner {
        key: caller.key.number(),
        payer: caller.account.payer(),
        expiry: close::expiry(&caller),
        permission,
        deflates,
        peer: Some(peer.0),
        guard: Box::new(SocketGuard { permit, meter: shared.parts.customers.meter.clone() }),
    };
    Verdict::Serve(owner, dialect, caller, prices)
}

/// Refuses a client without a valid key. One that tries many keys is refused before the upgrade, which would
/// cost more.
fn refuse_unauthenticated(
    shared: &Shared,
    presented: &PresentedCredential,
    peer: Peer,
    dialect: Dialect,
) -> Result<Verdict, HttpError> {
    let reason = match presented {
        PresentedCredential::Nothing => Reason::NoKey,
        PresentedCredential::One(_) => {
            shared.parts.admission.limits.wrong_key(peer.0).map_err(HttpError::RateLimited)?;
            Reason::WrongKey
        }
        PresentedCredential::Conflicting => Reason::DifferentKeys,
    };
    Ok(reason.refuse(dialect))
}

const AUTH_FAILED: Code = Code::Host("auth_failed");

impl Reason {
    /// The code of the stream protocol, the message and the close code.
    fn describe(self) -> (Code, &'static str, Close) {
        let key = "send a valid key: header, subprotocol or query";
        match self {
            Self::NoKey | Self::WrongKey => (AUTH_FAILED, key, close::UNAUTHORISED),
            Self::DifferentKeys => (AUTH_FAILED, credential::DIFFERENT, close::UNAUTHORISED),
            Self::WrongAddress => {
                (AUTH_FAILED, "the key does not work from this address", close::UNAUTHORISED)
            }
            Self::NoScope => {
                (AUTH_FAILED, "the key does not have the scope stream", close::UNAUTHORISED)
            }
            Self::NoAddon => {
                let message = "the WebSocket add-on is missing";
                (Code::Host("addon_required"), message, close::ADDON_REQUIRED)
            }
            Self::TooMany => {
                let message = "the account has as many sockets open as it may";
                (Code::Limit, message, close::TOO_MANY_SOCKETS)
            }
            Self::NoSocket => {
                let message = "there is no socket at this address";
                (Code::Host("not_found"), message, close::NOT_FOUND)
            }
        }
    }

    fn refuse(self, dialect: Dialect) -> Verdict {
        let (code, message, close) = self.describe();
        let frame = match dialect {
            Dialect::Stream => protocol::error(&Refusal::new(&Value::Null, code, message)),
            Dialect::Hosted(_) => legacy_sockets::refusal(self, message),
        };
        refuse(frame, close)
    }
}

fn refuse(frame: Bytes, close: Close) -> Verdict {
    counter!("matchwire_sockets_refused_total", "reason" => close.reason()).increment(1);
    Verdict::Refuse(frame, close)
}

/// Answers 101 and hands the socket over as soon as the router is done with it.
fn upgrade(
    shared: Arc<Shared>,
    mut request: Request,
    upgrade_request: &UpgradeRequest,
    verdict: Verdict,
) -> Response {
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let freed = upgrade.await.map_err(io::Error::other).and_then(free);
        match freed {
            Ok((stream, read_ahead)) => hand_over(&shared, stream, read_ahead, verdict).await,
            Err(error) => debug!(%error, "upgrade was not completed"),
        }
    });
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    response.headers_mut().extend(upgrade_request.fields());
    response
}

/// The socket under an upgraded connection, and the bytes received after the request.
fn free(upgraded: Upgraded) -> io::Result<(Stream, Vec<u8>)> {
    let parts = upgraded.downcast::<TokioIo<Preread>>();
    let parts = parts
        .map_err(|_| io::Error::other("an upgraded connection has an unexpected transport"))?;
    parts.io.into_inner().into_stream(&parts.read_buf)
}

/// Hands the socket to the fan-out after the handshake.
pub(super) async fn hand_over(
    shared: &Shared,
    stream: Stream,
    read_ahead: Vec<u8>,
    verdict: Verdict,
) {
    let fanout = &shared.parts.hub.fanout;
    match verdict {
        Verdict::Refuse(frame, close) => fanout.refuse(stream, frame, close),
        Verdict::Serve(owner, dialect, caller, prices) => {
            let key = owner.key;
            fanout.serve(stream, read_ahead, owner, dialect);
            let entitlement = &shared.parts.admission.entitlement;
            // Between authentication and this point, a revocation found no socket to close, and other prices none to permit.
            match shared.parts.customers.accounts.renew(&caller).await {
                Ok(Some(renewed))
                    if renewed.addons == caller.addons
                        && Arc::ptr_eq(&prices, &entitlement.prices()) => {}
                // Apply what the account has now.
                Ok(Some(renewed)) if renewed.has(Addon::Websocket, wall()) => {
                    let permission = entitlement.permission(&renewed, wall());
                    shared.parts.admission.registry.renew(renewed, &permission);
                    fanout.permit(key, &permission, close::expiry(&renewed));
                }
                Ok(Some(_)) => fanout.close(key, close::ADDON_REQUIRED),
                Ok(None) => fanout.close(key, close::TOKEN_REVOKED),
                // While the database does not answer, no other socket hears of a change either.
                Err(_) => shared.parts.customers.accounts.recheck(&caller),
            }
        }
    }
}
