//! The account of work: who causes how much processor time, and who has to wait for it.
//!
//! Every piece of work that a stranger or a customer can cause is measured where it runs, on whichever thread,
//! and charged to its [`Payer`]. A payer has a share of a core in the long run, and a burst. Nobody is refused
//! for what it has used: a payer in debt waits until its share has paid. Shared threads are given out by
//! [`FairQueue`]s, in turn between payers, with a share for each.
//!
//! Times are microseconds of one monotonic clock, [`Work::now`]. The rules take them as arguments.

mod ledger;
mod polls;
mod queue;
mod shared;
mod time;

use std::{
    future::{Future, poll_fn},
    net::{IpAddr, Ipv6Addr},
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
    time::Duration,
};

use metrics::{counter, gauge};
use rustc_hash::FxHashMap;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep},
};

use self::ledger::Ledger;
pub use self::{
    ledger::{PayerUse, WorkLimits},
    polls::{InTurn, PollTurns, TurnPayer},
    queue::{Busy, FairQueue, QueueLimits, Slot},
    shared::SharedValue,
    time::{measure, thread_time},
};
use crate::Micros;

/// Maximum accounts whose use is recorded between two reports to other nodes. The use of further ones is not
/// reported.
const UNREPORTED_MAX: usize = 4_096;

/// The requests of a payer are long while one of the recent ones has taken this processor time or more.
const LONG: Duration = Duration::from_millis(1);

/// A waiting request looks again after this time at the latest: its limits may be others, and its debt less.
const RECHECK_AFTER: Duration = Duration::from_secs(1);

/// Who caused a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Payer {
    /// The hub itself, and its operators. It never waits.
    Hub,
    /// An account, by its number: all of its keys, sockets and dialects.
    Account(u64),
    /// A stranger: an IPv4 address, or the /64 of an IPv6 address. Build it with [`Payer::address`].
    Address(IpAddr),
}

impl Payer {
    /// The stranger at an address. A customer with one IPv6 address has the 2^64 around it.
    #[must_use]
    pub fn address(address: IpAddr) -> Self {
        Self::Address(address_prefix(address))
    }
}

/// One customer of a network: an IPv4 address, or the /64 of an IPv6 address.
#[must_use]
pub fn address_prefix(address: IpAddr) -> IpAddr {
    // `::ffff:1.2.3.4` is 1.2.3.4 on a listener for both.
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

crate::words! {
    /// What the work was done for: the label `pool` of the metrics.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Pool {
        /// Requests over HTTP, on the threads that serve them.
        Rest = "rest",
        /// Calls over MCP, on any thread.
        Mcp = "mcp",
        /// Lists, statistics and other long computations on blocking threads.
        Blocking = "blocking",
        /// Compressing responses.
        Compression = "compression",
        /// Decompressing what clients send.
        Inflation = "inflation",
        /// Commands and messages of sockets, on the threads of shards.
        Shard = "shard",
        /// Catch-ups, hashes and images, on the thread of the writer.
        Writer = "writer",
        /// Rendering pictures.
        Images = "images",
        /// Hashing passwords.
        Passwords = "passwords",
        /// Reading recordings for replays.
        Replays = "replays",
        /// Deliveries of webhooks.
        Webhooks = "webhooks",
        /// Statements in the database. Only their waits are shown.
        Database = "database",
    }
}

/// The account of work of a hub. Clones share it.
#[derive(Debug, Clone)]
pub struct Work {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    started: Instant,
    ledger: Mutex<Ledger>,
    /// Nanoseconds by pool.
    totals: [AtomicU64; Pool::ALL.len()],
    /// Microseconds by account, for other nodes; `None` for a hub alone.
    unreported: Option<Mutex<FxHashMap<u64, u32>>>,
    queue: FairQueue,
    /// Of polls of long requests. Not `queue`: a request that waits to be polled may have been given a place there.
    polls: FairQueue,
    /// Queues of other pools.
    others: Mutex<Vec<FairQueue>>,
}

