//! One thread: its connections, its part of the index, and the turns in which it serves them.
//!
//! A turn takes all that is ready: what sockets tell, and what lies in the mailbox. Publications are
//! put together and written once to each connection that follows them. Nothing here waits but for
//! the next event; writes wait for their socket, never for a timer.

mod clock;
mod item;
mod said;

use std::{
    collections::{HashSet, VecDeque},
    io,
    sync::{Arc, atomic::Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use metrics::{counter, gauge};
use mio::{Events, Poll, Token};
use rustc_hash::FxBuildHasher;
use tracing::{debug, error};

pub(crate) use self::item::Item;
use self::{
    clock::Clock,
    said::{error, live_error},
};
use crate::{
    Micros,
    audience::{Audience, Due, Shares},
    catch_up::{Answer, Ask, Asker, Question},
    channel::{Channel, Epoch},
    close::Close,
    connection::{Arrival, Connection, Overdue, Purpose, Reading},
    encode,
    fanout::Shared,
    live,
    mailbox::{Taken, Wake},
    outbox::Budget,
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
const READ_BYTES: usize = 16 * 1024;

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
    audience: Audience<Connection>,
    buffer: Box<[u8]>,
    generation: u64,
    /// Connections to be read from at the next turn, though their sockets tell nothing new.
    unread: Vec<usize>,
    /// Connections that are closing.
    closing: HashSet<usize, FxBuildHasher>,
    /// Those of them whose streams are not ended yet. A slot may have been given away meanwhile.
    saying_goodbye: Vec<usize>,
    /// Questions that wait until fewer are open.
    questions: VecDeque<(usize, u64, Question)>,
    questions_open: usize,
    /// Joins at a turn for now.
    joins: usize,
    clock: Clock,
    /// All have been told to go, and who still arrives is told so too: come back within this time.
    draining_ms: Option<u32>,
    stopping: bool,
}

impl Shard {
    pub(crate) fn new(number: usize, shared: Arc<Shared>, poll: Poll) -> Self {
        let limits = &shared.limits;
        let budget = Budget { bytes: limits.outbox_bytes, age_us: limits.outbox_age_us() };
        let shares = Shares { budget, write_bytes: limits.write_bytes_max };
        let now = now();
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
            audience: Audience::new(shares),
            buffer: vec![0; READ_BYTES].into(),
            generation: 0,
            unread: Vec::new(),
            closing: HashSet::default(),
            saying_goodbye: Vec::new(),
            questions: VecDeque::new(),
            questions_open: 0,
            joins: JOINS_MIN,
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
            let now = now();
            let busy = more || self.audience.has_ready() || !self.unread.is_empty();
            let wait = if busy { 0 } else { u64::try_from(self.clock.tick_due - now).unwrap_or(0) };
            match self.poll.poll(&mut events, Some(Duration::from_micros(wait))) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return error!(%error, shard = self.number, "no events any more"),
            }
            more = self.turn(&events);
            if self.stopping && self.audience.is_empty() {
                return;
            }
        }
    }

    /// Serves everything that is ready. Returns whether arrivals still wait their turn.
    fn turn(&mut self, events: &Events) -> bool {
        let now = now();
        for event in events {
            let slot = event.token().0;
            if event.token() == MAILBOX {
                continue;
            }
            if event.is_writable() {
                self.audience.writable(slot);
            }
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                if let Some(member) = self.audience.get_mut(slot) {
                    member.sink.readable();
                }
                self.serve(slot, now);
            }
        }
        for slot in std::mem::take(&mut self.unread) {
            self.serve(slot, now);
        }
        let more = self.letters(now);
        self.audience.flush(now);
        self.due(now);
        if now >= self.clock.tick_due {
            self.tick(now);
        }
        self.hang_up();
        let took = usize::try_from((self::now() - now) / JOIN_US).unwrap_or(0);
        self.joins = took.clamp(JOINS_MIN, JOINS_MAX);
        self.shared.mailboxes[self.number].served();
        self.shared.served(self.number, self.audience.is_crowded(now));
        more
    }

    // ------------------------------------------------------------------------ from the mailbox

    fn letters(&mut self, now: Micros) -> bool {
        let shared = Arc::clone(&self.shared);
        let mailbox = &shared.mailboxes[self.number];
        let Taken { letters, in_turn, more } = mailbox.take(self.joins);
        in_turn.into_iter().for_each(|arrival| self.letter(arrival, now));
        for letter in letters {
            if matches!(letter, Item::End(..) | Item::Drain { .. }) {
                // Whoever arrived before is meant too.
                mailbox.take_in_turn().for_each(|arrival| self.letter(arrival, now));
            }
            self.letter(letter, now);
        }
        self.audience.perform(now);
        more
    }

    fn letter(&mut self, item: Item, now: Micros) {
        match item {
            Item::Publish(rate, publication) => {
                return self.audience.publish(rate, publication, now);
            }
            Item::Opened(image) => self.audience.opened(&image, now),
            Item::Closed(channel) => self.audience.closed(&channel, now),
            Item::Answer(asker, answer) => self.answer(asker, answer, now),
            Item::Connect(arrival) => self.connect(*arrival, now),
            Item::End(key, close) => self.end(key, close, now),
            Item::Drain { window_ms } => self.drain(window_ms, now),
            Item::Stop => self.stopping = true,
            Item::Lost => {
                counter!("matchwire_mailbox_overflows_total").increment(1);
                self.audience.lost(now);
            }
        }
        self.due(now);
    }

    fn answer(&mut self, asker: Asker, answer: Answer, now: Micros) {
        self.questions_open -= 1;
        self.ask_waiting();
        self.shared.followed.store(true, Ordering::Relaxed);
        let Some(connection) = self.connection(asker.slot, asker.generation) else { return };
        if connection.is_closing() {
            return;
        }
        self.audience.answer(asker.slot, answer, now);
        // Commands may have waited for the answer.
        self.unread.push(asker.slot);
    }

    /// What the audience asks of the shard.
    fn due(&mut self, now: Micros) {
        for (slot, due) in self.audience.take_due() {
            let Some(member) = self.audience.get(slot) else { continue };
            let generation = member.sink.generation;
            match due {
                Due::Ask(question) => {
                    self.questions.push_back((slot, generation, question));
                    self.ask_waiting();
                }
                Due::Resume => self.unread.push(slot),
                Due::TooSlow => self.close(slot, Close::TooSlow, now),
                Due::Failed => self.remove(slot, generation, now),
            }
        }
    }

    /// Puts questions to the host, as many as may be open.
    fn ask_waiting(&mut self) {
        while self.questions_open < self.joins
            && let Some((slot, generation, question)) = self.questions.pop_front()
        {
            if self.connection(slot, generation).is_some() {
                self.questions_open += 1;
                let asker = Asker { shard: self.number, slot, generation };
                self.shared.host.ask(Ask { asker, question });
            }
        }
    }

    // ------------------------------------------------------------------------- connections

    fn connect(&mut self, arrival: Arrival, now: Micros) {
        let Arrival { stream, read_ahead, purpose } = arrival;
        let limits = &self.shared.limits;
        let slot = self.audience.next_slot();
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
                connection.owner = Some(owner);
                let session = Session::speaking(dialect, limits.channels_max);
                self.audience.admit(session, connection);
                if dialect == Dialect::Stream {
                    let hello = self.hello(now);
                    self.audience.reply(slot, hello, now);
                }
            }
            Purpose::Bare(number) => {
                let (session, join) = Session::bare(bare_channel(number));
                self.audience.perform(now);
                self.audience.admit(session, connection);
                self.audience.join(slot, Some(join));
            }
            Purpose::Refuse(frame, close) => {
                self.audience.admit(Session::speaking(Dialect::Bare, 0), connection);
                self.audience.reply(slot, frame, now);
                self.close(slot, close, now);
            }
        }
        if let Some(reconnect_after_ms) = self.draining_ms {
            self.close(slot, Close::Drain { reconnect_after_ms }, now);
        }
        // What was read ahead is served at once.
        self.unread.push(slot);
    }

    fn hello(&self, now: Micros) -> Bytes {
        let limits = &self.shared.limits;
        let conn = format!("{}-{}", self.number, self.generation);
        protocol::hello(&Hello {
            conn: &conn,
            server: &self.shared.server,
            now,
            beat_ms: limits.beat_ms,
            limits: HelloLimits {
                channels: limits.channels_max,
                command_bytes: limits.command_bytes_max,
            },
        })
    }

    fn connection(&mut self, slot: usize, generation: u64) -> Option<&mut Connection> {
        let member = self.audience.get_mut(slot)?;
        Some(&mut member.sink).filter(|connection| connection.generation == generation)
    }

    /// Reads and carries out what a client sent.
    fn serve(&mut self, slot: usize, now: Micros) {
        let command_max = self.shared.limits.command_bytes_max;
        for _ in 0..MESSAGES_A_TURN {
            let holds = self.audience.holds(slot);
            let Some(member) = self.audience.get_mut(slot) else { return };
            let connection = &mut member.sink;
            if holds && !connection.is_closing() {
                return;
            }
            match connection.receive(&mut self.buffer, command_max, now) {
                Reading::Message(received) => self.received(slot, received, now),
                Reading::Empty => return,
                Reading::Gone => {
                    let generation = connection.generation;
                    return self.remove(slot, generation, now);
                }
            }
            self.due(now);
        }
        // There may be more: the socket will not tell of it again.
        self.unread.push(slot);
    }

    fn end(&mut self, key: u64, close: Close, now: Micros) {
        let own = |connection: &Connection| connection.owner.as_ref().is_some_and(|o| o.key == key);
        let slots = self.audience.iter().filter(|(_, member)| own(&member.sink));
        let slots: Vec<usize> = slots.map(|(slot, _)| slot).collect();
        slots.into_iter().for_each(|slot| self.close(slot, close, now));
    }

    /// Closes all, each with its own moment to come back, spread over the window: shards take turns,
    /// so that no two of them name the same moment.
    fn drain(&mut self, window_ms: u32, now: Micros) {
        self.draining_ms = Some(window_ms);
        let slots: Vec<usize> = self.audience.iter().map(|(slot, _)| slot).collect();
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
        let Some(member) = self.audience.get_mut(slot) else { return };
        let connection = &mut member.sink;
        if connection.is_closing() {
            return;
        }
        debug!(slot, code = close.code(), reason = close.reason(), "closing");
        counter!("matchwire_closes_total", "reason" => close.reason()).increment(1);
        let has_owner = connection.owner.is_some();
        let dialect = member.session.dialect();
        self.audience.end(slot, now);
        self.tell_use(slot, now);
        if let Some(member) = self.audience.get_mut(slot) {
            member.sink.close(now);
        }
        self.closing.insert(slot);
        self.saying_goodbye.push(slot);
        if close == Close::AddonRequired && has_owner {
            let message = "the WebSocket add-on has run out";
            let frame = match dialect {
                Dialect::Stream | Dialect::Bare => error(Code::AddonRequired, message),
                Dialect::Live(_) => live_error(live::Code::SubscriptionRequired, message),
            };
            self.audience.reply(slot, frame, now);
        }
        // The older sockets have no `bye`: their clients go by the code.
        if let Some((why, after)) = close.bye().filter(|_| dialect == Dialect::Stream) {
            self.audience.reply(slot, protocol::bye(why, after), now);
        }
        let frame = encode::close_frame(close.code(), close.reason());
        self.audience.reply(slot, frame, now);
        self.unread.push(slot);
    }

    /// Ends the streams of those that have been sent all, the close frame as the last.
    fn hang_up(&mut self) {
        let audience = &mut self.audience;
        self.saying_goodbye.retain(|slot| {
            let Some(member) = audience.get_mut(*slot) else { return false };
            let is_said = member.outbox.is_empty();
            member.sink.is_closing() && !(is_said && member.sink.hang_up())
        });
    }

    fn remove(&mut self, slot: usize, generation: u64, now: Micros) {
        if self.connection(slot, generation).is_none() {
            return;
        }
        self.tell_use(slot, now);
        // Closing the socket takes it out of the poll.
        drop(self.audience.remove(slot, now));
        self.closing.remove(&slot);
        self.shared.sockets[self.number].fetch_sub(1, Ordering::Relaxed);
        gauge!("matchwire_sockets").decrement(1.0);
    }

    // -------------------------------------------------------------------------------- time

    fn tick(&mut self, now: Micros) {
        let (from, to) = self.clock.part(self.audience.slots(), now);
        for slot in from..to {
            self.look_at(slot, now);
            if self.audience.get(slot).is_some_and(|member| !member.sink.is_closing()) {
                self.audience.beat(slot, now);
                self.tell_use(slot, now);
            }
        }
        if now >= self.clock.slow_due {
            self.clock.slow_due = now + SLOW_TICK_US;
            let closing: Vec<usize> = self.closing.iter().copied().collect();
            closing.into_iter().for_each(|slot| self.look_at(slot, now));
            for slot in self.audience.slow() {
                self.look_at(slot, now);
                self.tell_lag(slot, now);
            }
        }
        self.audience.flush(now);
        self.due(now);
    }

    /// Tells the guard of a connection what it was given. A plain number on the way there: nothing
    /// that shards share is touched for a message.
    fn tell_use(&mut self, slot: usize, now: Micros) {
        // Its turn comes once in a round, or a little later.
        let open_us_max = 2 * self.shared.limits.round_us();
        let Some(member) = self.audience.get_mut(slot) else { return };
        let messages = member.outbox.take_delivered();
        member.sink.tell_use(messages, open_us_max, now);
    }

    fn look_at(&mut self, slot: usize, now: Micros) {
        let Some(member) = self.audience.get_mut(slot) else { return };
        let stalled = member.stalled(now);
        let generation = member.sink.generation;
        match member.sink.overdue(&self.shared.limits, stalled, now) {
            Overdue::Nothing => {}
            Overdue::Ping => self.audience.reply(slot, encode::ping_frame(), now),
            Overdue::Close(close) => self.close(slot, close, now),
            Overdue::Cut => self.remove(slot, generation, now),
        }
    }

    /// Tells a slow client how far it is behind, if it asked for that: when that begins, each second,
    /// and when it ends.
    fn tell_lag(&mut self, slot: usize, now: Micros) {
        let Some(member) = self.audience.get_mut(slot) else { return };
        if member.sink.is_closing() || !member.session.wants_lag() {
            return;
        }
        let is_slow = member.is_slow();
        let told = member.sink.lag_told;
        let is_due = told.is_none_or(|told| now - told >= LAG_EVERY_US);
        if is_slow && !is_due || !is_slow && told.is_none() {
            return;
        }
        let lag = Lag {
            queued_bytes: member.outbox.bytes(),
            oldest_ms: u64::try_from(member.outbox.age(now) / 1000).unwrap_or(0),
            merged: member.session.merged(),
        };
        member.sink.lag_told = is_slow.then_some(now);
        if !is_slow {
            member.session.forget_merged();
        }
        self.audience.tell_lag(slot, protocol::lag(lag), now);
        counter!("matchwire_lag_frames_total").increment(1);
    }
}

/// Bare channels are numbered apart from those of the host.
const BARE: u32 = 1 << 31;

pub(crate) fn bare_channel(number: u32) -> Channel {
    let name = crate::ChannelId::new(format!("bare/{number}"));
    Channel { number: BARE | number, name, epoch: Epoch(0), trails: false }
}

#[expect(clippy::disallowed_methods, reason = "this is where the fan-out asks for the time")]
pub(crate) fn now() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Micros::try_from(since.as_micros()).unwrap_or(Micros::MAX)
}
