//! Reads what clients resume from at a start: the updates before a snapshot, as they were published.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use fanout::{ChannelId, Epoch, Micros};
use log::{
    LogPosition, ReadError, RecordNumber, RecordSource,
    record::{Output, Record},
};

use crate::hub::{
    Hub,
    sequence::{TailFrame, TailWindow},
};

/// The updates before a snapshot, by channel, from which clients may resume.
#[derive(Debug, Default)]
pub struct Tails {
    channels: HashMap<ChannelId, ChannelTail>,
    /// The first reason why some are missing.
    pub problem: Option<ReadError>,
}

#[derive(Debug)]
struct ChannelTail {
    epoch: Epoch,
    /// Oldest first.
    frames: VecDeque<TailFrame>,
    /// Of their payloads.
    bytes: usize,
}

/// The updates of a part of the time.
#[derive(Debug, Default)]
struct Slice {
    channels: HashMap<ChannelId, SliceTail>,
    updates: usize,
    problem: Option<ReadError>,
}

#[derive(Debug)]
struct SliceTail {
    epoch: Epoch,
    /// Oldest first.
    frames: Vec<TailFrame>,
}

impl Slice {
    /// Reads the records from a time up to a number. Also returns the number of the first one, or that after the
    /// last if there is none. `None`: it has more than `updates_max`.
    fn read(
        since: Micros,
        last: RecordNumber,
        records: &dyn RecordSource,
        updates_max: usize,
    ) -> Option<(Self, RecordNumber)> {
        let mut reader = records.read_since(since);
        let (mut slice, mut first, mut read) = (Self::default(), last + 1, 0);
        while slice.updates <= updates_max {
            let record = match reader.next() {
                Ok(Some(record)) => record,
                Ok(None) => return Some((slice, first)),
                Err(error) => {
                    let (ReadError::Damaged { number, .. } | ReadError::Gone(number)) = error
                    else {
                        slice.problem.get_or_insert(error);
                        return Some((slice, first));
                    };
                    slice.problem.get_or_insert(error);
                    if number <= read || number >= last {
                        return Some((slice, first));
                    }
                    (reader, read) = (records.read_after(number), number);
                    continue;
                }
            };
            if record.number > last {
                return Some((slice, first));
            }
            read = record.number;
            // After damage, the reader may be before the time.
            if record.at >= since {
                first = first.min(record.number);
                slice.add(record);
            }
        }
        None
    }

    fn add(&mut self, record: Record) {
        for output in record.outputs {
            let Output::Published { channel, epoch, prev, seq, payload, .. } = output else {
                continue;
            };
            // A tail keeps single payloads, and not the record that they are part of.
            let payload = Bytes::copy_from_slice(&payload);
            let tail = self.channels.entry(channel);
            let tail = tail.or_insert_with(|| SliceTail { epoch, frames: Vec::new() });
            if tail.epoch != epoch {
                *tail = SliceTail { epoch, frames: Vec::new() };
            }
            tail.frames.push(TailFrame { prev, seq, payload });
            self.updates += 1;
        }
    }
}

/// How far back the first slice of the tails goes, in microseconds. Each further one goes three times as far.
const FIRST_SLICE_US: Micros = 10_000_000;

/// Updates that are read beyond the first slice. They take about a second, in which the state is read and played.
pub const UPDATES_MAX: usize = 250_000;

impl Tails {
    /// Reads the updates of the time for which clients may resume, in slices, the newest first. Beyond the first
    /// slice there are at most `updates_max`: after thousands of updates a second, reading all would take longer
    /// than a start may. Damaged records are left out: tails then begin after them.
    #[must_use]
    pub fn read(
        snapshot: LogPosition,
        window: TailWindow,
        records: &dyn RecordSource,
        updates_max: usize,
    ) -> Self {
        let oldest = snapshot.at.saturating_sub(window.age_us);
        let (mut tails, mut last, mut back) = (Self::default(), snapshot.number, FIRST_SLICE_US);
        let (mut room, mut left) = (usize::MAX, updates_max);
        loop {
            let since = snapshot.at.saturating_sub(back).max(oldest);
            let Some((slice, first)) = Slice::read(since, last, records, room) else {
                return tails;
            };
            if room < usize::MAX {
                left -= slice.updates;
            }
            tails.put_before(slice, window);
            if since == oldest || first == 1 {
                return tails;
            }
            (last, back, room) = (first - 1, back.saturating_mul(3), left);
        }
    }

