//! What reaches a shard from outside: one bounded queue, taken whole at each turn.

use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::Notify;

use crate::{
    catch_up::{Answer, Asker},
    channel::{Channel, Publication, Rate},
    close::Close,
    connection::Arrival,
};

#[derive(Debug)]
pub(crate) enum Item {
    Publish(Rate, Arc<Publication>),
    /// A channel has come to be; the publication is its image at sequence 0.
    Opened(Arc<Publication>),
    Closed(Channel),
    Answer(Asker, Answer),
    Connect(Box<Arrival>),
    /// Every connection that came with this key is to be closed.
    End(u64, Close),
    /// Every connection is to be closed, each with its own delay within the window.
    Drain {
        window_ms: u32,
    },
    Stop,
}

/// A shard's mailbox. Its limit counts publications: answers and arrivals are bounded by the number
/// of sockets, and are never dropped.
#[derive(Debug)]
pub(crate) struct Mailbox {
    queue: Mutex<Queue>,
    arrived: Notify,
    taken: Notify,
    waiting: AtomicUsize,
    publications_max: usize,
}

#[derive(Debug, Default)]
struct Queue {
    items: Vec<Item>,
    publications: usize,
    overflowed: bool,
}

/// What a shard takes at a turn.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) items: Vec<Item>,
    /// Publications were dropped: everybody has to be brought forward by the host.
    pub(crate) overflowed: bool,
}

impl Mailbox {
    pub(crate) fn new(publications_max: usize) -> Self {
        Self {
            queue: Mutex::default(),
            arrived: Notify::new(),
            taken: Notify::new(),
            waiting: AtomicUsize::new(0),
            publications_max,
        }
    }

    /// Puts items into the queue in one piece. Never waits: when there is no room for publications
    /// they are dropped, and the shard is told to catch up from the host instead.
    pub(crate) fn push(&self, items: impl IntoIterator<Item = Item>) {
        let mut queue = self.lock();
        for item in items {
            match item {
                Item::Publish(..) if queue.publications >= self.publications_max => {
                    queue.overflowed = true;
                }
                Item::Publish(..) => {
                    queue.publications += 1;
                    queue.items.push(item);
                }
                _ => queue.items.push(item),
            }
        }
        self.waiting.store(queue.publications, Ordering::Relaxed);
        drop(queue);
        self.arrived.notify_one();
    }

    /// Waits until there is something, then takes it all.
    pub(crate) async fn take(&self) -> Turn {
        loop {
            {
                let mut queue = self.lock();
                if !queue.items.is_empty() || queue.overflowed {
                    let queue = mem::take(&mut *queue);
                    self.waiting.store(0, Ordering::Relaxed);
                    self.taken.notify_waiters();
                    return Turn { items: queue.items, overflowed: queue.overflowed };
                }
            }
            self.arrived.notified().await;
        }
    }

    /// Waits until at most half of the queue is in use.
    pub(crate) async fn room(&self) {
        loop {
            let taken = self.taken.notified();
            if self.waiting.load(Ordering::Relaxed) <= self.publications_max / 2 {
                return;
            }
            taken.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing that runs under the lock can panic half way, so a poisoned queue is still whole.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
