//! Plays recorded and simulated sources into the pipeline, each on its own thread: in real time, at
//! a multiple of it, or without pauses.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel},
    },
    thread,
    time::Duration,
};

use facts::event::Timed;
use fanout::{Fanout, Micros};
use ingest::recording::Step;
use tokio::runtime::Handle;

use crate::{
    clock::now,
    hub::{
        HubInput,
        feeds::{FeedState, Health, SourceNumber},
    },
    pipeline::{Input, InputSender},
    sources::Speed,
    supervisor::{self, Lifetime, fault},
};

/// The playback of one source.
#[derive(Debug)]
pub struct Playback {
    pub source: SourceNumber,
    pub inputs: InputSender,
    pub fanout: Fanout,
    pub runtime: Handle,
    pub pace: PlaybackPace,
    /// Interruptions; it closes when playback should stop.
    pub orders: PlaybackOrders,
}

/// The side of a playback that keeps it running: it stops when this is dropped.
#[derive(Debug)]
pub struct PlaybackHandle {
    orders: Arc<SyncSender<Interruption>>,
    is_interrupted: Arc<AtomicBool>,
}

/// The side of a playback that it listens to.
#[derive(Debug)]
pub struct PlaybackOrders {
    orders: Receiver<Interruption>,
    is_interrupted: Arc<AtomicBool>,
}

/// Interrupts a playback from elsewhere; does not keep it running.
#[derive(Debug, Clone)]
pub struct PlaybackControl {
    orders: Weak<SyncSender<Interruption>>,
    is_interrupted: Arc<AtomicBool>,
}

/// A fault of a source, played on request so that people see what a hub makes of it. It ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interruption {
    pub kind: InterruptionKind,
    /// At most [`Interruption::LENGTH_MAX`]; a longer one is shortened to it.
    pub length: Duration,
}

/// The kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptionKind {
    /// The source stays connected and sends nothing: after two seconds it is late.
    Stall,
    /// The connection breaks: the source is down at once, then recovering, then complete again.
    Kill,
}

/// Why a playback was not interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InterruptError {
    #[error("the source is interrupted already")]
    Busy,
    #[error("the source has ended")]
    Ended,
}

/// Silence after which a stalled source reports that it is late.
const LATE_AFTER: Duration = Duration::from_secs(2);

impl Interruption {
    pub const LENGTH_MAX: Duration = Duration::from_secs(60);
}

impl PlaybackHandle {
    /// Both sides of a playback that is about to start.
    #[must_use]
    pub fn new() -> (Self, PlaybackOrders) {
        // One is accepted at a time, so there is always room.
        let (sender, orders) = sync_channel(1);
        let is_interrupted = Arc::new(AtomicBool::new(false));
        let handle = Self { orders: Arc::new(sender), is_interrupted: Arc::clone(&is_interrupted) };
        (handle, PlaybackOrders { orders, is_interrupted })
    }

    #[must_use]
    pub fn control(&self) -> PlaybackControl {
        PlaybackControl {
            orders: Arc::downgrade(&self.orders),
            is_interrupted: Arc::clone(&self.is_interrupted),
        }
    }
}

impl PlaybackControl {
    /// Begins an interruption. It does not wait for its end, which comes by itself.
    ///
    /// # Errors
    ///
    /// If the source is still interrupted or catching up, or plays no more.
    pub fn interrupt(&self, interruption: Interruption) -> Result<(), InterruptError> {
        let orders = self.orders.upgrade().ok_or(InterruptError::Ended)?;
        if self.is_interrupted.swap(true, Ordering::Relaxed) {
            return Err(InterruptError::Busy);
        }
        orders.try_send(interruption).map_err(|_| InterruptError::Ended)
    }
}

/// When each step is due.
#[derive(Debug, Clone, Copy)]
pub enum PlaybackPace {
    /// At the time of the step; past steps are due at once.
    OnTime,
    /// By the source's own clock, relative to the start of playback.
    FromStart(Speed),
}

/// Playback was stopped, or the pipeline is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

impl Playback {
    /// Plays all steps on a new thread. `again` returns the steps of the next round, until there is
    /// none.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread.
    pub fn start<I>(
        self,
        first: I,
        mut again: impl FnMut() -> Option<I> + Send + 'static,
    ) -> std::io::Result<thread::JoinHandle<()>>
    where
        I: Iterator<Item = Step> + Send + 'static,
    {
        supervisor::thread("player", Lifetime::Finite, move || {
            let mut steps = Some(first);
            while let Some(round) = steps {
                if self.play(round).is_err() {
                    return;
                }
                steps = again();
                let (source, now) = (self.source, now());
                let end = match steps {
                    Some(_) => HubInput::Restarted { source, now },
                    None => HubInput::Ended { source, now },
                };
                if self.hand_in(end).is_err() {
                    return;
                }
            }
        })
    }

