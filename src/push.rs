//! Pushed lines: parses them, drops duplicates, and sends the rest to the hub.
//!
//! One body per source is processed at a time, so that a source's lines are applied in order. The
//! answer is sent after the hub has applied them. This module knows neither HTTP nor keys.

mod fingerprints;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use dashmap::DashMap;
use fanout::{Fanout, Micros};
use ingest::{
    error::{DecodeError, Place, Refusal, RefusalKind},
    event::Batch,
    normalize::events::Interpreter,
};
use metrics::counter;
use serde::Serialize;
use tokio::{
    sync::{Mutex, oneshot},
    time::timeout,
};

use self::fingerprints::{Fingerprint, RecentFingerprints};
use crate::{
    clock::now,
    config::IngestConfig,
    pipeline::{HubHandle, Input, InputPermit},
};

/// The format of pushed lines, as named by recordings and the quarantine.
pub const FORMAT: &str = "matchwire-events";

/// The kind of push sources on the channel `feeds`.
pub const KIND: &str = "push";

/// Lines per message to the hub: enough to amortise its cost, few enough that other sources do not
/// wait for a long body.
const LINES_PER_CHUNK: usize = 64;

/// Refusals listed in an answer; the others are only counted. All are in the quarantine.
const REFUSALS_LISTED_MAX: usize = 100;

/// Lines of a source for the hub, which replies with the error of each line, if any.
#[derive(Debug)]
pub struct PushRequest {
    pub source: Arc<str>,
    pub received: Micros,
    pub lines: Vec<PushedLine>,
    /// Lines that could not be parsed.
    pub refusals: Vec<Refusal>,
    pub reply: oneshot::Sender<Vec<Option<String>>>,
}

#[derive(Debug)]
pub struct PushedLine {
    pub batch: Batch,
    pub place: Place,
    pub bytes: Bytes,
}

/// The outcome of a body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PushOutcome {
    pub accepted: u64,
    pub duplicate: u64,
    pub refused: u64,
    pub refusals: Vec<LineRefusal>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LineRefusal {
    /// Counted from 1 within the body.
    pub line: u64,
    pub kind: &'static str,
    pub reason: String,
}

/// Why the rest of a body was not processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushError {
    /// The hub's queue was full for as long as a push may wait.
    Full,
    /// The hub is stopping.
    Stopping,
}

/// The sources that push.
#[derive(Debug)]
pub struct PushSources {
    settings: IngestConfig,
    hub_handle: HubHandle,
    fanout: Fanout,
    by_name: DashMap<String, Arc<Mutex<PushSource>>>,
}

/// A source that pushes, locked while one of its bodies is processed.
#[derive(Debug)]
pub struct PushSource {
    name: Arc<str>,
    recent: RecentFingerprints,
    /// The last body without refusals.
    last_body: Option<Fingerprint>,
}

impl PushSources {
    #[must_use]
    pub fn new(settings: IngestConfig, hub_handle: HubHandle, fanout: Fanout) -> Self {
        Self { settings, hub_handle, fanout, by_name: DashMap::new() }
    }

    #[must_use]
    pub fn settings(&self) -> &IngestConfig {
        &self.settings
    }

    /// The source of this name. Names come from the operator's feed keys, so there are few.
    #[must_use]
    pub fn source(&self, name: &str) -> Arc<Mutex<PushSource>> {
        let new = || PushSource {
            name: name.into(),
            recent: RecentFingerprints::new(self.settings.ids_max),
            last_body: None,
        };
        Arc::clone(
            &self.by_name.entry(name.to_owned()).or_insert_with(|| Arc::new(Mutex::new(new()))),
        )
    }

