//! Pushes: reads lines, drops duplicates, and hands the rest to the hub.
//!
//! Each source's bodies are processed one at a time, so that its lines are applied in order. A push
//! is answered only after the hub has applied it. This module knows neither HTTP nor keys.

mod deadline;
mod fingerprints;
#[cfg(test)]
pub(crate) mod tests;

use std::{collections::HashMap, sync::Arc, time::Duration};

use borsh::{BorshDeserialize, BorshSerialize};
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

use self::fingerprints::RecentFingerprints;
pub use self::{
    deadline::{PushDeadlines, PushDuty},
    fingerprints::Fingerprint,
};
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
    /// The deadline that it states, in microseconds; until the next push.
    pub deadline_us: Option<Micros>,
    /// None: a sign of life.
    pub lines: Vec<PushedLine>,
    /// Lines that could not be parsed.
    pub refusals: Vec<Refusal>,
    /// Another node of the cluster has received them.
    pub is_forwarded: bool,
    /// Dropped if the lines are not applied.
    pub reply: oneshot::Sender<PushAnswer>,
}

/// The hub's answer to a push.
#[derive(Debug, Clone, PartialEq, Eq, Default, BorshSerialize, BorshDeserialize)]
pub struct PushAnswer {
    /// For each line the error, if any.
    pub verdicts: Vec<Option<String>>,
    /// The deadline in force, in microseconds.
    pub deadline_us: Option<Micros>,
}

#[derive(Debug)]
pub struct PushedLine {
    pub batch: Batch,
    pub location: Place,
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
    remembers: bool,
}

/// The lines of a source that were taken.
#[derive(Debug)]
struct TakenLines {
    /// By this node, while it led.
    local: RecentFingerprints,
    /// By other leaders. The log has their facts, but neither their ids nor their text.
    followed: RecentFingerprints,
    /// The latest time of a line, by the source's clock.
    newest_at: Micros,
}

impl Default for TakenLines {
    fn default() -> Self {
        let [local, followed] = [(); 2].map(|()| RecentFingerprints::new(LINES_REMEMBERED));
        Self { local, followed, newest_at: Micros::MIN }
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
        self.remembers = true;
    }

    /// Whether a line was taken before.
    pub(crate) fn has_taken(&self, source: SourceNumber, line: &PushedLine) -> bool {
        self.taken.get(&source).is_some_and(|taken| {
            line.fingerprint.is_some_and(|line| taken.local.holds(line))
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
        if !self.remembers {
            return;
        }
        let taken = self.taken.entry(source).or_default();
        line.into_iter().for_each(|line| taken.local.remember(line));
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
    /// Milliseconds within which the next push must come, or the source is late; `None`: it need not, or nothing is known.
    pub deadline_ms: Option<u64>,
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
    answer: oneshot::Receiver<PushAnswer>,
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
    /// matches. `deadline_us`: the deadline that the body states, in microseconds.
    ///
    /// # Errors
    ///
    /// If the hub does not accept all of them: with the results of those before.
    pub async fn take(
        &self,
        source: &mut PushSource,
        body: &Bytes,
        all_matches: bool,
        deadline_us: Option<Micros>,
    ) -> Result<PushReport, (PushError, PushReport)> {
        let interpreter = Interpreter::new(Arc::clone(&source.name));
        let mut reader = BodyReader {
            interpreter: if all_matches { interpreter.of_all_matches() } else { interpreter },
            line_bytes_max: self.settings.line_bytes_max,
            // Another node of a cluster may have taken one in between.
            is_repeated: !self.hub_handle.has_peers()
                && source.last_body == Some(Fingerprint::of_body(body)),
            received: now(),
            deadline_us,
            answer: PushReport::default(),
        };
        if let Err(error) = self.settle(source).await {
            return Err((error, reader.answer));
        }
        let mut lines = numbered_lines(body).peekable();
        let mut is_heard = false;
        while lines.peek().is_some() || !is_heard {
            let line_batch = reader.read(source, lines.by_ref().take(LINES_AT_ONCE));
            // Without anything new the hub is told at the end that the source lives.
            if line_batch.is_empty() && (is_heard || lines.peek().is_some()) {
                continue;
            }
            is_heard = true;
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
        let answer = timeout_at(deadline, &mut unanswered.answer).await;
        let answer = answer.map_err(|_| PushError::Full)?;
        if let (Ok(answer), Some(unanswered)) = (answer, source.unanswered.take()) {
            let taken = answer.verdicts.into_iter().zip(unanswered.fingerprints);
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
        let numbers: Vec<u64> = lines.iter().map(|line| line.location.line).collect();
        let fingerprints: Vec<_> = lines.iter().map(|line| line.fingerprint).collect();
        let source_name = Arc::clone(&source.name);
        let BodyReader { received, deadline_us, .. } = *reader;
        let answer = if self.hub_handle.leads() {
            let deadline = self.deadline();
            let room = timeout_at(deadline, self.room()).await;
            let permit = room.map_err(|_| PushError::Full)??;
            let (reply, answer) = oneshot::channel();
            let pushed = PushRequest {
                source: source_name,
                received,
                deadline_us,
                lines,
                refusals,
                is_forwarded: false,
                reply,
            };
            permit.put(Input::Push(Box::new(pushed)));
            let fingerprints = fingerprints.clone();
            let unanswered = source.unanswered.insert(Unanswered { answer, fingerprints });
            let answer = timeout_at(deadline, &mut unanswered.answer).await;
            let answer = answer.map_err(|_| PushError::Full)?;
            source.unanswered = None;
            answer.map_err(|_| self.gone())?
        } else if lines.is_empty() && !refusals.is_empty() {
            // This node has counted them.
            return Ok(());
        } else {
            let lines = lines.into_iter().map(ForwardedLine::from).collect();
            let source = source_name;
            self.forward(ForwardedPush { source, received, deadline_us, lines }).await?
        };
        let PushAnswer { verdicts, deadline_us } = answer;
        reader.answer.deadline_ms = deadline_us.and_then(|us| u64::try_from(us / 1000).ok());
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
    async fn forward(&self, push: ForwardedPush) -> Result<PushAnswer, PushError> {
        let (reply, answer) = oneshot::channel();
        let request = LeaderRequest { request: Forwarded::Push(push), reply };
        let time = Duration::from_millis(self.settings.wait_ms);
        let sent = timeout(time, self.hub_handle.leader.send(request)).await;
        sent.map_err(|_| PushError::Full)?.map_err(|_| PushError::Stopping)?;
        answer.await.map_err(|_| PushError::NotLeading)
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
    deadline_us: Option<Micros>,
    answer: PushReport,
}

/// Parsed lines of a body.
#[derive(Default)]
struct LineBatch {
    lines: Vec<PushedLine>,
    refusals: Vec<Refusal>,
}

impl LineBatch {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.refusals.is_empty()
    }
}

impl BodyReader {
    fn read(
        &mut self,
        source: &PushSource,
        lines: impl Iterator<Item = (u64, Bytes)>,
    ) -> LineBatch {
        let mut line_batch = LineBatch::default();
        for (number, bytes) in lines {
            let location = Place { file: Arc::clone(&source.name), line: number };
            match self.line(&bytes) {
                Ok((fingerprint, _)) if self.is_duplicate(fingerprint, source, &line_batch) => {
                    self.answer.duplicate += 1
                }
                Ok((fingerprint, batch)) => {
                    line_batch.lines.push(PushedLine { batch, location, bytes, fingerprint });
                }
                Err(error) => {
                    self.refused(number, error.kind, error.reason.clone());
                    line_batch.refusals.push(Refusal::new(error, location, &bytes));
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
