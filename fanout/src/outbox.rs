//! One connection's bounded queue of frames: references to shared bytes, written in batches.
//!
//! Used only while the socket is full: a reader that keeps up is written to directly. Frames of replays are a
//! queue of their own, which is written when no live frame waits.

mod replay_queue;

use std::{
    collections::{HashMap, VecDeque},
    io,
    io::IoSlice,
    mem,
};

use bytes::{Buf, Bytes};

use self::replay_queue::ReplayQueue;
use crate::{
    Micros,
    channel::{Position, Seq},
};

/// Frames to be written, within a budget in bytes and in age. A frame larger than the budget is accepted
/// if the queue is empty, so that an image of any size gets through.
#[derive(Debug, Default)]
pub struct Outbox {
    frames: VecDeque<QueuedFrame>,
    bytes: usize,
    /// A part of the first frame has been written, so nothing can go before it.
    is_partly_written: bool,
    replays: ReplayQueue,
    /// Data frames that the socket has accepted completely.
    delivered: u64,
}

#[derive(Debug)]
struct QueuedFrame {
    frame: Bytes,
    kind: FrameKind,
    /// When it was queued.
    since: Micros,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameKind {
    Reply,
    /// How far the reader is behind.
    Lag,
    /// The positions after the frames before it. Invalid as soon as a frame goes ahead of it.
    Beat,
    Data(FrameOrigin),
    /// The rest of a data frame of which the socket has accepted a part.
    DataRest,
}

/// The channel of a data frame and the position before it, which is the reader's position without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameOrigin {
    /// The channel's number.
    pub channel: u32,
    /// The reader's position before it; `None` if the reader has nothing of the channel.
    pub before: Option<Position>,
    /// It is an image in place of what follows `before`, as a `resync` frame before it says. A reader that has that frame
    /// needs an image.
    pub is_resync: bool,
}

/// The state of a reader whose queued frames of a channel were removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withdrawn {
    /// The position of its document; `None` if it has none.
    pub before: Option<Position>,
    /// It has been told to expect an image, and cannot go on from its position.
    pub needs_image: bool,
}

/// The queued frames of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingFrames {
    pub frames: usize,
    pub bytes: usize,
    /// The reader's position before the first of them.
    pub before: Option<Seq>,
}

/// What may be queued for one connection.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    pub bytes: usize,
    /// What each frame counts in addition to its bytes, usually [`FRAME_BYTES`].
    pub frame_bytes: usize,
    /// How long the oldest frame may have been queued when another is added, in microseconds.
    pub age_us: Micros,
}

/// What a queued frame costs in addition to its bytes: an element of a queue that doubles as it grows,
/// and what the allocator and the reference count add. Without it, short frames such as pongs would use
/// many times the memory that the budget allows.
pub const FRAME_BYTES: usize = 2 * size_of::<QueuedFrame>() + 64;

/// The queue has no room for another frame: the reader is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

/// Frames of one vectored write. Linux accepts 1,024; with 64 the cost of the call for each frame is
/// already small, and the array stays on the stack.
const SLICES_MAX: usize = 64;

impl Outbox {
    /// Queues an update.
    ///
    /// # Errors
    ///
    /// [`Full`] when it would exceed the budget; nothing is queued then.
    pub fn push(
        &mut self,
        frame: Bytes,
        origin: FrameOrigin,
        budget: Budget,
        now: Micros,
    ) -> Result<(), Full> {
        let is_over = self.cost(budget) + frame.len() + budget.frame_bytes > budget.bytes;
        if !self.frames.is_empty() && (is_over || self.age(now) > budget.age_us) {
            return Err(Full);
        }
        self.add(frame, Some(origin), now);
        Ok(())
    }

    /// Queues a reply, or a data frame with its origin, regardless of the budget. The connection takes no
    /// further command while [`Outbox::is_over`], so this is bounded by one response.
    pub fn add(&mut self, frame: Bytes, origin: Option<FrameOrigin>, now: Micros) {
        self.put(frame, origin.map_or(FrameKind::Reply, FrameKind::Data), now);
    }

    fn put(&mut self, frame: Bytes, kind: FrameKind, now: Micros) {
        self.bytes += frame.len();
        self.frames.push_back(QueuedFrame { frame, kind, since: now });
    }

    /// Queues a recorded frame of a replay after all live frames, also after those that come later. A replay
    /// asks for no more than there is room.
    pub fn push_replay(&mut self, frame: Bytes, replay: u32) {
        self.replays.push(frame, replay, true);
    }

