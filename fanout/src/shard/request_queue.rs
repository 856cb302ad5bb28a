//! Requests to the host that wait until fewer are pending: payers take turns, each has a share of those that are pending by
//! what they cost, and those of one that are dear come a few at a time. Plain state.

use std::{collections::VecDeque, time::Duration};

use base::work::Payer;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::catch_up::HostRequest;

/// The processor time of the answers of one payer in a turn, by what the last ones have cost the host and the shard. One
/// request may be pending whatever it costs.
const ANSWERS: Duration = Duration::from_millis(2);

/// What a request costs of which nothing is known.
const COST: Duration = Duration::from_micros(60);

/// The cost of a payer's requests moves by this part of the difference to the last one.
const COST_WEIGHT: u32 = 4;

/// Dear requests of one payer that may be pending at a time: the host and the shard answer them between those of others.
const DEAR_PENDING_MAX: usize = 4;

/// Payers whose last costs are kept while they have no requests.
const COSTS_MAX: usize = 1024;

/// Requests that the host answers later, beyond those that are pending: their responses may all come in one turn.
const DEFERRED_MAX: usize = 1024;

/// A connection and its request. A connection has at most one at a time.
#[derive(Debug)]
pub(super) struct WaitingRequest {
    pub(super) slot: usize,
    pub(super) generation: u64,
    pub(super) request: HostRequest,
}

#[derive(Debug, Default)]
pub(super) struct RequestQueue {
    /// Those with waiting requests, the next one first.
    payers: VecDeque<Payer>,
    requests: FxHashMap<Payer, PayerRequests>,
    pending: usize,
    /// What requests of payers have cost that have none now, the last one at the end.
    costs: VecDeque<(Payer, Costs)>,
    /// The generations of connections whose requests the host answers later.
    deferred: FxHashSet<u64>,
}

/// What an answer has cost recently.
#[derive(Debug, Clone, Copy)]
struct Costs {
    dear: Duration,
    other: Duration,
}

#[derive(Debug, Default)]
struct PayerRequests {
    dear: VecDeque<WaitingRequest>,
    others: VecDeque<WaitingRequest>,
    costs: Costs,
    pending: usize,
    /// The connections whose dear requests are pending.
    dear_pending: Vec<(usize, u64)>,
}

impl RequestQueue {
    /// Adds a request. `is_dear`: the host or the shard will work long for it.
    pub(super) fn push(&mut self, payer: Payer, waiting: WaitingRequest, is_dear: bool) {
        let requests = self.requests.entry(payer).or_insert_with(|| {
            let index = self.costs.iter().position(|(other, _)| *other == payer);
            let costs = index.and_then(|index| self.costs.remove(index));
            let costs = costs.map_or_else(Costs::default, |(_, costs)| costs);
            PayerRequests { costs, ..PayerRequests::default() }
        });
        if !requests.has_waiting() {
            self.payers.push_back(payer);
        }
        if is_dear {
            requests.dear.push_back(waiting);
        } else {
            requests.others.push_back(waiting);
        }
    }

    /// Requests that the host has not answered.
    pub(super) fn pending(&self) -> usize {
        self.pending
    }

    /// Whether several payers have requests.
    pub(super) fn is_shared(&self) -> bool {
        self.requests.len() > 1
    }

