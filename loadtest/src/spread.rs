//! The time from the first to the last receipt of each message: how unfair the fan-out is.

use rustc_hash::FxHashMap;

use crate::channels::Message;

/// When a message was received, and by how many sockets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Receipts {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) count: u64,
}

impl Receipts {
    pub(crate) fn at(now: u64) -> Self {
        Self { first: now, last: now, count: 1 }
    }

    #[inline]
    pub(crate) fn note(&mut self, now: u64) {
        if self.count == 0 {
            self.first = now;
        }
        self.last = now;
        self.count += 1;
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.count += other.count;
    }
}

/// Receipts by channel and sequence: of all messages, or of every second, fourth, .. once there are
/// too many to keep.
#[derive(Debug)]
pub(crate) struct Spreads {
    stride: u64,
    kept: FxHashMap<(u32, u64), Receipts>,
}

/// Stored messages; about 8 MB.
const KEPT_MAX: usize = 200_000;

impl Default for Spreads {
    fn default() -> Self {
        Self { stride: 1, kept: FxHashMap::default() }
    }
}

impl Spreads {
    /// Keeps the receipts of a message if it counts and carries one change.
    pub(crate) fn keep(&mut self, message: &Message, receipts: Receipts) {
        if receipts.count > 0 && message.phase.is_some() && message.prev + 1 == message.seq {
            self.add((message.ch, message.seq), receipts);
        }
    }

    pub(crate) fn add(&mut self, (ch, seq): (u32, u64), receipts: Receipts) {
        if !seq.is_multiple_of(self.stride) {
            return;
        }
        self.kept.entry((ch, seq)).and_modify(|kept| kept.add(receipts)).or_insert(receipts);
        if self.kept.len() > KEPT_MAX {
            self.stride *= 2;
            let stride = self.stride;
            self.kept.retain(|(_, seq), _| seq.is_multiple_of(stride));
        }
    }
}

impl IntoIterator for Spreads {
    type Item = ((u32, u64), Receipts);
    type IntoIter = std::collections::hash_map::IntoIter<(u32, u64), Receipts>;

    fn into_iter(self) -> Self::IntoIter {
        self.kept.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_messages_are_thinned_evenly() {
        let mut spreads = Spreads::default();
        for seq in 0..500_000 {
            spreads.add((0, seq), Receipts::at(seq));
        }
        assert!(spreads.kept.len() <= KEPT_MAX && spreads.kept.len() > KEPT_MAX / 4);
        assert!(spreads.kept.keys().all(|(_, seq)| seq.is_multiple_of(spreads.stride)));
    }
}
