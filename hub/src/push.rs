//! Pushes: reads lines, drops duplicates, and hands the rest to the hub.
//!
//! Each source's bodies are processed one at a time, so that its lines are applied in order. A push
//! is answered only after the hub has applied it. This module knows neither HTTP nor keys.

mod fingerprints;

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;
use dashmap::DashMap;
use facts::event::Batch;
use fanout::{Fanout, Micros};
use ingest::{
    error::{DecodeError, Place, Refusal, RefusalKind},
    normalize::events::Interpreter,
};
use metrics::counter;
use serde::Serialize;
use tokio::{
    sync::{Mutex, oneshot},
    time::{Instant, timeout, timeout_at},
};

pub use self::fingerprints::Fingerprint;
use self::fingerprints::RecentFingerprints;
use crate::{
    clock::now,
    config::IngestConfig,
    forward::{Forwarded, ForwardedLine, ForwardedPush, LeaderRequest},
    hub::feeds::SourceNumber,
    pipeline::{HubHandle, Input, InputPermit},
};

/// The name of the push format in recordings and the quarantine.
pub const FORMAT: &str = "matchwire-events";

/// The kind of a pushing source on the channel `feeds`.
pub const KIND: &str = "push";

/// Lines handed to the hub at once: enough to share the cost, few enough that a long body does not
/// delay other sources.
const LINES_AT_ONCE: usize = 64;

/// Maximum refusals listed in an answer; all are counted and in the quarantine.
const REFUSALS_LISTED_MAX: usize = 100;

/// A source's lines for the hub, which replies for each line with the error, if any.
#[derive(Debug)]
pub struct PushRequest {
    pub source: Arc<str>,
    pub received: Micros,
    pub lines: Vec<PushedLine>,
    /// Lines that could not be parsed.
    pub refusals: Vec<Refusal>,
    /// Another node of the cluster has received them.
    pub is_forwarded: bool,
    /// Dropped if the lines are not applied.
    pub reply: oneshot::Sender<Vec<Option<String>>>,
}

#[derive(Debug)]
pub struct PushedLine {
    pub batch: Batch,
    pub place: Place,
    pub bytes: Bytes,
    /// `None` if the same line may be news when it comes again.
    pub fingerprint: Option<Fingerprint>,
}

/// The lines of a source that the leader of a cluster remembers. They have to reach back as far as a push is forwarded.
const LINES_REMEMBERED: usize = 50_000;

/// The order in which nodes of a cluster received the pushes of each source, and the lines that the leader has taken.
///
/// A push may be on its way to the leader for seconds. Meanwhile its source may have sent it again to another node, and
/// newer lines after it. Taken then, the older ones would undo the newer. Times of nodes differ as their clocks do, so
/// lines are compared as well: with those that this node has taken, and with those that the leaders before it took.
#[derive(Debug, Default)]
pub(crate) struct PushOrder {
    /// When this node began to lead.
    since: Micros,
    newest: HashMap<SourceNumber, Micros>,
    taken: HashMap<SourceNumber, TakenLines>,
    /// Without a cluster each line comes here directly, and none is remembered.
    is_in_cluster: bool,
}

/// The lines of a source that were taken.
#[derive(Debug)]
struct TakenLines {
    /// By this node, while it led.
    own: RecentFingerprints,
    /// By other leaders. The log has their facts, but neither their ids nor their text.
    followed: RecentFingerprints,
    /// The latest time of a line, by the source's clock.
    newest_at: Micros,
}

impl Default for TakenLines {
    fn default() -> Self {
        let [own, followed] = [(); 2].map(|()| RecentFingerprints::new(LINES_REMEMBERED));
        Self { own, followed, newest_at: Micros::MIN }
    }
}

impl TakenLines {
    /// Whether another leader took these facts, and newer ones after them. Facts of the latest time are none, since a
    /// source whose clock is coarse may repeat them after others of the same time.
    fn has_followed(&self, batch: &Batch) -> bool {
        batch.at.is_some_and(|at| at < self.newest_at)
            && self.followed.holds(Fingerprint::of_batch(batch))
    }
}

