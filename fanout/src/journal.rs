//! What happened to connections, for the operator who asks why a value was late.
//!
//! Two records, both bounded and both of a whole shard: the last **rare** things of all connections, and everything of the few
//! connections that are **watched**. So a connection that nobody looks at costs no memory for it, and a delivery to a
//! reader that keeps up costs nothing: what it got is noted once for each batch, and only while somebody watches.

use std::collections::VecDeque;

use crate::{
    Micros,
    channel::{ChannelId, Rate, Seq},
};

/// Rare things that a shard remembers. The oldest go.
pub const RARE_MAX: usize = 4_096;

/// Rare things of one connection that are listed.
pub const RARE_LISTED_MAX: usize = 32;

/// Connections that are watched in a shard at a time.
pub const WATCHED_MAX: usize = 4;

/// How long a connection is watched after it was last looked at, in microseconds.
pub const WATCH_US: Micros = 120_000_000;

/// Things that are remembered of a watched connection. The oldest go.
pub const WATCHED_ENTRIES_MAX: usize = 256;

/// Something that happened to a connection.
#[derive(Debug, Clone)]
pub struct JournalEntry {
    /// When it happened, by the shard's clock.
    pub at: Micros,
    /// The channel that it concerns, if it concerns one.
    pub channel: Option<ChannelId>,
    pub event: JournalEvent,
}

/// What happened, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalEvent {
    /// It follows a channel. `from`: the position that it came with, and whether it could resume there.
    Subscribed {
        rate: Rate,
        head: Seq,
        from: Option<(Seq, Result<(), &'static str>)>,
    },
    /// It follows the channels of a pattern.
    SubscribedAll {
        pattern: Box<str>,
        channels: usize,
    },
    /// The image was queued.
    Image {
        seq: Seq,
        bytes: usize,
        why: &'static str,
    },
    /// Updates of the host were queued that lead it from one position to another.
    CaughtUp {
        from: Seq,
        to: Seq,
        frames: usize,
        bytes: usize,
        why: &'static str,
    },
    /// An update was written. It merges the changes after `prev`. `delay_us`: since it was published.
    Sent {
        prev: Seq,
        seq: Seq,
        rate: Rate,
        bytes: usize,
        delay_us: Option<Micros>,
    },
    /// An update was queued behind others.
    Queued {
        seq: Seq,
        bytes: usize,
        waiting_bytes: usize,
        waiting_us: Micros,
    },
    /// The channel left the live index at this position, and waits to be caught up.
    FellBehind {
        at: Option<Seq>,
        why: Behind,
    },
    /// Queued frames were written.
    Flushed {
        bytes: usize,
        left: usize,
        waited_us: Micros,
    },
    /// The socket accepts no more: the client does not read.
    SocketFull {
        waiting_bytes: usize,
    },
    /// The socket accepts everything again, and nothing is behind. `after_us`: since it was full.
    KeepsUp {
        after_us: Micros,
        merged: u64,
    },
    /// The client was informed that changes are left out.
    Resync {
        why: &'static str,
        from: Seq,
        to: Seq,
    },
    /// The client was informed of its own delay.
    Lag {
        waiting_bytes: usize,
        waiting_us: Micros,
    },
    /// The client was informed that nothing new can be known.
    Stale,
    /// A beat was left out, because there was no room.
    BeatSkipped,
    Unsubscribed,
    /// The channel has ended.
    Ended,
    /// A command, or a part of one, was refused.
    Refused {
        code: &'static str,
        message: Box<str>,
    },
    /// Publications on their way to the shard were dropped, so that all its connections are caught up.
    Overflow,
    Closed {
        code: u16,
        reason: &'static str,
        by_client: bool,
    },
    /// The connection has ended without a close.
    Disconnected {
        waiting_bytes: usize,
    },
}

/// Why a channel fell behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    /// The bytes that may be queued are used up.
    Bytes { waiting_bytes: usize },
    /// The oldest queued frame has waited for too long.
    Age { waiting_us: Micros },
    /// It was new, and changes were published before it was in the index.
    Gap,
    /// A suspension goes first, merged with what was queued.
    Suspended,
    /// It comes after other channels, which are behind.
    After,
    /// Its options have changed.
    Options,
}

