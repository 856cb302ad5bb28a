//! One thread: its connections, its part of the index, and the turns in which it serves them.
//!
//! A turn takes all that is ready in the mailbox, walks each publication to its followers, then
//! writes each touched connection once. A connection's own task does nothing but wait for its
//! socket; whatever happens then happens here.

use std::{
    cell::RefCell,
    rc::Rc,
    sync::{Arc, atomic::Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use metrics::{counter, gauge};
use serde_json::Value;
use slab::Slab;
use tokio::task::{spawn_local, yield_now};
use tracing::debug;

use crate::{
    Micros,
    catch_up::{Answer, Ask, Asker, Question},
    channel::{Channel, Publication, Rate},
    close::Close,
    connection::{Arrival, Connection, Overdue, Purpose, Received},
    fanout::Shared,
    mailbox::{Item, Turn},
    protocol::{self, Code, Command, Hello, HelloLimits, Refusal},
    session::{Delivered, Join, Left, Next, Session},
    socket::Socket,
    topics::{Follower, Topic, Topics},
};

/// How often time alone is looked at: beats, idle and stalled connections.
const TICK: Duration = Duration::from_millis(100);

/// Messages of one connection taken before others get their turn.
const MESSAGES_A_TURN: usize = 32;

pub(crate) struct Shard {
    number: usize,
    shared: Arc<Shared>,
    topics: Topics,
    connections: Slab<Connection>,
    dirty: Vec<usize>,
    generation: u64,
    beat_due: Micros,
    /// Where the next walk over followers starts, so that nobody is always last.
    rotation: usize,
    /// All have been told to go, and who still arrives is told so too: come back within this time.
    draining_ms: Option<u32>,
    stopping: bool,
}

/// Serves until it is told to stop and every connection has ended.
pub(crate) async fn run(number: usize, shared: Arc<Shared>) {
    let shard = Rc::new(RefCell::new(Shard::new(number, Arc::clone(&shared))));
    let mailbox = &shared.mailboxes[number];
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let more_to_write = !shard.borrow().dirty.is_empty();
        tokio::select! {
            turn = mailbox.take() => Shard::turn(&shard, turn),
            _ = tick.tick() => shard.borrow_mut().tick(),
            () = yield_now(), if more_to_write => {}
        }
        shard.borrow_mut().flush_dirty();
        if shard.borrow().is_over() {
            return;
        }
        // Connections' tasks get their chance between two turns, however full the mailbox is.
        yield_now().await;
    }
}

/// Waits for one socket, for as long as its connection lives.
async fn attend(shard: Rc<RefCell<Shard>>, slot: usize, generation: u64) {
    loop {
        let Some((socket, wake, interest)) = shard.borrow().waits(slot, generation) else { return };
        match interest {
            Some(interest) => tokio::select! {
                ready = socket.ready(interest) => if ready.is_err() {
                    return shard.borrow_mut().remove(slot, generation);
                },
                () = wake.notified() => {}
            },
            None => wake.notified().await,
        }
        shard.borrow_mut().serve(slot, generation);
        yield_now().await;
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where the fan-out asks for the time")]
pub(crate) fn now() -> Micros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Micros::try_from(since.as_micros()).unwrap_or(Micros::MAX)
}

impl Shard {
    fn new(number: usize, shared: Arc<Shared>) -> Self {
        Self {
            number,
            beat_due: now() + shared.limits.beat_us(),
            shared,
            topics: Topics::default(),
            connections: Slab::new(),
            dirty: Vec::new(),
            generation: 0,
            rotation: 0,
            draining_ms: None,
            stopping: false,
        }
    }

    fn is_over(&self) -> bool {
        self.stopping && self.connections.is_empty()
    }

    // ------------------------------------------------------------------------ from the mailbox

    fn turn(shard: &Rc<RefCell<Self>>, turn: Turn) {
        let mut own = shard.borrow_mut();
        for item in turn.items {
            match item {
                Item::Publish(rate, publication) => own.publish(rate, &publication),
                Item::Opened(image) => own.opened(&image),
                Item::Closed(channel) => own.closed(&channel),
                Item::Answer(asker, answer) => own.answer(asker, answer),
                Item::Connect(arrival) => {
                    if let Some((slot, generation)) = own.connect(*arrival) {
                        spawn_local(attend(Rc::clone(shard), slot, generation));
                    }
                }
                Item::End(key, close) => own.end(key, close),
                Item::Drain { window_ms } => own.drain(window_ms),
                Item::Stop => own.stopping = true,
            }
        }
        if turn.overflowed {
            own.overflowed();
        }
    }

    fn publish(&mut self, rate: Rate, publication: &Publication) {
        let Self { topics, connections, dirty, rotation, .. } = self;
        let followers = topics.followers(Topic { channel: publication.channel.number, rate });
        if followers.is_empty() {
            return;
        }
        *rotation = rotation.wrapping_add(1);
        let (last, first) = followers.split_at(*rotation % followers.len());
        let (mut behind, mut too_slow) = (Vec::new(), Vec::new());
        let mut queued = 0_u64;
        for follower in first.iter().chain(last) {
            let slot = follower.slot as usize;
            let connection = &mut connections[slot];
            match connection.deliver(follower.subscription as usize, publication) {
                Delivered::Queued => queued += 1,
                Delivered::Known => {}
                Delivered::Behind(left) => behind.push(left),
                Delivered::TooSlow => too_slow.push(slot),
            }
            if !connection.dirty {
                connection.dirty = true;
                dirty.push(slot);
            }
        }
        counter!("matchwire_deliveries_total").increment(queued);
        counter!("matchwire_behind_total").increment(behind.len() as u64);
        self.fall_behind(behind);
        too_slow.into_iter().for_each(|slot| self.close(slot, Close::TooSlow));
    }

    /// Takes those who could not keep up out of the index: the last place first, so that whoever
    /// moves into a freed place is never one of them and no noted place becomes wrong.
    fn fall_behind(&mut self, mut behind: Vec<Left>) {
        behind.sort_unstable_by_key(|left| std::cmp::Reverse(left.place));
        behind.into_iter().for_each(|left| self.leave(left));
    }

    fn opened(&mut self, image: &Publication) {
        let following: Vec<usize> = self
            .connections
            .iter()
            .filter(|(_, connection)| connection.session.has_wildcards())
            .map(|(slot, _)| slot)
            .collect();
        for slot in following {
            let connection = &mut self.connections[slot];
            let join = connection.session.opened(image, &mut connection.outbox);
            if let Some(join) = join {
                self.join(slot, join);
                self.touch(slot);
            }
        }
    }

    fn closed(&mut self, channel: &Channel) {
        for follower in self.topics.close(channel.number) {
            let slot = follower.slot as usize;
            let connection = &mut self.connections[slot];
            connection.session.closed(channel.number, &mut connection.outbox);
            self.touch(slot);
        }
    }

    fn answer(&mut self, asker: Asker, answer: Answer) {
        self.shared.followed.store(true, Ordering::Relaxed);
        let Some(connection) = self.connection(asker.slot, asker.generation) else { return };
        let (join, all_left) = connection.session.answer(answer, &mut connection.outbox);
        // Commands may have waited for the answer.
        connection.wake.notify_one();
        all_left.into_iter().for_each(|left| self.leave(left));
        if let Some(join) = join {
            self.join(asker.slot, join);
        }
        self.touch(asker.slot);
        self.forward(asker.slot);
    }

    fn overflowed(&mut self) {
        counter!("matchwire_mailbox_overflows_total").increment(1);
        let slots: Vec<usize> = self.connections.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            let all_left = self.connections[slot].session.all_behind();
            // Everybody leaves, so no place is worth keeping.
            all_left.into_iter().for_each(|left| drop(self.topics.close(left.topic.channel)));
            self.forward(slot);
        }
    }

    // ------------------------------------------------------------------------- connections

    fn connect(&mut self, arrival: Arrival) -> Option<(usize, u64)> {
        let now = now();
        let limits = &self.shared.limits;
        let socket = Rc::new(Socket::register(arrival.stream).ok()?);
        self.generation += 1;
        let session = Session::new(limits.channels_max);
        let mut connection =
            Connection::new(self.generation, socket, arrival.read_ahead, session, limits, now);
        match arrival.purpose {
            Purpose::Serve(owner) => {
                connection.outbox.push_reply(self.hello(now));
                connection.owner = Some(owner);
            }
            Purpose::Refuse(refusal, close) => {
                connection.outbox.push_reply(protocol::error(&refusal));
                count_close(close);
                connection.close(close, now);
            }
        }
        // What was read ahead is served at once.
        connection.wake.notify_one();
        let generation = connection.generation;
        let slot = self.connections.insert(connection);
        self.shared.sockets[self.number].fetch_add(1, Ordering::Relaxed);
        gauge!("matchwire_sockets").increment(1.0);
        self.touch(slot);
        if let Some(reconnect_after_ms) = self.draining_ms {
            self.close(slot, Close::Drain { reconnect_after_ms });
        }
        Some((slot, generation))
    }

    fn hello(&self, now: Micros) -> bytes::Bytes {
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

    /// What a connection's task waits for; `None` when the connection is gone.
    fn waits(
        &self,
        slot: usize,
        generation: u64,
    ) -> Option<(Rc<Socket>, Rc<tokio::sync::Notify>, Option<tokio::io::Interest>)> {
        let connection = self.connections.get(slot).filter(|c| c.generation == generation)?;
        Some((Rc::clone(&connection.socket), Rc::clone(&connection.wake), connection.interest()))
    }

    fn connection(&mut self, slot: usize, generation: u64) -> Option<&mut Connection> {
        self.connections.get_mut(slot).filter(|connection| connection.generation == generation)
    }

    /// Reads and carries out what the client sent, then writes.
    fn serve(&mut self, slot: usize, generation: u64) {
        let now = now();
        for turn in 1..=MESSAGES_A_TURN {
            let Some(connection) = self.connection(slot, generation) else { return };
            if !connection.takes_commands() && !connection.is_closing() {
                break;
            }
            if turn == MESSAGES_A_TURN {
                // What was read already lies in memory: the socket will not tell of it again.
                connection.wake.notify_one();
            }
            match connection.receive(now) {
                Received::Text(text) => self.command(slot, &text, now),
                Received::Binary => {
                    let refusal =
                        Refusal::new(&Value::Null, Code::BadCommand, "commands are text messages");
                    connection.outbox.push_reply(protocol::error(&refusal));
                }
                Received::Control => {}
                Received::Empty => break,
                Received::End(Some(close)) => {
                    self.close(slot, close);
                    break;
                }
                Received::End(None) => return self.remove(slot, generation),
            }
        }
        self.touch(slot);
        self.flush(slot);
        self.forward_if_there(slot, generation);
    }

    fn command(&mut self, slot: usize, text: &str, now: Micros) {
        let connection = &mut self.connections[slot];
        let command = match Command::parse(text) {
            Ok(command) => command,
            Err(refusal) => {
                counter!("matchwire_commands_refused_total").increment(1);
                return connection.outbox.push_reply(protocol::error(&refusal));
            }
        };
        let (all_left, next) = connection.session.command(command, now, &mut connection.outbox);
        all_left.into_iter().for_each(|left| self.leave(left));
        if let Next::Ask(question) = next {
            self.ask(slot, question);
        }
    }

    fn ask(&self, slot: usize, question: Question) {
        let generation = self.connections[slot].generation;
        self.shared
            .host
            .ask(Ask { asker: Asker { shard: self.number, slot, generation }, question });
    }

    /// Brings forward the next of this connection's subscriptions that is behind.
    fn forward(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        if connection.is_closing() {
            return;
        }
        if let Some(question) = connection.session.forward(&connection.outbox) {
            self.ask(slot, question);
        } else if connection.session.settles()
            && let Some(beat) = connection.session.beat(now())
        {
            connection.outbox.push_reply(beat);
            self.touch(slot);
        }
    }

    fn forward_if_there(&mut self, slot: usize, generation: u64) {
        if self.connection(slot, generation).is_some() {
            self.forward(slot);
        }
    }

    fn join(&mut self, slot: usize, join: Join) {
        let follower = Follower {
            slot: u32::try_from(slot).expect("fewer sockets than 2^32"),
            subscription: u32::try_from(join.key).expect("fewer subscriptions than 2^32"),
        };
        let place = self.topics.join(join.topic, follower);
        self.connections[slot].session.placed(join.key, place);
    }

    fn leave(&mut self, left: Left) {
        if let Some(moved) = self.topics.leave(left.topic, left.place) {
            let connection = &mut self.connections[moved.slot as usize];
            connection.session.placed(moved.subscription as usize, left.place);
        }
    }

    fn end(&mut self, key: u64, close: Close) {
        let own = |connection: &Connection| connection.owner.as_ref().is_some_and(|o| o.key == key);
        let slots: Vec<usize> =
            self.connections.iter().filter(|(_, c)| own(c)).map(|(slot, _)| slot).collect();
        slots.into_iter().for_each(|slot| self.close(slot, close));
    }

    /// Closes all, each with its own moment to come back, spread over the window: shards take turns,
    /// so that no two of them name the same moment.
    fn drain(&mut self, window_ms: u32) {
        self.draining_ms = Some(window_ms);
        let slots: Vec<usize> = self.connections.iter().map(|(slot, _)| slot).collect();
        let shards = self.shared.mailboxes.len();
        let count = (slots.len() * shards).max(1) as u64;
        for (order, slot) in slots.into_iter().enumerate() {
            let order = (order * shards + self.number) as u64;
            let share = u64::from(window_ms) * order / count;
            let reconnect_after_ms = u32::try_from(share).unwrap_or(window_ms);
            self.close(slot, Close::Drain { reconnect_after_ms });
        }
    }

    fn close(&mut self, slot: usize, close: Close) {
        let connection = &mut self.connections[slot];
        if connection.is_closing() {
            return;
        }
        debug!(slot, code = close.code(), reason = close.reason(), "closing");
        count_close(close);
        let all_left = connection.session.end();
        connection.close(close, now());
        connection.wake.notify_one();
        all_left.into_iter().for_each(|left| self.leave(left));
        self.touch(slot);
    }

    fn remove(&mut self, slot: usize, generation: u64) {
        if self.connection(slot, generation).is_none() {
            return;
        }
        let all_left = self.connections[slot].session.end();
        all_left.into_iter().for_each(|left| self.leave(left));
        let connection = self.connections.remove(slot);
        connection.wake.notify_one();
        self.dirty.retain(|dirty| *dirty != slot);
        self.shared.sockets[self.number].fetch_sub(1, Ordering::Relaxed);
        gauge!("matchwire_sockets").decrement(1.0);
    }

    // ----------------------------------------------------------------------------- writing

    fn touch(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push(slot);
        }
    }

    /// Writes every touched connection once.
    fn flush_dirty(&mut self) {
        for slot in std::mem::take(&mut self.dirty) {
            self.flush(slot);
        }
    }

    fn flush(&mut self, slot: usize) {
        let now = now();
        let Some(connection) = self.connections.get_mut(slot) else { return };
        connection.dirty = false;
        let generation = connection.generation;
        match connection.flush(self.shared.limits.write_bytes_max, now) {
            Ok(true) => self.touch(slot),
            Ok(false) => self.forward(slot),
            Err(error) => {
                debug!(slot, %error, "socket failed");
                self.remove(slot, generation);
            }
        }
    }

    // -------------------------------------------------------------------------------- time

    fn tick(&mut self) {
        let now = now();
        let beat = now >= self.beat_due;
        if beat {
            self.beat_due = now + self.shared.limits.beat_us();
        }
        let slots: Vec<usize> = self.connections.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            self.tick_one(slot, beat, now);
        }
    }

    fn tick_one(&mut self, slot: usize, beat: bool, now: Micros) {
        let connection = &mut self.connections[slot];
        let generation = connection.generation;
        match connection.overdue(&self.shared.limits, now) {
            Overdue::Nothing => {}
            Overdue::Ping(frame) => connection.outbox.push_reply(frame),
            Overdue::Close(close) => return self.close(slot, close),
            Overdue::Cut => return self.remove(slot, generation),
        }
        if beat
            && !connection.is_closing()
            && let Some(frame) = connection.session.beat(now)
        {
            // Without room the beat is left out: it only says where the frames before it lead to.
            if connection.outbox.push(frame).is_err() {
                counter!("matchwire_beats_skipped_total").increment(1);
            }
        }
        if !connection.outbox.is_empty() {
            self.touch(slot);
        }
    }
}

fn count_close(close: Close) {
    counter!("matchwire_closes_total", "reason" => close.reason()).increment(1);
}
