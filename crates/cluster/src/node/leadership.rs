//! A node that has joined: feeds the hub from the stream while another node leads, and takes the lead when none does.
//!
//! Time is measured by the node's own monotonic clock. It decides only when a node tries; whether it leads is decided
//! by the stream, which takes one message behind each other.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use base::{Micros, clock::now};
use hub::{HubSettings, pipeline::DriverInput, signals::SignalSettings};
use log::RecordSource;
use metrics::{counter, gauge};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tracing::{info, warn};

use super::{
    Cluster, ClusterFailure, FORMATS, JoinedNode,
    isolation::ClientService,
    join::{StreamPosition, append_term},
    leader_view::LeaderView,
    readers::ReadIndex,
};
use crate::{
    AppendError, Beat, BeatSender, Body, CLOCK_UNFIT_US, Following, Message, NodeOrder, NodeParts,
    PeerError, PeerRequest, StreamError, Unready, node_log::HeldTerm,
};

/// How often it looks whether the leader is silent.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// After this time without a record the leader is asked whether it is there. It makes one every 100 ms.
const SILENT_AFTER: Duration = Duration::from_millis(200);

/// How often in a row nobody must have answered for the leader until a node tries to lead.
const AWAY_MIN: u32 = 3;

/// A node says that its clock is wrong from this difference to the other nodes' on, in microseconds.
const CLOCK_WRONG_US: Micros = 100_000;

/// How long an answer of the stream is waited for before the next look.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

type Orders = mpsc::Receiver<NodeOrder>;

/// A node that runs.
pub(super) struct Node {
    cluster: Cluster,
    reached: StreamPosition,
    leads: bool,
    records: Arc<dyn RecordSource>,
    parts: NodeParts,
    /// The hub's settings from the moment it leads.
    settings: HubSettings,
    signals: SignalSettings,
    /// Tells whether the node leads, and its sources run.
    leading: watch::Sender<bool>,
    is_clock_wrong: bool,
    beat_state: Arc<Mutex<BeatState>>,
    clients: ClientService,
    /// Tells that the node has what the stream had when it began to follow, or leads.
    caught_up: Option<oneshot::Sender<()>>,
}

/// What the node's beats say of it.
#[derive(Debug, Clone, Copy, Default)]
struct BeatState {
    reached: StreamPosition,
    leads: bool,
    is_stale: bool,
}

impl Node {
    pub(super) fn new(
        joined: JoinedNode,
        parts: NodeParts,
        clients: ClientService,
        leading: watch::Sender<bool>,
        caught_up: oneshot::Sender<()>,
    ) -> Self {
        let JoinedNode { cluster, reached, leads, records, settings, signals } = joined;
        Self {
            cluster,
            reached,
            leads,
            records,
            parts,
            settings,
            signals,
            leading,
            is_clock_wrong: false,
            beat_state: Arc::default(),
            clients,
            caught_up: Some(caught_up),
        }
    }

    /// Runs until the process stops or the node cannot go on.
    pub(super) async fn run(mut self, mut orders: Orders) -> Result<(), ClusterFailure> {
        self.show(false);
        let _beats = BeatSender::start(&self.cluster.stream, self.beats());
        loop {
            let is_over = if self.leads {
                self.lead(&mut orders).await?
            } else {
                self.follow(&mut orders).await?
            };
            if is_over {
                return Ok(());
            }
        }
    }

