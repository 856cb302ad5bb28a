//! Limits on HTTP connections, per address and in total, and on the memory of answers that their readers have
//! not read yet.
//!
//! A reader that reads nothing holds a connection and its answer. Both are counted, an answer without
//! progress is abandoned after a timeout, and the timeout shrinks as the hub fills up. Sockets are not
//! counted here: they have limits per account, and the fan-out watches them.

use std::{
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, HttpBody as _, to_bytes},
    response::{IntoResponse, Response},
};
use base::work::Payer;
use bytes::Bytes;
use dashmap::{DashMap, Entry};
use metrics::{counter, gauge};
use tokio::time::{Instant, Sleep, sleep};

use super::{
    Peer,
    asset::Permanent,
    error::HttpError,
    holders::{HeldConnection, HolderTable, Holders, Stage},
};
use crate::{config::ServerConfig, limits::Origin};

/// Shorter bodies are not counted: the connection limit bounds them well enough.
const COUNTED_BYTES_MIN: u64 = 16 * 1024;

/// Bytes that a blocked reader has to accept within the write timeout. Fewer do not count as progress, since
/// reading one byte at a time would hold an answer for days.
const PROGRESS_BYTES: usize = 4 * 1024;

/// Connections reserved for operators' tools while all others are taken.
const OPERATOR_CONNECTIONS_MAX: usize = 64;

/// The minimum timeout of a reader, however full the hub is, unless the setting is shorter.
const PATIENCE_MIN: Duration = Duration::from_secs(1);

/// The limits from the settings.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    pub connections_max: usize,
    pub per_address: usize,
    pub write_timeout: Duration,
    /// For the head of a request, and between two requests while more than half of the connections are taken.
    pub head_time: Duration,
    /// Between two requests.
    pub keep_alive: Duration,
    pub unread_bytes_max: usize,
    pub unread_bytes_per_address: usize,
}

impl ConnectionLimits {
    #[must_use]
    pub fn from_config(config: &ServerConfig) -> Self {
        Self {
            connections_max: config.connections_max,
            per_address: config.connections_max_per_address,
            write_timeout: Duration::from_millis(config.write_timeout_ms),
            head_time: Duration::from_millis(config.handshake_timeout_ms),
            keep_alive: Duration::from_millis(config.keep_alive_ms),
            unread_bytes_max: config.unread_bytes_max,
            unread_bytes_per_address: config.unread_bytes_max_per_address,
        }
    }
}

/// Counts all connections; clones share the counts.
#[derive(Debug, Clone)]
pub(super) struct Connections {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    limits: ConnectionLimits,
    /// Connections that the router answers.
    open: AtomicUsize,
    operators: AtomicUsize,
    unread_bytes: AtomicUsize,
    holders: HolderTable,
    /// Addresses with a connection or unread bytes, so never more entries than connections.
    origins: DashMap<Origin, OriginUsage>,
}

#[derive(Debug, Default)]
struct OriginUsage {
    connections: usize,
    unread_bytes: usize,
}