    /// Queues the end of a replay after its frames.
    pub fn push_replay_end(&mut self, frame: Bytes, replay: u32) {
        self.replays.push(frame, replay, false);
    }

    /// Removes the frames of a replay that have not been partly written.
    pub fn withdraw_replay(&mut self, replay: u32) {
        self.replays.withdraw(replay);
    }

    /// Removes the frames of all replays that have not been partly written.
    pub fn withdraw_all_replays(&mut self) {
        self.replays.clear();
    }

    /// What the queued frames of replays cost. They do not count in [`Outbox::cost`].
    #[must_use]
    pub fn replay_cost(&self, budget: Budget) -> usize {
        self.replays.cost(budget.frame_bytes)
    }

    /// Queues a beat.
    pub fn push_beat(&mut self, frame: Bytes, now: Micros) {
        self.put(frame, FrameKind::Beat, now);
    }

    /// Queues a reply to the client, regardless of the budget.
    pub fn push_reply(&mut self, frame: Bytes, now: Micros) {
        self.add(frame, None, now);
    }

    /// Queues frames of a channel ahead of everything that has not been partly written, but after other
    /// frames of that channel. They count as queued for as long as the frames that they go ahead of.
    pub fn add_first(
        &mut self,
        channel: u32,
        frames: Vec<(Bytes, Option<FrameOrigin>)>,
        now: Micros,
    ) {
        self.drop_all(FrameKind::Beat);
        let is_own =
            |queued: &QueuedFrame| queued.origin().is_some_and(|origin| origin.channel == channel);
        let after_own = self.frames.iter().rposition(is_own).map_or(0, |at| at + 1);
        let first = after_own.max(usize::from(self.is_partly_written));
        for (at, (frame, origin)) in frames.into_iter().enumerate() {
            self.insert(first + at, frame, origin.map_or(FrameKind::Reply, FrameKind::Data), now);
        }
    }

    /// Queues a lag frame ahead of everything that has not been partly written, and removes an earlier
    /// lag frame.
    pub fn add_lag(&mut self, frame: Bytes, now: Micros) {
        self.drop_all(FrameKind::Lag);
        self.insert(usize::from(self.is_partly_written), frame, FrameKind::Lag, now);
    }

    fn insert(&mut self, index: usize, frame: Bytes, kind: FrameKind, now: Micros) {
        self.bytes += frame.len();
        let since = self.frames.front().map_or(now, |queued| queued.since);
        self.frames.insert(index.min(self.frames.len()), QueuedFrame { frame, kind, since });
    }

    /// Queues the rest of a data frame of which the socket has accepted a part.
    pub fn push_partial(&mut self, rest: Bytes, now: Micros) {
        debug_assert!(self.frames.is_empty(), "a partly written frame is the first");
        self.is_partly_written = true;
        self.put(rest, FrameKind::DataRest, now);
    }

    /// Counts data frames that the socket has accepted without being queued.
    pub fn count_delivered(&mut self, frames: u64) {
        self.delivered += frames;
    }

    /// Data frames that the socket has accepted completely and that have not been taken yet.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The queued frames of each channel: how many there are, their bytes, and the reader's position before the first.
    #[must_use]
    pub fn waiting_by_channel(&self) -> HashMap<u32, WaitingFrames> {
        let mut all: HashMap<u32, WaitingFrames> = HashMap::new();
        for queued in &self.frames {
            let Some(origin) = queued.origin() else { continue };
            let before = origin.before.map(|position| position.seq);
            let waiting = WaitingFrames { frames: 0, bytes: 0, before };
            let waiting = all.entry(origin.channel).or_insert(waiting);
            waiting.frames += 1;
            waiting.bytes += queued.frame.len();
        }
        all
    }

    /// How many data frames the socket has accepted completely since this was last called. Data frames are
    /// images, updates, events and resyncs; replies, beats, pings and lag frames are not, and neither
    /// are frames that are still queued.
    pub fn take_delivered(&mut self) -> u64 {
        mem::take(&mut self.delivered)
    }