/// The records of a shard.
#[derive(Debug, Default)]
pub struct Journal {
    rare: VecDeque<NumberedEntry>,
    /// Entries so far.
    noted: u64,
    watches: Vec<Watch>,
}

/// An entry and what it belongs to.
#[derive(Debug)]
struct NumberedEntry {
    /// Entries of one turn have the same time: the number is their order.
    number: u64,
    /// The connection's serial; 0 for all connections.
    serial: u64,
    entry: JournalEntry,
}

#[derive(Debug)]
struct Watch {
    slot: u32,
    serial: u64,
    until: Micros,
    entries: VecDeque<NumberedEntry>,
    dropped: u64,
}

/// How a connection is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchState {
    /// Until when, by the shard's clock; `None` if as many as may be are watched already.
    pub until: Option<Micros>,
    /// Entries that were dropped since it is watched.
    pub dropped: u64,
}

impl JournalEvent {
    /// Whether it is remembered of connections that nobody watches.
    fn is_rare(&self) -> bool {
        match self {
            Self::SocketFull { .. }
            | Self::KeepsUp { .. }
            | Self::Resync { .. }
            | Self::Overflow => true,
            Self::Closed { by_client, .. } => !by_client,
            Self::Subscribed { from, .. } => from.is_some_and(|(_, resumed)| resumed.is_err()),
            Self::Disconnected { waiting_bytes } => *waiting_bytes > 0,
            Self::SubscribedAll { .. }
            | Self::Image { .. }
            | Self::CaughtUp { .. }
            | Self::Sent { .. }
            | Self::Queued { .. }
            | Self::FellBehind { .. }
            | Self::Flushed { .. }
            | Self::Lag { .. }
            | Self::Stale
            | Self::BeatSkipped
            | Self::Unsubscribed
            | Self::Ended
            | Self::Refused { .. } => false,
        }
    }
}

impl Journal {
    /// Notes something if it is rare or the connection is watched.
    pub(crate) fn note(
        &mut self,
        serial: u64,
        channel: Option<&ChannelId>,
        event: JournalEvent,
        now: Micros,
    ) {
        let is_rare = event.is_rare();
        let watch = self.watches.iter_mut().find(|watch| watch.serial == serial);
        if !is_rare && watch.is_none() {
            return;
        }
        self.noted += 1;
        let entry = JournalEntry { at: now, channel: channel.cloned(), event };
        let noted = NumberedEntry { number: self.noted, serial, entry };
        match watch.filter(|_| !is_rare) {
            Some(watch) => watch.push(noted),
            None => {
                if self.rare.len() == RARE_MAX {
                    self.rare.pop_front();
                }
                self.rare.push_back(noted);
            }
        }
    }

    /// Notes something that concerns all connections.
    pub(crate) fn note_for_all(&mut self, event: JournalEvent, now: Micros) {
        self.note(0, None, event, now);
    }

    pub(crate) fn is_watching(&self) -> bool {
        !self.watches.is_empty()
    }

    /// Whether this connection is watched.
    pub(crate) fn watches(&self, serial: u64) -> bool {
        self.watches.iter().any(|watch| watch.serial == serial)
    }

    /// The slots and serials of the watched connections. A slot may have been reused since.
    pub(crate) fn watched(&self) -> impl Iterator<Item = (u32, u64)> {
        self.watches.iter().map(|watch| (watch.slot, watch.serial))
    }

    /// Watches a connection from now on, or for longer.
    pub(crate) fn watch(&mut self, slot: u32, serial: u64, now: Micros) {
        self.end_watches(now);
        let until = now + WATCH_US;
        if let Some(watch) = self.watches.iter_mut().find(|watch| watch.serial == serial) {
            watch.until = until;
        } else if self.watches.len() < WATCHED_MAX {
            let entries = VecDeque::new();
            self.watches.push(Watch { slot, serial, until, entries, dropped: 0 });
        }
    }

