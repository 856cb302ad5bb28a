//! The bounded queue through which a shard gets messages from other threads.

use std::{collections::VecDeque, mem};

use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, unpoisoned};

/// Wakes the receiver of a mailbox.
pub(crate) trait Wake {
    fn wake(&self);
}

/// A message in a mailbox.
pub(crate) trait MailboxMessage: Sized {
    /// Whether it counts towards the limit and is dropped beyond it. Other messages are bounded by the
    /// number of sockets and are never dropped.
    fn is_limited(&self) -> bool;
    /// Whether it may be left for a later turn. The receiver limits how many of these it takes at a time.
    fn is_deferrable(&self) -> bool;
    /// Marks the place in the queue at which messages were dropped.
    fn overflow() -> Self;
    fn is_overflow(&self) -> bool;
}

/// A queue with many senders and one receiver.
#[derive(Debug)]
pub(crate) struct Mailbox<T, W> {
    queue: Mutex<Queue<T>>,
    /// The receiver has been woken or is about to take.
    woken: AtomicBool,
    wake: W,
    /// Limited messages in the queue.
    waiting: AtomicUsize,
    /// Messages have been pushed since the receiver last reported that it had processed everything.
    unprocessed: AtomicBool,
    limited_max: usize,
    /// The receiver has gone.
    closed: AtomicBool,
}

#[derive(Debug)]
struct Queue<T> {
    messages: Vec<T>,
    deferrable: VecDeque<T>,
    limited: usize,
}

impl<T: MailboxMessage, W: Wake> Mailbox<T, W> {
    pub(crate) fn new(limited_max: usize, wake: W) -> Self {
        let queue = Queue { messages: Vec::new(), deferrable: VecDeque::new(), limited: 0 };
        Self {
            queue: Mutex::new(queue),
            woken: AtomicBool::new(false),
            wake,
            waiting: AtomicUsize::new(0),
            unprocessed: AtomicBool::new(false),
            limited_max,
            closed: AtomicBool::new(false),
        }
    }

    /// Adds messages to the queue atomically. Never blocks: without room, limited messages are dropped and
    /// replaced by one overflow message.
    pub(crate) fn push(&self, messages: impl IntoIterator<Item = T>) {
        let mut queue = self.lock();
        if self.is_closed() {
            return;
        }
        for message in messages {
            if message.is_deferrable() {
                queue.deferrable.push_back(message);
            } else if !message.is_limited() {
                queue.messages.push(message);
            } else if queue.limited < self.limited_max {
                queue.limited += 1;
                queue.messages.push(message);
            } else if !queue.messages.last().is_some_and(MailboxMessage::is_overflow) {
                queue.messages.push(T::overflow());
            }
        }
        self.waiting.store(queue.limited, Ordering::Relaxed);
        self.unprocessed.store(true, Ordering::Release);
        drop(queue);
        if !self.woken.swap(true, Ordering::AcqRel) {
            self.wake.wake();
        }
    }

    /// Takes all messages, and up to `deferrable_max` of the deferrable ones. The receiver is woken for
    /// messages that are pushed after this, but not for those that it left.
    pub(crate) fn take(&self, deferrable_max: usize) -> MessageBatch<T> {
        // Before the queue is read, so that every later push wakes the receiver.
        self.woken.swap(false, Ordering::AcqRel);
        let mut queue = self.lock();
        let messages = mem::take(&mut queue.messages);
        let count = deferrable_max.min(queue.deferrable.len());
        let deferrable = queue.deferrable.drain(..count).collect();
        let more = !queue.deferrable.is_empty();
        if !more {
            queue.deferrable = VecDeque::new();
        }
        queue.limited = 0;
        self.waiting.store(0, Ordering::Relaxed);
        MessageBatch { messages, deferrable, more }
    }

    /// Takes all deferrable messages.
    pub(crate) fn take_deferrable(&self) -> impl Iterator<Item = T> {
        mem::take(&mut self.lock().deferrable).into_iter()
    }

