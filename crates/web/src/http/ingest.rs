//! `/ingest/v1/{source}`: sources push messages, by requests or over a socket.
//!
//! The key of the feed decides here who may push; `push` interprets the messages. One body of a source is
//! read and applied at a time: another one waits, and gets 409 after `ingest.wait_ms`.

use std::{io::Read, ops::RangeInclusive, sync::Arc, time::Duration};

use axum::{
    Extension, Json,
    body::{self, Body},
    extract::{Path, Request, State},
    response::{IntoResponse, Response},
};
use base::work::{self, Payer, Pool};
use bytes::Bytes;
use fanout::Micros;
use flate2::read::MultiGzDecoder;
use futures_util::{SinkExt, StreamExt};
use hyper::{
    HeaderMap, StatusCode,
    header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, HeaderValue, RETRY_AFTER},
    upgrade::{OnUpgrade, Upgraded},
};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        protocol::{
            CloseFrame, Role, WebSocketConfig,
            frame::{Utf8Bytes, coding::CloseCode},
        },
    },
};
use tracing::debug;

use super::{
    Peer, Shared,
    credential::{self, Credential, PresentedCredential},
    error::HttpError,
    handshake::UpgradeRequest,
    holders,
    push_limits::PushPermit,
};
use crate::push::{PushError, PushReport, PushSource};
use accounts::{
    FeedGrant,
    access::{self, Denial},
};

/// How often a push socket is checked: does its key still work, is the peer alive?
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// Silence after which the peer is pinged.
const PING_AFTER: Duration = Duration::from_secs(30);
/// Silence after which the peer counts as dead; also the time it has to accept an answer.
const DEAD_AFTER: Duration = Duration::from_secs(90);

/// The close code for a revoked key, as on the stream.
const REVOKED: u16 = 4410;

/// The answer to a body, also to one that was applied only in part.
#[derive(Debug, Serialize)]
struct PushResponse {
    /// On a socket: the message that this answers, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<u64>,
    #[serde(flatten)]
    answer: PushReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'static str>,
}

