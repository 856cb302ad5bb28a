//! Accepts connections and reads the head of the first request of each.
//!
//! Upgrades to one of the sockets are answered here, and the socket is handed to the fan-out without any HTTP
//! state; the router serves everything else. The reason is the rush of reconnecting clients after a restart:
//! the router would cost each of them a task and twice the work.

use std::{
    convert::Infallible,
    future::poll_fn,
    io::{self, ErrorKind},
    net::{self, IpAddr},
    os::fd::AsRawFd,
    panic::{self, AssertUnwindSafe},
    pin::{Pin, pin},
    sync::Arc,
    task::{self, Context, Waker},
    time::Duration,
};

use base::work::{Payer, PollTurns, TurnPayer};
use hyper::{
    StatusCode, Version,
    body::Incoming,
    header::{CONNECTION, HeaderName, HeaderValue},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use mio::{Events, Interest, Poll, Token, net::TcpListener};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch},
    task::JoinSet,
    time::{Instant, timeout},
};
use tokio_rustls::TlsAcceptor;
use tracing::debug;

use super::{
    Shared,
    activity::{Activity, Expiry},
    authorize,
    connections::{ConnectionPermit, WriteProgress},
    error::log_failure,
    head::{self, Head, LineVersion, Upgrade},
    holders::{HeldConnection, Stage},
    peer::Peer,
    service::HttpService,
    transport::{Preread, RawConnection},
    ws,
};
use crate::supervisor::{self, Lifetime, fault};

/// How long to wait when a connection cannot be accepted. Usually the process is out of file descriptors, so
/// other connections have to close first.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Buffer for the head, and for what a client sends ahead while it is being answered.
const BUFFER_BYTES: usize = 64 * 1024;

/// Answer while the maximum number of connections is open.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncache-control: no-store\r\n\
    content-length: 0\r\nconnection: close\r\n\r\n";

/// Answer to a ticket, or to a key that is not cached, while the database fails. Without a body: clients of sockets see none.
const TRY_LATER: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\ncache-control: no-store\r\n\
    content-length: 0\r\nconnection: close\r\n\r\n";

/// Answer to a first head that did not come in time.
const SLOW: &[u8] = b"HTTP/1.1 408 Request Timeout\r\ncache-control: no-store\r\n\
    content-length: 0\r\nconnection: close\r\n\r\n";

/// What operators' tools request, beside others who may be at the same address.
pub(super) const OPERATOR_PATHS: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// How long a connection that is accepted right before the stop may take until its first bytes arrive. Its client sends
/// them at once, and should not see its connection cut off without an answer.
const FIRST_BYTES_AFTER_STOP: Duration = Duration::from_millis(500);

/// File descriptors that are kept free by closing connections, so that those that are being closed do not take the last ones.
const DESCRIPTORS_FREE: usize = 64;

/// How long connections that are being closed may take before the next one is accepted.
const CLOSE_TIME: Duration = Duration::from_millis(100);

const LISTENER: Token = Token(0);
const STOP: Token = Token(1);

#[derive(Debug)]
pub(super) struct Acceptor {
    pub(super) shared: Arc<Shared>,
    pub(super) service: HttpService,
    /// Of the connections of a payer, some are answered at a time.
    pub(super) turns: PollTurns,
    /// Turns true when the acceptor is to stop.
    pub(super) stop: watch::Receiver<bool>,
}

impl Acceptor {
    /// Accepts connections until `stop` turns true. Returns those that are still being answered, to be
    /// awaited.
    ///
    /// It accepts on its own thread and handles a request that arrives together with its connection right
    /// there, without creating a task or registering the socket with a reactor.
    pub(super) async fn serve(
        self: Arc<Self>,
        listener: net::TcpListener,
    ) -> io::Result<JoinSet<()>> {
        let poll = Poll::new()?;
        let waker = mio::Waker::new(poll.registry(), STOP)?;
        let runtime = Handle::current();
        let mut stop = self.stop.clone();
        let (done, ended) = oneshot::channel();
        let accept = move || done.send(self.accept_all(listener, poll, &runtime));
        // It may end with an error before the stop; the caller of `serve` reports it.
        supervisor::thread("acceptor", Lifetime::Finite, accept)?;
        let mut ended = pin!(ended);
        tokio::select! {
            ended = ended.as_mut() => return ended.map_err(io::Error::other)?,
            _ = stop.changed() => waker.wake()?,
        }
        ended.await.map_err(io::Error::other)?
    }

