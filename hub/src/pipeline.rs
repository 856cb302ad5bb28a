//! The data path on one page: inputs of sources go into the hub, its changes go into the log, and from
//! there to the fan-out.
//!
//! One thread is the writer. It takes all inputs that are ready, applies them, flushes the rate
//! tiers that are due, hands the turn to the committer, and then answers requests. The committer appends
//! turns to the log, publishes them, and sends the answers, in this order: so an answer comes after every
//! change it reflects and before all others, and nothing is shown that is not in the log. The follower
//! applies the inputs of the log again, for the history and for snapshots.

use std::{
    collections::HashMap,
    io, iter, mem,
    sync::{
        Arc,
        mpsc::{SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use fanout::{
    Fanout, Micros, Seq,
    catch_up::{Host, HostRequest, HostResponse, ShardRequest},
};
use ingest::{
    error::{DecodeError, Place, Refusal, RefusalKind},
    event::Batch,
};
use log::{AppendError, Log, LogPosition, RecordSource};
use metrics::{counter, gauge};
use tokio::{
    sync::{mpsc, oneshot},
    time::MissedTickBehavior,
};

use crate::{
    catch_up::{ChannelImage, WorkBudget},
    clock::{self, now},
    commit::{Answer, COMMITS_MAX, Commit, Committer, FollowerQueue},
    follower::{Follower, FollowerEnd, FollowerError, LogConsumer},
    hub::{
        ApplyError, Hub, HubInput,
        feeds::{FeedState, Health, Source, SourceNumber, SourcePolicy},
    },
    identity::{DecisionWriter, NumberedOrder},
    ids::PublicIds,
    log_state::LogState,
    push::{self, PushRequest, PushedLine},
    quarantine::Quarantine,
    supervisor::{self, Lifetime, fault},
    turn::TurnBuilder,
    watch::ChannelWatches,
};

/// An input of a source.
#[derive(Debug)]
pub enum Input {
    Batch {
        source: SourceNumber,
        batch: Batch,
        received: Micros,
    },
    /// Several at once, of a source that produces many per millisecond.
    Batches {
        source: SourceNumber,
        batches: Vec<Batch>,
        received: Micros,
    },
    /// A push. The first one registers its source.
    Push(Box<PushRequest>),
    Refused {
        source: SourceNumber,
        refusal: Refusal,
    },
    /// The health of a live source.
    Health {
        source: SourceNumber,
        health: Health,
    },
    /// A live source is connected and has no news.
    Alive {
        source: SourceNumber,
        received: Micros,
    },
    /// The source has ended: a recording is over.
    Ended {
        source: SourceNumber,
    },
    /// The source restarts from its beginning; its earlier data is void.
    Restarted {
        source: SourceNumber,
    },
}

/// A request to the writer.
#[derive(Debug)]
pub enum Request {
    FanOut(ShardRequest),
    /// The image of a channel, as soon as it has reached `at_least`.
    Image {
        channel: String,
        at_least: Seq,
        reply: oneshot::Sender<Option<ChannelImage>>,
    },
    /// What leads a reader within the process from its position to the head of a channel: as for a
    /// subscriber, from the tail or as the image.
    CatchUp {
        request: HostRequest,
        reply: oneshot::Sender<HostResponse>,
    },
    /// An operator's order about matches.
    Order(NumberedOrder),
    Stop,
}

/// Maximum inputs taken before publishing and answering requests: enough to share the cost of a
/// turn, few enough to keep a turn below a millisecond.
const INPUTS_PER_TURN: usize = 64;

/// Maximum facts of a turn with several batches. Without it, a turn of large messages would be a record of hundreds
/// of megabytes.
const FACTS_PER_TURN: usize = 20_000;

/// Maximum requests answered per turn: a storm of joins must not delay publication.
const QUESTIONS_PER_TURN: usize = 64;

/// The cost limit (see [`WorkBudget`]) of all questions of a turn, and of a single one: about 0.1
/// ms or less. Without it, clients that request faster than they are answered would keep a turn from
/// ending, and clients far behind would make it long.
const QUESTION_WORK_PER_TURN: usize = 128 * 1024;
const QUESTION_WORK: usize = 64 * 1024;

/// Maximum readers waiting for a sequence number; beyond it, one is answered with the current
/// image.
const PENDING_IMAGES_MAX: usize = 1024;

/// The interval of the work that is due by time alone. It also bounds how long the history waits for the
/// last change before a pause.
const TICK_EVERY: Duration = Duration::from_millis(100);

/// The sending ends of the writer's queues.
#[derive(Debug, Clone)]
pub struct HubHandle {
    pub inputs: InputSender,
    pub requests: mpsc::Sender<Request>,
    /// Notices changes of single channels.
    pub watches: ChannelWatches,
}

/// Sends inputs to the hub. Replaces digests by public ids, on the thread or task of the source.
#[derive(Debug, Clone)]
pub struct InputSender {
    queue: mpsc::Sender<Input>,
    ids: PublicIds,
}

/// The hub no longer accepts inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HubStopped;

/// A reserved place in the queue for one input.
#[derive(Debug)]
pub struct InputPermit<'a> {
    permit: mpsc::Permit<'a, Input>,
    ids: &'a PublicIds,
}

impl InputSender {
    /// Sends an input; waits for room in the queue.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub async fn send(&self, input: Input) -> Result<(), HubStopped> {
        self.reserve().await?.put(input);
        Ok(())
    }

    /// Sends an input from a blocking thread.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub fn blocking_send(&self, mut input: Input) -> Result<(), HubStopped> {
        input.number(&self.ids);
        self.queue.blocking_send(input).map_err(|_| HubStopped)
    }

    /// Waits for room in the queue.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub async fn reserve(&self) -> Result<InputPermit<'_>, HubStopped> {
        let permit = self.queue.reserve().await.map_err(|_| HubStopped)?;
        Ok(InputPermit { permit, ids: &self.ids })
    }

    #[cfg(test)]
    pub(crate) fn try_reserve(&self) -> Result<InputPermit<'_>, HubStopped> {
        let permit = self.queue.try_reserve().map_err(|_| HubStopped)?;
        Ok(InputPermit { permit, ids: &self.ids })
    }
}

