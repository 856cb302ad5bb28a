//! What reaches a shard from outside: one bounded queue, taken at each turn.

use std::{collections::VecDeque, mem};

use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, unpoisoned};

/// Wakes whoever takes from a mailbox.
pub(crate) trait Wake {
    fn wake(&self);
}

/// What a mailbox can hold.
pub(crate) trait Letter: Sized {
    /// Whether it counts towards the limit, and is dropped beyond it. The others are bounded by the
    /// number of sockets, and are never dropped.
    fn counts(&self) -> bool;
    /// Whether it may wait while others of its kind are dealt with: no more than so many at a turn.
    fn waits_its_turn(&self) -> bool;
    /// Says, at this place in the queue, that letters were dropped.
    fn dropped() -> Self;
    fn is_dropped(&self) -> bool;
}

/// A queue that many put letters into and one takes from.
#[derive(Debug)]
pub(crate) struct Mailbox<T, W> {
    queue: Mutex<Queue<T>>,
    /// The taker has been woken, or is about to take.
    woken: AtomicBool,
    wake: W,
    /// Letters that count and wait.
    waiting: AtomicUsize,
    /// Letters have been put in since the taker said last that it had served what it took.
    unserved: AtomicBool,
    counted_max: usize,
    /// Nobody takes any more.
    closed: AtomicBool,
}

#[derive(Debug)]
struct Queue<T> {
    letters: Vec<T>,
    in_turn: VecDeque<T>,
    counted: usize,
}

impl<T: Letter, W: Wake> Mailbox<T, W> {
    pub(crate) fn new(counted_max: usize, wake: W) -> Self {
        let queue = Queue { letters: Vec::new(), in_turn: VecDeque::new(), counted: 0 };
        Self {
            queue: Mutex::new(queue),
            woken: AtomicBool::new(false),
            wake,
            waiting: AtomicUsize::new(0),
            unserved: AtomicBool::new(false),
            counted_max,
            closed: AtomicBool::new(false),
        }
    }

    /// Puts letters into the queue in one piece. Never waits: when there is no room for letters that
    /// count, they are dropped, and a letter that says so stands in their place.
    pub(crate) fn push(&self, letters: impl IntoIterator<Item = T>) {
        let mut queue = self.lock();
        if self.is_closed() {
            return;
        }
        for letter in letters {
            if letter.waits_its_turn() {
                queue.in_turn.push_back(letter);
            } else if !letter.counts() {
                queue.letters.push(letter);
            } else if queue.counted < self.counted_max {
                queue.counted += 1;
                queue.letters.push(letter);
            } else if !queue.letters.last().is_some_and(Letter::is_dropped) {
                queue.letters.push(T::dropped());
            }
        }
        self.waiting.store(queue.counted, Ordering::Relaxed);
        self.unserved.store(true, Ordering::Release);
        drop(queue);
        if !self.woken.swap(true, Ordering::AcqRel) {
            self.wake.wake();
        }
    }

    /// Takes all letters, and up to `turns` of those that wait their turn. The taker is woken for what
    /// comes after this, but not for what it left.
    pub(crate) fn take(&self, turns: usize) -> Taken<T> {
        // Before the queue is looked at: whatever is put into it later wakes.
        self.woken.swap(false, Ordering::AcqRel);
        let mut queue = self.lock();
        let letters = mem::take(&mut queue.letters);
        let turns = turns.min(queue.in_turn.len());
        let in_turn = queue.in_turn.drain(..turns).collect();
        let more = !queue.in_turn.is_empty();
        if !more {
            queue.in_turn = VecDeque::new();
        }
        queue.counted = 0;
        self.waiting.store(0, Ordering::Relaxed);
        Taken { letters, in_turn, more }
    }

    /// Takes all that wait their turn.
    pub(crate) fn take_in_turn(&self) -> impl Iterator<Item = T> {
        mem::take(&mut self.lock().in_turn).into_iter()
    }

