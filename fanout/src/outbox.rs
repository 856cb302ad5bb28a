//! One connection's bounded queue of frames: references to shared bytes, written in batches.
//!
//! In use only while its socket takes nothing: a reader who keeps up is written to directly.

use std::{collections::VecDeque, io, io::IoSlice, mem};

use bytes::{Buf, Bytes};

use crate::{Micros, channel::Seq};

/// Frames waiting to be written, within a budget in bytes and in age. A frame larger than the budget
/// is taken when nothing else waits, so that an image of any size gets through.
#[derive(Debug, Default)]
pub struct Outbox {
    frames: VecDeque<Waiting>,
    bytes: usize,
    /// A part of the first frame is on its way: nothing can go before it any more.
    begun: bool,
    /// Frames that brought a channel forward and which the socket has taken whole.
    delivered: u64,
}

#[derive(Debug)]
struct Waiting {
    frame: Bytes,
    kind: Kind,
    /// Since when it waits.
    since: Micros,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Reply,
    /// Says how far the reader is behind.
    Lag,
    /// Says where the frames before it lead to; what overtakes it makes it untrue.
    Beat,
    Forward(Of),
    /// What is left of one of those.
    Rest,
}

/// What a frame brings forward, and from where: to know where a reader stands without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Of {
    /// The channel's number.
    pub channel: u32,
    /// Where the reader stands before it; `None` where it has nothing of the channel.
    pub before: Option<Seq>,
}

/// What may wait for one connection.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    pub bytes: usize,
    /// What each frame counts besides its own bytes, as a rule [`FRAME_BYTES`].
    pub frame_bytes: usize,
    /// How long the oldest frame may have waited when another is added, in microseconds.
    pub age_us: Micros,
}

/// What a queued frame costs besides its own bytes: its place in a queue that doubles as it grows, and
/// what the allocator and the reference count add to the bytes. Without it, short frames such as pongs
/// would take many times what the budget allows.
pub const FRAME_BYTES: usize = 2 * size_of::<Waiting>() + 64;

/// The queue has no room for another frame: the reader is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

/// Frames of one vectored write. Linux takes 1,024; at 64 the cost of the call is spread thin
/// already, and the array stays on the stack.
const SLICES_MAX: usize = 64;

impl Outbox {
    /// Queues an update.
    ///
    /// # Errors
    ///
    /// [`Full`] when it would exceed the budget; nothing is queued then.
    pub fn push(&mut self, frame: Bytes, of: Of, budget: Budget, now: Micros) -> Result<(), Full> {
        let is_over = self.cost(budget) + frame.len() + budget.frame_bytes > budget.bytes;
        if !self.frames.is_empty() && (is_over || self.age(now) > budget.age_us) {
            return Err(Full);
        }
        self.add(frame, Some(of), now);
        Ok(())
    }

    /// Queues what a reader was asked for or brought forward by, whatever the budget. The connection
    /// takes no further command while [`Outbox::is_over`], so this is bounded by one answer.
    pub fn add(&mut self, frame: Bytes, of: Option<Of>, now: Micros) {
        self.put(frame, of.map_or(Kind::Reply, Kind::Forward), now);
    }

    fn put(&mut self, frame: Bytes, kind: Kind, now: Micros) {
        self.bytes += frame.len();
        self.frames.push_back(Waiting { frame, kind, since: now });
    }

    /// Queues a beat.
    pub fn push_beat(&mut self, frame: Bytes, now: Micros) {
        self.put(frame, Kind::Beat, now);
    }

    /// Queues an answer to the client, whatever the budget.
    pub fn push_reply(&mut self, frame: Bytes, now: Micros) {
        self.add(frame, None, now);
    }

    /// Puts frames of a channel before everything that has not been begun, but behind what is left of
    /// that channel. They count as waiting for as long as what they overtake.
    pub fn add_first(&mut self, channel: u32, frames: Vec<(Bytes, Option<Of>)>, now: Micros) {
        self.drop_all(Kind::Beat);
        let is_own = |waiting: &Waiting| waiting.forwards().is_some_and(|of| of.channel == channel);
        let behind_own = self.frames.iter().rposition(is_own).map_or(0, |place| place + 1);
        let first = behind_own.max(usize::from(self.begun));
        for (place, (frame, of)) in frames.into_iter().enumerate() {
            self.insert(first + place, frame, of.map_or(Kind::Reply, Kind::Forward), now);
        }
    }

    /// Puts a word about the reader's delay before everything that has not been begun, in place of an
    /// earlier one.
    pub fn add_lag(&mut self, frame: Bytes, now: Micros) {
        self.drop_all(Kind::Lag);
        self.insert(usize::from(self.begun), frame, Kind::Lag, now);
    }

    fn insert(&mut self, place: usize, frame: Bytes, kind: Kind, now: Micros) {
        self.bytes += frame.len();
        let since = self.frames.front().map_or(now, |waiting| waiting.since);
        self.frames.insert(place.min(self.frames.len()), Waiting { frame, kind, since });
    }

