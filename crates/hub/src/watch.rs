//! Notices changes of single channels, for readers within the process that do not follow them: requests
//! that wait for a change, and notifications.
//!
//! A watch holds only the head of its channel, so it costs the same however much changes, and a reader that
//! is late sees the latest head. What has changed is in the tail ([`Request::CatchUp`]).
//!
//! [`Request::CatchUp`]: crate::pipeline::Request::CatchUp

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use fanout::{Change, Epoch, Seq, channel::Rate};
use tokio::sync::watch;

/// The watched channels; clones share them.
#[derive(Debug, Clone, Default)]
pub struct ChannelWatches {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The number of entries in `channels`: the writer looks no further while nothing is watched.
    watched: AtomicUsize,
    channels: Mutex<HashMap<Arc<str>, Watched>>,
}

#[derive(Debug)]
struct Watched {
    head: watch::Sender<Option<Head>>,
    watches: usize,
}

/// The head of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub epoch: Epoch,
    pub seq: Seq,
    /// The last change with events, by which the document became suspended, or which is the end of what it is
    /// about; 0 if there was none since the watch began.
    pub last_event: Seq,
    /// Whether the channel has ended.
    pub is_closed: bool,
}

/// Watches one channel, whether it exists yet or not, until it is dropped.
#[derive(Debug)]
pub struct ChannelWatch {
    shared: Arc<Shared>,
    channel: Arc<str>,
    head: watch::Receiver<Option<Head>>,
}

impl Shared {
    fn channels(&self) -> MutexGuard<'_, HashMap<Arc<str>, Watched>> {
        // A watch is complete or absent at every panic.
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChannelWatches {
    /// Watches a channel from now on.
    #[must_use]
    pub fn watch(&self, channel: &str) -> ChannelWatch {
        let mut channels = self.shared.channels();
        let channel: Arc<str> = channel.into();
        let watched = channels.entry(Arc::clone(&channel)).or_insert_with(|| {
            self.shared.watched.fetch_add(1, Ordering::Relaxed);
            Watched { head: watch::Sender::new(None), watches: 0 }
        });
        watched.watches += 1;
        let head = watched.head.subscribe();
        ChannelWatch { shared: Arc::clone(&self.shared), channel, head }
    }

    /// The number of watched channels.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.watched.load(Ordering::Relaxed)
    }

    /// Whether nothing is watched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes note of published changes, on the writer's thread.
    pub(crate) fn notify(&self, changes: &[Change]) {
        if self.is_empty() {
            return;
        }
        let channels = self.shared.channels();
        for change in changes {
            let channel = match change {
                Change::Opened(publication) | Change::Published(Rate::Each, publication) => {
                    &publication.channel
                }
                Change::Closed(channel) => channel,
                Change::Published(..) => continue,
            };
            if let Some(watched) = channels.get(channel.name.as_str()) {
                watched
                    .head
                    .send_modify(|head| *head = Some(advanced(*head, change, channel.epoch)));
            }
        }
    }
}

/// The head after a change.
fn advanced(head: Option<Head>, change: &Change, epoch: Epoch) -> Head {
    let head = head.filter(|head| head.epoch == epoch);
    let head = head.unwrap_or(Head { epoch, seq: 0, last_event: 0, is_closed: false });
    match change {
        Change::Opened(publication) | Change::Published(_, publication) => {
            let is_event = publication.has_events || publication.urgent;
            let last_event = if is_event { publication.seq } else { head.last_event };
            Head { seq: publication.seq, last_event, ..head }
        }
        Change::Closed(_) => Head { is_closed: true, ..head },
    }
}

impl ChannelWatch {
    /// Waits for a change that this watch has not returned yet. Returns the head after the latest one.
    pub async fn changed(&mut self) -> Head {
        loop {
            // The sender is in the map as long as this watch exists.
            if self.head.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            if let Some(head) = *self.head.borrow_and_update() {
                return head;
            }
        }
    }
}

impl Drop for ChannelWatch {
    fn drop(&mut self) {
        if let Entry::Occupied(mut watched) =
            self.shared.channels().entry(Arc::clone(&self.channel))
        {
            watched.get_mut().watches -= 1;
            if watched.get().watches == 0 {
                watched.remove();
                self.shared.watched.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use fanout::{
        Classes, Publication,
        channel::{Channel, ChannelId, ChannelInfo},
    };

    use super::*;

    fn change(name: &str, seq: Seq, has_events: bool) -> Change {
        let channel = Channel::from(ChannelInfo {
            number: 1,
            name: ChannelId::new(name),
            epoch: Epoch(7),
            deliver_last: false,
            needs: Classes::NONE,
        });
        let publication = Publication::with_frame(channel, seq - 1, seq, Bytes::new());
        Change::Published(Rate::Each, Arc::new(publication.with_events(has_events)))
    }

    #[tokio::test]
    async fn watch_returns_the_latest_head_and_the_last_event() {
        let watches = ChannelWatches::default();
        let mut watch = watches.watch("football/1");
        watches.notify(&[
            change("football/1", 4, true),
            change("football/2", 9, true),
            change("football/1", 5, false),
        ]);
        let head = watch.changed().await;
        assert_eq!((head.seq, head.last_event, head.is_closed), (5, 4, false));
    }

    #[test]
    fn nothing_is_kept_after_the_last_watch() {
        let watches = ChannelWatches::default();
        let [one, other] = [watches.watch("football/1"), watches.watch("football/1")];
        drop(one);
        assert_eq!(watches.len(), 1);
        drop(other);
        assert!(watches.is_empty());
        assert!(watches.shared.channels().is_empty());
    }
}