impl Work {
    /// An account with these limits. `is_reported`: keeps what accounts used here for other nodes.
    #[must_use]
    pub fn new(limits: WorkLimits, is_reported: bool) -> Self {
        let polls = FairQueue::new(QueueLimits::by_cores());
        Self {
            shared: Arc::new(Shared {
                started: Instant::now(),
                ledger: Mutex::new(Ledger::new(limits)),
                totals: Default::default(),
                unreported: is_reported.then(Mutex::default),
                queue: FairQueue::new(QueueLimits::by_cores()),
                others: Mutex::new(vec![polls.clone()]),
                polls,
            }),
        }
    }

    /// Without a limit, for tests and programs that serve nobody.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(WorkLimits::UNLIMITED, false)
    }

    /// Replaces the limits. What was used stays charged.
    pub fn set_limits(&self, limits: WorkLimits) {
        self.ledger().limits = limits;
    }

    /// Microseconds since the account was opened, by a monotonic clock.
    #[must_use]
    pub fn now(&self) -> Micros {
        Micros::try_from(self.shared.started.elapsed().as_micros()).unwrap_or(Micros::MAX)
    }

    /// Charges processor time that was used at `now`.
    pub fn charge(&self, payer: Payer, pool: Pool, used: Duration, now: Micros) {
        self.record(payer, pool, used);
        if payer != Payer::Hub {
            self.ledger().charge(payer, pool, used, now);
        }
    }

    /// How long until this payer may start more work; zero for the hub and for all within their burst.
    #[must_use]
    pub fn debt(&self, payer: Payer, now: Micros) -> Duration {
        self.ledger().debt(payer, now)
    }

    /// How long until the share of this payer has paid for everything that it used: its debt if it had no
    /// burst. Schedulers prefer the payer with the smallest debt.
    #[must_use]
    pub fn unpaid(&self, payer: Payer, now: Micros) -> Duration {
        self.ledger().unpaid(payer, now)
    }

    /// The `n` payers that used most recently, the dearest first. What was used counts half after five
    /// minutes.
    #[must_use]
    pub fn dearest(&self, n: usize, now: Micros) -> Vec<PayerUse> {
        self.ledger().dearest(n, now)
    }

    /// Processor time since the start, by pool, with that of the hub.
    #[must_use]
    pub fn totals(&self) -> [(Pool, Duration); Pool::ALL.len()] {
        Pool::ALL.map(|pool| {
            let total = self.shared.totals.get(pool as usize);
            let nanos = total.map_or(0, |total| total.load(Ordering::Relaxed));
            (pool, Duration::from_nanos(nanos))
        })
    }

    /// Charges what an account has used at another node.
    pub fn charge_elsewhere(&self, account: u64, used: Duration, now: Micros) {
        self.ledger().charge_debt(Payer::Account(account), used, now);
    }

    /// What accounts have used here since this was last called, in microseconds. Nothing for a hub alone.
    #[must_use]
    pub fn drain_unreported(&self) -> FxHashMap<u64, u32> {
        let uses = self.shared.unreported.as_ref();
        uses.map(|uses| std::mem::take(&mut *lock(uses))).unwrap_or_default()
    }

    /// Waits until this payer is within its budget.
    ///
    /// # Errors
    ///
    /// If too many of its requests are waiting: how long until its share has paid.
    pub async fn permit(&self, payer: Payer, pool: Pool) -> Result<Permit, Duration> {
        let Some(waiter) = self.enter(payer)? else { return Ok(self.take(payer, pool)) };
        let _next = waiter.queue.lock().await;
        loop {
            let debt = self.debt(payer, self.now());
            if debt.is_zero() {
                return Ok(self.take(payer, pool));
            }
            sleep(debt.min(RECHECK_AFTER)).await;
        }
    }

    /// A turn in the queue of its payer, if a request has to wait.
    fn enter(&self, payer: Payer) -> Result<Option<Waiter<'_>>, Duration> {
        let now = self.now();
        let mut ledger = self.ledger();
        let debt = ledger.debt(payer, now);
        let waiting_max = ledger.limits.waiting_max;
        let waiting = ledger.get_mut(payer).map_or(0, |entry| entry.waiting);
        if debt.is_zero() && waiting == 0 {
            return Ok(None);
        }
        if waiting >= waiting_max {
            return Err(debt);
        }
        let entry = ledger.entry(payer, now);
        entry.waiting += 1;
        Ok(Some(Waiter { work: self, payer, queue: Arc::clone(&entry.queue) }))
    }

    /// Charges a request in advance with the usual cost: concurrent requests are not free.
    fn take(&self, payer: Payer, pool: Pool) -> Permit {
        let taken = match payer {
            Payer::Hub => Duration::ZERO,
            _ => self.ledger().take_usual(payer, self.now()),
        };
        self.permit_with(payer, pool, taken)
    }

    fn permit_with(&self, payer: Payer, pool: Pool, taken: Duration) -> Permit {
        Permit { work: self.clone(), payer, pool, taken, used: Duration::ZERO }
    }

    /// Runs a future that was admitted before, on other tasks than its request: it is charged, and its payer
    /// is that of [`run_blocking`] below it.
    pub async fn run<F: Future>(&self, payer: Payer, pool: Pool, future: F) -> F::Output {
        self.permit_with(payer, pool, Duration::ZERO).run(scope(self.clone(), payer, future)).await
    }

    /// As [`Self::run`], but in the way of [`Permit::run_in_turn`].
    ///
    /// # Errors
    ///
    /// If too much work of this payer is waiting.
    pub async fn run_in_turn<F>(
        &self,
        payer: Payer,
        pool: Pool,
        future: F,
    ) -> Result<F::Output, Busy>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let permit = self.permit_with(payer, pool, Duration::ZERO);
        permit.run_in_turn(Box::pin(scope(self.clone(), payer, future))).await
    }

    /// Adds a queue whose jobs are counted as waiting.
    pub fn add_queue(&self, queue: &FairQueue) {
        lock(&self.shared.others).push(queue.clone());
    }

    /// Jobs that wait, by pool: for a blocking thread, or in a queue that was added.
    #[must_use]
    pub fn waiting(&self) -> [(Pool, usize); Pool::ALL.len()] {
        let mut waiting = self.shared.queue.waiting();
        for queue in &*lock(&self.shared.others) {
            for ((_, sum), (_, more)) in waiting.iter_mut().zip(queue.waiting()) {
                *sum += more;
            }
        }
        waiting
    }

    /// Sets the metrics of all pools.
    pub fn export(&self) {
        for (pool, total) in self.totals() {
            let us = u64::try_from(total.as_micros()).unwrap_or(u64::MAX);
            counter!("matchwire_work_microseconds_total", "pool" => pool.as_str()).absolute(us);
        }
        for (pool, waiting) in self.waiting() {
            gauge!("matchwire_work_waiting", "pool" => pool.as_str()).set(waiting as f64);
        }
    }

    /// Adds to the totals and to the report for other nodes.
    fn record(&self, payer: Payer, pool: Pool, used: Duration) {
        if let Some(total) = self.shared.totals.get(pool as usize) {
            let nanos = u64::try_from(used.as_nanos()).unwrap_or(u64::MAX);
            total.fetch_add(nanos, Ordering::Relaxed);
        }
        if let (Payer::Account(account), Some(uses)) = (payer, &self.shared.unreported) {
            let mut uses = lock(uses);
            if uses.len() < UNREPORTED_MAX || uses.contains_key(&account) {
                let sum = uses.entry(account).or_default();
                *sum = sum.saturating_add(u32::try_from(used.as_micros()).unwrap_or(u32::MAX));
            }
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.shared.ledger)
    }
}

