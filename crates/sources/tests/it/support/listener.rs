//! A listener of a source, and an interpreter of small test messages.

use std::time::Duration;

use facts::event::{Batch, Event, Fact, FootballFact, FootballScore, Id, Micros, Sport, Timed};
use hub::pipeline::Input;
use ingest::{
    error::{DecodeError, RefusalKind},
    normalize::{Interpret, Interpretation, Signal},
};
use serde::Deserialize;
use sources::SourceSender;
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};

use super::report::{Report, channel};

/// A timeout that a working machine never reaches.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A secret that must not appear anywhere.
pub(crate) const SECRET: &str = "s3cret-key";

/// A listener of a source.
pub(crate) struct Listener {
    inputs: mpsc::Receiver<Input>,
    source: JoinHandle<()>,
}

impl Listener {
    /// Starts a source; `run` receives its reports.
    pub(crate) fn start<F>(run: impl FnOnce(SourceSender) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, inputs) = channel(64);
        Self { inputs, source: tokio::spawn(run(sender)) }
    }

    /// The next report; checks that it contains no secret.
    pub(crate) async fn next(&mut self) -> Report {
        let input = timeout(PATIENCE, self.inputs.recv()).await.expect("the source sends nothing");
        let report = Report::from(input.expect("the source has ended"));
        assert!(!format!("{report:?}").contains(SECRET), "{report:?} holds the secret");
        report
    }

    /// All reports up to the first of this kind.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Report) -> bool) -> Vec<Report> {
        let mut reports = Vec::new();
        loop {
            reports.push(self.next().await);
            if reports.last().is_some_and(&wanted) {
                return reports;
            }
        }
    }

    pub(crate) async fn until_live(&mut self) -> Vec<Report> {
        self.until(|report| *report == Report::Live).await
    }

    /// All reports until the source is down, and the reason.
    pub(crate) async fn until_down(&mut self) -> (Vec<Report>, String) {
        let mut reports = self.until(|report| matches!(report, Report::Down(_))).await;
        let Some(Report::Down(why)) = reports.pop() else { unreachable!("it is the last one") };
        (reports, why.to_string())
    }

    /// Stops listening; this must end the source.
    pub(crate) async fn stop(self) {
        drop(self.inputs);
        let ended = timeout(PATIENCE, self.source).await.expect("the source does not end");
        ended.expect("the source panicked");
    }
}

#[cfg(feature = "amqp")]
#[expect(clippy::disallowed_methods, reason = "the clock of a test is at its edge")]
pub(crate) fn now() -> Micros {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.expect("after 1970").as_micros()).expect("before the year 294000")
}

/// The goals of the home side in those reports that are batches.
pub(crate) fn goals(reports: &[Report]) -> Vec<u16> {
    let batches = reports.iter().filter_map(|report| match report {
        Report::Batch(batch) => Some(batch),
        _ => None,
    });
    let events = batches.flat_map(|batch| &batch.events);
    events
        .filter_map(|event| match &event.fact {
            Fact::Football(FootballFact::Score(score)) => Some(score.goals[0]),
            _ => None,
        })
        .collect()
}

/// `{"goals":1}`, `{"signal":"fresh"}`, or both.
#[derive(Deserialize)]
struct Message {
    goals: Option<u16>,
    signal: Option<String>,
}

/// Reads [`Message`]s.
#[derive(Default)]
pub(crate) struct Small;

impl Interpret for Small {
    fn message(
        &mut self,
        bytes: &[u8],
        received: Micros,
        out: &mut Interpretation,
    ) -> Result<(), DecodeError> {
        let message: Message = serde_json::from_slice(bytes)
            .map_err(|error| DecodeError::new(RefusalKind::Syntax, error.to_string()))?;
        out.batches.extend(message.goals.map(|goals| score(goals, received)));
        out.signals.extend(message.signal.and_then(|signal| match signal.as_str() {
            "alive" => Some(Signal::Alive),
            "fresh" => Some(Signal::Fresh),
            "late" => Some(Signal::Late),
            "recovering" => Some(Signal::Recovering),
            _ => None,
        }));
        Ok(())
    }
}

fn score(goals: u16, clock_us: Micros) -> Timed {
    let score = FootballScore { goals: [goals, 0], ..FootballScore::default() };
    let event = Event {
        sport: Sport::Football,
        match_id: Id(7),
        fact: Fact::Football(FootballFact::Score(score)),
    };
    Timed { clock_us, batch: Batch { events: vec![event], ..Batch::default() } }
}