    /// Takes the next request, which is pending from now on. `share`: how many of one payer may be pending. `may_start`:
    /// whether a payer may start something dear.
    pub(super) fn pop(
        &mut self,
        share: usize,
        mut may_start: impl FnMut(Payer, &HostRequest) -> bool,
    ) -> Option<(Payer, WaitingRequest)> {
        for _ in 0..self.payers.len() {
            let payer = self.payers.pop_front()?;
            let Some(requests) = self.requests.get_mut(&payer) else { continue };
            if requests.pending >= share.min(affordable(requests.costs.other)) {
                self.payers.push_back(payer);
                continue;
            }
            // What the host answers later costs nothing until then.
            let pending = requests.dear_pending.iter();
            let at_work =
                pending.filter(|(_, generation)| !self.deferred.contains(generation)).count();
            let has_room = requests.dear_pending.len() < DEAR_PENDING_MAX
                && at_work < affordable(requests.costs.dear);
            let first = requests.dear.front().filter(|_| has_room);
            let takes_dear = first.is_some_and(|first| may_start(payer, &first.request));
            let next =
                if takes_dear { requests.dear.pop_front() } else { requests.others.pop_front() };
            if let Some(waiting) = next.as_ref().filter(|_| takes_dear) {
                requests.dear_pending.push((waiting.slot, waiting.generation));
            }
            if requests.has_waiting() {
                self.payers.push_back(payer);
            }
            if let Some(next) = next {
                requests.pending += 1;
                self.pending += 1;
                return Some((payer, next));
            }
        }
        None
    }

    /// Records that the host answers the request of a connection later: others do not wait for it, other dear ones of its
    /// payer do.
    pub(super) fn defer(&mut self, payer: Payer, generation: u64) {
        if self.deferred.len() < DEFERRED_MAX && self.deferred.insert(generation) {
            self.pending = self.pending.saturating_sub(1);
            if let Some(requests) = self.requests.get_mut(&payer) {
                requests.pending = requests.pending.saturating_sub(1);
            }
        }
    }

    /// Records that the request of a connection was answered, and what that cost.
    pub(super) fn done(&mut self, payer: Payer, slot: usize, generation: u64, used: Duration) {
        if let Some(requests) = self.requests.get_mut(&payer) {
            let is_dear = requests.dear_pending.contains(&(slot, generation));
            let costs = &mut requests.costs;
            let cost = if is_dear { &mut costs.dear } else { &mut costs.other };
            *cost = *cost - *cost / COST_WEIGHT + used / COST_WEIGHT;
        }
        self.forget(payer, slot, generation);
    }

    /// Records that the request of a connection is not pending any more.
    pub(super) fn forget(&mut self, payer: Payer, slot: usize, generation: u64) {
        let pending = usize::from(!self.deferred.remove(&generation));
        self.pending = self.pending.saturating_sub(pending);
        if let Some(requests) = self.requests.get_mut(&payer) {
            requests.pending = requests.pending.saturating_sub(pending);
            requests.dear_pending.retain(|pending| *pending != (slot, generation));
            if requests.is_idle()
                && let Some(PayerRequests { costs, .. }) = self.requests.remove(&payer)
                && costs.dear.max(costs.other) > COST
            {
                if self.costs.len() >= COSTS_MAX {
                    self.costs.pop_front();
                }
                self.costs.push_back((payer, costs));
            }
        }
    }
}

/// How many requests of this cost one payer may have pending.
fn affordable(cost: Duration) -> usize {
    let number = ANSWERS.as_nanos().checked_div(cost.as_nanos());
    number.map_or(usize::MAX, |number| usize::try_from(number).unwrap_or(usize::MAX).max(1))
}

impl Default for Costs {
    fn default() -> Self {
        Self { dear: COST, other: COST }
    }
}

impl PayerRequests {
    fn has_waiting(&self) -> bool {
        !self.dear.is_empty() || !self.others.is_empty()
    }