    /// Queues the rest of an update of which the socket has taken a part.
    pub fn begin(&mut self, rest: Bytes, now: Micros) {
        debug_assert!(self.frames.is_empty(), "what was begun stands first");
        self.begun = true;
        self.put(rest, Kind::Rest, now);
    }

    /// Counts updates that the socket has taken past the queue.
    pub fn passed(&mut self, frames: u64) {
        self.delivered += frames;
    }

    /// How many frames that brought a channel forward the socket has taken whole since this was last
    /// asked. Such a frame is an image, an update or an event, or says that a channel begins anew; what
    /// is said besides (answers, beats, pings, lag) is none, and neither is what still waits.
    pub fn take_delivered(&mut self) -> u64 {
        mem::take(&mut self.delivered)
    }

    /// Takes back the frames of a channel that have not been begun; with `image` even its images,
    /// which otherwise stay, with all that stands before them. Returns where the reader stands without
    /// what was taken back, if there was any.
    pub fn take_back(&mut self, channel: u32, image: bool) -> Option<Option<Seq>> {
        let (mut place, mut bytes, mut position) = (0, 0, None);
        let is_image = |waiting: &Waiting| {
            waiting.forwards().is_some_and(|of| of.channel == channel && of.before.is_none())
        };
        let image = self.frames.iter().rposition(is_image).filter(|_| !image);
        let first = usize::from(self.begun).max(image.map_or(0, |place| place + 1));
        self.frames.retain(|waiting| {
            place += 1;
            let own = waiting.forwards().filter(|of| of.channel == channel && place > first);
            let Some(of) = own else { return true };
            position = position.or(Some(of.before));
            bytes += waiting.frame.len();
            false
        });
        self.bytes -= bytes;
        if position.is_some() {
            // They tell where the frames before them lead to, which is not so any more.
            self.drop_all(Kind::Beat);
        }
        position
    }

