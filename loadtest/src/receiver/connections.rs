//! How a generator opens its sockets at a limited rate, subscribes, and handles their ends.

use std::{io, net::Ipv4Addr, sync::atomic::Ordering};

use mio::{Interest, Token, event::Event};

use super::Receiver;
use crate::{
    clock,
    ledger::Reader,
    peer::{self, DialOptions, PeerState},
    plan::{CONTROL, Endpoint, ReadRate},
    position::Positions,
    transport::{CertificateVerification, Transport},
    upgrade, wire,
};

/// Connections begun in one turn.
const DIALS_A_TURN: usize = 64;

/// How often a socket that was cut tries to reconnect to the only hub.
const ATTEMPTS_MAX: u16 = 20;

/// With several hubs: how long a socket that was cut or closed looks for one, and the pause after
/// all have refused it.
const NO_HUB_US: u64 = 30_000_000;
const NEXT_ROUND_US: u64 = 50_000;

/// With several hubs: how long one may take for an upgrade. A process that hangs accepts
/// connections all the same.
const UPGRADE_US: u64 = 10_000_000;

/// The longest pause in opening that may be made up for.
const TURN_US: u64 = 5_000;

impl Receiver {
    pub(super) fn dial_some(&mut self) {
        let rate = self.plan.connect_rate;
        let between = if rate > 0.0 { (1e6 / rate) as u64 } else { 0 };
        while let Some(&(due, at)) = self.dialing.later.front()
            && due <= clock::now()
        {
            self.dialing.later.pop_front();
            self.dialing.waiting.push_back(at);
        }
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
        let to = self.plan.hubs[peer.hub].address;
        // A pair of source address and target has some 28,000 ports: each hub has its own turn of
        // the addresses.
        let dialed = &mut self.dialing.counts[peer.hub];
        let nth = u8::try_from(*dialed % usize::from(self.plan.addresses)).unwrap_or(0);
        *dialed += 1;
        let from = (self.plan.addresses > 1 && to.is_ipv4())
            .then(|| Ipv4Addr::new(127, 0, 0, nth.saturating_add(1)));
        let (receive_bytes, is_probe) = (class.receive_bytes, peer.is_probe);
        let verification = self.plan.hubs[peer.hub].verification.as_ref();
        let tls = verification
            .map(CertificateVerification::begin)
            .transpose()
            .map_err(io::Error::other)?;
        let mut stream = peer::dial(DialOptions { to, from, receive_bytes, is_probe })?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut stream, Token(at), interest)?;
        peer.transport = Some(Transport::new(stream, tls));
        peer.state = PeerState::Connecting;
        peer.since = now;
        self.dialing.in_flight += 1;
        if self.plan.has_several_hubs() {
            self.dialing.begun.push_back((now, at));
        }
        Ok(())
    }

    /// Gives up on connections that a hub does not answer, if there are other hubs.
    pub(super) fn drop_unanswered(&mut self) {
        let now = clock::now();
        while let Some(&(since, at)) = self.dialing.begun.front()
            && since + UPGRADE_US <= now
        {
            self.dialing.begun.pop_front();
            let peer = &self.peers[at];
            if peer.since == since
                && matches!(peer.state, PeerState::Connecting | PeerState::Upgrading)
            {
                self.refused(at, "no answer to the upgrade");
            }
        }
    }

    /// Handles a connection that could not be opened, or that ended before the socket had joined
    /// its channels. A socket that was connected before tries again. With several hubs each
    /// attempt is at the next one, and a new socket tries each of them once.
    pub(super) fn refused(&mut self, at: usize, why: &str) {
        self.hang_up(at);
        let several = self.plan.has_several_hubs();
        let peer = &mut self.peers[at];
        peer.attempts = peer.attempts.saturating_add(1);
        let attempts = usize::from(peer.attempts);
        let goes_on = match peer.cut_at {
            Some(cut_at) if several => clock::now() < cut_at + NO_HUB_US,
            Some(_) => peer.attempts < ATTEMPTS_MAX,
            None => attempts < self.plan.hubs.len(),
        };
        let counts = self.ledger.counts(&peer.reader);
        if several && goes_on {
            counts.unreached += 1;
        } else {
            counts.refused += 1;
            self.ledger.tally.fault(|| format!("no connection: {why}"));
        }
        if peer.reader.class != CONTROL {
            self.ledger.tally.hubs[peer.hub].unreached += 1;
        }
        if goes_on {
            self.renew(at);
            if several && attempts.is_multiple_of(self.plan.hubs.len()) {
                self.dialing.later.push_back((clock::now() + NEXT_ROUND_US, at));
            } else {
                self.dialing.waiting.push_back(at);
            }
            return;
        }
        peer.state = PeerState::Ended;
        if peer.cut_at.take().is_some() {
            self.progress.away.fetch_sub(1, Ordering::Relaxed);
            if several && peer.reader.class == CONTROL {
                self.progress.hopeless.store(true, Ordering::Relaxed);
            }
        }
        self.progress.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Closes a connection and opens the next one, which resumes from the positions of the socket:
    /// at the next hub, if there are several.
    pub(super) fn reconnect(&mut self, at: usize) {
        self.hang_up(at);
        let peer = &mut self.peers[at];
        if peer.state == PeerState::Joined {
            peer.cut_at = Some(clock::now());
            self.progress.away.fetch_add(1, Ordering::Relaxed);
        }
        self.renew(at);
        self.dialing.waiting.push_back(at);
    }

    /// Prepares a socket for its next connection.
    fn renew(&mut self, at: usize) {
        let peer = &mut self.peers[at];
        if peer.cut_at.is_none() {
            self.ledger.forget(&mut peer.reader);
        } else if matches!(self.plan.endpoint, Endpoint::Raw) {
            self.ledger.leave(&mut peer.reader);
            peer.reader.resumes = true;
        } else {
            // One that was about to subscribe again has no positions.
            peer.reader.resumes = !peer.reader.positions.all().is_empty();
        }
        peer.state = PeerState::Waiting;
        peer.hub = self.plan.next_hub(peer.hub);
    }

    /// Handles a connection that ended unexpectedly. With several hubs the socket continues at the
    /// next one.
    pub(super) fn ended(&mut self, at: usize, why: &str) {
        if !self.peers[at].is_open() {
            self.refused(at, why);
            return;
        }
        let was_joining = self.peers[at].state == PeerState::Joining;
        let peer = &self.peers[at];
        if peer.reader.class != CONTROL {
            self.ledger.tally.hubs[peer.hub].closed += 1;
        }
        if self.plan.has_several_hubs() {
            if was_joining {
                self.refused(at, why);
            } else {
                self.ledger.counts(&peer.reader).moved += 1;
                self.reconnect(at);
            }
            return;
        }
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
        if let Some(mut transport) = peer.transport.take() {
            self.poll.registry().deregister(&mut transport.stream).ok();
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
            } else if self.peers[at].has_output() {
                self.flush(at);
            }
        }
        // A connection that was refused is gone, and is to be counted once.
        let is_connected = self.peers[at].transport.is_some();
        if is_connected && (event.is_readable() || event.is_read_closed() || event.is_error()) {
            self.peers[at].has_unread = true;
            if self.peers[at].read_rate == ReadRate::All {
                self.read_until_dry(at, event.is_read_closed());
            }
        }
    }

    pub(super) fn connected(&mut self, at: usize) {
        let peer = &mut self.peers[at];
        let transport = peer.transport.as_ref();
        let failed = transport.and_then(|it| it.stream.take_error().ok().flatten());
        if let Some(error) = failed {
            self.refused(at, &error.to_string());
            return;
        }
        peer.state = PeerState::Upgrading;
        let hub = &self.plan.hubs[peer.hub];
        let Reader { follows, view, .. } = &peer.reader;
        peer.out = upgrade::request(hub, &self.plan.endpoint, follows, view);
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
        if peer.reader.class != CONTROL {
            self.ledger.tally.hubs[peer.hub].upgrades += 1;
        }
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
        let Reader { follows, view, .. } = &peer.reader;
        let commands = upgrade::subscribes((class, view), follows, from, &self.ledger.channels);
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
        peer.attempts = 0;
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
            if peer.state != PeerState::Joined {
                // It was cut once more, and comes back to this list.
                return false;
            }
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
