//! Turns of futures on the threads that serve all: of one payer, only so many are polled or about to be.

use std::{
    collections::VecDeque,
    future::Future,
    iter,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Payer, lock};

/// The turns of all payers. Clones share them.
///
/// The threads of a runtime poll what is ready in the order in which it became so. A payer with a thousand ready
/// connections would be served a thousand times before the next one, on all threads. Here at most `running_max` futures
/// of a payer are ready at a time; its others wait for them in the order in which they became ready.
#[derive(Debug, Clone)]
pub struct PollTurns {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    running_max: usize,
    payers: Mutex<FxHashMap<Payer, Turns>>,
    next_id: AtomicU64,
}

/// The futures of a payer.
#[derive(Debug, Default)]
struct Turns {
    running: usize,
    /// Those that have been woken for their turn, which counts as running.
    granted: FxHashSet<u64>,
    waiting: FxHashMap<u64, Waker>,
    /// The order of `waiting`, with some that have left.
    queue: VecDeque<u64>,
}

impl PollTurns {
    /// Turns with one less at a time than the machine has cores, but one at least: a thread is left for the others.
    #[must_use]
    pub fn by_cores() -> Self {
        Self::new(thread::available_parallelism().map_or(1, usize::from).saturating_sub(1).max(1))
    }

    /// Turns with so many futures of a payer at a time.
    #[must_use]
    pub fn new(running_max: usize) -> Self {
        let shared =
            Shared { running_max, payers: Mutex::default(), next_id: AtomicU64::default() };
        Self { shared: Arc::new(shared) }
    }

    /// A future whose polls take turns with the others of its payer.
    #[must_use]
    pub fn take<F: Future + Unpin>(&self, payer: TurnPayer, future: F) -> InTurn<F> {
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        InTurn { future, payer, turns: self.clone(), id, waits_as: None }
    }

    /// Whether a future may be polled; if not, it is woken for its turn.
    fn begin(&self, payer: Payer, id: u64, waker: &Waker) -> bool {
        let mut payers = lock(&self.shared.payers);
        let turns = payers.entry(payer).or_default();
        if turns.granted.remove(&id) {
            return true;
        }
        if let Some(earlier) = turns.waiting.get_mut(&id) {
            earlier.clone_from(waker);
            return false;
        }
        if turns.running < self.shared.running_max {
            turns.running += 1;
            return true;
        }
        turns.waiting.insert(id, waker.clone());
        turns.queue.push_back(id);
        false
    }

    /// After a poll: the turn goes to the one that has waited longest.
    fn end(&self, payer: Payer) {
        let mut payers = lock(&self.shared.payers);
        let Some(turns) = payers.get_mut(&payer) else { return };
        let next = iter::from_fn(|| turns.queue.pop_front())
            .find_map(|id| turns.waiting.remove(&id).map(|waker| (id, waker)));
        match &next {
            Some((id, _)) => {
                turns.granted.insert(*id);
            }
            None => turns.running -= 1,
        }
        if turns.running == 0 {
            payers.remove(&payer);
        }
        drop(payers);
        if let Some((_, waker)) = next {
            waker.wake();
        }
    }

    /// A future that waits, or was woken for its turn, is dropped or pays as another.
    fn leave(&self, payer: Payer, id: u64) {
        let mut payers = lock(&self.shared.payers);
        let Some(turns) = payers.get_mut(&payer) else { return };
        turns.waiting.remove(&id);
        let had_turn = turns.granted.remove(&id);
        drop(payers);
        if had_turn {
            self.end(payer);
        }
    }
}

/// Who pays for a future, which may change while it runs; `None`: it has no turns, as it may stand for many.
#[derive(Debug, Clone, Default)]
pub struct TurnPayer(Arc<Mutex<Option<Payer>>>);

impl TurnPayer {
    /// Of a payer.
    #[must_use]
    pub fn new(payer: Option<Payer>) -> Self {
        Self(Arc::new(Mutex::new(payer)))
    }