impl PushOrder {
    /// This node leads from now on.
    pub(crate) fn lead(&mut self, since: Micros) {
        self.since = since;
        self.newest.clear();
        self.is_in_cluster = true;
    }

    /// Whether a line was taken before.
    pub(crate) fn has_taken(&self, source: SourceNumber, line: &PushedLine) -> bool {
        self.taken.get(&source).is_some_and(|taken| {
            line.fingerprint.is_some_and(|line| taken.own.holds(line))
                || taken.has_followed(&line.batch)
        })
    }

    /// Notes a line that was taken. `at`: its time by the source's clock.
    pub(crate) fn take(
        &mut self,
        source: SourceNumber,
        line: Option<Fingerprint>,
        at: Option<Micros>,
    ) {
        if !self.is_in_cluster {
            return;
        }
        let taken = self.taken.entry(source).or_default();
        line.into_iter().for_each(|line| taken.own.remember(line));
        taken.newest_at = taken.newest_at.max(at.unwrap_or(Micros::MIN));
    }

    /// Notes facts of a line that another leader has taken.
    pub(crate) fn follow(&mut self, source: SourceNumber, batch: &Batch) {
        let Some(at) = batch.at else { return };
        let taken = self.taken.entry(source).or_default();
        taken.followed.remember(Fingerprint::of_batch(batch));
        taken.newest_at = taken.newest_at.max(at);
    }

    /// Notes a push. `false` if one that was received later came before: it was on its way for so long that the source
    /// may have sent it again, and newer ones after it.
    pub(crate) fn admits(&mut self, source: SourceNumber, received: Micros) -> bool {
        let newest = self.newest.entry(source).or_insert(self.since);
        let is_newest = received >= *newest;
        *newest = received.max(*newest);
        is_newest
    }
}

/// The result of a body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PushReport {
    pub accepted: u64,
    pub duplicate: u64,
    pub refused: u64,
    pub refusals: Vec<RefusedLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedLine {
    /// The line number within the body, from 1.
    pub line: u64,
    pub kind: &'static str,
    pub reason: String,
}

/// Why the rest of a body was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushError {
    /// The hub's queue stayed full, or the log refused records, for the maximum wait of a push.
    Full,
    /// The hub is stopping.
    Stopping,
    /// Another node of the cluster leads, or none, and has not answered.
    NotLeading,
}

/// The state of all pushing sources.
#[derive(Debug)]
pub struct PushSources {
    settings: IngestConfig,
    hub_handle: HubHandle,
    fanout: Fanout,
    sources: DashMap<String, Arc<Mutex<PushSource>>>,
}

/// A pushing source; locked while one of its bodies is processed.
#[derive(Debug)]
pub struct PushSource {
    name: Arc<str>,
    recent: RecentFingerprints,
    /// The last body without refusals.
    last_body: Option<Fingerprint>,
    unanswered: Option<Unanswered>,
}

/// Lines that the hub has, and has not applied in time, such as while the log cannot be written.
#[derive(Debug)]
struct Unanswered {
    verdicts: oneshot::Receiver<Vec<Option<String>>>,
    fingerprints: Vec<Option<Fingerprint>>,
}

impl PushSources {
    #[must_use]
    pub fn new(settings: IngestConfig, hub_handle: HubHandle, fanout: Fanout) -> Self {
        Self { settings, hub_handle, fanout, sources: DashMap::new() }
    }

    #[must_use]
    pub fn settings(&self) -> &IngestConfig {
        &self.settings
    }

    /// The source with this name. Names are those of keys that an operator created, so there are
    /// few.
    #[must_use]
    pub fn source(&self, name: &str) -> Arc<Mutex<PushSource>> {
        let new = || PushSource {
            name: name.into(),
            recent: RecentFingerprints::new(self.settings.ids_max),
            last_body: None,
            unanswered: None,
        };
        Arc::clone(
            &self.sources.entry(name.to_owned()).or_insert_with(|| Arc::new(Mutex::new(new()))),
        )
    }