    /// Drops all messages, now and in the future, because the receiver has gone. Senders no longer wait
    /// for it.
    pub(crate) fn close(&self) {
        let mut queue = self.lock();
        self.closed.store(true, Ordering::Release);
        let dropped = mem::take(&mut queue.messages);
        let dropped_deferrable = mem::take(&mut queue.deferrable);
        queue.limited = 0;
        self.waiting.store(0, Ordering::Relaxed);
        self.unprocessed.store(false, Ordering::Release);
        drop(queue);
        // Outside the lock: dropping messages may do more than free memory.
        drop((dropped, dropped_deferrable));
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Whether more than half of the room for limited messages is in use.
    pub(crate) fn is_crowded(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > self.limited_max / 2
    }

    /// Records that the receiver has processed what it took. No effect if messages have been pushed since.
    pub(crate) fn mark_processed(&self) {
        let queue = self.lock();
        if queue.messages.is_empty() {
            self.unprocessed.store(false, Ordering::Release);
        }
    }

    /// Whether everything that was pushed has been processed.
    pub(crate) fn is_processed(&self) -> bool {
        !self.unprocessed.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        unpoisoned(self.queue.lock())
    }
}

/// The messages of one turn.
#[derive(Debug)]
pub(crate) struct MessageBatch<T> {
    pub(crate) messages: Vec<T>,
    pub(crate) deferrable: Vec<T>,
    /// Deferrable messages are left in the queue.
    pub(crate) more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq, Clone, Copy)]
    enum TestMessage {
        Limited(u32),
        Other(u32),
        Deferrable(u32),
        Overflow,
    }

    impl MailboxMessage for TestMessage {
        fn is_limited(&self) -> bool {
            matches!(self, Self::Limited(_))
        }

        fn is_deferrable(&self) -> bool {
            matches!(self, Self::Deferrable(_))
        }

        fn overflow() -> Self {
            Self::Overflow
        }

        fn is_overflow(&self) -> bool {
            *self == Self::Overflow
        }
    }

    #[cfg(not(feature = "loom"))]
    mod alone {
        use super::{TestMessage::*, *};

        struct NoReceiver;

        impl Wake for NoReceiver {
            fn wake(&self) {}
        }

        #[test]
        fn overflow_is_marked_where_messages_were_dropped() {
            let mailbox = Mailbox::new(2, NoReceiver);
            mailbox.push([Limited(1), Other(2), Limited(3), Limited(4), Limited(5), Other(6)]);
            mailbox.push([Limited(7)]);
            assert!(mailbox.is_crowded());
            let messages = mailbox.take(0).messages;
            assert_eq!(messages, [Limited(1), Other(2), Limited(3), Overflow, Other(6), Overflow]);
            assert!(!mailbox.is_crowded());
            mailbox.push([Limited(8)]);
            assert_eq!(mailbox.take(0).messages, [Limited(8)]);
        }

        #[test]
        fn closed_mailbox_does_not_block_senders() {
            let mailbox = Mailbox::new(2, NoReceiver);
            mailbox.push([Limited(1), Limited(2), Deferrable(3)]);
            assert!(mailbox.is_crowded() && !mailbox.is_processed());
            mailbox.close();
            mailbox.push([Limited(4), Other(5), Deferrable(6)]);
            assert!(!mailbox.is_crowded() && mailbox.is_processed());
            assert_eq!(mailbox.take(8).messages, []);
        }

        #[test]
        fn panic_under_the_lock_does_not_poison_the_mailbox() {
            let mailbox = Mailbox::new(2, NoReceiver);
            let panics = std::panic::AssertUnwindSafe(|| {
                mailbox.push(std::iter::from_fn(|| -> Option<TestMessage> {
                    panic!("under the lock")
                }));
            });
            assert!(std::panic::catch_unwind(panics).is_err());
            mailbox.push([Limited(1)]);
            assert_eq!(mailbox.take(0).messages, [Limited(1)]);
        }

        #[test]
        fn deferrable_messages_are_limited_each_turn() {
            let mailbox = Mailbox::new(2, NoReceiver);
            mailbox.push([Deferrable(1), Other(2), Deferrable(3), Deferrable(4)]);
            let MessageBatch { messages, deferrable, more } = mailbox.take(2);
            assert_eq!(
                (messages, deferrable, more),
                (vec![Other(2)], vec![Deferrable(1), Deferrable(3)], true)
            );
            let MessageBatch { deferrable, more, .. } = mailbox.take(2);
            assert_eq!((deferrable, more), (vec![Deferrable(4)], false));
        }
    }

    /// Every interleaving of two senders and one receiver that sleeps until it is woken:
    /// `cargo test -p matchwire-fanout --features loom mailbox`.
    #[cfg(feature = "loom")]
    mod interleaved {
        use loom::{
            sync::{Arc, Condvar},
            thread,
        };

        use super::{TestMessage::*, *};

        /// Sleeps and wakes like an event queue: a wake-up before the wait is not lost.
        #[derive(Clone)]
        struct Waker(Arc<(Mutex<bool>, Condvar)>);

        impl Wake for Waker {
            fn wake(&self) {
                *unpoisoned(self.0.0.lock()) = true;
                self.0.1.notify_one();
            }
        }

        impl Waker {
            fn wait(&self) {
                let mut woken = unpoisoned(self.0.0.lock());
                while !*woken {
                    woken = unpoisoned(self.0.1.wait(woken));
                }
                *woken = false;
            }
        }

        /// The receiver never sleeps while there are messages, and dropped messages are marked.
        #[test]
        fn no_wake_up_is_lost() {
            let mut model = loom::model::Builder::new();
            // More than three preemptions bring no new kinds of interleaving.
            model.preemption_bound = Some(3);
            model.check(|| {
                let waker = Waker(Arc::new((Mutex::new(false), Condvar::new())));
                let mailbox = Arc::new(Mailbox::new(1, waker.clone()));
                let senders = [1, 2].map(|number| {
                    let mailbox = Arc::clone(&mailbox);
                    thread::spawn(move || {
                        mailbox.push([Limited(number), Other(number)]);
                    })
                });
                let (mut limited, mut others, mut overflow) = (Vec::new(), 0, false);
                // The messages that are never dropped show when everything has arrived.
                while others < 2 {
                    waker.wait();
                    for message in mailbox.take(0).messages {
                        match message {
                            Limited(number) => limited.push(number),
                            Other(_) => others += 1,
                            Overflow => overflow = true,
                            Deferrable(_) => unreachable!("no sender pushes one"),
                        }
                    }
                }
                assert_eq!(overflow, limited.len() < 2, "{limited:?}");
                senders.map(|sender| sender.join().expect("a sender does not panic"));
            });
        }
    }
}