/// `POST /ingest/v1/{source}`: lines, each a message.
pub(crate) async fn post(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, HttpError> {
    let presented = credential::of_rest(request.headers(), request.extensions().get());
    let grant = grant(&shared, &presented, peer, &name).await?;
    holders::set_payer(&request, Payer::Hub);
    let deadline_us = stated_deadline(request.uri().query(), grant.deadline_ms)?;
    let is_gzip = is_gzip(request.headers())?;
    // Locked before the body is read, so that each source has at most one body in memory.
    let mut source = lock_source(&shared, &grant).await?;
    let body = read(&shared, request, is_gzip).await?;
    let taken = shared.pushing.take(&mut source, &body, grant.all_matches, deadline_us).await;
    Ok(match taken {
        Ok(answer) => respond(StatusCode::OK, None, answer),
        Err((stuck, answer)) => {
            respond(StatusCode::SERVICE_UNAVAILABLE, Some(detail(stuck)), answer)
        }
    })
}

fn respond(status: StatusCode, detail: Option<&'static str>, answer: PushReport) -> Response {
    let mut response =
        (status, Json(PushResponse { message: None, answer, detail })).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if detail.is_some() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

fn detail(stuck: PushError) -> &'static str {
    match stuck {
        PushError::Full => "the hub has no room: send the rest again, later",
        PushError::NotLeading => {
            "the node that leads the cluster does not answer: send the rest again, later"
        }
        PushError::Stopping => "the hub is stopping: send the rest again, later",
    }
}

/// The deadline that the parameter `deadline_ms` states, or else the key, in microseconds: a second to a day.
fn stated_deadline(
    query: Option<&str>,
    key_ms: Option<Micros>,
) -> Result<Option<Micros>, HttpError> {
    const ALLOWED_MS: RangeInclusive<Micros> = 1_000..=86_400_000;
    let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let Some((_, value)) = pairs.find(|(name, _)| name == "deadline_ms") else {
        return Ok(key_ms.map(|ms| ms * 1000));
    };
    let stated = value.parse().ok().filter(|ms| ALLOWED_MS.contains(ms));
    stated
        .map(|ms: Micros| Some(ms * 1000))
        .ok_or(HttpError::BadRequest("deadline_ms is 1000 to 86400000 milliseconds"))
}

/// Checks that the key belongs to this source. Each wrong key counts against the address's limit of wrong
/// keys. Once that is used up, keys that have never worked here are rejected without a database query.
async fn grant(
    shared: &Shared,
    presented: &PresentedCredential,
    Peer(address): Peer,
    source: &str,
) -> Result<FeedGrant, HttpError> {
    let grant = match presented {
        PresentedCredential::One(Credential::Key(key)) => {
            let accounts = &shared.parts.customers.accounts;
            if !accounts.knows_feed_key(key) {
                shared
                    .parts
                    .admission
                    .limits
                    .new_feed_key(address)
                    .map_err(HttpError::RateLimited)?;
            }
            accounts.authenticate_feed(key).await?
        }
        PresentedCredential::One(Credential::Ticket(_))
        | PresentedCredential::Nothing
        | PresentedCredential::Conflicting => None,
    };
    let decided = grant
        .ok_or_else(|| presented.denial())
        .and_then(|grant| access::check_source(&grant, source).map(|()| grant));
    decided.map_err(|denial| {
        let detail = match denial {
            Denial::DifferentKeys => credential::DIFFERENT,
            Denial::OtherSource => "this key is for another source",
            _ => "send the key of this feed: \"Authorization: Token <FEED_KEY>\"",
        };
        HttpError::Refused(denial.status(), detail)
    })
}

/// Waits until no other push of the source is running.
async fn lock_source(
    shared: &Shared,
    grant: &FeedGrant,
) -> Result<OwnedMutexGuard<PushSource>, HttpError> {
    let source: Arc<Mutex<PushSource>> = shared.pushing.source(&grant.source);
    let patience = Duration::from_millis(shared.pushing.settings().wait_ms);
    timeout(patience, source.lock_owned()).await.map_err(|_| {
        HttpError::Refused(StatusCode::CONFLICT, "another push of this source is under way")
    })
}

fn is_gzip(headers: &HeaderMap) -> Result<bool, HttpError> {
    match headers.get(CONTENT_ENCODING).map(HeaderValue::as_bytes) {
        None | Some(b"" | b"identity") => Ok(false),
        Some(b"gzip" | b"x-gzip") => Ok(true),
        Some(_) => Err(HttpError::Refused(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body is plain or gzip, nothing else",
        )),
    }
}

async fn read(shared: &Shared, request: Request, is_gzip: bool) -> Result<Bytes, HttpError> {
    const TOO_LARGE: HttpError = HttpError::Refused(
        StatusCode::PAYLOAD_TOO_LARGE,
        "the body is longer than ingest.body_bytes_max",
    );
    let settings = shared.pushing.settings();
    let bytes_max = settings.body_bytes_max;
    let content_length =
        request.headers().get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    if content_length.is_some_and(|length: usize| length > bytes_max) {
        return Err(TOO_LARGE);
    }
    let body = all(request.into_body(), bytes_max).await?.ok_or(TOO_LARGE)?;
    if !is_gzip {
        return Ok(body);
    }
    let plain = work::run_blocking(Pool::Inflation, move || decompressed(&body, bytes_max)).await;
    plain.map_err(|_| HttpError::Internal)??.ok_or(TOO_LARGE)
}

/// The whole body; `None` if it is too long.
async fn all(body: Body, bytes_max: usize) -> Result<Option<Bytes>, HttpError> {
    match body::to_bytes(body, bytes_max).await {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => {
            let cause = std::error::Error::source(&error);
            if cause.is_some_and(|cause| cause.to_string().contains("length limit")) {
                return Ok(None);
            }
            Err(HttpError::BadRequest("the body broke off"))
        }
    }
}

fn decompressed(body: &Bytes, bytes_max: usize) -> Result<Option<Bytes>, HttpError> {
    let mut plain = Vec::new();
    let most = (bytes_max as u64).saturating_add(1);
    MultiGzDecoder::new(&body[..])
        .take(most)
        .read_to_end(&mut plain)
        .map_err(|_| HttpError::BadRequest("the body is no whole gzip"))?;
    Ok((plain.len() <= bytes_max).then(|| plain.into()))
}

/// `/ingest/v1/{source}` as a socket: each message is one or more lines, and is answered.
pub(crate) async fn socket(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Extension(peer): Extension<Peer>,
    mut request: Request,
) -> Result<Response, HttpError> {
    let upgrade_request = UpgradeRequest::of_request(&request).map_err(HttpError::Handshake)?;
    let grant = grant(&shared, upgrade_request.presented(), peer, &name).await?;
    let deadline_us = stated_deadline(request.uri().query(), grant.deadline_ms)?;
    let refused = |why| HttpError::Refused(StatusCode::SERVICE_UNAVAILABLE, why);
    let permit = shared.push_limits.acquire(&grant.source).map_err(refused)?;
    let upgrade = hyper::upgrade::on(&mut request);
    let socket = PushSocket { shared, grant, deadline_us, _permit: permit };
    tokio::spawn(socket.serve(upgrade));
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    response.headers_mut().extend(upgrade_request.fields());
    Ok(response)
}

/// A push socket.
struct PushSocket {
    shared: Arc<Shared>,
    grant: FeedGrant,
    /// The deadline that the request states, in microseconds.
    deadline_us: Option<Micros>,
    _permit: PushPermit,
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;
type SocketError = tokio_tungstenite::tungstenite::Error;

impl PushSocket {
    async fn serve(self, upgrade: OnUpgrade) {
        let upgraded = match upgrade.await {
            Ok(upgraded) => upgraded,
            Err(error) => return debug!(%error, "upgrade was not completed"),
        };
        let bytes_max = self.shared.pushing.settings().body_bytes_max;
        let limits = WebSocketConfig::default()
            .max_message_size(Some(bytes_max))
            .max_frame_size(Some(bytes_max));
        let io = TokioIo::new(upgraded);
        let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(limits)).await;
        match Box::pin(self.converse(&mut socket)).await {
            Ok(Some((code, reason))) => {
                let reason = Utf8Bytes::from_static(reason);
                let close = socket.close(Some(CloseFrame { code, reason }));
                // A peer that does not accept the close frame is gone anyway.
                drop(timeout(CHECK_EVERY, close).await);
            }
            Ok(None) => {}
            Err(error) => debug!(%error, "a push socket ended early"),
        }
    }

    /// Applies messages until the socket closes; returns what to close it with.
    async fn converse(
        &self,
        socket: &mut Socket,
    ) -> Result<Option<(CloseCode, &'static str)>, SocketError> {
        let mut stop = self.shared.stop.clone();
        let mut check = interval(CHECK_EVERY);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut number, mut heard, mut pinged) = (0, Instant::now(), Instant::now());
        loop {
            let message = tokio::select! {
                message = socket.next() => message,
                _ = check.tick() => {
                    if !self.shared.parts.customers.accounts.is_granted(&self.grant).await {
                        return Ok(Some((CloseCode::from(REVOKED), "the key was revoked")));
                    }
                    if heard.elapsed() >= DEAD_AFTER {
                        return Ok(Some((CloseCode::Away, "nothing was heard")));
                    }
                    if heard.elapsed() >= PING_AFTER && pinged.elapsed() >= PING_AFTER {
                        pinged = Instant::now();
                        send(socket, Message::Ping(Bytes::new())).await?;
                    }
                    continue;
                }
                _ = stop.changed() => return Ok(Some((CloseCode::Away, "the hub is stopping"))),
            };
            heard = Instant::now();
            let body = match message {
                None | Some(Ok(Message::Close(_))) => return Ok(None),
                Some(Ok(Message::Text(text))) => Bytes::from(text),
                Some(Ok(Message::Binary(bytes))) => bytes,
                Some(Ok(_)) => continue,
                Some(Err(SocketError::Capacity(_))) => {
                    return Ok(Some((CloseCode::Size, "longer than ingest.body_bytes_max")));
                }
                Some(Err(error)) => return Err(error),
            };
            number += 1;
            if !self.shared.parts.customers.accounts.is_granted(&self.grant).await {
                return Ok(Some((CloseCode::from(REVOKED), "the key was revoked")));
            }
            let answer = self.answer(number, &body).await;
            send(socket, Message::text(answer)).await?;
        }
    }

    async fn answer(&self, number: u64, body: &Bytes) -> String {
        let (answer, detail) = match lock_source(&self.shared, &self.grant).await {
            Ok(mut source) => {
                let pushing = &self.shared.pushing;
                let all_matches = self.grant.all_matches;
                match pushing.take(&mut source, body, all_matches, self.deadline_us).await {
                    Ok(answer) => (answer, None),
                    Err((stuck, answer)) => (answer, Some(detail(stuck))),
                }
            }
            Err(_) => (PushReport::default(), Some("another push of this source is under way")),
        };
        let response = PushResponse { message: Some(number), answer, detail };
        serde_json::to_string(&response).expect("an answer is JSON")
    }
}

async fn send(socket: &mut Socket, message: Message) -> Result<(), SocketError> {
    let sent = timeout(DEAD_AFTER, socket.send(message)).await;
    sent.unwrap_or(Err(SocketError::ConnectionClosed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_is_stated_in_milliseconds() {
        let check = |query: Option<&str>, expected: Option<Option<Micros>>| {
            assert_eq!(stated_deadline(query, None).ok(), expected, "{query:?}");
        };
        // The key's, unless the push states one.
        assert_eq!(stated_deadline(None, Some(2_000)).ok(), Some(Some(2_000_000)));
        assert_eq!(
            stated_deadline(Some("deadline_ms=1000"), Some(2_000)).ok(),
            Some(Some(1_000_000))
        );
        assert!(stated_deadline(Some("deadline_ms=0"), Some(2_000)).is_err());
        check(None, Some(None));
        check(Some("other=1"), Some(None));
        check(Some("other=1&deadline_ms=1000"), Some(Some(1_000_000)));
        check(Some("deadline_ms=86400000"), Some(Some(86_400_000_000)));
        for wrong in ["", "0", "999", "86400001", "-5", "5s", "99999999999999999999"] {
            check(Some(&format!("deadline_ms={wrong}")), None);
        }
    }
}