impl InputPermit<'_> {
    pub fn put(self, mut input: Input) {
        input.number(self.ids);
        self.permit.send(input);
    }
}

impl Input {
    /// Replaces digests by public ids.
    fn number(&mut self, ids: &PublicIds) {
        match self {
            Self::Batch { batch, .. } => ids.number_batch(batch),
            Self::Batches { batches, .. } => {
                batches.iter_mut().for_each(|batch| ids.number_batch(batch));
            }
            Self::Push(pushed) => {
                pushed.lines.iter_mut().for_each(|line| ids.number_batch(&mut line.batch));
            }
            Self::Refused { .. }
            | Self::Health { .. }
            | Self::Alive { .. }
            | Self::Ended { .. }
            | Self::Restarted { .. } => {}
        }
    }
}

/// The receiving ends, which the writer holds.
#[derive(Debug)]
pub struct HubReceivers {
    inputs: mpsc::Receiver<Input>,
    requests: mpsc::Receiver<Request>,
    watches: ChannelWatches,
}

/// Creates the writer's queues. `inputs_max`: batches that may wait. `requests_max`: the maximum
/// number of sockets, since each has at most one open question, plus some for readers over HTTP.
#[must_use]
pub fn channel(
    inputs_max: usize,
    requests_max: usize,
    ids: PublicIds,
) -> (HubHandle, HubReceivers) {
    let (queue, input_queue) = mpsc::channel(inputs_max);
    let inputs = InputSender { queue, ids };
    let (requests, request_queue) = mpsc::channel(requests_max);
    let watches = ChannelWatches::default();
    let receivers =
        HubReceivers { inputs: input_queue, requests: request_queue, watches: watches.clone() };
    (HubHandle { inputs, requests, watches }, receivers)
}

#[cfg(test)]
impl HubReceivers {
    /// The next input, for tests without a hub.
    pub(crate) async fn next_input(&mut self) -> Option<Input> {
        self.inputs.recv().await
    }
}

