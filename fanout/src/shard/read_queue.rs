//! Whose commands are read next: payers take turns, and so do the sockets of each. Time is an argument.
//!
//! A turn of the shard gives a payer a share of processor time, however many sockets it has, and ends when the shares
//! of a few are used up: what is left waits for the next turn, after the publications between them. A payer that has used
//! its share pauses, so that one alone does not take a core from the other threads of the process.

use std::{
    collections::{VecDeque, hash_map::Entry},
    time::Duration,
};

use base::work::Payer;
use rustc_hash::FxHashMap;

use crate::Micros;

/// The time for the commands of one payer in a turn. A command that has begun ends.
const SHARE: Duration = Duration::from_micros(250);

/// How long a payer pauses that has used its share, in microseconds; on a quiet shard until the next millisecond, which is what
/// the system can wait for.
const PAUSE_US: Micros = 500;

/// The time for the commands of all in a turn.
const TURN: Duration = Duration::from_millis(1);

/// Sockets to read from, each of which is added once until it is read.
#[derive(Debug, Default)]
pub(super) struct ReadQueue {
    /// Those with sockets here, the next one first.
    payers: VecDeque<Payer>,
    /// Those that pause, with sockets here, and until when; in the order of time.
    paused: VecDeque<(Micros, Payer)>,
    /// With the turn in which each was added.
    sockets: FxHashMap<Payer, VecDeque<(usize, u64)>>,
    turn: u64,
    /// When this turn began.
    now: Micros,
    /// Payers that have not had their share of this turn.
    left: usize,
    /// The time of this turn, and that of the first payer.
    used: Duration,
    used_by_first: Duration,
}

impl ReadQueue {
    /// Adds a socket. It is read in the next turn.
    pub(super) fn push(&mut self, payer: Payer, slot: usize) {
        let socket = (slot, self.turn);
        match self.sockets.entry(payer) {
            Entry::Occupied(mut sockets) => sockets.get_mut().push_back(socket),
            Entry::Vacant(vacant) => {
                vacant.insert(VecDeque::from([socket]));
                self.payers.push_back(payer);
            }
        }
    }

    /// When there is a socket to read from.
    pub(super) fn due(&self) -> Option<Micros> {
        let paused = self.paused.front().map(|(until, _)| *until);
        if self.payers.is_empty() { paused } else { Some(self.now) }
    }

    /// Begins a turn.
    pub(super) fn begin(&mut self, now: Micros) {
        (self.turn, self.now) = (self.turn + 1, now);
        while let Some((_, payer)) = self.paused.pop_front_if(|(until, _)| *until <= now) {
            self.payers.push_back(payer);
        }
        self.left = self.payers.len();
        (self.used, self.used_by_first) = (Duration::ZERO, Duration::ZERO);
    }

    /// The next socket to read from in this turn.
    pub(super) fn pop(&mut self) -> Option<(Payer, usize)> {
        while self.left > 0 && self.used < TURN {
            let payer = *self.payers.front()?;
            let next = self.sockets.get_mut(&payer).and_then(|sockets| {
                let (slot, turn) = *sockets.front()?;
                (turn < self.turn && self.used_by_first < SHARE).then(|| {
                    sockets.pop_front();
                    slot
                })
            });
            if let Some(slot) = next {
                return Some((payer, slot));
            }
            self.end_share();
        }
        if !self.used_by_first.is_zero() {
            self.end_share();
        }
        None
    }

    /// The time that the socket that was popped last may take.
    pub(super) fn time_left(&self) -> Duration {
        TURN.saturating_sub(self.used).min(SHARE.saturating_sub(self.used_by_first))
    }

    /// Records what the socket that was popped last has taken.
    pub(super) fn record(&mut self, used: Duration) {
        self.used += used;
        self.used_by_first += used;
    }