    /// Sets who pays from the next poll on.
    pub fn set(&self, payer: Option<Payer>) {
        *lock(&self.0) = payer;
    }

    fn get(&self) -> Option<Payer> {
        // The hub's own work never waits.
        lock(&self.0).filter(|payer| *payer != Payer::Hub)
    }
}

/// A future whose polls take turns: [`PollTurns::take`].
#[derive(Debug)]
pub struct InTurn<F> {
    future: F,
    payer: TurnPayer,
    turns: PollTurns,
    id: u64,
    /// For whose turn it waits.
    waits_as: Option<Payer>,
}

impl<F: Future + Unpin> Future for InTurn<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let payer = self.payer.get();
        if let Some(earlier) = self.waits_as.take_if(|earlier| Some(*earlier) != payer) {
            self.turns.leave(earlier, self.id);
        }
        if let Some(payer) = payer {
            self.waits_as = Some(payer);
            if !self.turns.begin(payer, self.id, cx.waker()) {
                return Poll::Pending;
            }
            self.waits_as = None;
        }
        // Also if the poll panics.
        let _turn = payer.map(|payer| Turn { turns: self.turns.clone(), payer });
        Pin::new(&mut self.future).poll(cx)
    }
}

impl<F> Drop for InTurn<F> {
    fn drop(&mut self) {
        if let Some(payer) = self.waits_as {
            self.turns.leave(payer, self.id);
        }
    }
}

