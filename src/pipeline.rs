//! The data path: facts from sources go into the hub, its changes go to the fan-out.
//!
//! One thread, the writer, owns the hub. In each turn it drains the input queue, applies the
//! inputs, flushes merged updates that are due, publishes once, and then answers requests. An
//! answer is therefore ordered after every change that it reflects and before all later ones.

use std::{collections::HashMap, iter, mem, sync::Arc, thread, time::Duration};

use fanout::{
    Change, Fanout, Micros, Seq,
    catch_up::{Ask, Host},
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
    archive::Inbox,
    catch_up::{Image, Work},
    clock::{self, now},
    hub::{
        Hub,
        feeds::{FeedState, Health, Source, SourceNumber, SourcePolicy},
    },
    identity::{DecisionWriter, NumberedOrder},
    ids::PublicIds,
    push::{self, PushRequest, PushedLine},
    quarantine::Quarantine,
    reader::Reader,
    signals::SignalBoard,
    supervisor::{self, Lifetime, fault},
};

/// An input of a source to the writer.
#[derive(Debug)]
pub enum Input {
    Batch {
        source: SourceNumber,
        batch: Batch,
        received: Micros,
    },
    /// Several batches in one message, for a source that produces many per millisecond.
    Batches {
        source: SourceNumber,
        batches: Vec<Batch>,
        received: Micros,
    },
    /// Lines that a source pushed. The first push registers the source.
    Push(Box<PushRequest>),
    Refused {
        source: SourceNumber,
        refusal: Refusal,
    },
    /// The new health of a live source.
    Health {
        source: SourceNumber,
        health: Health,
    },
    /// A sign of life of a live source without new facts.
    Heard {
        source: SourceNumber,
        received: Micros,
    },
    /// The source is finished: a recording has ended.
    Ended {
        source: SourceNumber,
    },
    /// The source restarts from its beginning; its earlier facts are void.
    Restarted {
        source: SourceNumber,
    },
}

/// A request to the writer.
#[derive(Debug)]
pub enum Request {
    FanOut(Ask),
    /// The image of a channel, as soon as it has reached `at_least`.
    Image {
        channel: String,
        at_least: Seq,
        reply: oneshot::Sender<Option<Image>>,
    },
    /// An operator's order about matches.
    Order(NumberedOrder),
    Stop,
}

/// Inputs applied in a turn before publishing and answering: enough to amortise the cost of a turn,
/// few enough to keep it below a millisecond.
const INPUTS_PER_TURN: usize = 64;

/// Requests answered in a turn: a burst of joins must not delay updates.
const QUESTIONS_PER_TURN: usize = 64;

/// Limits on the work of all requests in a turn and of a single one (see [`Work`]): at most about
/// 0.1 ms. Without them, readers that ask faster than they are answered would keep a turn from
/// ending, and one that is far behind would make it long.
const QUESTION_WORK_PER_TURN: usize = 128 * 1024;
const QUESTION_WORK_MAX: usize = 64 * 1024;

/// Image requests that may wait for a sequence at a time. Beyond it they get the current image.
const WAITING_MAX: usize = 1024;

/// Where the writer exports its snapshots for consumers that do not follow a channel.
#[derive(Debug, Clone)]
pub struct SnapshotSinks {
    pub reader: Reader,
    pub inbox: Inbox,
    pub signals: SignalBoard,
}

/// The interval of exports, and so the maximum age of a snapshot.
const EXPORT_EVERY: Duration = Duration::from_millis(100);

/// The sending side of the hub's queues.
#[derive(Debug, Clone)]
pub struct HubHandle {
    pub inputs: InputQueue,
    pub requests: mpsc::Sender<Request>,
}

/// The sending side of the input queue. Replaces digests by public ids on the sender's thread or
/// task.
#[derive(Debug, Clone)]
pub struct InputQueue {
    queue: mpsc::Sender<Input>,
    ids: PublicIds,
}

/// The hub has stopped and accepts no more inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

/// A reserved slot for one input.
#[derive(Debug)]
pub struct InputPermit<'a> {
    permit: mpsc::Permit<'a, Input>,
    ids: &'a PublicIds,
}

impl InputQueue {
    /// Sends an input, waiting until the queue has capacity.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub async fn send(&self, input: Input) -> Result<(), Closed> {
        self.reserve().await?.put(input);
        Ok(())
    }

    /// Like [`Self::send`], from a thread that may block.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub fn blocking_send(&self, mut input: Input) -> Result<(), Closed> {
        input.number(&self.ids);
        self.queue.blocking_send(input).map_err(|_| Closed)
    }

    /// Waits until the queue has capacity and reserves a slot.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub async fn reserve(&self) -> Result<InputPermit<'_>, Closed> {
        let permit = self.queue.reserve().await.map_err(|_| Closed)?;
        Ok(InputPermit { permit, ids: &self.ids })
    }

    #[cfg(test)]
    pub(crate) fn try_reserve(&self) -> Result<InputPermit<'_>, Closed> {
        let permit = self.queue.try_reserve().map_err(|_| Closed)?;
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
            Self::Push(push) => {
                push.lines.iter_mut().for_each(|line| ids.number_batch(&mut line.batch));
            }
            Self::Refused { .. }
            | Self::Health { .. }
            | Self::Heard { .. }
            | Self::Ended { .. }
            | Self::Restarted { .. } => {}
        }
    }
}

