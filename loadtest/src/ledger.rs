//! Interprets the frames of all sockets of one generator: moves positions, records latencies,
//! counts faults. Its input is bytes and the time of their receipt; it has no socket and no clock.

use std::sync::Arc;

use client::Frame;

use crate::{
    channels::{Channels, Message},
    follower::Follower,
    latency::Latencies,
    payload,
    plan::{CONTROL, ChannelList, Phases, Plan, View},
    position::{MessageOrder, Position, Positions},
    spread::Receipts,
    tally::{Counts, Phase, Tally},
};

/// The state of one socket apart from its connection.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) class: u8,
    /// Whether the socket is late on purpose, so that its latency is meaningless.
    pub(crate) excused: bool,
    /// Subscriptions without a response yet, and images still to come.
    pub(crate) unanswered: u16,
    pub(crate) images_due: i32,
    /// Whether the subscriptions included a position.
    pub(crate) resumes: bool,
    pub(crate) follows: ChannelList,
    pub(crate) view: View,
    pub(crate) positions: Positions,
    pub(crate) follower: Option<Box<Follower>>,
}

impl Reader {
    /// Whether it gets only a part of the documents, and only the changes of that part.
    fn picks(&self) -> bool {
        self.view.pick.is_some()
    }
}

#[derive(Debug)]
pub(crate) struct Ledger {
    plan: Arc<Plan>,
    pub(crate) channels: Channels,
    pub(crate) tally: Tally,
    /// The phases at the last refresh.
    pub(crate) phases: Phases,
    /// Receipts of the last messages of each bare channel.
    rings: Vec<Vec<(Message, Receipts)>>,
    ring: usize,
    /// Whether any socket reads at a limited rate, so that the instants of changes are needed
    /// later.
    has_merged: bool,
}

/// With `--saturate`, the latency of one message in this many is recorded; the others are only
/// counted.
const SAMPLE: u64 = 64;

/// Messages of all bare channels together whose receipts are tracked.
const RING: usize = 1 << 15;

impl Ledger {
    pub(crate) fn new(plan: Arc<Plan>) -> Self {
        let tally = Tally::new(&plan);
        let phases = plan.timeline.phases();
        let has_merged = plan.classes.iter().any(|class| class.every_ms > 0);
        let channels = Channels::default();
        Self { plan, channels, tally, phases, rings: Vec::new(), ring: 64, has_merged }
    }

    /// Makes room for this many bare channels, which have numbers of their own in this ledger.
    pub(crate) fn bare_channels(&mut self, count: usize) {
        for number in self.channels.len()..count {
            self.channels.number(&format!("{number:06}"));
        }
        self.ring = (RING / count.max(1)).clamp(8, 4096);
        self.rings.resize_with(count, Vec::new);
    }

    pub(crate) fn counts(&mut self, reader: &Reader) -> &mut Counts {
        &mut self.tally.classes[usize::from(reader.class)].counts
    }

    /// Handles a message of a bare channel.
    #[inline]
    pub(crate) fn bare(&mut self, reader: &mut Reader, payload: &[u8], now: u64) {
        let Some(read) = payload::read(payload) else {
            self.counts(reader).errors += 1;
            self.tally.fault(|| "a message that was not published".to_owned());
            return;
        };
        let ch = read.channel;
        let (prev, seq) = (read.seq.wrapping_sub(1), read.seq);
        if reader.positions.all().is_empty() && reader.resumes {
            // Bare channels have no resume, so a socket that reconnects counts from here.
            reader.positions.join(ch, 0, prev);
        }
        let sampled = !self.plan.saturate || seq.is_multiple_of(SAMPLE);
        let message = Message {
            ch,
            prev,
            seq,
            adds_up: true,
            intended: sampled.then_some(read.intended),
            sent: Some(read.sent),
            phase: self.phases.at(read.intended),
        };
        if sampled && !reader.excused && (ch as usize) < self.rings.len() && message.phase.is_some()
        {
            self.bare_receipt(message, now);
        }
        self.arrive(reader, &message, now);
    }

    fn bare_receipt(&mut self, message: Message, now: u64) {
        let ring = &mut self.rings[message.ch as usize];
        if ring.is_empty() {
            ring.resize(self.ring, (Message::default(), Receipts::default()));
        }
        let nth = if self.plan.saturate { message.seq / SAMPLE } else { message.seq };
        let at = usize::try_from(nth).unwrap_or(0) % ring.len();
        let (sampled, receipts) = &mut ring[at];
        if sampled.seq == message.seq {
            receipts.note(now);
            return;
        }
        if receipts.count > 0 {
            self.channels.spreads.keep(sampled, *receipts);
        }
        (*sampled, *receipts) = (message, Receipts::at(now));
    }

    /// Handles a text message from the hub.
    pub(crate) fn text(&mut self, reader: &mut Reader, text: &[u8], now: u64) {
        if let Some(follower) = &mut reader.follower
            && let Ok(text) = std::str::from_utf8(text)
        {
            follower.take(text);
        }
        if let Some(message) =
            self.channels.update(text, (!reader.excused).then_some(now), &self.phases)
        {
            self.update(reader, &message, now);
        } else {
            self.other(reader, text);
        }
    }

