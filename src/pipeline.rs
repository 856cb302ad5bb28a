//! The data path on one page: what sources say goes into the hub, what changed goes to the fan-out.
//!
//! One thread is the writer. It takes all that is ready, applies it, lets go of what was merged for
//! long enough, publishes it once, and then answers who asked: so an answer stands behind every
//! change it has seen and before all others.

use std::{collections::HashMap, iter, mem, sync::Arc, thread, time::Duration};

use fanout::{
    Change, Fanout, Micros, Seq,
    catch_up::{Host, ShardRequest},
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
        feeds::{Feed, Health, Source, SourceNumber, Terms},
    },
    identity::{self, Numbered},
    ids::PublicIds,
    push::{self, Pushed},
    quarantine::Quarantine,
    reader::Reader,
    signals::SignalBoard,
    supervisor::{self, Lifetime, fault},
};

/// What a source hands in.
#[derive(Debug)]
pub enum Input {
    Batch {
        source: SourceNumber,
        batch: Batch,
        received: Micros,
    },
    /// Several at once, of a source that is to be handed in many a millisecond.
    Batches {
        source: SourceNumber,
        batches: Vec<Batch>,
        received: Micros,
    },
    /// What a source pushed, which is announced by its first push.
    Pushed(Box<Pushed>),
    Refused {
        source: SourceNumber,
        refusal: Refusal,
    },
    /// How a live source is now.
    Health {
        source: SourceNumber,
        health: Health,
    },
    /// A live source is there and has nothing new to tell.
    Heard {
        source: SourceNumber,
        received: Micros,
    },
    /// The source has nothing more to say: a recording has ended.
    Ended {
        source: SourceNumber,
    },
    /// The source begins again from its start; what it said before is void.
    Restarted {
        source: SourceNumber,
    },
}

/// A question to the writer.
#[derive(Debug)]
pub enum Request {
    FanOut(ShardRequest),
    /// The image of a channel, as soon as it has reached `at_least`.
    Image {
        channel: String,
        at_least: Seq,
        reply: oneshot::Sender<Option<Image>>,
    },
    /// What the operator orders about matches.
    Order(Numbered),
    Stop,
}

/// Inputs taken before they are published and questions are answered: enough to share the cost of
/// a turn, few enough that nobody waits a millisecond for it.
const INPUTS_A_TURN: usize = 64;

/// Questions answered in a turn: a storm of joins must not hold up what happens.
const QUESTIONS_A_TURN: usize = 64;

/// What the questions of a turn may cost together (see [`Work`]), and one of them alone: some 0.1 ms
/// and less. Without it, readers who ask faster than they are answered keep a turn from ending, and
/// whoever is far behind makes it long.
const QUESTION_WORK_A_TURN: usize = 128 * 1024;
const QUESTION_WORK: usize = 64 * 1024;

/// Readers that may wait for a sequence at a time; one more is answered with what there is.
const WAITING_MAX: usize = 1024;

/// Where the writer lays out what it knows, for those who do not follow a channel.
#[derive(Debug, Clone)]
pub struct Shelf {
    pub reader: Reader,
    pub inbox: Inbox,
    pub signals: SignalBoard,
}

/// How often it does: as much as what it has laid out may be behind.
const SHELVE_EVERY: Duration = Duration::from_millis(100);

/// The ends that others hold.
#[derive(Debug, Clone)]
pub struct Doors {
    pub inputs: Inlet,
    pub requests: mpsc::Sender<Request>,
}

/// The one way into the hub for what sources say. Digests become public ids here, on the thread or task of
/// the source.
#[derive(Debug, Clone)]
pub struct Inlet {
    queue: mpsc::Sender<Input>,
    ids: PublicIds,
}

/// The hub takes nothing any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

/// Room for one input.
#[derive(Debug)]
pub struct Room<'a> {
    permit: mpsc::Permit<'a, Input>,
    ids: &'a PublicIds,
}

impl Inlet {
    /// Hands in, and waits for room before.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub async fn send(&self, input: Input) -> Result<(), Closed> {
        self.reserve().await?.put(input);
        Ok(())
    }

    /// The same from a thread that may wait.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub fn blocking_send(&self, mut input: Input) -> Result<(), Closed> {
        input.number(&self.ids);
        self.queue.blocking_send(input).map_err(|_| Closed)
    }

    /// Waits for room.
    ///
    /// # Errors
    ///
    /// If the hub has stopped.
    pub async fn reserve(&self) -> Result<Room<'_>, Closed> {
        let permit = self.queue.reserve().await.map_err(|_| Closed)?;
        Ok(Room { permit, ids: &self.ids })
    }

    #[cfg(test)]
    pub(crate) fn try_reserve(&self) -> Result<Room<'_>, Closed> {
        let permit = self.queue.try_reserve().map_err(|_| Closed)?;
        Ok(Room { permit, ids: &self.ids })
    }
}