    /// Feeds the hub from the stream until the node leads. Returns true when the process stops.
    async fn follow(&mut self, orders: &mut Orders) -> Result<bool, ClusterFailure> {
        let mut following = self.cluster.stream.follow(self.reached.seq).await?;
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut view = self.initial_view().await;
        let mut probing: Option<JoinHandle<bool>> = None;
        let waiting = self.parts.handle.waiting_readers.clone();
        let mut readers = ReadIndex::new(following.end_reader(), waiting);
        // What was made while the node restored its state.
        let mut end = None;
        loop {
            self.show(view.is_stale);
            tokio::select! {
                followed = following.recv() => {
                    let followed = followed?;
                    view.note(Instant::now());
                    if let Body::Term { formats, .. } = followed.message.body
                        && formats != FORMATS
                    {
                        return Err(ClusterFailure::OtherFormats(followed.message.node));
                    }
                    view.read(&followed.message, &self.cluster.node);
                    if let Some(records) = self.reached.advance(&followed)? {
                        self.drive(DriverInput::Records(records)).await?;
                    }
                    // The answer to its append was lost.
                    if matches!(followed.message.body, Body::Term { .. })
                        && *followed.message.node == *self.cluster.node
                    {
                        self.take_lead().await?;
                        return Ok(false);
                    }
                    view.has(self.reached.seq);
                    self.answer(&mut readers, &following).await?;
                }
                awaited = readers.next() => {
                    if awaited.seq > self.reached.seq {
                        following.note_end(awaited.seq);
                    }
                    self.answer(&mut readers, &following).await?;
                }
                () = self.cluster.beats.changed() => {
                    self.compare_clocks();
                    let beats = self.cluster.beats.all();
                    let echo = beats.iter().find(|it| *it.beat.node == *self.cluster.node);
                    view.echo_at = echo.map(|received| received.beat.at).or(view.echo_at);
                    if let Some(leader) = self.cluster.beats.leader()
                        && leader.beat.term >= self.reached.term
                    {
                        if leader.beat.formats != FORMATS {
                            return Err(ClusterFailure::OtherFormats(leader.beat.node));
                        }
                        view.beat(&leader.beat, leader.at, self.reached.seq);
                        following.note_end(leader.beat.seq);
                    }
                }
                _ = look.tick() => {
                    if self.caught_up.is_some() {
                        self.catch_up(&following, &mut end).await;
                    }
                    self.answer(&mut readers, &following).await?;
                    self.look(&mut view);
                    self.clients.look(view.at.elapsed(), view.is_stale).await;
                    if let Some(probe) = probing.take_if(|probe| probe.is_finished()) {
                        let is_away = probe.await.unwrap_or(false);
                        view.away = if is_away { view.away + 1 } else { 0 };
                    }
                    if probing.is_none() {
                        probing = self.probe(&view);
                    }
                    if self.is_due(&view) && self.try_to_lead(&following, &view).await? {
                        return Ok(false);
                    }
                }
                order = orders.recv() => match order {
                    None => return Ok(true),
                    Some(NodeOrder::HandOver { reply, .. }) => {
                        // The requester may be gone.
                        reply.send(Err("this node does not lead".to_owned())).ok();
                    }
                    Some(NodeOrder::Drain { ends }) => self.clients.drain(ends),
                }
            }
        }
    }

    async fn drive(&self, input: DriverInput) -> Result<(), ClusterFailure> {
        self.parts.handle.driver.send(input).await.map_err(|_| ClusterFailure::Stopped)
    }

    /// Informs the hub that readers need to wait no longer, if that is so.
    async fn answer(
        &self,
        readers: &mut ReadIndex,
        following: &Following,
    ) -> Result<(), ClusterFailure> {
        match readers.take_answered(following.end_behind(self.reached.seq)) {
            Some(last) => self.drive(DriverInput::CaughtUp(last)).await,
            None => Ok(()),
        }
    }

    /// What the last message says that the node has: perhaps its leader has left while the node joined.
    async fn initial_view(&self) -> LeaderView {
        let Cluster { stream, node, .. } = &self.cluster;
        let mut view = LeaderView::new();
        if let Ok(Ok(Some(last))) = timeout(ANSWER_WITHIN, stream.read(self.reached.seq)).await {
            view.read(&last.message, node);
        }
        view
    }

    /// Notes whether the node has what the stream had when this was first called.
    async fn catch_up(&mut self, following: &Following, last: &mut Option<u64>) {
        if last.is_none()
            && let Ok(Ok(end)) = timeout(ANSWER_WITHIN, following.end_reader().current()).await
        {
            *last = Some(end.last);
        }
        if last.is_some_and(|last| following.end_behind(self.reached.seq) >= last) {
            self.tell_caught_up();
        }
    }

    fn tell_caught_up(&mut self) {
        if let Some(caught_up) = self.caught_up.take() {
            // The process may be stopping.
            caught_up.send(()).ok();
        }
    }

