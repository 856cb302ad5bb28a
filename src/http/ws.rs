//! The upgrade: who it is, and whether the fan-out gets the socket. Knows no frame.
//!
//! What is decided here holds for both ways in: the door's own, for the first request of a
//! connection, and the router's, for all others.

use std::{io, sync::Arc};

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
    HeaderMap, StatusCode, Uri,
    header::{
        CONNECTION, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
        SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
    },
    upgrade::Upgraded,
};
use hyper_util::rt::TokioIo;
use metrics::counter;
use serde_json::Value;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tracing::debug;

use super::{
    Shared,
    credential::{self, Credential},
    error::HttpError,
    line::Rewound,
};
use crate::{
    accounts::{AccountsError, Addon, Caller},
    clock::now,
};

/// What becomes of a socket once the handshake is done.
#[derive(Debug)]
pub(super) enum Verdict {
    Serve(Owner, Caller),
    Refuse(Refusal, Close),
}

/// What a proper upgrade request asks for.
#[derive(Debug)]
pub(super) struct Wish {
    /// `Sec-WebSocket-Accept` of the answer.
    accept: HeaderValue,
    protocol: Option<&'static str>,
    credential: Option<Credential>,
}

impl Wish {
    /// Reads an upgrade request (RFC 6455, 4.2.1); `None` if it is not a proper one.
    pub(super) fn of(headers: &HeaderMap, uri: &Uri) -> Option<Self> {
        let has = |name: HeaderName, word: &str| {
            let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
            let mut words = values.flat_map(|value| value.split(','));
            words.any(|own| own.trim().eq_ignore_ascii_case(word))
        };
        let proper = has(CONNECTION, "upgrade")
            && has(UPGRADE, "websocket")
            && has(SEC_WEBSOCKET_VERSION, "13");
        let key = headers.get(SEC_WEBSOCKET_KEY).filter(|_| proper)?;
        Some(Self {
            accept: HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok()?,
            protocol: credential::selected(headers),
            credential: credential::of_upgrade(headers, uri),
        })
    }

    pub(super) fn credential(&self) -> Option<&Credential> {
        self.credential.as_ref()
    }

    /// The fields of the answer.
    pub(super) fn fields(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let selected = HeaderValue::from_static;
        [
            (CONNECTION, HeaderValue::from_static("upgrade")),
            (UPGRADE, HeaderValue::from_static("websocket")),
            (SEC_WEBSOCKET_ACCEPT, self.accept.clone()),
        ]
        .into_iter()
        .chain(self.protocol.map(|protocol| (SEC_WEBSOCKET_PROTOCOL, selected(protocol))))
    }

    /// The answer, 101, as bytes.
    pub(super) fn answer(&self) -> Vec<u8> {
        let mut answer = Vec::with_capacity(256);
        answer.extend_from_slice(b"HTTP/1.1 101 Switching Protocols\r\n");
        for (name, value) in self.fields() {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                answer.extend_from_slice(part);
            }
        }
        answer.extend_from_slice(b"\r\n");
        answer
    }
}

/// `/stream/v1`, where the door left it to the router.
pub(super) async fn stream(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, HttpError> {
    let wish = Wish::of(request.headers(), request.uri()).ok_or(HttpError::UpgradeRequired)?;
    let verdict = decide(&shared, wish.credential()).await?;
    Ok(upgrade(shared, request, &wish, verdict))
}

/// Everything else: an upgrade is told in its own language that there is no such socket, since a
/// browser cannot read the status of a refused one.
pub(super) async fn unknown(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let Some(wish) = Wish::of(request.headers(), request.uri()) else {
        return HttpError::NotFound.into_response();
    };
    let verdict = refuse(Code::NotFound, "there is no socket at this address", Close::NotFound);
    upgrade(shared, request, &wish, verdict)
}

/// Whether whoever shows this credential is served.
///
/// # Errors
///
/// If the account store fails.
pub(super) async fn decide(
    shared: &Shared,
    credential: Option<&Credential>,
) -> Result<Verdict, AccountsError> {
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
    credential: Option<&Credential>,
    now: Micros,
) -> Result<Option<Caller>, AccountsError> {
    match credential {
        None => Ok(None),
        Some(Credential::Key(key)) => shared.parts.accounts.authenticate(key, now).await,
        Some(Credential::Ticket(ticket)) => match shared.tickets.redeem(ticket, now) {
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

/// Answers 101 and hands the socket over as soon as the router is done with it.
fn upgrade(shared: Arc<Shared>, mut request: Request, wish: &Wish, verdict: Verdict) -> Response {
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let freed = upgrade.await.map_err(io::Error::other).and_then(free);
        match freed {
            Ok((stream, read_ahead)) => hand_over(&shared, stream, read_ahead, verdict).await,
            Err(error) => debug!(%error, "upgrade was not completed"),
        }
    });
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    response.headers_mut().extend(wish.fields());
    response
}

/// The socket under an upgraded connection, and what came in behind the request.
fn free(upgraded: Upgraded) -> io::Result<(Stream, Vec<u8>)> {
    let parts = upgraded.downcast::<TokioIo<Rewound>>();
    let parts = parts.map_err(|_| io::Error::other("an upgraded connection was not the door's"))?;
    parts.io.into_inner().into_stream(&parts.read_buf)
}

/// Gives the socket to the fan-out, once the handshake is done.
pub(super) async fn hand_over(
    shared: &Shared,
    stream: Stream,
    read_ahead: Vec<u8>,
    verdict: Verdict,
) {
    let fanout = &shared.parts.fanout;
    match verdict {
        Verdict::Refuse(refusal, close) => fanout.refuse(stream, refusal, close),
        Verdict::Serve(owner, caller) => {
            let key = owner.key;
            fanout.serve(stream, read_ahead, owner);
            // A revocation between authentication and here found no socket to close.
            if !matches!(shared.parts.accounts.renew(&caller).await, Ok(Some(_))) {
                fanout.close(key, Close::TokenRevoked);
            }
        }
    }
}
