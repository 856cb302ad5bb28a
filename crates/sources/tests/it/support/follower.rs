//! A follower of a source: keeps all its reports, and looks for secrets in them.

use facts::event::Event;
use hub::pipeline::Input;
use ingest::error::Refusal;
use sources::SourceSender;
use tokio::sync::mpsc;

use super::{
    report::{Report, channel},
    soon,
};

/// Texts that no source may ever reveal.
pub(crate) const SECRETS: [&str; 2] = ["SECRET-APP-KEY", "SECRET-SESSION"];

/// The capacity for queued reports: a whole recording, so that a test may play it first and check
/// afterwards.
const REPORTS_MAX: usize = 1 << 16;

pub(crate) struct Follower {
    inputs: mpsc::Receiver<Input>,
    pub events: Vec<Event>,
    pub refused: Vec<Refusal>,
    pub heartbeats: usize,
}

impl Follower {
    pub(crate) fn new() -> (Self, SourceSender) {
        let (sender, inputs) = channel(REPORTS_MAX);
        (Self { inputs, events: Vec::new(), refused: Vec::new(), heartbeats: 0 }, sender)
    }

    /// The next state that the source reports; facts and refusals before it are stored.
    pub(crate) async fn state(&mut self) -> Report {
        loop {
            match self.next("a state").await {
                Report::Batch(batch) => self.events.extend(batch.events),
                Report::Refused(refusal) => self.refused.push(refusal),
                Report::Heartbeat => self.heartbeats += 1,
                state => return state,
            }
        }
    }

    /// Expects these states next. One that ends in `..` is a prefix.
    #[track_caller]
    pub(crate) fn states<'a>(
        &'a mut self,
        expected: &'a [&'a str],
    ) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            for (index, &expected) in expected.iter().enumerate() {
                let found = match self.state().await {
                    Report::Down(reason) => format!("Down: {reason}"),
                    state => format!("{state:?}"),
                };
                let is_expected = match expected.strip_suffix("..") {
                    Some(beginning) => found.starts_with(beginning),
                    None => found == expected,
                };
                assert!(is_expected, "{found}, not {expected} ({index}, {caller})");
            }
        }
    }

    /// Waits for a refused message.
    pub(crate) async fn refusal(&mut self) -> Refusal {
        loop {
            match self.next("a refusal").await {
                Report::Refused(refusal) => return refusal,
                Report::Batch(batch) => self.events.extend(batch.events),
                Report::Heartbeat => self.heartbeats += 1,
                state => panic!("{state:?} before a refusal"),
            }
        }
    }

    /// Waits until this many facts have arrived.
    pub(crate) async fn facts(&mut self, count: usize) {
        while self.events.len() < count {
            match self.next("facts").await {
                Report::Batch(batch) => self.events.extend(batch.events),
                Report::Heartbeat => self.heartbeats += 1,
                other => panic!("{other:?} after {} facts of {count}", self.events.len()),
            }
        }
    }

    async fn next(&mut self, what: &str) -> Report {
        let input = soon(what, self.inputs.recv()).await.expect("the source goes on");
        let report = Report::from(input);
        let shown = match &report {
            // Whole images are long, and consist of parsed prices.
            Report::Batch(batch) => format!("{:?}", batch.events.first()),
            Report::Refused(refusal) => {
                format!("{refusal:?} {}", String::from_utf8_lossy(&refusal.bytes))
            }
            _ => format!("{report:?}"),
        };
        assert!(SECRETS.iter().all(|secret| !shown.contains(secret)), "{shown}");
        report
    }
}
