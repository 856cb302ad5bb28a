//! The handle that the host holds: starts the shards, sends them messages, stops them.

use std::{
    mem,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use base::work::{Payer, Work};
use bytes::Bytes;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::{
    Micros,
    catch_up::{Cost, Host, HostResponse, Requester},
    channel::{Channel, Publication, Rate},
    close::Close,
    connection::{NewConnection, Purpose},
    dialect::Dialect,
    inbound::MessageLimits,
    inspect::{INSPECTIONS_MAX, TooManyInspections},
    mailbox::Mailbox,
    permission::Permission,
    probe::Probe,
    quota::Quotas,
    replay::ReplayResponse,
    shard::{self, Drain, Shard, ShardMessage, TokenBucketLimits, TokenBuckets},
    socket::{SocketOptions, Stream},
};

pub use crate::connection::{Expiry, Guard, Owner};

/// Limits and intervals.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Threads that serve sockets.
    pub shards: usize,
    /// Bytes that may be queued for one connection before it is caught up from the tail instead, including
    /// [`FRAME_BYTES`](crate::outbox::FRAME_BYTES) for each frame.
    pub outbox_bytes: usize,
    /// Milliseconds for which the oldest frame may be queued when another is added.
    pub outbox_age_ms: u32,
    /// Bytes written to one connection in a turn, for fairness to the others.
    pub write_bytes_max: usize,
    /// Channels that one connection may follow.
    pub channels_max: usize,
    /// Channels that all connections of one payer may follow together.
    pub channels_max_per_payer: usize,
    /// Patterns that one connection may follow.
    pub patterns_max: usize,
    /// Bytes of one command, including the headers of its fragments after the first.
    pub command_bytes_max: usize,
    /// Fragments of one command.
    pub command_fragments_max: u32,
    /// Bytes of a `subscribe` to a pattern that carries positions.
    pub from_bytes_max: usize,
    /// Responses of the host that the connections of one payer may use at once, over all shards. Beyond that,
    /// commands of that payer wait.
    pub catch_up_burst: u32,
    /// Responses by which that allowance is refilled each second.
    pub catch_ups_per_second: u32,
    /// Where the time of commands, and of the host for them, is charged. Commands of a payer in debt wait.
    pub work: Work,
    /// Publications that may be queued for one shard.
    pub mailbox_max: usize,
    /// Milliseconds between two beats.
    pub beat_ms: u32,
    /// Milliseconds without a byte from the client after which it is closed. It gets a ping after half of
    /// it. 0: never.
    pub idle_ms: u32,
    /// Milliseconds for which a socket may accept nothing of what is queued for it.
    pub stall_ms: u32,
    /// How sockets are set up.
    pub sockets: SocketOptions,
}

/// Beats that a connection without them would get in the time after which it gets a ping.
const BEATS_A_PING: Micros = 4;

/// The longest that the commands of a payer wait for responses that it has used.
const DEBT_US_MAX: Micros = 5_000_000;

impl Limits {
    /// The limits of a message in this dialect. In the stream protocol, a command may carry positions,
    /// which is known only after it is read.
    pub(crate) fn command_limits(&self, dialect: Dialect) -> MessageLimits {
        MessageLimits {
            bytes_max: match dialect {
                Dialect::Stream => self.from_bytes_max.max(self.command_bytes_max),
                Dialect::Hosted(_) => self.command_bytes_max,
            },
            fragments_max: self.command_fragments_max,
            may_deflate: false,
        }
    }

    pub(crate) fn outbox_age_us(&self) -> Micros {
        Micros::from(self.outbox_age_ms) * 1000
    }

    /// How often each connection is checked: for its beat, and often enough to detect that it is idle.
    pub(crate) fn round_us(&self) -> Micros {
        let beat = Micros::from(self.beat_ms) * 1000;
        if self.idle_ms == 0 { beat.max(1) } else { beat.min(self.idle_us() / 4).max(1) }
    }

    pub(crate) fn idle_us(&self) -> Micros {
        Micros::from(self.idle_ms) * 1000
    }

    /// How long a client may be silent before it gets a ping. Where there are no beats, pings keep proxies from ending the
    /// connection.
    pub(crate) fn ping_us(&self, has_beats: bool) -> Micros {
        let half = if self.idle_ms == 0 { Micros::MAX } else { self.idle_us() / 2 };
        if has_beats { half } else { half.min(Micros::from(self.beat_ms) * 1000 * BEATS_A_PING) }
    }