    /// Puts the updates of an earlier time before the others.
    fn put_before(&mut self, slice: Slice, window: TailWindow) {
        for (channel, earlier) in slice.channels {
            let tail = self.channels.entry(channel).or_insert_with(|| ChannelTail {
                epoch: earlier.epoch,
                frames: VecDeque::new(),
                bytes: 0,
            });
            if tail.epoch != earlier.epoch {
                continue;
            }
            for frame in earlier.frames.into_iter().rev() {
                tail.bytes += frame.payload.len();
                if tail.bytes > window.bytes {
                    break;
                }
                tail.frames.push_front(frame);
            }
        }
        if let Some(problem) = slice.problem {
            self.problem.get_or_insert(problem);
        }
    }

    /// Puts them before the tails that the hub has by now.
    pub fn put_into(self, hub: &mut Hub) {
        for (channel, ChannelTail { epoch, frames, .. }) in self.channels {
            // Channels that were closed since have no tail, and before a damaged record it begins after that.
            hub.restore_tail(&channel, epoch, frames.into_iter().rev()).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use log::{Log, MemoryLog};

    use super::*;

    const SECOND: Micros = 1_000_000;

    /// A log of an update of a channel each second. The epoch changes after `reopened`.
    fn log_of(seconds: u64, reopened: u64) -> (MemoryLog, LogPosition) {
        let mut log = MemoryLog::new(1 << 20).expect("it has memory");
        for number in 1..=seconds {
            let output = Output::Published {
                channel: ChannelId::new("football/1"),
                epoch: Epoch(u32::from(number > reopened)),
                prev: number - 1,
                seq: number,
                urgent: false,
                has_events: false,
                payload: Bytes::from_static(b"0123456789"),
            };
            let at = SECOND * Micros::try_from(number).expect("it is small");
            let record = Record { number, at, inputs: Bytes::new(), outputs: vec![output] };
            log.append(number - 1, &[record]).expect("it is the next one");
        }
        let end = log.end();
        (log, end)
    }

    /// The first and the last number of the tail, which has all between.
    fn read(log: &MemoryLog, end: LogPosition, bytes: usize, updates_max: usize) -> (u64, u64) {
        let window = TailWindow { bytes, age_us: 300 * SECOND };
        let tails = Tails::read(end, window, &*log.source(), updates_max);
        assert!(tails.problem.is_none());
        let frames = &tails.channels[&ChannelId::new("football/1")].frames;
        assert!(frames.iter().zip(frames.iter().skip(1)).all(|(one, next)| one.seq == next.prev));
        (frames[0].seq, frames[frames.len() - 1].seq)
    }

    #[test]
    fn slices_add_up_to_the_window() {
        let (log, end) = log_of(400, 0);
        assert_eq!(read(&log, end, usize::MAX, 1_000), (100, 400));
        let (short, end) = log_of(25, 0);
        assert_eq!(read(&short, end, usize::MAX, 1_000), (1, 25));
    }

    #[test]
    fn first_slice_is_read_in_any_case_and_others_within_the_bound() {
        let (log, end) = log_of(400, 0);
        assert_eq!(read(&log, end, usize::MAX, 0), (390, 400));
        assert_eq!(read(&log, end, usize::MAX, 20), (370, 400), "the next slice has 20 updates");
        assert_eq!(read(&log, end, usize::MAX, 79), (370, 400), "the one after it has 60");
        assert_eq!(read(&log, end, usize::MAX, 80), (310, 400));
    }

    #[test]
    fn tail_has_neither_more_bytes_than_the_window_nor_updates_of_an_earlier_epoch() {
        let (log, end) = log_of(400, 0);
        assert_eq!(read(&log, end, 500, 1_000), (351, 400));
        let (reopened, end) = log_of(400, 365);
        assert_eq!(read(&reopened, end, usize::MAX, 1_000), (366, 400));
    }
}
