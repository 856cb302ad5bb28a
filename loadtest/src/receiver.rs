//! A generator: one thread with one epoll that holds as many sockets as there are open files. It
//! opens them at a pace, reads them as they become readable, and hands bytes with the time of their
//! reading to the [`Ledger`].
//!
//! Memory for each socket is a hundred bytes and its positions: all are read into one buffer, and
//! only the beginning of an unfinished frame is kept.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind},
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver as Orders, TryRecvError},
    },
    time::Duration,
};

use anyhow::Result;
use mio::{Events, Interest, Poll, Token, event::Event};

use crate::{
    clock,
    follower::Follower,
    ledger::{Ledger, Reader},
    machine::{self, ThreadTimes},
    peer::{self, Dial, Peer, State},
    plan::{Act, Appetite, CONTROL, Door, Order, Plan, Progress, Spec},
    position::Positions,
    tally::Tally,
    upgrade::{self, Answer},
    wire,
};

/// Bytes read at a time.
const READ_BYTES: usize = 256 << 10;

/// Bytes that a probe reads at a time: the kernel's time is that of the last byte, so the fewer
/// messages a read brings, the less is hidden.
const PROBE_BYTES: usize = 2 << 10;

/// Reads of one socket in a row, so that one that never ends does not starve the others.
const READS_MAX: usize = 4;

/// Events taken at a time.
const EVENTS: usize = 1024;

/// How long a generator waits for an event before it looks for orders.
const TURN: Duration = Duration::from_millis(5);

/// Connections begun in one turn.
const DIALS_A_TURN: usize = 64;

/// How often a socket that was cut tries to come back.
const ATTEMPTS_MAX: u8 = 20;

#[derive(Debug)]
pub(crate) struct Receiver {
    plan: Arc<Plan>,
    progress: Arc<Progress>,
    orders: Orders<Order>,
    poll: Poll,
    peers: Vec<Peer>,
    /// The sockets of each class, by the order in which they were opened.
    classes: Vec<Vec<usize>>,
    ledger: Ledger,
    buffer: Vec<u8>,
    dialing: Dialing,
    /// Sockets with more to read than was read in their turn.
    unfinished: Vec<usize>,
    /// Sockets that read at a rate of their own.
    nibblers: Vec<usize>,
    nibbled_at: u64,
    /// Sockets that are back and not yet where their channels are.
    catching_up: Vec<usize>,
    /// Where channels were at the last turn.
    heads_before: Vec<u64>,
    finish: Option<Finish>,
    times: Option<(u64, ThreadTimes)>,
    /// Frames and bytes of the present turn.
    frames: u64,
    bytes: u64,
}

/// Connections that are to be made.
#[derive(Debug, Default)]
struct Dialing {
    waiting: VecDeque<usize>,
    in_flight: usize,
    /// When the next may begin.
    next_at: u64,
}

#[derive(Debug)]
struct Finish {
    heads: Arc<[u64]>,
    deadline: u64,
    /// Sockets up to here have come to the heads.
    arrived: usize,
}

impl Receiver {
    pub(crate) fn new(
        plan: Arc<Plan>,
        progress: Arc<Progress>,
        orders: Orders<Order>,
        bare_channels: usize,
    ) -> Result<Self> {
        let mut ledger = Ledger::new(Arc::clone(&plan));
        if matches!(plan.door, Door::Raw) {
            ledger.bare_channels(bare_channels);
        }
        Ok(Self {
            classes: vec![Vec::new(); plan.classes.len()],
            plan,
            progress,
            orders,
            poll: Poll::new()?,
            peers: Vec::new(),
            ledger,
            buffer: vec![0; 2 * READ_BYTES],
            dialing: Dialing::default(),
            unfinished: Vec::new(),
            nibblers: Vec::new(),
            nibbled_at: 0,
            catching_up: Vec::new(),
            heads_before: Vec::new(),
            finish: None,
            times: None,
            frames: 0,
            bytes: 0,
        })
    }