    /// Processes the lines of a body, in order. `all_matches`: lines may refer to other providers'
    /// matches.
    ///
    /// # Errors
    ///
    /// If the hub does not accept all of them: with the results of those before.
    pub async fn take(
        &self,
        source: &mut PushSource,
        body: &Bytes,
        all_matches: bool,
    ) -> Result<PushReport, (PushError, PushReport)> {
        let own = Interpreter::new(Arc::clone(&source.name));
        let mut reader = BodyReader {
            interpreter: if all_matches { own.of_all_matches() } else { own },
            line_bytes_max: self.settings.line_bytes_max,
            // Another node of a cluster may have taken one in between.
            is_repeated: !self.hub_handle.is_in_cluster()
                && source.last_body == Some(Fingerprint::of_body(body)),
            received: now(),
            answer: PushReport::default(),
        };
        if let Err(error) = self.settle(source).await {
            return Err((error, reader.answer));
        }
        let mut lines = numbered_lines(body).peekable();
        while lines.peek().is_some() {
            let line_batch = reader.read(source, lines.by_ref().take(LINES_AT_ONCE));
            if let Err(error) = self.hand_in(source, line_batch, &mut reader).await {
                count(&source.name, &reader.answer);
                return Err((error, reader.answer));
            }
        }
        source.last_body = (reader.answer.refused == 0).then(|| Fingerprint::of_body(body));
        count(&source.name, &reader.answer);
        Ok(reader.answer)
    }

    /// Waits for the verdicts on lines of an earlier push, so that one that repeats them finds them.
    async fn settle(&self, source: &mut PushSource) -> Result<(), PushError> {
        let Some(unanswered) = &mut source.unanswered else { return Ok(()) };
        let deadline = self.deadline();
        let verdicts = timeout_at(deadline, &mut unanswered.verdicts).await;
        let verdicts = verdicts.map_err(|_| PushError::Full)?;
        if let (Ok(verdicts), Some(unanswered)) = (verdicts, source.unanswered.take()) {
            let taken = verdicts.into_iter().zip(unanswered.fingerprints);
            let taken = taken
                .filter_map(|(verdict, fingerprint)| fingerprint.filter(|_| verdict.is_none()));
            taken.for_each(|fingerprint| source.recent.remember(fingerprint));
        }
        Ok(())
    }

    fn deadline(&self) -> Instant {
        Instant::now() + Duration::from_millis(self.settings.wait_ms)
    }

    async fn hand_in(
        &self,
        source: &mut PushSource,
        line_batch: LineBatch,
        reader: &mut BodyReader,
    ) -> Result<(), PushError> {
        let LineBatch { lines, refusals } = line_batch;
        if lines.is_empty() && refusals.is_empty() {
            return Ok(());
        }
        let numbers: Vec<u64> = lines.iter().map(|line| line.place.line).collect();
        let fingerprints: Vec<_> = lines.iter().map(|line| line.fingerprint).collect();
        let (source_name, received) = (Arc::clone(&source.name), reader.received);
        let verdicts = if self.hub_handle.leads() {
            let deadline = self.deadline();
            let room = timeout_at(deadline, self.room()).await;
            let permit = room.map_err(|_| PushError::Full)??;
            let (reply, verdicts) = oneshot::channel();
            let pushed = PushRequest {
                source: source_name,
                received,
                lines,
                refusals,
                is_forwarded: false,
                reply,
            };
            permit.put(Input::Push(Box::new(pushed)));
            let fingerprints = fingerprints.clone();
            let unanswered = source.unanswered.insert(Unanswered { verdicts, fingerprints });
            let verdicts = timeout_at(deadline, &mut unanswered.verdicts).await;
            let verdicts = verdicts.map_err(|_| PushError::Full)?;
            source.unanswered = None;
            verdicts.map_err(|_| self.gone())?
        } else {
            let lines = lines.into_iter().map(ForwardedLine::from).collect();
            self.forward(ForwardedPush { source: source_name, received, lines }).await?
        };
        for ((verdict, fingerprint), line) in verdicts.into_iter().zip(fingerprints).zip(numbers) {
            match verdict {
                None => {
                    reader.answer.accepted += 1;
                    fingerprint
                        .into_iter()
                        .for_each(|fingerprint| source.recent.remember(fingerprint));
                }
                Some(reason) => reader.refused(line, RefusalKind::Unknown, reason),
            }
        }
        Ok(())
    }

