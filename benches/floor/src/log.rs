//! The frames of a channel that some follower still needs, numbered, each stored once.

use std::{collections::VecDeque, io::IoSlice};

#[derive(Debug, Default)]
pub(crate) struct Log {
    frames: VecDeque<Frame>,
    /// The number of the first of them.
    first: u64,
    /// The total bytes ever logged.
    bytes: u64,
}

#[derive(Debug)]
struct Frame {
    bytes: Vec<u8>,
    /// Bytes logged before it.
    before: u64,
}

/// A position in the log: a frame, and how many of its bytes are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) frame: u64,
    pub(crate) offset: usize,
}

impl Log {
    pub(crate) fn push(&mut self, bytes: Vec<u8>) {
        let before = self.bytes;
        self.bytes += bytes.len() as u64;
        self.frames.push_back(Frame { bytes, before });
    }

    /// The position of the next frame.
    pub(crate) fn end(&self) -> Position {
        Position { frame: self.first + self.frames.len() as u64, offset: 0 }
    }

    /// The bytes after the position, at most so many frames of them.
    pub(crate) fn slices<'a>(&'a self, from: Position, max: usize, out: &mut Vec<IoSlice<'a>>) {
        out.clear();
        let rest = self.frames.range(self.index(from)..).take(max);
        out.extend(rest.map(|frame| IoSlice::new(&frame.bytes)));
        if let Some(first) = out.first_mut() {
            first.advance(from.offset);
        }
    }

    /// The position this many bytes further.
    pub(crate) fn advance(&self, from: Position, bytes: usize) -> Position {
        let (mut frame, mut offset) = (from.frame, from.offset + bytes);
        for entry in self.frames.range(self.index(from)..) {
            if offset < entry.bytes.len() {
                break;
            }
            offset -= entry.bytes.len();
            frame += 1;
        }
        Position { frame, offset }
    }

    /// The number of bytes after the position.
    pub(crate) fn lag(&self, from: Position) -> u64 {
        let frame = self.frames.get(self.index(from));
        frame.map_or(0, |frame| self.bytes - frame.before - from.offset as u64)
    }

    /// The rest of the frame at the position.
    pub(crate) fn rest(&self, from: Position) -> &[u8] {
        self.frames.get(self.index(from)).map_or(&[], |frame| &frame.bytes[from.offset..])
    }

    /// Drops the frames before this one.
    pub(crate) fn forget_before(&mut self, frame: u64) {
        let done = usize::try_from(frame - self.first).expect("no more frames than fit in memory");
        self.frames.drain(..done);
        self.first = frame;
    }

    fn index(&self, position: Position) -> usize {
        usize::try_from(position.frame - self.first).expect("no more frames than fit in memory")
    }
}
