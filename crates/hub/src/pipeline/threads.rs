//! The threads of the pipeline: the writer, the committer and the follower.
//!
//! They end one after another: the writer when it is asked to stop, the committer when it has finished what the
//! writer handed over, and the follower when it has applied all records.

use std::{cell::Cell, collections::VecDeque, io, sync::mpsc::sync_channel, thread};

use fanout::Fanout;
use log::{Log, LogPosition};
use record::Withdrawals;

use super::{HubReceivers, Startup, writer::Writer};
use crate::{
    clock::now,
    commit::{Committer, FollowerQueue, WRITER_OUTPUTS_MAX},
    follower::{Follower, FollowerEnd, FollowerError, LogConsumer},
    hub::Hub,
    identity::DecisionWriter,
    log_state::LogState,
    push::PushDeadlines,
    quarantine::Quarantine,
    sources::states::StateHistory,
    supervisor::{self, Lifetime},
    trace::Tracer,
};

/// Turns that may wait for the follower. It reads the others from the log.
const FOLLOWER_TURNS_MAX: usize = 1024;

/// What the writer works with.
#[derive(Debug)]
pub struct WriterParts {
    pub fanout: Fanout,
    pub receivers: HubReceivers,
    pub quarantine: Quarantine,
    pub decisions: DecisionWriter,
    pub states: StateHistory,
    /// The policy for sources that push.
    pub push_deadlines: PushDeadlines,
    /// Chooses the messages that are traced, if any are.
    pub tracer: Option<Tracer>,
    /// Tells readers over HTTP which prices sockets have lost.
    pub withdrawals: Withdrawals,
    /// Whether the log keeps so little that the follower must be waited for.
    pub follower_is_awaited: bool,
    /// Whether it applies inputs of its own from the start. If not, it waits for
    /// [`DriverInput::Lead`](super::DriverInput::Lead).
    pub leads: bool,
}

/// The running threads of the pipeline.
#[derive(Debug)]
pub struct Running<C> {
    writer: thread::JoinHandle<()>,
    committer: thread::JoinHandle<EndedLog>,
    follower: thread::JoinHandle<FollowerEnd<C>>,
    pub state: LogState,
}

impl<C> Running<C> {
    /// Waits for the end of all threads, after [`Request::Stop`](super::Request::Stop). `None` if one of them
    /// failed.
    #[must_use]
    pub fn join(self) -> Option<(EndedLog, FollowerEnd<C>)> {
        // The supervisor has reported panics.
        self.writer.join().ok()?;
        let log = self.committer.join().ok();
        log.zip(self.follower.join().ok())
    }
}

/// A log at the end of the process.
pub struct EndedLog(pub Box<dyn Log>);

impl std::fmt::Debug for EndedLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("EndedLog").field(&self.0.end()).finish()
    }
}

/// Starts the threads: the writer, which ends at [`Request::Stop`](super::Request::Stop), the committer and the
/// follower, which end after it. `followed`: the state of the follower's hub, and the record after which it is.
///
/// # Errors
///
/// If the log refuses the last turn of the start, or the system a thread.
pub fn start<C: LogConsumer + 'static>(
    mut startup: Startup,
    parts: WriterParts,
    followed: (Hub, LogPosition),
    consumer: C,
) -> io::Result<Running<C>> {
    let at = startup.builder.time(now());
    startup.end_turn(at).map_err(io::Error::other)?;
    let Startup { mut builder, log, opened_at } = startup;
    // The follower makes them.
    builder.hub.stop_exports();
    let receivers = parts.receivers;
    receivers.leadership.set(parts.leads, true);
    let (queue, turns) = sync_channel(FOLLOWER_TURNS_MAX);
    let (outputs, waiting) = sync_channel(WRITER_OUTPUTS_MAX);
    let state = LogState::default();
    let end = log.end().number;
    let (hub, position) = followed;
    let follower = Follower::new(hub, position, &*log, consumer, parts.withdrawals.clone());
    let (lag, waits) = (follower.lag(), parts.follower_is_awaited);
    let follower = supervisor::thread("history", Lifetime::UntilStop, move || {
        follower.run(opened_at, end, &turns).unwrap_or_else(|problem| unreadable(&problem))
    })?;
    let committer = Committer {
        outputs: waiting,
        held: VecDeque::new(),
        log,
        fanout: parts.fanout,
        watches: receivers.watches.clone(),
        follower: FollowerQueue { queue, waits, lag, is_late: Cell::default() },
        withdrawals: parts.withdrawals,
        state: state.clone(),
    };
    let committer =
        supervisor::thread("log", Lifetime::UntilStop, move || EndedLog(committer.run()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let (told, link) = ((parts.decisions, parts.states), receivers.link.clone());
    let (quarantine, deadlines) = (parts.quarantine, parts.push_deadlines);
    let mut writer = Writer::new(builder, quarantine, told, deadlines, outputs, parts.leads, link)?;
    writer.trace_with(parts.tracer);
    let log_state = state.clone();
    let writer = supervisor::thread("writer", Lifetime::UntilStop, move || {
        runtime.block_on(writer.run(receivers, log_state));
    })?;
    Ok(Running { writer, committer, follower, state })
}

/// A follower that cannot go on is a failed part: what it serves would stand still.
fn unreadable<C>(problem: &FollowerError) -> FollowerEnd<C> {
    panic!("the history cannot follow the log: {problem}")
}