    fn token_buckets(&self) -> TokenBucketLimits {
        let idle_us = if self.idle_ms == 0 { Micros::MAX } else { self.idle_us() };
        TokenBucketLimits {
            burst: self.catch_up_burst,
            per_second: self.catch_ups_per_second,
            debt_us_max: DEBT_US_MAX.min(idle_us / 4),
        }
    }

    pub(crate) fn stall_us(&self) -> Micros {
        Micros::from(self.stall_ms) * 1000
    }
}

/// The running shards. Cheap to clone; all clones refer to the same shards.
#[derive(Debug, Clone)]
pub struct Fanout {
    shared: Arc<Shared>,
    threads: Arc<Mutex<Vec<thread::JoinHandle<()>>>>,
}

pub(crate) struct Shared {
    pub(crate) limits: Limits,
    /// The name and version of the server in `hello`.
    pub(crate) server: String,
    pub(crate) host: Box<dyn Host>,
    pub(crate) token_buckets: TokenBuckets,
    pub(crate) quotas: Quotas,
    pub(crate) mailboxes: Vec<Mailbox<ShardMessage, mio::Waker>>,
    /// Notified when a shard has processed its mailbox.
    progress: Notify,
    /// By shard: whether a client that reads has much queued.
    crowded: Vec<AtomicBool>,
    /// Connections of each shard.
    pub(crate) sockets: Vec<AtomicUsize>,
    /// Something has been followed.
    pub(crate) followed: AtomicBool,
    /// Counts the inspections that are open.
    inspections: Arc<Semaphore>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Shared {
    /// Records that a shard has processed its mailbox. `is_crowded`: a client that reads has much queued.
    pub(crate) fn notify_progress(&self, shard: usize, is_crowded: bool) {
        self.crowded[shard].store(is_crowded, Ordering::Release);
        self.progress.notify_waiters();
    }

    /// Whether commands of this payer must wait.
    pub(crate) fn is_in_debt(&self, payer: Payer, now: Micros) -> bool {
        let work = &self.limits.work;
        self.token_buckets.is_in_debt(payer, now) || !work.debt(payer, work.now()).is_zero()
    }

    async fn wait_until(&self, holds: impl Fn(&Self) -> bool) {
        loop {
            let mut progress = pin!(self.progress.notified());
            // From here on no notification is missed.
            progress.as_mut().enable();
            if holds(self) {
                return;
            }
            progress.await;
        }
    }
}

/// A shard's thread could not be started.
#[derive(Debug, thiserror::Error)]
#[error("shard {shard} did not start")]
pub struct StartError {
    shard: usize,
    source: std::io::Error,
}

/// A change of a channel. Readers see changes in the order in which they are published.
#[derive(Debug, Clone)]
pub enum Change {
    /// A new channel; the publication renders its image at sequence 0.
    Opened(Arc<Publication>),
    /// An update for the followers at this rate.
    Published(Rate, Arc<Publication>),
    /// The channel no longer exists.
    Closed(Channel),
}

impl Fanout {
    /// Starts the shards. `server` is the name that `hello` gives.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread or its event queue.
    pub fn start(
        limits: Limits,
        server: impl Into<String>,
        host: Box<dyn Host>,
    ) -> Result<Self, StartError> {
        let spawn =
            |name, run: Box<dyn FnOnce() + Send>| thread::Builder::new().name(name).spawn(run);
        Self::start_on(limits, server, host, spawn)
    }

