//! What one client knows of the channels it follows, and the faults in the frames that it received.
//!
//! Frames go in, counts and documents come out: no socket, no clock. The rules are those of the
//! protocol page: an update applies from `prev` to before `seq`, a merged update states its number
//! of changes, no event arrives twice, and a beat contains only positions that were sent.
//!
//! Frames, the order of updates and patches are those of the Rust client. Its `Session` hides and repairs what is counted here
//! as a fault of the hub.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
};

use client::{Frame, UpdateOrder, merge_patch};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// One client's view.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    /// Whether documents are stored. Sequences and events are checked in any case.
    keeps_documents: bool,
    /// Whether it may be sent away, to continue at another node.
    pub(crate) moves: bool,
    pub(crate) channels: BTreeMap<String, Channel>,
    pub(crate) counts: Counts,
    /// The first faults, in words.
    pub(crate) faults: Vec<String>,
}

/// The state of one channel.
#[derive(Debug, Default)]
pub(crate) struct Channel {
    pub(crate) epoch: String,
    pub(crate) seq: u64,
    pub(crate) document: Value,
    eids: HashSet<String>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    eid: Cow<'a, str>,
}

/// Counts of what arrived, and of the faults in it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) images: u64,
    pub(crate) updates: u64,
    pub(crate) events: u64,
    /// Changes that arrived as part of a merged update.
    pub(crate) merged: u64,
    /// A connection was continued at another node.
    pub(crate) resumes: u64,
    /// The hub announced that it left something out.
    pub(crate) resyncs: u64,
    /// Something is missing, and the hub did not announce it.
    pub(crate) gaps: u64,
    /// An update or an event arrived again.
    pub(crate) duplicates: u64,
    /// Frames that are unknown to the protocol, or that report an error.
    pub(crate) errors: u64,
}

impl Counts {
    /// What remains when counting starts after the warm-up: faults count from the first frame on,
    /// and images arrive at the start.
    pub(crate) fn faults_and_images(self) -> Self {
        let Self { images, resumes, resyncs, gaps, duplicates, errors, .. } = self;
        Self { images, resumes, resyncs, gaps, duplicates, errors, ..Self::default() }
    }
}

/// The number of faults that are described in words; the others are only counted.
const FAULTS_REPORTED_MAX: usize = 5;

impl Follower {
    pub(crate) fn new(keeps_documents: bool) -> Self {
        Self { keeps_documents, ..Self::default() }
    }

    pub(crate) fn keeps_documents(&self) -> bool {
        self.keeps_documents
    }