    /// Has the leader of the cluster take the lines.
    async fn forward(&self, push: ForwardedPush) -> Result<Vec<Option<String>>, PushError> {
        if push.lines.is_empty() {
            return Ok(Vec::new());
        }
        let (reply, verdicts) = oneshot::channel();
        let request = LeaderRequest { request: Forwarded::Push(push), reply };
        let time = Duration::from_millis(self.settings.wait_ms);
        let sent = timeout(time, self.hub_handle.leader.send(request)).await;
        sent.map_err(|_| PushError::Full)?.map_err(|_| PushError::Stopping)?;
        verdicts.await.map_err(|_| PushError::NotLeading)
    }

    /// Why the hub does not answer.
    fn gone(&self) -> PushError {
        if self.hub_handle.leads() { PushError::Stopping } else { PushError::NotLeading }
    }

    /// Waits until followers and the hub have room for more.
    async fn room(&self) -> Result<InputPermit<'_>, PushError> {
        self.fanout.wait_for_room().await;
        self.hub_handle.inputs.reserve().await.map_err(|_| PushError::Stopping)
    }
}

/// A body being processed.
struct BodyReader {
    interpreter: Interpreter,
    line_bytes_max: usize,
    /// Whether the body is identical to the one before it.
    is_repeated: bool,
    received: Micros,
    answer: PushReport,
}

/// Parsed lines of a body.
#[derive(Default)]
struct LineBatch {
    lines: Vec<PushedLine>,
    refusals: Vec<Refusal>,
}

impl BodyReader {
    fn read(
        &mut self,
        source: &PushSource,
        lines: impl Iterator<Item = (u64, Bytes)>,
    ) -> LineBatch {
        let mut line_batch = LineBatch::default();
        for (number, bytes) in lines {
            let place = Place { file: Arc::clone(&source.name), line: number };
            match self.line(&bytes) {
                Ok((fingerprint, _)) if self.is_duplicate(fingerprint, source, &line_batch) => {
                    self.answer.duplicate += 1
                }
                Ok((fingerprint, batch)) => {
                    line_batch.lines.push(PushedLine { batch, place, bytes, fingerprint });
                }
                Err(error) => {
                    self.refused(number, error.kind, error.reason.clone());
                    line_batch.refusals.push(Refusal::new(error, place, &bytes));
                }
            }
        }
        line_batch
    }

    fn line(&mut self, bytes: &[u8]) -> Result<(Option<Fingerprint>, Batch), DecodeError> {
        if bytes.len() > self.line_bytes_max {
            let reason = format!("line of more than {} bytes", self.line_bytes_max);
            return Err(DecodeError::new(RefusalKind::TooLong, reason));
        }
        let read = self.interpreter.line(bytes, self.received)?;
        let batch = read.timed.batch;
        let fingerprint = match (read.id, batch.at) {
            (Some(id), _) => Some(Fingerprint::of_id(&id)),
            (None, Some(_)) => Some(Fingerprint::of_content(bytes)),
            // The same content at another time may be news: suspended, open, suspended.
            (None, None) => None,
        };
        Ok((fingerprint, batch))
    }

    fn is_duplicate(
        &self,
        fingerprint: Option<Fingerprint>,
        source: &PushSource,
        line_batch: &LineBatch,
    ) -> bool {
        match fingerprint {
            Some(fingerprint) => {
                source.recent.holds(fingerprint)
                    || line_batch.lines.iter().any(|it| it.fingerprint == Some(fingerprint))
            }
            None => self.is_repeated,
        }
    }

