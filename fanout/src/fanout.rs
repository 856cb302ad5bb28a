//! The handle that the host holds: starts the shards, hands them work, stops them.

use std::{
    mem,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread,
};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::{
    Micros, Seq,
    catch_up::{HostResponse, Requester, Host},
    channel::{Channel, Publication, Rate},
    close::Close,
    connection::{Arrival, Purpose},
    encode::binary_frame,
    inbound::MessageLimits,
    mailbox::Mailbox,
    permission::Permission,
    shard::{self, Item, Shard, bare_channel},
    socket::{SocketOptions, Stream},
};

pub use crate::{
    connection::{Guard, Owner},
    session::Dialect,
};

/// What the fan-out may use, and how long it waits.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Threads that serve sockets.
    pub shards: usize,
    /// Bytes that may wait for one connection before it is brought forward from the tail instead, with
    /// [`FRAME_BYTES`](crate::outbox::FRAME_BYTES) for each frame.
    pub outbox_bytes: usize,
    /// Milliseconds for which they may have waited when more comes.
    pub outbox_age_ms: u32,
    /// Bytes written to one connection at a turn, for fairness to the others.
    pub write_bytes_max: usize,
    /// Channels that one connection may follow.
    pub channels_max: usize,
    /// Patterns that one connection may follow.
    pub patterns_max: usize,
    /// Bytes of one command, the heads of its fragments after the first included.
    pub command_bytes_max: usize,
    /// Fragments of one command.
    pub command_fragments_max: u32,
    /// Bytes of a `subscribe` to a pattern that carries positions.
    pub from_bytes_max: usize,
    /// Answers of the host that the connections of one key may use up at once in each shard, and that
    /// they get back in a second: then commands of that key wait.
    pub catch_up_burst: u32,
    pub catch_ups_per_second: u32,
    /// Publications that may wait for one shard.
    pub mailbox_max: usize,
    /// Milliseconds between two beats.
    pub beat_ms: u32,
    /// Milliseconds without a byte from the client after which it is closed; half of it brings a
    /// ping. 0: never.
    pub idle_ms: u32,
    /// Milliseconds for which a socket may take nothing of what waits for it.
    pub stall_ms: u32,
    /// How sockets are set up.
    pub sockets: SocketOptions,
}

/// See [`Limits::debt_us_max`].
const DEBT_US_MAX: Micros = 5_000_000;

impl Limits {
    /// The limits of a message in this dialect. Of the stream protocol, the command may be one that
    /// carries positions, which shows once it is there.
    pub(crate) fn command_limits(&self, dialect: Dialect) -> MessageLimits {
        MessageLimits {
            bytes_max: match dialect {
                Dialect::Stream => self.from_bytes_max.max(self.command_bytes_max),
                Dialect::Live(_) | Dialect::Bare => self.command_bytes_max,
            },
            fragments_max: self.command_fragments_max,
        }
    }

    pub(crate) fn outbox_age_us(&self) -> Micros {
        Micros::from(self.outbox_age_ms) * 1000
    }

    /// How often each connection is looked at: for its beat, and often enough to see it idle.
    pub(crate) fn round_us(&self) -> Micros {
        let beat = Micros::from(self.beat_ms) * 1000;
        if self.idle_ms == 0 { beat.max(1) } else { beat.min(self.idle_us() / 4).max(1) }
    }

    pub(crate) fn idle_us(&self) -> Micros {
        Micros::from(self.idle_ms) * 1000
    }

    /// The longest that the commands of a key in debt wait. Meanwhile its sockets are not read, and must
    /// not seem idle for it.
    pub(crate) fn debt_us_max(&self) -> Micros {
        let idle_us = if self.idle_ms == 0 { Micros::MAX } else { self.idle_us() };
        DEBT_US_MAX.min(idle_us / 4)
    }

    pub(crate) fn stall_us(&self) -> Micros {
        Micros::from(self.stall_ms) * 1000
    }
}

/// The running shards. Cheap to clone; all clones are the same fan-out.
#[derive(Debug, Clone)]
pub struct Fanout {
    shared: Arc<Shared>,
    threads: Arc<Mutex<Vec<thread::JoinHandle<()>>>>,
}