    /// Runs until the conductor has ordered the end, or is gone.
    ///
    /// # Errors
    ///
    /// When the system refuses to tell what is ready.
    pub(crate) fn run(mut self) -> Result<Tally> {
        let mut events = Events::with_capacity(EVENTS);
        loop {
            let wait = if self.unfinished.is_empty() { self.patience() } else { Duration::ZERO };
            match self.poll.poll(&mut events, Some(wait)) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error.into()),
                _ => {}
            }
            self.ledger.phases = self.plan.timeline.phases();
            self.take_times();
            // What everybody is compared with is read first.
            for event in &events {
                if self.is_control(event) {
                    self.ready(event);
                }
            }
            for event in &events {
                if !self.is_control(event) {
                    self.ready(event);
                }
            }
            for at in std::mem::take(&mut self.unfinished) {
                self.read(at);
            }
            self.nibble();
            self.dial_some();
            self.look_who_caught_up();
            self.tell_progress();
            if !self.take_orders() || self.is_finished() {
                return Ok(self.close());
            }
        }
    }

    fn is_control(&self, event: &Event) -> bool {
        self.peers[event.token().0].reader.class == CONTROL
    }

    fn patience(&self) -> Duration {
        if self.dialing.waiting.is_empty() || self.dialing.in_flight >= self.plan.in_flight {
            return TURN;
        }
        let until_next = self.dialing.next_at.saturating_sub(clock::now());
        TURN.min(Duration::from_micros(until_next.max(1)))
    }

    fn take_times(&mut self) {
        if self.times.is_none() && self.ledger.phases.starts[0] != u64::MAX {
            self.times = Some((clock::now(), machine::thread_times()));
        }
    }

    fn tell_progress(&mut self) {
        if self.frames > 0 {
            self.progress.frames.fetch_add(self.frames, Ordering::Relaxed);
            self.progress.bytes.fetch_add(self.bytes, Ordering::Relaxed);
            let since = clock::now().checked_sub(self.ledger.phases.starts[0]);
            if let Some(since) = since {
                self.ledger.tally.series.received(since, self.frames);
            }
            (self.frames, self.bytes) = (0, 0);
        }
    }

    // --- orders ---

    /// Returns whether there is still a conductor.
    fn take_orders(&mut self) -> bool {
        loop {
            match self.orders.try_recv() {
                Ok(Order::Open(specs)) => specs.into_iter().for_each(|spec| self.add(spec)),
                Ok(Order::Do { class, which, act }) => {
                    let of = &self.classes[usize::from(class)];
                    let which: Vec<usize> =
                        of[which.start.min(of.len())..which.end.min(of.len())].to_vec();
                    which.into_iter().for_each(|at| self.act(at, act));
                }
                Ok(Order::Finish { heads, deadline }) => {
                    let heads = heads.unwrap_or_else(|| self.heads());
                    self.finish = Some(Finish { heads, deadline, arrived: 0 });
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn heads(&self) -> Arc<[u64]> {
        self.ledger.channels.all().iter().map(|channel| channel.head).collect()
    }

    fn add(&mut self, spec: Spec) {
        let Spec { class, follows, documents } = spec;
        let at = self.peers.len();
        let excused = self.plan.classes[usize::from(class)].excused;
        let reader = Reader {
            class,
            excused,
            unanswered: 0,
            images_due: 0,
            resumes: false,
            follows,
            positions: Positions::default(),
            follower: documents.then(|| Box::new(Follower::new(true))),
        };
        // A few probes for each generator tell how late it reads; in saturation that is no question.
        let is_probe = !self.plan.saturate && !excused && at % 64 == 1 && at < 64 * 16;
        self.peers.push(Peer::new(reader, is_probe));
        self.classes[usize::from(class)].push(at);
        self.ledger.tally.classes[usize::from(class)].sockets += 1;
        self.dialing.waiting.push_back(at);
    }

    fn act(&mut self, at: usize, act: Act) {
        let peer = &mut self.peers[at];
        match act {
            Act::Cut if peer.is_open() => {
                peer.cut_at = Some(clock::now());
                peer.reader.resumes = true;
                self.hang_up(at);
                if matches!(self.plan.door, Door::Raw) {
                    self.ledger.leave(&mut self.peers[at].reader);
                }
                self.peers[at].state = State::Waiting;
                self.progress.away.fetch_add(1, Ordering::Relaxed);
                self.dialing.waiting.push_back(at);
            }
            Act::Read(appetite) => {
                peer.appetite = appetite;
                self.nibblers.retain(|nibbler| *nibbler != at);
                match appetite {
                    Appetite::All => self.read(at),
                    Appetite::BytesPerSecond(_) => self.nibblers.push(at),
                    Appetite::Nothing => {}
                }
            }
            Act::Unsubscribe if peer.state == State::Joined => {
                let follows = Arc::clone(&peer.reader.follows);
                for (id, ch) in follows.iter().enumerate() {
                    let command =
                        serde_json::json!({"op": "unsubscribe", "id": id, "ch": ch}).to_string();
                    wire::push_frame(&mut peer.out, wire::TEXT, command.as_bytes());
                }
                self.flush(at);
            }
            Act::Subscribe if peer.state == State::Joined => {
                peer.reader.resumes = false;
                self.subscribe(at, &Positions::default());
            }
            Act::Cut | Act::Unsubscribe | Act::Subscribe => {}
        }
    }

    // --- connections ---

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "microseconds between two connections"
    )]
    fn dial_some(&mut self) {
        let rate = self.plan.connect_rate;
        let between = if rate > 0.0 { (1e6 / rate) as u64 } else { 0 };
        for _ in 0..DIALS_A_TURN {
            let now = clock::now();
            if self.dialing.in_flight >= self.plan.in_flight || now < self.dialing.next_at {
                return;
            }
            let Some(at) = self.dialing.waiting.pop_front() else { return };
            // At its pace from the first on, and without making up for a pause.
            self.dialing.next_at =
                (self.dialing.next_at + between).max(now.saturating_sub(TURN_US));
            if let Err(error) = self.dial(at, now) {
                self.refused(at, &error.to_string());
            }
        }
    }

    fn dial(&mut self, at: usize, now: u64) -> io::Result<()> {
        let peer = &mut self.peers[at];
        let class = &self.plan.classes[usize::from(peer.reader.class)];
        let nth = u8::try_from(at % usize::from(self.plan.addresses)).unwrap_or(0);
        let from = (self.plan.addresses > 1).then(|| Ipv4Addr::new(127, 0, 0, nth + 1));
        let (to, receive_bytes, is_probe) = (self.plan.address, class.receive_bytes, peer.is_probe);
        let mut stream = peer::dial(Dial { to, from, receive_bytes, is_probe })?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut stream, Token(at), interest)?;
        peer.stream = Some(stream);
        peer.state = State::Connecting;
        peer.since = now;
        self.dialing.in_flight += 1;
        Ok(())
    }

    /// A connection could not be made. One that was there before is tried again.
    fn refused(&mut self, at: usize, why: &str) {
        self.hang_up(at);
        let peer = &mut self.peers[at];
        self.ledger.counts(&peer.reader).refused += 1;
        self.ledger.tally.fault(|| format!("no connection: {why}"));
        peer.attempts += 1;
        if peer.cut_at.is_some() && peer.attempts < ATTEMPTS_MAX {
            peer.state = State::Waiting;
            self.dialing.waiting.push_back(at);
            return;
        }
        peer.state = State::Ended;
        if peer.cut_at.take().is_some() {
            self.progress.away.fetch_sub(1, Ordering::Relaxed);
        }
        self.progress.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection has ended that was not to.
    fn ended(&mut self, at: usize, why: &str) {
        if !self.peers[at].is_open() {
            self.refused(at, why);
            return;
        }
        let was_joining = self.peers[at].state == State::Joining;
        self.hang_up(at);
        let peer = &mut self.peers[at];
        peer.state = State::Ended;
        self.ledger.counts(&peer.reader).closed += 1;
        if peer.cut_at.take().is_some() {
            self.progress.away.fetch_sub(1, Ordering::Relaxed);
        }
        if was_joining {
            self.progress.failed.fetch_add(1, Ordering::Relaxed);
        }
        if !peer.reader.excused {
            self.ledger.tally.fault(|| format!("a connection has ended: {why}"));
        }
        if peer.reader.class == CONTROL {
            self.progress.hopeless.store(true, Ordering::Relaxed);
        }
    }

    fn hang_up(&mut self, at: usize) {
        let peer = &mut self.peers[at];
        if let Some(mut stream) = peer.stream.take() {
            self.poll.registry().deregister(&mut stream).ok();
        }
        if matches!(peer.state, State::Connecting | State::Upgrading) {
            self.dialing.in_flight -= 1;
        }
        peer.partial = Vec::new();
        peer.out = Vec::new();
        peer.has_unread = false;
    }

    fn ready(&mut self, event: &Event) {
        let at = event.token().0;
        if event.is_writable() {
            if self.peers[at].state == State::Connecting {
                self.connected(at);
            } else if !self.peers[at].out.is_empty() {
                self.flush(at);
            }
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            self.peers[at].has_unread = true;
            if self.peers[at].appetite == Appetite::All {
                self.read_until_dry(at, event.is_read_closed());
            }
        }
    }

    fn connected(&mut self, at: usize) {
        let peer = &mut self.peers[at];
        let failed = peer.stream.as_ref().and_then(|stream| stream.take_error().ok().flatten());
        if let Some(error) = failed {
            self.refused(at, &error.to_string());
            return;
        }
        peer.state = State::Upgrading;
        peer.out = upgrade::request(&self.plan, &peer.reader.follows);
        self.flush(at);
    }

    fn flush(&mut self, at: usize) {
        if let Err(error) = self.peers[at].flush() {
            self.ended(at, &error.to_string());
        }
    }

    fn upgraded(&mut self, at: usize, now: u64) {
        let peer = &mut self.peers[at];
        self.dialing.in_flight -= 1;
        self.ledger.tally.durations.connect.saturating_record(now.saturating_sub(peer.since));
        peer.state = State::Joining;
        peer.since = now;
        peer.attempts = 0;
        self.progress.upgraded.fetch_add(1, Ordering::Relaxed);
        match self.plan.door {
            Door::Stream { .. } => {
                let positions = std::mem::take(&mut peer.reader.positions);
                self.subscribe(at, &positions);
                self.peers[at].reader.positions = positions;
            }
            Door::Raw => {
                if !peer.reader.resumes
                    && let Ok(ch) = peer.reader.follows[0].parse()
                {
                    peer.reader.positions.join(ch, 0, 0);
                }
                self.look_whether_joined(at, now);
            }
        }
    }

    fn subscribe(&mut self, at: usize, from: &Positions) {
        let peer = &mut self.peers[at];
        let class = &self.plan.classes[usize::from(peer.reader.class)];
        let follows = &peer.reader.follows;
        let commands = upgrade::subscribes(class, follows, from, &self.ledger.channels);
        peer.reader.unanswered = u16::try_from(commands.len()).unwrap_or(u16::MAX);
        peer.reader.images_due = 0;
        for command in commands {
            wire::push_frame(&mut peer.out, wire::TEXT, command.as_bytes());
        }
        self.flush(at);
    }

    fn look_whether_joined(&mut self, at: usize, now: u64) {
        let peer = &mut self.peers[at];
        if peer.state != State::Joining
            || peer.reader.unanswered > 0
            || (peer.reader.images_due > 0 && !peer.reader.resumes)
        {
            return;
        }
        peer.state = State::Joined;
        let durations = &mut self.ledger.tally.durations;
        match peer.cut_at {
            Some(cut_at) => {
                durations.resume.saturating_record(now.saturating_sub(cut_at));
                self.catching_up.push(at);
                self.progress.away.fetch_sub(1, Ordering::Relaxed);
            }
            None => {
                durations.join.saturating_record(now.saturating_sub(peer.since));
                self.progress.joined.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// A socket has caught up when it is where its channels were a turn ago.
    fn look_who_caught_up(&mut self) {
        if self.catching_up.is_empty() {
            return;
        }
        let now = clock::now();
        let (peers, ledger, heads) = (&mut self.peers, &mut self.ledger, &self.heads_before);
        self.catching_up.retain(|&at| {
            let peer = &mut peers[at];
            let is_there = ledger.has_all(&peer.reader, heads);
            if is_there && let Some(cut_at) = peer.cut_at.take() {
                ledger.tally.durations.caught_up.saturating_record(now.saturating_sub(cut_at));
            }
            peer.cut_at.is_some()
        });
        let heads = self.ledger.channels.all().iter().map(|channel| channel.head);
        self.heads_before.clear();
        self.heads_before.extend(heads);
    }

    // --- reading ---

    fn read(&mut self, at: usize) {
        if self.peers[at].has_unread {
            self.read_until_dry(at, true);
        }
    }

    /// Reads until the kernel has no more, which a short read says as well, unless the end of the
    /// connection is to be read too.
    fn read_until_dry(&mut self, at: usize, to_the_end: bool) {
        for _ in 0..READS_MAX {
            let room = if self.peers[at].is_probe { PROBE_BYTES } else { READ_BYTES };
            match self.read_once(at, room) {
                Some(read) if read == room || (to_the_end && read > 0) => {}
                _ => return,
            }
        }
        if self.peers[at].stream.is_some() {
            self.unfinished.push(at);
        }
    }

    /// Reads so many bytes at most, and takes them. Returns how many there were, or nothing when
    /// there are none or the connection has ended.
    fn read_once(&mut self, at: usize, room: usize) -> Option<usize> {
        let peer = &mut self.peers[at];
        let kept = peer.partial.len();
        if self.buffer.len() < kept + room {
            self.buffer.resize(kept + room, 0);
        }
        self.buffer[..kept].copy_from_slice(&peer.partial);
        let read = match peer::read(peer, &mut self.buffer[kept..kept + room]) {
            Ok((0, _)) => {
                self.ended(at, "closed by the server");
                return None;
            }
            Ok((read, received)) => {
                if let Some(received) = received.filter(|_| self.times.is_some()) {
                    let lag = clock::now().saturating_sub(received);
                    self.ledger.tally.durations.lag.saturating_record(lag);
                }
                read
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                peer.has_unread = false;
                return None;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => return Some(room),
            Err(error) => {
                self.ended(at, &error.to_string());
                return None;
            }
        };
        peer.has_unread = read == room;
        self.take(at, kept + read);
        self.bytes += read as u64;
        Some(read)
    }

    /// Takes what stands in the buffer up to `end`.
    fn take(&mut self, at: usize, end: usize) {
        let now = clock::now();
        let mut start = 0;
        if self.peers[at].state == State::Upgrading {
            match upgrade::answer(&self.buffer[..end]) {
                Answer::Partial => {}
                Answer::Upgraded(head) => {
                    self.upgraded(at, now);
                    start = head;
                }
                Answer::Refused(why) => {
                    self.refused(at, &why);
                    return;
                }
            }
        }
        let mut closed = None;
        if self.peers[at].is_open() {
            match self.take_frames(at, start..end, now, &mut closed) {
                Ok(whole) => start += whole,
                Err(why) => {
                    self.ledger.counts(&self.peers[at].reader).errors += 1;
                    self.ended(at, why);
                    return;
                }
            }
        }
        if let Some(why) = closed {
            self.ended(at, &why);
            return;
        }
        let rest = &self.buffer[start..end];
        let partial = &mut self.peers[at].partial;
        if rest.is_empty() {
            if partial.capacity() > 0 {
                *partial = Vec::new();
            }
        } else {
            partial.clear();
            partial.extend_from_slice(rest);
        }
    }

    fn take_frames(
        &mut self,
        at: usize,
        range: std::ops::Range<usize>,
        now: u64,
        closed: &mut Option<String>,
    ) -> Result<usize, &'static str> {
        let Self { peers, ledger, buffer, .. } = self;
        let peer = &mut peers[at];
        let (reader, out) = (&mut peer.reader, &mut peer.out);
        let mut frames = 0;
        let whole = wire::walk(&buffer[range], |frame| {
            frames += 1;
            match frame.opcode {
                wire::BINARY => ledger.bare(reader, frame.payload, now),
                wire::TEXT => ledger.text(reader, frame.payload, now),
                wire::PING => wire::push_frame(out, wire::PONG, frame.payload),
                wire::CLOSE => *closed = Some(close_words(frame.payload)),
                _ => {}
            }
        })?;
        ledger.counts(reader).bytes += whole as u64;
        self.frames += frames;
        if !self.peers[at].out.is_empty() {
            self.flush(at);
        }
        if self.peers[at].state == State::Joining {
            self.look_whether_joined(at, now);
        }
        Ok(whole)
    }

    /// Lets those who read at a rate of their own read what they may by now.
    fn nibble(&mut self) {
        let now = clock::now();
        let since = now.saturating_sub(self.nibbled_at);
        if self.nibblers.is_empty() || since < NIBBLE_US {
            return;
        }
        self.nibbled_at = now;
        for at in self.nibblers.clone() {
            let Appetite::BytesPerSecond(rate) = self.peers[at].appetite else { continue };
            let may = u64::from(rate) * since.min(4 * NIBBLE_US) / 1_000_000;
            let may = usize::try_from(may).unwrap_or(usize::MAX).min(READ_BYTES);
            if may > 0 && self.peers[at].has_unread {
                self.read_once(at, may);
                // Whether more has come is not told again: it is found out next time.
                self.peers[at].has_unread = self.peers[at].stream.is_some();
            }
        }
    }

    // --- the end ---

    fn is_finished(&mut self) -> bool {
        let Some(finish) = &mut self.finish else { return false };
        while let Some(peer) = self.peers.get(finish.arrived) {
            let is_done = peer.reader.excused
                || peer.state == State::Ended
                || (peer.is_open() && self.ledger.has_all(&peer.reader, &finish.heads));
            if !is_done {
                return clock::now() >= finish.deadline;
            }
            finish.arrived += 1;
        }
        true
    }

    fn close(mut self) -> Tally {
        let now = clock::now();
        let heads = match &self.finish {
            Some(finish) => Arc::clone(&finish.heads),
            None => self.heads(),
        };
        for peer in &mut self.peers {
            if !peer.reader.excused && !self.ledger.has_all(&peer.reader, &heads) {
                self.ledger.tally.behind += 1;
            }
            self.ledger.settle(&peer.reader, &heads);
            if let Some(follower) = peer.reader.follower.take() {
                let follows = Arc::clone(&peer.reader.follows);
                self.ledger.tally.documents.push((*follower, follows));
            }
        }
        if let Some((since, times)) = self.times {
            self.ledger.tally.threads.push(times.until_now(now.saturating_sub(since)));
        }
        self.ledger.close()
    }
}

const TURN_US: u64 = 5_000;

/// How often those who read at a rate of their own may read.
const NIBBLE_US: u64 = 50_000;

fn close_words(payload: &[u8]) -> String {
    match payload {
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            format!("closed with {code} {}", String::from_utf8_lossy(reason))
        }
        _ => "closed without a code".to_owned(),
    }
}
