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
    Shared, authorize::identify, close, credential, error::HttpError, handshake::UpgradeRequest,
    legacy_sockets, peer::Peer, registry::SocketGuard, transport::Preread,
};
use crate::clock::wall;
use accounts::{
    Caller,
    access::{Denial, Resource},
    products::Catalogue,
};

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
    Denied(Denial),
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
    let verdict = match identify(&shared, upgrade_request.presented(), None, peer).await? {
        Ok(caller) => admit(&shared, caller, peer, dialect, upgrade_request.deflates()),
        Err(denial) => Reason::Denied(denial).refuse(dialect),
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

/// Whether this caller may open a socket. `deflates`: compressed messages have been agreed to.
pub(super) fn admit(
    shared: &Shared,
    caller: Caller,
    peer: Peer,
    dialect: Dialect,
    deflates: bool,
) -> Verdict {
    let now = wall();
    let entitlement = &shared.parts.admission.entitlement;
    if let Err(denial) = entitlement.check(&caller, Resource::Socket, now) {
        return Reason::Denied(denial).refuse(dialect);
    }
    let prices = entitlement.prices();
    let permission = || entitlement.permission(&caller, now);
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

impl Reason {
    /// The code of the stream protocol, the message and the close code.
    fn describe(self) -> (Code, &'static str, Close) {
        let close = match self {
            Self::Denied(denial) => close::of_denial(denial),
            Self::TooMany => close::TOO_MANY_SOCKETS,
            Self::NoSocket => close::NOT_FOUND,
        };
        let code = Code::Host(close.reason());
        match self {
            Self::Denied(Denial::DifferentKeys) => (code, credential::DIFFERENT, close),
            Self::Denied(Denial::WrongAddress(_)) => {
                (code, "the key does not work from this address", close)
            }
            Self::Denied(Denial::Scope(_)) => {
                (code, "the key does not have the scope stream", close)
            }
            Self::Denied(Denial::Addon(_)) => (code, "the WebSocket add-on is missing", close),
            Self::Denied(_) => (code, "send a valid key: header, subprotocol or query", close),
            Self::TooMany => (Code::Limit, "the account has as many sockets open as it may", close),
            Self::NoSocket => (code, "there is no socket at this address", close),
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
                Ok(Some(renewed)) if entitlement.keeps_sockets(&renewed, wall()) => {
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
