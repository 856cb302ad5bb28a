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
    DEFLATE_WINDOW_BITS, Dialect, Owner,
    close::Close,
    protocol::{self, Code, Refusal},
    socket::Stream,
};
use hyper::{
    HeaderMap, StatusCode,
    header::{
        CACHE_CONTROL, CONNECTION, HeaderName, HeaderValue, REFERRER_POLICY, SEC_WEBSOCKET_ACCEPT,
        SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
        UPGRADE,
    },
    upgrade::Upgraded,
};
use hyper_util::rt::TokioIo;
use metrics::counter;
use serde_json::Value;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tracing::debug;

use super::{
    Shared, close,
    credential::{self, Credential, PresentedCredential, QueryCredentials},
    error::HttpError,
    peer::Peer,
    registry::SocketGuard,
    transport::Preread,
};
use crate::clock::wall;
use accounts::{AccountsError, Addon, Caller, Scope, products::Catalogue};
use hub::dialect::live::protocol as live;

/// What happens to a socket after the handshake.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The permission of the owner follows from these prices.
    Serve(Owner, Dialect, Caller, Arc<Catalogue>),
    /// The frame gives the reason.
    Refuse(Bytes, Close),
}

/// An offer of compressed messages (RFC 7692) that can be agreed to. Each message is compressed on its own, so that all readers
/// can share it, and within the same window for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeflateOffer {
    AnyWindow,
    /// The client limits the window of what the hub compresses.
    LimitedWindow,
}

impl DeflateOffer {
    /// The first offer that can be agreed to.
    fn of(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(SEC_WEBSOCKET_EXTENSIONS).iter();
        let mut offers =
            values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
        offers.find_map(Self::parse)
    }

    fn parse(offer: &str) -> Option<Self> {
        let mut parts = offer.split(';').map(str::trim);
        parts.next().filter(|name| *name == "permessage-deflate")?;
        let mut parsed = Self::AnyWindow;
        for parameter in parts {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            match name.trim() {
                // What the client could do about its own window need not be used.
                "server_no_context_takeover"
                | "client_no_context_takeover"
                | "client_max_window_bits" => {}
                "server_max_window_bits" => {
                    let bits: u8 = value.trim().trim_matches('"').parse().ok()?;
                    (DEFLATE_WINDOW_BITS..=15).contains(&bits).then_some(())?;
                    parsed = Self::LimitedWindow;
                }
                _ => return None,
            }
        }
        Some(parsed)
    }

    fn answer(self) -> &'static str {
        const { assert!(DEFLATE_WINDOW_BITS == 12, "the answer has the bits of the window") };
        match self {
            Self::AnyWindow => {
                "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
            }
            Self::LimitedWindow => {
                "permessage-deflate; server_no_context_takeover; client_no_context_takeover; \
                 server_max_window_bits=12"
            }
        }
    }
}

/// Why a socket is refused.
#[derive(Debug, Clone, Copy)]
enum Reason {
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
        "/live/football" => Some(Dialect::Hosted(&live::FOOTBALL)),
        "/ws/live" => Some(Dialect::Hosted(&live::FOOTBALL_AND_TENNIS)),
        _ => None,
    }
}

/// The dialect for an upgrade where there is no socket: below the paths of the older sockets their dialect,
/// which their clients can read.
fn dialect_near(path: &str) -> Dialect {
    match path.split('/').nth(1) {
        Some("live") => Dialect::Hosted(&live::FOOTBALL),
        Some("ws") => Dialect::Hosted(&live::FOOTBALL_AND_TENNIS),
        _ => Dialect::Stream,
    }
}

/// A valid upgrade request.
#[derive(Debug)]
pub(super) struct UpgradeRequest {
    /// `Sec-WebSocket-Accept` of the response.
    accept: HeaderValue,
    protocol: Option<&'static str>,
    /// The client's offer of compressed messages, if they can be agreed to.
    deflate: Option<DeflateOffer>,
    /// They are agreed to.
    deflates: bool,
    presented: PresentedCredential,
    /// Whether the URL contained a credential.
    had_secret: bool,
}

