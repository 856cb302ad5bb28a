//! One connection's bounded queue of frames: references to shared bytes, written in batches.
//!
//! Used only while the socket is full: a reader that keeps up is written to directly. Frames of replays are a
//! queue of their own, which is written when no live frame waits.

mod replay_queue;
#[cfg(test)]
mod tests;

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
pub struct Withdrawal {
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
    pub fn withdraw(&mut self, channel: u32, image: bool) -> Option<Withdrawal> {
        let (mut count, mut bytes, mut withdrawn) = (0, 0, None);
        let is_image = |queued: &QueuedFrame| {
            queued.origin().is_some_and(|it| it.channel == channel && it.before.is_none())
        };
        let image = self.frames.iter().rposition(is_image).filter(|_| !image);
        let first = usize::from(self.is_partly_written).max(image.map_or(0, |at| at + 1));
        self.frames.retain(|queued| {
            count += 1;
            let origin_of_channel =
                queued.origin().filter(|it| it.channel == channel && count > first);
            let Some(origin) = origin_of_channel else { return true };
            let FrameOrigin { before, is_resync, .. } = origin;
            withdrawn = withdrawn.or(Some(Withdrawal { before, needs_image: is_resync }));
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
