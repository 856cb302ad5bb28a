//! One connection's bounded queue of frames: references to shared bytes, written in batches.

use std::{collections::VecDeque, io, io::IoSlice};

use bytes::{Buf, Bytes};

/// Frames waiting to be written. Its budget counts bytes; a frame larger than the budget is taken
/// when nothing else waits, so that an image of any size gets through.
#[derive(Debug)]
pub struct Outbox {
    frames: VecDeque<Bytes>,
    bytes: usize,
    bytes_max: usize,
}

/// The queue has no room for another frame: the reader is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

/// Frames of one vectored write. Linux takes 1,024; at 64 the cost of the call is spread thin
/// already, and the array stays on the stack.
const SLICES_MAX: usize = 64;

impl Outbox {
    /// `bytes_max`: the connection's budget.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { frames: VecDeque::new(), bytes: 0, bytes_max }
    }

    /// Queues a frame.
    ///
    /// # Errors
    ///
    /// [`Full`] when it would exceed the budget; nothing is queued then.
    pub fn push(&mut self, frame: Bytes) -> Result<(), Full> {
        if !self.frames.is_empty() && self.bytes + frame.len() > self.bytes_max {
            return Err(Full);
        }
        self.push_reply(frame);
        Ok(())
    }

    /// Queues an answer to the client, whatever the budget. The connection takes no further command
    /// while [`Outbox::is_over`], so this is bounded by one command's answer.
    pub fn push_reply(&mut self, frame: Bytes) {
        self.bytes += frame.len();
        self.frames.push_back(frame);
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Bytes that wait.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    #[must_use]
    pub fn is_over(&self) -> bool {
        self.bytes >= self.bytes_max
    }

    /// Whether there is room for a reader who is behind to be brought forward.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.bytes <= self.bytes_max / 2
    }

    /// How many bytes a catch-up may bring.
    #[must_use]
    pub fn room(&self) -> usize {
        self.bytes_max.saturating_sub(self.bytes)
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
            for (slice, frame) in slices.iter_mut().zip(&self.frames) {
                *slice = IoSlice::new(frame);
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
        while let Some(front) = self.frames.front_mut() {
            if front.len() > written {
                front.advance(written);
                return;
            }
            written -= front.len();
            self.frames.pop_front();
        }
        // An idle connection keeps no queue.
        if self.frames.capacity() > 16 {
            self.frames = VecDeque::new();
        }
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

    proptest! {
        /// Whatever a socket takes at a time, the bytes come out whole and in order, and the queue
        /// never holds more than its budget and one frame.
        #[test]
        fn bytes_come_out_in_order(
            frames in prop::collection::vec(1_usize..40, 0..60),
            takes in prop::collection::vec(0_usize..50, 1..60),
        ) {
            let mut outbox = Outbox::new(100);
            let (mut sent, mut accepted) = (Vec::new(), Vec::new());
            let mut takes = takes.into_iter().cycle();
            for (number, length) in frames.into_iter().enumerate() {
                let frame = vec![u8::try_from(number).expect("few frames"); length];
                if outbox.push(Bytes::from(frame.clone())).is_ok() {
                    accepted.extend(frame);
                }
                prop_assert!(outbox.bytes() <= 140);
                let mut take = takes.next().expect("a cycle has no end");
                outbox.write(1000, |slices| {
                    let all: Vec<u8> = slices.iter().flat_map(|s| s.iter().copied()).collect();
                    let count = take.min(all.len());
                    take -= count;
                    sent.extend_from_slice(&all[..count]);
                    if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
                }).expect("only blocks");
            }
            outbox.write(usize::MAX, |slices| {
                sent.extend(slices.iter().flat_map(|s| s.iter().copied()));
                Ok(slices.iter().map(|s| s.len()).sum())
            }).ok();
            prop_assert_eq!(sent, accepted);
        }
    }

    #[test]
    fn frame_larger_than_the_budget_passes_when_alone() {
        let mut outbox = Outbox::new(10);
        assert_eq!(outbox.push(Bytes::from_static(&[0; 50])), Ok(()));
        assert_eq!(outbox.push(Bytes::from_static(&[0; 1])), Err(Full));
    }

    #[test]
    fn turn_stops_at_its_cap() {
        let mut outbox = Outbox::new(1000);
        for _ in 0..5 {
            outbox.push(Bytes::from_static(&[0; 100])).expect("room");
        }
        let written = outbox.write(150, |slices| Ok(slices[0].len())).expect("no error");
        assert_eq!((written, outbox.bytes()), (Written::Cap, 300));
    }
}
