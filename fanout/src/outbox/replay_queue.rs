//! The frames of replays that wait for a socket.
//!
//! They go out only when no live frame is queued. They count neither in the cost nor in the age of the live
//! frames, so a replay never causes a live subscription to fall behind.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};

#[derive(Debug, Default)]
pub(super) struct ReplayQueue {
    frames: VecDeque<ReplayQueueFrame>,
    bytes: usize,
    /// A part of the first frame has been written, so live frames must wait for the rest.
    is_partly_written: bool,
}

#[derive(Debug)]
struct ReplayQueueFrame {
    frame: Bytes,
    /// The number of its replay.
    replay: u32,
    /// Whether it is a recorded frame, and not the end of its replay.
    is_data: bool,
}

impl ReplayQueue {
    pub(super) fn push(&mut self, frame: Bytes, replay: u32, is_data: bool) {
        self.bytes += frame.len();
        self.frames.push_back(ReplayQueueFrame { frame, replay, is_data });
    }

    /// Removes the frames of a replay that have not been partly written.
    pub(super) fn withdraw(&mut self, replay: u32) {
        self.retain(|queued| queued.replay != replay);
    }

    /// Removes all frames that have not been partly written.
    pub(super) fn clear(&mut self) {
        self.retain(|_| false);
    }

    fn retain(&mut self, keep: impl Fn(&ReplayQueueFrame) -> bool) {
        let (mut count, started) = (0, usize::from(self.is_partly_written));
        self.frames.retain(|queued| {
            count += 1;
            count <= started || keep(queued)
        });
        self.bytes = self.frames.iter().map(|queued| queued.frame.len()).sum();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(super) fn is_partly_written(&self) -> bool {
        self.is_partly_written
    }

    /// What the frames cost if each costs this many bytes more than it has.
    pub(super) fn cost(&self, frame_bytes: usize) -> usize {
        self.bytes + self.frames.len() * frame_bytes
    }

    /// The rest of a partly written frame, which goes before live frames.
    pub(super) fn started(&self) -> impl Iterator<Item = &Bytes> {
        self.frames.iter().take(usize::from(self.is_partly_written)).map(|queued| &queued.frame)
    }

    /// The frames that go after live frames.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Bytes> {
        self.frames.iter().skip(usize::from(self.is_partly_written)).map(|queued| &queued.frame)
    }

    /// Removes written bytes of the first frames, at most `frames_max`. Returns how many of the bytes were
    /// not theirs, and how many recorded frames have been written completely.
    pub(super) fn advance(&mut self, mut written: usize, frames_max: usize) -> (usize, u64) {
        let mut delivered = 0;
        for _ in 0..frames_max {
            let Some(first) = self.frames.front_mut().filter(|_| written > 0) else { break };
            if first.frame.len() > written {
                first.frame.advance(written);
                self.bytes -= written;
                self.is_partly_written = true;
                return (0, delivered);
            }
            written -= first.frame.len();
            self.bytes -= first.frame.len();
            delivered += u64::from(first.is_data);
            self.is_partly_written = false;
            self.frames.pop_front();
        }
        if self.frames.is_empty() {
            self.frames = VecDeque::new();
        }
        (written, delivered)
    }
}
