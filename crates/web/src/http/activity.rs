//! What happens on one connection: whether a request is being answered, whether the next has begun, and whether a body is still
//! to come. The connection, its transport and its requests share it, all in one task.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, HttpBody},
    response::Response,
};
use base::work::{Busy, Slot};
use bytes::Bytes;
use hyper::body::{Frame, Incoming};
use tokio::time::{Instant, sleep_until};

use super::{
    connections::Connections,
    head::{self, FirstLine, LineVersion},
    holders::{ConnectionHandle, Stage},
};

/// How often an idle connection is checked: how long it may be idle changes with the number of connections.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// How long a long head may take from its turn on while others wait for theirs. One that has come is read at once.
const TURN_TIME: Duration = Duration::from_millis(250);

/// How much longer than announced a connection may be idle, at most: a request may be on its way when the announced time is over.
const GRACE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(super) struct Activity {
    state: Arc<Mutex<State>>,
    handle: ConnectionHandle,
}

#[derive(Debug)]
struct State {
    /// No request has come yet.
    is_first: bool,
    first_line: FirstLine,
    /// A handler has not returned its response yet.
    is_answering: bool,
    /// The client has not sent the whole body of its last request, or hyper has refused what it sent as a head.
    owes_bytes: bool,
    /// When the head of a request began of which the rest has not come, and how much of it was read.
    head_begun: Option<Instant>,
    head_bytes: usize,
    /// Since when the rest of a long head may be read.
    turn: Option<(Instant, Slot)>,
    /// The whole response is there, and not written yet.
    is_ending: bool,
    /// When a byte was read or written.
    last: Instant,
}

/// Why a connection is to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expiry {
    /// The head of a request takes too long.
    Head,
    Idle,
}

impl State {
    /// When and why a connection is closed if nothing happens; `None` while a request is answered. `others_wait`: for the turns
    /// of their long heads.
    fn expiry(
        &self,
        head_time: Duration,
        idle_time: Duration,
        others_wait: bool,
    ) -> Option<(Instant, Expiry)> {
        let turn_end = self.turn.as_ref().map(|(since, _)| *since + TURN_TIME);
        match self.head_begun {
            _ if self.is_answering => None,
            Some(begun) => {
                let end = begun + head_time;
                let turn_end = turn_end.filter(|_| others_wait).unwrap_or(end);
                Some((end.min(turn_end), Expiry::Head))
            }
            None => Some((self.last + idle_time + GRACE.min(idle_time / 4), Expiry::Idle)),
        }
    }
}

impl Activity {
    /// Of a connection that has sent a part of a head, whose time began when the connection was accepted.
    pub(super) fn new(handle: ConnectionHandle, accepted: Instant, now: Instant) -> Self {
        let state = State {
            is_first: true,
            first_line: FirstLine::default(),
            is_answering: false,
            owes_bytes: false,
            head_begun: Some(accepted),
            head_bytes: 0,
            turn: None,
            is_ending: false,
            last: now,
        };
        Self { state: Arc::new(Mutex::new(state)), handle }
    }

    /// The first bytes of a connection, which may be changed so that hyper reads its version.
    pub(super) fn read_first(&self, bytes: &mut [u8]) {
        self.state().first_line.read(bytes);
    }

    /// Which version of HTTP the first line had.
    pub(super) fn version(&self) -> LineVersion {
        self.state().first_line.version
    }

    /// Something was read; as with [`Self::read_first`].
    pub(super) fn read(&self, part: &mut [u8], now: Instant) {
        let (mut state, bytes) = (self.state(), part.len());
        state.first_line.read(part);
        state.last = now;
        if !state.is_answering {
            state.head_begun.get_or_insert(now);
            state.head_bytes += bytes;
        }
    }

    /// Whether the rest of a head is read only in turn with those of other connections.
    pub(super) fn needs_turn(&self) -> bool {
        let state = self.state();
        !state.is_answering && state.head_bytes > head::BYTES_MAX && state.turn.is_none()
    }

    /// Waits for that turn, which ends with the head.
    pub(super) async fn take_turn(self) -> Result<(), Busy> {
        let slot = self.handle.long_head_turn().await?;
        self.state().turn = Some((Instant::now(), slot));
        Ok(())
    }

    /// Something was written.
    pub(super) fn written(&self, now: Instant) {
        let mut state = self.state();
        // The end of a response while the next head has begun looks the same; that head then begins a request.
        state.owes_bytes |= !state.is_answering && state.head_begun.is_some();
        (state.last, state.head_begun, state.turn) = (now, None, None);
    }

