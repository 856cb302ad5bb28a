//! What sources push: lines are read, repetitions recognised, and the rest handed to the hub.
//!
//! One body is taken at a time for each source, so that what a source says is applied in the order
//! in which it said it. Nothing is answered before the hub has taken it. This knows neither HTTP nor
//! keys.

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

use self::fingerprints::{Mark, Recent};
use crate::{
    clock::now,
    config::IngestConfig,
    pipeline::{Doors, Input, Room},
};

/// The format of what is pushed, by the name that recordings and the quarantine have for it.
pub const FORMAT: &str = "matchwire-events";

/// The kind of such a source on the channel `feeds`.
pub const KIND: &str = "push";

/// Lines handed to the hub at once: enough to share the cost, few enough that other sources do not
/// wait for a long body.
const LINES_AT_ONCE: usize = 64;

/// Refusals that an answer lists; the others are counted, and all are in the quarantine.
const REFUSALS_TOLD: usize = 100;

/// Lines of a source for the hub, which answers to each what was wrong with it, if anything was.
#[derive(Debug)]
pub struct Pushed {
    pub source: Arc<str>,
    pub received: Micros,
    pub lines: Vec<Line>,
    /// What could not even be read.
    pub refusals: Vec<Refusal>,
    pub reply: oneshot::Sender<Vec<Option<String>>>,
}

#[derive(Debug)]
pub struct Line {
    pub batch: Batch,
    pub place: Place,
    pub bytes: Bytes,
}

/// What became of the lines of a body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Answer {
    pub accepted: u64,
    pub duplicate: u64,
    pub refused: u64,
    pub refusals: Vec<RefusedLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedLine {
    /// Counted from 1 within the body.
    pub line: u64,
    pub kind: &'static str,
    pub reason: String,
}

/// Why the rest of a body was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stuck {
    /// The hub had no room for as long as a push may wait.
    Full,
    /// The hub is stopping.
    Stopping,
}

/// What is known of the sources that push.
#[derive(Debug)]
pub struct Sources {
    settings: IngestConfig,
    doors: Doors,
    fanout: Fanout,
    known: DashMap<String, Arc<Mutex<Source>>>,
}

/// One source that pushes; locked for as long as a body of it is read and taken.
#[derive(Debug)]
pub struct Source {
    name: Arc<str>,
    recent: Recent,
    /// The last body of which nothing was refused.
    last_body: Option<Mark>,
}

impl Sources {
    #[must_use]
    pub fn new(settings: IngestConfig, doors: Doors, fanout: Fanout) -> Self {
        Self { settings, doors, fanout, known: DashMap::new() }
    }

    #[must_use]
    pub fn settings(&self) -> &IngestConfig {
        &self.settings
    }

    /// The source of this name. Names are those of keys that an operator made, so there are few.
    #[must_use]
    pub fn source(&self, name: &str) -> Arc<Mutex<Source>> {
        let new = || Source {
            name: name.into(),
            recent: Recent::new(self.settings.ids_max),
            last_body: None,
        };
        Arc::clone(
            &self.known.entry(name.to_owned()).or_insert_with(|| Arc::new(Mutex::new(new()))),
        )
    }

    /// Takes the lines of a body, in order. `all_matches`: lines may speak of matches of other
    /// providers.
    ///
    /// # Errors
    ///
    /// Where the hub does not take them all: with what became of those before.
    pub async fn take(
        &self,
        source: &mut Source,
        body: &Bytes,
        all_matches: bool,
    ) -> Result<Answer, (Stuck, Answer)> {
        let own = Interpreter::new(Arc::clone(&source.name));
        let mut taking = Taking {
            interpreter: if all_matches { own.of_all_matches() } else { own },
            line_bytes_max: self.settings.line_bytes_max,
            is_repeated: source.last_body == Some(Mark::of_body(body)),
            received: now(),
            answer: Answer::default(),
        };
        let mut lines = numbered_lines(body).peekable();
        while lines.peek().is_some() {
            let part = taking.read(source, lines.by_ref().take(LINES_AT_ONCE));
            if let Err(stuck) = self.hand_in(source, part, &mut taking).await {
                count(&source.name, &taking.answer);
                return Err((stuck, taking.answer));
            }
        }
        source.last_body = (taking.answer.refused == 0).then(|| Mark::of_body(body));
        count(&source.name, &taking.answer);
        Ok(taking.answer)
    }

    async fn hand_in(
        &self,
        source: &mut Source,
        part: Part,
        taking: &mut Taking,
    ) -> Result<(), Stuck> {
        let Part { lines, marks, refusals } = part;
        if lines.is_empty() && refusals.is_empty() {
            return Ok(());
        }
        let room = timeout(Duration::from_millis(self.settings.wait_ms), self.room()).await;
        let permit = room.map_err(|_| Stuck::Full)??;
        let numbers: Vec<u64> = lines.iter().map(|line| line.place.line).collect();
        let (reply, answered) = oneshot::channel();
        let (source_name, received) = (Arc::clone(&source.name), taking.received);
        let pushed = Pushed { source: source_name, received, lines, refusals, reply };
        permit.put(Input::Pushed(Box::new(pushed)));
        let verdicts = answered.await.map_err(|_| Stuck::Stopping)?;
        for ((verdict, mark), line) in verdicts.into_iter().zip(marks).zip(numbers) {
            match verdict {
                None => {
                    taking.answer.accepted += 1;
                    mark.into_iter().for_each(|mark| source.recent.remember(mark));
                }
                Some(reason) => taking.refused(line, RefusalKind::Unknown, reason),
            }
        }
        Ok(())
    }