impl Connections {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        Self {
            inner: Arc::new(Inner {
                limits,
                open: AtomicUsize::new(0),
                operators: AtomicUsize::new(0),
                unread_bytes: AtomicUsize::new(0),
                holders: HolderTable::new(limits.connections_max),
                origins: DashMap::new(),
            }),
        }
    }

    /// Counts a new connection from this address; `None` if the address is at its limit. `is_shared`: that of a proxy has none.
    pub(super) fn hold(
        &self,
        address: IpAddr,
        is_shared: bool,
    ) -> Option<(HeldConnection, Option<ConnectionPermit>)> {
        if is_shared {
            return Some((self.inner.holders.add(Payer::Hub, true), None));
        }
        let origin = Origin::from(address);
        let most = self.inner.limits.per_address;
        let has_room = self.inner.update(origin, |usage| {
            let has_room = usage.connections < most;
            usage.connections += usize::from(has_room);
            has_room
        });
        if !has_room {
            counter!("matchwire_http_connections_refused_total", "reason" => "address")
                .increment(1);
            return None;
        }
        let permit = ConnectionPermit { inner: Arc::clone(&self.inner), origin };
        Some((self.inner.holders.add(Payer::address(address), false), Some(permit)))
    }

    /// The connections that are being closed.
    pub(super) fn closing(&self) -> usize {
        self.inner.holders.lock().closing()
    }

    /// Waits until no connection is being closed.
    pub(super) async fn until_closed(&self) {
        self.inner.holders.until_closed().await;
    }

    /// Closes a connection in one of these stages; false if there is none.
    pub(super) fn close_one(&self, stages: &[Stage]) -> bool {
        self.inner.holders.lock().close_one(stages)
    }

    /// Counts a connection that the router is to answer; `None` if the limit is reached and no other one may be closed.
    /// Operators' tools have a few reserved connections.
    pub(super) fn acquire_for_router(
        &self,
        held: &HeldConnection,
        is_operator: bool,
    ) -> Option<RouterPermit> {
        let is_extra = !held.handle.update(Holders::route);
        if !is_extra {
            self.inner.open.fetch_add(1, Ordering::Relaxed);
            gauge!("matchwire_http_connections").increment(1);
        } else if is_operator && take(&self.inner.operators, OPERATOR_CONNECTIONS_MAX) {
            // Not to be closed as one of which nothing is known.
            held.handle.update(|holders, id| holders.enter(id, Stage::Answering));
        } else {
            counter!("matchwire_http_connections_refused_total", "reason" => "all").increment(1);
            return None;
        }
        Some(RouterPermit { inner: Arc::clone(&self.inner), is_extra })
    }

    /// Returns the response with its body counted until it is written, or 503 if too much is unread.
    pub(super) async fn count_body(&self, peer: Option<Peer>, response: Response) -> Response {
        let is_counted = response.body().size_hint().exact() >= Some(COUNTED_BYTES_MIN)
            && response.extensions().get::<Permanent>().is_none();
        if !is_counted {
            return response;
        }
        let (parts, body) = response.into_parts();
        let Ok(bytes) = to_bytes(body, usize::MAX).await else {
            return HttpError::Internal.into_response();
        };
        let origin = peer.map(|Peer(address)| Origin::from(address));
        match self.reserve(origin, bytes.len()) {
            Some(unread) => {
                let body = Bytes::from_owner(CountedBody { bytes, _unread: unread });
                Response::from_parts(parts, Body::from(body))
            }
            None => {
                counter!("matchwire_http_answers_refused_total").increment(1);
                HttpError::TooMuchUnread.into_response()
            }
        }
    }

    fn reserve(&self, origin: Option<Origin>, bytes: usize) -> Option<UnreadBytes> {
        let Inner { limits, unread_bytes, .. } = &*self.inner;
        let add = |now: usize| {
            let sum = now.saturating_add(bytes);
            // One answer is always allowed, however long it is.
            (now == 0 || sum <= limits.unread_bytes_max).then_some(sum)
        };
        unread_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).ok()?;
        let fits = origin.is_none_or(|origin| {
            self.inner.update(origin, |usage| {
                let sum = usage.unread_bytes.saturating_add(bytes);
                let fits = usage.unread_bytes == 0 || sum <= limits.unread_bytes_per_address;
                usage.unread_bytes = if fits { sum } else { usage.unread_bytes };
                fits
            })
        });
        if !fits {
            unread_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return None;
        }
        gauge!("matchwire_http_unread_bytes").increment(bytes as f64);
        Some(UnreadBytes { inner: Arc::clone(&self.inner), origin, bytes })
    }

    /// How long the head of a request may take.
    pub(super) fn head_time(&self) -> Duration {
        self.inner.limits.head_time
    }

    /// How long a connection may be idle between two requests.
    pub(super) fn idle_time(&self) -> Duration {
        let Inner { limits, open, .. } = &*self.inner;
        let is_short = open.load(Ordering::Relaxed) > limits.connections_max / 2;
        if is_short { limits.head_time.min(limits.keep_alive) } else { limits.keep_alive }
    }

    /// How long a reader may make no progress. Shrinks from half of either limit on.
    pub(super) fn patience(&self) -> Duration {
        let Inner { limits, open, unread_bytes, .. } = &*self.inner;
        let eighths = |count: &AtomicUsize, most: usize| {
            count.load(Ordering::Relaxed).saturating_mul(8) / most.max(1)
        };
        let full = eighths(open, limits.connections_max)
            .max(eighths(unread_bytes, limits.unread_bytes_max));
        let divisor = match full {
            0..4 => 1,
            4..6 => 4,
            _ => 16,
        };
        let most = limits.write_timeout;
        (most / divisor).max(PATIENCE_MIN.min(most))
    }
}

impl Inner {
    /// Changes the usage of an address, and removes its entry when nothing is left.
    fn update<R>(&self, origin: Origin, change: impl FnOnce(&mut OriginUsage) -> R) -> R {
        let mut entry = match self.origins.entry(origin) {
            Entry::Occupied(entry) => entry,
            Entry::Vacant(entry) => entry.insert_entry(OriginUsage::default()),
        };
        let result = change(entry.get_mut());
        let OriginUsage { connections, unread_bytes } = entry.get();
        if (*connections, *unread_bytes) == (0, 0) {
            entry.remove();
        }
        result
    }
}