impl UpgradeRequest {
    /// Reads an upgrade request (RFC 6455, 4.2.1); `None` if it is not valid.
    pub(super) fn of(headers: &HeaderMap, query: Option<&QueryCredentials>) -> Option<Self> {
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
            deflate: DeflateOffer::of(headers),
            deflates: false,
            presented: credential::of_upgrade(headers, query),
            had_secret: query.is_some(),
        })
    }

    /// The same for a request that has passed [`super::request_context`].
    pub(super) fn of_request(request: &Request) -> Option<Self> {
        Self::of(request.headers(), request.extensions().get())
    }

    pub(super) fn presented(&self) -> &PresentedCredential {
        &self.presented
    }

    /// Agrees to compressed messages if they are offered, the dialect has them and the operator allows them.
    pub(super) fn agree_to_deflate(&mut self, shared: &Shared, dialect: Dialect) {
        self.deflates = self.deflate.is_some() && shared.parts.deflate && dialect.is_stream();
    }

    pub(super) fn deflates(&self) -> bool {
        self.deflates
    }

    /// The headers of the response.
    pub(super) fn fields(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let selected = HeaderValue::from_static;
        let deflate = self.deflate.filter(|_| self.deflates).map(DeflateOffer::answer);
        let uncached = [(CACHE_CONTROL, "no-store"), (REFERRER_POLICY, "no-referrer")];
        let uncached = uncached.map(|(name, value)| (name, selected(value)));
        [
            (CONNECTION, HeaderValue::from_static("upgrade")),
            (UPGRADE, HeaderValue::from_static("websocket")),
            (SEC_WEBSOCKET_ACCEPT, self.accept.clone()),
        ]
        .into_iter()
        .chain(self.protocol.map(|protocol| (SEC_WEBSOCKET_PROTOCOL, selected(protocol))))
        .chain(deflate.map(|answer| (SEC_WEBSOCKET_EXTENSIONS, selected(answer))))
        .chain(uncached.into_iter().filter(|_| self.had_secret))
    }

    /// The 101 response as bytes.
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