    /// Waits until followers and the hub have room for more.
    async fn room(&self) -> Result<Room<'_>, Stuck> {
        self.fanout.room().await;
        self.doors.inputs.reserve().await.map_err(|_| Stuck::Stopping)
    }
}

/// A body that is being taken.
struct Taking {
    interpreter: Interpreter,
    line_bytes_max: usize,
    /// It is, byte for byte, the body before it.
    is_repeated: bool,
    received: Micros,
    answer: Answer,
}

/// Some lines of a body, read.
#[derive(Default)]
struct Part {
    lines: Vec<Line>,
    /// By what each line would be known again.
    marks: Vec<Option<Mark>>,
    refusals: Vec<Refusal>,
}

impl Taking {
    fn read(&mut self, source: &Source, lines: impl Iterator<Item = (u64, Bytes)>) -> Part {
        let mut part = Part::default();
        for (number, bytes) in lines {
            let place = Place { file: Arc::clone(&source.name), line: number };
            match self.line(&bytes) {
                Ok((mark, _)) if self.is_known(mark, source, &part) => self.answer.duplicate += 1,
                Ok((mark, batch)) => {
                    part.lines.push(Line { batch, place, bytes });
                    part.marks.push(mark);
                }
                Err(error) => {
                    self.refused(number, error.kind, error.reason.clone());
                    part.refusals.push(Refusal::new(error, place, &bytes));
                }
            }
        }
        part
    }

    fn line(&mut self, bytes: &[u8]) -> Result<(Option<Mark>, Batch), DecodeError> {
        if bytes.len() > self.line_bytes_max {
            let reason = format!("line of more than {} bytes", self.line_bytes_max);
            return Err(DecodeError::new(RefusalKind::TooLong, reason));
        }
        let read = self.interpreter.line(bytes, self.received)?;
        let batch = read.timed.batch;
        let mark = match (read.id, batch.at) {
            (Some(id), _) => Some(Mark::of_id(&id)),
            (None, Some(_)) => Some(Mark::of_content(bytes)),
            // The same words at another time may be news: suspended, open, suspended.
            (None, None) => None,
        };
        Ok((mark, batch))
    }

    fn is_known(&self, mark: Option<Mark>, source: &Source, part: &Part) -> bool {
        match mark {
            Some(mark) => source.recent.holds(mark) || part.marks.contains(&Some(mark)),
            None => self.is_repeated,
        }
    }

    fn refused(&mut self, line: u64, kind: RefusalKind, reason: String) {
        self.answer.refused += 1;
        if self.answer.refusals.len() < REFUSALS_TOLD {
            self.answer.refusals.push(RefusedLine { line, kind: kind.as_str(), reason });
        }
    }
}

/// The lines of a body that are not empty, counted from 1.
fn numbered_lines(body: &Bytes) -> impl Iterator<Item = (u64, Bytes)> {
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    (1..).zip(lines).filter(|(_, line)| !line.is_empty()).map(|(n, line)| (n, body.slice_ref(line)))
}

fn count(source: &Arc<str>, answer: &Answer) {
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
    fn sources(wait_ms: u64) -> (Sources, pipeline::Ends) {
        let (doors, ends) = pipeline::doors(1, 8, PublicIds::default());
        let config = Config::default();
        let fanout = Fanout::start(app::limits(&config), "test", Box::new(doors.clone()));
        let settings = IngestConfig { wait_ms, ..config.ingest };
        (Sources::new(settings, doors, fanout.expect("it starts")), ends)
    }

    #[tokio::test]
    async fn a_hub_without_room_is_waited_for_and_not_for_ever() {
        let (sources, ends) = sources(20);
        let full = sources.doors.inputs.try_reserve().expect("there is room for one");
        let source = sources.source("acme");
        let mut source = source.lock().await;
        let taken = sources.take(&mut source, &Bytes::from_static(LINE), false).await;
        assert_eq!(taken, Err((Stuck::Full, Answer::default())));
        drop(full);
        drop(ends);
        let taken = sources.take(&mut source, &Bytes::from_static(LINE), false).await;
        assert_eq!(taken, Err((Stuck::Stopping, Answer::default())));
        // Nothing was taken, so nothing is known again.
        assert!(!source.recent.holds(Mark::of_content(LINE)));
    }

    #[tokio::test]
    async fn nothing_is_answered_before_the_hub_has_taken_it() {
        let (sources, mut ends) = sources(60_000);
        let body = Bytes::from([LINE, b"\nwrong\n", LINE].concat());
        let pushing = async {
            let source = sources.source("acme");
            let mut source = source.lock().await;
            sources.take(&mut source, &body, false).await
        };
        let taking = async {
            let Some(Input::Pushed(pushed)) = ends.next_input().await else { panic!("no push") };
            assert_eq!((pushed.lines.len(), pushed.refusals.len()), (1, 1));
            assert_eq!((pushed.lines[0].place.line, &pushed.lines[0].bytes[..]), (1, LINE));
            pushed.reply.send(vec![Some("no".to_owned())]).expect("it is waited for");
        };
        let (answer, ()) = tokio::join!(pushing, taking);
        let answer = answer.expect("it is taken");
        assert_eq!((answer.accepted, answer.duplicate, answer.refused), (0, 1, 2));
        let lines: Vec<u64> = answer.refusals.iter().map(|it| it.line).collect();
        assert_eq!(lines, [2, 1]);
    }
}