    /// Processes the lines of a body, in order. `all_matches`: lines may refer to matches of other
    /// providers.
    ///
    /// # Errors
    ///
    /// If the hub does not accept all lines, with the outcome so far.
    pub async fn take(
        &self,
        source: &mut PushSource,
        body: &Bytes,
        all_matches: bool,
    ) -> Result<PushOutcome, (PushError, PushOutcome)> {
        let own = Interpreter::new(Arc::clone(&source.name));
        let mut reader = BodyReader {
            interpreter: if all_matches { own.of_all_matches() } else { own },
            line_bytes_max: self.settings.line_bytes_max,
            is_repeated: source.last_body == Some(Fingerprint::of_body(body)),
            received: now(),
            outcome: PushOutcome::default(),
        };
        let mut lines = numbered_lines(body).peekable();
        while lines.peek().is_some() {
            let chunk = reader.read(source, lines.by_ref().take(LINES_PER_CHUNK));
            if let Err(error) = self.send(source, chunk, &mut reader).await {
                count(&source.name, &reader.outcome);
                return Err((error, reader.outcome));
            }
        }
        source.last_body = (reader.outcome.refused == 0).then(|| Fingerprint::of_body(body));
        count(&source.name, &reader.outcome);
        Ok(reader.outcome)
    }

    async fn send(
        &self,
        source: &mut PushSource,
        chunk: LineChunk,
        reader: &mut BodyReader,
    ) -> Result<(), PushError> {
        let LineChunk { lines, fingerprints, refusals } = chunk;
        if lines.is_empty() && refusals.is_empty() {
            return Ok(());
        }
        let room = timeout(Duration::from_millis(self.settings.wait_ms), self.room()).await;
        let permit = room.map_err(|_| PushError::Full)??;
        let numbers: Vec<u64> = lines.iter().map(|line| line.place.line).collect();
        let (reply, answered) = oneshot::channel();
        let (source_name, received) = (Arc::clone(&source.name), reader.received);
        let request = PushRequest { source: source_name, received, lines, refusals, reply };
        permit.put(Input::Push(Box::new(request)));
        let verdicts = answered.await.map_err(|_| PushError::Stopping)?;
        for ((verdict, fingerprint), line) in verdicts.into_iter().zip(fingerprints).zip(numbers) {
            match verdict {
                None => {
                    reader.outcome.accepted += 1;
                    fingerprint
                        .into_iter()
                        .for_each(|fingerprint| source.recent.remember(fingerprint));
                }
                Some(reason) => reader.refuse(line, RefusalKind::Unknown, reason),
            }
        }
        Ok(())
    }

    /// Waits until the fan-out and the hub have capacity.
    async fn room(&self) -> Result<InputPermit<'_>, PushError> {
        self.fanout.room().await;
        self.hub_handle.inputs.reserve().await.map_err(|_| PushError::Stopping)
    }
}

/// The state of processing a body.
struct BodyReader {
    interpreter: Interpreter,
    line_bytes_max: usize,
    /// Whether it equals the previous body byte for byte.
    is_repeated: bool,
    received: Micros,
    outcome: PushOutcome,
}

/// Parsed lines of a body.
#[derive(Default)]
struct LineChunk {
    lines: Vec<PushedLine>,
    /// The fingerprint of each line, to recognise duplicates.
    fingerprints: Vec<Option<Fingerprint>>,
    refusals: Vec<Refusal>,
}

