//! A script: what the hub does, and what is expected of the client.

use std::{
    collections::BTreeMap,
    io::{self, Read},
};

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

const CORPUS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scripts.gz"));

/// One case.
#[derive(Debug)]
pub struct Script {
    pub head: Head,
    /// In order; the first is line 2 of the file.
    pub steps: Vec<Step>,
}

/// The first line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Its name: that of the file.
    pub case: String,
    /// What it is about, in words.
    pub about: String,
    /// The names and patterns that the client follows.
    pub follow: Vec<String>,
    /// Messages are written in pieces of this size, if set.
    pub trickle_bytes: Option<usize>,
}

/// One step.
#[derive(Debug)]
pub enum Step {
    /// The client connects, not earlier than `after_ms` after the end of its previous connection, and this `hello` is sent.
    Open { hello: Value, after_ms: Option<u64> },
    /// The client asks for these names and patterns, in any number of commands.
    Subscribe(BTreeMap<String, Wanted>),
    /// A frame is sent, as this text.
    Send(Box<RawValue>),
    /// The connection is closed with a close frame.
    Close(Close),
    /// The connection ends without a close frame.
    Cut,
    /// From now on the hub sends and answers nothing on this connection.
    Mute,
    /// Time passes.
    Wait { ms: u64 },
    /// What the client has.
    Expect(Expected),
}

/// How the client requests one name, and the hub's answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The position; of a pattern, those of its channels by name; null if it has none.
    pub from: Value,
    /// The fields of `subscribed` for it, or `error` with a code.
    pub answer: Value,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Close {
    pub code: u16,
    pub reason: String,
}

/// What the client has of a channel.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub ch: String,
    /// The client has discarded the document, or marked it as ended.
    #[serde(default)]
    pub gone: bool,
    #[serde(default)]
    pub epoch: String,
    #[serde(default)]
    pub seq: u64,
    /// Of the document's canonical form.
    #[serde(default)]
    pub sha256: String,
    /// The `eid` of each event since the previous expectation of this channel, in order.
    pub events: Vec<String>,
    /// As the clients of this repository call it.
    #[serde(default)]
    pub health: String,
}

/// Why a text is no script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("line {line}")]
    Line { line: usize, source: serde_json::Error },
    #[error("line {line}: a line has one step")]
    Step { line: usize },
    #[error("the corpus cannot be decompressed")]
    Corpus(#[from] io::Error),
}

/// A line has one of these, and what belongs to it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    open: Option<Value>,
    after_ms: Option<u64>,
    subscribe: Option<BTreeMap<String, Wanted>>,
    #[serde(borrow)]
    send: Option<&'a RawValue>,
    /// It has something that the schema of version 1 does not name.
    #[serde(default, rename = "beyond")]
    _beyond: bool,
    close: Option<Close>,
    cut: Option<bool>,
    mute: Option<bool>,
    wait_ms: Option<u64>,
    expect: Option<Expected>,
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    ///
    /// If a line is not what `README.md` says.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let mut lines = text.split('\n').enumerate().filter(|(_, line)| !line.is_empty());
        let (_, head) = lines.next().unwrap_or_default();
        let head =
            serde_json::from_str(head).map_err(|source| ScriptError::Line { line: 1, source })?;
        let step = |(index, line)| {
            let line_number = index + 1;
            let line: Line<'_> = serde_json::from_str(line)
                .map_err(|source| ScriptError::Line { line: line_number, source })?;
            line.step().ok_or(ScriptError::Step { line: line_number })
        };
        Ok(Self { head, steps: lines.map(step).collect::<Result<_, _>>()? })
    }

    /// The last expectation of each channel, and the events of all.
    #[must_use]
    pub fn outcome(&self) -> BTreeMap<&str, Expected> {
        let mut last: BTreeMap<&str, Expected> = BTreeMap::new();
        for step in &self.steps {
            let Step::Expect(expected) = step else { continue };
            let earlier = last.remove(expected.ch.as_str()).map(|it| it.events).unwrap_or_default();
            let events = earlier.into_iter().chain(expected.events.iter().cloned()).collect();
            last.insert(&expected.ch, Expected { events, ..expected.clone() });
        }
        last
    }
}

impl Line<'_> {
    fn step(self) -> Option<Step> {
        let mut steps = Vec::new();
        steps.extend(self.open.map(|hello| Step::Open { hello, after_ms: self.after_ms }));
        steps.extend(self.subscribe.map(Step::Subscribe));
        steps.extend(self.send.map(|text| Step::Send(text.to_owned())));
        steps.extend(self.close.map(Step::Close));
        steps.extend(self.cut.map(|_| Step::Cut));
        steps.extend(self.mute.map(|_| Step::Mute));
        steps.extend(self.wait_ms.map(|ms| Step::Wait { ms }));
        steps.extend(self.expect.map(Step::Expect));
        if steps.len() == 1 { steps.pop() } else { None }
    }
}

/// The scripts that the program contains, by name.
///
/// # Errors
///
/// If they are damaged, or one is not a script.
pub fn corpus() -> Result<Vec<Script>, ScriptError> {
    let mut text = String::new();
    GzDecoder::new(CORPUS).read_to_string(&mut text)?;
    text.split("\n\n").filter(|text| !text.is_empty()).map(Script::parse).collect()
}
