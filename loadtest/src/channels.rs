//! The channels that one generator sees: their names as small numbers, their last messages with the
//! receivers and times of receipt, and their heads.
//!
//! All sockets of a variant receive the same bytes. A frame is therefore first compared with the
//! last frames of its channel, and read as a [`Frame`] of the Rust client only if it is new. The
//! check for each socket is its position, which needs no parsing. A [`client::Session`] for each
//! socket would parse every copy, of which a core receives millions a second.

use std::collections::VecDeque;

use client::Frame;
use rustc_hash::FxHashMap;

use crate::{
    plan::Phases,
    spread::{Receipts, Spreads},
};

/// What latency and order need of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) ch: u32,
    pub(crate) prev: u64,
    pub(crate) seq: u64,
    /// Whether its number of changes is right.
    pub(crate) adds_up: bool,
    /// When it was due; absent if the source does not say.
    pub(crate) intended: Option<u64>,
    /// When it was sent.
    pub(crate) sent: Option<u64>,
    /// The phase in which it was due.
    pub(crate) phase: Option<u8>,
}

#[derive(Debug, Default)]
struct MessageCache {
    bytes: Vec<u8>,
    message: Message,
    receipts: Receipts,
}

#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) name: String,
    /// The highest known position.
    pub(crate) head: u64,
    /// By sequence, so that readers who are far behind find theirs too.
    cached: Vec<MessageCache>,
    /// When each of the last changes was due; the first has this sequence.
    changes_from: u64,
    changes: VecDeque<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Channels {
    by_name: FxHashMap<Box<str>, u32>,
    list: Vec<Channel>,
    epochs: Vec<String>,
    pub(crate) spreads: Spreads,
}

/// Frames of a channel to compare with: variants times the frames that a socket may be behind. With
/// many channels, each keeps few.
const MEMOS: usize = 4096;
const MEMOS_OF_MANY: usize = 32;
const MANY: usize = 64;

/// Changes of a channel whose instants are stored, for rate-limited readers.
const CHANGES_MAX: usize = 16_384;

/// How an update begins, up to the name of its channel.
const UPDATE: &[u8] = br#"{"type":"update","ch":""#;

impl Channels {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn all(&self) -> &[Channel] {
        &self.list
    }

    /// The number of a channel.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if let Some(&ch) = self.by_name.get(name) {
            return ch;
        }
        let ch = u32::try_from(self.list.len()).expect("fewer channels than sockets have room for");
        self.by_name.insert(name.into(), ch);
        self.list.push(Channel {
            name: name.to_owned(),
            head: 0,
            cached: Vec::new(),
            changes_from: 0,
            changes: VecDeque::new(),
        });
        ch
    }

    /// The number of an epoch.
    pub(crate) fn epoch(&mut self, name: &str) -> u32 {
        let existing = self.epochs.iter().rposition(|epoch| epoch == name);
        let at = existing.unwrap_or_else(|| {
            self.epochs.push(name.to_owned());
            self.epochs.len() - 1
        });
        u32::try_from(at).expect("fewer epochs than channels")
    }

    pub(crate) fn epoch_name(&self, epoch: u32) -> &str {
        &self.epochs[epoch as usize]
    }

    pub(crate) fn name(&self, ch: u32) -> &str {
        &self.list[ch as usize].name
    }

    /// Raises the head of a channel to at least this sequence.
    pub(crate) fn reached(&mut self, ch: u32, seq: u64) {
        let head = &mut self.list[ch as usize].head;
        *head = seq.max(*head);
    }

    /// Records when a change was due, for readers who see it later.
    pub(crate) fn changed(&mut self, message: &Message) {
        let Some(intended) = message.intended else { return };
        // Another hub has sent it before.
        if self.intended(message.ch, message.seq) == Some(intended) {
            return;
        }
        let channel = &mut self.list[message.ch as usize];
        if channel.changes_from + channel.changes.len() as u64 != message.seq {
            channel.changes.clear();
            channel.changes_from = message.seq;
        }
        channel.changes.push_back(intended);
        if channel.changes.len() > CHANGES_MAX {
            channel.changes.pop_front();
            channel.changes_from += 1;
        }
    }

    /// When the change with this sequence was due, if still known.
    pub(crate) fn intended(&self, ch: u32, seq: u64) -> Option<u64> {
        let channel = &self.list[ch as usize];
        let at = usize::try_from(seq.checked_sub(channel.changes_from)?).ok()?;
        channel.changes.get(at).copied()
    }

    /// The message in these bytes if they are an update, from the cache or parsed. Records a
    /// receipt at this instant, if one is given.
    pub(crate) fn update(
        &mut self,
        bytes: &[u8],
        now: Option<u64>,
        phases: &Phases,
    ) -> Option<Message> {
        let rest = bytes.strip_prefix(UPDATE)?;
        let name = &rest[..rest.iter().position(|byte| *byte == b'"')?];
        let name = std::str::from_utf8(name).ok()?;
        let ch = self.by_name.get(name).copied().unwrap_or_else(|| self.number(name));
        let count = if self.list.len() > MANY { MEMOS_OF_MANY } else { MEMOS };
        let cached = &mut self.list[ch as usize].cached;
        if cached.is_empty() {
            cached.resize_with(count, MessageCache::default);
        }
        let slot = cache_key(&rest[name.len()..], bytes.len()) % cached.len();
        let cache = &mut cached[slot];
        if cache.bytes == bytes {
            if let Some(now) = now {
                cache.receipts.note(now);
            }
            return Some(cache.message);
        }
        let message = parse(bytes, ch, phases)?;
        if !cache.bytes.is_empty() {
            self.spreads.keep(&cache.message, cache.receipts);
        }
        cache.bytes.clear();
        cache.bytes.extend_from_slice(bytes);
        cache.message = message;
        cache.receipts = now.map_or_else(Receipts::default, Receipts::at);
        Some(message)
    }

    /// Returns the receipts, and the channels by name.
    pub(crate) fn into_spreads(mut self) -> (Spreads, Vec<String>) {
        for channel in &mut self.list {
            for cache in channel.cached.drain(..).filter(|cache| !cache.bytes.is_empty()) {
                self.spreads.keep(&cache.message, cache.receipts);
            }
        }
        (self.spreads, self.list.into_iter().map(|channel| channel.name).collect())
    }
}

