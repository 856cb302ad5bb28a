//! The handle that the host holds: starts the shards, hands them work, stops them.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use tokio::task::LocalSet;

use crate::{
    Micros,
    catch_up::{Answer, Asker, Host},
    channel::{Channel, Publication, Rate},
    close::Close,
    connection::{Arrival, Purpose},
    mailbox::{Item, Mailbox},
    protocol::Refusal,
    shard,
    socket::Stream,
};

pub use crate::connection::Owner;

/// What the fan-out may use, and how long it waits.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Threads that serve sockets.
    pub shards: usize,
    /// Bytes that may wait for one connection before it is brought forward from the tail instead.
    pub outbox_bytes: usize,
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
}

impl Limits {
    pub(crate) fn beat_us(&self) -> Micros {
        Micros::from(self.beat_ms) * 1000
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
    pub(crate) mailboxes: Vec<Mailbox>,
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
        let shared = Arc::new(Shared {
            server: server.into(),
            host,
            mailboxes: (0..shards).map(|_| Mailbox::new(limits.mailbox_max)).collect(),
            sockets: (0..shards).map(|_| AtomicUsize::new(0)).collect(),
            followed: AtomicBool::new(false),
            limits,
        });
        let mut threads = Vec::new();
        for shard in 0..shards {
            let thread = start_shard(shard, &shared);
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

    /// Waits until no shard's mailbox is more than half full. For sources that can wait, such as a
    /// recording played as fast as it goes; a live source never does.
    pub async fn room(&self) {
        for mailbox in &self.shared.mailboxes {
            mailbox.room().await;
        }
    }

    /// Answers a question of [`Host::ask`].
    pub fn answer(&self, asker: Asker, answer: Answer) {
        self.shared.mailboxes[asker.shard].push([Item::Answer(asker, answer)]);
    }

    /// Takes over a connection whose handshake is done. `read_ahead` is what came in behind it.
    pub fn serve(&self, stream: Stream, read_ahead: Vec<u8>, owner: Owner) {
        self.connect(Arrival { stream, read_ahead, purpose: Purpose::Serve(owner) });
    }

    /// Takes over a connection whose handshake is done, only to tell it why it is not served.
    pub fn refuse(&self, stream: Stream, refusal: Refusal, close: Close) {
        let purpose = Purpose::Refuse(refusal, close);
        self.connect(Arrival { stream, read_ahead: Vec::new(), purpose });
    }

    fn connect(&self, arrival: Arrival) {
        let load = |shard: &usize| self.shared.sockets[*shard].load(Ordering::Relaxed);
        let emptiest = (0..self.shared.mailboxes.len()).min_by_key(load).unwrap_or(0);
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
        let threads =
            std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            if thread.join().is_err() {
                tracing::error!("a shard panicked");
            }
        }
    }
}

fn start_shard(number: usize, shared: &Arc<Shared>) -> std::io::Result<thread::JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let shared = Arc::clone(shared);
    thread::Builder::new()
        .name(format!("shard-{number}"))
        .spawn(move || runtime.block_on(LocalSet::new().run_until(shard::run(number, shared))))
}