    fn update(&mut self, reader: &mut Reader, message: &Message, now: u64) {
        if reader.class == CONTROL {
            self.channels.reached(message.ch, message.seq);
            if self.has_merged {
                self.channels.changed(message);
            }
        }
        // With a pick, changes of which it has nothing are left out and not counted.
        if !message.adds_up && !reader.picks() {
            let (prev, seq) = (message.prev, message.seq);
            self.counts(reader).errors += 1;
            self.tally
                .fault(|| format!("{prev} to {seq} does not say rightly how many changes it is"));
        }
        self.unseen(reader, message, now);
        self.arrive(reader, message, now);
    }

    /// Records how long the oldest change of an update was unseen by a rate-limited reader.
    fn unseen(&mut self, reader: &Reader, message: &Message, now: u64) {
        if !self.has_merged || self.plan.classes[usize::from(reader.class)].every_ms == 0 {
            return;
        }
        let (Some(phase), Some(position)) = (message.phase, reader.positions.get(message.ch))
        else {
            return;
        };
        if let Some(since) = self.channels.intended(message.ch, position.seq + 1) {
            let latencies = &mut self.phase(reader.class, phase).latencies;
            latencies.unseen.saturating_record(now.saturating_sub(since));
        }
    }

    fn phase(&mut self, class: u8, phase: u8) -> &mut Phase {
        let slot = &mut self.tally.classes[usize::from(class)].phases[usize::from(phase)];
        slot.get_or_insert_with(|| Box::new(Phase { messages: 0, latencies: Latencies::new() }))
    }

    #[inline]
    fn arrive(&mut self, reader: &mut Reader, message: &Message, now: u64) {
        let order = reader.positions.take(message.ch, message.prev, message.seq);
        let counts = self.counts(reader);
        match order {
            MessageOrder::Next { changes } => {
                counts.messages += 1;
                counts.received += changes;
                counts.merged += u64::from(message.prev + 1 != message.seq && !reader.picks());
            }
            MessageOrder::Gap { missing, changes } => {
                counts.messages += 1;
                counts.received += changes;
                counts.gaps += 1;
                counts.missing += missing;
                self.report_fault(message, &format!("nothing for {missing} changes before"));
            }
            MessageOrder::Late => {
                counts.messages += 1;
                counts.received += 1;
                counts.reorders += 1;
                counts.missing -= 1;
                self.report_fault(message, "after a later one:");
            }
            MessageOrder::Again => {
                counts.duplicates += 1;
                self.report_fault(message, "again:");
                return;
            }
            MessageOrder::Stray => {
                counts.errors += 1;
                self.report_fault(message, "not followed, and yet came");
                return;
            }
        }
        self.record(reader, message, now);
    }

    #[inline]
    fn record(&mut self, reader: &Reader, message: &Message, now: u64) {
        let Some(phase) = message.phase else { return };
        let start = self.phases.starts[0];
        let found = self.phase(reader.class, phase);
        found.messages += 1;
        let Some(intended) = message.intended else { return };
        let latency = now.saturating_sub(intended);
        found.latencies.corrected.saturating_record(latency);
        if let Some(sent) = message.sent {
            found.latencies.uncorrected.saturating_record(now.saturating_sub(sent));
        }
        if reader.class != CONTROL && !reader.excused {
            self.tally.series.record(intended.saturating_sub(start), latency);
        }
    }

    fn report_fault(&mut self, message: &Message, what: &str) {
        let Self { tally, channels, .. } = self;
        tally.fault(|| format!("{}: {what} {}", channels.name(message.ch), message.seq));
    }

    /// Records that a frame cannot be read.
    pub(crate) fn broken(&mut self, reader: &Reader, why: &'static str) {
        self.counts(reader).errors += 1;
        self.tally.fault(|| why.to_owned());
    }

    /// Handles every frame except an update.
    fn other(&mut self, reader: &mut Reader, text: &[u8]) {
        const BEAT: &[u8] = br#"{"type":"beat""#;
        // The positions in the beats of all other sockets follow from the sequences that were sent,
        // unless a pick left out changes.
        if text.starts_with(BEAT) && reader.class != CONTROL && !reader.picks() {
            return;
        }
        let Ok(frame) = Frame::parse(text) else {
            self.counts(reader).errors += 1;
            self.tally.fault(|| "a text that is not a frame".to_owned());
            return;
        };
        match (&*frame.kind, frame.ch.as_deref()) {
            ("subscribed", Some(_)) => self.subscribed(reader, &frame),
            ("image", Some(ch)) => self.image(reader, ch, &frame),
            ("resync", _) => self.counts(reader).resyncs += 1,
            ("beat", _) => {
                for (name, head) in &frame.heads {
                    let (ch, head) = (self.channels.number(name), *head);
                    if reader.class == CONTROL {
                        self.channels.reached(ch, head);
                    } else if let Some(changes) = reader.positions.confirm(ch, head) {
                        self.counts(reader).received += changes;
                    }
                }
            }
            ("unsubscribed", Some(ch)) => self.unsubscribed(reader, ch),
            ("error", _) => {
                let code = frame.code.as_deref().unwrap_or("without a code");
                let ch = frame.ch.as_deref().unwrap_or_default();
                self.counts(reader).errors += 1;
                self.tally.fault(|| format!("refused: {code} {ch}"));
            }
            // Its socket continues at another hub.
            ("bye", _) if self.plan.has_several_hubs() && frame.why.as_deref() == Some("drain") => {
            }
            ("bye", _) => {
                let why = frame.why.as_deref().unwrap_or("without a reason");
                self.tally.fault(|| format!("sent away: {why}"));
            }
            _ => {}
        }
    }