/// A poll under way.
#[derive(Debug)]
struct Turn {
    turns: PollTurns,
    payer: Payer,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.end(self.payer);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        sync::atomic::AtomicUsize,
        task::{Wake, ready},
    };

    use super::*;

    /// Counts how often it was woken.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Woken {
        fn count(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    const ANNE: Payer = Payer::Account(1);
    const BEN: Payer = Payer::Account(2);

    fn payer(payer: Payer) -> TurnPayer {
        TurnPayer::new(Some(payer))
    }

    /// Polls with a waker that counts.
    fn poll<F: Future + Unpin>(future: &mut F, woken: &Arc<Woken>) -> Poll<F::Output> {
        Pin::new(future).poll(&mut Context::from_waker(&Waker::from(Arc::clone(woken))))
    }

    /// Takes a turn of `turns` as long as `f` runs.
    fn while_running(turns: &PollTurns, who: Payer, f: impl FnOnce() + Unpin) {
        let mut f = Some(f);
        let mut running = turns.take(
            payer(who),
            poll_fn(move |_| {
                f.take().expect("one poll")();
                Poll::Ready(())
            }),
        );
        assert!(poll(&mut running, &Arc::default()).is_ready());
    }

    fn at_once(turns: &PollTurns, who: Payer) -> InTurn<impl Future<Output = ()> + Unpin + use<>> {
        turns.take(payer(who), poll_fn(|_| Poll::Ready(())))
    }

    #[test]
    fn futures_of_a_payer_wait_in_turn_and_those_of_others_do_not() {
        let turns = PollTurns::new(1);
        let wakes = [(); 3].map(|()| Arc::<Woken>::default());
        let [mut first, mut second] = [(); 2].map(|()| at_once(&turns, ANNE));
        let mut other = at_once(&turns, BEN);
        while_running(&turns, ANNE, || {
            assert!(poll(&mut first, &wakes[0]).is_pending());
            assert!(poll(&mut second, &wakes[1]).is_pending());
            assert!(poll(&mut other, &wakes[2]).is_ready());
            assert_eq!(wakes.each_ref().map(|woken| woken.count()), [0, 0, 0]);
        });
        assert_eq!(wakes.each_ref().map(|woken| woken.count()), [1, 0, 0]);
        // Not before the one that has been woken.
        assert!(poll(&mut second, &wakes[1]).is_pending());
        assert!(poll(&mut first, &wakes[0]).is_ready());
        assert_eq!(wakes[1].count(), 1);
        assert!(poll(&mut second, &wakes[1]).is_ready());
        assert!(lock(&turns.shared.payers).is_empty());
    }

    #[test]
    fn turn_of_a_future_that_is_dropped_goes_to_the_next() {
        let turns = PollTurns::new(1);
        let wakes = [(); 3].map(|()| Arc::<Woken>::default());
        let [mut waiting, mut granted, mut last] = [(); 3].map(|()| at_once(&turns, ANNE));
        while_running(&turns, ANNE, || {
            assert!(poll(&mut granted, &wakes[0]).is_pending());
            assert!(poll(&mut waiting, &wakes[1]).is_pending());
            assert!(poll(&mut last, &wakes[2]).is_pending());
        });
        drop(waiting);
        drop(granted);
        assert_eq!(wakes.each_ref().map(|woken| woken.count()), [1, 0, 1]);
        assert!(poll(&mut last, &wakes[2]).is_ready());
        assert!(lock(&turns.shared.payers).is_empty());
    }

    #[test]
    fn turn_ends_when_a_poll_panics() {
        let turns = PollTurns::new(1);
        let mut panics = turns.take(payer(ANNE), poll_fn(|_| -> Poll<()> { panic!("expected") }));
        let poll_it = std::panic::AssertUnwindSafe(|| poll(&mut panics, &Arc::default()));
        assert!(std::panic::catch_unwind(poll_it).is_err());
        assert!(poll(&mut at_once(&turns, ANNE), &Arc::default()).is_ready());
    }

    #[test]
    fn latest_waker_is_woken() {
        let turns = PollTurns::new(1);
        let [before, after] = [(); 2].map(|()| Arc::<Woken>::default());
        let mut waiting = at_once(&turns, ANNE);
        while_running(&turns, ANNE, || {
            assert!(poll(&mut waiting, &before).is_pending());
            assert!(poll(&mut waiting, &after).is_pending());
        });
        assert_eq!([before.count(), after.count()], [0, 1]);
    }

    #[test]
    fn payer_may_change_between_polls() {
        let turns = PollTurns::new(1);
        let who = payer(ANNE);
        let mut polls = 0;
        let changed = who.clone();
        let mut future = turns.take(
            who,
            poll_fn(move |cx| {
                polls += 1;
                changed.set(Some(BEN));
                cx.waker().wake_by_ref();
                if polls < 2 { Poll::Pending } else { Poll::Ready(()) }
            }),
        );
        assert!(poll(&mut future, &Arc::default()).is_pending());
        while_running(&turns, BEN, || {
            assert!(poll(&mut future, &Arc::default()).is_pending());
        });
        assert!(poll(&mut future, &Arc::default()).is_ready());
        assert!(lock(&turns.shared.payers).is_empty());
    }

    #[test]
    fn future_that_waits_leaves_when_nobody_pays_any_more() {
        let turns = PollTurns::new(1);
        let [woken, next] = [(); 2].map(|()| Arc::<Woken>::default());
        let who = payer(ANNE);
        let mut waiting = turns.take(who.clone(), poll_fn(|_| Poll::<()>::Pending));
        let mut last = at_once(&turns, ANNE);
        while_running(&turns, ANNE, || {
            assert!(poll(&mut waiting, &woken).is_pending());
            assert!(poll(&mut last, &next).is_pending());
        });
        who.set(None);
        assert!(poll(&mut waiting, &woken).is_pending());
        assert_eq!(next.count(), 1, "it has passed its turn on");
        assert!(poll(&mut last, &next).is_ready());
        assert!(lock(&turns.shared.payers).is_empty());
    }

    #[test]
    fn payer_who_may_stand_for_many_never_waits() {
        let turns = PollTurns::new(1);
        let nobody = TurnPayer::default();
        let mut future = turns.take(
            nobody.clone(),
            poll_fn(|cx| {
                let mut inner = turns.take(nobody.clone(), poll_fn(|_| Poll::Ready(())));
                ready!(Pin::new(&mut inner).poll(cx));
                Poll::Ready(())
            }),
        );
        assert!(poll(&mut future, &Arc::default()).is_ready());
    }
}