    /// Removes the frames of a channel that have not been partly written. Without `image`, its last image
    /// and everything before it stay, unless that image is for a resync. Returns the reader's state without the removed
    /// frames, or `None` if there were none.
    pub fn withdraw(&mut self, channel: u32, image: bool) -> Option<Withdrawn> {
        let (mut count, mut bytes, mut withdrawn) = (0, 0, None);
        let is_image = |queued: &QueuedFrame| {
            queued.origin().is_some_and(|it| it.channel == channel && it.before.is_none())
        };
        let image = self.frames.iter().rposition(is_image).filter(|_| !image);
        let first = usize::from(self.is_partly_written).max(image.map_or(0, |at| at + 1));
        self.frames.retain(|queued| {
            count += 1;
            let own = queued.origin().filter(|it| it.channel == channel && count > first);
            let Some(origin) = own else { return true };
            let FrameOrigin { before, is_resync, .. } = origin;
            withdrawn = withdrawn.or(Some(Withdrawn { before, needs_image: is_resync }));
            bytes += queued.frame.len();
            false
        });
        self.bytes -= bytes;
        if withdrawn.is_some() {
            // Queued beats contain positions that are no longer true.
            self.drop_all(FrameKind::Beat);
        }
        withdrawn
    }

    /// Removes all frames of a kind that have not been partly written.
    fn drop_all(&mut self, kind: FrameKind) {
        let (mut count, mut bytes, started) = (0, 0, usize::from(self.is_partly_written));
        self.frames.retain(|queued| {
            count += 1;
            let is_dropped = queued.kind == kind && count > started;
            bytes += if is_dropped { queued.frame.len() } else { 0 };
            !is_dropped
        });
        self.bytes -= bytes;
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.replays.is_empty()
    }