    fn refused(&mut self, line: u64, kind: RefusalKind, reason: String) {
        self.answer.refused += 1;
        if self.answer.refusals.len() < REFUSALS_LISTED_MAX {
            self.answer.refusals.push(RefusedLine { line, kind: kind.as_str(), reason });
        }
    }
}

/// The non-empty lines of a body, numbered from 1.
fn numbered_lines(body: &Bytes) -> impl Iterator<Item = (u64, Bytes)> {
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    (1..).zip(lines).filter(|(_, line)| !line.is_empty()).map(|(n, line)| (n, body.slice_ref(line)))
}

fn count(source: &Arc<str>, answer: &PushReport) {
    let outcomes = [
        ("accepted", answer.accepted),
        ("duplicate", answer.duplicate),
        ("refused", answer.refused),
    ];
    for (outcome, lines) in outcomes {
        let labels = [("source", source.to_string()), ("outcome", outcome.to_owned())];
        counter!("matchwire_pushed_lines_total", &labels).increment(lines);
    }
}

#[cfg(test)]
mod tests {
    use base::work::Work;
    use fanout::{Limits, socket::SocketOptions};

    use super::*;
    use crate::{ids::PublicIds, pipeline};

    const LINE: &[u8] = br#"{"at":1,"sport":"hockey","match":"m","fact":{"fixture":{}}}"#;

    /// Limits of a fan-out without sockets.
    fn limits() -> Limits {
        Limits {
            shards: 1,
            outbox_bytes: 1 << 18,
            outbox_age_ms: 2_000,
            write_bytes_max: 1 << 18,
            channels_max: 8,
            patterns_max: 8,
            command_bytes_max: 1 << 14,
            command_fragments_max: 16,
            from_bytes_max: 1 << 14,
            catch_up_burst: 8,
            catch_ups_per_second: 8,
            work: Work::unlimited(),
            mailbox_max: 64,
            beat_ms: 5_000,
            idle_ms: 0,
            stall_ms: 60_000,
            sockets: SocketOptions { send_buffer_bytes: 0, unsent_bytes: 0 },
        }
    }

    /// Sources in front of a hub with room for one input, and the receivers of its queues.
    fn sources(wait_ms: u64) -> (PushSources, pipeline::HubReceivers) {
        let (hub_handle, receivers) = pipeline::channel(1, 8, PublicIds::default());
        let fanout = Fanout::start(limits(), "test", Box::new(hub_handle.clone()));
        let settings = IngestConfig { wait_ms, ..IngestConfig::default() };
        (PushSources::new(settings, hub_handle, fanout.expect("it starts")), receivers)
    }

    /// A line without facts.
    fn line(id: Option<&str>, at: Option<Micros>) -> PushedLine {
        PushedLine {
            batch: Batch { at, price_changes: 0, events: Vec::new() },
            place: Place { file: "acme".into(), line: 1 },
            bytes: Bytes::new(),
            fingerprint: id.map(Fingerprint::of_id),
        }
    }

    #[test]
    fn line_is_taken_once_whatever_the_clocks_of_nodes_say() {
        let (mut order, source) = (PushOrder::default(), SourceNumber(0));
        order.lead(1_000);
        let [older, newer] = ["a-1", "a-2"].map(|id| line(Some(id), None));
        assert!(order.admits(source, 2_000));
        for line in [&older, &newer] {
            assert!(!order.has_taken(source, line));
            order.take(source, line.fingerprint, None);
        }
        // By a node whose clock is ahead, which was asked first.
        assert!(order.admits(source, 700_000));
        assert!(order.has_taken(source, &older) && order.has_taken(source, &newer));
        assert!(!order.has_taken(SourceNumber(1), &older), "the line of another source");
        let untimed = line(None, None);
        order.take(source, untimed.fingerprint, None);
        assert!(!order.has_taken(source, &untimed), "without an id and a time it may be news");
    }

