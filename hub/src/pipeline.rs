//! The data path on one page: inputs of sources go into the hub, its changes go to the fan-out.
//!
//! One thread is the writer. It takes all inputs that are ready, applies them, flushes the rate
//! tiers that are due, publishes once, and then answers requests: so an answer comes after every
//! change it reflects and before all others.

use std::{collections::HashMap, iter, mem, sync::Arc, thread, time::Duration};

use fanout::{
    Change, Fanout, Micros, Seq,
    catch_up::{Host, HostRequest, HostResponse, ShardRequest},
};
use ingest::{
    error::{DecodeError, Place, Refusal, RefusalKind},
    event::Batch,
};
use metrics::{counter, gauge, histogram};
use tokio::{
    sync::{mpsc, oneshot},
    time::MissedTickBehavior,
};

use crate::{
    catch_up::{ChannelImage, WorkBudget},
    clock::{self, now},
    hub::{
        Export, Hub,
        feeds::{FeedState, Health, Source, SourceNumber, SourcePolicy},
    },
    identity::{DecisionWriter, NumberedOrder},
    ids::PublicIds,
    push::{self, PushRequest, PushedLine},
    quarantine::Quarantine,
    supervisor::{self, Lifetime, fault},
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

/// The interval between exports, and so the maximum age of what readers see.
const EXPORT_EVERY: Duration = Duration::from_millis(100);

/// Maximum exports that wait for their receiver. Beyond it, changes wait in the hub, where later
/// ones replace them. Not a setting: with two, the receiver has its next export ready while the
/// writer adds one more, and with more, readers would only get changes that are out of date.
const EXPORTS_MAX: usize = 2;

/// The sending ends of the writer's queues.
#[derive(Debug, Clone)]
pub struct HubHandle {
    pub inputs: InputSender,
    pub requests: mpsc::Sender<Request>,
    /// Notices changes of single channels.
    pub watches: ChannelWatches,
}

/// The sending end of the queue of exports.
#[derive(Debug)]
pub struct ExportSender {
    queue: mpsc::Sender<Export>,
    removals_max: usize,
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

/// Creates the queue of exports. `removals_max`: removed matches that may wait in the hub for the next
/// export. Nothing replaces them, so beyond it the writer waits for the receiver.
#[must_use]
pub fn export_channel(removals_max: usize) -> (ExportSender, mpsc::Receiver<Export>) {
    let (queue, exports) = mpsc::channel(EXPORTS_MAX);
    (ExportSender { queue, removals_max }, exports)
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

/// Starts the writer's thread. It ends at [`Request::Stop`].
///
/// # Errors
///
/// If the system refuses a thread.
pub fn start(
    hub: Hub,
    fanout: Fanout,
    receivers: HubReceivers,
    quarantine: Quarantine,
    decisions: DecisionWriter,
    push_terms: SourcePolicy,
    exports: ExportSender,
) -> std::io::Result<thread::JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let writer = Writer {
        hub,
        fanout,
        quarantine,
        decisions,
        push_terms,
        exports,
        watches: receivers.watches.clone(),
        pushers: HashMap::new(),
        pending_images: Vec::new(),
        changes: Vec::new(),
        oldest: None,
    };
    supervisor::thread("writer", Lifetime::UntilStop, move || {
        runtime.block_on(writer.run(receivers))
    })
}

struct Writer {
    hub: Hub,
    fanout: Fanout,
    quarantine: Quarantine,
    decisions: DecisionWriter,
    /// The policy for sources that push.
    push_terms: SourcePolicy,
    /// What has changed, for those who do not follow a channel.
    exports: ExportSender,
    watches: ChannelWatches,
    /// The sources that have pushed, by name.
    pushers: HashMap<Arc<str>, SourceNumber>,
    pending_images: Vec<PendingImage>,
    changes: Vec<Change>,
    /// The earliest receive time of the inputs applied since the last publication.
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
        let mut tick = tokio::time::interval(Duration::from_millis(250));
        let mut export = tokio::time::interval(EXPORT_EVERY);
        export.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Creates `feeds` before any request can reach it.
        self.tick();
        let mut stepped = clock::stepped();
        loop {
            let mut question = None;
            let due = [self.hub.tiers_due(), self.hub.feeds_late_at()].into_iter().flatten().min();
            tokio::select! {
                Some(request) = requests.recv() => question = Some(request),
                Some(input) = inputs.recv() => self.input(input),
                _ = tick.tick() => self.tick(),
                _ = export.tick() => self.export().await,
                () = until(due.unwrap_or_default()), if due.is_some() => {}
            }
            let ready = || inputs.try_recv().ok();
            iter::from_fn(ready).take(INPUTS_PER_TURN).for_each(|input| self.input(input));
            // A jump of the clock is not silence of a source.
            let total = clock::stepped();
            self.hub.clock_jumped(total - mem::replace(&mut stepped, total), now());
            // A source with inputs waiting here is not silent.
            if inputs.is_empty() {
                self.hub.check_feeds(now(), &mut self.changes);
            }
            self.flush_tiers();
            self.publish();
            self.decisions.take_from(self.hub.identity());
            let ready = || requests.try_recv().ok();
            let mut spent = 0;
            for request in question.into_iter().chain(iter::from_fn(ready)).take(QUESTIONS_PER_TURN)
            {
                let Some(work) = self.request(request) else {
                    return self.export_last().await;
                };
                spent += work;
                if spent >= QUESTION_WORK_PER_TURN {
                    break;
                }
            }
        }
    }

    fn tick(&mut self) {
        fault::point();
        self.hub.tick(now(), &mut self.changes);
        self.quarantine.sweep(now());
        gauge!("matchwire_matches").set(count(self.hub.matches()));
        gauge!("matchwire_channels").set(count(self.hub.channels.len()));
        gauge!("matchwire_lanes").set(count(self.hub.tiers()));
        for source in self.hub.sources() {
            for feed in FeedState::ALL {
                let is_so = f64::from(u8::from(source.state == feed));
                gauge!("matchwire_feed_state", "source" => source.name.to_string(), "state" => feed.as_str())
                    .set(is_so);
            }
        }
    }

    /// Exports what has changed to readers and the archive, unless their queue is full.
    async fn export(&mut self) {
        let ExportSender { queue, removals_max } = &self.exports;
        let permit = if self.hub.removals_waiting() < *removals_max {
            queue.try_reserve().ok()
        } else {
            queue.reserve().await.ok()
        };
        if let Some(permit) = permit
            && let Some(export) = self.hub.export(now())
        {
            permit.send(export);
        }
    }

    async fn export_last(mut self) {
        if let Some(export) = self.hub.export(now()) {
            // The receiver is gone if it has failed.
            self.exports.queue.send(export).await.ok();
        }
    }

    /// Flushes the rate tiers that are due together with what was just applied, merged where possible.
    fn flush_tiers(&mut self) {
        if self.hub.tiers_due().is_some() {
            self.hub.flush_tiers(now(), &mut self.changes);
        }
    }

    fn input(&mut self, input: Input) {
        match input {
            Input::Batch { source, batch, received } => self.batch(source, &batch, received),
            Input::Batches { source, batches, received } => {
                batches.iter().for_each(|batch| self.batch(source, batch, received));
            }
            Input::Push(pushed) => self.pushed(*pushed),
            Input::Refused { source, refusal } => self.refused(source, &refusal),
            Input::Health { source, health } => {
                self.hub.set_source_health(source, &health, now(), &mut self.changes);
            }
            Input::Alive { source, received } => {
                self.hub.note_sign_of_life(source, received, now(), &mut self.changes);
            }
            Input::Ended { source } => {
                self.hub.end_source(source, now(), &mut self.changes);
            }
            Input::Restarted { source } => {
                self.hub.restart_source(source, now(), &mut self.changes);
            }
        }
    }

    fn batch(&mut self, source: SourceNumber, batch: &Batch, received: Micros) {
        let began = now();
        self.oldest.get_or_insert(received);
        let errors = self.hub.apply(source, batch, received, began, &mut self.changes);
        for error in errors {
            let place = Place { file: Arc::clone(&self.hub.sources()[source.0].name), line: 0 };
            let error = DecodeError::new(RefusalKind::Unknown, error.to_string());
            self.refused(source, &Refusal::new(error, place, &[]));
        }
        counter!("matchwire_batches_total").increment(1);
    }

    fn pushed(&mut self, pushed: PushRequest) {
        let PushRequest { source, received, lines, refusals, reply } = pushed;
        let source = self.pusher(&source);
        self.oldest.get_or_insert(received);
        for refusal in &refusals {
            self.refused(source, refusal);
        }
        let mut verdicts = Vec::with_capacity(lines.len());
        for PushedLine { batch, place, bytes } in lines {
            let began = now();
            let errors = self.hub.apply(source, &batch, received, began, &mut self.changes);
            counter!("matchwire_batches_total").increment(1);
            let reason = errors.first().map(ToString::to_string);
            if let Some(reason) = &reason {
                let error = DecodeError::new(RefusalKind::Unknown, reason.clone());
                self.refused(source, &Refusal::new(error, place, &bytes));
            }
            verdicts.push(reason);
        }
        // The pusher may be gone.
        drop(reply.send(verdicts));
    }

    /// The source that pushes under this name. If a source of another kind has the name, it gets
    /// another one.
    fn pusher(&mut self, name: &Arc<str>) -> SourceNumber {
        if let Some(number) = self.pushers.get(name) {
            return *number;
        }
        let is_taken = self.hub.sources().iter().any(|source| source.name == *name);
        let shown = if is_taken { format!("push:{name}").into() } else { Arc::clone(name) };
        let number = self.hub.source(shown, push::KIND, self.push_terms);
        self.pushers.insert(Arc::clone(name), number);
        number
    }

    fn refused(&mut self, source: SourceNumber, refusal: &Refusal) {
        self.hub.count_refusal(source);
        let Source { name, kind, .. } = &self.hub.sources()[source.0];
        let format = match *kind {
            push::KIND | "websocket" => push::FORMAT,
            "matchwire" => "matchwire-stream",
            format => format,
        };
        counter!("matchwire_refused_total", "source" => name.to_string(), "kind" => refusal.kind.as_str())
            .increment(1);
        self.quarantine.keep(name, format, refusal, now());
    }

    fn publish(&mut self) {
        let oldest = self.oldest.take();
        if self.changes.is_empty() {
            return;
        }
        let changes = mem::take(&mut self.changes);
        histogram!("matchwire_changes_a_turn").record(count(changes.len()));
        counter!("matchwire_publications_total").increment(changes.len() as u64);
        self.fanout.publish(&changes);
        self.watches.notify(&changes);
        if let Some(oldest) = oldest {
            histogram!("matchwire_publish_delay_seconds").record(seconds(now() - oldest));
        }
        self.serve_pending_images();
        // Reuse the allocation in the next turn.
        self.changes = changes;
        self.changes.clear();
    }

    /// Answers a request. Returns its cost, or `None` if it is the last one.
    fn request(&mut self, request: Request) -> Option<usize> {
        match request {
            Request::FanOut(ShardRequest { requester, request }) => {
                let mut work = WorkBudget::up_to(QUESTION_WORK);
                let answer = self.hub.answer_within(&request, &mut work);
                self.fanout.respond(requester, answer, work.spent);
                return Some(work.spent);
            }
            Request::Image { channel, at_least, reply } => {
                self.pending_images.push(PendingImage { channel, at_least, reply });
                self.serve_pending_images();
            }
            Request::CatchUp { request, reply } => {
                let mut work = WorkBudget::up_to(QUESTION_WORK);
                let answer = self.hub.answer_within(&request, &mut work);
                // The requester may be gone.
                drop(reply.send(answer));
                return Some(work.spent);
            }
            Request::Order(order) => {
                self.hub.apply_order(&order, now(), &mut self.changes);
                self.publish();
            }
            Request::Stop => return None,
        }
        Some(0)
    }

    fn serve_pending_images(&mut self) {
        let too_many = self.pending_images.len() > PENDING_IMAGES_MAX;
        for pending in mem::take(&mut self.pending_images) {
            if pending.reply.is_closed() {
                continue;
            }
            match self.hub.image_of(&pending.channel) {
                Some(image) if image.seq < pending.at_least && !too_many => {
                    self.pending_images.push(pending);
                }
                // The requester may be gone.
                image => drop(pending.reply.send(image)),
            }
        }
    }
}

async fn until(due: Micros) {
    let wait = u64::try_from(due - now()).unwrap_or(0);
    tokio::time::sleep(Duration::from_micros(wait)).await;
}

#[expect(clippy::cast_precision_loss, reason = "a summary is of floats; a century is below 2^53")]
fn seconds(span: Micros) -> f64 {
    span as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a float, and counts stay below 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}
