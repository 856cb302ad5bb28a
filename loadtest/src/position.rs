//! How far one socket has come on each of its channels, and how a message relates to that: the next
//! one, one that leaves a gap, one that fills a gap, or a duplicate. No bytes, no socket.
//!
//! [`UpdateOrder`] of the Rust client decides what a gap is. A [`client::Session`] would request what is missing; here it is
//! counted.

use client::UpdateOrder;

/// The position of a socket on one channel. Small, because there is one for each socket and
/// channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) ch: u32,
    pub(crate) epoch: u32,
    /// The sequence from which on everything is expected.
    pub(crate) joined: u64,
    pub(crate) seq: u64,
}

/// All positions of a socket, in the order of their channels.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    positions: Vec<Position>,
    /// What is missing, to distinguish a late message from a duplicate.
    holes: Vec<(u32, u64)>,
}

/// Gaps stored for each socket; a message in an older gap counts as a duplicate.
const HOLES_MAX: usize = 256;

/// How a message relates to the position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageOrder {
    /// This many new changes, without a gap before them.
    Next { changes: u64 },
    /// New, with a gap before it.
    Gap { missing: u64, changes: u64 },
    /// Was missing until now: it arrived out of order.
    Late,
    /// Nothing new.
    Again,
    /// Of a channel that this socket has not joined.
    Stray,
}

impl Positions {
    pub(crate) fn all(&self) -> &[Position] {
        &self.positions
    }

    #[inline]
    fn index(&self, ch: u32) -> Result<usize, usize> {
        // A socket usually follows one channel or all of them: then the index is known.
        let guess = if self.positions.len() == 1 { 0 } else { ch as usize };
        match self.positions.get(guess) {
            Some(position) if position.ch == ch => Ok(guess),
            _ => self.positions.binary_search_by_key(&ch, |position| position.ch),
        }
    }

    #[inline]
    pub(crate) fn get(&self, ch: u32) -> Option<&Position> {
        self.index(ch).ok().map(|at| &self.positions[at])
    }

    /// Sets the position to a sequence. Returns the position that this one replaces.
    pub(crate) fn join(&mut self, ch: u32, epoch: u32, seq: u64) -> Option<Position> {
        match self.index(ch) {
            Ok(at) => {
                let before = self.positions[at];
                let position = &mut self.positions[at];
                if position.epoch == epoch && seq >= position.seq {
                    position.seq = seq;
                } else {
                    *position = Position { ch, epoch, joined: seq, seq };
                }
                Some(before)
            }
            Err(at) => {
                if self.positions.is_empty() {
                    self.positions.reserve_exact(1);
                }
                self.positions.insert(at, Position { ch, epoch, joined: seq, seq });
                None
            }
        }
    }

    /// Moves to a position up to which nothing is missing. Returns the number of changes to it, if
    /// it is ahead.
    pub(crate) fn confirm(&mut self, ch: u32, head: u64) -> Option<u64> {
        let at = self.index(ch).ok()?;
        let position = &mut self.positions[at];
        let changes = head.checked_sub(position.seq).filter(|changes| *changes > 0)?;
        position.seq = head;
        Some(changes)
    }

    /// Forgets one channel.
    pub(crate) fn leave(&mut self, ch: u32) -> Option<Position> {
        self.index(ch).ok().map(|at| self.positions.remove(at))
    }

    /// Forgets everything.
    pub(crate) fn leave_all(&mut self) -> Vec<Position> {
        self.holes = Vec::new();
        std::mem::take(&mut self.positions)
    }

    /// Records a message that leads from `prev` to `seq`.
    #[inline]
    pub(crate) fn take(&mut self, ch: u32, prev: u64, seq: u64) -> MessageOrder {
        let Ok(at) = self.index(ch) else { return MessageOrder::Stray };
        let last = self.positions[at].seq;
        let order = UpdateOrder::new(last, prev, seq);
        if order == UpdateOrder::Old {
            return self.behind(ch, seq);
        }
        self.positions[at].seq = seq;
        if order == UpdateOrder::Next {
            return MessageOrder::Next { changes: seq - last };
        }
        let room = HOLES_MAX.saturating_sub(self.holes.len());
        self.holes.extend((last + 1..=prev).take(room).map(|seq| (ch, seq)));
        MessageOrder::Gap { missing: prev - last, changes: seq - prev }
    }

    fn behind(&mut self, ch: u32, seq: u64) -> MessageOrder {
        let Some(at) = self.holes.iter().position(|hole| *hole == (ch, seq)) else {
            return MessageOrder::Again;
        };
        self.holes.swap_remove(at);
        MessageOrder::Late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records messages of channel 3 after joining it at 10, each given as `prev..seq`.
    #[track_caller]
    fn check(messages: &[(u64, u64)], expected: &[MessageOrder]) {
        let mut positions = Positions::default();
        positions.join(3, 0, 10);
        positions.join(1, 0, 500);
        let orders: Vec<_> =
            messages.iter().map(|&(prev, seq)| positions.take(3, prev, seq)).collect();
        assert_eq!(orders, expected);
    }

    #[test]
    fn consecutive_sequence_is_next() {
        let next = |changes| MessageOrder::Next { changes };
        check(&[(10, 11), (11, 12), (12, 20)], &[next(1), next(1), next(8)]);
    }

    #[test]
    fn update_from_before_the_image_brings_what_is_new() {
        check(&[(7, 12)], &[MessageOrder::Next { changes: 2 }]);
    }

    #[test]
    fn missing_message_is_a_gap_and_its_late_arrival_a_reorder() {
        check(
            &[(13, 14), (11, 12), (11, 12), (13, 14)],
            &[
                MessageOrder::Gap { missing: 3, changes: 1 },
                MessageOrder::Late,
                MessageOrder::Again,
                MessageOrder::Again,
            ],
        );
    }

    #[test]
    fn message_of_an_unjoined_channel_is_a_stray() {
        let mut positions = Positions::default();
        assert_eq!(positions.take(0, 1, 2), MessageOrder::Stray);
    }

    #[test]
    fn confirmed_position_is_where_the_next_message_leads_on_from() {
        let mut positions = Positions::default();
        positions.join(3, 0, 10);
        assert_eq!(positions.confirm(3, 14), Some(4));
        assert_eq!(positions.confirm(3, 13), None);
        assert_eq!(positions.confirm(4, 13), None);
        assert_eq!(positions.take(3, 14, 15), MessageOrder::Next { changes: 1 });
    }

    #[test]
    fn new_epoch_resets_the_position_and_a_later_image_does_not() {
        let mut positions = Positions::default();
        positions.join(0, 0, 10);
        positions.join(0, 0, 15);
        assert_eq!(positions.get(0), Some(&Position { ch: 0, epoch: 0, joined: 10, seq: 15 }));
        positions.join(0, 1, 3);
        assert_eq!(positions.get(0), Some(&Position { ch: 0, epoch: 1, joined: 3, seq: 3 }));
    }
}