pub(crate) struct Shared {
    pub(crate) limits: Limits,
    /// What `hello` calls the server: name and version.
    pub(crate) server: String,
    pub(crate) host: Box<dyn Host>,
    pub(crate) mailboxes: Vec<Mailbox<Item, mio::Waker>>,
    /// Told when a shard has served what was in its mailbox.
    relieved: Notify,
    /// Shards on which readers of bare channels have much waiting.
    crowded: Vec<AtomicBool>,
    /// Messages on bare channels so far.
    bare: AtomicU64,
    /// Connections of each shard.
    pub(crate) sockets: Vec<AtomicUsize>,
    /// Somebody has followed something.
    pub(crate) followed: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Shared {
    /// A shard has served what was in its mailbox. `is_crowded`: bare channels should get no more for
    /// now.
    pub(crate) fn served(&self, shard: usize, is_crowded: bool) {
        self.crowded[shard].store(is_crowded, Ordering::Release);
        self.relieved.notify_waiters();
    }

    async fn until(&self, holds: impl Fn(&Self) -> bool) {
        loop {
            let mut relieved = pin!(self.relieved.notified());
            // From here on no word of relief is missed.
            relieved.as_mut().enable();
            if holds(self) {
                return;
            }
            relieved.await;
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

/// What happened to channels, in the order in which readers are to see it.
#[derive(Debug, Clone)]
pub enum Change {
    /// The channel has come to be; the publication renders its image at sequence 0.
    Opened(Arc<Publication>),
    /// An update for those who follow at this rate.
    Published(Rate, Arc<Publication>),
    /// The channel is gone.
    Closed(Channel),
}

impl Fanout {
    /// Starts the shards. `server` is the name that `hello` gives.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread or its event queue.
    pub fn start(
        limits: Limits,
        server: impl Into<String>,
        host: Box<dyn Host>,
    ) -> Result<Self, StartError> {
        let spawn =
            |name, run: Box<dyn FnOnce() + Send>| thread::Builder::new().name(name).spawn(run);
        Self::start_on(limits, server, host, spawn)
    }

    /// The same on threads that the host starts: `spawn` gets the name of a shard's thread and what runs
    /// on it. A shard that panics leaves its mailbox closed, so that nobody waits for it; to notice is
    /// the host's.
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
            mailboxes,
            relieved: Notify::new(),
            crowded: (0..shards).map(|_| AtomicBool::new(false)).collect(),
            bare: AtomicU64::new(0),
            sockets: (0..shards).map(|_| AtomicUsize::new(0)).collect(),
            followed: AtomicBool::new(false),
            limits,
        });
        let mut threads = Vec::new();
        for (shard, poll) in polls.into_iter().enumerate() {
            let leaving = Leaving { shared: Arc::clone(&shared), shard };
            let running = Shard::new(shard, Arc::clone(&shared), poll);
            let run = move || {
                let _leaving = leaving;
                running.run();
            };
            let thread = spawn(format!("shard-{shard}"), Box::new(run));
            threads.push(thread.map_err(|source| StartError { shard, source })?);
        }
        Ok(Self { shared, threads: Arc::new(Mutex::new(threads)) })
    }

    /// Hands changes to all shards in one piece: nobody sees a part of them. Never waits.
    pub fn publish(&self, changes: &[Change]) {
        for mailbox in &self.shared.mailboxes {
            mailbox.push(changes.iter().map(|change| match change {
                Change::Opened(image) => Item::Opened(Arc::clone(image)),
                Change::Published(rate, publication) => {
                    Item::Publish(*rate, Arc::clone(publication))
                }
                Change::Closed(channel) => Item::Closed(channel.clone()),
            }));
        }
    }

    /// Publishes messages on bare channels in one piece, each with the channel's number among those
    /// and its payload: whoever follows such a channel gets the bare payload as one binary message.
    /// Nothing is lost for a reader who takes what it gets if [`Fanout::room_raw`] was awaited before,
    /// and the piece is no larger than half of what may wait for a reader.
    pub fn publish_raw(&self, messages: impl IntoIterator<Item = (u32, Bytes)>) {
        let changes = messages.into_iter().map(|(channel, payload)| {
            let seq: Seq = self.shared.bare.fetch_add(1, Ordering::Relaxed) + 1;
            let frame = binary_frame(&payload);
            let publication = Publication::with_frame(bare_channel(channel), seq - 1, seq, frame);
            Change::Published(Rate::Each, Arc::new(publication))
        });
        self.publish(&changes.collect::<Vec<_>>());
    }

    /// Waits until all that was published has been written, and nobody who follows a bare channel has
    /// much waiting; but one who takes nothing for a while holds up nobody, and loses what its outbox
    /// has no room for.
    pub async fn room_raw(&self) {
        self.shared
            .until(|shared| {
                shared.mailboxes.iter().all(Mailbox::is_served)
                    && !shared.crowded.iter().any(|crowded| crowded.load(Ordering::Acquire))
            })
            .await;
    }

    /// Waits until no shard's mailbox is more than half full. For sources that can wait, such as a
    /// recording played as fast as it goes; a live source never does.
    pub async fn room(&self) {
        self.shared.until(|shared| !shared.mailboxes.iter().any(Mailbox::is_crowded)).await;
    }

    /// Answers a question of [`Host::submit`], with the bytes of work that it cost: who asked is charged.
    pub fn answer(&self, requester: Requester, answer: HostResponse, work: usize) {
        self.shared.mailboxes[requester.shard].push([Item::Answer(requester, answer, work)]);
    }

    /// Takes over a connection whose handshake is done. `read_ahead` is what came in behind it.
    pub fn serve(&self, stream: Stream, read_ahead: Vec<u8>, owner: Owner, dialect: Dialect) {
        self.connect(Arrival { stream, read_ahead, purpose: Purpose::Serve(owner, dialect) });
    }

    /// Takes over a connection whose handshake is done, to follow one bare channel.
    pub fn serve_raw(&self, stream: Stream, read_ahead: Vec<u8>, channel: u32) {
        self.connect(Arrival { stream, read_ahead, purpose: Purpose::Bare(channel) });
    }

    /// Takes over a connection whose handshake is done, to send each of its messages back: text and
    /// binary, up to 16 MiB.
    pub fn serve_echo(&self, stream: Stream, read_ahead: Vec<u8>) {
        self.connect(Arrival { stream, read_ahead, purpose: Purpose::Echo });
    }

    /// Takes over a connection whose handshake is done, only to tell it by a frame why it is not
    /// served.
    pub fn refuse(&self, stream: Stream, frame: Bytes, close: Close) {
        let purpose = Purpose::Refuse(frame, close);
        self.connect(Arrival { stream, read_ahead: Vec::new(), purpose });
    }

    fn connect(&self, arrival: Arrival) {
        let load = |shard: &usize| self.shared.sockets[*shard].load(Ordering::Relaxed);
        let is_open = |shard: &usize| !self.shared.mailboxes[*shard].is_closed();
        let all = 0..self.shared.mailboxes.len();
        let Some(emptiest) = all.filter(is_open).min_by_key(load) else { return };
        self.shared.sockets[emptiest].fetch_add(1, Ordering::Relaxed);
        self.shared.mailboxes[emptiest].push([Item::Connect(Box::new(arrival))]);
    }

    /// Closes every connection that came with this key.
    pub fn close(&self, key: u64, close: Close) {
        self.shared.mailboxes.iter().for_each(|mailbox| mailbox.push([Item::End(key, close)]));
    }

    /// Gives every connection that came with this key another permission, and another end. Each is told
    /// by one frame what has changed for it, if anything has.
    pub fn permit(&self, key: u64, permission: &Permission, expires: Option<Micros>) {
        let permit = || Item::Permit(key, permission.clone(), expires);
        self.shared.mailboxes.iter().for_each(|mailbox| mailbox.push([permit()]));
    }

    /// Closes every connection, each with its own delay to come back within `window_ms`.
    pub fn drain(&self, window_ms: u32) {
        self.shared.mailboxes.iter().for_each(|mailbox| mailbox.push([Item::Drain { window_ms }]));
    }

    /// Connections now.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.shared.sockets.iter().map(|sockets| sockets.load(Ordering::Relaxed)).sum()
    }