    #[test]
    fn line_that_another_leader_took_is_not_taken_after_newer_ones() {
        let (mut order, source) = (PushOrder::default(), SourceNumber(0));
        let [older, newer, newest] = [10, 20, 30].map(|at| line(Some(&at.to_string()), Some(at)));
        order.follow(source, &older.batch);
        order.follow(source, &newer.batch);
        order.lead(1_000);
        assert!(order.has_taken(source, &older));
        assert!(!order.has_taken(source, &newer), "nothing newer would be undone");
        assert!(!order.has_taken(source, &newest) && !order.has_taken(SourceNumber(1), &older));
        order.take(source, newest.fingerprint, newest.batch.at);
        assert!(order.has_taken(source, &newer) && order.has_taken(source, &newest));
        // It led, followed, and leads again.
        order.lead(2_000);
        assert!([older, newer, newest].iter().all(|line| order.has_taken(source, line)));
    }

    #[test]
    fn push_that_was_overtaken_is_not_admitted() {
        let mut order = PushOrder::default();
        order.lead(100);
        let (one, other) = (SourceNumber(0), SourceNumber(1));
        assert!(!order.admits(one, 99), "before this node led");
        assert!(order.admits(one, 110));
        // Parts of a body have the same time.
        assert!(order.admits(one, 110));
        assert!(order.admits(one, 130));
        assert!(!order.admits(one, 120), "overtaken");
        assert!(order.admits(other, 120));
    }

    #[tokio::test]
    async fn push_to_a_full_hub_waits_until_a_timeout() {
        let (sources, receivers) = sources(20);
        let full = sources.hub_handle.inputs.try_reserve().expect("there is room for one");
        let source = sources.source("acme");
        let mut source = source.lock().await;
        let taken = sources.take(&mut source, &Bytes::from_static(LINE), false).await;
        assert_eq!(taken, Err((PushError::Full, PushReport::default())));
        drop(full);
        drop(receivers);
        let taken = sources.take(&mut source, &Bytes::from_static(LINE), false).await;
        assert_eq!(taken, Err((PushError::Stopping, PushReport::default())));
        // Nothing was accepted, so nothing is a duplicate.
        assert!(!source.recent.holds(Fingerprint::of_content(LINE)));
    }

    /// The log refuses records: the writer waits.
    #[tokio::test]
    async fn push_that_the_hub_does_not_apply_is_told_so_and_taken_once() {
        let (sources, mut receivers) = sources(20);
        let source = sources.source("acme");
        let mut source = source.lock().await;
        let body = Bytes::from_static(LINE);
        for _ in 0..2 {
            let taken = sources.take(&mut source, &body, false).await;
            assert_eq!(taken, Err((PushError::Full, PushReport::default())));
        }
        let Some(Input::Push(pushed)) = receivers.next_input().await else { panic!("no push") };
        pushed.reply.send(vec![None]).expect("it is waited for");
        // The second one was not handed in: there is room, and the line is a duplicate.
        drop(sources.hub_handle.inputs.try_reserve().expect("there is room"));
        let answer = sources.take(&mut source, &body, false).await.expect("it is taken");
        assert_eq!((answer.accepted, answer.duplicate), (0, 1));
    }

    #[tokio::test]
    async fn push_is_answered_after_the_hub_has_applied_it() {
        let (sources, mut receivers) = sources(60_000);
        let body = Bytes::from([LINE, b"\nwrong\n", LINE].concat());
        let pushing = async {
            let source = sources.source("acme");
            let mut source = source.lock().await;
            sources.take(&mut source, &body, false).await
        };
        let reader = async {
            let Some(Input::Push(pushed)) = receivers.next_input().await else { panic!("no push") };
            assert_eq!((pushed.lines.len(), pushed.refusals.len()), (1, 1));
            assert_eq!((pushed.lines[0].place.line, &pushed.lines[0].bytes[..]), (1, LINE));
            pushed.reply.send(vec![Some("no".to_owned())]).expect("it is waited for");
        };
        let (answer, ()) = tokio::join!(pushing, reader);
        let answer = answer.expect("it is taken");
        assert_eq!((answer.accepted, answer.duplicate, answer.refused), (0, 1, 2));
        let lines: Vec<u64> = answer.refusals.iter().map(|it| it.line).collect();
        assert_eq!(lines, [2, 1]);
    }
}
