//! When subscribers are written to, and what happens to one whose socket accepts nothing more.

use std::{
    io::{self, Write},
    mem,
};

use super::{ConnectionCounts, Effect, Subscriber, Subscribers, narrow};
use crate::{Micros, journal::JournalEvent, outbox::WriteOutcome};

/// A reader whose socket has accepted nothing for this long does not delay publishers, in microseconds.
const STUCK_US: Micros = 200_000;

/// The journal of a watched connection says when frames were written that had waited for so long, in microseconds.
const FLUSH_NOTED_US: Micros = 1_000;

impl<S: Write> Subscribers<S> {
    /// Notes that there may be something to write to a subscriber.
    pub fn mark_ready(&mut self, slot: usize) {
        let subscriber = &mut self.subscribers[slot];
        if !subscriber.is_ready && !subscriber.blocked && !subscriber.outbox.is_empty() {
            subscriber.is_ready = true;
            self.ready.push(narrow(slot));
        }
    }

    pub(super) fn mark_behind(&mut self, slot: usize) {
        if self.subscribers[slot].session.is_behind() {
            self.behind.insert(narrow(slot));
        }
    }

    /// The socket reports that it accepts bytes again.
    pub fn writable(&mut self, slot: usize) {
        let Some(subscriber) = self.subscribers.get_mut(slot) else { return };
        subscriber.blocked = false;
        match subscriber.sink.flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                self.effects.push((slot, Effect::Failed));
            }
            _ => self.mark_ready(slot),
        }
    }

    /// Subscribers that are slow now or have recovered since this was last called.
    pub fn take_slow(&mut self, now: Micros) -> Vec<usize> {
        let slow: Vec<usize> = self.slow.iter().map(|slot| *slot as usize).collect();
        let Self { subscribers, journal, .. } = self;
        self.slow.retain(|slot| {
            let Some(subscriber) = subscribers.get_mut(*slot as usize) else { return false };
            let is_slow = subscriber.is_slow();
            if !is_slow && let Some(since) = subscriber.slow_since.take() {
                let ConnectionCounts { serial, merged_while_slow, .. } = subscriber.tally;
                let event =
                    JournalEvent::KeepsUp { after_us: now - since, merged: merged_while_slow };
                journal.note(serial, None, event, now);
                subscriber.tally.merged_while_slow = 0;
            }
            is_slow
        });
        slow
    }

    /// Whether a client that still reads has more than half of its budget queued: see `Fanout::wait_for_readers`.
    #[must_use]
    pub fn is_crowded(&self, now: Micros) -> bool {
        self.slow.iter().filter_map(|slot| self.subscribers.get(*slot as usize)).any(|subscriber| {
            !subscriber.outbox.has_room(self.limits.budget) && subscriber.stalled(now) < STUCK_US
        })
    }

    /// Whether there is more to write without waiting.
    #[must_use]
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Writes once to each subscriber that is ready, up to its share.
    pub fn flush(&mut self, now: Micros) {
        for slot in mem::take(&mut self.ready) {
            self.flush_one(slot as usize, now);
        }
    }

    fn flush_one(&mut self, slot: usize, now: Micros) {
        let Some(subscriber) = self.subscribers.get_mut(slot) else { return };
        subscriber.is_ready = false;
        let Subscriber { outbox, sink, .. } = subscriber;
        let (bytes, waited_us) = (outbox.bytes(), outbox.age(now));
        let written = outbox.write(self.limits.write_bytes, |slices| sink.write_vectored(slices));
        if self.journal.is_watching() && waited_us >= FLUSH_NOTED_US {
            let left = outbox.bytes();
            if left < bytes {
                let event = JournalEvent::Flushed { bytes: bytes - left, left, waited_us };
                self.journal.note(subscriber.tally.serial, None, event, now);
            }
        }
        match written {
            Ok(WriteOutcome::All) => {
                if let Some(beat) =
                    subscriber.session.next_beat(&self.topics, now + self.stamp_offset)
                {
                    subscriber.outbox.push_beat(beat, now);
                    self.mark_ready(slot);
                }
            }
            Ok(WriteOutcome::Cap) => self.mark_ready(slot),
            Ok(WriteOutcome::Blocked { progress }) => {
                if progress {
                    subscriber.progressed = now;
                }
                subscriber.blocked = true;
                let Subscriber { tally, outbox, slow_since, .. } = subscriber;
                self.slow.insert(narrow(slot));
                if slow_since.is_none() {
                    *slow_since = Some(now);
                    tally.stalls = tally.stalls.saturating_add(1);
                    let event = JournalEvent::SocketFull { waiting_bytes: outbox.bytes() };
                    self.journal.note(tally.serial, None, event, now);
                }
            }
            Err(_) => return self.effects.push((slot, Effect::Failed)),
        }
        let subscriber = &mut self.subscribers[slot];
        if subscriber.defers_commands && subscriber.outbox.has_room(self.limits.budget) {
            subscriber.defers_commands = false;
            self.effects.push((slot, Effect::Resume));
        }
        self.request_catch_up(slot, now);
    }
}