impl Room<'_> {
    pub fn put(self, mut input: Input) {
        input.number(self.ids);
        self.permit.send(input);
    }
}

impl Input {
    /// Puts public ids in place of digests.
    fn number(&mut self, ids: &PublicIds) {
        match self {
            Self::Batch { batch, .. } => ids.number_batch(batch),
            Self::Batches { batches, .. } => {
                batches.iter_mut().for_each(|batch| ids.number_batch(batch));
            }
            Self::Pushed(pushed) => {
                pushed.lines.iter_mut().for_each(|line| ids.number_batch(&mut line.batch));
            }
            Self::Refused { .. }
            | Self::Health { .. }
            | Self::Heard { .. }
            | Self::Ended { .. }
            | Self::Restarted { .. } => {}
        }
    }
}

/// The ends that the writer holds.
#[derive(Debug)]
pub struct Ends {
    inputs: mpsc::Receiver<Input>,
    requests: mpsc::Receiver<Request>,
}

/// `inputs_max`: batches that may wait. `requests_max`: as many as there can be sockets, since each
/// has one question open at most, and some for readers over HTTP.
#[must_use]
pub fn doors(inputs_max: usize, requests_max: usize, ids: PublicIds) -> (Doors, Ends) {
    let (queue, inputs_end) = mpsc::channel(inputs_max);
    let inputs = Inlet { queue, ids };
    let (requests, requests_end) = mpsc::channel(requests_max);
    (Doors { inputs, requests }, Ends { inputs: inputs_end, requests: requests_end })
}

#[cfg(test)]
impl Ends {
    /// What is handed in next, for tests without a hub.
    pub(crate) async fn next_input(&mut self) -> Option<Input> {
        self.inputs.recv().await
    }
}

