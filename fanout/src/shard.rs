//! One thread: its connections, its part of the index, and the turns in which it serves them.
//!
//! A turn takes all that is ready: what sockets tell, and what lies in the mailbox. Publications are
//! put together and written once to each connection that follows them. Nothing here waits but for
//! the next event; writes wait for their socket, never for a timer.

mod clock;
mod credit;
mod item;
mod said;

use std::{
    collections::{HashSet, VecDeque},
    io, mem,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use metrics::{counter, gauge, histogram};
use mio::{Events, Poll, Token};
use rustc_hash::FxBuildHasher;
use tracing::{debug, error};

pub(crate) use self::item::Item;
use self::{
    clock::Clock,
    credit::{Credit, CreditLimits},
    said::{error, live_error},
};
use crate::{
    Micros,
    subscribers::{Subscribers, Effect, SubscriberLimits},
    catch_up::{HostResponse, ShardRequest, Requester, HostRequest},
    channel::{Channel, Epoch},
    clock::monotonic,
    close::Close,
    connection::{Arrival, Connection, ECHO_LIMITS, Overdue, Purpose, Reading},
    encode,
    fanout::Shared,
    live,
    mailbox::{Taken, Wake},
    outbox::{self, Budget},
    permission::{Classes, Permission},
    protocol::{self, Code, Hello, HelloLimits, Lag},
    session::{Dialect, Session},
    socket::Socket,
};

/// How often time alone is looked at.
const TICK_US: Micros = 20_000;

/// How often connections that are slow or closing are looked at.
const SLOW_TICK_US: Micros = 100_000;

/// How often a slow client is told how far it is behind.
const LAG_EVERY_US: Micros = 1_000_000;

/// Messages of one connection taken before others get their turn.
const MESSAGES_A_TURN: usize = 32;

/// Connections that are taken over at a turn, and questions of this shard that may be open at a
/// time, at least and at most: a storm of joins goes as fast as it is answered, and holds up a live
/// reader about as long as the others who are live do.
const JOINS_MIN: usize = 64;
const JOINS_MAX: usize = 1024;

/// More than twice what a join takes, in microseconds: so many joins as fit into the last turn at
/// this price make the next one no longer than twice what it would be without them.
const JOIN_US: Micros = 60;

/// Events taken from the system at a time.
const EVENTS: usize = 1024;

/// Bytes read from a socket at a time, into a buffer that all connections share.
const READ_BYTES: usize = 8 * 1024;

/// Reads from one connection before others get their turn: one that brings a command, and one that
/// finds that there is no more.
const READS_A_TURN: usize = 2;

/// The token of the mailbox; all others are slots.
const MAILBOX: Token = Token(usize::MAX);

impl Wake for mio::Waker {
    fn wake(&self) {
        if let Err(error) = Self::wake(self) {
            error!(%error, "a shard could not be woken");
        }
    }
}

/// The poll of a shard, and what wakes it.
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
    generation: u64,
    /// Connections to read from, each once, though their sockets may report nothing new.
    unread: Vec<usize>,
    /// An empty list, kept for its allocation.
    spare: Vec<usize>,
    /// Connections that are closing.
    closing: HashSet<usize, FxBuildHasher>,
    /// Those of them whose streams are not ended yet. A slot may have been given away meanwhile.
    saying_goodbye: Vec<usize>,
    /// Questions that wait until fewer are open.
    requests: VecDeque<(usize, u64, HostRequest)>,
    requests_open: usize,
    /// Joins at a turn for now.
    joins: usize,
    credit: Credit,
    /// Connections whose commands wait because their key is in debt.
    indebted: Vec<(usize, u64)>,
    clock: Clock,
    /// All have been told to go, and who still arrives is told so too: come back within this time.
    draining_ms: Option<u32>,
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
        let subscriber_limits =
            SubscriberLimits { budget, write_bytes: limits.write_bytes_max };
        let credit = Credit::new(CreditLimits {
            burst: limits.catch_up_burst,
            per_second: limits.catch_ups_per_second,
            debt_us_max: limits.debt_us_max(),
        });
        let now = monotonic();
        let clock = Clock {
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
            generation: 0,
            unread: Vec::new(),
            spare: Vec::new(),
            closing: HashSet::default(),
            saying_goodbye: Vec::new(),
            requests: VecDeque::new(),
            requests_open: 0,
            joins: JOINS_MIN,
            credit,
            indebted: Vec::new(),
            clock,
            draining_ms: None,
            stopping: false,
        }
    }

    /// Serves until it is told to stop and every connection has ended.
    pub(crate) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        let mut more = false;
        loop {
            let now = monotonic();
            let busy = more || self.subscribers.has_ready() || !self.unread.is_empty();
            let wait = if busy { 0 } else { u64::try_from(self.clock.tick_due - now).unwrap_or(0) };
            match self.poll.poll(&mut events, Some(Duration::from_micros(wait))) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return error!(%error, shard = self.number, "no events any more"),
            }
            more = self.turn(&events);
            if self.stopping && self.subscribers.is_empty() {
                return;
            }
        }
    }

    /// Serves everything that is ready. Returns whether arrivals still wait their turn.
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
                    subscriber.sink.readable();
                }
                self.read_soon(slot);
            }
        }
        let mut unread = mem::replace(&mut self.unread, mem::take(&mut self.spare));
        for slot in unread.drain(..) {
            if let Some(subscriber) = self.subscribers.get_mut(slot) {
                subscriber.sink.is_unread = false;
                self.serve(slot, now);
            }
        }
        self.spare = unread;
        let more = self.letters(now);
        self.subscribers.flush(now);
        self.apply_effects(now);
        if now >= self.clock.tick_due {
            self.tick(now);
        }
        self.hang_up();
        let done = monotonic();
        if let Some(oldest) = self.subscribers.take_oldest_written() {
            let delay = self.shared.host.stamp() - oldest;
            histogram!("matchwire_delivery_delay_seconds").record(seconds(delay));
        }
        let took = usize::try_from((done - now) / JOIN_US).unwrap_or(0);
        self.joins = took.clamp(JOINS_MIN, JOINS_MAX);
        self.shared.mailboxes[self.number].served();
        self.shared.served(self.number, self.subscribers.is_crowded(now));
        more
    }

    // ------------------------------------------------------------------------ from the mailbox

    fn letters(&mut self, now: Micros) -> bool {
        let shared = Arc::clone(&self.shared);
        let mailbox = &shared.mailboxes[self.number];
        let Taken { letters, in_turn, more } = mailbox.take(self.joins);
        in_turn.into_iter().for_each(|arrival| self.letter(arrival, now));
        for letter in letters {
            if matches!(letter, Item::End(..) | Item::Permit(..) | Item::Drain { .. }) {
                // Whoever arrived before is meant too.
                mailbox.take_in_turn().for_each(|arrival| self.letter(arrival, now));
            }
            self.letter(letter, now);
        }
        self.subscribers.broadcast(now);
        more
    }

    fn letter(&mut self, item: Item, now: Micros) {
        match item {
            Item::Publish(rate, publication) => {
                return self.subscribers.publish(rate, publication, now);
            }
            Item::Opened(image) => self.subscribers.channel_opened(&image, now),
            Item::Closed(channel) => self.subscribers.channel_closed(&channel, now),
            Item::Answer(requester, answer, work) => self.answer(requester, answer, work, now),
            Item::Connect(arrival) => self.connect(*arrival, now),
            Item::End(key, close) => self.end(key, close, now),
            Item::Permit(key, permission, expires) => self.permit(key, &permission, expires, now),
            Item::Drain { window_ms } => self.drain(window_ms, now),
            Item::Stop => self.stopping = true,
            Item::Lost => {
                counter!("matchwire_mailbox_overflows_total").increment(1);
                self.subscribers.mark_all_behind(now);
            }
        }
        self.apply_effects(now);
    }

    fn answer(&mut self, requester: Requester, answer: HostResponse, work: usize, now: Micros) {
        self.requests_open -= 1;
        self.submit_waiting();
        self.shared.followed.store(true, Ordering::Relaxed);
        let Some(connection) = self.connection(requester.slot, requester.generation) else { return };
        if connection.is_closing() {
            return;
        }
        if let Some(key) = self.key(requester.slot) {
            self.credit.charge_answer(key, work, now);
        }
        self.subscribers.apply_response(requester.slot, answer, now);
        // Commands may have waited for the answer.
        self.read_soon(requester.slot);
    }

    /// What the subscribers asks of the shard.
    fn apply_effects(&mut self, now: Micros) {
        for (slot, effect) in self.subscribers.take_effects() {
            let Some(subscriber) = self.subscribers.get(slot) else { continue };
            let generation = subscriber.sink.generation;
            match effect {
                Effect::Submit(request) => {
                    self.requests.push_back((slot, generation, request));
                    self.submit_waiting();
                }
                Effect::Resume => self.read_soon(slot),
                Effect::TooSlow => self.close(slot, Close::TooSlow, now),
                Effect::Failed => self.remove(slot, generation, now),
            }
        }
    }

    /// Puts questions to the host, as many as may be open.
    fn submit_waiting(&mut self) {
        while self.requests_open < self.joins
            && let Some((slot, generation, request)) = self.requests.pop_front()
        {
            if self.connection(slot, generation).is_some() {
                self.requests_open += 1;
                let requester = Requester { shard: self.number, slot, generation };
                self.shared.host.submit(ShardRequest { requester, request });
            }
        }
    }

    // ------------------------------------------------------------------------- connections

    fn connect(&mut self, arrival: Arrival, now: Micros) {
        let Arrival { stream, read_ahead, purpose } = arrival;
        let limits = &self.shared.limits;
        let slot = self.subscribers.next_slot();
        let registry = self.poll.registry();
        let socket = match Socket::register(stream, limits.sockets, registry, Token(slot)) {
            Ok(socket) => socket,
            Err(error) => {
                self.shared.sockets[self.number].fetch_sub(1, Ordering::Relaxed);
                return debug!(%error, "a socket could not be taken over");
            }
        };
        self.generation += 1;
        let mut connection = Connection::new(self.generation, socket, &read_ahead, now);
        gauge!("matchwire_sockets").increment(1.0);
        match purpose {
            Purpose::Serve(owner, dialect) => {
                self.credit.enter(owner.key, now);
                let session = Session::speaking(dialect, limits.channels_max)
                    .with_patterns_max(limits.patterns_max)
                    .permitted(owner.permission.clone(), self.shared.host.time_of_day());
                connection.owner = Some(owner);
                self.subscribers.admit(session, connection);
                if dialect == Dialect::Stream {
                    let hello = self.hello();
                    self.subscribers.reply(slot, hello, now);
                }
            }
            Purpose::Bare(number) => {
                let (session, join) = Session::bare(bare_channel(number));
                self.subscribers.broadcast(now);
                self.subscribers.admit(session, connection);
                self.subscribers.join(slot, Some(join));
            }
            Purpose::Echo => {
                connection.is_echo = true;
                self.subscribers.admit(Session::speaking(Dialect::Bare, 0), connection);
            }
            Purpose::Refuse(frame, close) => {
                self.subscribers.admit(Session::speaking(Dialect::Bare, 0), connection);
                self.subscribers.reply(slot, frame, now);
                self.close(slot, close, now);
            }
        }
        if let Some(reconnect_after_ms) = self.draining_ms {
            self.close(slot, Close::Drain { reconnect_after_ms }, now);
        }
        // What was read ahead is served at once.
        self.read_soon(slot);
    }

    fn hello(&self) -> Bytes {
        let limits = &self.shared.limits;
        let conn = format!("{}-{}", self.number, self.generation);
        protocol::hello(&Hello {
            conn: &conn,
            server: &self.shared.server,
            now: self.shared.host.stamp(),
            beat_ms: limits.beat_ms,
            limits: HelloLimits {
                channels: limits.channels_max,
                patterns: limits.patterns_max,
                command_bytes: limits.command_bytes_max,
                from_bytes: limits.from_bytes_max.max(limits.command_bytes_max),
            },
        })
    }

    fn connection(&mut self, slot: usize, generation: u64) -> Option<&mut Connection> {
        let subscriber = self.subscribers.get_mut(slot)?;
        Some(&mut subscriber.sink).filter(|connection| connection.generation == generation)
    }

    /// Reads from a connection in the next round of reading, whatever its socket reports.
    fn read_soon(&mut self, slot: usize) {
        if let Some(subscriber) = self.subscribers.get_mut(slot)
            && !mem::replace(&mut subscriber.sink.is_unread, true)
        {
            self.unread.push(slot);
        }
    }

    /// Reads and carries out what a client sent: a turn's share of it.
    fn serve(&mut self, slot: usize, now: Micros) {
        let Some(subscriber) = self.subscribers.get(slot) else { return };
        let commands = self.shared.limits.command_limits(subscriber.session.dialect());
        let mut reads = READS_A_TURN;
        for _ in 0..MESSAGES_A_TURN {
            let holds = self.subscribers.defers_commands(slot) || self.is_in_debt(slot, now);
            let Some(subscriber) = self.subscribers.get_mut(slot) else { return };
            let connection = &mut subscriber.sink;
            if holds && !connection.is_closing() {
                return;
            }
            let limits = if connection.is_echo { ECHO_LIMITS } else { commands };
            match connection.receive(&mut self.buffer, limits, &mut reads, now) {
                Reading::Message(received) => self.received(slot, received, now),
                Reading::Empty => return,
                Reading::Later => break,
                Reading::Gone => {
                    let generation = connection.generation;
                    return self.remove(slot, generation, now);
                }
            }
            self.apply_effects(now);
        }
        // There may be more, and the socket will not report it again.
        self.read_soon(slot);
    }

    /// The key that a connection came with, while it is open.
    fn key(&self, slot: usize) -> Option<u64> {
        self.subscribers.get(slot)?.sink.owner.as_ref().map(|owner| owner.key)
    }

    /// Whether a connection's commands have to wait because its key is in debt. It is looked at again
    /// then.
    fn is_in_debt(&mut self, slot: usize, now: Micros) -> bool {
        let Some(key) = self.key(slot) else { return false };
        let is_in_debt = self.credit.is_in_debt(key, now);
        if is_in_debt && let Some(subscriber) = self.subscribers.get_mut(slot) {
            let connection = &mut subscriber.sink;
            if !mem::replace(&mut connection.is_indebted, true) {
                counter!("matchwire_commands_held_total").increment(1);
                self.indebted.push((slot, connection.generation));
            }
        }
        is_in_debt
    }

    /// Lets the commands go on of those whose keys have paid off their debts.
    fn release(&mut self, now: Micros) {
        for (slot, generation) in mem::take(&mut self.indebted) {
            if let Some(connection) = self.connection(slot, generation) {
                connection.is_indebted = false;
                // Where the debt is not paid off, it is noted again.
                self.serve(slot, now);
            }
        }
        self.credit.sweep(now);
    }

    fn end(&mut self, key: u64, close: Close, now: Micros) {
        self.slots_of(key).into_iter().for_each(|slot| self.close(slot, close, now));
    }

    fn permit(&mut self, key: u64, permission: &Permission, expires: Option<Micros>, now: Micros) {
        for slot in self.slots_of(key) {
            let Some(subscriber) = self.subscribers.get_mut(slot) else { continue };
            if subscriber.sink.is_closing() {
                continue;
            }
            if let Some(owner) = &mut subscriber.sink.owner {
                owner.expires = expires;
            }
            subscriber.session.set_permission(permission.clone());
            let time_of_day = self.shared.host.time_of_day();
            self.subscribers.renew_permission(slot, time_of_day, now);
        }
    }

    /// The connections that came with this key.
    fn slots_of(&self, key: u64) -> Vec<usize> {
        let own = |connection: &Connection| connection.owner.as_ref().is_some_and(|o| o.key == key);
        let slots = self.subscribers.iter().filter(|(_, subscriber)| own(&subscriber.sink));
        slots.map(|(slot, _)| slot).collect()
    }

    /// Closes all, each with its own moment to come back, spread over the window: shards take turns,
    /// so that no two of them name the same moment.
    fn drain(&mut self, window_ms: u32, now: Micros) {
        self.draining_ms = Some(window_ms);
        let slots: Vec<usize> = self.subscribers.iter().map(|(slot, _)| slot).collect();
        let shards = self.shared.mailboxes.len();
        let count = (slots.len() * shards).max(1) as u64;
        for (order, slot) in slots.into_iter().enumerate() {
            let order = (order * shards + self.number) as u64;
            let share = u64::from(window_ms) * order / count;
            let reconnect_after_ms = u32::try_from(share).unwrap_or(window_ms);
            self.close(slot, Close::Drain { reconnect_after_ms }, now);
        }
    }

    /// Begins to end a connection: `bye` where there is one, the close frame, and then nothing more.
    fn close(&mut self, slot: usize, close: Close, now: Micros) {
        let Some(subscriber) = self.subscribers.get_mut(slot) else { return };
        let connection = &mut subscriber.sink;
        if connection.is_closing() {
            return;
        }
        debug!(slot, code = close.code(), reason = close.reason(), "closing");
        counter!("matchwire_closes_total", "reason" => close.reason()).increment(1);
        let has_owner = connection.owner.is_some();
        if let Some(owner) = &connection.owner {
            self.credit.leave(owner.key);
        }
        let dialect = subscriber.session.dialect();
        self.subscribers.unsubscribe_all(slot, now);
        self.tell_use(slot, now);
        if let Some(subscriber) = self.subscribers.get_mut(slot) {
            subscriber.sink.close(now);
        }
        self.closing.insert(slot);
        self.saying_goodbye.push(slot);
        if close == Close::AddonRequired && has_owner {
            let message = "the WebSocket add-on has run out";
            let frame = match dialect {
                Dialect::Stream | Dialect::Bare => error(Code::AddonRequired, message),
                Dialect::Live(_) => live_error(live::Code::SubscriptionRequired, message),
            };
            self.subscribers.reply(slot, frame, now);
        }
        // The older sockets have no `bye`: their clients go by the code.
        if let Some((why, after)) = close.bye().filter(|_| dialect == Dialect::Stream) {
            self.subscribers.reply(slot, protocol::bye(why, after), now);
        }
        let frame = encode::close_frame(close.code(), close.reason());
        self.subscribers.reply(slot, frame, now);
        self.read_soon(slot);
    }

    /// Ends the streams of those that have been sent all, the close frame as the last.
    fn hang_up(&mut self) {
        let subscribers = &mut self.subscribers;
        self.saying_goodbye.retain(|slot| {
            let Some(subscriber) = subscribers.get_mut(*slot) else { return false };
            let is_said = subscriber.outbox.is_empty();
            subscriber.sink.is_closing() && !(is_said && subscriber.sink.hang_up())
        });
    }

    fn remove(&mut self, slot: usize, generation: u64, now: Micros) {
        if self.connection(slot, generation).is_none() {
            return;
        }
        self.tell_use(slot, now);
        if let Some(key) = self.key(slot) {
            self.credit.leave(key);
        }
        // Closing the socket takes it out of the poll.
        drop(self.subscribers.remove(slot, now));
        self.closing.remove(&slot);
        self.shared.sockets[self.number].fetch_sub(1, Ordering::Relaxed);
        gauge!("matchwire_sockets").decrement(1.0);
    }

    // -------------------------------------------------------------------------------- time

    fn tick(&mut self, now: Micros) {
        let time_of_day = self.shared.host.time_of_day();
        let (from, to) = self.clock.part(self.subscribers.slots(), now);
        for slot in from..to {
            self.look_at(slot, now);
            if self.subscribers.get(slot).is_some_and(|subscriber| !subscriber.sink.is_closing()) {
                self.subscribers.renew_permission(slot, time_of_day, now);
                self.subscribers.beat(slot, now);
                self.tell_use(slot, now);
            }
        }
        self.release(now);
        if now >= self.clock.slow_due {
            self.clock.slow_due = now + SLOW_TICK_US;
            let closing: Vec<usize> = self.closing.iter().copied().collect();
            closing.into_iter().for_each(|slot| self.look_at(slot, now));
            for slot in self.subscribers.take_slow() {
                self.look_at(slot, now);
                self.tell_lag(slot, now);
            }
        }
        self.subscribers.flush(now);
        self.apply_effects(now);
    }

    /// Tells the guard of a connection what it was given. A plain number on the way there: nothing
    /// that shards share is touched for a message.
    fn tell_use(&mut self, slot: usize, now: Micros) {
        // Its turn comes once in a round, or a little later.
        let open_us_max = 2 * self.shared.limits.round_us();
        let time_of_day = self.shared.host.time_of_day();
        let Some(subscriber) = self.subscribers.get_mut(slot) else { return };
        let messages = subscriber.outbox.take_delivered();
        subscriber.sink.tell_use(messages, open_us_max, now, time_of_day);
    }

    fn look_at(&mut self, slot: usize, now: Micros) {
        let time_of_day = self.shared.host.time_of_day();
        let Some(subscriber) = self.subscribers.get_mut(slot) else { return };
        let stalled = subscriber.stalled(now);
        let generation = subscriber.sink.generation;
        match subscriber.sink.overdue(&self.shared.limits, stalled, now, time_of_day) {
            Overdue::Nothing => {}
            Overdue::Ping => self.subscribers.reply(slot, encode::ping_frame(), now),
            Overdue::Close(close) => self.close(slot, close, now),
            Overdue::Cut => self.remove(slot, generation, now),
        }
    }

    /// Tells a slow client how far it is behind, if it asked for that: when that begins, each second,
    /// and when it ends.
    fn tell_lag(&mut self, slot: usize, now: Micros) {
        let Some(subscriber) = self.subscribers.get_mut(slot) else { return };
        if subscriber.sink.is_closing() || !subscriber.session.wants_lag() {
            return;
        }
        let is_slow = subscriber.is_slow();
        let told = subscriber.sink.lag_told;
        let is_due = told.is_none_or(|told| now - told >= LAG_EVERY_US);
        if is_slow && !is_due || !is_slow && told.is_none() {
            return;
        }
        let lag = Lag {
            queued_bytes: subscriber.outbox.bytes(),
            oldest_ms: u64::try_from(subscriber.outbox.age(now) / 1000).unwrap_or(0),
            merged: subscriber.session.merged(),
        };
        subscriber.sink.lag_told = is_slow.then_some(now);
        if !is_slow {
            subscriber.session.forget_merged();
        }
        self.subscribers.send_lag(slot, protocol::lag(lag), now);
        counter!("matchwire_lag_frames_total").increment(1);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a histogram is of floats; a century is below 2^53")]
fn seconds(span: Micros) -> f64 {
    span as f64 / 1e6
}

/// Bare channels are numbered apart from those of the host.
const BARE: u32 = 1 << 31;

pub(crate) fn bare_channel(number: u32) -> Channel {
    let name = crate::ChannelId::new(format!("bare/{number}"));
    Channel { number: BARE | number, name, epoch: Epoch(0), deliver_last: false, needs: Classes::NONE }
}