/// The receiving side of the hub's queues, owned by the writer.
#[derive(Debug)]
pub struct HubReceivers {
    inputs: mpsc::Receiver<Input>,
    requests: mpsc::Receiver<Request>,
}

/// Creates the queues. `inputs_max`: batches that may wait. `requests_max`: the maximum number of
/// sockets, since each has at most one open question, plus some for HTTP requests.
#[must_use]
pub fn queues(inputs_max: usize, requests_max: usize, ids: PublicIds) -> (HubHandle, HubReceivers) {
    let (queue, inputs_rx) = mpsc::channel(inputs_max);
    let inputs = InputQueue { queue, ids };
    let (requests, requests_rx) = mpsc::channel(requests_max);
    (HubHandle { inputs, requests }, HubReceivers { inputs: inputs_rx, requests: requests_rx })
}

#[cfg(test)]
impl HubReceivers {
    /// Receives the next input, for tests without a hub.
    pub(crate) async fn next_input(&mut self) -> Option<Input> {
        self.inputs.recv().await
    }
}

impl Host for HubHandle {
    fn ask(&self, ask: Ask) {
        // Runs on the thread of the shard that asks.
        fault::point();
        if self.requests.try_send(Request::FanOut(ask)).is_err() {
            // Only during shutdown: the queue has capacity for a question of every socket.
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

/// Starts the writer's thread. It runs until [`Request::Stop`].
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
    push_policy: SourcePolicy,
    sinks: SnapshotSinks,
) -> std::io::Result<thread::JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let writer = HubWriter {
        hub,
        fanout,
        quarantine,
        decisions,
        push_policy,
        sinks,
        pushers: HashMap::new(),
        waiting: Vec::new(),
        changes: Vec::new(),
        oldest: None,
    };
    supervisor::thread("writer", Lifetime::UntilStop, move || {
        runtime.block_on(writer.run(receivers))
    })
}

struct HubWriter {
    hub: Hub,
    fanout: Fanout,
    quarantine: Quarantine,
    decisions: DecisionWriter,
    /// The policy of every source that pushes.
    push_policy: SourcePolicy,
    sinks: SnapshotSinks,
    /// The sources that have pushed, by name.
    pushers: HashMap<Arc<str>, SourceNumber>,
    waiting: Vec<ImageWaiter>,
    changes: Vec<Change>,
    /// When the oldest input since the last publication was received.
    oldest: Option<Micros>,
}

/// An image request that waits for a sequence.
struct ImageWaiter {
    channel: String,
    at_least: Seq,
    reply: oneshot::Sender<Option<Image>>,
}

impl HubWriter {
    async fn run(mut self, receivers: HubReceivers) {
        let HubReceivers { mut inputs, mut requests } = receivers;
        let mut tick = tokio::time::interval(Duration::from_millis(250));
        let mut export = tokio::time::interval(EXPORT_EVERY);
        export.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Opens the `feeds` channel before anyone can request it.
        self.tick();
        let mut stepped = clock::stepped();
        loop {
            let mut first_request = None;
            let due = [self.hub.tiers_due(), self.hub.feeds_late_at()].into_iter().flatten().min();
            tokio::select! {
                Some(request) = requests.recv() => first_request = Some(request),
                Some(input) = inputs.recv() => self.input(input),
                _ = tick.tick() => self.tick(),
                _ = export.tick() => self.export_snapshots(),
                () = until(due.unwrap_or_default()), if due.is_some() => {}
            }
            let ready = || inputs.try_recv().ok();
            iter::from_fn(ready).take(INPUTS_PER_TURN).for_each(|input| self.input(input));
            // A jump of the clock is not silence of a source.
            let total = clock::stepped();
            self.hub.clock_jumped(total - mem::replace(&mut stepped, total), now());
            // A source whose inputs still wait in the queue has not been silent.
            if inputs.is_empty() {
                self.hub.check_feeds(now(), &mut self.changes);
            }
            self.flush_tiers();
            self.publish();
            self.decisions.take_from(self.hub.identity());
            let ready = || requests.try_recv().ok();
            let mut spent = 0;
            for request in
                first_request.into_iter().chain(iter::from_fn(ready)).take(QUESTIONS_PER_TURN)
            {
                let Some(work) = self.serve(request) else {
                    self.export_snapshots();
                    return;
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

    /// Exports what has changed since the last export to readers and the archive.
    fn export_snapshots(&mut self) {
        let now = now();
        self.sinks.signals.put(&self.hub.take_signals());
        self.sinks.inbox.put(&self.hub.take_evicted_records(), &[], now);
        let (changed, gone) = self.hub.take_changed(now);
        self.sinks.inbox.put(&changed, &gone, now);
        self.sinks.reader.update(&changed, &gone);
    }

    /// Flushes merged updates that are due together with those just applied, merging both where allowed.
    fn flush_tiers(&mut self) {
        if self.hub.tiers_due().is_some() {
            self.hub.flush_tiers(now(), &mut self.changes);
        }
    }

    fn input(&mut self, input: Input) {
        match input {
            Input::Batch { source, batch, received } => self.apply(source, &batch, received),
            Input::Batches { source, batches, received } => {
                batches.iter().for_each(|batch| self.apply(source, batch, received));
            }
            Input::Push(push) => self.apply_push(*push),
            Input::Refused { source, refusal } => self.record_refusal(source, &refusal),
            Input::Health { source, health } => {
                self.hub.set_source_health(source, &health, now(), &mut self.changes);
            }
            Input::Heard { source, received } => {
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

    fn apply(&mut self, source: SourceNumber, batch: &Batch, received: Micros) {
        let began = now();
        self.oldest.get_or_insert(received);
        let errors = self.hub.apply(source, batch, received, began, &mut self.changes);
        for error in errors {
            let place = Place { file: Arc::clone(&self.hub.sources()[source.0].name), line: 0 };
            let error = DecodeError::new(RefusalKind::Unknown, error.to_string());
            self.record_refusal(source, &Refusal::new(error, place, &[]));
        }
        counter!("matchwire_batches_total").increment(1);
    }

    fn apply_push(&mut self, push: PushRequest) {
        let PushRequest { source, received, lines, refusals, reply } = push;
        let source = self.push_source(&source);
        self.oldest.get_or_insert(received);
        for refusal in &refusals {
            self.record_refusal(source, refusal);
        }
        let mut verdicts = Vec::with_capacity(lines.len());
        for PushedLine { batch, place, bytes } in lines {
            let began = now();
            let errors = self.hub.apply(source, &batch, received, began, &mut self.changes);
            counter!("matchwire_batches_total").increment(1);
            let reason = errors.first().map(ToString::to_string);
            if let Some(reason) = &reason {
                let error = DecodeError::new(RefusalKind::Unknown, reason.clone());
                self.record_refusal(source, &Refusal::new(error, place, &bytes));
            }
            verdicts.push(reason);
        }
        // The pusher may be gone.
        drop(reply.send(verdicts));
    }

    /// Returns the source that pushes under this name, registering it on its first push. If a
    /// source of another kind has the name, it is prefixed with `push:`.
    fn push_source(&mut self, name: &Arc<str>) -> SourceNumber {
        if let Some(number) = self.pushers.get(name) {
            return *number;
        }
        let is_taken = self.hub.sources().iter().any(|source| source.name == *name);
        let public_name = if is_taken { format!("push:{name}").into() } else { Arc::clone(name) };
        let number = self.hub.source(public_name, push::KIND, self.push_policy);
        self.pushers.insert(Arc::clone(name), number);
        number
    }

    fn record_refusal(&mut self, source: SourceNumber, refusal: &Refusal) {
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
        if let Some(oldest) = oldest {
            histogram!("matchwire_publish_delay_seconds").record(seconds(now() - oldest));
        }
        self.serve_waiters();
        // Reuses the allocation in the next turn.
        self.changes = changes;
        self.changes.clear();
    }

    /// Serves a request. Returns the work it cost, or `None` for [`Request::Stop`].
    fn serve(&mut self, request: Request) -> Option<usize> {
        match request {
            Request::FanOut(Ask { asker, question }) => {
                let mut work = Work::up_to(QUESTION_WORK_MAX);
                let answer = self.hub.answer_within(&question, &mut work);
                self.fanout.answer(asker, answer, work.spent);
                return Some(work.spent);
            }
            Request::Image { channel, at_least, reply } => {
                self.waiting.push(ImageWaiter { channel, at_least, reply });
                self.serve_waiters();
            }
            Request::Order(order) => {
                self.hub.apply_order(&order, now(), &mut self.changes);
                self.publish();
            }
            Request::Stop => return None,
        }
        Some(0)
    }

    fn serve_waiters(&mut self) {
        let too_many = self.waiting.len() > WAITING_MAX;
        for waiter in mem::take(&mut self.waiting) {
            if waiter.reply.is_closed() {
                continue;
            }
            match self.hub.image_of(&waiter.channel) {
                Some(image) if image.seq < waiter.at_least && !too_many => {
                    self.waiting.push(waiter);
                }
                // The requester may be gone.
                image => drop(waiter.reply.send(image)),
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