/// Each table is complete after each statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An admitted request. What it used is charged when this is dropped, also if the request was cancelled.
#[derive(Debug)]
#[must_use = "what the request uses is charged to it"]
pub struct Permit {
    work: Work,
    payer: Payer,
    pool: Pool,
    /// Charged in advance.
    taken: Duration,
    used: Duration,
}

impl Permit {
    /// Who pays.
    #[must_use]
    pub fn payer(&self) -> Payer {
        self.payer
    }

    /// Runs a future and charges the processor time of the threads that polled it. Waiting is not counted.
    pub async fn run<F: Future>(mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            let (polled, used) = measure(|| future.as_mut().poll(context));
            self.used += used;
            polled
        })
        .await
    }

    /// Whether recent requests of its payer, or this one so far, were so long that it is to run in turn.
    fn is_long(&self) -> bool {
        self.work.ledger().longest(self.payer) >= LONG
    }

    /// Runs a request as [`Permit::run`] does. Once requests of its payer are long, it is polled on blocking threads, in turn with
    /// those of other payers, so that the threads that serve all requests stay free.
    ///
    /// # Errors
    ///
    /// If too much work of this payer is waiting. A panic of the future goes on here.
    pub async fn run_in_turn<F>(mut self, mut future: Pin<Box<F>>) -> Result<F::Output, Busy>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        // Before each poll: many requests may have begun before the first of them showed that they are long.
        let mut has_begun = false;
        let run_here = poll_fn(|context| {
            if self.is_long() {
                return Poll::Ready(None);
            }
            has_begun = true;
            let (polled, used) = measure(|| future.as_mut().poll(context));
            self.used += used;
            if self.used >= LONG && self.payer != Payer::Hub {
                self.work.ledger().set_longest(self.payer, self.used, self.work.now());
            }
            polled.map(Some)
        });
        match run_here.await {
            Some(output) => Ok(output),
            None => {
                let queue = self.work.shared.polls.clone();
                queue.poll_in_turn(self, future, has_begun).await
            }
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.work.record(self.payer, self.pool, self.used);
        if self.payer != Payer::Hub {
            let now = self.work.now();
            self.work.ledger().settle(self.payer, self.pool, self.taken, self.used, now);
        }
    }
}