impl Host for HubHandle {
    fn submit(&self, request: ShardRequest) {
        // On the thread of the requesting shard.
        fault::point();
        if self.requests.try_send(Request::FanOut(request)).is_err() {
            // Only while stopping: the queue has room for a question of every socket.
            counter!("matchwire_questions_dropped_total").increment(1);
        }
    }

    fn stamp(&self) -> Micros {
        now()
    }

    fn time_of_day(&self) -> Micros {
        clock::wall()
    }
}

/// The hub before it runs: inputs of the start are applied and logged at once.
pub struct Startup {
    builder: TurnBuilder,
    log: Box<dyn Log>,
}

impl std::fmt::Debug for Startup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Startup").field("end", &self.log.end()).finish_non_exhaustive()
    }
}

impl Startup {
    /// `hub`: the state at the end of the log.
    #[must_use]
    pub fn new(hub: Hub, log: Box<dyn Log>) -> Self {
        let at = log.end().at;
        Self { builder: TurnBuilder::new(hub, at), log }
    }

    #[must_use]
    pub fn hub(&self) -> &Hub {
        &self.builder.hub
    }

    /// The records of the log.
    #[must_use]
    pub fn records(&self) -> Arc<dyn RecordSource> {
        self.log.source()
    }

    /// Applies an input and logs it, with its changes, together with the others of the turn. Returns the
    /// errors of facts that could not be applied.
    ///
    /// # Errors
    ///
    /// If the log refuses the turn.
    pub fn take(&mut self, input: HubInput, now: Micros) -> Result<Vec<ApplyError>, AppendError> {
        let errors = self.builder.take(input);
        if self.builder.inputs() >= INPUTS_PER_TURN {
            self.end_turn(now)?;
        }
        Ok(errors)
    }

    /// Registers a source, or finds the one of this name and kind, and returns its number.
    ///
    /// # Errors
    ///
    /// If the log refuses it.
    pub fn source(
        &mut self,
        name: &Arc<str>,
        kind: &'static str,
        policy: SourcePolicy,
        now: Micros,
    ) -> Result<SourceNumber, AppendError> {
        let input = HubInput::Source { name: Arc::clone(name), kind, policy };
        self.take(input, now)?;
        Ok(self.hub().source_number(name, kind).expect("it was registered above"))
    }

    /// Logs what was applied so far.
    ///
    /// # Errors
    ///
    /// If the log refuses it.
    pub fn end_turn(&mut self, now: Micros) -> Result<(), AppendError> {
        if let Some(turn) = self.builder.end(now) {
            let end = self.log.end().number;
            self.log.append(end, &[turn.record(end + 1)])?;
        }
        Ok(())
    }
}

/// What the writer works with.
#[derive(Debug)]
pub struct WriterParts {
    pub fanout: Fanout,
    pub receivers: HubReceivers,
    pub quarantine: Quarantine,
    pub decisions: DecisionWriter,
    /// The policy for sources that push.
    pub push_terms: SourcePolicy,
    /// Whether the log keeps so little that the follower must be waited for.
    pub follower_is_awaited: bool,
}

/// The running threads of the pipeline.
#[derive(Debug)]
pub struct Running<C> {
    writer: thread::JoinHandle<()>,
    committer: thread::JoinHandle<EndedLog>,
    follower: thread::JoinHandle<FollowerEnd<C>>,
    pub state: LogState,
}

/// A log at the end of the process.
pub struct EndedLog(pub Box<dyn Log>);

impl std::fmt::Debug for EndedLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("EndedLog").field(&self.0.end()).finish()
    }
}

