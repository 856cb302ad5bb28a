//! The writer: the event loop of the one thread that owns the state.
//!
//! Each turn takes the inputs that are ready, applies them, and hands them over with their changes. Then it
//! answers the requests that are ready. The limits of both keep a turn short.

mod driver;
mod pushing;
mod telling;

use std::{
    collections::VecDeque,
    io, iter, mem,
    sync::{Arc, mpsc::SyncSender},
    time::Duration,
};

use base::work::thread_time;
use facts::event::Batch;
use fanout::{
    ChannelId, Micros,
    catch_up::{Cost, HostRequest, HostResponse, Requester, ShardRequest},
};
use ingest::error::{DecodeError, Place, Refusal, RefusalKind};
use log::{EncodedRecords, codec::Decoder};
use metrics::{counter, gauge};
use tokio::time::MissedTickBehavior;

use self::{driver::Driver, pushing::pushers, telling::source_metrics};
use super::{
    DriverInput, HubReceivers, Input, Request,
    clock_steps::ClockSteps,
    delays::FeedDelays,
    documents::{DocumentReaders, DocumentRequest, PendingImage},
    waiting::{LeaderLink, Reader, WaitingReaders},
};
use crate::{
    clock::now,
    commit::{Answer, FollowedTurns, WriterOutput, WriterTurn},
    forward::LegacyUse,
    hub::{
        ApplyError, HubInput,
        feeds::{Source, SourceNumber},
    },
    identity::DecisionWriter,
    log_state::LogState,
    push::{self, PushDeadlines, PushOrder},
    quarantine::Quarantine,
    sources::states::StateHistory,
    supervisor::fault,
    trace::{StepKind, TracedMessage, Tracer},
    turn::{self, TurnBuilder},
};

/// Maximum inputs taken before publishing and answering requests: enough to share the cost of a
/// turn, few enough to keep a turn below a millisecond.
pub(super) const INPUTS_PER_TURN: usize = 64;

/// Maximum facts of a turn with several batches. Without it, a turn of large messages would be a record of hundreds
/// of megabytes.
const FACTS_PER_TURN: usize = 20_000;

/// Maximum requests answered per turn: a storm of joins must not delay publication.
const QUESTIONS_PER_TURN: usize = 64;

/// The cost limit (see [`WorkBudget`](crate::catch_up::WorkBudget)) of all questions of a turn, and of a single one: about 0.1
/// ms or less. Without it, clients that request faster than they are answered would keep a turn from
/// ending, and clients far behind would make it long.
const QUESTION_WORK_PER_TURN: usize = 128 * 1024;
const QUESTION_WORK: usize = 64 * 1024;

/// The processor time after which a turn answers no further question.
const QUESTION_TIME_PER_TURN: Duration = Duration::from_millis(1);

/// The interval of the work that is due by time alone. It also bounds how long the history waits for the
/// last change before a pause.
const TICK_EVERY: Duration = Duration::from_millis(100);

/// Decisions of identity that a hub keeps while another one leads: those that the leader may not have written yet.
const DECISIONS_KEPT: usize = 4_096;

/// The state of the hub, and everything that the event loop works with.
pub(super) struct Writer {
    builder: TurnBuilder,
    quarantine: Quarantine,
    decisions: DecisionWriter,
    states: StateHistory,
    push_deadlines: PushDeadlines,
    push_order: PushOrder,
    outputs: SyncSender<WriterOutput>,
    /// Those since the last output.
    answers: Vec<Answer>,
    documents: DocumentReaders,
    /// The earliest receive time of the inputs applied since the last turn.
    oldest: Option<Micros>,
    delays: FeedDelays,
    tracer: Option<Tracer>,
    /// Those of the current turn.
    traced: Vec<TracedMessage>,
    driver: Driver,
    /// For the driver that follows.
    link: LeaderLink,
    decoder: Decoder,
    /// Readers that do not wait for the leader any more, in the order in which they came.
    due: VecDeque<(HostRequest, Reader)>,
}