impl BodyReader {
    fn read(
        &mut self,
        source: &PushSource,
        lines: impl Iterator<Item = (u64, Bytes)>,
    ) -> LineChunk {
        let mut chunk = LineChunk::default();
        for (number, bytes) in lines {
            let place = Place { file: Arc::clone(&source.name), line: number };
            match self.line(&bytes) {
                Ok((fingerprint, _)) if self.is_duplicate(fingerprint, source, &chunk) => {
                    self.outcome.duplicate += 1
                }
                Ok((fingerprint, batch)) => {
                    chunk.lines.push(PushedLine { batch, place, bytes });
                    chunk.fingerprints.push(fingerprint);
                }
                Err(error) => {
                    self.refuse(number, error.kind, error.reason.clone());
                    chunk.refusals.push(Refusal::new(error, place, &bytes));
                }
            }
        }
        chunk
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
            // An equal line at another time may be a new change: suspended, open, suspended.
            (None, None) => None,
        };
        Ok((fingerprint, batch))
    }

    fn is_duplicate(
        &self,
        fingerprint: Option<Fingerprint>,
        source: &PushSource,
        chunk: &LineChunk,
    ) -> bool {
        match fingerprint {
            Some(fingerprint) => {
                source.recent.holds(fingerprint) || chunk.fingerprints.contains(&Some(fingerprint))
            }
            None => self.is_repeated,
        }
    }

    fn refuse(&mut self, line: u64, kind: RefusalKind, reason: String) {
        self.outcome.refused += 1;
        if self.outcome.refusals.len() < REFUSALS_LISTED_MAX {
            self.outcome.refusals.push(LineRefusal { line, kind: kind.as_str(), reason });
        }
    }
}

/// The lines of a body that are not empty, counted from 1.
fn numbered_lines(body: &Bytes) -> impl Iterator<Item = (u64, Bytes)> {
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    (1..).zip(lines).filter(|(_, line)| !line.is_empty()).map(|(n, line)| (n, body.slice_ref(line)))
}

fn count(source: &Arc<str>, answer: &PushOutcome) {
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
    use super::*;
    use crate::{app, config::Config, ids::PublicIds, pipeline};

    const LINE: &[u8] = br#"{"at":1,"sport":"hockey","match":"m","fact":{"fixture":{}}}"#;

    /// Sources before a hub with room for one input, and its end of the queue.
    fn sources(wait_ms: u64) -> (PushSources, pipeline::HubReceivers) {
        let (hub_handle, receivers) = pipeline::queues(1, 8, PublicIds::default());
        let config = Config::default();
        let fanout = Fanout::start(app::limits(&config), "test", Box::new(hub_handle.clone()));
        let settings = IngestConfig { wait_ms, ..config.ingest };
        (PushSources::new(settings, hub_handle, fanout.expect("it starts")), receivers)
    }

    #[tokio::test]
    async fn a_hub_without_room_is_waited_for_and_not_for_ever() {
        let (sources, receivers) = sources(20);
        let full = sources.hub_handle.inputs.try_reserve().expect("there is room for one");
        let source = sources.source("acme");
        let mut source = source.lock().await;
        let taken = sources.take(&mut source, &Bytes::from_static(LINE), false).await;
        assert_eq!(taken, Err((PushError::Full, PushOutcome::default())));
        drop(full);
        drop(receivers);
        let taken = sources.take(&mut source, &Bytes::from_static(LINE), false).await;
        assert_eq!(taken, Err((PushError::Stopping, PushOutcome::default())));
        // Nothing was taken, so nothing is known again.
        assert!(!source.recent.holds(Fingerprint::of_content(LINE)));
    }

    #[tokio::test]
    async fn nothing_is_answered_before_the_hub_has_taken_it() {
        let (sources, mut receivers) = sources(60_000);
        let body = Bytes::from([LINE, b"\nwrong\n", LINE].concat());
        let pushing = async {
            let source = sources.source("acme");
            let mut source = source.lock().await;
            sources.take(&mut source, &body, false).await
        };
        let taking = async {
            let Some(Input::Push(request)) = receivers.next_input().await else {
                panic!("no push")
            };
            assert_eq!((request.lines.len(), request.refusals.len()), (1, 1));
            assert_eq!((request.lines[0].place.line, &request.lines[0].bytes[..]), (1, LINE));
            request.reply.send(vec![Some("no".to_owned())]).expect("it is waited for");
        };
        let (answer, ()) = tokio::join!(pushing, taking);
        let answer = answer.expect("it is taken");
        assert_eq!((answer.accepted, answer.duplicate, answer.refused), (0, 1, 2));
        let lines: Vec<u64> = answer.refusals.iter().map(|it| it.line).collect();
        assert_eq!(lines, [2, 1]);
    }
}