    fn subscribed(&mut self, reader: &mut Reader, frame: &Frame<'_>) {
        reader.unanswered = reader.unanswered.saturating_sub(1);
        if reader.resumes && frame.channels.is_none() {
            let counts = self.counts(reader);
            let resumed = frame.resumed == Some(true);
            counts.resumed += u64::from(resumed);
            counts.not_resumed += u64::from(!resumed);
        }
        if !reader.resumes && frame.resumed != Some(true) {
            let images = frame.channels.unwrap_or(1);
            reader.images_due += i32::try_from(images).unwrap_or(i32::MAX);
        }
    }

    /// Stops following what a name or a pattern covers.
    fn unsubscribed(&mut self, reader: &mut Reader, pattern: &str) {
        let left: Vec<u32> = reader
            .positions
            .all()
            .iter()
            .map(|position| position.ch)
            .filter(|ch| client::covers(pattern, self.channels.name(*ch)))
            .collect();
        for ch in left {
            if let Some(position) = reader.positions.leave(ch) {
                self.counts(reader).expected += position.seq - position.joined;
            }
        }
    }

    fn image(&mut self, reader: &mut Reader, ch: &str, frame: &Frame<'_>) {
        let (Some(epoch), Some(seq)) = (frame.epoch.as_deref(), frame.seq) else {
            self.counts(reader).errors += 1;
            self.tally.fault(|| format!("{ch}: an image lacks a field"));
            return;
        };
        let (ch, epoch) = (self.channels.number(ch), self.channels.epoch(epoch));
        self.channels.reached(ch, seq);
        reader.images_due -= 1;
        let before = reader.positions.join(ch, epoch, seq);
        let counts = self.counts(reader);
        counts.images += 1;
        match before {
            Some(before) if before.epoch == epoch && seq >= before.seq => {
                counts.by_image += seq - before.seq;
            }
            Some(before) => counts.expected += before.seq - before.joined,
            None => {}
        }
    }

    /// Resets a socket that has lost its connection before it had joined its channels.
    pub(crate) fn forget(&mut self, reader: &mut Reader) {
        self.leave(reader);
        reader.resumes = false;
        if let Some(follower) = &mut reader.follower {
            **follower = self.follower();
        }
    }

    /// A new follower that stores documents.
    pub(crate) fn follower(&self) -> Follower {
        let mut follower = Follower::new(true);
        follower.moves = self.plan.has_several_hubs();
        follower
    }

    /// Settles a socket that resubscribes or has ended: nothing more is expected of it.
    pub(crate) fn leave(&mut self, reader: &mut Reader) {
        let left = reader.positions.leave_all();
        let expected: u64 = left.iter().map(|position| position.seq - position.joined).sum();
        self.counts(reader).expected += expected;
    }

    /// Whether a socket has reached the heads of its channels.
    pub(crate) fn has_all(&self, reader: &Reader, heads: &[u64]) -> bool {
        reader.positions.all().iter().all(|position| {
            heads.get(position.ch as usize).is_none_or(|head| position.seq >= *head)
        })
    }

    /// Settles a socket at the end of the run: everything up to the heads was expected.
    pub(crate) fn settle(&mut self, reader: &Reader, heads: &[u64]) {
        let ends = reader.positions.all().iter().map(|&Position { ch, joined, seq, .. }| {
            let head = heads.get(ch as usize).copied().unwrap_or(0).max(seq);
            (ch, seq, head, head - joined)
        });
        let ends: Vec<_> = ends.collect();
        for (ch, seq, head, expected) in ends {
            let counts = self.counts(reader);
            counts.expected += expected;
            counts.missing += head - seq;
            if head > seq && !reader.excused {
                let Self { tally, channels, .. } = self;
                tally.fault(|| format!("{}: ends at {seq}, not at {head}", channels.name(ch)));
            }
        }
    }

    /// Returns the results.
    pub(crate) fn close(mut self) -> Tally {
        for (message, receipts) in self.rings.drain(..).flatten() {
            if receipts.count > 0 {
                self.channels.spreads.keep(&message, receipts);
            }
        }
        self.tally.channels_seen = self.channels.len() as u64;
        (self.tally.spreads, self.tally.channels) = self.channels.into_spreads();
        self.tally
    }
}