    /// Like [`Fanout::start`], on threads that the host starts: `spawn` gets the name of a shard's thread and
    /// its main function. A shard that panics closes its mailbox, so that nothing waits for it; the host
    /// must notice the panic.
    ///
    /// # Errors
    ///
    /// As [`Fanout::start`].
    pub fn start_on(
        limits: Limits,
        server: impl Into<String>,
        host: Box<dyn Host>,
        spawn: impl Fn(String, Box<dyn FnOnce() + Send>) -> std::io::Result<thread::JoinHandle<()>>,
    ) -> Result<Self, StartError> {
        let shards = limits.shards.max(1);
        let (mut polls, mut mailboxes) = (Vec::new(), Vec::new());
        for shard in 0..shards {
            let (poll, waker) = shard::poll().map_err(|source| StartError { shard, source })?;
            polls.push(poll);
            mailboxes.push(Mailbox::new(limits.mailbox_max, waker));
        }
        let shared = Arc::new(Shared {
            server: server.into(),
            host,
            token_buckets: TokenBuckets::new(limits.token_buckets()),
            quotas: Quotas::new(limits.channels_max_per_payer),
            mailboxes,
            progress: Notify::new(),
            crowded: (0..shards).map(|_| AtomicBool::new(false)).collect(),
            sockets: (0..shards).map(|_| AtomicUsize::new(0)).collect(),
            followed: AtomicBool::new(false),
            inspections: Arc::new(Semaphore::new(INSPECTIONS_MAX)),
            limits,
        });
        let mut threads = Vec::new();
        for (shard, poll) in polls.into_iter().enumerate() {
            let guard = ExitGuard { shared: Arc::clone(&shared), shard };
            let running = Shard::new(shard, Arc::clone(&shared), poll);
            let run = move || {
                let _guard = guard;
                running.run();
            };
            let thread = spawn(format!("shard-{shard}"), Box::new(run));
            threads.push(thread.map_err(|source| StartError { shard, source })?);
        }
        Ok(Self { shared, threads: Arc::new(Mutex::new(threads)) })
    }

    /// Sends changes to all shards atomically: no reader sees a part of them. Never blocks.
    pub fn publish(&self, changes: &[Change]) {
        self.publish_with(changes, &[]);
    }

    /// The same, with probes that report when each shard has written the changes.
    pub fn publish_with(&self, changes: &[Change], probes: &[Arc<dyn Probe>]) {
        for mailbox in &self.shared.mailboxes {
            let changes = changes.iter().map(|change| match change {
                Change::Opened(image) => ShardMessage::Opened(Arc::clone(image)),
                Change::Published(rate, publication) => {
                    ShardMessage::Publish(*rate, Arc::clone(publication))
                }
                Change::Closed(channel) => ShardMessage::Closed(channel.clone()),
            });
            let probes = probes.iter().map(|probe| ShardMessage::Probe(Arc::clone(probe)));
            mailbox.push(changes.chain(probes));
        }
    }

    /// Waits until everything published has been written and no client has more than half of its outbox queued,
    /// except for those that have read nothing for 200 ms. For publishers whose readers are to get every change by
    /// itself: changes of up to half an outbox that are published then put no reader behind that reads on.
    pub async fn wait_for_readers(&self) {
        self.shared
            .wait_until(|shared| {
                shared.mailboxes.iter().all(Mailbox::is_processed)
                    && !shared.crowded.iter().any(|crowded| crowded.load(Ordering::Acquire))
            })
            .await;
    }

    /// Waits until no shard's mailbox is more than half full. For sources that can wait, such as a
    /// recording that is replayed at full speed; live sources never wait.
    pub async fn wait_for_room(&self) {
        self.shared.wait_until(|shared| !shared.mailboxes.iter().any(Mailbox::is_crowded)).await;
    }

    /// Responds to a request of [`Host::submit`]. `cost`: charged to the requester's payer.
    pub fn respond(&self, requester: Requester, response: HostResponse, cost: Cost) {
        self.send(requester.shard, ShardMessage::Response(requester, response, cost));
    }

    /// The same with several responses: each shard wakes once.
    pub fn respond_all(
        &self,
        responses: impl IntoIterator<Item = (Requester, HostResponse, Cost)>,
    ) {
        let mut messages: Vec<_> = self.shared.mailboxes.iter().map(|_| Vec::new()).collect();
        for (requester, response, cost) in responses {
            let message = ShardMessage::Response(requester, response, cost);
            messages[requester.shard].push(message);
        }
        for (mailbox, messages) in self.shared.mailboxes.iter().zip(messages) {
            if !messages.is_empty() {
                mailbox.push(messages);
            }
        }
    }

    /// Says that the response to a request of [`Host::submit`] comes later: the requests of others do not wait for it.
    pub fn defer(&self, requester: Requester) {
        self.send(requester.shard, ShardMessage::Deferred(requester));
    }

    /// Responds to a request of [`Host::replay`].
    pub fn respond_replay(&self, requester: Requester, response: ReplayResponse) {
        self.send(requester.shard, ShardMessage::Replay(requester, response));
    }

    /// Takes over a connection after its handshake. `read_ahead`: bytes that arrived after the handshake.
    pub fn serve(&self, stream: Stream, read_ahead: Vec<u8>, owner: Owner, dialect: Dialect) {
        self.connect(NewConnection { stream, read_ahead, purpose: Purpose::Serve(owner, dialect) });
    }