impl Writer {
    pub(super) fn new(
        builder: TurnBuilder,
        quarantine: Quarantine,
        (decisions, states): (DecisionWriter, StateHistory),
        push_deadlines: PushDeadlines,
        outputs: SyncSender<WriterOutput>,
        leads: bool,
        link: LeaderLink,
    ) -> io::Result<Self> {
        let mut driver = Driver::Following(WaitingReaders::new(link.clone()));
        if leads {
            driver.lead(pushers(&builder.hub, push_deadlines));
        }
        Ok(Self {
            push_order: PushOrder::default(),
            builder,
            quarantine,
            decisions,
            states,
            push_deadlines,
            outputs,
            answers: Vec::new(),
            documents: DocumentReaders::new(thread_time),
            oldest: None,
            delays: FeedDelays::default(),
            tracer: None,
            traced: Vec::new(),
            driver,
            link,
            decoder: Decoder::new()?,
            due: VecDeque::new(),
        })
    }

    /// Traces the messages that this tracer chooses.
    pub(super) fn trace_with(&mut self, tracer: Option<Tracer>) {
        self.tracer = tracer;
    }

    /// While the log refuses records, inputs wait and requests are answered.
    pub(super) async fn run(mut self, receivers: HubReceivers, log_state: LogState) {
        let HubReceivers { mut inputs, mut requests, mut driver, leadership, .. } = receivers;
        let mut tick = tokio::time::interval(TICK_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Creates `feeds` before any request can reach it.
        self.tick();
        let mut clock_steps = ClockSteps::new();
        loop {
            let mut question = None;
            let takes_inputs = log_state.refused_since().is_none();
            let hub = &self.builder.hub;
            let late_at = hub.feeds_late_at().filter(|_| self.driver.leads());
            let due = [hub.tiers_due(), late_at].map(|due| due.filter(|_| takes_inputs));
            let due = due.into_iter().chain([self.documents.due()]).flatten().min();
            tokio::select! {
                Some(request) = requests.recv() => question = Some(request),
                Some(input) = inputs.recv(), if takes_inputs => self.input(input),
                // A leader takes the order to follow.
                Some(input) = driver.recv(), if takes_inputs || self.driver.leads() => {
                    let follows = matches!(input, DriverInput::Records(_));
                    self.drive(input);
                    leadership.set(self.driver.leads(), follows);
                }
                _ = tick.tick() => if takes_inputs { self.tick() } else { self.end_waits() },
                () = std::future::ready(()), if !self.due.is_empty() => {}
                () = until(due.unwrap_or_default()), if due.is_some() => {}
            }
            if takes_inputs {
                let ready = || inputs.try_recv().ok();
                iter::from_fn(ready).take(INPUTS_PER_TURN).for_each(|input| self.input(input));
                self.finish_inputs(clock_steps.report(), inputs.is_empty());
            }
            let now = self.time();
            for request in self.documents.take_due(now) {
                self.answer_request(request);
            }
            let mut spent = Cost::default();
            for _ in 0..QUESTIONS_PER_TURN {
                let work = if let Some(request) = question.take() {
                    self.request(request)
                } else if let Some((request, reader)) = self.due.pop_front() {
                    Some(self.admit(DocumentRequest::Response { request, reader }))
                } else if let Ok(request) = requests.try_recv() {
                    self.request(request)
                } else {
                    break;
                };
                let Some(work) = work else { return self.hand_over_answers() };
                spent = spent + work;
                if spent.bytes >= QUESTION_WORK_PER_TURN || spent.used >= QUESTION_TIME_PER_TURN {
                    break;
                }
            }
            self.hand_over_answers();
        }
    }

    /// Ends a turn. `by`: how far the clock has jumped forward; `has_all`: no input waits.
    fn finish_inputs(&mut self, by: Micros, has_all: bool) {
        let now = self.time();
        if self.driver.leads() {
            // A jump of the clock is not silence of a source.
            if by > 0 {
                self.builder.take(HubInput::ClockJumped { by, now });
            }
            // A source with inputs waiting here is not silent.
            let late_at = self.builder.hub.feeds_late_at();
            if has_all && late_at.is_some_and(|late| late <= now) {
                self.builder.take(HubInput::CheckFeeds { now });
            }
        }
        self.flush_tiers();
        self.end_turn();
    }

    /// The time of the next input.
    fn time(&self) -> Micros {
        self.builder.time(now())
    }

    fn tick(&mut self) {
        fault::point();
        let now = self.time();
        match &mut self.driver {
            Driver::Leading(_) => {
                for id in self.builder.hub.idle_legacy(now) {
                    self.builder.take(HubInput::CloseLegacy { id });
                }
                self.renew_deadlines(now);
                self.builder.take(HubInput::Tick { now });
            }
            Driver::Following(waiting) => {
                let hub = &mut self.builder.hub;
                hub.identity().keep_newest_decisions(DECISIONS_KEPT);
                self.due.extend(waiting.end_waits(hub, now));
                waiting.keep_open(hub, now);
            }
        }
        let hub = &self.builder.hub;
        self.quarantine.sweep(now);
        gauge!("matchwire_matches").set(count(hub.matches()));
        gauge!("matchwire_channels").set(count(hub.channels.len()));
        gauge!("matchwire_lanes").set(count(hub.tiers()));
        source_metrics(hub, now);
    }

    /// Flushes the rate tiers that are due together with what was just applied, merged where possible.
    fn flush_tiers(&mut self) {
        let TurnBuilder { hub, changes, .. } = &mut self.builder;
        if hub.tiers_due().is_some() {
            hub.flush_tiers(now(), changes);
        }
    }

    /// Follows another hub, or leads.
    fn drive(&mut self, input: DriverInput) {
        match input {
            DriverInput::Records(records) => self.follow(records),
            DriverInput::Lead { settings, signals, reply } => {
                self.push_order.lead(self.time());
                self.builder.hub.forget_idle_times();
                let hub = &self.builder.hub;
                if (hub.settings(), hub.signal_settings()) != (settings, signals.clone()) {
                    self.builder.take(HubInput::Settings { settings, signals });
                }
                // The pushing sources that the leader before had.
                let pushers = pushers(&self.builder.hub, self.push_deadlines);
                self.due.extend(self.driver.lead(pushers));
                // The requester may be gone.
                reply.send(()).ok();
            }
            DriverInput::Yield(reply) => {
                self.end_turn();
                self.driver.follow(&self.link);
                self.answer(Answer::Yielded(reply));
            }
            DriverInput::CaughtUp(readers) => {
                if let Some(waiting) = self.driver.waiting() {
                    waiting.note_included(readers);
                }
                self.end_waits();
                self.serve_pending_images();
            }
        }
    }

    /// Applies records that the leader has committed. If they cannot be applied, or something else comes of them,
    /// the state is not the leader's, and the part fails: a start then takes the state of another node.
    fn follow(&mut self, encoded: EncodedRecords) {
        // What was merged for lower rates comes before.
        self.end_turn();
        let at = self.time().min(encoded.end().at);
        if let Some(waiting) = self.driver.waiting() {
            waiting.note_followed(at);
        }
        let records = encoded.decode(&mut self.decoder);
        let records =
            records.unwrap_or_else(|problem| panic!("cannot follow the leader: {problem}"));
        let mut turns = Vec::with_capacity(records.len());
        for record in records {
            let inputs = turn::inputs(&record);
            let inputs =
                inputs.unwrap_or_else(|problem| panic!("cannot follow the leader: {problem}"));
            for input in inputs {
                if let HubInput::Batch { source, batch, .. } = &input
                    && self.builder.hub.sources()[source.0].kind == push::KIND
                {
                    self.push_order.follow(*source, batch);
                }
                self.builder.take(input);
            }
            let Some(turn) = self.builder.end(record.at) else { continue };
            assert!(
                turn::is_numbered_as(&turn.changes, &record.outputs),
                "this node numbers the updates of record {} differently than the leader",
                record.number
            );
            turns.push((record, turn));
        }
        self.hand_over(WriterOutput::Followed(FollowedTurns { encoded, turns }));
        self.serve_pending_images();
        self.end_waits();
    }

    fn input(&mut self, input: Input) {
        // A source tells the leader again, and who pushes is answered that this hub does not lead.
        if !self.driver.leads() {
            return;
        }
        match input {
            Input::Hub(HubInput::Batch { source, batch, received, .. }) => {
                self.batch(source, batch, received);
            }
            Input::Hub(input) => {
                let now = self.time();
                self.builder.take(input.at(now));
            }
            Input::Batches { source, batches, received } => {
                batches.into_iter().for_each(|batch| self.batch(source, batch, received));
            }
            Input::Push(pushed) => self.pushed(*pushed),
            Input::Refused { source, refusal } => self.refused(source, &refusal),
            Input::Committed { source, reply } => {
                self.end_turn();
                let last = self.builder.hub.sources()[source.0].last;
                self.answer(Answer::Committed(reply, last));
            }
        }
    }

    fn batch(&mut self, source: SourceNumber, batch: Batch, received: Micros) {
        for error in self.apply(source, batch, received) {
            let name = &self.builder.hub.sources()[source.0].name;
            let location = Place { file: Arc::clone(name), line: 0 };
            let error = DecodeError::new(RefusalKind::Unknown, error.to_string());
            self.refused(source, &Refusal::new(error, location, &[]));
        }
    }

    fn apply(&mut self, source: SourceNumber, batch: Batch, received: Micros) -> Vec<ApplyError> {
        let now = self.time();
        if self.builder.facts() + batch.events.len() > FACTS_PER_TURN {
            self.end_turn();
        }
        self.oldest.get_or_insert(received);
        counter!("matchwire_batches_total").increment(1);
        let sender = &self.builder.hub.sources()[source.0];
        self.delays.record((source, sender), &batch, received);
        let tracer = self.tracer.as_mut();
        let traced = tracer.and_then(|tracer| tracer.begin(&sender.name, &batch, received));
        let errors = self.builder.take(HubInput::Batch { source, batch, received, now });
        if let Some(mut traced) = traced {
            traced.ended(StepKind::Apply, now);
            self.traced.push(traced);
        }
        errors
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
        self.tell_turns();
        let oldest = self.oldest.take();
        if let Some(turn) = self.builder.end(now()) {
            let has_changes = !turn.changes.is_empty();
            let identity = self.builder.hub.identity();
            let decisions =
                self.driver.leads().then(|| self.decisions.take_from(identity)).flatten();
            let traced = mem::take(&mut self.traced);
            self.hand_over(WriterOutput::Turn(WriterTurn { turn, oldest, decisions, traced }));
            if has_changes {
                self.serve_pending_images();
            }
        }
    }

    /// Answers after the outputs so far, and before the next one.
    fn answer(&mut self, answer: Answer) {
        self.answers.push(answer);
    }

    fn hand_over(&mut self, output: WriterOutput) {
        self.hand_over_answers();
        // The committer is gone if it has failed or another node leads, and then the hub stops.
        self.outputs.send(output).ok();
    }

    /// Hands the answers of the turn over together, so that the committer and the shards wake once.
    fn hand_over_answers(&mut self) {
        if !self.answers.is_empty() {
            self.outputs.send(WriterOutput::Answers(mem::take(&mut self.answers))).ok();
        }
    }

    /// Answers a request. Returns its cost, or `None` if it is the last one.
    fn request(&mut self, request: Request) -> Option<Cost> {
        match request {
            Request::FanOut(ShardRequest { requester, request }) => {
                return Some(self.respond_to(Reader::FanOut(requester), request));
            }
            Request::Image { channel, at_least: 0, reply, .. } => {
                return Some(self.admit(DocumentRequest::Image { channel, reply }));
            }
            Request::Image { channel, at_least, payer, reply } => {
                let number = self.driver.waiting().map_or(0, |waiting| waiting.number());
                let pending = PendingImage { channel, at_least, number, payer, reply };
                let oldest = self.documents.add_pending(pending);
                let work = oldest.map_or_else(Cost::default, |request| self.admit(request));
                return Some(work + self.serve_pending_images());
            }
            Request::Channels(reply) => {
                let entries = self.builder.hub.all_channels();
                let names = entries.map(|entry| entry.sequence.channel.name.clone());
                // The requester may be gone.
                reply.send(names.collect()).ok();
            }
            Request::CatchUp { request, reply } => {
                return Some(self.respond_to(Reader::Process(reply), request));
            }
            // Only the leader does these. The database still has an order for it, and who asks for a source learns that the
            // reply is gone.
            Request::Order(_)
            | Request::KeepLegacy(_)
            | Request::Source { .. }
            | Request::Facts { .. }
            | Request::RetireOthers(_)
                if !self.driver.leads() => {}
            Request::Order(order) => {
                let now = self.time();
                self.builder.take(HubInput::Order { order, now });
                self.end_turn();
            }
            Request::KeepLegacy(uses) => {
                for LegacyUse { channel, book } in uses {
                    let (channel, now) = (ChannelId::new(channel), self.time());
                    let open = self.builder.hub.legacy_to_open(&channel, book.as_ref());
                    if let Some(open) = open {
                        self.builder.take(open);
                    }
                    self.builder.hub.keep_legacy(&channel, now);
                }
                self.end_turn();
            }
            Request::Facts { source, reply } => {
                // The requester may be gone.
                reply.send(self.builder.hub.source_facts(source)).ok();
            }
            Request::Source { name, kind, policy, health, reply } => {
                let now = self.time();
                self.builder.take(HubInput::Source { name: Arc::clone(&name), kind, policy });
                let number = self.builder.hub.source_number(&name, kind);
                let source = number.expect("it was registered above");
                if let Some(health) = health {
                    self.builder.take(HubInput::Health { source, health, now });
                }
                self.end_turn();
                // The requester may be gone.
                reply.send(source).ok();
            }
            Request::RetireOthers(ours) => {
                let now = self.time();
                for input in self.builder.hub.retire_others(&ours, now) {
                    self.builder.take(input);
                }
                self.end_turn();
            }
            Request::Stop => return None,
        }
        Some(Cost::default())
    }

    /// Answers a request, now or when the leader has done what it needs. Returns the cost.
    fn respond_to(&mut self, reader: Reader, request: HostRequest) -> Cost {
        let (now, requester) = (self.time(), reader.requester());
        let admitted = match self.driver.waiting() {
            None => Some((request, reader)),
            Some(waiting) => waiting.admit(&self.builder.hub, now, request, reader),
        };
        match admitted {
            Some((request, reader)) => self.admit(DocumentRequest::Response { request, reader }),
            None => self.defer(requester),
        }
    }

    /// Answers a request, now or when its document is due. Returns the cost.
    fn admit(&mut self, request: DocumentRequest) -> Cost {
        let requester = request.requester();
        match self.documents.admit(&self.builder.hub, request, now()) {
            Some(request) => self.answer_request(request),
            None => self.defer(requester),
        }
    }

    /// Tells the shard of a reader that waits that others need not.
    fn defer(&mut self, requester: Option<Requester>) -> Cost {
        self.answers.extend(requester.map(Answer::Deferred));
        Cost::default()
    }

    fn answer_request(&mut self, request: DocumentRequest) -> Cost {
        if let DocumentRequest::Response { request: question, .. } = &request
            && let HostRequest::StartGroup { channel, companion, .. } = question
            && let Some(open) = self.builder.hub.legacy_to_open(channel, companion.as_ref())
        {
            // Only the leader opens channels.
            if !self.driver.leads() {
                if let DocumentRequest::Response { reader, .. } = request {
                    self.answer(reader.answer(HostResponse::NotTracked, Cost::default()));
                }
                return Cost::default();
            }
            self.builder.take(open);
            self.end_turn();
        }
        let hub = &mut self.builder.hub;
        let (answer, cost) = self.documents.answer(hub, request, QUESTION_WORK, now());
        self.answer(answer);
        cost
    }

    /// Looks who need not wait any more. They are answered in turn with other requests.
    fn end_waits(&mut self) {
        let now = self.time();
        if let Some(waiting) = self.driver.waiting() {
            self.due.extend(waiting.end_waits(&self.builder.hub, now));
        }
    }

    /// Answers the readers whose channel has reached their sequence. Returns the cost.
    fn serve_pending_images(&mut self) -> Cost {
        let included = self.driver.waiting().map(|waiting| waiting.included());
        let reached = self.documents.take_reached(&self.builder.hub, included);
        reached.into_iter().fold(Cost::default(), |cost, request| cost + self.admit(request))
    }
}

async fn until(due: Micros) {
    let wait = u64::try_from(due - now()).unwrap_or(0);
    tokio::time::sleep(Duration::from_micros(wait)).await;
}

fn count(number: usize) -> f64 {
    number as f64
}