    /// Tells clients when what they have may be old.
    fn look(&self, view: &mut LeaderView) {
        // On a slow connection beats of the leader are as late as what they tell of.
        let echo_age = view.echo_at.map_or(0, |at| now() - at);
        let echo_age = Duration::from_micros(u64::try_from(echo_age).unwrap_or(0));
        let silent = view.complete_at.elapsed().max(echo_age);
        let is_stale = silent > Duration::from_millis(self.cluster.config.stale_ms);
        if is_stale != view.is_stale {
            view.is_stale = is_stale;
            let since = is_stale.then(|| now() - micros(silent));
            self.parts.fanout.set_stale(since);
            gauge!("matchwire_cluster_stale").set(f64::from(u8::from(is_stale)));
        }
    }

    /// Asks whether the silent leader is there. If its process has ended, the server says at once that nobody
    /// answers.
    fn probe(&self, view: &LeaderView) -> Option<JoinHandle<bool>> {
        if !self.cluster.config.role.may_lead() || view.at.elapsed() < SILENT_AFTER {
            return None;
        }
        let (peers, leader) = (self.cluster.peers.clone(), view.leader.clone()?);
        Some(tokio::spawn(async move {
            matches!(peers.ask(&leader, &PeerRequest::Ping).await, Err(PeerError::Away { .. }))
        }))
    }

    /// Says when the clock of this node differs from those of the others, and when it no longer does.
    fn compare_clocks(&mut self) {
        let offset = self.clock_offset();
        gauge!("matchwire_cluster_clock_offset_seconds").set(offset as f64 / 1e6);
        let is_wrong = offset.abs() >= CLOCK_WRONG_US;
        if is_wrong != self.is_clock_wrong {
            self.is_clock_wrong = is_wrong;
            let offset_ms = offset / 1_000;
            if is_wrong {
                warn!(offset_ms, "the clock of this node differs from those of the other nodes");
            } else {
                info!(offset_ms, "the clock of this node is that of the other nodes again");
            }
        }
    }

    /// By how many microseconds this node's clock is ahead of those of the others, as far as that can be said.
    fn clock_offset(&self) -> Micros {
        self.cluster.beats.clock_offset(&self.cluster.node).unwrap_or(0)
    }

    /// Whether the node should try to lead.
    fn is_due(&self, view: &LeaderView) -> bool {
        let lease = Duration::from_millis(self.cluster.config.lease_ms);
        self.cluster.config.role.may_lead()
            && self.clock_offset().abs() < CLOCK_UNFIT_US
            && self.parts.log_state.refused_since().is_none()
            && (view.is_called || view.away >= AWAY_MIN || view.at.elapsed() > lease)
    }

    /// Appends a term behind what the node has. Returns whether it leads.
    async fn try_to_lead(
        &mut self,
        following: &Following,
        view: &LeaderView,
    ) -> Result<bool, ClusterFailure> {
        let Cluster { stream, node, .. } = &self.cluster;
        let Ok(Ok(end)) = timeout(ANSWER_WITHIN, stream.end()).await else { return Ok(false) };
        // Parts of records whose leader ended before it appended the rest.
        let seq = following.end_behind(self.reached.seq);
        if end.last > seq {
            // There is something to apply first, and perhaps the leader lives.
            following.note_end(end.last);
            return Ok(false);
        }
        let term = self.reached.term + 1;
        match append_term(stream, seq, term, node, self.reached.position).await {
            Ok(seq) => {
                (self.reached.seq, self.reached.term) = (seq, term);
                let silent_ms = view.at.elapsed().as_millis();
                info!(term, silent_ms, "this node leads");
                self.take_lead().await?;
                Ok(true)
            }
            Err(AppendError::Refused { last, .. }) if last < self.reached.seq => {
                Err(StreamError::Lost { seen: self.reached.seq, last }.into())
            }
            // Another node was faster, or the answer was lost. The stream tells which.
            Err(AppendError::Refused { last, .. }) => {
                following.note_end(last);
                Ok(false)
            }
            Err(_) => Ok(false),
        }
    }

    /// The stream has the node's term at its end.
    async fn take_lead(&mut self) -> Result<(), ClusterFailure> {
        let StreamPosition { seq, term, .. } = self.reached;
        self.cluster.lead.take(HeldTerm { term, seq });
        self.cluster.fence.lead(&self.cluster.stream.identity(), term, false);
        let (reply, leads) = oneshot::channel();
        let (settings, signals) = (self.settings, self.signals.clone());
        self.drive(DriverInput::Lead { settings, signals, reply }).await?;
        leads.await.map_err(|_| ClusterFailure::Stopped)?;
        self.leads = true;
        self.parts.fanout.set_stale(None);
        self.clients.is_back();
        self.leading.send_replace(true);
        counter!("matchwire_cluster_takeovers_total").increment(1);
        Ok(())
    }

