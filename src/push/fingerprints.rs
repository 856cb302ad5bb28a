//! What a source has said lately, so that a repetition is known as one: in bounded memory.

use std::collections::{HashSet, VecDeque};

use sha2::{Digest, Sha256};

/// By what a line or a body is known again: 128 bits of a digest, so that no sender can make two
/// that are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Mark([u8; 16]);

impl Mark {
    pub(super) fn of_id(id: &str) -> Self {
        Self::of(b"id", id.as_bytes())
    }

    pub(super) fn of_content(line: &[u8]) -> Self {
        Self::of(b"content", line)
    }

    pub(super) fn of_body(body: &[u8]) -> Self {
        Self::of(b"body", body)
    }

    fn of(kind: &[u8], bytes: &[u8]) -> Self {
        let mut digest = Sha256::new();
        digest.update([kind, b":", bytes].concat());
        let digest = digest.finalize();
        Self(std::array::from_fn(|place| digest[place]))
    }
}

/// The last so many marks.
#[derive(Debug)]
pub(super) struct Recent {
    known: HashSet<Mark>,
    /// The oldest in front.
    order: VecDeque<Mark>,
    max: usize,
}

impl Recent {
    pub(super) fn new(max: usize) -> Self {
        Self { known: HashSet::new(), order: VecDeque::new(), max }
    }

    pub(super) fn holds(&self, mark: Mark) -> bool {
        self.known.contains(&mark)
    }

    pub(super) fn remember(&mut self, mark: Mark) {
        if !self.known.insert(mark) {
            return;
        }
        self.order.push_back(mark);
        if self.order.len() > self.max
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut recent = Recent::new(2);
        let [a, b, c] = ["a", "b", "c"].map(Mark::of_id);
        for mark in [a, b, a, c] {
            recent.remember(mark);
        }
        assert_eq!([a, b, c].map(|mark| recent.holds(mark)), [false, true, true]);
        assert_eq!((recent.known.len(), recent.order.len()), (2, 2));
    }

    #[test]
    fn an_id_is_no_content() {
        assert_ne!(Mark::of_id("a"), Mark::of_content(b"a"));
    }
}