    #[must_use]
    pub fn has_live_frames(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Whether nothing goes before a live frame, so that it can be written directly.
    #[must_use]
    pub fn allows_direct_writes(&self) -> bool {
        self.frames.is_empty() && !self.replays.is_partly_written()
    }

    /// Bytes of live frames queued for the socket.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What the queued live frames count towards the budget.
    #[must_use]
    pub fn cost(&self, budget: Budget) -> usize {
        self.bytes + self.frames.len() * budget.frame_bytes
    }

    /// How long the first live frame has been queued, in microseconds.
    #[must_use]
    pub fn age(&self, now: Micros) -> Micros {
        self.frames.front().map_or(0, |queued| now - queued.since)
    }

    #[must_use]
    pub fn is_over(&self, budget: Budget) -> bool {
        self.cost(budget) >= budget.bytes
    }

    /// Whether there is room to catch up a reader that is behind.
    #[must_use]
    pub fn has_room(&self, budget: Budget) -> bool {
        self.cost(budget) <= budget.bytes / 2
    }

    /// How many bytes a catch-up may add.
    #[must_use]
    pub fn room(&self, budget: Budget) -> usize {
        budget.bytes.saturating_sub(self.cost(budget))
    }

    /// Writes as much as `write` accepts, up to `bytes_max` bytes for fairness to other connections.
    ///
    /// # Errors
    ///
    /// Any error of `write` except `WouldBlock`, which is a normal outcome here.
    pub fn write(
        &mut self,
        bytes_max: usize,
        mut write: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<WriteOutcome> {
        let mut total = 0;
        while !self.is_empty() {
            if total >= bytes_max {
                return Ok(WriteOutcome::Cap);
            }
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let mut count = 0;
            let live = self.frames.iter().map(|queued| &queued.frame);
            let frames = self.replays.started().chain(live).chain(self.replays.waiting());
            for (slice, frame) in slices.iter_mut().zip(frames) {
                *slice = IoSlice::new(frame);
                count += 1;
            }
            match write(&slices[..count]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.advance(written);
                    total += written;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(WriteOutcome::Blocked { progress: total > 0 });
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(WriteOutcome::All)
    }

    fn advance(&mut self, mut written: usize) {
        if self.replays.is_partly_written() {
            written = self.advance_replays(written, 1);
        }
        while let Some(first) = self.frames.front_mut() {
            if first.frame.len() > written {
                first.frame.advance(written);
                self.bytes -= written;
                self.is_partly_written |= written > 0;
                return;
            }
            written -= first.frame.len();
            self.bytes -= first.frame.len();
            self.is_partly_written = false;
            self.delivered += u64::from(first.is_data());
            self.frames.pop_front();
        }
        // A connection that keeps up has no queue.
        self.frames = VecDeque::new();
        self.advance_replays(written, usize::MAX);
    }

    fn advance_replays(&mut self, written: usize, frames_max: usize) -> usize {
        let (rest, delivered) = self.replays.advance(written, frames_max);
        self.delivered += delivered;
        rest
    }
}

impl QueuedFrame {
    fn is_data(&self) -> bool {
        matches!(self.kind, FrameKind::Data(_) | FrameKind::DataRest)
    }

    fn origin(&self) -> Option<FrameOrigin> {
        if let FrameKind::Data(origin) = self.kind { Some(origin) } else { None }
    }
}

/// How [`Outbox::write`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// Nothing is left.
    All,
    /// `bytes_max` is reached; there is more.
    Cap,
    /// The socket is full.
    Blocked { progress: bool },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::channel::Epoch;

    const BUDGET: Budget = Budget { bytes: 100, frame_bytes: 0, age_us: 1000 };

    fn origin(channel: u32, before: Seq) -> FrameOrigin {
        FrameOrigin { channel, before: Some(position(before)), is_resync: false }
    }

    fn position(seq: Seq) -> Position {
        Position { epoch: Some(Epoch(7)), seq }
    }

    /// Writes this many bytes, then blocks. Returns what was written.
    fn take(outbox: &mut Outbox, mut bytes: usize) -> Vec<u8> {
        let mut sent = Vec::new();
        let written = outbox.write(usize::MAX, |slices| {
            let all: Vec<u8> = slices.iter().flat_map(|s| s.iter().copied()).collect();
            let count = bytes.min(all.len());
            bytes -= count;
            sent.extend_from_slice(&all[..count]);
            if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
        });
        written.expect("only blocks");
        sent
    }

    proptest! {
        /// However little a socket accepts at a time, the bytes come out complete and in order, and the
        /// queue never exceeds its budget by more than one frame.
        #[test]
        fn bytes_come_out_in_order(
            frames in prop::collection::vec(1_usize..40, 0..60),
            takes in prop::collection::vec(0_usize..50, 1..60),
        ) {
            let mut outbox = Outbox::default();
            let (mut sent, mut accepted) = (Vec::new(), Vec::new());
            let mut takes = takes.into_iter().cycle();
            for (number, length) in frames.into_iter().enumerate() {
                let frame = vec![u8::try_from(number).expect("few frames"); length];
                if outbox.push(Bytes::from(frame.clone()), origin(1, 0), BUDGET, 0).is_ok() {
                    accepted.extend(frame);
                }
                prop_assert!(outbox.bytes() <= 140);
                sent.extend(take(&mut outbox, takes.next().expect("a cycle has no end")));
            }
            sent.extend(take(&mut outbox, usize::MAX));
            prop_assert_eq!(sent, accepted);
        }

        /// Partly written frames are not withdrawn, frames that go first split no other frame, and
        /// everything else comes out complete and in order.
        #[test]
        fn priority_frames_never_split_a_frame(
            steps in prop::collection::vec((0_u32..3, 1_usize..20, 0_usize..40), 1..60),
        ) {
            let mut outbox = Outbox::default();
            let mut sent = Vec::new();
            for (number, (channel, length, taken)) in steps.into_iter().enumerate() {
                let mark = u8::try_from(number).expect("few frames");
                // A frame is its length and so many marks.
                let mut frame = vec![mark; length + 1];
                frame[0] = u8::try_from(length).expect("short frames");
                let frame = Bytes::from(frame);
                if length % 3 == 0 {
                    outbox.push_replay(frame, 1);
                    if taken % 7 == 0 {
                        outbox.withdraw_replay(1);
                    }
                } else if channel == 0 {
                    let before = outbox.bytes();
                    let position = outbox.withdraw(1, true);
                    prop_assert_eq!(position.is_some(), outbox.bytes() < before);
                    outbox.add_first(9, vec![(frame, None)], 0);
                } else {
                    outbox.add(frame, Some(origin(channel, number as u64)), 0);
                }
                sent.extend(take(&mut outbox, taken));
            }
            sent.extend(take(&mut outbox, usize::MAX));
            prop_assert_eq!((outbox.bytes(), outbox.is_empty()), (0, true));
            let mut rest = &sent[..];
            while let Some((length, after)) = rest.split_first() {
                let (marks, after) = after.split_at(usize::from(*length));
                prop_assert!(marks.windows(2).all(|pair| pair[0] == pair[1]), "a frame was split");
                rest = after;
            }
        }
    }

    #[test]
    fn live_frames_go_before_replays_but_split_none_of_their_frames() {
        let mut outbox = Outbox::default();
        for mark in [b"aaaa", b"bbbb", b"cccc"] {
            outbox.push_replay(Bytes::from_static(mark), 1);
        }
        outbox.push_replay_end(Bytes::from_static(b"end"), 2);
        let mut sent = take(&mut outbox, 2);
        outbox.add(Bytes::from_static(b"LIVE"), Some(origin(1, 0)), 0);
        assert!(!outbox.allows_direct_writes());
        sent.extend(take(&mut outbox, 4));
        // The first frame of the replay is partly written no longer, but the live one is.
        outbox.withdraw_replay(1);
        outbox.push_reply(Bytes::from_static(b"reply"), 0);
        sent.extend(take(&mut outbox, usize::MAX));
        assert_eq!(str::from_utf8(&sent), Ok("aaaaLIVEreplyend"));
        assert_eq!(outbox.take_delivered(), 2, "neither replies nor ends are data");
        assert_eq!((outbox.is_empty(), outbox.replay_cost(BUDGET)), (true, 0));
    }

    /// However many frames of replays wait, and for however long, live frames are accepted.
    #[test]
    fn replays_count_in_neither_cost_nor_age_of_live_frames() {
        let mut outbox = Outbox::default();
        for _ in 0..50 {
            outbox.push_replay(Bytes::from_static(&[0; 10]), 1);
        }
        // Also the one that is partly written.
        take(&mut outbox, 5);
        assert_eq!((outbox.cost(BUDGET), outbox.replay_cost(BUDGET)), (0, 495));
        assert_eq!(outbox.age(5_000), 0);
        for before in 0..10 {
            let frame = Bytes::from_static(&[0; 10]);
            assert_eq!(outbox.push(frame, origin(1, before), BUDGET, 5_000), Ok(()));
        }
        let frame = Bytes::from_static(&[0; 10]);
        assert_eq!(outbox.push(frame, origin(1, 10), BUDGET, 5_000), Err(Full));
        outbox.withdraw_all_replays();
        assert_eq!(outbox.replay_cost(BUDGET), 5, "the rest of the first must be sent");
    }

    #[test]
    fn frame_larger_than_the_budget_passes_when_alone() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.push(Bytes::from_static(&[0; 500]), origin(1, 0), BUDGET, 0), Ok(()));
        assert_eq!(outbox.push(Bytes::from_static(&[0; 1]), origin(1, 1), BUDGET, 0), Err(Full));
    }

    /// The queue never uses more memory than the budget allows, however short its frames are.
    #[test]
    fn short_frames_are_charged_their_real_cost() {
        let budget = Budget { bytes: 64 * 1024, frame_bytes: FRAME_BYTES, age_us: 1000 };
        for length in [0, 2, 100, 5_000] {
            let mut outbox = Outbox::default();
            while !outbox.is_over(budget) {
                outbox.push_reply(crate::encode::pong_frame(&vec![b'x'; length]), 0);
            }
            let queue = outbox.frames.capacity() * size_of::<QueuedFrame>();
            // In addition to its bytes, a short frame has what the allocator adds.
            let payload = outbox.frames.iter().map(|queued| queued.frame.len() + 32);
            let held = queue + payload.sum::<usize>();
            assert!(held <= budget.bytes + length + 512, "{held} bytes held at {length} a frame");
            assert!(held >= budget.bytes / 4, "{held} bytes held at {length} a frame");
            assert!(outbox.push(Bytes::from_static(b"x"), origin(1, 0), budget, 0).is_err());
            take(&mut outbox, usize::MAX);
            assert_eq!((outbox.cost(budget), outbox.frames.capacity()), (0, 0));
        }
    }

    #[test]
    fn budget_limits_age_too() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.push(Bytes::from_static(&[0; 5]), origin(1, 0), BUDGET, 0), Ok(()));
        assert_eq!(outbox.push(Bytes::from_static(&[0; 5]), origin(1, 1), BUDGET, 1000), Ok(()));
        assert_eq!(outbox.push(Bytes::from_static(&[0; 5]), origin(1, 2), BUDGET, 1001), Err(Full));
    }

    #[test]
    fn withdraw_returns_the_position_before_the_first_removed_frame() {
        let mut outbox = Outbox::default();
        for before in 3..6 {
            outbox.add(Bytes::from_static(&[0; 10]), Some(origin(1, before)), 0);
            outbox.add(Bytes::from_static(&[0; 10]), Some(origin(2, before)), 0);
        }
        // The first frame of channel 1 is partly written, so it stays.
        take(&mut outbox, 1);
        let withdrawn = Withdrawn { before: Some(position(4)), needs_image: false };
        assert_eq!(outbox.withdraw(1, false), Some(withdrawn));
        assert_eq!(outbox.bytes(), 9 + 30);
        assert_eq!(outbox.withdraw(1, false), None);
    }

    #[test]
    fn write_stops_at_its_cap() {
        let mut outbox = Outbox::default();
        for _ in 0..5 {
            outbox.add(Bytes::from_static(&[0; 100]), None, 0);
        }
        let written = outbox.write(150, |slices| Ok(slices[0].len())).expect("no error");
        assert_eq!((written, outbox.bytes()), (WriteOutcome::Cap, 300));
    }
}