    /// Leads until the node hands over. Returns true when the process stops.
    async fn lead(&mut self, orders: &mut Orders) -> Result<bool, ClusterFailure> {
        self.show(false);
        self.tell_caught_up();
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (to, reply) = loop {
            tokio::select! {
                () = self.cluster.beats.changed() => self.compare_clocks(),
                _ = look.tick() => self.clients.look_as_leader().await,
                order = orders.recv() => match order {
                    None => break (String::new(), None),
                    Some(NodeOrder::HandOver { to, reply }) => break (to, Some(reply)),
                    Some(NodeOrder::Drain { ends }) => self.clients.drain(ends),
                }
            }
        };
        let stops = reply.is_none();
        let handed = self.hand_over(to).await;
        if let Some(reply) = reply {
            // The requester may be gone.
            reply.send(handed.as_ref().map(|_| ()).map_err(ToString::to_string)).ok();
        }
        handed?;
        Ok(stops)
    }

    /// Stops the sources, waits until all that they told is in the log, and gives up the lead.
    async fn hand_over(&mut self, to: String) -> Result<(), ClusterFailure> {
        self.leading.send_replace(false);
        let (reply, yielded) = oneshot::channel();
        self.drive(DriverInput::Yield(reply)).await?;
        yielded.await.map_err(|_| ClusterFailure::Stopped)?;
        let Some(HeldTerm { term, seq }) = self.cluster.lead.give_up() else { return Ok(()) };
        self.leads = false;
        self.reached = StreamPosition { seq, term, position: self.records.end() };
        info!(term, to, "this node hands the lead over");
        let Cluster { stream, node, .. } = &self.cluster;
        let body = Body::HandOver { position: self.reached.position, to };
        let message = Message { term, node: node.to_string(), body };
        match stream.append(seq, &message, &format!("{node}-{term}-hand-over")).await {
            Ok(seq) => self.reached.seq = seq,
            // The others notice that nobody leads.
            Err(error) => {
                warn!(error = &error as &dyn std::error::Error, "the others are not told of it");
            }
        }
        Ok(())
    }

    /// Notes what the node's beats say.
    fn show(&self, is_stale: bool) {
        let beat_state = BeatState { reached: self.reached, leads: self.leads, is_stale };
        *self.beat_state.lock().unwrap_or_else(PoisonError::into_inner) = beat_state;
    }

    /// Makes the beats that tell the other nodes how far this one is.
    fn beats(&self) -> impl Fn() -> Beat + Send + use<> {
        let (node, role) = (self.cluster.node.to_string(), self.cluster.config.role);
        let (lead, records) = (self.cluster.lead.clone(), Arc::clone(&self.records));
        let (parts, beat_state) = (self.parts.clone(), Arc::clone(&self.beat_state));
        move || {
            let BeatState { reached, leads, is_stale } =
                *beat_state.lock().unwrap_or_else(PoisonError::into_inner);
            let (end, held) = (records.end(), lead.get());
            let term = held.map_or(reached.term, |held| held.term);
            parts.health.set(Unready::Behind, is_stale);
            let drained = parts.health.has(Unready::Drained);
            let refused = leads && parts.log_state.refused_since().is_some();
            let lag_ms =
                if leads { 0 } else { u64::try_from((now() - end.at) / 1000).unwrap_or(0) };
            gauge!("matchwire_cluster_leads").set(f64::from(u8::from(leads)));
            gauge!("matchwire_cluster_term").set(term as f64);
            gauge!("matchwire_cluster_lag_seconds").set(lag_ms as f64 / 1e3);
            Beat {
                node: node.clone(),
                role,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                term,
                leads,
                ready: !is_stale && !drained && !refused,
                drained,
                refused,
                in_sync: true,
                seq: held.map_or(reached.seq, |held| held.seq),
                number: end.number,
                chain: end.chain,
                lag_ms,
                sockets: parts.fanout.sockets() as u64,
                formats: FORMATS,
                at: now(),
            }
        }
    }
}

fn micros(time: Duration) -> Micros {
    Micros::try_from(time.as_micros()).unwrap_or(Micros::MAX)
}
