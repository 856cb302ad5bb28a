//! The whole output of a round.

use std::{
    collections::{HashMap, VecDeque},
    io::Write as _,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use facts::merge_patch;
use fanout::{Change, ChannelId, Epoch, Micros, Publication, channel::Rate, encode::payload};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{
    NUMBERS_AFTER, ROUND_US, RoundNumber, TestMatch, begins, epoch_of, round::Round, round_at,
};
use crate::catch_up::hash_of;

/// Rounds whose output is available: the running one, and those before it.
const ROUNDS: RoundNumber = 3;

/// A round whose output is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundSummary {
    /// The epoch of its channels.
    pub epoch: Epoch,
    /// In microseconds since 1970.
    pub begins: Micros,
    pub ends: Micros,
}

/// The outputs of the last rounds. Each is computed when it is first requested.
#[derive(Debug)]
pub struct TestTruth {
    play: TestMatch,
    /// The newest last.
    computed: Mutex<VecDeque<(RoundNumber, Bytes)>>,
}

/// A line of the output.
#[derive(Serialize)]
struct Line<'a> {
    /// The hash of the document after the frame.
    sha256: &'a str,
    /// What a follower gets that follows the channel at every change.
    frame: &'a RawValue,
}

/// A frame, as far as the document is concerned.
#[derive(Deserialize)]
struct Frame {
    data: Option<Value>,
    patch: Option<Value>,
}

impl TestTruth {
    #[must_use]
    pub fn new(play: TestMatch) -> Self {
        Self { play, computed: Mutex::default() }
    }

    /// The rounds whose output is available, the running one first.
    #[must_use]
    pub fn rounds(&self, now: Micros) -> Vec<RoundSummary> {
        let running = round_at(now);
        let rounds = (0..ROUNDS).filter_map(|back| running.checked_sub(back));
        let summary = |round| RoundSummary {
            epoch: epoch_of(round),
            begins: begins(round),
            ends: begins(round) + ROUND_US,
        };
        rounds.map(summary).collect()
    }

    /// The whole output of the round with this epoch, also what is not published yet: a line of JSON for each change of each
    /// channel, in the order of publication, with `sha256`, the hash of the document after it, and `frame`, what a follower
    /// at `every_ms` 0 gets. `None` if it is none of the last rounds. The first call takes part of a second.
    pub fn output(&self, epoch: Epoch, now: Micros) -> Option<Bytes> {
        let running = round_at(now);
        let mut rounds = (0..ROUNDS).filter_map(|back| running.checked_sub(back));
        let round = rounds.find(|round| epoch_of(*round) == epoch)?;
        // Held while it computes, so that many requests compute it once.
        let mut computed = self.computed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, lines)) = computed.iter().find(|(number, _)| *number == round) {
            return Some(lines.clone());
        }
        let lines = Bytes::from(lines(round, &self.play));
        while computed.len() >= ROUNDS as usize {
            computed.pop_front();
        }
        computed.push_back((round, lines.clone()));
        Some(lines)
    }
}

pub(super) fn lines(number: RoundNumber, play: &TestMatch) -> Vec<u8> {
    let mut changes = Vec::new();
    let mut round = Round::begin(number, play, NUMBERS_AFTER, &mut changes);
    round.advance(begins(number) + ROUND_US, &mut changes);
    let (mut lines, mut documents) = (Vec::new(), HashMap::new());
    for change in &changes {
        match change {
            Change::Opened(publication) | Change::Published(Rate::Each, publication) => {
                write_line(publication, &mut documents, &mut lines);
            }
            Change::Published(..) | Change::Closed(_) => {}
        }
    }
    lines
}

fn write_line(
    publication: &Arc<Publication>,
    documents: &mut HashMap<ChannelId, Value>,
    lines: &mut Vec<u8>,
) {
    let text = payload(publication.frame());
    let frame: Frame = serde_json::from_slice(&text).expect("a frame is JSON");
    let document = documents.entry(publication.channel.name.clone()).or_default();
    if let Some(data) = frame.data {
        *document = data;
    }
    if let Some(patch) = frame.patch {
        merge_patch(document, &patch);
    }
    let sha256 = hash_of(document);
    let frame: &RawValue = serde_json::from_slice(&text).expect("a frame is JSON");
    let line = Line { sha256: &sha256, frame };
    serde_json::to_writer(&mut *lines, &line).expect("writing to memory does not fail");
    writeln!(lines).expect("writing to memory does not fail");
}