    /// Drops what waits and what comes from now on: the taker has gone. Nobody waits for it any more.
    pub(crate) fn close(&self) {
        let mut queue = self.lock();
        self.closed.store(true, Ordering::Release);
        let dropped = mem::take(&mut queue.letters);
        let dropped_in_turn = mem::take(&mut queue.in_turn);
        queue.counted = 0;
        self.waiting.store(0, Ordering::Relaxed);
        self.unserved.store(false, Ordering::Release);
        drop(queue);
        // Outside the lock: what they hold may do more than free memory.
        drop((dropped, dropped_in_turn));
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Whether more than half of the room for letters that count is in use.
    pub(crate) fn is_crowded(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > self.counted_max / 2
    }

    /// The taker has served what it took. Whatever has come since keeps this from being so.
    pub(crate) fn served(&self) {
        let queue = self.lock();
        if queue.letters.is_empty() {
            self.unserved.store(false, Ordering::Release);
        }
    }

    /// Whether everything that was put in has been served.
    pub(crate) fn is_served(&self) -> bool {
        !self.unserved.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        unpoisoned(self.queue.lock())
    }
}

/// What was taken at a turn.
#[derive(Debug)]
pub(crate) struct Taken<T> {
    pub(crate) letters: Vec<T>,
    pub(crate) in_turn: Vec<T>,
    /// Others still wait their turn.
    pub(crate) more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq, Clone, Copy)]
    enum Mail {
        Counted(u32),
        Other(u32),
        InTurn(u32),
        Dropped,
    }

    impl Letter for Mail {
        fn counts(&self) -> bool {
            matches!(self, Self::Counted(_))
        }

        fn waits_its_turn(&self) -> bool {
            matches!(self, Self::InTurn(_))
        }

        fn dropped() -> Self {
            Self::Dropped
        }

        fn is_dropped(&self) -> bool {
            *self == Self::Dropped
        }
    }

    #[cfg(not(feature = "loom"))]
    mod alone {
        use super::{Mail::*, *};

        struct Nobody;

        impl Wake for Nobody {
            fn wake(&self) {}
        }

        #[test]
        fn what_finds_no_room_is_told_at_its_place() {
            let mailbox = Mailbox::new(2, Nobody);
            mailbox.push([Counted(1), Other(2), Counted(3), Counted(4), Counted(5), Other(6)]);
            mailbox.push([Counted(7)]);
            assert!(mailbox.is_crowded());
            let taken = mailbox.take(0).letters;
            assert_eq!(taken, [Counted(1), Other(2), Counted(3), Dropped, Other(6), Dropped]);
            assert!(!mailbox.is_crowded());
            mailbox.push([Counted(8)]);
            assert_eq!(mailbox.take(0).letters, [Counted(8)]);
        }

        #[test]
        fn nobody_waits_for_a_taker_that_has_gone() {
            let mailbox = Mailbox::new(2, Nobody);
            mailbox.push([Counted(1), Counted(2), InTurn(3)]);
            assert!(mailbox.is_crowded() && !mailbox.is_served());
            mailbox.close();
            mailbox.push([Counted(4), Other(5), InTurn(6)]);
            assert!(!mailbox.is_crowded() && mailbox.is_served());
            assert_eq!(mailbox.take(8).letters, []);
        }

        #[test]
        fn panic_under_the_lock_keeps_nobody_out() {
            let mailbox = Mailbox::new(2, Nobody);
            let panics = std::panic::AssertUnwindSafe(|| {
                mailbox.push(std::iter::from_fn(|| -> Option<Mail> { panic!("while it is held") }));
            });
            assert!(std::panic::catch_unwind(panics).is_err());
            mailbox.push([Counted(1)]);
            assert_eq!(mailbox.take(0).letters, [Counted(1)]);
        }

        #[test]
        fn turns_are_shared_out() {
            let mailbox = Mailbox::new(2, Nobody);
            mailbox.push([InTurn(1), Other(2), InTurn(3), InTurn(4)]);
            let Taken { letters, in_turn, more } = mailbox.take(2);
            assert_eq!(
                (letters, in_turn, more),
                (vec![Other(2)], vec![InTurn(1), InTurn(3)], true)
            );
            let Taken { in_turn, more, .. } = mailbox.take(2);
            assert_eq!((in_turn, more), (vec![InTurn(4)], false));
        }
    }

    /// Every interleaving of two who put letters in and one who sleeps until it is woken:
    /// `cargo test -p matchwire-fanout --features loom mailbox`.
    #[cfg(feature = "loom")]
    mod interleaved {
        use loom::{
            sync::{Arc, Condvar},
            thread,
        };

        use super::{Mail::*, *};

        /// Sleeps and wakes as an event queue does: what is told before is not forgotten.
        #[derive(Clone)]
        struct Bell(Arc<(Mutex<bool>, Condvar)>);

        impl Wake for Bell {
            fn wake(&self) {
                *unpoisoned(self.0.0.lock()) = true;
                self.0.1.notify_one();
            }
        }

        impl Bell {
            fn wait(&self) {
                let mut told = unpoisoned(self.0.0.lock());
                while !*told {
                    told = unpoisoned(self.0.1.wait(told));
                }
                *told = false;
            }
        }

        /// Nobody sleeps for ever over a letter, and where one found no room that is told.
        #[test]
        fn no_letter_is_slept_over() {
            let mut model = loom::model::Builder::new();
            // Beyond three switches in the midst of something there are only more of the same.
            model.preemption_bound = Some(3);
            model.check(|| {
                let bell = Bell(Arc::new((Mutex::new(false), Condvar::new())));
                let mailbox = Arc::new(Mailbox::new(1, bell.clone()));
                let senders = [1, 2].map(|number| {
                    let mailbox = Arc::clone(&mailbox);
                    thread::spawn(move || {
                        mailbox.push([Counted(number), Other(number)]);
                    })
                });
                let (mut counted, mut others, mut dropped) = (Vec::new(), 0, false);
                // The letters that are never dropped say when all has come.
                while others < 2 {
                    bell.wait();
                    for letter in mailbox.take(0).letters {
                        match letter {
                            Counted(number) => counted.push(number),
                            Other(_) => others += 1,
                            Dropped => dropped = true,
                            InTurn(_) => unreachable!("nobody sends one"),
                        }
                    }
                }
                assert_eq!(dropped, counted.len() < 2, "{counted:?}");
                senders.map(|sender| sender.join().expect("a sender does not panic"));
            });
        }
    }
}
