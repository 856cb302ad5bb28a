//! Plays recorded and simulated sources into the pipeline, each on its own thread: in real time, at
//! a multiple of it, or without pauses.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use fanout::{Fanout, Micros};
use ingest::{event::Timed, recording::Step};
use tokio::runtime::Handle;

use crate::{
    clock::now,
    hub::feeds::SourceNumber,
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
    /// Nothing is ever sent; it closes when playback should stop.
    pub stop: Receiver<()>,
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
                let source = self.source;
                let end = if steps.is_some() {
                    Input::Restarted { source }
                } else {
                    Input::Ended { source }
                };
                if self.hand_in(end).is_err() {
                    return;
                }
            }
        })
    }

    fn play(&self, steps: impl Iterator<Item = Step>) -> Result<(), Stopped> {
        let mut origin = None;
        for step in steps {
            fault::point();
            match step {
                Step::Batch(Timed { clock_us, batch }) => {
                    self.wait_until_due(clock_us, &mut origin)?;
                    let source = self.source;
                    self.hand_in(Input::Batch { source, batch, received: now() })?;
                }
                Step::Refused(refusal) => {
                    self.hand_in(Input::Refused { source: self.source, refusal })?;
                }
            }
        }
        Ok(())
    }

    /// `origin`: the source's clock and the hub's at the first step.
    fn wait_until_due(
        &self,
        clock_us: Micros,
        origin: &mut Option<(Micros, Micros)>,
    ) -> Result<(), Stopped> {
        let due = match self.pace {
            PlaybackPace::OnTime => clock_us,
            PlaybackPace::FromStart(Speed::Max) => return self.wait_for_room(),
            PlaybackPace::FromStart(Speed::Times(times)) => {
                let (first, began) = *origin.get_or_insert((clock_us, now()));
                began + scaled(clock_us - first, times)
            }
        };
        let wait = due - now();
        if wait <= 0 {
            // Behind schedule, it plays as fast as a recording without pauses.
            return self.wait_for_room();
        }
        match self.stop.recv_timeout(Duration::from_micros(wait.unsigned_abs())) {
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Err(Stopped),
        }
    }

    /// Waits for the fan-out, so that readers are not overrun.
    fn wait_for_room(&self) -> Result<(), Stopped> {
        self.runtime.block_on(self.fanout.wait_for_room());
        match self.stop.try_recv() {
            Err(std::sync::mpsc::TryRecvError::Empty) => Ok(()),
            Ok(()) | Err(std::sync::mpsc::TryRecvError::Disconnected) => Err(Stopped),
        }
    }

    fn hand_in(&self, input: Input) -> Result<(), Stopped> {
        self.inputs.blocking_send(input).map_err(|_| Stopped)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a pause of a recording, to the microsecond for spans of up to a century"
)]
fn scaled(span: Micros, times: f64) -> Micros {
    (span as f64 / times) as Micros
}