/// Starts the threads: the writer, which ends at [`Request::Stop`], the committer and the follower, which
/// end after it. `followed`: the state of the follower's hub, and the record after which it is.
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
    let Startup { mut builder, log } = startup;
    // The follower makes them.
    builder.hub.stop_exports();
    let WriterParts { fanout, receivers, quarantine, decisions, push_terms, follower_is_awaited } =
        parts;
    let (follower_queue, queue) = sync_channel(FOLLOWER_TURNS_MAX);
    let (commits, waiting) = sync_channel(COMMITS_MAX);
    let state = LogState::default();
    let end = log.end().number;
    let (hub, position) = followed;
    let follower = Follower::new(hub, position, &*log, consumer);
    let lag = follower.lag();
    let follower = supervisor::thread("history", Lifetime::UntilStop, move || {
        follower.run(end, &queue).unwrap_or_else(|problem| unreadable(&problem))
    })?;
    let committer = Committer {
        log,
        fanout,
        watches: receivers.watches.clone(),
        follower: FollowerQueue { queue: follower_queue, waits: follower_is_awaited, lag },
        state: state.clone(),
    };
    let committer =
        supervisor::thread("log", Lifetime::UntilStop, move || EndedLog(committer.run(&waiting)))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let pushers = builder.hub.sources().iter().enumerate();
    let pushers = pushers.filter(|(_, source)| source.kind == push::KIND);
    let pushers = pushers.map(|(number, source)| {
        let name = source.name.strip_prefix(PUSHED).map_or_else(|| source.name.clone(), Arc::from);
        (name, SourceNumber(number))
    });
    let writer = Writer {
        pushers: pushers.collect(),
        builder,
        quarantine,
        decisions,
        push_terms,
        commits,
        pending_images: Vec::new(),
        oldest: None,
    };
    let writer = supervisor::thread("writer", Lifetime::UntilStop, move || {
        runtime.block_on(writer.run(receivers));
    })?;
    Ok(Running { writer, committer, follower, state })
}

/// A follower that cannot go on is a failed part: what it serves would stand still.
fn unreadable<C>(problem: &FollowerError) -> FollowerEnd<C> {
    panic!("the history cannot follow the log: {problem}")
}

impl<C> Running<C> {
    /// Waits for the end of all threads, after [`Request::Stop`]. `None` if one of them failed.
    #[must_use]
    pub fn join(self) -> Option<(EndedLog, FollowerEnd<C>)> {
        // The supervisor has reported panics.
        self.writer.join().ok()?;
        let log = self.committer.join().ok();
        log.zip(self.follower.join().ok())
    }
}

/// Turns that may wait for the follower. It reads the others from the log.
const FOLLOWER_TURNS_MAX: usize = 1024;

/// Before the name of a pushing source, if another source has its name.
const PUSHED: &str = "push:";

struct Writer {
    builder: TurnBuilder,
    quarantine: Quarantine,
    decisions: DecisionWriter,
    /// The policy for sources that push.
    push_terms: SourcePolicy,
    /// The sources that have pushed, by name.
    pushers: HashMap<Arc<str>, SourceNumber>,
    commits: SyncSender<Commit>,
    pending_images: Vec<PendingImage>,
    /// The earliest receive time of the inputs applied since the last turn.
    oldest: Option<Micros>,
}

struct PendingImage {
    channel: String,
    at_least: Seq,
    reply: oneshot::Sender<Option<ChannelImage>>,
}