    /// Handles the text of one message. Returns the name of the channel whose position has moved.
    pub(crate) fn take<'a>(&mut self, text: &'a str) -> Option<Cow<'a, str>> {
        self.counts.frames += 1;
        self.counts.bytes += text.len() as u64;
        let frame: Frame<'a> = match Frame::parse(text.as_bytes()) {
            Ok(frame) => frame,
            Err(error) => {
                self.wrong(|counts| &mut counts.errors, format!("not a frame: {error}"));
                return None;
            }
        };
        let has_moved = match (&*frame.kind, frame.ch.as_deref()) {
            ("image", Some(ch)) => self.image(ch, &frame),
            ("update", Some(ch)) => self.update(ch, &frame),
            _ => {
                self.other(&frame);
                false
            }
        };
        frame.ch.filter(|_| has_moved)
    }

    fn other(&mut self, frame: &Frame<'_>) {
        match (&*frame.kind, frame.ch.as_deref()) {
            ("resync", _) => self.counts.resyncs += 1,
            ("beat", _) => self.beat(frame),
            // The channel is gone: its match ended long ago.
            ("unsubscribed", Some(ch)) => drop(self.channels.remove(ch)),
            ("error", _) => {
                let code = frame.code.as_deref().unwrap_or("without a code");
                self.wrong(|counts| &mut counts.errors, format!("refused: {code}"));
            }
            ("bye", _) if self.moves => {}
            ("bye", _) => {
                let why = frame.why.as_deref().unwrap_or("without a reason");
                self.wrong(|counts| &mut counts.errors, format!("sent away: {why}"));
            }
            _ => {}
        }
    }

    /// Records that the connection ended early.
    pub(crate) fn cut_off(&mut self, how: String) {
        self.wrong(|counts| &mut counts.errors, how);
    }

    fn image(&mut self, ch: &str, frame: &Frame<'_>) -> bool {
        let (Some(epoch), Some(seq), Some(data)) = (frame.epoch.as_deref(), frame.seq, frame.data)
        else {
            self.wrong(|counts| &mut counts.errors, format!("{ch}: an image lacks a field"));
            return false;
        };
        self.counts.images += 1;
        let keeps_documents = self.keeps_documents;
        let channel = self.channels.entry(ch.to_owned()).or_default();
        let last_seq = channel.seq;
        let is_back = channel.epoch == epoch && seq < last_seq;
        if channel.epoch != epoch {
            channel.eids.clear();
        }
        epoch.clone_into(&mut channel.epoch);
        channel.seq = seq;
        if keeps_documents {
            channel.document = parse(data);
        }
        if is_back {
            let fault = format!("{ch}: an image of {seq} after {last_seq}");
            self.wrong(|counts| &mut counts.duplicates, fault);
        }
        true
    }

    fn update(&mut self, ch: &str, frame: &Frame<'_>) -> bool {
        let (Some(seq), Some(prev)) = (frame.seq, frame.prev) else {
            self.wrong(|counts| &mut counts.errors, format!("{ch}: an update lacks a field"));
            return false;
        };
        self.counts.updates += 1;
        let Some(last_seq) = self.channels.get(ch).map(|channel| channel.seq) else {
            self.wrong(|counts| &mut counts.gaps, format!("{ch}: an update before any image"));
            return false;
        };
        let order = UpdateOrder::new(last_seq, prev, seq);
        if order == UpdateOrder::Old {
            let fault = format!("{ch}: {seq} came again at {last_seq}");
            self.wrong(|counts| &mut counts.duplicates, fault);
            return false;
        }
        if order == UpdateOrder::Gap {
            let fault = format!("{ch}: nothing between {last_seq} and {prev}");
            self.wrong(|counts| &mut counts.gaps, fault);
        }
        match frame.n {
            Some(n) if prev.checked_add(n) == Some(seq) => self.counts.merged += n,
            None if prev + 1 == seq => {}
            n => {
                let fault =
                    format!("{ch}: {prev} to {seq} says that it is {} changes", n.unwrap_or(1));
                self.wrong(|counts| &mut counts.errors, fault);
            }
        }
        if let Some(events) = frame.events {
            self.events(ch, events);
        }
        if let Some(channel) = self.channels.get_mut(ch) {
            channel.seq = seq;
            if let Some(patch) = frame.patch.filter(|_| self.keeps_documents) {
                merge_patch(&mut channel.document, parse(patch));
            }
        }
        true
    }

    fn events(&mut self, ch: &str, events: &RawValue) {
        let Ok(events) = serde_json::from_str::<Vec<Event<'_>>>(events.get()) else {
            self.wrong(|counts| &mut counts.errors, format!("{ch}: an event lacks its eid"));
            return;
        };
        self.counts.events += events.len() as u64;
        for Event { eid } in events {
            let Some(channel) = self.channels.get_mut(ch) else { return };
            if !channel.eids.insert(eid.to_string()) {
                let fault = format!("{ch}: event {eid} came again");
                self.wrong(|counts| &mut counts.duplicates, fault);
            }
        }
    }

    /// A beat states the positions that the frames before it lead to.
    fn beat(&mut self, frame: &Frame<'_>) {
        for (ch, head) in &frame.heads {
            let last_seq = self.channels.get(ch).map_or(0, |channel| channel.seq);
            if *head > last_seq {
                let fault = format!("{ch}: the beat says {head}, frames led to {last_seq}");
                self.wrong(|counts| &mut counts.gaps, fault);
            }
        }
    }

    fn wrong(&mut self, count: impl FnOnce(&mut Counts) -> &mut u64, fault: String) {
        *count(&mut self.counts) += 1;
        if self.faults.len() < FAULTS_REPORTED_MAX {
            self.faults.push(fault);
        }
    }
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        let Self {
            frames,
            bytes,
            images,
            updates,
            events,
            merged,
            resumes,
            resyncs,
            gaps,
            duplicates,
            errors,
        } = other;
        self.frames += frames;
        self.bytes += bytes;
        self.images += images;
        self.updates += updates;
        self.events += events;
        self.merged += merged;
        self.resumes += resumes;
        self.resyncs += resyncs;
        self.gaps += gaps;
        self.duplicates += duplicates;
        self.errors += errors;
    }
}

