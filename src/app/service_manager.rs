//! Receives the listening socket from a service manager such as systemd, notifies it, and feeds its watchdog.

use std::{
    future, io,
    net::{self, SocketAddr},
    time::Duration,
};

use base::supervisor::{self, Lifetime};
use hub::{log_state::LogState, pipeline::HubHandle};
use listenfd::ListenFd;
use sd_notify::NotifyState;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
    time::{interval, timeout},
};
use tracing::warn;

use super::AppError;

/// The time that a step of the start asks for, again and again.
const EXTENSION: Duration = Duration::from_secs(60);

/// The listening socket that the service manager has opened and keeps (`LISTEN_FDS`); `None` without one. Connections
/// that come between the end of one process and the start of the next wait in it.
///
/// # Errors
///
/// If there are several, or it is not a TCP socket.
pub(super) fn listener() -> Result<Option<net::TcpListener>, AppError> {
    let mut sockets = ListenFd::from_env();
    if sockets.len() > 1 {
        return Err(AppError::PassedSockets(sockets.len()));
    }
    let Some(listener) = sockets.take_tcp_listener(0).map_err(AppError::PassedSocket)? else {
        return Ok(None);
    };
    listener.set_nonblocking(true).map_err(AppError::PassedSocket)?;
    Ok(Some(listener))
}

/// Runs a step of the start that may take longer than the service manager allows, such as the migration of a large
/// database, and asks it for more time meanwhile.
pub(super) async fn extending_start<T>(step: impl Future<Output = T>) -> T {
    let asking = async {
        loop {
            let more = EXTENSION.as_micros().try_into().unwrap_or(u32::MAX);
            notify(&[NotifyState::ExtendTimeoutUsec(more)]);
            tokio::time::sleep(EXTENSION / 4).await;
        }
    };
    tokio::select! {
        done = step => done,
        never = asking => never,
    }
}

/// How long the watchdog is fed from the beginning of such a start. One that takes longer is taken to hang.
const START_WITHIN: Duration = Duration::from_secs(300);

/// The feed of the watchdog during a start ends when this is dropped.
pub(super) type StartFeed = oneshot::Sender<()>;

/// Feeds the watchdog of the service manager, if it has one, while the hub starts again: it watches since the hub was ready
/// for the first time. Once the hub serves, [`is_serving`] feeds it.
pub(super) fn feed_at_restart() -> StartFeed {
    let (start, is_over) = oneshot::channel();
    let period = sd_notify::watchdog_enabled().filter(|period| !period.is_zero());
    if let Some(period) = period.filter(|_| supervisor::has_restarted()) {
        let feeding = feed_start(period, is_over, || notify(&[NotifyState::Watchdog]));
        supervisor::spawn("watchdog", Lifetime::Finite, feeding);
    }
    start
}

async fn feed_start(period: Duration, is_over: oneshot::Receiver<()>, feed: impl Fn()) {
    let feeding = timeout(START_WITHIN, feed_watchdog(period, |_| future::ready(None), feed));
    tokio::select! { _ = feeding => {}, _ = is_over => {} }
}

/// A request that needs no key.
const HTTP_PROBE: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// Waits for an image, which the writer renders and the committer hands out. While the log refuses records both wait,
/// and another process would fare no better.
async fn writer_responds(hub_handle: HubHandle, log_state: LogState) {
    if log_state.refused_since().is_none() {
        hub_handle.image("feeds").await.ok();
    }
}

/// Waits for the first byte of a response, or of an alert of TLS. A hub that closes the connection at once is full, and
/// works.
async fn http_responds(address: SocketAddr) -> io::Result<()> {
    let mut tcp = TcpStream::connect(address).await?;
    tcp.write_all(HTTP_PROBE).await?;
    tcp.read(&mut [0]).await.map(drop)
}

/// Notifies the service manager that clients are served at this address. If it has a watchdog, feeds it as long as the
/// writer and the HTTP server respond.
pub(super) fn is_serving(hub_handle: &HubHandle, log_state: &LogState, address: SocketAddr) {
    is_ready();
    let period = sd_notify::watchdog_enabled().filter(|period| !period.is_zero());
    let Some(period) = period else { return };
    let (hub_handle, log_state) = (hub_handle.clone(), log_state.clone());
    let silent_part = move |within| {
        let writer = timeout(within, writer_responds(hub_handle.clone(), log_state.clone()));
        let http = timeout(within, http_responds(address));
        async move {
            match tokio::join!(writer, http) {
                (Err(_), _) => Some("writer"),
                (_, Err(_)) => Some("http"),
                (Ok(()), Ok(_)) => None,
            }
        }
    };
    let feeding = feed_watchdog(period, silent_part, || notify(&[NotifyState::Watchdog]));
    supervisor::spawn("watchdog", Lifetime::Finite, feeding);
}

