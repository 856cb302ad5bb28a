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
use mio::Poll;
use tokio::sync::Notify;

use crate::{
    Micros, Seq,
    catch_up::{Answer, Asker, Host},
    channel::{Channel, Publication, Rate},
    close::Close,
    connection::{Arrival, Purpose},
    encode::binary_frame,
    mailbox::Mailbox,
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
    /// Bytes that may wait for one connection before it is brought forward from the tail instead.
    pub outbox_bytes: usize,
    /// Milliseconds for which they may have waited when more comes.
    pub outbox_age_ms: u32,
    /// Bytes written to one connection at a turn, for fairness to the others.
    pub write_bytes_max: usize,
    /// Channels that one connection may follow.
    pub channels_max: usize,
    /// Bytes of one command.
    pub command_bytes_max: usize,
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

impl Limits {
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
            let thread = start_shard(shard, &shared, poll);
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
    /// and the piece is no larger than what is written at a time.
    pub fn publish_raw(&self, messages: impl IntoIterator<Item = (u32, Bytes)>) {
        let changes = messages.into_iter().map(|(channel, payload)| {
            let seq: Seq = self.shared.bare.fetch_add(1, Ordering::Relaxed) + 1;
            let frame = binary_frame(&payload);
            let publication = Publication::rendered(bare_channel(channel), seq - 1, seq, frame);
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

    /// Answers a question of [`Host::ask`].
    pub fn answer(&self, asker: Asker, answer: Answer) {
        self.shared.mailboxes[asker.shard].push([Item::Answer(asker, answer)]);
    }

    /// Takes over a connection whose handshake is done. `read_ahead` is what came in behind it.
    pub fn serve(&self, stream: Stream, read_ahead: Vec<u8>, owner: Owner, dialect: Dialect) {
        self.connect(Arrival { stream, read_ahead, purpose: Purpose::Serve(owner, dialect) });
    }

    /// Takes over a connection whose handshake is done, to follow one bare channel.
    pub fn serve_raw(&self, stream: Stream, read_ahead: Vec<u8>, channel: u32) {
        self.connect(Arrival { stream, read_ahead, purpose: Purpose::Bare(channel) });
    }

    /// Takes over a connection whose handshake is done, only to tell it by a frame why it is not
    /// served.
    pub fn refuse(&self, stream: Stream, frame: Bytes, close: Close) {
        let purpose = Purpose::Refuse(frame, close);
        self.connect(Arrival { stream, read_ahead: Vec::new(), purpose });
    }

    fn connect(&self, arrival: Arrival) {
        let load = |shard: &usize| self.shared.sockets[*shard].load(Ordering::Relaxed);
        let emptiest = (0..self.shared.mailboxes.len()).min_by_key(load).unwrap_or(0);
        self.shared.sockets[emptiest].fetch_add(1, Ordering::Relaxed);
        self.shared.mailboxes[emptiest].push([Item::Connect(Box::new(arrival))]);
    }

    /// Closes every connection that came with this key.
    pub fn close(&self, key: u64, close: Close) {
        self.shared.mailboxes.iter().for_each(|mailbox| mailbox.push([Item::End(key, close)]));
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
            if thread.join().is_err() {
                tracing::error!("a shard panicked");
            }
        }
    }
}

fn start_shard(
    number: usize,
    shared: &Arc<Shared>,
    poll: Poll,
) -> std::io::Result<thread::JoinHandle<()>> {
    let shard = Shard::new(number, Arc::clone(shared), poll);
    thread::Builder::new().name(format!("shard-{number}")).spawn(move || shard.run())
}