    fn accept_all(
        self: Arc<Self>,
        listener: net::TcpListener,
        mut poll: Poll,
        runtime: &Handle,
    ) -> io::Result<JoinSet<()>> {
        let _runtime = runtime.enter();
        listener.set_nonblocking(true)?;
        let mut listener = TcpListener::from_std(listener);
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let connections = Arc::new(Semaphore::new(self.shared.parts.connections.handshakes_max));
        let mut answering = JoinSet::new();
        let mut events = Events::with_capacity(2);
        loop {
            match poll.poll(&mut events, None) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            while let Some((tcp, from, permit)) = self.accept(&listener, &connections, runtime) {
                let is_shared = self.shared.parts.connections.proxies.may_stand_for_many(from);
                let held = self.shared.connections.hold(from, is_shared);
                let Some(held) = held else { continue };
                let handling = Arc::clone(&self).handle(tcp, from, permit, held);
                let mut handling = Box::pin(supervisor::request(handling));
                // Most finish at the first poll, on this thread. With TLS that would be too much work for one
                // thread.
                if self.shared.parts.connections.tls.is_some() || is_pending(handling.as_mut()) {
                    while answering.try_join_next().is_some() {}
                    answering.spawn(handling);
                }
            }
            fault::point();
            if self.is_stopped() {
                return Ok(answering);
            }
        }
    }

    /// The next connection, once a permit is free; `None` if no connection is waiting, or at the stop.
    fn accept(
        &self,
        listener: &TcpListener,
        connections: &Arc<Semaphore>,
        runtime: &Handle,
    ) -> Option<(net::TcpStream, IpAddr, OwnedSemaphorePermit)> {
        let mut stop = self.stop.clone();
        let permit = Arc::clone(connections).try_acquire_owned().ok().or_else(|| {
            self.shared.connections.close_one(&[Stage::Greeting]);
            runtime.block_on(async {
                tokio::select! {
                    permit = Arc::clone(connections).acquire_owned() => permit.ok(),
                    _ = stop.changed() => None,
                }
            })
        })?;
        while !self.is_stopped() {
            match listener.accept() {
                Ok((tcp, from)) if self.has_room_for(&tcp, runtime) => {
                    return Some((tcp.into(), from.ip(), permit));
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) => {
                    base::log_limited!(warn, %error, "a connection could not be accepted");
                    runtime.block_on(async { tokio::time::sleep(ACCEPT_AGAIN).await });
                }
            }
        }
        None
    }

    /// Whether the descriptor of a new connection is for connections. If few are left, another connection is closed.
    /// While few of those are closed yet, the next ones wait in the queue of the system.
    fn has_room_for(&self, tcp: &impl AsRawFd, runtime: &Handle) -> bool {
        let most = self.shared.parts.connections.descriptors_max;
        // The system gives the lowest that is free, so as many are open.
        let left = most.saturating_sub(usize::try_from(tcp.as_raw_fd()).unwrap_or(usize::MAX));
        let connections = &self.shared.connections;
        let free_min = DESCRIPTORS_FREE.min(most / 8);
        // Those that are being closed become free.
        let is_short = left <= free_min && left + connections.closing() <= free_min;
        if is_short && connections.close_one(&Stage::WAITING) || left == 0 {
            base::log_limited!(warn, "closed a connection: too many files are open");
        }
        if left <= free_min / 2 {
            runtime.block_on(timeout(CLOSE_TIME, connections.until_closed())).ok();
        }
        left > 0
    }

    fn is_stopped(&self) -> bool {
        // An error means that the sender is gone.
        self.stop.has_changed().unwrap_or(true)
    }

    /// Handles a connection and logs why it ended early. The permits count it until then.
    async fn handle(
        self: Arc<Self>,
        tcp: net::TcpStream,
        from: IpAddr,
        permit: OwnedSemaphorePermit,
        (held, _permit): (HeldConnection, Option<ConnectionPermit>),
    ) {
        let payer = TurnPayer::default();
        let mut handling = pin!(self.try_handle(tcp, (from, &payer), permit, &held));
        let handled = loop {
            tokio::select! {
                // First, so that a request that has come is noticed.
                biased;
                handled = &mut handling => break handled,
                () = held.displaced() => {}
            }
            // It may have come while the connection waited for its turn.
            payer.set(None);
            let once = poll_fn(|context| task::Poll::Ready(handling.as_mut().poll(context)));
            if let task::Poll::Ready(handled) = once.await {
                break handled;
            }
            if held.is_displaced() {
                break Err(io::Error::other("closed for another one"));
            }
        };
        if let Err(error) = handled {
            debug!(%error, "a connection ended early");
        }
    }