/// Takes one more, if the limit allows it.
fn take(count: &AtomicUsize, most: usize) -> bool {
    let add = |now: usize| (now < most).then_some(now + 1);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
}

/// Counts a connection of an address until it ends or becomes a socket.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    inner: Arc<Inner>,
    origin: Origin,
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.inner.update(self.origin, |usage| {
            usage.connections = usage.connections.saturating_sub(1);
        });
    }
}

/// Counts a connection that the router answers.
#[derive(Debug)]
pub(super) struct RouterPermit {
    inner: Arc<Inner>,
    /// It is beyond the limit, and may send one request.
    pub(super) is_extra: bool,
}

impl Drop for RouterPermit {
    fn drop(&mut self) {
        if self.is_extra {
            self.inner.operators.fetch_sub(1, Ordering::Relaxed);
        } else {
            self.inner.open.fetch_sub(1, Ordering::Relaxed);
            gauge!("matchwire_http_connections").decrement(1);
        }
    }
}

/// A body that counts as unread until it is written.
struct CountedBody {
    bytes: Bytes,
    _unread: UnreadBytes,
}

impl AsRef<[u8]> for CountedBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

struct UnreadBytes {
    inner: Arc<Inner>,
    origin: Option<Origin>,
    bytes: usize,
}

impl Drop for UnreadBytes {
    fn drop(&mut self) {
        self.inner.unread_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        gauge!("matchwire_http_unread_bytes").decrement(self.bytes as f64);
        if let Some(origin) = self.origin {
            self.inner.update(origin, |usage| {
                usage.unread_bytes = usage.unread_bytes.saturating_sub(self.bytes);
            });
        }
    }
}

/// Watches whether the reader of a connection accepts what is written to it.
#[derive(Debug)]
pub(super) struct WriteProgress {
    connections: Connections,
    /// Since when it is blocked, and the bytes it has accepted since.
    blocked: Option<(Instant, usize)>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl WriteProgress {
    pub(super) fn new(connections: Connections) -> Self {
        Self { connections, blocked: None, timer: None }
    }

    /// The reader has accepted this many bytes.
    pub(super) fn took(&mut self, bytes: usize) {
        if let Some((_, taken)) = &mut self.blocked {
            *taken = taken.saturating_add(bytes);
            if *taken >= PROGRESS_BYTES {
                self.blocked = None;
            }
        }
    }

    /// The reader has accepted everything.
    pub(super) fn took_all(&mut self) {
        self.blocked = None;
    }

    /// The reader accepts nothing now. Ready when that has lasted too long.
    pub(super) fn poll_stalled(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let (since, _) = *self.blocked.get_or_insert_with(|| (Instant::now(), 0));
        loop {
            let patience = self.connections.patience();
            if since.elapsed() >= patience {
                counter!("matchwire_http_stalled_total").increment(1);
                return Poll::Ready(());
            }
            // Checked several times, because the timeout shrinks as the hub fills up.
            let next = (patience / 8).clamp(Duration::from_millis(10), PATIENCE_MIN);
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(next)));
            if timer.is_elapsed() {
                timer.as_mut().reset(Instant::now() + next);
            }
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, net::Ipv4Addr};

    use axum::body::Bytes;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn connections(connections_max: usize) -> Connections {
        Connections::new(ConnectionLimits {
            connections_max,
            per_address: 2,
            write_timeout: 32_000 * MS,
            head_time: 10_000 * MS,
            keep_alive: 75_000 * MS,
            unread_bytes_max: 100_000,
            unread_bytes_per_address: 40_000,
        })
    }

    fn address(last: u8) -> IpAddr {
        Ipv4Addr::new(198, 51, 100, last).into()
    }

    #[test]
    fn connections_are_limited_by_address_and_removed_at_close() {
        let connections = connections(10);
        let first = connections.hold(address(1), false).expect("the first");
        let second = connections.hold(address(1), false).expect("the second");
        assert!(connections.hold(address(1), false).is_none(), "a third of the same address");
        let other = connections.hold(address(2), false).expect("another address");
        drop(first);
        let third = connections.hold(address(1), false).expect("there is room again");
        drop((second, third, other));
        assert!(connections.inner.origins.is_empty(), "addresses without connections remain");
    }

    /// A connection whose request is being answered; `None` if there is no room.
    fn open(
        connections: &Connections,
        last: u8,
        is_operator: bool,
    ) -> Option<(RouterPermit, HeldConnection)> {
        let (held, _) = connections.hold(address(last), false)?;
        let permit = connections.acquire_for_router(&held, is_operator)?;
        held.handle.update(|holders, id| holders.enter(id, Stage::Answering));
        Some((permit, held))
    }