/// Where to look for a frame: by its sequence, which the hub writes right after the name, and by
/// its length, in which variants of one sequence usually differ. A match is compared byte for byte,
/// so the key affects only speed.
fn cache_key(behind_name: &[u8], length: usize) -> usize {
    let digits = behind_name.strip_prefix(br#"","seq":"#).unwrap_or_default();
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let seq = digits
        .fold(0_usize, |seq, digit| seq.wrapping_mul(10).wrapping_add(usize::from(digit - b'0')));
    seq.wrapping_mul(2).wrapping_add(length % 2)
}

fn parse(bytes: &[u8], ch: u32, phases: &Phases) -> Option<Message> {
    let frame = Frame::parse(bytes).ok()?;
    let (seq, prev) = (frame.seq?, frame.prev?);
    let at = frame.at.unwrap_or_default();
    let [src, published] =
        [at.src, at.published].map(|at| at.and_then(|instant| u64::try_from(instant).ok()));
    Some(Message {
        ch,
        prev,
        seq,
        adds_up: prev.checked_add(frame.n.unwrap_or(1)) == Some(seq),
        intended: src,
        sent: published,
        phase: src.or(published).and_then(|instant| phases.at(instant)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHASES: Phases = Phases { starts: [0, u64::MAX, u64::MAX], end: u64::MAX };

    fn frame(ch: &str, seq: u64) -> String {
        let prev = seq - 1;
        format!(
            r#"{{"type":"update","ch":"{ch}","seq":{seq},"prev":{prev},"at":{{"src":{seq}0,"in":1,"pub":{seq}5}},"patch":{{}}}}"#
        )
    }

    #[test]
    fn same_bytes_are_parsed_once_and_counted_each_time() {
        let mut channels = Channels::default();
        let bytes = frame("a", 7);
        let first = channels.update(bytes.as_bytes(), Some(100), &PHASES).unwrap();
        // A cached message is used without parsing: the bytes are identical.
        let again = channels.update(bytes.as_bytes(), Some(160), &PHASES).unwrap();
        assert_eq!(first, again);
        assert_eq!((first.seq, first.prev, first.intended, first.sent), (7, 6, Some(70), Some(75)));
        let (spreads, names) = channels.into_spreads();
        assert_eq!(names, ["a"]);
        let all: Vec<_> = spreads.into_iter().collect();
        assert_eq!(all, [((0, 7), Receipts { first: 100, last: 160, count: 2 })]);
    }

    #[test]
    fn socket_far_behind_gets_the_right_message() {
        let mut channels = Channels::default();
        for seq in (1..=100).chain(1..=100) {
            let message = channels.update(frame("a", seq).as_bytes(), Some(5), &PHASES).unwrap();
            assert_eq!(message.seq, seq);
        }
        assert!(channels.list[0].cached.len() <= MEMOS);
    }

    #[test]
    fn channels_are_distinguished_by_name() {
        let mut channels = Channels::default();
        let numbers = ["a", "b", "a"]
            .map(|name| channels.update(frame(name, 3).as_bytes(), Some(1), &PHASES).unwrap().ch);
        assert_eq!(numbers, [0, 1, 0]);
    }

    #[test]
    fn other_frames_are_ignored() {
        let mut channels = Channels::default();
        for text in ["", "{", r#"{"type":"beat"}"#, r#"{"type":"update","ch":"a"}"#] {
            assert_eq!(channels.update(text.as_bytes(), Some(1), &PHASES), None, "{text}");
        }
    }

    #[test]
    fn instants_of_the_last_changes_are_known() {
        let mut channels = Channels::default();
        for seq in 1..=20_000 {
            let message = channels.update(frame("a", seq).as_bytes(), Some(1), &PHASES).unwrap();
            channels.changed(&message);
        }
        assert_eq!(channels.intended(0, 20_000), Some(200_000));
        assert_eq!(channels.intended(0, 20_000 - CHANGES_MAX as u64), None);
        assert_eq!(channels.intended(0, 20_001), None);
    }
}