fn parse(part: &RawValue) -> Value {
    serde_json::from_str(part.get()).expect("a part of JSON is JSON")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const IMAGE: &str =
        r#"{"type":"image","ch":"a","epoch":"e","seq":4,"at":{},"data":{"x":1,"y":{"z":2}}}"#;

    /// Handles these frames after an image at 4, and checks position, document and all counts
    /// except those of frames and bytes.
    #[track_caller]
    fn check(frames: &[&str], seq: u64, document: &Value, expected: Counts) {
        let mut follower = Follower::new(true);
        follower.take(IMAGE);
        for frame in frames {
            follower.take(frame);
        }
        let Counts { frames, bytes, .. } = follower.counts;
        let faults = &follower.faults;
        assert_eq!(follower.counts, Counts { frames, bytes, images: 1, ..expected }, "{faults:?}");
        let wrong = expected.gaps + expected.duplicates + expected.errors;
        assert_eq!(faults.len() as u64, wrong.min(FAULTS_REPORTED_MAX as u64), "{faults:?}");
        let channel = &follower.channels["a"];
        assert_eq!((channel.seq, &channel.document), (seq, document));
    }

    fn update(seq: u64, prev: u64, rest: &str) -> String {
        format!(r#"{{"type":"update","ch":"a","seq":{seq},"prev":{prev},"at":{{}}{rest}}}"#)
    }

    #[test]
    fn chain_is_followed() {
        check(
            &[
                &update(5, 4, r#","patch":{"x":null,"y":{"w":3}}"#),
                &update(6, 5, r#","events":[{"kind":"goal","eid":"g1"}]"#),
                &update(9, 6, r#","n":3,"why":"slow","patch":{"x":"7"}"#),
                r#"{"type":"beat","now":1,"heads":{"a":9}}"#,
                r#"{"type":"pong","id":1,"now":1}"#,
            ],
            9,
            &json!({"x": "7", "y": {"z": 2, "w": 3}}),
            Counts { updates: 3, events: 1, merged: 3, ..Counts::default() },
        );
    }

    #[test]
    fn update_from_before_the_image_applies() {
        check(
            &[&update(6, 2, r#","n":4,"why":"resume","patch":{"x":3}"#)],
            6,
            &json!({"x": 3, "y": {"z": 2}}),
            Counts { updates: 1, merged: 4, ..Counts::default() },
        );
    }

    #[test]
    fn missing_update_is_a_gap() {
        check(
            &[
                &update(7, 6, r#","patch":{"x":3}"#),
                r#"{"type":"beat","now":1,"heads":{"a":8,"b":1}}"#,
                r#"{"type":"update","ch":"b","seq":2,"prev":1,"at":{},"patch":{}}"#,
            ],
            7,
            &json!({"x": 3, "y": {"z": 2}}),
            Counts { updates: 2, gaps: 4, ..Counts::default() },
        );
    }

    #[test]
    fn repeated_update_is_a_duplicate() {
        let event = update(5, 4, r#","events":[{"eid":"g1"},{"eid":"g1"}]"#);
        check(
            &[&event, &event],
            5,
            &json!({"x": 1, "y": {"z": 2}}),
            Counts { updates: 2, events: 2, duplicates: 2, ..Counts::default() },
        );
    }

    #[test]
    fn image_from_before_the_position_is_a_duplicate() {
        let image = |epoch: &str, seq: u64| {
            format!(
                r#"{{"type":"image","ch":"a","epoch":"{epoch}","seq":{seq},"data":{{"x":1,"y":{{"z":2}}}}}}"#
            )
        };
        let images = [image("e", 4), image("e", 3), image("other", 1)];
        let mut follower = Follower::new(true);
        for image in &images {
            follower.take(image);
        }
        assert_eq!(follower.counts.duplicates, 1, "{:?}", follower.faults);
        assert_eq!(follower.channels["a"].seq, 1, "another epoch has its own sequences");
    }

    #[test]
    fn node_that_sends_its_clients_away_is_no_fault_if_there_are_others() {
        for (moves, errors) in [(false, 1), (true, 0)] {
            let mut follower = Follower { moves, ..Follower::new(false) };
            follower.take(r#"{"type":"bye","why":"drain","reconnect_after_ms":1}"#);
            assert_eq!(follower.counts.errors, errors);
        }
    }

    #[test]
    fn merged_counts_must_add_up() {
        check(
            &[&update(7, 4, r#","patch":{}"#), &update(9, 7, r#","n":3,"patch":{}"#)],
            9,
            &json!({"x": 1, "y": {"z": 2}}),
            Counts { updates: 2, errors: 2, ..Counts::default() },
        );
    }

    #[test]
    fn refusals_are_faults_and_resyncs_are_not() {
        check(
            &[
                r#"{"type":"resync","ch":"a","why":"slow","from":1,"to":4}"#,
                r#"{"type":"error","code":"limit","message":"","retry":false}"#,
                r#"{"type":"bye","why":"drain","reconnect_after_ms":1}"#,
                r#"{"type":"image","ch":"a"}"#,
                r#"{"type":"beat","heads":[]}"#,
                "{}",
                "{",
            ],
            4,
            &json!({"x": 1, "y": {"z": 2}}),
            Counts { resyncs: 1, errors: 6, ..Counts::default() },
        );
    }

    #[test]
    fn events_of_different_epochs_are_distinct() {
        let mut follower = Follower::new(false);
        for epoch in ["e", "f"] {
            follower.take(&IMAGE.replace(r#""e""#, &format!(r#""{epoch}""#)));
            follower.take(&update(5, 4, r#","events":[{"eid":"g1"}]"#));
        }
        assert_eq!((follower.counts.duplicates, follower.counts.events), (0, 2));
    }

    #[test]
    fn gone_channel_is_removed() {
        let mut follower = Follower::new(false);
        follower.take(IMAGE);
        follower.take(r#"{"type":"unsubscribed","ch":"a","why":"gone"}"#);
        assert!(follower.channels.is_empty() && follower.faults.is_empty());
    }
}