    /// `permit` counts connections of which nothing has been read yet.
    async fn try_handle(
        &self,
        tcp: net::TcpStream,
        (from, payer): (IpAddr, &TurnPayer),
        permit: OwnedSemaphorePermit,
        held: &HeldConnection,
    ) -> io::Result<()> {
        fault::point();
        let begun = Instant::now();
        let mut bytes = Vec::new();
        let patience =
            Duration::from_millis(self.shared.parts.settings.server.handshake_timeout_ms);
        let (mut connection, upgrade) =
            timeout(patience, self.first_upgrade(tcp, &mut bytes)).await??;
        if let Some(Upgrade { uri, mut request, length }) = upgrade
            && let Some(dialect) = ws::dialect(uri.path())
        {
            request.agree_to_deflate(&self.shared);
            let peer = self.peer(from, &bytes);
            match authorize::authenticate(&self.shared, request.presented(), None, peer).await {
                Ok(Some(caller)) => {
                    let deflates = request.deflates();
                    let verdict = ws::admit(&self.shared, caller, peer, dialect, deflates);
                    connection.answer(&request.answer()).await?;
                    let (stream, read_ahead) = connection.into_stream(bytes.split_off(length))?;
                    ws::hand_over(&self.shared, stream, read_ahead, verdict).await;
                    return Ok(());
                }
                // The router would wait for the database a second time. It would redeem a ticket again, and call it wrong: it may
                // be used up although there was no answer.
                Err(error) if request.presented().is_ticket() || error.is_away() => {
                    log_failure(&error);
                    return connection.refuse(TRY_LATER).await;
                }
                // The router has the answers, and a rate limit, for requests without a valid key.
                Ok(None) | Err(_) => {}
            }
        }
        let connections = &self.shared.connections;
        let router_permit = connections.acquire_for_router(held, is_operator(&bytes));
        let Some(router_permit) = router_permit else {
            return connection.refuse(FULL).await;
        };
        let stays = !router_permit.is_extra;
        drop(permit);
        let progress = WriteProgress::new(connections.clone());
        let activity = Activity::new(held.handle.clone(), begun, Instant::now());
        let watch = (progress, activity.clone());
        let options = self.shared.parts.connections.socket_options;
        // Until a request tells who it is.
        let may_wait =
            !is_operator(&bytes) && !self.shared.parts.connections.proxies.may_stand_for_many(from);
        payer.set(may_wait.then(|| Payer::address(from)));
        let connection = connection.into_preread(bytes, options, watch).await?;
        let answering = self.answer(connection, (from, payer), stays, (&activity, held));
        // Boxed: the future is large, and most connections never get here.
        self.turns.take(payer.clone(), Box::pin(answering)).await
    }

    /// The client behind a connection whose first request is a plain upgrade.
    fn peer(&self, from: IpAddr, request: &[u8]) -> Peer {
        let proxies = &self.shared.parts.connections.proxies;
        let reported = proxies.header.as_ref().filter(|_| proxies.trusts_connection(from));
        let headers = reported.map(|header| head::fields(request, header)).unwrap_or_default();
        proxies.peer(from, &headers)
    }

    /// Reads the first request as far as needed; `None` if it is for the router. At the stop, a request that
    /// has begun may finish, and others have a moment to begin.
    async fn first_upgrade(
        &self,
        tcp: net::TcpStream,
        bytes: &mut Vec<u8>,
    ) -> io::Result<(RawConnection, Option<Upgrade>)> {
        let mut stop = self.stop.clone();
        let first_read = async {
            let connection = match self.shared.parts.connections.tls.clone() {
                Some(tls) => {
                    let tcp = TcpStream::from_std(tcp)?;
                    RawConnection::Tls(Box::new(TlsAcceptor::from(tls).accept(tcp).await?))
                }
                None => RawConnection::Tcp(tcp),
            };
            connection.read(bytes).await
        };
        let stopped = async {
            // An error means that the sender is gone.
            stop.changed().await.ok();
            tokio::time::sleep(FIRST_BYTES_AFTER_STOP).await;
        };
        let (mut connection, mut read) = tokio::select! {
            biased;
            read = first_read => read?,
            () = stopped => return Err(ErrorKind::ConnectionAborted.into()),
        };
        while read > 0 {
            match head::parse_for_socket(bytes) {
                Head::Upgrade(upgrade) => return Ok((connection, Some(upgrade))),
                Head::Other => return Ok((connection, None)),
                Head::Incomplete => (connection, read) = connection.read(bytes).await?,
            }
        }
        Err(ErrorKind::UnexpectedEof.into())
    }