    /// A request begins to be answered. Returns its body, whose end is noticed.
    pub(super) fn begin(&self, body: Incoming) -> Body {
        let owes_bytes = !body.is_end_stream();
        let mut state = self.state();
        (state.is_first, state.is_answering) = (false, true);
        (state.owes_bytes, state.head_begun) = (owes_bytes, None);
        (state.head_bytes, state.turn, state.is_ending) = (0, None, false);
        drop(state);
        self.enter(if owes_bytes { Stage::Body } else { Stage::Answering });
        if !owes_bytes {
            return Body::empty();
        }
        Body::new(WatchedBody { body, activity: self.clone(), is_response: false })
    }

    /// Whether no request has come yet.
    pub(super) fn is_first(&self) -> bool {
        self.state().is_first
    }

    /// A handler has returned the response. One whose body is made while it is written ends with that.
    pub(super) fn answered(&self, now: Instant, response: Response) -> Response {
        let is_whole = response.body().size_hint().exact().is_some();
        let mut state = self.state();
        (state.is_answering, state.last, state.is_ending) = (false, now, is_whole);
        drop(state);
        if is_whole {
            return response;
        }
        let activity = self.clone();
        response.map(|body| Body::new(WatchedBody { body, activity, is_response: true }))
    }

    /// All that there is has been written.
    pub(super) fn flushed(&self) {
        if std::mem::take(&mut self.state().is_ending) {
            self.enter(Stage::Idle);
        }
    }

    fn enter(&self, stage: Stage) {
        self.handle.update(|holders, id| holders.enter(id, stage));
    }

    /// Whether a part of a request is still to come that nobody reads.
    pub(super) fn owes_bytes(&self) -> bool {
        self.state().owes_bytes
    }