    /// The first payer comes after all others.
    fn end_share(&mut self) {
        self.left = self.left.saturating_sub(1);
        let has_used_its_share = std::mem::take(&mut self.used_by_first) >= SHARE;
        let Some(payer) = self.payers.pop_front() else { return };
        if self.sockets.get(&payer).is_none_or(VecDeque::is_empty) {
            self.sockets.remove(&payer);
        } else if has_used_its_share {
            // The turn has taken at least this long.
            let used = Micros::try_from(self.used.as_micros()).unwrap_or(0);
            self.paused.push_back((self.now + used + PAUSE_US, payer));
        } else {
            self.payers.push_back(payer);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MICROSECOND: Duration = Duration::from_micros(1);
    const SHARE_US: Micros = 250;
    /// After the longest turn of these tests.
    const AFTER_PAUSES: Micros = 10_000_000;

    /// Reads of one turn, after all pauses, if each costs what `cost` says. `again`: the socket has more to read.
    fn turn(
        queue: &mut ReadQueue,
        cost: impl Fn(Payer) -> Duration,
        again: impl Fn(Payer) -> bool,
    ) -> Vec<(Payer, usize)> {
        queue.begin(queue.now + AFTER_PAUSES);
        let mut read = Vec::new();
        while let Some((payer, slot)) = queue.pop() {
            queue.record(cost(payer));
            if again(payer) {
                queue.push(payer, slot);
            }
            read.push((payer, slot));
        }
        read
    }

    fn account(number: u64) -> Payer {
        Payer::Account(number)
    }

    /// The attacker of the trial: 90 sockets with dear commands without an end.
    #[test]
    fn account_with_many_sockets_has_one_share_of_a_turn() {
        let mut queue = ReadQueue::default();
        (0..90).for_each(|slot| queue.push(account(1), slot));
        let dear = |payer| if payer == account(1) { 100 * MICROSECOND } else { 5 * MICROSECOND };
        for number in 0..20 {
            (0..6).for_each(|other| {
                queue.push(account(100 + other), 100 + usize::try_from(other).unwrap())
            });
            let read = turn(&mut queue, dear, |payer| payer == account(1));
            let (of_account, others): (Vec<_>, Vec<_>) =
                read.into_iter().partition(|(payer, _)| *payer == account(1));
            assert_eq!(others.len(), 6, "all others are read in each turn");
            let slots: Vec<usize> = of_account.iter().map(|(_, slot)| *slot).collect();
            let expected: Vec<usize> = (0..3).map(|at| (number * 3 + at) % 90).collect();
            assert_eq!(slots, expected, "its sockets take turns, within 250 us");
        }
    }

    #[test]
    fn command_longer_than_a_turn_delays_others_once() {
        let mut queue = ReadQueue::default();
        (0..8).for_each(|number| queue.push(account(number), usize::try_from(number).unwrap()));
        let long = |payer| if payer == account(3) { 1_600_000 * MICROSECOND } else { MICROSECOND };
        let first = turn(&mut queue, long, |payer| payer == account(3));
        assert_eq!(first.len(), 4, "the turn ends behind it");
        let second = turn(&mut queue, long, |payer| payer == account(3));
        let payers: Vec<Payer> = second.iter().map(|(payer, _)| *payer).collect();
        assert_eq!(payers, [account(4), account(5), account(6), account(7), account(3)]);
    }

    #[test]
    fn turn_of_many_cheap_payers_ends_and_goes_on() {
        let mut queue = ReadQueue::default();
        (0..1_000).for_each(|number| queue.push(account(number), usize::try_from(number).unwrap()));
        let turns: Vec<usize> =
            (0..6).map(|_| turn(&mut queue, |_| 5 * MICROSECOND, |_| false).len()).collect();
        assert_eq!(turns, [200, 200, 200, 200, 200, 0]);
        assert!(queue.due().is_none() && queue.sockets.is_empty());
    }

    #[test]
    fn payer_that_has_used_its_share_pauses_and_others_do_not() {
        let mut queue = ReadQueue::default();
        let read = |queue: &mut ReadQueue, now| {
            queue.begin(now);
            let popped = queue.pop().map(|(payer, _)| payer);
            queue.record(if popped == Some(account(1)) { SHARE } else { MICROSECOND });
            assert_eq!(queue.pop(), None);
            popped
        };
        (0..2).for_each(|slot| queue.push(account(1), slot));
        assert_eq!(queue.due(), Some(0));
        assert_eq!(read(&mut queue, 10), Some(account(1)));
        let until = 10 + SHARE_US + PAUSE_US;
        assert_eq!(queue.due(), Some(until));
        queue.push(account(2), 2);
        assert_eq!(queue.due(), Some(10));
        assert_eq!(read(&mut queue, 20), Some(account(2)));
        queue.push(account(1), 3);
        assert_eq!(read(&mut queue, until - 1), None);
        assert_eq!(read(&mut queue, until), Some(account(1)));
        let until = until + SHARE_US + PAUSE_US;
        assert_eq!(read(&mut queue, until - 1), None);
        assert_eq!(read(&mut queue, until), Some(account(1)));
        assert_eq!(queue.due(), None);
    }

    #[test]
    fn time_left_is_that_of_the_payer_and_of_the_turn() {
        let mut queue = ReadQueue::default();
        (1..=2).for_each(|slot| queue.push(account(1), slot));
        queue.begin(0);
        queue.pop();
        assert_eq!(queue.time_left(), SHARE);
        queue.record(200 * MICROSECOND);
        queue.pop();
        assert_eq!(queue.time_left(), 50 * MICROSECOND);
        queue.record(TURN);
        assert_eq!((queue.pop(), queue.time_left()), (None, Duration::ZERO));
    }

    proptest! {
        /// Nothing is lost, nothing is read twice, and nobody waits longer than for one share of each other payer.
        #[test]
        fn each_socket_is_read_once(
            sockets in prop::collection::vec((0_u64..6, 0_u64..2_000), 0..60),
        ) {
            let mut queue = ReadQueue::default();
            for (slot, (number, _)) in sockets.iter().enumerate() {
                queue.push(account(*number), slot);
            }
            let mut read = Vec::new();
            for turn in 0_i64.. {
                if queue.due().is_none() {
                    break;
                }
                prop_assert!(turn <= sockets.len() as i64, "each turn reads a socket");
                queue.begin(turn * AFTER_PAUSES);
                let mut used = Duration::ZERO;
                while let Some((payer, slot)) = queue.pop() {
                    prop_assert_eq!(payer, account(sockets[slot].0));
                    prop_assert!(used < TURN, "the turn has ended");
                    let cost = Duration::from_micros(sockets[slot].1);
                    used += cost;
                    queue.record(cost);
                    read.push(slot);
                }
            }
            prop_assert!(queue.sockets.is_empty());
            read.sort_unstable();
            prop_assert_eq!(read, (0..sockets.len()).collect::<Vec<_>>());
        }
    }
}