    /// Serves all requests of a connection; if it does not stay, one.
    async fn answer(
        &self,
        connection: Preread,
        (from, payer): (IpAddr, &TurnPayer),
        stays: bool,
        (activity, held): (&Activity, &HeldConnection),
    ) -> io::Result<()> {
        let service = service_fn(async |request: hyper::Request<Incoming>| {
            // hyper refuses other versions later on, so such a connection has this one request.
            let version = activity.version();
            let is_usual = version == LineVersion::Usual;
            let may_stay = stays && is_usual && keeps_alive(&request);
            let mut request = request.map(|body| activity.begin(body));
            request.extensions_mut().insert(held.handle.clone());
            request.extensions_mut().insert(version);
            let mut response = Box::pin(self.service.answer(from, request)).await;
            // A proxy's next request may be another client's.
            if !self.shared.parts.connections.proxies.may_stand_for_many(from) {
                payer.set(response.extensions().get().copied());
            }
            let status = response.status();
            let is_last = !is_usual && status != StatusCode::SWITCHING_PROTOCOLS;
            if is_last || status.as_u16() >= 400 && activity.owes_bytes() {
                // hyper closes it, unless the rest has come already.
                response.headers_mut().append(CONNECTION, HeaderValue::from_static("close"));
            } else if may_stay && status != StatusCode::SWITCHING_PROTOCOLS {
                let (name, value) = keep_alive(self.shared.connections.idle_time());
                response.headers_mut().insert(name, value);
            }
            Ok::<_, Infallible>(activity.answered(Instant::now(), response))
        });
        // Without a timer it has no time limits of its own.
        let mut connection = hyper::server::conn::http1::Builder::new()
            .max_buf_size(BUFFER_BYTES)
            .keep_alive(stays)
            .serve_connection(TokioIo::new(connection), service)
            .with_upgrades();
        let mut stop = self.stop.clone();
        let ended = tokio::select! {
            // First, so that hyper has read what has arrived. Without a byte, it would end the connection at the stop, and
            // leave the request without an answer.
            biased;
            ended = &mut connection => ended,
            expiry = activity.expired(&self.shared.connections) => match expiry {
                // It would wait for the rest of the head.
                Expiry::Head if activity.is_first() => {
                    let Some(parts) = connection.into_parts() else { return Ok(()) };
                    let mut connection = parts.io.into_inner();
                    connection.write_all(SLOW).await?;
                    return connection.shutdown().await;
                }
                // If a response is still being written, it ends first.
                Expiry::Head | Expiry::Idle => {
                    Pin::new(&mut connection).graceful_shutdown();
                    connection.await
                }
            },
            _ = stop.changed() => {
                Pin::new(&mut connection).graceful_shutdown();
                connection.await
            }
        };
        ended.map_err(io::Error::other)
    }
}

/// Whether the client of a request leaves the connection open.
fn keeps_alive<B>(request: &hyper::Request<B>) -> bool {
    let says = |word: &str| head::has_word(request.headers(), &CONNECTION, word);
    !says("close") && (request.version() >= Version::HTTP_11 || says("keep-alive"))
}

/// The header that tells a client how long it may leave the connection idle.
fn keep_alive(idle_time: Duration) -> (HeaderName, HeaderValue) {
    let value = HeaderValue::try_from(format!("timeout={}", idle_time.as_secs()));
    let value = value.unwrap_or(HeaderValue::from_static("timeout=0"));
    (HeaderName::from_static("keep-alive"), value)
}

/// Whether a first request, as far as it has arrived, is one of an operator's tool.
fn is_operator(bytes: &[u8]) -> bool {
    let path = bytes.strip_prefix(b"GET ").unwrap_or_default();
    OPERATOR_PATHS.iter().any(|beginning| path.starts_with(beginning.as_bytes()))
}

/// Polls a future once with a waker that does nothing; the next owner polls it again first.
fn is_pending(future: Pin<&mut impl Future<Output = ()>>) -> bool {
    let poll = || future.poll(&mut Context::from_waker(Waker::noop())) == task::Poll::Pending;
    // A panic ends this connection, not the thread that accepts all others.
    panic::catch_unwind(AssertUnwindSafe(poll)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_may_ask_for_the_end_of_the_connection() {
        for (version, connection, expected) in [
            (Version::HTTP_11, "", true),
            (Version::HTTP_11, "Close", false),
            (Version::HTTP_11, "keep-alive, close", false),
            (Version::HTTP_10, "", false),
            (Version::HTTP_10, "Keep-Alive", true),
        ] {
            let request = hyper::Request::builder().version(version);
            let request = request.header(CONNECTION, connection).body(()).expect("a request");
            assert_eq!(keeps_alive(&request), expected, "{version:?} {connection}");
        }
    }

    #[test]
    fn idle_time_is_announced_in_seconds() {
        for (idle_ms, expected) in [(75_000, "timeout=75"), (1_000, "timeout=1"), (10, "timeout=0")]
        {
            let (name, value) = keep_alive(Duration::from_millis(idle_ms));
            assert_eq!((name.as_str(), value.to_str().ok()), ("keep-alive", Some(expected)));
        }
    }
}