    /// Waits until the connection is to be closed.
    pub(super) async fn expired(&self, connections: &Connections) -> Expiry {
        loop {
            let (head_time, idle_time) = (connections.head_time(), connections.idle_time());
            let (expiry, check_after) = {
                let state = self.state();
                let has_turn = state.turn.is_some();
                let others_wait = has_turn && self.handle.is_waited_for();
                let check_after = if has_turn { TURN_TIME } else { CHECK_EVERY };
                (state.expiry(head_time, idle_time, others_wait), check_after)
            };
            let now = Instant::now();
            let next = match expiry {
                Some((at, expiry)) if at <= now => return expiry,
                Some((at, _)) => at.min(now + check_after),
                None => now + check_after,
            };
            sleep_until(next).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of a request, which tells when it has come, or of a response, which tells when it is used up.
struct WatchedBody<B> {
    body: B,
    activity: Activity,
    is_response: bool,
}

impl<B> Drop for WatchedBody<B> {
    fn drop(&mut self) {
        self.activity.state().is_ending |= self.is_response;
    }
}

impl<B: HttpBody<Data = Bytes> + Unpin> HttpBody for WatchedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let is_end =
            matches!(polled, Poll::Ready(None)) || polled.is_ready() && self.body.is_end_stream();
        if is_end && !self.is_response && std::mem::take(&mut self.activity.state().owes_bytes) {
            self.activity.enter(Stage::Answering);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use base::work::Payer;
    use futures_util::FutureExt as _;

    use super::*;
    use crate::http::holders::{HeldConnection, HolderTable};

    fn activity(accepted: Instant, now: Instant) -> Activity {
        held_activity(accepted, now).1
    }

    fn held_activity(accepted: Instant, now: Instant) -> (HeldConnection, Activity) {
        let held = HolderTable::new(1).add(Payer::Hub, false);
        let activity = Activity::new(held.handle.clone(), accepted, now);
        (held, activity)
    }

    const HEAD: Duration = Duration::from_secs(10);
    const IDLE: Duration = Duration::from_secs(75);

    /// hyper answers a head that it cannot read without a request.
    #[test]
    fn refused_head_leaves_bytes_to_come() {
        let now = Instant::now();
        let activity = activity(now, now);
        activity.written(now);
        assert!(activity.owes_bytes(), "the first head");
        activity.state().owes_bytes = false;
        activity.read(&mut [b'x'], now);
        activity.state().is_answering = true;
        activity.written(now);
        assert!(!activity.owes_bytes(), "an interim response");
        let response = activity.answered(now, Response::default());
        assert_eq!(response.body().size_hint().exact(), Some(0));
        activity.written(now);
        assert!(!activity.owes_bytes(), "a response");
        activity.read(&mut [b'x'], now);
        activity.written(now);
        assert!(activity.owes_bytes(), "a later head");
    }

    /// One of server-sent events left its connection in the stage that is closed last.
    #[tokio::test]
    async fn connection_is_idle_after_each_kind_of_response() {
        let (table, now) = (HolderTable::new(1), Instant::now());
        let held = table.add(Payer::Hub, false);
        let activity = Activity::new(held.handle.clone(), now, now);
        let stage = || held.handle.update(|holders, id| holders.stage(id));
        let part = b"data: 1\n\n".as_slice();
        let parts = futures_util::stream::iter([Ok::<_, Infallible>(part)]);
        let events = Body::from_stream(parts);
        for (body, is_whole) in [(Body::from("all"), true), (events, false), (Body::empty(), true)]
        {
            activity.enter(Stage::Answering);
            let response = activity.answered(now, Response::new(body));
            if !is_whole {
                activity.flushed();
                assert_eq!(stage(), Some(Stage::Answering), "the stream goes on");
                let all = axum::body::to_bytes(response.into_body(), 99).await;
                assert_eq!(all.expect("a body").as_ref(), part);
            }
            activity.flushed();
            assert_eq!(stage(), Some(Stage::Idle));
        }
    }

    #[test]
    fn long_heads_are_read_in_turn() {
        let (table, now) = (HolderTable::new(1_000), Instant::now());
        let long = |account: u64| {
            let held = table.add(Payer::Account(account), false);
            let activity = Activity::new(held.handle.clone(), now, now);
            activity.read(&mut [b'x'; head::BYTES_MAX], now);
            assert!(!activity.needs_turn(), "short so far");
            activity.read(&mut [b'x'], now);
            assert!(activity.needs_turn());
            let turn = Box::pin(activity.clone().take_turn());
            (held, activity, turn)
        };
        let mut one: Vec<_> = (0..100).map(|_| long(1)).collect();
        let mut others: Vec<_> = (2..102).map(long).collect();
        let [of_one, of_others] = [&mut one, &mut others].map(|all| {
            let turns = all.iter_mut().map(|(_, _, turn)| turn.as_mut().now_or_never());
            turns.filter(|taken| matches!(taken, Some(Ok(())))).count()
        });
        assert_eq!((of_one, of_others), (16, 48), "one holder has its share");
        assert!(!one[0].1.needs_turn() && one[16].1.needs_turn());
        // A head that has come, one that is refused and one whose connection has ended make room.
        one[0].1.state().turn = None;
        others[0].1.written(now);
        drop(others.remove(1));
        let mut waiting = others.split_off(47);
        let turns = waiting.iter_mut().map(|(_, _, turn)| turn.as_mut().now_or_never());
        assert_eq!(turns.flatten().count(), 3, "each holder in turn");
        assert!(one[16].2.as_mut().now_or_never().is_none());
    }

    #[test]
    fn connection_expires_by_what_it_waits_for() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let (_held, activity) = held_activity(at(0), at(3));
        let check = |seconds: Option<(u64, Expiry)>, what: &str| {
            let expected = seconds.map(|(seconds, expiry)| (at(seconds), expiry));
            assert_eq!(activity.state().expiry(HEAD, IDLE, true), expected, "{what}");
        };
        check(Some((10, Expiry::Head)), "the first head counts from the connection");
        activity.read(&mut [b'x'], at(4));
        check(Some((10, Expiry::Head)), "a slow head gets no more time");
        activity.state().is_answering = true;
        activity.read(&mut [b'x'], at(20));
        check(None, "a request is answered");
        activity.written(at(30));
        activity.answered(at(31), Response::default());
        check(Some((111, Expiry::Idle)), "it is idle, and closed later than announced");
        activity.written(at(40));
        check(Some((120, Expiry::Idle)), "the body of the response goes on");
        activity.read(&mut [b'x'], at(50));
        activity.read(&mut [b'x'], at(55));
        check(Some((60, Expiry::Head)), "the next head has begun");
        let slot = activity.handle.long_head_turn().now_or_never().expect("a turn").expect("room");
        activity.state().turn = Some((at(51), slot));
        let end = |others_wait| activity.state().expiry(HEAD, IDLE, others_wait);
        assert_eq!(end(true), Some((at(51) + TURN_TIME, Expiry::Head)), "others wait");
        assert_eq!(end(false), Some((at(60), Expiry::Head)), "nobody waits");
    }
}
