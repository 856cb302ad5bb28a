//! `/ingest/v1/{source}`: sources push what they have, by requests or over a socket.
//!
//! Who may is decided here by the key of the feed; what it means is `push`'s. One body of a source
//! is read and taken at a time: whoever comes in between waits, and is told to come back after
//! `ingest.wait_ms`.

use std::{
    collections::VecDeque,
    hash::{BuildHasher as _, RandomState},
    io::Read,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Extension, Json,
    body::{self, Body},
    extract::{Path, Request, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
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
    sync::{Mutex as AsyncMutex, OwnedMutexGuard},
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
    credential::{self, Credential, Shown},
    error::HttpError,
    push_limits::PushPermit,
    ws::Wish,
};
use crate::{
    accounts::FeedGrant,
    push::{PushError, PushOutcome, PushSource},
};

/// How often a socket that pushes is looked at: whether its key still works, whether it lives.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Silence after which it is asked for a sign of life.
const PING_AFTER: Duration = Duration::from_secs(30);
/// Silence after which it is taken for dead; also the time it has to take an answer.
const DEAD_AFTER: Duration = Duration::from_secs(90);

/// The close code of a key that was revoked, as on the stream.
const REVOKED: u16 = 4410;

/// What is told of a body, and of one of which the rest was not taken.
#[derive(Debug, Serialize)]
struct Told {
    /// On a socket: which message of it this answers, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<u64>,
    #[serde(flatten)]
    answer: PushOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'static str>,
}

/// `POST /ingest/v1/{source}`: lines, each a message.
pub(super) async fn post(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, HttpError> {
    let shown = credential::of_rest(request.headers(), request.extensions().get());
    let grant = grant(&shared, &shown, peer, &name).await?;
    let is_gzip = is_gzip(request.headers())?;
    // Before the body is read: so there is one body in memory for each source.
    let mut source = turn(&shared, &grant).await?;
    let body = read(&shared, request, is_gzip).await?;
    let taken = shared.pushing.take(&mut source, &body, grant.all_matches).await;
    Ok(match taken {
        Ok(answer) => told(StatusCode::OK, None, answer),
        Err((stuck, answer)) => told(StatusCode::SERVICE_UNAVAILABLE, Some(detail(stuck)), answer),
    })
}

fn told(status: StatusCode, detail: Option<&'static str>, answer: PushOutcome) -> Response {
    let mut response = (status, Json(Told { message: None, answer, detail })).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if detail.is_some() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

fn detail(stuck: PushError) -> &'static str {
    match stuck {
        PushError::Full => "the hub has no room: send the rest again, later",
        PushError::Stopping => "the hub is stopping: send the rest again, later",
    }
}

/// Whether the key is one of this source. Each wrong key counts against the limit of wrong keys of the address.
/// Once that is used up, keys that have never worked here are refused without a look into the database.
async fn grant(
    shared: &Shared,
    shown: &Shown,
    Peer(address): Peer,
    source: &str,
) -> Result<FeedGrant, HttpError> {
    let refused = |detail| HttpError::Refused(StatusCode::UNAUTHORIZED, detail);
    let grant = match shown {
        Shown::One(Credential::Key(key)) if shared.feed_keys.have_seen(key) => {
            let grant = shared.parts.accounts.authenticate_feed(key).await?;
            if grant.is_none() {
                shared.feed_keys.forget(key);
            }
            grant
        }
        Shown::One(Credential::Key(key)) => {
            shared.parts.limits.new_feed_key(address).map_err(HttpError::RateLimited)?;
            let grant = shared.parts.accounts.authenticate_feed(key).await?;
            if grant.is_some() {
                shared.feed_keys.remember(key);
            }
            grant
        }
        Shown::One(Credential::Ticket(_)) | Shown::Nothing => None,
        Shown::Different => return Err(refused(credential::DIFFERENT)),
    };
    let grant = grant
        .ok_or_else(|| refused("send the key of this feed: \"Authorization: Token <FEED_KEY>\""))?;
    if grant.source != source {
        return Err(HttpError::Refused(StatusCode::FORBIDDEN, "this key is for another source"));
    }
    Ok(grant)
}

/// Keys of feeds that worked once, as keyed hashes. Whether they still do is asked each time.
#[derive(Debug, Default)]
pub(super) struct SeenKeys {
    hasher: RandomState,
    seen: Mutex<VecDeque<u64>>,
}

/// Of so many keys at a time; there is one for each source, as a rule.
const SEEN_KEYS_MAX: usize = 1_024;

impl SeenKeys {
    fn have_seen(&self, key: &str) -> bool {
        let hash = self.hasher.hash_one(key);
        self.lock().contains(&hash)
    }

    fn remember(&self, key: &str) {
        let hash = self.hasher.hash_one(key);
        let mut seen = self.lock();
        if seen.len() >= SEEN_KEYS_MAX {
            seen.pop_front();
        }
        seen.push_back(hash);
    }

    fn forget(&self, key: &str) {
        let hash = self.hasher.hash_one(key);
        self.lock().retain(|seen| *seen != hash);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<u64>> {
        // Whatever a thread that panicked left behind is a list of numbers.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the source to be free.
async fn turn(
    shared: &Shared,
    grant: &FeedGrant,
) -> Result<OwnedMutexGuard<PushSource>, HttpError> {
    let source: Arc<AsyncMutex<PushSource>> = shared.pushing.source(&grant.source);
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
    let told = request.headers().get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
    if told.is_some_and(|length: usize| length > bytes_max) {
        return Err(TOO_LARGE);
    }
    let whole =
        timeout(Duration::from_millis(settings.body_ms), all(request.into_body(), bytes_max));
    let body = whole.await.map_err(|_| {
        HttpError::Refused(StatusCode::REQUEST_TIMEOUT, "the body did not come in time")
    })?;
    let body = body?.ok_or(TOO_LARGE)?;
    if !is_gzip {
        return Ok(body);
    }
    let plain = tokio::task::spawn_blocking(move || decompressed(&body, bytes_max)).await;
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
pub(super) async fn socket(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Extension(peer): Extension<Peer>,
    mut request: Request,
) -> Result<Response, HttpError> {
    let wish = Wish::of_request(&request).ok_or(HttpError::UpgradeRequired)?;
    let grant = grant(&shared, wish.shown(), peer, &name).await?;
    let refused = |why| HttpError::Refused(StatusCode::SERVICE_UNAVAILABLE, why);
    let permit = shared.push_limits.acquire(&grant.source).map_err(refused)?;
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(Pushing { shared, grant, _permit: permit }.serve(upgrade));
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    response.headers_mut().extend(wish.fields());
    Ok(response)
}

/// A socket that pushes.
struct Pushing {
    shared: Arc<Shared>,
    grant: FeedGrant,
    _permit: PushPermit,
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;
type SocketError = tokio_tungstenite::tungstenite::Error;

impl Pushing {
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
                // Whoever does not take it is gone anyway.
                drop(timeout(LOOK_EVERY, close).await);
            }
            Ok(None) => {}
            Err(error) => debug!(%error, "a socket that pushes ended early"),
        }
    }

    /// Takes messages until the socket is closed; returns what to close it with.
    async fn converse(
        &self,
        socket: &mut Socket,
    ) -> Result<Option<(CloseCode, &'static str)>, SocketError> {
        let mut stop = self.shared.stop.clone();
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut number, mut heard, mut pinged) = (0, Instant::now(), Instant::now());
        loop {
            let message = tokio::select! {
                message = socket.next() => message,
                _ = look.tick() => {
                    if !self.stands().await {
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
            if !self.stands().await {
                return Ok(Some((CloseCode::from(REVOKED), "the key was revoked")));
            }
            let answer = self.answer(number, &body).await;
            send(socket, Message::text(answer)).await?;
        }
    }

    /// Whether the key still works. A store that fails is not its fault.
    async fn stands(&self) -> bool {
        self.shared.parts.accounts.stands(&self.grant).await.unwrap_or(true)
    }

    async fn answer(&self, number: u64, body: &Bytes) -> String {
        let (answer, detail) = match turn(&self.shared, &self.grant).await {
            Ok(mut source) => {
                let pushing = &self.shared.pushing;
                match pushing.take(&mut source, body, self.grant.all_matches).await {
                    Ok(answer) => (answer, None),
                    Err((stuck, answer)) => (answer, Some(detail(stuck))),
                }
            }
            Err(_) => (PushOutcome::default(), Some("another push of this source is under way")),
        };
        let told = Told { message: Some(number), answer, detail };
        serde_json::to_string(&told).expect("an answer is JSON")
    }
}

async fn send(socket: &mut Socket, message: Message) -> Result<(), SocketError> {
    let sent = timeout(DEAD_AFTER, socket.send(message)).await;
    sent.unwrap_or(Err(SocketError::ConnectionClosed))
}
