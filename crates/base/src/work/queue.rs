//! Shared places given out in turn: between strangers, accounts and the hub, and within these by payer.

use std::{
    collections::{BTreeMap, VecDeque},
    num::NonZeroUsize,
    ops::Bound,
    panic,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Wake, Waker},
    thread,
};

use rustc_hash::FxHashMap;
use tokio::sync::{Notify, oneshot};

use super::{Payer, Permit, Pool, Scope, current, lock, measure, on_blocking_thread};

/// The limits of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Jobs that run at the same time.
    pub running_max: usize,
    /// Those of one payer.
    pub running_max_by_payer: usize,
    /// Jobs that wait, of strangers, of accounts and of the hub each.
    pub waiting_max: usize,
    /// Those of one payer.
    pub waiting_max_by_payer: usize,
}

impl QueueLimits {
    /// As many jobs as cores, half of them for one payer.
    #[must_use]
    pub fn by_cores() -> Self {
        Self::shared(thread::available_parallelism().map_or(1, NonZeroUsize::get), 2_048)
    }

    /// So many places, half of them for one payer, and a quarter of the waiting jobs.
    #[must_use]
    pub fn shared(running_max: usize, waiting_max: usize) -> Self {
        Self {
            running_max,
            running_max_by_payer: running_max.div_ceil(2),
            waiting_max,
            waiting_max_by_payer: waiting_max.div_ceil(4),
        }
    }
}

/// Too many jobs are waiting, or the job failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too much work is waiting")]
pub struct Busy;

/// A number of places, and who waits for one.
#[derive(Debug, Clone)]
pub struct FairQueue {
    turns: Arc<Mutex<Turns<Waiting>>>,
}

#[derive(Debug)]
struct Waiting {
    pool: Pool,
    reply: oneshot::Sender<Slot>,
}

impl FairQueue {
    /// A queue with these limits.
    #[must_use]
    pub fn new(limits: QueueLimits) -> Self {
        Self { turns: Arc::new(Mutex::new(Turns::new(limits))) }
    }

    /// Waits for a place for the payer of the task that calls, the hub outside a [`super::scope`].
    ///
    /// # Errors
    ///
    /// If too many wait, of this payer or of all of its kind.
    pub async fn enter_current(&self, pool: Pool) -> Result<Slot, Busy> {
        self.enter(Scope::current().map_or(Payer::Hub, |scope| scope.turn()), pool).await
    }

    /// Waits for a place for this payer.
    ///
    /// # Errors
    ///
    /// As [`Self::enter_current`].
    pub async fn enter(&self, payer: Payer, pool: Pool) -> Result<Slot, Busy> {
        let (reply, slot) = oneshot::channel();
        lock(&self.turns).push(payer, Waiting { pool, reply })?;
        self.give_slots();
        slot.await.map_err(|_| Busy)
    }

    /// Whether a job waits.
    #[must_use]
    pub fn has_waiting(&self) -> bool {
        lock(&self.turns).kinds.iter().any(|ring| ring.waiting > 0)
    }

    /// Jobs that wait, by pool.
    #[must_use]
    pub fn waiting(&self) -> [(Pool, usize); Pool::ALL.len()] {
        let mut waiting = Pool::ALL.map(|pool| (pool, 0));
        for job in lock(&self.turns).jobs() {
            if let Some((_, count)) = waiting.get_mut(job.pool as usize) {
                *count += 1;
            }
        }
        waiting
    }

    /// Runs a future of a permit, which has perhaps begun elsewhere: each poll waits for a place and takes a blocking thread. What a poll used is charged
    /// also if the request is cancelled meanwhile.
    pub(super) async fn poll_in_turn<F>(
        &self,
        mut permit: Permit,
        mut future: Pin<Box<F>>,
        has_begun: bool,
    ) -> Result<F::Output, Busy>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut slot = if has_begun {
            self.enter_again(permit.payer, permit.pool).await?
        } else {
            self.enter(permit.payer, permit.pool).await?
        };
        loop {
            let waker = waker.clone();
            let polling = on_blocking_thread(move || {
                let mut context = Context::from_waker(&waker);
                let (polled, used) = measure(|| future.as_mut().poll(&mut context));
                permit.used += used;
                // If nobody waits for these, the permit is charged before the place is free.
                (permit, future, polled, slot)
            });
            let (returned, pending, polled, done) = match polling.await {
                Ok(polled) => polled,
                Err(failed) => match failed.try_into_panic() {
                    // As in `Permit::run`.
                    Ok(panicked) => panic::resume_unwind(panicked),
                    Err(_) => return Err(Busy),
                },
            };
            drop(done);
            if let Poll::Ready(output) = polled {
                return Ok(output);
            }
            (permit, future) = (returned, pending);
            woken.0.notified().await;
            slot = self.enter_again(permit.payer, permit.pool).await?;
        }
    }

    /// As [`Self::enter`] for work that has begun: it goes before what else its payer has waiting, and is not refused.
    async fn enter_again(&self, payer: Payer, pool: Pool) -> Result<Slot, Busy> {
        let (reply, slot) = oneshot::channel();
        lock(&self.turns).push_first(payer, Waiting { pool, reply });
        self.give_slots();
        slot.await.map_err(|_| Busy)
    }

    fn give_slots(&self) {
        loop {
            let next = lock(&self.turns).next();
            let Some((payer, job)) = next else { return };
            let slot = Slot { queue: Some(self.clone()), payer, pool: job.pool };
            if let Err(mut cancelled) = job.reply.send(slot) {
                // Not by dropping it, which would come back here.
                cancelled.queue = None;
                lock(&self.turns).done(payer);
            }
        }
    }
}

