//! A generator: one thread with one epoll that holds as many sockets as there are open files. It
//! opens them at a limited rate, reads them as they become readable, and passes the bytes with
//! their time of receipt to the [`Ledger`].
//!
//! A socket takes a hundred bytes of memory and its positions: all sockets are read into one
//! buffer, and only the beginning of an incomplete frame is stored.

mod connections;
mod reading;

use std::{
    collections::VecDeque,
    io::ErrorKind,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver as Orders, TryRecvError},
    },
    time::Duration,
};

use anyhow::Result;
use mio::{Events, Poll, event::Event};

use crate::{
    clock,
    inflate::Inflater,
    ledger::{Ledger, Reader},
    machine::{self, ThreadTimes},
    peer::{Peer, PeerState},
    plan::{Action, CONTROL, Endpoint, Order, Plan, Progress, ReadRate, Spec},
    position::Positions,
    tally::Tally,
    wire,
};

/// Bytes read at a time.
const READ_BYTES: usize = 256 << 10;

/// Events handled at a time.
const EVENTS: usize = 1024;

/// How long a generator waits for an event before it checks for commands.
const TURN: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(crate) struct Receiver {
    plan: Arc<Plan>,
    progress: Arc<Progress>,
    orders: Orders<Order>,
    poll: Poll,
    peers: Vec<Peer>,
    /// The sockets of each class, in the order in which they were opened.
    classes: Vec<Vec<usize>>,
    ledger: Ledger,
    buffer: Vec<u8>,
    /// Bytes of a connection over TLS before they are decrypted.
    encrypted: Vec<u8>,
    inflater: Inflater,
    dialing: DialQueue,
    /// Sockets with more bytes than were read in their turn.
    unfinished: Vec<usize>,
    /// Sockets with a limited read rate.
    nibblers: Vec<usize>,
    nibbled_at: u64,
    /// Sockets that have reconnected and not yet caught up.
    catching_up: Vec<usize>,
    /// The heads of the channels at the last turn.
    heads_before: Vec<u64>,
    finish: Option<PendingFinish>,
    times: Option<(u64, ThreadTimes)>,
    /// Frames and bytes of the current turn.
    frames: u64,
    bytes: u64,
}

/// Connections still to open.
#[derive(Debug, Default)]
struct DialQueue {
    waiting: VecDeque<usize>,
    /// Those that no hub has accepted, and when they try again, in this order.
    later: VecDeque<(u64, usize)>,
    in_flight: usize,
    /// With several hubs: the connections that began, in this order, to notice one that a hub does
    /// not answer.
    begun: VecDeque<(u64, usize)>,
    /// Connections begun to each hub.
    counts: Vec<usize>,
    /// When the next may start.
    next_at: u64,
}

#[derive(Debug)]
struct PendingFinish {
    heads: Arc<[u64]>,
    deadline: u64,
    /// Sockets up to here have reached the heads.
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
        if matches!(plan.endpoint, Endpoint::Raw) {
            ledger.bare_channels(bare_channels);
        }
        let dialing = DialQueue { counts: vec![0; plan.hubs.len()], ..DialQueue::default() };
        Ok(Self {
            classes: vec![Vec::new(); plan.classes.len()],
            plan,
            progress,
            orders,
            poll: Poll::new()?,
            peers: Vec::new(),
            ledger,
            buffer: vec![0; 2 * READ_BYTES],
            encrypted: Vec::new(),
            inflater: Inflater::default(),
            dialing,
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

    /// Runs until the conductor orders the end or is gone.
    ///
    /// # Errors
    ///
    /// If the system cannot report which sockets are ready.
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
            // Read the control sockets first: the others are compared with them.
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
            self.drop_unanswered();
            self.dial_some();
            self.update_caught_up();
            self.report_progress();
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

    fn report_progress(&mut self) {
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

    /// Returns whether the conductor still exists.
    fn take_orders(&mut self) -> bool {
        loop {
            match self.orders.try_recv() {
                Ok(Order::Open(specs)) => specs.into_iter().for_each(|spec| self.add(spec)),
                Ok(Order::Do { class, which, action }) => {
                    let readers = &self.classes[usize::from(class)];
                    let which: Vec<usize> = readers
                        [which.start.min(readers.len())..which.end.min(readers.len())]
                        .to_vec();
                    which.into_iter().for_each(|at| self.act(at, action));
                }
                Ok(Order::Finish { heads, deadline }) => {
                    let heads = heads.unwrap_or_else(|| self.heads());
                    self.finish = Some(PendingFinish { heads, deadline, arrived: 0 });
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
        let Spec { class, hub, follows, view, documents } = spec;
        let at = self.peers.len();
        let excused = self.plan.classes[usize::from(class)].excused;
        let reader = Reader {
            class,
            excused,
            unanswered: 0,
            images_due: 0,
            resumes: false,
            follows,
            view,
            positions: Positions::default(),
            follower: documents.then(|| Box::new(self.ledger.follower())),
        };
        // A few probes for each generator measure how late it reads; with `--saturate` this does
        // not matter.
        let is_probe = !self.plan.saturate
            && !excused
            && class != CONTROL
            && at % 64 == self.plan.hubs.len() % 64
            && at < 64 * 16;
        self.peers.push(Peer::new(reader, hub, is_probe));
        if class != CONTROL {
            self.ledger.tally.hubs[hub].sockets += 1;
        }
        self.classes[usize::from(class)].push(at);
        self.ledger.tally.classes[usize::from(class)].sockets += 1;
        self.dialing.waiting.push_back(at);
    }

    fn act(&mut self, at: usize, action: Action) {
        let peer = &mut self.peers[at];
        match action {
            Action::Cut if peer.is_open() => self.reconnect(at),
            Action::Read(read_rate) => {
                peer.read_rate = read_rate;
                self.nibblers.retain(|nibbler| *nibbler != at);
                match read_rate {
                    ReadRate::All => self.read(at),
                    ReadRate::BytesPerSecond(_) => self.nibblers.push(at),
                    ReadRate::Nothing => {}
                }
            }
            Action::Unsubscribe if peer.state == PeerState::Joined => {
                let follows = Arc::clone(&peer.reader.follows);
                for (id, ch) in follows.iter().enumerate() {
                    let command =
                        serde_json::json!({"op": "unsubscribe", "id": id, "ch": ch}).to_string();
                    wire::push_frame(&mut peer.out, wire::TEXT, command.as_bytes());
                }
                self.flush(at);
            }
            Action::Subscribe if peer.state == PeerState::Joined => {
                peer.reader.resumes = false;
                self.subscribe(at, &Positions::default());
            }
            Action::Cut | Action::Unsubscribe | Action::Subscribe => {}
        }
    }

    fn is_finished(&mut self) -> bool {
        let Some(finish) = &mut self.finish else { return false };
        while let Some(peer) = self.peers.get(finish.arrived) {
            let is_done = peer.reader.excused
                || peer.state == PeerState::Ended
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
            if peer.is_open() && peer.reader.class != CONTROL {
                self.ledger.tally.hubs[peer.hub].sockets_at_end += 1;
            }
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