    fn play(&self, steps: impl Iterator<Item = Step>) -> Result<(), Stopped> {
        let mut progress = Progress::default();
        for step in steps {
            fault::point();
            match step {
                Step::Batch(Timed { clock_us, batch }) => {
                    self.wait_until_due(clock_us, &mut progress)?;
                    let (source, now) = (self.source, now());
                    self.hand_in(HubInput::Batch { source, batch, received: now, now })?;
                }
                Step::Refused(refusal) => {
                    self.hand_in(Input::Refused { source: self.source, refusal })?;
                }
            }
        }
        Ok(())
    }

    fn wait_until_due(&self, clock_us: Micros, progress: &mut Progress) -> Result<(), Stopped> {
        let due = match self.pace {
            PlaybackPace::OnTime => clock_us,
            PlaybackPace::FromStart(Speed::Max) => return self.wait_for_room(progress),
            PlaybackPace::FromStart(Speed::Times(times)) => {
                let (first, began) = *progress.origin.get_or_insert_with(|| (clock_us, now()));
                began + scaled(clock_us - first, times)
            }
        };
        loop {
            let wait = due - now();
            if wait <= 0 {
                // Behind schedule, it plays as fast as a recording without pauses.
                return self.wait_for_room(progress);
            }
            // What was missed during an interruption has been played.
            if progress.is_catching_up {
                progress.is_catching_up = false;
                self.report(FeedState::Live, None)?;
                self.orders.is_interrupted.store(false, Ordering::Relaxed);
            }
            match self.orders.orders.recv_timeout(Duration::from_micros(wait.unsigned_abs())) {
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Ok(interruption) => self.interrupt(interruption, progress)?,
                Err(RecvTimeoutError::Disconnected) => return Err(Stopped),
            }
        }
    }

    /// Waits for the fan-out, so that readers are not overrun.
    fn wait_for_room(&self, progress: &mut Progress) -> Result<(), Stopped> {
        self.runtime.block_on(self.fanout.wait_for_room());
        match self.orders.orders.try_recv() {
            Err(TryRecvError::Empty) => Ok(()),
            Ok(interruption) => self.interrupt(interruption, progress),
            Err(TryRecvError::Disconnected) => Err(Stopped),
        }
    }

    /// Plays the fault. Then the steps that have become due follow, and the source is live when it has caught up.
    fn interrupt(
        &self,
        Interruption { kind, length }: Interruption,
        progress: &mut Progress,
    ) -> Result<(), Stopped> {
        let length = length.min(Interruption::LENGTH_MAX);
        let end = now() + Micros::try_from(length.as_micros()).expect("it is at most a minute");
        let left = || Duration::from_micros((end - now()).max(0).unsigned_abs());
        match kind {
            InterruptionKind::Stall => {
                self.pause(LATE_AFTER.min(length))?;
                self.report(FeedState::Late, Some("stalled on request"))?;
                self.pause(left())?;
            }
            InterruptionKind::Kill => {
                self.report(FeedState::Down, Some("killed on request"))?;
                self.pause(left())?;
                self.report(FeedState::Recovering, Some("it connects"))?;
            }
        }
        progress.is_catching_up = true;
        Ok(())
    }

    fn pause(&self, length: Duration) -> Result<(), Stopped> {
        match self.orders.orders.recv_timeout(length) {
            // None is accepted before this one has ended.
            Ok(_) | Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => Err(Stopped),
        }
    }

    fn report(&self, feed: FeedState, why: Option<&str>) -> Result<(), Stopped> {
        let health = Health { feed, why: why.map(Into::into) };
        self.hand_in(HubInput::Health { source: self.source, health, now: now() })
    }

    fn hand_in(&self, input: impl Into<Input>) -> Result<(), Stopped> {
        self.inputs.blocking_send(input).map_err(|_| Stopped)
    }
}

/// How far a round of playback has come.
#[derive(Debug, Default)]
struct Progress {
    /// The source's clock and the hub's at the first step.
    origin: Option<(Micros, Micros)>,
    /// An interruption has ended, and what became due meanwhile is not played yet.
    is_catching_up: bool,
}

fn scaled(span: Micros, times: f64) -> Micros {
    (span as f64 / times) as Micros
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_interruption_is_accepted_at_a_time_and_none_after_the_end() {
        let (handle, orders) = PlaybackHandle::new();
        let control = handle.control();
        let kill = Interruption { kind: InterruptionKind::Kill, length: Duration::from_secs(1) };
        assert_eq!(control.interrupt(kill), Ok(()));
        assert_eq!(orders.orders.try_recv(), Ok(kill));
        assert_eq!(control.interrupt(kill), Err(InterruptError::Busy), "it has not caught up");
        orders.is_interrupted.store(false, Ordering::Relaxed);
        assert_eq!(control.interrupt(kill), Ok(()));
        drop(handle);
        assert_eq!(control.interrupt(kill), Err(InterruptError::Ended));
    }

    #[test]
    fn playback_stops_although_something_may_still_interrupt_it() {
        let (handle, orders) = PlaybackHandle::new();
        let _control = handle.control();
        drop(handle);
        assert_eq!(orders.orders.try_recv(), Err(TryRecvError::Disconnected));
    }
}
