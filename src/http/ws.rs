//! The upgrade: who it is, and whether the fan-out gets the socket. Knows no frame.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use fanout::{
    Micros, Owner,
    close::Close,
    protocol::{Code, Refusal},
    socket::Stream,
};
use hyper::{
    HeaderMap, StatusCode,
    header::{
        CONNECTION, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
        SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
    },
    upgrade::Upgraded,
};
use hyper_util::rt::TokioIo;
use metrics::counter;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tracing::debug;

use super::{
    Shared,
    credential::{self, Credential},
    error::HttpError,
};
use crate::{
    accounts::{AccountsError, Addon, Caller},
    clock::now,
};

/// What becomes of a socket once the handshake is done.
enum Verdict {
    Serve(Owner, Caller),
    Refuse(Refusal, Close),
}

/// `/stream/v1`.
pub(super) async fn stream(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, HttpError> {
    let accept = handshake(request.headers()).ok_or(HttpError::UpgradeRequired)?;
    let credential = credential::of_upgrade(request.headers(), request.uri());
    let verdict = decide(&shared, credential).await?;
    Ok(upgrade(shared, request, accept, verdict))
}

/// Everything else: an upgrade is told in its own language that there is no such socket, since a
/// browser cannot read the status of a refused one.
pub(super) async fn unknown(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let Some(accept) = handshake(request.headers()) else {
        return HttpError::NotFound.into_response();
    };
    let verdict = refuse(Code::NotFound, "there is no socket at this address", Close::NotFound);
    upgrade(shared, request, accept, verdict)
}

/// The `Sec-WebSocket-Accept` of a proper upgrade request (RFC 6455, 4.2.1).
fn handshake(headers: &HeaderMap) -> Option<HeaderValue> {
    let has = |name: HeaderName, word: &str| {
        headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word)))
    };
    let proper =
        has(CONNECTION, "upgrade") && has(UPGRADE, "websocket") && has(SEC_WEBSOCKET_VERSION, "13");
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|_| proper)?;
    HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok()
}

async fn decide(shared: &Shared, credential: Option<Credential>) -> Result<Verdict, AccountsError> {
    let now = now();
    let Some(caller) = authenticate(shared, credential, now).await? else {
        let message = "send a valid key: header, subprotocol or query";
        return Ok(refuse(Code::AuthFailed, message, Close::Unauthorised));
    };
    if !caller.has(Addon::Websocket, now) {
        let message = "the WebSocket add-on is missing";
        return Ok(refuse(Code::AddonRequired, message, Close::AddonRequired));
    }
    let Some(place) = shared.parts.registry.enter(caller) else {
        let message = "the account has as many sockets open as it may";
        return Ok(refuse(Code::Limit, message, Close::TooManySockets));
    };
    let owner = Owner {
        key: caller.key.number(),
        expires: caller.expiry(Addon::Websocket),
        guard: Box::new(place),
    };
    Ok(Verdict::Serve(owner, caller))
}

async fn authenticate(
    shared: &Shared,
    credential: Option<Credential>,
    now: Micros,
) -> Result<Option<Caller>, AccountsError> {
    match credential {
        None => Ok(None),
        Some(Credential::Key(key)) => shared.parts.accounts.authenticate(&key, now).await,
        Some(Credential::Ticket(ticket)) => match shared.tickets.redeem(&ticket, now) {
            // The key may have been revoked since the ticket was bought.
            Some(caller) => shared.parts.accounts.renew(&caller).await,
            None => Ok(None),
        },
    }
}

fn refuse(code: Code, message: &str, close: Close) -> Verdict {
    counter!("matchwire_sockets_refused_total", "reason" => close.reason()).increment(1);
    Verdict::Refuse(Refusal::new(&Value::Null, code, message), close)
}

/// Answers 101 and hands the socket over as soon as it is free of HTTP.
fn upgrade(
    shared: Arc<Shared>,
    mut request: Request,
    accept: HeaderValue,
    verdict: Verdict,
) -> Response {
    let protocol = credential::selected(request.headers());
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        match upgrade.await {
            Ok(upgraded) => hand_over(&shared, upgraded, verdict).await,
            Err(error) => debug!(%error, "upgrade was not completed"),
        }
    });
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    if let Some(protocol) = protocol {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
    }
    response
}

async fn hand_over(shared: &Shared, upgraded: Upgraded, verdict: Verdict) {
    let Ok(parts) = upgraded.downcast::<TokioIo<TcpStream>>() else {
        return debug!("an upgraded connection was not TCP");
    };
    let stream = match parts.io.into_inner().into_std() {
        Ok(stream) => Stream::Tcp(stream),
        Err(error) => return debug!(%error, "socket lost while it was handed over"),
    };
    let fanout = &shared.parts.fanout;
    match verdict {
        Verdict::Refuse(refusal, close) => fanout.refuse(stream, refusal, close),
        Verdict::Serve(owner, caller) => {
            let key = owner.key;
            fanout.serve(stream, parts.read_buf.to_vec(), owner);
            // A revocation between authentication and here found no socket to close.
            if !matches!(shared.parts.accounts.renew(&caller).await, Ok(Some(_))) {
                fanout.close(key, Close::TokenRevoked);
            }
        }
    }
}