    /// Takes over a connection after its handshake, only to send a frame that says why it is refused.
    pub fn refuse(&self, stream: Stream, frame: Bytes, close: Close) {
        let purpose = Purpose::Refuse(frame, close);
        self.connect(NewConnection { stream, read_ahead: Vec::new(), purpose });
    }

    fn connect(&self, connection: NewConnection) {
        let load = |shard: &usize| self.shared.sockets[*shard].load(Ordering::Relaxed);
        let is_open = |shard: &usize| !self.shared.mailboxes[*shard].is_closed();
        let all = 0..self.shared.mailboxes.len();
        let Some(emptiest) = all.filter(is_open).min_by_key(load) else { return };
        self.shared.sockets[emptiest].fetch_add(1, Ordering::Relaxed);
        self.shared.mailboxes[emptiest].push([ShardMessage::Connect(Box::new(connection))]);
    }

    /// Closes every connection of this key.
    pub fn close(&self, key: u64, close: Close) {
        self.shared
            .mailboxes
            .iter()
            .for_each(|mailbox| mailbox.push([ShardMessage::CloseKey(key, close)]));
    }

    /// Gives every connection of this key another permission and another expiry. Each gets one frame about
    /// what has changed for it, if anything has.
    pub fn permit(&self, key: u64, permission: &Permission, expiry: Option<Expiry>) {
        let permit = || ShardMessage::Permit(key, permission.clone(), expiry);
        self.shared.mailboxes.iter().for_each(|mailbox| mailbox.push([permit()]));
    }

    /// Closes every connection. New ones are closed too, until [`Self::end_drain`].
    pub fn drain(&self, drain: Drain) {
        self.shared.mailboxes.iter().for_each(|mailbox| mailbox.push([ShardMessage::Drain(drain)]));
    }

    /// Serves new connections again.
    pub fn end_drain(&self) {
        self.shared.mailboxes.iter().for_each(|mailbox| mailbox.push([ShardMessage::EndDrain]));
    }

    /// The number of shards.
    #[must_use]
    pub fn shards(&self) -> usize {
        self.shared.mailboxes.len()
    }

    /// Sends one shard a message that is not limited by its mailbox.
    pub(crate) fn send(&self, shard: usize, message: ShardMessage) {
        self.shared.mailboxes[shard].push([message]);
    }

    pub(crate) fn inspection_permit(&self) -> Result<OwnedSemaphorePermit, TooManyInspections> {
        Arc::clone(&self.shared.inspections).try_acquire_owned().map_err(|_| TooManyInspections)
    }

    /// The number of connections.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.shared.sockets.iter().map(|sockets| sockets.load(Ordering::Relaxed)).sum()
    }

    /// Waits until all sockets are gone, up to this time.
    pub async fn wait_until_empty(&self, patience: Duration) {
        let gone = async {
            while self.sockets() > 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(patience, gone).await.is_err() {
            tracing::info!(sockets = self.sockets(), "sockets were dropped at the deadline");
        }
    }

    /// Whether any channel has ever been followed.
    #[must_use]
    pub fn was_followed(&self) -> bool {
        self.shared.followed.load(Ordering::Relaxed)
    }

    /// Says since when the host cannot know anything new, such as while its log takes no records: then
    /// clients get a `stale` frame at once, and others in place of beats. `None`: that is over.
    pub fn set_stale(&self, since: Option<Micros>) {
        self.shared.mailboxes.iter().for_each(|mailbox| mailbox.push([ShardMessage::Stale(since)]));
    }

    /// Ends the shards' threads after their last connection has ended, which takes a few seconds at most
    /// after a drain. Blocks.
    pub fn stop(&self) {
        self.shared.mailboxes.iter().for_each(|mailbox| mailbox.push([ShardMessage::Stop]));
        let threads = mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A panic is reported where the thread was started.
            thread.join().ok();
        }
    }
}

/// Held by a shard's thread. However the thread ends, nothing waits for it afterwards.
struct ExitGuard {
    shared: Arc<Shared>,
    shard: usize,
}

impl Drop for ExitGuard {
    fn drop(&mut self) {
        self.shared.mailboxes[self.shard].close();
        self.shared.sockets[self.shard].store(0, Ordering::Relaxed);
        self.shared.notify_progress(self.shard, false);
    }
}

#[cfg(test)]
mod tests;