    /// Whether anybody has followed anything yet.
    #[must_use]
    pub fn was_followed(&self) -> bool {
        self.shared.followed.load(Ordering::Relaxed)
    }

    /// Ends the shards' threads once their last connection has gone, which after a drain takes a
    /// few seconds at most. Blocks.
    pub fn stop(&self) {
        self.shared.mailboxes.iter().for_each(|mailbox| mailbox.push([Item::Stop]));
        let threads = mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // Whoever started the thread hears of a panic.
            thread.join().ok();
        }
    }
}

/// Held by a shard's thread. However the thread ends, nobody waits for it afterwards.
struct Leaving {
    shared: Arc<Shared>,
    shard: usize,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.shared.mailboxes[self.shard].close();
        self.shared.sockets[self.shard].store(0, Ordering::Relaxed);
        self.shared.served(self.shard, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catch_up::ShardRequest;

    struct Nobody;

    impl Host for Nobody {
        fn submit(&self, _request: ShardRequest) {}
    }

    fn limits(shards: usize) -> Limits {
        Limits {
            shards,
            outbox_bytes: 1024,
            outbox_age_ms: 1_000,
            write_bytes_max: 1024,
            channels_max: 1,
            patterns_max: 1,
            from_bytes_max: 1024,
            catch_up_burst: 1,
            catch_ups_per_second: 1,
            command_bytes_max: 1024,
            command_fragments_max: 16,
            mailbox_max: 2,
            beat_ms: 1_000,
            idle_ms: 0,
            stall_ms: 1_000,
            sockets: SocketOptions { send_buffer_bytes: 0, unsent_bytes: 0 },
        }
    }

    /// A source that waits for room, and the stop, must not hang because one shard is dead.
    #[tokio::test]
    async fn nobody_waits_for_a_shard_that_panicked() {
        let spawn = |name: String, run: Box<dyn FnOnce() + Send>| {
            let panics = name == "shard-1";
            let run = move || {
                if panics {
                    // What it holds is dropped by the unwinding, as in a panic of the shard itself.
                    let _held = run;
                    panic!("injected");
                }
                run();
            };
            thread::Builder::new().name(name).spawn(run)
        };
        let fanout = Fanout::start_on(limits(2), "test", Box::new(Nobody), spawn);
        let fanout = fanout.expect("it starts");
        for round in 0..100_u32 {
            fanout.room().await;
            fanout.room_raw().await;
            fanout.publish_raw([(1, Bytes::from(round.to_string()))]);
        }
        assert_eq!(fanout.sockets(), 0);
        fanout.drain(0);
        tokio::task::spawn_blocking(move || fanout.stop()).await.expect("it stops");
    }
}