/// Feeds a watchdog four times in its period. `silent_part` waits, and names the part that has not
/// responded in this time.
async fn feed_watchdog<F: Future<Output = Option<&'static str>>>(
    period: Duration,
    silent_part: impl Fn(Duration) -> F,
    feed: impl Fn(),
) {
    let mut tick = interval(period / 4);
    loop {
        tick.tick().await;
        match silent_part(period / 4).await {
            None => feed(),
            Some(part) => warn!(part, "does not respond: the watchdog of the service is not fed"),
        }
    }
}

/// Notifies the service manager, if there is one, that clients are served.
pub(super) fn is_ready() {
    notify(&[NotifyState::Ready]);
}

/// Notifies the service manager that the settings are being reloaded. [`is_ready`] ends it.
pub(super) fn is_reloading() {
    // systemd wants the time too, to tell this reload from an earlier one.
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        notify(&[NotifyState::Reloading, now]);
    }
}

/// Notifies the service manager that the hub stops.
pub(super) fn is_stopping() {
    notify(&[NotifyState::Stopping]);
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        warn!(error = &error as &dyn std::error::Error, "the service manager cannot be notified");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hub::pipeline::channel;
    use record::ids::PublicIds;
    use std::cell::{Cell, RefCell};
    use tokio::time::{Instant, sleep};

    #[tokio::test(start_paused = true)]
    async fn watchdog_is_fed_while_all_parts_respond() {
        let (began, round) = (Instant::now(), Cell::new(0));
        let fed = RefCell::new(Vec::new());
        let respond = |within| {
            round.set(round.get() + 1);
            let late = [2, 3].contains(&round.get());
            async move {
                if late {
                    sleep(within).await;
                }
                late.then_some("writer")
            }
        };
        let feed = || fed.borrow_mut().push(began.elapsed().as_secs());
        let feeding = feed_watchdog(Duration::from_secs(60), respond, feed);
        timeout(Duration::from_secs(80), feeding).await.expect_err("it feeds for ever");
        assert_eq!(*fed.borrow(), [0, 45, 60, 75]);
    }

    #[tokio::test(start_paused = true)]
    async fn watchdog_is_fed_for_some_minutes_of_a_start() {
        let (began, fed) = (Instant::now(), RefCell::new(Vec::new()));
        let feed = || fed.borrow_mut().push(began.elapsed().as_secs());
        let (_start, is_over) = oneshot::channel();
        feed_start(Duration::from_secs(60), is_over, feed).await;
        let expected: Vec<_> = (0..START_WITHIN.as_secs()).step_by(15).collect();
        assert!(fed.borrow().starts_with(&expected), "{fed:?}");
        assert_eq!(began.elapsed().as_secs(), START_WITHIN.as_secs(), "it is bounded");
    }

    /// Then only parts that respond feed it.
    #[tokio::test(start_paused = true)]
    async fn watchdog_is_not_fed_for_a_start_that_is_over() {
        let (began, fed) = (Instant::now(), Cell::new(0));
        let (start, is_over) = oneshot::channel();
        let starting = async {
            sleep(Duration::from_secs(40)).await;
            drop(start);
        };
        let feed = || fed.set(fed.get() + 1);
        tokio::join!(feed_start(Duration::from_secs(60), is_over, feed), starting);
        assert_eq!((began.elapsed().as_secs(), fed.get()), (40, 3));
    }

    #[tokio::test]
    async fn http_responds_by_a_byte_or_an_end() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let answer = async |response: &[u8]| {
            let (mut tcp, _) = listener.accept().await.expect("a connection");
            let mut request = vec![0; HTTP_PROBE.len()];
            tcp.read_exact(&mut request).await.expect("a request");
            tcp.write_all(response).await.expect("it is sent");
        };
        for response in [&b"HTTP/1.1 200 OK\r\n\r\n"[..], b"\x15\x03", b""] {
            let (responded, ()) = tokio::join!(http_responds(address), answer(response));
            responded.expect("it responds");
        }
        timeout(Duration::from_millis(10), http_responds(address)).await.expect_err("it is silent");
    }

    #[tokio::test(start_paused = true)]
    async fn writer_is_not_asked_while_the_log_refuses_records() {
        let (hub_handle, _receivers) = channel(1, 1, PublicIds::default());
        let log_state = LogState::default();
        let second = Duration::from_secs(1);
        let writer = || timeout(second, writer_responds(hub_handle.clone(), log_state.clone()));
        writer().await.expect_err("nobody renders the image");
        log_state.set_refusal(Some("full".to_owned()));
        writer().await.expect("it is excused");
    }
}