    fn is_idle(&self) -> bool {
        self.pending == 0 && self.dear_pending.is_empty() && !self.has_waiting()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::{Pattern, Rate};

    const ATTACKER: Payer = Payer::Account(1);

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).expect("well formed")
    }

    fn waiting(slot: usize, request: HostRequest) -> WaitingRequest {
        WaitingRequest { slot, generation: 7, request }
    }

    fn list(slot: usize) -> WaitingRequest {
        waiting(slot, HostRequest::MatchChannels { pattern: pattern("*"), has: Vec::new() })
    }

    fn catch_up(slot: usize, with_hash: bool) -> WaitingRequest {
        let (channel, rate, why) = (pattern("football"), Rate::Each, "resume");
        let (from, bytes_max) = (None, 1_000);
        waiting(slot, HostRequest::CatchUp { channel, rate, from, why, bytes_max, with_hash })
    }

    fn push(queue: &mut RequestQueue, payer: Payer, waiting: WaitingRequest) {
        let is_dear = waiting.request.is_dear();
        queue.push(payer, waiting, is_dear);
    }

    const SHARE: usize = 32;

    fn slots(queue: &mut RequestQueue, may_pay: impl Fn(Payer) -> bool) -> Vec<usize> {
        let next = || queue.pop(SHARE, |payer, request| !request.is_dear() || may_pay(payer));
        std::iter::from_fn(next).map(|(_, waiting)| waiting.slot).collect()
    }

    #[test]
    fn others_do_not_wait_for_the_many_requests_of_one_payer() {
        let mut queue = RequestQueue::default();
        (0..90).for_each(|slot| push(&mut queue, ATTACKER, catch_up(slot, false)));
        (90..92).for_each(|slot| push(&mut queue, Payer::Account(2), catch_up(slot, false)));
        let order = slots(&mut queue, |_| true);
        assert_eq!(order[..5], [0, 90, 1, 91, 2]);
        assert_eq!((order.len(), queue.pending()), (SHARE + 2, SHARE + 2), "the rest waits");
        // The host answers none of the first for long, such as while a document is not due. Others do not wait for it.
        push(&mut queue, Payer::Account(3), catch_up(92, false));
        assert_eq!(slots(&mut queue, |_| true), [92]);
        queue.forget(ATTACKER, 5, 7);
        assert_eq!(slots(&mut queue, |_| true), [SHARE]);
    }

    fn catch_up_of(generation: u64) -> WaitingRequest {
        WaitingRequest { generation, ..catch_up(0, false) }
    }

    /// A document is not due yet, or the log of the cluster is away: nobody else waits for that.
    #[test]
    fn request_that_the_host_answers_later_takes_no_room_until_there_are_too_many() {
        let mut queue = RequestQueue::default();
        for generation in 0..=DEFERRED_MAX as u64 {
            push(&mut queue, ATTACKER, catch_up_of(generation));
            assert_eq!(slots(&mut queue, |_| true), [0]);
            // A second time, if it has to wait for something else then.
            (0..2).for_each(|_| queue.defer(ATTACKER, generation));
        }
        assert_eq!((queue.pending(), queue.deferred.len()), (1, DEFERRED_MAX));
        (0..=DEFERRED_MAX as u64).for_each(|generation| queue.forget(ATTACKER, 0, generation));
        assert_eq!((queue.pending(), queue.deferred.len()), (0, 0));
        assert!(queue.requests.is_empty(), "{queue:?}");
        for slot in 0..6 {
            let generation = slot as u64;
            let dear = WaitingRequest { slot, generation, ..catch_up(slot, true) };
            push(&mut queue, ATTACKER, dear);
        }
        assert_eq!(slots(&mut queue, |_| true), [0, 1, 2, 3]);
        (0..4).for_each(|generation| queue.defer(ATTACKER, generation));
        assert_eq!(queue.pending(), 0);
        assert_eq!(slots(&mut queue, |_| true), [0; 0], "the shard will work for the first ones");
        queue.forget(ATTACKER, 2, 2);
        assert_eq!((slots(&mut queue, |_| true), queue.pending()), (vec![4], 1));
    }

    #[test]
    fn dear_requests_of_a_payer_come_a_few_at_a_time() {
        let mut queue = RequestQueue::default();
        for slot in 0..10 {
            push(
                &mut queue,
                ATTACKER,
                if slot % 2 == 0 { list(slot) } else { catch_up(slot, true) },
            );
        }
        push(&mut queue, ATTACKER, catch_up(10, false));
        push(&mut queue, Payer::Account(2), list(11));
        assert_eq!(slots(&mut queue, |_| true), [0, 11, 1, 2, 3, 10]);
        queue.forget(ATTACKER, 10, 7);
        assert_eq!(slots(&mut queue, |_| true), [0; 0], "a cheap one makes no room for a dear one");
        for done in 0..6 {
            queue.forget(ATTACKER, done, 7);
            assert_eq!(slots(&mut queue, |_| true), [done + 4]);
        }
        (6..10).for_each(|done| queue.forget(ATTACKER, done, 7));
        queue.forget(Payer::Account(2), 11, 7);
        assert_eq!(queue.pending(), 0);
        assert!(queue.requests.is_empty() && queue.payers.is_empty(), "{queue:?}");
    }

    #[test]
    fn payer_in_debt_starts_nothing_dear_and_its_readers_catch_up() {
        let mut queue = RequestQueue::default();
        push(&mut queue, ATTACKER, list(0));
        push(&mut queue, ATTACKER, catch_up(1, false));
        assert!(!queue.is_shared());
        push(&mut queue, Payer::Account(2), list(2));
        assert!(queue.is_shared());
        assert_eq!(slots(&mut queue, |payer| payer != ATTACKER), [1, 2]);
        assert_eq!(slots(&mut queue, |_| true), [0], "its debt is paid");
    }

    /// Each catch-up of a socket with picks is rendered on the shard.
    #[test]
    fn catch_ups_of_sockets_with_picks_come_a_few_at_a_time_also_in_debt() {
        let mut queue = RequestQueue::default();
        (0..6).for_each(|slot| queue.push(ATTACKER, catch_up(slot, false), true));
        assert_eq!(slots(&mut queue, |_| false), [0, 1, 2, 3]);
        queue.forget(ATTACKER, 2, 7);
        assert_eq!(slots(&mut queue, |_| false), [4]);
    }

    /// Whatever each costs, the answers of one payer take about as long in a turn.
    #[test]
    fn payer_has_as_many_requests_pending_as_it_may_use_time() {
        let mut queue = RequestQueue::default();
        (0..200).for_each(|slot| push(&mut queue, ATTACKER, catch_up(slot, false)));
        let mut answer = |used: Duration| {
            let mut pending = 0;
            for _ in 0..40 {
                let slots = slots(&mut queue, |_| true);
                pending = slots.len();
                for slot in slots {
                    queue.done(ATTACKER, slot, 7, used);
                    push(&mut queue, ATTACKER, catch_up(slot, false));
                }
            }
            pending
        };
        assert_eq!(answer(Duration::from_micros(20)), SHARE);
        assert_eq!(answer(Duration::from_micros(400)), 5);
        assert_eq!(answer(Duration::from_millis(30)), 1);
        assert_eq!(answer(Duration::ZERO), SHARE);
    }

    /// Who waits for all answers before the next requests gains nothing by it.
    #[test]
    fn cost_of_requests_is_kept_while_there_are_none() {
        let mut queue = RequestQueue::default();
        let mut wave = |used| {
            (0..4).for_each(|slot| push(&mut queue, ATTACKER, catch_up(slot, true)));
            let mut at_once = Vec::new();
            let mut next = slots(&mut queue, |_| true);
            while !next.is_empty() {
                at_once.push(next.len());
                next.into_iter().for_each(|slot| queue.done(ATTACKER, slot, 7, used));
                next = slots(&mut queue, |_| true);
            }
            at_once
        };
        assert_eq!(wave(Duration::from_millis(8)), [4]);
        assert_eq!(wave(Duration::from_micros(10)), [1, 1, 1, 1]);
        (0..4).for_each(|_| drop(wave(Duration::from_micros(10))));
        assert_eq!(wave(Duration::from_micros(10)), [4]);
        assert!(queue.requests.is_empty());
    }
}