impl Host for Doors {
    fn submit(&self, request: ShardRequest) {
        // On the thread of the shard that asks.
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

/// Starts the writer's thread. It ends when it is told to.
///
/// # Errors
///
/// When the system refuses a thread.
pub fn start(
    hub: Hub,
    fanout: Fanout,
    ends: Ends,
    quarantine: Quarantine,
    decisions: identity::Writer,
    push_terms: Terms,
    shelf: Shelf,
) -> std::io::Result<thread::JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let writer = Writer {
        hub,
        fanout,
        quarantine,
        decisions,
        push_terms,
        shelf,
        pushers: HashMap::new(),
        waiting: Vec::new(),
        changes: Vec::new(),
        oldest: None,
    };
    supervisor::thread("writer", Lifetime::UntilStop, move || runtime.block_on(writer.run(ends)))
}

struct Writer {
    hub: Hub,
    fanout: Fanout,
    quarantine: Quarantine,
    decisions: identity::Writer,
    /// What is agreed with each source that pushes.
    push_terms: Terms,
    shelf: Shelf,
    /// The sources that have pushed, by their names.
    pushers: HashMap<Arc<str>, SourceNumber>,
    waiting: Vec<Waiting>,
    changes: Vec<Change>,
    /// When the first was received of what has been applied since the last publication.
    oldest: Option<Micros>,
}

struct Waiting {
    channel: String,
    at_least: Seq,
    reply: oneshot::Sender<Option<Image>>,
}

impl Writer {
    async fn run(mut self, ends: Ends) {
        let Ends { mut inputs, mut requests } = ends;
        let mut tick = tokio::time::interval(Duration::from_millis(250));
        let mut shelve = tokio::time::interval(SHELVE_EVERY);
        shelve.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // `feeds` is there before anybody can ask for it.
        self.tick();
        let mut stepped = clock::stepped();
        loop {
            let mut question = None;
            let due = [self.hub.lanes_due(), self.hub.feeds_late_at()].into_iter().flatten().min();
            tokio::select! {
                Some(request) = requests.recv() => question = Some(request),
                Some(input) = inputs.recv() => self.input(input),
                _ = tick.tick() => self.tick(),
                _ = shelve.tick() => self.shelve(),
                () = until(due.unwrap_or_default()), if due.is_some() => {}
            }
            let ready = || inputs.try_recv().ok();
            iter::from_fn(ready).take(INPUTS_A_TURN).for_each(|input| self.input(input));
            // Nobody was silent for as long as the clock has jumped.
            let total = clock::stepped();
            self.hub.clock_jumped(total - mem::replace(&mut stepped, total), now());
            // Who still has something waiting here has not been silent.
            if inputs.is_empty() {
                self.hub.check_feeds(now(), &mut self.changes);
            }
            self.flush_lanes();
            self.publish();
            self.decisions.take_from(self.hub.identity());
            let ready = || requests.try_recv().ok();
            let mut spent = 0;
            for request in question.into_iter().chain(iter::from_fn(ready)).take(QUESTIONS_A_TURN) {
                let Some(work) = self.request(request) else {
                    self.shelve();
                    return;
                };
                spent += work;
                if spent >= QUESTION_WORK_A_TURN {
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
        gauge!("matchwire_lanes").set(count(self.hub.lanes()));
        for source in self.hub.sources() {
            for feed in Feed::ALL {
                let is_so = f64::from(u8::from(source.state == feed));
                gauge!("matchwire_feed_state", "source" => source.name.to_string(), "state" => feed.as_str())
                    .set(is_so);
            }
        }
    }

    /// Lays out what has changed for those who read, and for the archive.
    fn shelve(&mut self) {
        let now = now();
        self.shelf.signals.put(&self.hub.take_signals());
        self.shelf.inbox.put(&self.hub.take_parted(), &[], now);
        let (changed, gone) = self.hub.take_changed(now);
        self.shelf.inbox.put(&changed, &gone, now);
        self.shelf.reader.show(&changed, &gone);
    }

    /// What is due by now goes out with what was just applied, merged with it where it may be.
    fn flush_lanes(&mut self) {
        if self.hub.lanes_due().is_some() {
            self.hub.flush_lanes(now(), &mut self.changes);
        }
    }

    fn input(&mut self, input: Input) {
        match input {
            Input::Batch { source, batch, received } => self.batch(source, &batch, received),
            Input::Batches { source, batches, received } => {
                batches.iter().for_each(|batch| self.batch(source, batch, received));
            }
            Input::Pushed(pushed) => self.pushed(*pushed),
            Input::Refused { source, refusal } => self.refused(source, &refusal),
            Input::Health { source, health } => {
                self.hub.source_is(source, &health, now(), &mut self.changes);
            }
            Input::Heard { source, received } => {
                self.hub.source_heard(source, received, now(), &mut self.changes);
            }
            Input::Ended { source } => {
                self.hub.source_ended(source, now(), &mut self.changes);
            }
            Input::Restarted { source } => {
                self.hub.source_restarted(source, now(), &mut self.changes);
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

    fn pushed(&mut self, pushed: Pushed) {
        let Pushed { source, received, lines, refusals, reply } = pushed;
        let source = self.pusher(&source);
        self.oldest.get_or_insert(received);
        for refusal in &refusals {
            self.refused(source, refusal);
        }
        let mut verdicts = Vec::with_capacity(lines.len());
        for push::Line { batch, place, bytes } in lines {
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
        // Whoever pushed may have gone.
        drop(reply.send(verdicts));
    }

    /// The source that pushes under this name. Where one of another kind has the name, it gets
    /// another.
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
        self.hub.refused(source);
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
        self.serve_waiting();
        // The allocation is kept for the next turn.
        self.changes = changes;
        self.changes.clear();
    }

    /// Answers a question. Returns what it cost, or nothing when it is the last.
    fn request(&mut self, request: Request) -> Option<usize> {
        match request {
            Request::FanOut(ShardRequest { requester, request }) => {
                let mut work = Work::up_to(QUESTION_WORK);
                let answer = self.hub.answer_within(&request, &mut work);
                self.fanout.respond(requester, answer, work.spent);
                return Some(work.spent);
            }
            Request::Image { channel, at_least, reply } => {
                self.waiting.push(Waiting { channel, at_least, reply });
                self.serve_waiting();
            }
            Request::Order(order) => {
                self.hub.order(&order, now(), &mut self.changes);
                self.publish();
            }
            Request::Stop => return None,
        }
        Some(0)
    }

    fn serve_waiting(&mut self) {
        let too_many = self.waiting.len() > WAITING_MAX;
        for waiting in mem::take(&mut self.waiting) {
            if waiting.reply.is_closed() {
                continue;
            }
            match self.hub.image_of(&waiting.channel) {
                Some(image) if image.seq < waiting.at_least && !too_many => {
                    self.waiting.push(waiting);
                }
                // Whoever asked may have gone.
                image => drop(waiting.reply.send(image)),
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