/// A request that waits or was just admitted. It may also be cancelled.
struct Waiter<'a> {
    work: &'a Work,
    payer: Payer,
    queue: Arc<tokio::sync::Mutex<()>>,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.work.ledger().get_mut(self.payer) {
            entry.waiting = entry.waiting.saturating_sub(1);
        }
    }
}

tokio::task_local! {
    static CURRENT: Scope;
}

#[derive(Debug, Clone)]
struct Scope {
    work: Work,
    payer: Payer,
    /// Whether what it computes is kept for all.
    for_all: bool,
}

impl Scope {
    fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// Whose turn it takes in queues.
    fn turn(&self) -> Payer {
        if self.for_all { Payer::Hub } else { self.payer }
    }
}

/// Runs a future whose work this payer pays for: [`run_blocking`] below it knows.
pub async fn scope<F: Future>(work: Work, payer: Payer, future: F) -> F::Output {
    CURRENT.scope(Scope { work, payer, for_all: false }, future).await
}

/// The account and the payer of the task that calls, if it runs in a [`scope`].
#[must_use]
pub fn current() -> Option<(Work, Payer)> {
    Scope::current().map(|scope| (scope.work, scope.payer))
}

/// Runs a closure on a blocking thread, in turn with those of other payers, and charges it to the payer of the task
/// that calls. Outside a [`scope`] the hub does it for itself, at once.
///
/// # Errors
///
/// If too many closures of this payer are waiting, or the closure panicked.
pub async fn run_blocking<T: Send + 'static>(
    pool: Pool,
    closure: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Busy> {
    match Scope::current() {
        Some(scope) => scope.work.shared.queue.enter_current(pool).await?.run(closure).await,
        None => on_blocking_thread(closure).await.map_err(|_| Busy),
    }
}

/// Runs a closure on a blocking thread of the runtime. All are of one type there, so that tokio's task is compiled once.
async fn on_blocking_thread<T: Send + 'static>(
    closure: impl FnOnce() -> T + Send + 'static,
) -> Result<T, tokio::task::JoinError> {
    let (reply, mut output) = oneshot::channel();
    // The caller may be gone.
    let task: Box<dyn FnOnce() + Send> = Box::new(move || drop(reply.send(closure())));
    tokio::task::spawn_blocking(task).await?;
    Ok(output.try_recv().expect("the closure has ended"))
}

/// Runs a closure on the thread that calls, and charges it to the payer of the task, beyond what is measured
/// around it.
pub fn run_here<T>(pool: Pool, closure: impl FnOnce() -> T) -> T {
    let Some((work, payer)) = current() else { return closure() };
    let (output, used) = measure(closure);
    work.charge(payer, pool, used, work.now());
    output
}

#[cfg(test)]
mod tests;