/// The sockets, for upgrades that the acceptor leaves to the router.
pub(super) async fn socket(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, HttpError> {
    let dialect = dialect(request.uri().path()).ok_or(HttpError::NotFound)?;
    let mut upgrade_request =
        UpgradeRequest::of_request(&request).ok_or(HttpError::UpgradeRequired)?;
    upgrade_request.agree_to_deflate(&shared, dialect);
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
pub(super) async fn unknown(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let Some(upgrade_request) = UpgradeRequest::of_request(&request) else {
        return HttpError::NotFound.into_response();
    };
    let verdict = Reason::NoSocket.refuse(dialect_near(request.uri().path()));
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
            shared.parts.accounts.authenticate(key, from, wall()).await
        }
        PresentedCredential::One(Credential::Ticket(ticket)) => {
            shared.tickets.redeem(ticket, &shared.parts.accounts).await
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
    let prices = shared.parts.entitlement.prices();
    let permission = || shared.parts.entitlement.permission(&caller, now);
    let Some((permit, permission)) = shared.parts.registry.enter(caller, permission) else {
        return Reason::TooMany.refuse(dialect);
    };
    let owner = Owner {
        key: caller.key.number(),
        expiry: close::expiry(&caller),
        permission,
        deflates,
        peer: Some(peer.0),
        guard: Box::new(SocketGuard { permit, meter: shared.parts.meter.clone() }),
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
            shared.parts.limits.wrong_key(peer.0).map_err(HttpError::RateLimited)?;
            Reason::WrongKey
        }
        PresentedCredential::Conflicting => Reason::DifferentKeys,
    };
    Ok(reason.refuse(dialect))
}

const AUTH_FAILED: Code = Code::Host("auth_failed");

impl Reason {
    /// The codes of the stream protocol and of the older sockets, the message and the close code.
    fn describe(self) -> (Code, live::Code, &'static str, Close) {
        let key = "send a valid key: header, subprotocol or query";
        match self {
            Self::NoKey => (AUTH_FAILED, live::Code::AuthRequired, key, close::UNAUTHORISED),
            Self::WrongKey => (AUTH_FAILED, live::Code::AuthFailed, key, close::UNAUTHORISED),
            Self::DifferentKeys => {
                let message = credential::DIFFERENT;
                (AUTH_FAILED, live::Code::AuthFailed, message, close::UNAUTHORISED)
            }
            Self::WrongAddress => {
                let message = "the key does not work from this address";
                (AUTH_FAILED, live::Code::AuthFailed, message, close::UNAUTHORISED)
            }
            Self::NoScope => {
                let message = "the key does not have the scope stream";
                (AUTH_FAILED, live::Code::AuthFailed, message, close::UNAUTHORISED)
            }
            Self::NoAddon => {
                let message = "the WebSocket add-on is missing";
                let code = live::Code::SubscriptionRequired;
                (Code::Host("addon_required"), code, message, close::ADDON_REQUIRED)
            }
            Self::TooMany => {
                let message = "the account has as many sockets open as it may";
                (Code::Limit, live::Code::Limit, message, close::TOO_MANY_SOCKETS)
            }
            Self::NoSocket => {
                let message = "there is no socket at this address";
                (Code::Host("not_found"), live::Code::NotFound, message, close::NOT_FOUND)
            }
        }
    }

    fn refuse(self, dialect: Dialect) -> Verdict {
        let (code, live_code, message, close) = self.describe();
        let frame = match dialect {
            Dialect::Stream | Dialect::Bare => {
                protocol::error(&Refusal::new(&Value::Null, code, message))
            }
            Dialect::Hosted(_) => live::error(&live::Refusal::new(live_code, message)),
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
    let fanout = &shared.parts.fanout;
    match verdict {
        Verdict::Refuse(frame, close) => fanout.refuse(stream, frame, close),
        Verdict::Serve(owner, dialect, caller, prices) => {
            let key = owner.key;
            fanout.serve(stream, read_ahead, owner, dialect);
            let entitlement = &shared.parts.entitlement;
            // Between authentication and this point, a revocation found no socket to close, and other prices none to permit.
            match shared.parts.accounts.renew(&caller).await {
                Ok(Some(renewed))
                    if renewed.addons == caller.addons
                        && Arc::ptr_eq(&prices, &entitlement.prices()) => {}
                // Apply what the account has now.
                Ok(Some(renewed)) if renewed.has(Addon::Websocket, wall()) => {
                    let permission = entitlement.permission(&renewed, wall());
                    shared.parts.registry.renew(renewed, &permission);
                    fanout.permit(key, &permission, close::expiry(&renewed));
                }
                Ok(Some(_)) => fanout.close(key, close::ADDON_REQUIRED),
                Ok(None) => fanout.close(key, close::TOKEN_REVOKED),
                // While the database does not answer, no other socket hears of a change either.
                Err(_) => shared.parts.accounts.recheck(&caller),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_is_agreed_to_as_it_is_offered() {
        let answer = |offer: &'static str| {
            let offer = (SEC_WEBSOCKET_EXTENSIONS, HeaderValue::from_static(offer));
            DeflateOffer::of(&HeaderMap::from_iter([offer])).map(DeflateOffer::answer)
        };
        let plain = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
        let limited = format!("{plain}; server_max_window_bits=12");
        for offer in [
            "permessage-deflate",
            "permessage-deflate; client_max_window_bits",
            "bbf-usp-protocol, permessage-deflate;server_no_context_takeover",
            "permessage-deflate; server_max_window_bits=10, permessage-deflate",
        ] {
            assert_eq!(answer(offer), Some(plain), "{offer}");
        }
        let offer = "permessage-deflate; server_max_window_bits=12; client_max_window_bits=12";
        assert_eq!(answer(offer), Some(&*limited));
        for offer in [
            "",
            "x-webkit-deflate-frame",
            "permessage-deflate; unknown",
            "permessage-deflate; server_max_window_bits=11",
            "permessage-deflate; server_max_window_bits",
            "permessage-deflate; server_max_window_bits=16",
        ] {
            assert_eq!(answer(offer), None, "{offer}");
        }
    }
}