    /// Ends the watches that nobody has looked at for long.
    pub(crate) fn end_watches(&mut self, now: Micros) {
        self.watches.retain(|watch| watch.until > now);
    }

    pub(crate) fn state(&self, serial: u64) -> WatchState {
        let watch = self.watches.iter().find(|watch| watch.serial == serial);
        WatchState {
            until: watch.map(|watch| watch.until),
            dropped: watch.map_or(0, |watch| watch.dropped),
        }
    }

    /// What is remembered of a connection that was opened at this time, the oldest first.
    pub(crate) fn entries(&self, serial: u64, opened: Option<Micros>) -> Vec<JournalEntry> {
        let concerns = |noted: &&NumberedEntry| {
            noted.serial == serial
                || noted.serial == 0 && opened.is_some_and(|opened| noted.entry.at >= opened)
        };
        let watched = self.watches.iter().filter(|watch| watch.serial == serial);
        let watched = watched.flat_map(|watch| &watch.entries);
        let rare = self.rare.iter().rev().filter(concerns).take(RARE_LISTED_MAX);
        let mut all: Vec<&NumberedEntry> = rare.chain(watched).collect();
        all.sort_by_key(|noted| noted.number);
        all.into_iter().map(|noted| noted.entry.clone()).collect()
    }
}

impl Watch {
    fn push(&mut self, noted: NumberedEntry) {
        if self.entries.len() == WATCHED_ENTRIES_MAX {
            self.entries.pop_front();
            self.dropped += 1;
        }
        self.entries.push_back(noted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: JournalEvent = JournalEvent::SocketFull { waiting_bytes: 1 };

    fn events(journal: &Journal, serial: u64) -> Vec<JournalEvent> {
        journal.entries(serial, Some(0)).into_iter().map(|entry| entry.event).collect()
    }

    #[test]
    fn only_rare_things_are_remembered_while_nobody_watches() {
        let mut journal = Journal::default();
        journal.note(1, None, JournalEvent::BeatSkipped, 1);
        journal.note(1, None, FULL, 2);
        journal.note(2, None, FULL, 2);
        journal.note_for_all(JournalEvent::Overflow, 3);
        assert_eq!(events(&journal, 1), [FULL, JournalEvent::Overflow]);
        journal.watch(0, 1, 4);
        journal.note(1, None, JournalEvent::BeatSkipped, 5);
        journal.note(2, None, JournalEvent::BeatSkipped, 5);
        assert_eq!(events(&journal, 1), [FULL, JournalEvent::Overflow, JournalEvent::BeatSkipped]);
        assert_eq!(events(&journal, 2), [FULL, JournalEvent::Overflow]);
        let late = journal.entries(2, Some(4));
        assert_eq!(late.len(), 1, "the overflow was before it opened: {late:?}");
    }

    #[test]
    fn records_are_bounded() {
        let mut journal = Journal::default();
        for at in 0..RARE_MAX as i64 + 10 {
            journal.note(1, None, FULL, at);
        }
        assert_eq!(journal.rare.len(), RARE_MAX);
        assert_eq!(journal.rare[0].entry.at, 10, "the oldest goes");
        for serial in 1..=WATCHED_MAX as u64 + 1 {
            journal.watch(0, serial, 0);
        }
        assert_eq!(journal.watches.len(), WATCHED_MAX);
        assert_eq!(journal.state(WATCHED_MAX as u64 + 1).until, None);
        for at in 0..WATCHED_ENTRIES_MAX as i64 + 3 {
            journal.note(2, None, JournalEvent::Stale, at);
        }
        let state = WatchState { until: Some(WATCH_US), dropped: 3 };
        assert_eq!(
            (journal.entries(2, None).len(), journal.state(2)),
            (WATCHED_ENTRIES_MAX, state)
        );
    }

    #[test]
    fn watch_ends_when_nobody_looks() {
        let mut journal = Journal::default();
        journal.watch(0, 1, 0);
        journal.watch(0, 1, 1_000);
        journal.end_watches(WATCH_US + 999);
        assert!(journal.watches(1));
        journal.end_watches(WATCH_US + 1_000);
        assert!(!journal.is_watching());
    }
}
