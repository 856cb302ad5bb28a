//! How a generator opens its sockets at a limited rate, subscribes, and handles their ends.

use std::{io, net::Ipv4Addr, sync::atomic::Ordering};

use mio::{Interest, Token, event::Event};

use super::Receiver;
use crate::{
    clock,
    peer::{self, DialOptions, PeerState},
    plan::{CONTROL, Endpoint, ReadRate},
    position::Positions,
    upgrade, wire,
};

/// Connections begun in one turn.
const DIALS_A_TURN: usize = 64;

/// How often a socket that was cut tries to reconnect.
const ATTEMPTS_MAX: u8 = 20;

/// The longest pause in opening that may be made up for.
const TURN_US: u64 = 5_000;

impl Receiver {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "microseconds between two connections"
    )]
    pub(super) fn dial_some(&mut self) {
        let rate = self.plan.connect_rate;
        let between = if rate > 0.0 { (1e6 / rate) as u64 } else { 0 };
        for _ in 0..DIALS_A_TURN {
            let now = clock::now();
            if self.dialing.in_flight >= self.plan.in_flight || now < self.dialing.next_at {
                return;
            }
            let Some(at) = self.dialing.waiting.pop_front() else { return };
            // Keeps the rate from the first connection on, and does not make up for a pause.
            self.dialing.next_at =
                (self.dialing.next_at + between).max(now.saturating_sub(TURN_US));
            if let Err(error) = self.dial(at, now) {
                self.refused(at, &error.to_string());
            }
        }
    }

    pub(super) fn dial(&mut self, at: usize, now: u64) -> io::Result<()> {
        let peer = &mut self.peers[at];
        let class = &self.plan.classes[usize::from(peer.reader.class)];
        let nth = u8::try_from(at % usize::from(self.plan.addresses)).unwrap_or(0);
        let from = (self.plan.addresses > 1).then(|| Ipv4Addr::new(127, 0, 0, nth + 1));
        let (to, receive_bytes, is_probe) = (self.plan.address, class.receive_bytes, peer.is_probe);
        let mut stream = peer::dial(DialOptions { to, from, receive_bytes, is_probe })?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut stream, Token(at), interest)?;
        peer.stream = Some(stream);
        peer.state = PeerState::Connecting;
        peer.since = now;
        self.dialing.in_flight += 1;
        Ok(())
    }

    /// Handles a connection that could not be opened. One that existed before is retried.
    pub(super) fn refused(&mut self, at: usize, why: &str) {
        self.hang_up(at);
        let peer = &mut self.peers[at];
        self.ledger.counts(&peer.reader).refused += 1;
        self.ledger.tally.fault(|| format!("no connection: {why}"));
        peer.attempts += 1;
        if peer.cut_at.is_some() && peer.attempts < ATTEMPTS_MAX {
            peer.state = PeerState::Waiting;
            self.dialing.waiting.push_back(at);
            return;
        }
        peer.state = PeerState::Ended;
        if peer.cut_at.take().is_some() {
            self.progress.away.fetch_sub(1, Ordering::Relaxed);
        }
        self.progress.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Handles a connection that ended unexpectedly.
    pub(super) fn ended(&mut self, at: usize, why: &str) {
        if !self.peers[at].is_open() {
            self.refused(at, why);
            return;
        }
        let was_joining = self.peers[at].state == PeerState::Joining;
        self.hang_up(at);
        let peer = &mut self.peers[at];
        peer.state = PeerState::Ended;
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

    pub(super) fn hang_up(&mut self, at: usize) {
        let peer = &mut self.peers[at];
        if let Some(mut stream) = peer.stream.take() {
            self.poll.registry().deregister(&mut stream).ok();
        }
        if matches!(peer.state, PeerState::Connecting | PeerState::Upgrading) {
            self.dialing.in_flight -= 1;
        }
        peer.partial = Vec::new();
        peer.out = Vec::new();
        peer.has_unread = false;
    }

    pub(super) fn ready(&mut self, event: &Event) {
        let at = event.token().0;
        if event.is_writable() {
            if self.peers[at].state == PeerState::Connecting {
                self.connected(at);
            } else if !self.peers[at].out.is_empty() {
                self.flush(at);
            }
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            self.peers[at].has_unread = true;
            if self.peers[at].read_rate == ReadRate::All {
                self.read_until_dry(at, event.is_read_closed());
            }
        }
    }

    pub(super) fn connected(&mut self, at: usize) {
        let peer = &mut self.peers[at];
        let failed = peer.stream.as_ref().and_then(|stream| stream.take_error().ok().flatten());
        if let Some(error) = failed {
            self.refused(at, &error.to_string());
            return;
        }
        peer.state = PeerState::Upgrading;
        peer.out = upgrade::request(&self.plan, &peer.reader.follows);
        self.flush(at);
    }

    pub(super) fn flush(&mut self, at: usize) {
        if let Err(error) = self.peers[at].flush() {
            self.ended(at, &error.to_string());
        }
    }

    pub(super) fn upgraded(&mut self, at: usize, now: u64) {
        let peer = &mut self.peers[at];
        self.dialing.in_flight -= 1;
        self.ledger.tally.durations.connect.saturating_record(now.saturating_sub(peer.since));
        peer.state = PeerState::Joining;
        peer.since = now;
        peer.attempts = 0;
        self.progress.upgraded.fetch_add(1, Ordering::Relaxed);
        match self.plan.endpoint {
            Endpoint::Stream { .. } => {
                let positions = std::mem::take(&mut peer.reader.positions);
                self.subscribe(at, &positions);
                self.peers[at].reader.positions = positions;
            }
            Endpoint::Raw => {
                if !peer.reader.resumes
                    && let Ok(ch) = peer.reader.follows[0].parse()
                {
                    peer.reader.positions.join(ch, 0, 0);
                }
                self.update_joined(at, now);
            }
        }
    }

    pub(super) fn subscribe(&mut self, at: usize, from: &Positions) {
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

    pub(super) fn update_joined(&mut self, at: usize, now: u64) {
        let peer = &mut self.peers[at];
        if peer.state != PeerState::Joining
            || peer.reader.unanswered > 0
            || (peer.reader.images_due > 0 && !peer.reader.resumes)
        {
            return;
        }
        peer.state = PeerState::Joined;
        let durations = &mut self.ledger.tally.durations;
        match peer.cut_at {
            Some(cut_at) => {
                durations.resume.saturating_record(now.saturating_sub(cut_at));
                self.catching_up.push(at);
                self.progress.away.fetch_sub(1, Ordering::Relaxed);
            }
            None => {
                // A bare channel is joined by the upgrade itself.
                if matches!(self.plan.endpoint, Endpoint::Stream { .. }) {
                    durations.join.saturating_record(now.saturating_sub(peer.since));
                }
                self.progress.joined.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// A socket has caught up when it has reached the heads of one turn ago.
    pub(super) fn update_caught_up(&mut self) {
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
}