impl Writer {
    async fn run(mut self, receivers: HubReceivers) {
        let HubReceivers { mut inputs, mut requests, .. } = receivers;
        let mut tick = tokio::time::interval(TICK_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Creates `feeds` before any request can reach it.
        self.tick();
        let mut stepped = clock::stepped();
        loop {
            let mut question = None;
            let hub = &self.builder.hub;
            let due = [hub.tiers_due(), hub.feeds_late_at()].into_iter().flatten().min();
            tokio::select! {
                Some(request) = requests.recv() => question = Some(request),
                Some(input) = inputs.recv() => self.input(input),
                _ = tick.tick() => self.tick(),
                () = until(due.unwrap_or_default()), if due.is_some() => {}
            }
            let ready = || inputs.try_recv().ok();
            iter::from_fn(ready).take(INPUTS_PER_TURN).for_each(|input| self.input(input));
            // A jump of the clock is not silence of a source.
            let total = clock::stepped();
            let by = total - mem::replace(&mut stepped, total);
            if by > 0 {
                let now = self.time();
                self.builder.take(HubInput::ClockJumped { by, now });
            }
            // A source with inputs waiting here is not silent.
            let now = self.time();
            if inputs.is_empty() && self.builder.hub.feeds_late_at().is_some_and(|late| late <= now)
            {
                self.builder.take(HubInput::CheckFeeds { now });
            }
            self.flush_tiers();
            self.end_turn();
            let ready = || requests.try_recv().ok();
            let mut spent = 0;
            for request in question.into_iter().chain(iter::from_fn(ready)).take(QUESTIONS_PER_TURN)
            {
                let Some(work) = self.request(request) else {
                    return;
                };
                spent += work;
                if spent >= QUESTION_WORK_PER_TURN {
                    break;
                }
            }
        }
    }

    /// The time of the next input.
    fn time(&self) -> Micros {
        self.builder.time(now())
    }

    fn tick(&mut self) {
        fault::point();
        let now = self.time();
        for id in self.builder.hub.idle_legacy(now) {
            self.builder.take(HubInput::CloseLegacy { id });
        }
        self.builder.take(HubInput::Tick { now });
        let hub = &self.builder.hub;
        self.quarantine.sweep(now);
        gauge!("matchwire_matches").set(count(hub.matches()));
        gauge!("matchwire_channels").set(count(hub.channels.len()));
        gauge!("matchwire_lanes").set(count(hub.tiers()));
        for source in hub.sources() {
            for feed in FeedState::ALL {
                let is_so = f64::from(u8::from(source.state == feed));
                gauge!("matchwire_feed_state", "source" => source.name.to_string(), "state" => feed.as_str())
                    .set(is_so);
            }
        }
    }

    /// Flushes the rate tiers that are due together with what was just applied, merged where possible.
    fn flush_tiers(&mut self) {
        let TurnBuilder { hub, changes, .. } = &mut self.builder;
        if hub.tiers_due().is_some() {
            hub.flush_tiers(now(), changes);
        }
    }

    fn input(&mut self, input: Input) {
        let now = self.time();
        match input {
            Input::Batch { source, batch, received } => self.batch(source, batch, received),
            Input::Batches { source, batches, received } => {
                batches.into_iter().for_each(|batch| self.batch(source, batch, received));
            }
            Input::Push(pushed) => self.pushed(*pushed),
            Input::Refused { source, refusal } => self.refused(source, &refusal),
            Input::Health { source, health } => {
                self.builder.take(HubInput::Health { source, health, now });
            }
            Input::Alive { source, received } => {
                self.builder.take(HubInput::Alive { source, received, now });
            }
            Input::Ended { source } => {
                self.builder.take(HubInput::Ended { source, now });
            }
            Input::Restarted { source } => {
                self.builder.take(HubInput::Restarted { source, now });
            }
        }
    }

    fn batch(&mut self, source: SourceNumber, batch: Batch, received: Micros) {
        for error in self.apply(source, batch, received) {
            let name = &self.builder.hub.sources()[source.0].name;
            let place = Place { file: Arc::clone(name), line: 0 };
            let error = DecodeError::new(RefusalKind::Unknown, error.to_string());
            self.refused(source, &Refusal::new(error, place, &[]));
        }
    }

    fn apply(&mut self, source: SourceNumber, batch: Batch, received: Micros) -> Vec<ApplyError> {
        let now = self.time();
        if self.builder.facts() + batch.events.len() > FACTS_PER_TURN {
            self.end_turn();
        }
        self.oldest.get_or_insert(received);
        counter!("matchwire_batches_total").increment(1);
        self.builder.take(HubInput::Batch { source, batch, received, now })
    }

    fn pushed(&mut self, pushed: PushRequest) {
        let PushRequest { source, received, lines, refusals, reply } = pushed;
        let source = self.pusher(&source);
        for refusal in &refusals {
            self.refused(source, refusal);
        }
        let mut verdicts = Vec::with_capacity(lines.len());
        for PushedLine { batch, place, bytes } in lines {
            let errors = self.apply(source, batch, received);
            let reason = errors.first().map(ToString::to_string);
            if let Some(reason) = &reason {
                let error = DecodeError::new(RefusalKind::Unknown, reason.clone());
                self.refused(source, &Refusal::new(error, place, &bytes));
            }
            verdicts.push(reason);
        }
        // What is acknowledged is in the log.
        self.end_turn();
        self.answer(Answer::Pushed { reply, verdicts });
    }

    /// The source that pushes under this name. If a source of another kind has the name, it gets
    /// another one.
    fn pusher(&mut self, name: &Arc<str>) -> SourceNumber {
        if let Some(number) = self.pushers.get(name) {
            return *number;
        }
        let sources = self.builder.hub.sources();
        let is_taken = sources.iter().any(|source| source.name == *name);
        let shown = if is_taken { format!("{PUSHED}{name}").into() } else { Arc::clone(name) };
        let (kind, policy) = (push::KIND, self.push_terms);
        self.builder.take(HubInput::Source { name: Arc::clone(&shown), kind, policy });
        let number = self.builder.hub.source_number(&shown, push::KIND);
        let number = number.expect("it was registered above");
        self.pushers.insert(Arc::clone(name), number);
        number
    }

    fn refused(&mut self, source: SourceNumber, refusal: &Refusal) {
        self.builder.take(HubInput::Refused { source });
        let Source { name, kind, .. } = &self.builder.hub.sources()[source.0];
        let format = match *kind {
            push::KIND | "websocket" => push::FORMAT,
            "matchwire" => "matchwire-stream",
            format => format,
        };
        counter!("matchwire_refused_total", "source" => name.to_string(), "kind" => refusal.kind.as_str())
            .increment(1);
        self.quarantine.keep(name, format, refusal, now());
    }

    /// Hands the turn over to the committer.
    fn end_turn(&mut self) {
        let oldest = self.oldest.take();
        if let Some(turn) = self.builder.end(now()) {
            let has_changes = !turn.changes.is_empty();
            let decisions = self.decisions.take_from(self.builder.hub.identity());
            self.commit(Commit::Turn { turn, oldest, decisions });
            if has_changes {
                self.serve_pending_images();
            }
        }
    }

    fn answer(&self, answer: Answer) {
        self.commit(Commit::Answer(answer));
    }

    fn commit(&self, commit: Commit) {
        // The committer is gone if it has failed, and then the process ends.
        self.commits.send(commit).ok();
    }

    /// Answers a request. Returns its cost, or `None` if it is the last one.
    fn request(&mut self, request: Request) -> Option<usize> {
        match request {
            Request::FanOut(ShardRequest { requester, request }) => {
                let (response, work) = self.respond(&request);
                self.answer(Answer::FanOut { requester, response, work });
                return Some(work);
            }
            Request::Image { channel, at_least, reply } => {
                self.pending_images.push(PendingImage { channel, at_least, reply });
                self.serve_pending_images();
            }
            Request::CatchUp { request, reply } => {
                let (response, work) = self.respond(&request);
                self.answer(Answer::CaughtUp { reply, response });
                return Some(work);
            }
            Request::Order(order) => {
                let now = self.time();
                self.builder.take(HubInput::Order { order, now });
                self.end_turn();
            }
            Request::Stop => return None,
        }
        Some(0)
    }

    fn respond(&mut self, request: &HostRequest) -> (HostResponse, usize) {
        if let HostRequest::StartGroup { channel, companion, .. } = request
            && let Some(open) = self.builder.hub.legacy_to_open(channel, companion.as_ref())
        {
            self.builder.take(open);
            self.end_turn();
        }
        let mut work = WorkBudget::up_to(QUESTION_WORK);
        let response = self.builder.hub.answer_within(request, &mut work);
        (response, work.spent)
    }

    fn serve_pending_images(&mut self) {
        let too_many = self.pending_images.len() > PENDING_IMAGES_MAX;
        for pending in mem::take(&mut self.pending_images) {
            if pending.reply.is_closed() {
                continue;
            }
            match self.builder.hub.image_of(&pending.channel) {
                Some(image) if image.seq < pending.at_least && !too_many => {
                    self.pending_images.push(pending);
                }
                image => self.answer(Answer::Image { reply: pending.reply, image }),
            }
        }
    }
}

async fn until(due: Micros) {
    let wait = u64::try_from(due - now()).unwrap_or(0);
    tokio::time::sleep(Duration::from_micros(wait)).await;
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float, and counts stay below 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}
