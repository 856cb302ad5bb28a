//! One thread with its connections, its index of subscriptions, and its event loop.
//!
//! A turn of the loop takes everything that is ready: socket events and mailbox messages. Publications
//! are combined and written once to each connection that follows them. The thread blocks only while it
//! waits for events; a blocked write waits for its socket, never for a timer.

mod departures;
mod dispatch;
mod inspection;
mod lifecycle;
mod message;
mod read_queue;
mod reading;
mod request_queue;
mod schedule;
mod timers;
mod token_buckets;

use std::{
    collections::{HashSet, VecDeque},
    io,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use base::work::{Payer, Pool, measure};
use metrics::{counter, histogram};
use mio::{Events, Poll, Token};
use rustc_hash::{FxBuildHasher, FxHashMap};
use tracing::error;

pub use self::departures::Drain;
use self::{
    departures::Departures,
    inspection::Scan,
    read_queue::ReadQueue,
    request_queue::{RequestQueue, WaitingRequest},
    schedule::CheckSchedule,
};
pub(crate) use self::{
    message::ShardMessage,
    token_buckets::{TokenBucketLimits, TokenBuckets},
};
use crate::{
    Micros,
    catch_up::{Cost, HostResponse, Requester, ShardRequest},
    clock::monotonic,
    close::Close,
    connection::Connection,
    fanout::Shared,
    mailbox::{MessageBatch, Wake},
    outbox::{self, Budget},
    probe::Probe,
    replay::{ReplayRequest, ReplayResponse},
    subscribers::{Effect, SubscriberLimits, Subscribers},
};

/// How often timers are checked.
const TICK_US: Micros = 20_000;

/// How often connections that are slow or closing are checked.
const SLOW_TICK_US: Micros = 100_000;

/// New connections in a turn, and requests of this shard that may be pending at a time, at least and at
/// most. So a burst of joins is served as fast as the host responds, and delays live readers about as
/// much as they delay each other.
const JOINS_MIN: usize = 64;
const JOINS_MAX: usize = 1024;

/// More than twice the cost of a join, in microseconds. As many joins as fit into the length of the last
/// turn at this cost make the next turn at most about twice as long.
const JOIN_US: Micros = 60;

/// Events taken from the system at a time.
const EVENTS: usize = 1024;

/// Bytes read from a socket at a time, into a buffer that all connections share.
const READ_BYTES: usize = 8 * 1024;

/// The token of the mailbox; all other tokens are slots.
const MAILBOX: Token = Token(usize::MAX);

impl Wake for mio::Waker {
    fn wake(&self) {
        if let Err(error) = Self::wake(self) {
            error!(%error, "a shard could not be woken");
        }
    }
}

/// The poll of a shard, and its waker.
pub(crate) fn poll() -> io::Result<(Poll, mio::Waker)> {
    let poll = Poll::new()?;
    let waker = mio::Waker::new(poll.registry(), MAILBOX)?;
    Ok((poll, waker))
}

pub(crate) struct Shard {
    number: usize,
    shared: Arc<Shared>,
    poll: Poll,
    subscribers: Subscribers<Connection>,
    buffer: Box<[u8]>,
    /// Connections to read from in the next turns, even without a socket event.
    unread: ReadQueue,
    /// Connections that are closing.
    closing: HashSet<usize, FxBuildHasher>,
    /// Those of them whose streams are not ended yet. A slot may have been reused meanwhile.
    hanging_up: Vec<usize>,
    /// Requests that wait until fewer are pending.
    requests: RequestQueue,
    /// New connections in a turn and pending requests, for now.
    joins_max: usize,
    /// Processor time of the host's answers in this turn.
    answering: Duration,
    /// Processor time that is not charged yet: it is at the end of a turn.
    uncharged: FxHashMap<(Payer, Pool), Duration>,
    /// Connections whose commands wait because their payer is in debt.
    indebted: Vec<(usize, u64)>,
    schedule: CheckSchedule,
    /// The operator's lists that are being made, in the order in which they were requested.
    scans: VecDeque<Scan>,
    /// The shard drains: new connections are closed too.
    draining: Option<Drain>,
    departures: Option<Departures>,
    /// The probes of this turn, and when they were taken, by [`Host::stamp`](crate::catch_up::Host::stamp).
    probes: Vec<(Arc<dyn Probe>, Micros)>,
    stopping: bool,
}

impl Shard {
    pub(crate) fn new(number: usize, shared: Arc<Shared>, poll: Poll) -> Self {
        let limits = &shared.limits;
        let budget = Budget {
            bytes: limits.outbox_bytes,
            frame_bytes: outbox::FRAME_BYTES,
            age_us: limits.outbox_age_us(),
        };
        let subscriber_limits = SubscriberLimits { budget, write_bytes: limits.write_bytes_max };
        let now = monotonic();
        let schedule = CheckSchedule {
            tick_due: now + TICK_US,
            slow_due: now + SLOW_TICK_US,
            round_us: limits.round_us(),
            next: 0,
            carry: 0,
        };
        Self {
            number,
            shared,
            poll,
            subscribers: Subscribers::new(subscriber_limits),
            buffer: vec![0; READ_BYTES].into(),
            unread: ReadQueue::default(),
            closing: HashSet::default(),
            hanging_up: Vec::new(),
            requests: RequestQueue::default(),
            joins_max: JOINS_MIN,
            answering: Duration::ZERO,
            uncharged: FxHashMap::default(),
            indebted: Vec::new(),
            schedule,
            scans: VecDeque::new(),
            draining: None,
            departures: None,
            probes: Vec::new(),
            stopping: false,
        }
    }

    /// Runs until it is stopped and every connection has ended.
    pub(crate) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        let mut more = false;
        loop {
            let now = monotonic();
            let due = self.unread.due().unwrap_or(Micros::MAX).min(self.schedule.tick_due);
            let busy = more || self.subscribers.has_ready();
            let wait = if busy { 0 } else { u64::try_from(due - now).unwrap_or(0) };
            match self.poll.poll(&mut events, Some(Duration::from_micros(wait))) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return error!(%error, shard = self.number, "cannot get events"),
            }
            more = self.turn(&events);
            if self.stopping && self.subscribers.is_empty() {
                return;
            }
        }
    }

    /// Handles everything that is ready. Returns whether new connections or a part of a list are left for the next turn.
    fn turn(&mut self, events: &Events) -> bool {
        let now = monotonic();
        self.subscribers.set_stamp_offset(self.shared.host.stamp() - now);
        for event in events {
            let slot = event.token().0;
            if event.token() == MAILBOX {
                continue;
            }
            if event.is_writable() {
                self.subscribers.writable(slot);
            }
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                if let Some(subscriber) = self.subscribers.get_mut(slot) {
                    subscriber.sink.set_readable();
                }
                self.read_soon(slot);
            }
        }
        self.read_all(now);
        let more = self.take_messages(now);
        // Those of all connections together, so that the host wakes once, and works while this writes.
        self.submit_waiting(now);
        self.subscribers.flush(now);
        for (probe, taken) in self.probes.drain(..) {
            probe.written(self.number, taken, self.shared.host.stamp());
        }
        self.apply_effects(now);
        if now >= self.schedule.tick_due {
            self.tick(now);
        }
        // Those of readers that fell behind, and of payers that have paid their debts.
        self.submit_waiting(now);
        self.hang_up();
        self.charge_used();
        let is_scanning = self.scan(now);
        let done = monotonic();
        if let Some(oldest) = self.subscribers.take_oldest_written() {
            let delay = self.shared.host.stamp() - oldest;
            histogram!("matchwire_delivery_delay_seconds").record(seconds(delay));
        }
        // Without the answers themselves, or dear ones would make room for more of them.
        let answering =
            Micros::try_from(std::mem::take(&mut self.answering).as_micros()).unwrap_or(0);
        let took = usize::try_from((done - now - answering) / JOIN_US).unwrap_or(0);
        self.joins_max = took.clamp(JOINS_MIN, JOINS_MAX);
        self.shared.mailboxes[self.number].mark_processed();
        self.shared.notify_progress(self.number, self.subscribers.is_crowded(now));
        more || is_scanning
    }

    fn take_messages(&mut self, now: Micros) -> bool {
        let shared = Arc::clone(&self.shared);
        let mailbox = &shared.mailboxes[self.number];
        let MessageBatch { messages, deferrable, more } = mailbox.take(self.joins_max);
        deferrable.into_iter().for_each(|connect| self.handle_message(connect, now));
        for message in messages {
            if matches!(
                message,
                ShardMessage::CloseKey(..) | ShardMessage::Permit(..) | ShardMessage::Drain(_)
            ) {
                // Connections that arrived before are meant too.
                mailbox.take_deferrable().for_each(|connect| self.handle_message(connect, now));
            }
            self.handle_message(message, now);
        }
        self.subscribers.broadcast(now);
        more
    }

    fn handle_message(&mut self, message: ShardMessage, now: Micros) {
        match message {
            ShardMessage::Publish(rate, publication) => {
                return self.subscribers.publish(rate, publication, now);
            }
            ShardMessage::Opened(image) => self.subscribers.channel_opened(&image, now),
            ShardMessage::Closed(channel) => self.subscribers.channel_closed(&channel, now),
            ShardMessage::Probe(probe) => {
                return self.probes.push((probe, self.shared.host.stamp()));
            }
            ShardMessage::Response(requester, response, cost) => {
                self.handle_response(requester, (response, cost), now);
            }
            ShardMessage::Deferred(Requester { generation, payer, .. }) => {
                self.requests.defer(payer, generation);
            }
            ShardMessage::Replay(requester, response) => {
                self.handle_replay(requester, response, now);
            }
            ShardMessage::Connect(connection) => self.connect(*connection, now),
            ShardMessage::CloseKey(key, close) => self.close_key(key, close, now),
            ShardMessage::Permit(key, permission, expiry) => {
                self.permit(key, &permission, expiry, now)
            }
            ShardMessage::Drain(drain) => self.drain(drain, now),
            ShardMessage::Inspect(inspection) => self.inspect(*inspection, now),
            ShardMessage::EndDrain => (self.draining, self.departures) = (None, None),
            ShardMessage::Stale(since) => self.subscribers.set_stale(since, now),
            ShardMessage::Stop => self.stopping = true,
            ShardMessage::Overflow => {
                counter!("matchwire_mailbox_overflows_total").increment(1);
                self.subscribers.mark_all_behind(now);
            }
        }
        self.apply_effects(now);
    }

    fn handle_response(
        &mut self,
        requester: Requester,
        (response, cost): (HostResponse, Cost),
        now: Micros,
    ) {
        let Requester { slot, generation, payer, .. } = requester;
        self.shared.token_buckets.charge_response(payer, cost.bytes, now);
        self.charge(payer, Pool::Writer, cost.used);
        self.shared.followed.store(true, Ordering::Relaxed);
        let used = self
            .apply_answer(requester, |subscribers| subscribers.apply_response(slot, response, now));
        self.answering += used;
        self.requests.done(payer, slot, generation, cost.used + used);
    }

    fn handle_replay(&mut self, requester: Requester, response: ReplayResponse, now: Micros) {
        let Requester { slot, payer, .. } = requester;
        let (buckets, cost) = (&self.shared.token_buckets, response.cost);
        if response.is_answer() {
            buckets.charge_response(payer, cost.bytes, now);
        } else {
            buckets.charge_work(payer, cost.bytes, now);
        }
        self.charge(payer, Pool::Replays, cost.used);
        self.apply_answer(requester, |subscribers| {
            subscribers.apply_replay_response(slot, response, now)
        });
    }

    /// Applies what has come for a connection, at the cost of its payer. Returns the processor time.
    fn apply_answer(
        &mut self,
        Requester { slot, generation, payer, .. }: Requester,
        apply: impl FnOnce(&mut Subscribers<Connection>),
    ) -> Duration {
        let connection = self.connection(slot, generation);
        if connection.is_none_or(|connection| connection.is_closing()) {
            return Duration::ZERO;
        }
        let ((), used) = measure(|| apply(&mut self.subscribers));
        self.charge(payer, Pool::Shard, used);
        // Commands may have waited for it.
        self.read_soon(slot);
        used
    }

    /// Carries out what the subscribers require.
    fn apply_effects(&mut self, now: Micros) {
        for (slot, effect) in self.subscribers.take_effects() {
            let Some(subscriber) = self.subscribers.get(slot) else { continue };
            let (generation, payer) = (subscriber.sink.generation, subscriber.sink.payer());
            let picks = subscriber.session.picks();
            match effect {
                Effect::Submit(request) => {
                    let is_dear = picks || request.is_dear();
                    let waiting = WaitingRequest { slot, generation, request };
                    self.requests.push(payer, waiting, is_dear);
                }
                Effect::Replay(replay, command) => {
                    let requester = Requester { shard: self.number, slot, generation, payer };
                    self.shared.host.replay(ReplayRequest { requester, replay, command });
                }
                Effect::Resume => self.read_soon(slot),
                Effect::TooSlow => self.close(slot, Close::TooSlow, now),
                Effect::Failed => self.remove(slot, generation, now),
            }
        }
    }

    /// Submits requests to the host, as many as may be pending. Those of a payer in debt that are dear wait, but those
    /// that catch readers up.
    fn submit_waiting(&mut self, now: Micros) {
        while self.requests.pending() < self.joins_max {
            // One payer has at most half of them, if there are others.
            let share = if self.requests.is_shared() { 2 } else { 1 };
            let next = self.requests.pop(self.joins_max / share, |payer, request| {
                !request.is_dear() || !self.shared.is_in_debt(payer, now)
            });
            let Some((payer, WaitingRequest { slot, generation, request })) = next else { return };
            if self.connection(slot, generation).is_some() {
                let requester = Requester { shard: self.number, slot, generation, payer };
                self.shared.host.submit(ShardRequest { requester, request });
            } else {
                self.requests.forget(payer, slot, generation);
            }
        }
    }

    /// Counts processor time, until it is charged with that of the turn.
    fn charge(&mut self, payer: Payer, pool: Pool, used: Duration) {
        *self.uncharged.entry((payer, pool)).or_default() += used;
    }

    /// Charges the processor time of a turn.
    fn charge_used(&mut self) {
        if self.uncharged.is_empty() {
            return;
        }
        let work = &self.shared.limits.work;
        let now = work.now();
        for ((payer, pool), used) in self.uncharged.drain() {
            work.charge(payer, pool, used, now);
        }
    }

    fn connection(&mut self, slot: usize, generation: u64) -> Option<&mut Connection> {
        let subscriber = self.subscribers.get_mut(slot)?;
        Some(&mut subscriber.sink).filter(|connection| connection.generation == generation)
    }

    /// Who pays for a connection.
    fn payer(&self, slot: usize) -> Payer {
        self.subscribers.get(slot).map_or(Payer::Hub, |subscriber| subscriber.sink.payer())
    }
}

fn seconds(span: Micros) -> f64 {
    span as f64 / 1e6
}