    /// Drops all frames of a kind that have not been begun.
    fn drop_all(&mut self, kind: Kind) {
        let (mut place, mut bytes, begun) = (0, 0, usize::from(self.begun));
        self.frames.retain(|waiting| {
            place += 1;
            let goes = waiting.kind == kind && place > begun;
            bytes += if goes { waiting.frame.len() } else { 0 };
            !goes
        });
        self.bytes -= bytes;
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Bytes that wait for the socket.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What the waiting frames count towards the budget.
    #[must_use]
    pub fn cost(&self, budget: Budget) -> usize {
        self.bytes + self.frames.len() * budget.frame_bytes
    }

    /// How long the first frame has waited, in microseconds.
    #[must_use]
    pub fn age(&self, now: Micros) -> Micros {
        self.frames.front().map_or(0, |waiting| now - waiting.since)
    }

    #[must_use]
    pub fn is_over(&self, budget: Budget) -> bool {
        self.cost(budget) >= budget.bytes
    }

    /// Whether there is room for a reader who is behind to be brought forward.
    #[must_use]
    pub fn has_room(&self, budget: Budget) -> bool {
        self.cost(budget) <= budget.bytes / 2
    }

    /// How many bytes a catch-up may bring.
    #[must_use]
    pub fn room(&self, budget: Budget) -> usize {
        budget.bytes.saturating_sub(self.cost(budget))
    }

    /// Writes as much as `write` takes, up to `bytes_max` bytes for fairness to other connections.
    ///
    /// # Errors
    ///
    /// Whatever `write` returns but `WouldBlock`, which is a normal outcome here.
    pub fn write(
        &mut self,
        bytes_max: usize,
        mut write: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<Written> {
        let mut total = 0;
        while !self.frames.is_empty() {
            if total >= bytes_max {
                return Ok(Written::Cap);
            }
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let count = self.frames.len().min(SLICES_MAX);
            for (slice, waiting) in slices.iter_mut().zip(&self.frames) {
                *slice = IoSlice::new(&waiting.frame);
            }
            match write(&slices[..count]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.advance(written);
                    total += written;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Written::Blocked { progress: total > 0 });
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Written::All)
    }

    fn advance(&mut self, mut written: usize) {
        self.bytes -= written;
        while let Some(first) = self.frames.front_mut() {
            if first.frame.len() > written {
                first.frame.advance(written);
                self.begun |= written > 0;
                return;
            }
            written -= first.frame.len();
            self.begun = false;
            self.delivered += u64::from(first.is_data());
            self.frames.pop_front();
        }
        // A connection that keeps up has no queue.
        self.frames = VecDeque::new();
    }
}

impl Waiting {
    fn is_data(&self) -> bool {
        matches!(self.kind, Kind::Forward(_) | Kind::Rest)
    }

    fn forwards(&self) -> Option<Of> {
        if let Kind::Forward(of) = self.kind { Some(of) } else { None }
    }
}

/// How a turn of writing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Nothing is left.
    All,
    /// The turn's share is used up; there is more.
    Cap,
    /// The socket takes no more now.
    Blocked { progress: bool },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BUDGET: Budget = Budget { bytes: 100, frame_bytes: 0, age_us: 1000 };

    fn of(channel: u32, before: Seq) -> Of {
        Of { channel, before: Some(before) }
    }

    /// Writes so many bytes and then no more; returns what was written.
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
        /// Whatever a socket takes at a time, the bytes come out whole and in order, and the queue
        /// never holds more than its budget and one frame.
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
                if outbox.push(Bytes::from(frame.clone()), of(1, 0), BUDGET, 0).is_ok() {
                    accepted.extend(frame);
                }
                prop_assert!(outbox.bytes() <= 140);
                sent.extend(take(&mut outbox, takes.next().expect("a cycle has no end")));
            }
            sent.extend(take(&mut outbox, usize::MAX));
            prop_assert_eq!(sent, accepted);
        }

        /// What is taken back was never begun, what goes first splits no frame, and all else comes
        /// out whole and in order.
        #[test]
        fn what_overtakes_splits_no_frame(
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
                if channel == 0 {
                    let before = outbox.bytes();
                    let position = outbox.take_back(1, true);
                    prop_assert_eq!(position.is_some(), outbox.bytes() < before);
                    outbox.add_first(9, vec![(frame, None)], 0);
                } else {
                    outbox.add(frame, Some(of(channel, number as u64)), 0);
                }
                sent.extend(take(&mut outbox, taken));
            }
            sent.extend(take(&mut outbox, usize::MAX));
            prop_assert_eq!(outbox.bytes(), 0);
            let mut rest = &sent[..];
            while let Some((length, after)) = rest.split_first() {
                let (marks, after) = after.split_at(usize::from(*length));
                prop_assert!(marks.windows(2).all(|pair| pair[0] == pair[1]), "a frame was split");
                rest = after;
            }
        }
    }

    #[test]
    fn frame_larger_than_the_budget_passes_when_alone() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.push(Bytes::from_static(&[0; 500]), of(1, 0), BUDGET, 0), Ok(()));
        assert_eq!(outbox.push(Bytes::from_static(&[0; 1]), of(1, 1), BUDGET, 0), Err(Full));
    }

    /// What the queue holds is what the budget allows, however short its frames are.
    #[test]
    fn short_frames_count_what_they_cost() {
        let budget = Budget { bytes: 64 * 1024, frame_bytes: FRAME_BYTES, age_us: 1000 };
        for length in [0, 2, 100, 5_000] {
            let mut outbox = Outbox::default();
            while !outbox.is_over(budget) {
                outbox.push_reply(crate::encode::pong_frame(&vec![b'x'; length]), 0);
            }
            let queue = outbox.frames.capacity() * size_of::<Waiting>();
            // Beside its bytes, a short frame has the room that the allocator adds.
            let payload = outbox.frames.iter().map(|waiting| waiting.frame.len() + 32);
            let held = queue + payload.sum::<usize>();
            assert!(held <= budget.bytes + length + 512, "{held} bytes held at {length} a frame");
            assert!(held >= budget.bytes / 4, "{held} bytes held at {length} a frame");
            assert!(outbox.push(Bytes::from_static(b"x"), of(1, 0), budget, 0).is_err());
            take(&mut outbox, usize::MAX);
            assert_eq!((outbox.cost(budget), outbox.frames.capacity()), (0, 0));
        }
    }

    #[test]
    fn age_spends_the_budget_too() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.push(Bytes::from_static(&[0; 5]), of(1, 0), BUDGET, 0), Ok(()));
        assert_eq!(outbox.push(Bytes::from_static(&[0; 5]), of(1, 1), BUDGET, 1000), Ok(()));
        assert_eq!(outbox.push(Bytes::from_static(&[0; 5]), of(1, 2), BUDGET, 1001), Err(Full));
    }

    #[test]
    fn position_is_where_the_first_frame_taken_back_began() {
        let mut outbox = Outbox::default();
        for before in 3..6 {
            outbox.add(Bytes::from_static(&[0; 10]), Some(of(1, before)), 0);
            outbox.add(Bytes::from_static(&[0; 10]), Some(of(2, before)), 0);
        }
        // The first frame of channel 1 has begun, so it stays.
        take(&mut outbox, 1);
        assert_eq!(outbox.take_back(1, false), Some(Some(4)));
        assert_eq!(outbox.bytes(), 9 + 30);
        assert_eq!(outbox.take_back(1, false), None);
    }

    #[test]
    fn turn_stops_at_its_cap() {
        let mut outbox = Outbox::default();
        for _ in 0..5 {
            outbox.add(Bytes::from_static(&[0; 100]), None, 0);
        }
        let written = outbox.write(150, |slices| Ok(slices[0].len())).expect("no error");
        assert_eq!((written, outbox.bytes()), (Written::Cap, 300));
    }
}