    #[test]
    fn operators_connect_while_all_connections_are_taken() {
        let connections = connections(2);
        let taken: Vec<_> = (0..2).map(|last| open(&connections, last, false)).collect();
        assert!(open(&connections, 2, false).is_none(), "one too many");
        let (extra, held) = open(&connections, 2, true).expect("a place for health checks");
        assert!(extra.is_extra);
        drop(taken);
        assert!(!open(&connections, 2, true).expect("a place").0.is_extra);
        drop((extra, held));
    }

    #[test]
    fn connections_may_be_idle_for_less_time_while_half_are_taken() {
        let connections = connections(4);
        let mut taken = Vec::new();
        for (last, expected) in (0..).zip([75_000, 75_000, 75_000, 10_000, 10_000]) {
            assert_eq!(connections.idle_time(), expected * MS, "{last} of 4");
            taken.extend(open(&connections, last, false));
        }
        taken.clear();
        assert_eq!(connections.idle_time(), 75_000 * MS);
    }

    async fn status(connections: &Connections, peer: u8, bytes: usize) -> (u16, Response) {
        let body = Response::new(Body::from(vec![b'x'; bytes]));
        let response = connections.count_body(Some(Peer(address(peer))), body).await;
        (response.status().as_u16(), response)
    }

    #[tokio::test]
    async fn bodies_count_until_they_are_written() {
        let connections = connections(10);
        let (first, held) = status(&connections, 1, 30_000).await;
        assert_eq!(first, 200);
        let (second, _) = status(&connections, 1, 30_000).await;
        assert_eq!(second, 503, "more than an address may leave unread");
        let (other, other_held) = status(&connections, 2, 30_000).await;
        assert_eq!(other, 200, "another address");
        let (long, long_held) = status(&connections, 3, 90_000).await;
        assert_eq!(long, 503, "more than all may leave unread together");
        drop(long_held);
        let bytes: Bytes = to_bytes(held.into_body(), usize::MAX).await.expect("a body");
        assert_eq!(bytes.len(), 30_000);
        assert_eq!(status(&connections, 1, 30_000).await.0, 503, "hyper still holds it");
        drop(bytes);
        assert_eq!(status(&connections, 1, 30_000).await.0, 200, "it is written");
        drop(other_held);
        assert_eq!(connections.inner.unread_bytes.load(Ordering::Relaxed), 0);
        assert!(connections.inner.origins.is_empty());
    }

    #[test]
    fn timeout_shrinks_as_the_hub_fills_up() {
        let connections = connections(8);
        let mut taken = Vec::new();
        let mut patience = Vec::new();
        for last in 0..8 {
            patience.push(connections.patience() / 1_000);
            taken.push(open(&connections, last, false).expect("a place"));
        }
        assert_eq!(patience, [32, 32, 32, 32, 8, 8, 2, 2].map(|it| it * MS));
    }

    /// With a write timeout of a second.
    fn progress() -> WriteProgress {
        let limits = connections(10).inner.limits;
        WriteProgress::new(Connections::new(ConnectionLimits {
            write_timeout: 1_000 * MS,
            ..limits
        }))
    }

    async fn is_stalled_now(progress: &mut WriteProgress) -> bool {
        poll_fn(|cx| Poll::Ready(progress.poll_stalled(cx).is_ready())).await
    }

    #[tokio::test(start_paused = true)]
    async fn reader_that_makes_too_little_progress_is_abandoned() {
        let mut progress = progress();
        let stalled = async |progress: &mut WriteProgress| {
            let begun = Instant::now();
            poll_fn(|cx| progress.poll_stalled(cx)).await;
            begun.elapsed()
        };
        assert!(stalled(&mut progress).await >= 1_000 * MS, "too early");
        progress.took(PROGRESS_BYTES - 1);
        assert!(is_stalled_now(&mut progress).await, "a trickle is no progress");
        progress.took(1);
        assert!(stalled(&mut progress).await >= 1_000 * MS, "it has taken enough");
        progress.took_all();
        assert!(stalled(&mut progress).await >= 1_000 * MS, "the next answer");
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reader_that_makes_progress_is_never_abandoned() {
        let mut progress = progress();
        for part in 0..1_000 {
            assert!(!is_stalled_now(&mut progress).await, "part {part}");
            tokio::time::advance(900 * MS).await;
            assert!(!is_stalled_now(&mut progress).await, "part {part}");
            progress.took(PROGRESS_BYTES);
        }
    }
}