/// Wakes the task of a future that is polled elsewhere.
#[derive(Default)]
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// A place, until it is dropped.
#[derive(Debug)]
#[must_use = "dropping it frees the place"]
pub struct Slot {
    queue: Option<FairQueue>,
    payer: Payer,
    pool: Pool,
}

impl Slot {
    /// Runs a closure on a blocking thread, and charges it to the payer of the task that calls.
    ///
    /// # Errors
    ///
    /// If the closure panicked.
    pub async fn run<T: Send + 'static>(
        self,
        closure: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let account = current();
        // The slot moves with the closure, which goes on when the caller is cancelled.
        let running = on_blocking_thread(move || {
            let slot = self;
            let (output, used) = measure(closure);
            if let Some((work, payer)) = account {
                work.charge(payer, slot.pool, used, work.now());
            }
            output
        });
        running.await.map_err(|_| Busy)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            lock(&queue.turns).done(self.payer);
            queue.give_slots();
        }
    }
}

/// The kinds of payers, which have every other turn.
const KINDS: usize = 3;

/// Who is next. Data only: jobs are whatever waits.
#[derive(Debug)]
pub(super) struct Turns<J> {
    limits: QueueLimits,
    kinds: [Ring<J>; KINDS],
    /// The kind that had the last turn.
    last_kind: usize,
    running: FxHashMap<Payer, usize>,
    running_sum: usize,
}

/// The waiting jobs of the payers of one kind. The payers take turns.
#[derive(Debug)]
struct Ring<J> {
    jobs: BTreeMap<Payer, VecDeque<J>>,
    waiting: usize,
    last: Option<Payer>,
}

impl<J> Turns<J> {
    pub(super) fn new(limits: QueueLimits) -> Self {
        let ring = || Ring { jobs: BTreeMap::new(), waiting: 0, last: None };
        Self {
            limits,
            kinds: [ring(), ring(), ring()],
            last_kind: 0,
            running: FxHashMap::default(),
            running_sum: 0,
        }
    }

    /// Adds a job. Where too many of its kind wait, the last one of who has most of them goes instead.
    pub(super) fn push(&mut self, payer: Payer, job: J) -> Result<(), Busy> {
        let Some(ring) = self.kinds.get_mut(kind(payer)) else { return Err(Busy) };
        let limits = self.limits;
        let waiting = ring.jobs.get(&payer).map_or(0, VecDeque::len);
        if waiting >= limits.waiting_max_by_payer && payer != Payer::Hub {
            return Err(Busy);
        }
        if ring.waiting >= limits.waiting_max {
            let most = ring.jobs.values_mut().max_by_key(|jobs| jobs.len());
            let most = most.filter(|jobs| jobs.len() > waiting + 1).ok_or(Busy)?;
            most.pop_back();
            ring.waiting -= 1;
        }
        ring.jobs.entry(payer).or_default().push_back(job);
        ring.waiting += 1;
        Ok(())
    }

    /// Adds a job that has begun before all others of its payer.
    pub(super) fn push_first(&mut self, payer: Payer, job: J) {
        if let Some(ring) = self.kinds.get_mut(kind(payer)) {
            ring.jobs.entry(payer).or_default().push_front(job);
            ring.waiting += 1;
        }
    }

    /// The next job, which runs until [`Self::done`].
    pub(super) fn next(&mut self) -> Option<(Payer, J)> {
        if self.running_sum >= self.limits.running_max {
            return None;
        }
        let (running, most) = (&self.running, self.limits.running_max_by_payer);
        let may_run = |payer: Payer| {
            payer == Payer::Hub || running.get(&payer).is_none_or(|running| *running < most)
        };
        let kinds = (1..=KINDS).map(|step| (self.last_kind + step) % KINDS);
        let next = kinds.into_iter().find_map(|kind| {
            let (payer, job) = self.kinds.get_mut(kind)?.next(may_run)?;
            Some((kind, payer, job))
        });
        let (kind, payer, job) = next?;
        self.last_kind = kind;
        *self.running.entry(payer).or_default() += 1;
        self.running_sum += 1;
        Some((payer, job))
    }

    /// A job of this payer has ended.
    pub(super) fn done(&mut self, payer: Payer) {
        if let Some(running) = self.running.get_mut(&payer) {
            *running -= 1;
            self.running_sum -= 1;
            if *running == 0 {
                self.running.remove(&payer);
            }
        }
    }

    fn jobs(&self) -> impl Iterator<Item = &J> {
        self.kinds.iter().flat_map(|ring| ring.jobs.values().flatten())
    }
}

impl<J> Ring<J> {
    /// The first job of the payer after the last one that may run.
    fn next(&mut self, may_run: impl Fn(Payer) -> bool) -> Option<(Payer, J)> {
        let after = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let later = self.jobs.range((after, Bound::Unbounded));
        let payer =
            later.chain(&self.jobs).map(|(payer, _)| *payer).find(|payer| may_run(*payer))?;
        let jobs = self.jobs.get_mut(&payer)?;
        let job = jobs.pop_front()?;
        self.waiting -= 1;
        if jobs.is_empty() {
            self.jobs.remove(&payer);
        }
        self.last = Some(payer);
        Some((payer, job))
    }
}

fn kind(payer: Payer) -> usize {
    match payer {
        Payer::Hub => 0,
        Payer::Account(_) => 1,
        Payer::Address(_) => 2,
    }
}
