//! The checker finds what is planted, and nothing where nothing is wrong.

mod live;
mod nodes;
mod rest;
mod resumes;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use fanout::{ChannelId, Epoch};
use log::record::{Output, Record};
use serde_json::{Value, json};

use super::{
    check, document,
    published::LogContent,
    report::{Report, Rule},
};
use crate::history::{Closing, Dialect, Entry, History, ImageRequest, WaitCall};

const CHANNEL: &str = "football/7";
const EPOCH: Epoch = Epoch(1_000_000);
const LATER_EPOCH: Epoch = Epoch(2_000_000);

/// A log of one match, as a hub would write it.
struct Script {
    records: Vec<Record>,
    epoch: Epoch,
    seq: u64,
    document: Value,
    updates: Vec<String>,
    images: Vec<String>,
}

impl Script {
    fn new() -> Self {
        let mut script = Self {
            records: Vec::new(),
            epoch: EPOCH,
            seq: 0,
            document: json!({"life": "prematch"}),
            updates: Vec::new(),
            images: Vec::new(),
        };
        script.images.push(script.image());
        let payload = Bytes::from(script.image());
        let (channel, epoch) = (ChannelId::new(CHANNEL), EPOCH);
        script.record(vec![Output::Opened { channel, epoch, seq: 0, payload }]);
        script
    }

    /// Ten changes, of which the third and the eighth have events.
    fn played() -> Self {
        let mut script = Self::new();
        for n in 1..=10_u64 {
            let events = match n {
                3 => vec![json!({"kind": "goal", "eid": "g1"})],
                8 => {
                    vec![json!({"kind": "card", "eid": "c1"}), json!({"kind": "var", "eid": "v1"})]
                }
                _ => vec![],
            };
            let patch = match n {
                5 => json!({"score": {"home": 1}, "ball": {"x": 10.5, "y": 3}}),
                6 => json!({"ball": null}),
                _ => json!({"clock": {"s": n}, "stats": {"home": {"corners": n / 2}}}),
            };
            script.update(&patch, &events);
        }
        script
    }

    fn record(&mut self, outputs: Vec<Output>) {
        let number = self.records.len() as u64 + 1;
        let at = 1_000_000 * i64::try_from(number).expect("small");
        self.records.push(Record { number, at, inputs: Bytes::new(), outputs });
    }

    fn update(&mut self, patch: &Value, events: &[Value]) {
        let prev = self.seq;
        self.seq += 1;
        document::merge(&mut self.document, patch);
        let events_part = if events.is_empty() {
            String::new()
        } else {
            format!(",\"events\":{}", json!(events))
        };
        let frame = format!(
            r#"{{"type":"update","ch":"{CHANNEL}","seq":{},"prev":{prev},"at":{},"patch":{patch}{events_part}}}"#,
            self.seq,
            at(self.seq)
        );
        self.updates.push(frame.clone());
        self.images.push(self.image());
        self.record(vec![Output::Published {
            channel: ChannelId::new(CHANNEL),
            epoch: self.epoch,
            prev,
            seq: self.seq,
            urgent: false,
            has_events: !events.is_empty(),
            payload: frame.into(),
        }]);
    }

    fn image(&self) -> String {
        format!(
            r#"{{"type":"image","ch":"{CHANNEL}","epoch":"{}","seq":{},"at":{},"data":{}}}"#,
            self.epoch,
            self.seq,
            at(self.seq),
            self.document
        )
    }

    fn log(&self) -> (LogContent, Report) {
        let (mut log, mut report) = (LogContent::default(), Report::default());
        self.records.iter().for_each(|record| log.add(record, &mut report));
        log.settled_at = i64::MAX;
        (log, report)
    }

    /// The update of this number, from 1.
    fn nth(&self, seq: usize) -> String {
        self.updates[seq - 1].clone()
    }

    /// The updates after `from` up to `to`, merged into one.
    fn merged(&self, from: u64, to: u64, patch: &Value) -> String {
        format!(
            r#"{{"type":"update","ch":"{CHANNEL}","seq":{to},"prev":{from},"n":{},"why":"rate","at":{},"patch":{patch}}}"#,
            to - from,
            at(to)
        )
    }
}

fn at(seq: u64) -> Value {
    json!({"src": null, "in": seq, "pub": seq})
}

fn subscribe(from: Option<(Epoch, u64)>) -> Entry {
    let mut command = json!({"op": "subscribe", "id": 1, "ch": CHANNEL});
    if let Some((epoch, seq)) = from {
        command["from"] = json!({"epoch": epoch.to_string(), "seq": seq});
    }
    Entry::Sent(command.to_string().into())
}

fn subscribed(epoch: Epoch, seq: u64, resumed: bool) -> String {
    json!({"type": "subscribed", "id": 1, "ch": CHANNEL, "epoch": epoch.to_string(), "seq": seq,
        "resumed": resumed})
    .to_string()
}

/// The history of a client that subscribes at the image of sequence 2, and receives these frames.
fn client(script: &Script, frames: &[String]) -> History {
    let mut entries =
        vec![Entry::Connected, subscribe(None), received(&subscribed(EPOCH, 2, false))];
    entries.push(received(&script.images[2]));
    entries.extend(frames.iter().map(|frame| received(frame)));
    entries.push(Entry::Settled);
    history(entries)
}

fn history(entries: Vec<Entry>) -> History {
    History { entries, ..History::new("client 1", Dialect::Stream) }
}

fn received(frame: &str) -> Entry {
    Entry::Received(Arc::from(frame))
}

/// Checks a history, and expects this rule to be broken, with a message that has these words.
#[track_caller]
fn finds(script: &Script, history: History, rule: Rule, words: &str) {
    let (log, report) = script.log();
    assert!(report.is_clean(), "{report}");
    let report = check(&[history], &log, 1);
    assert_eq!(report.rules(), [rule], "{report}");
    assert!(report.to_string().contains(words), "{report}");
    assert!(report.to_string().contains("client 1: "), "it names the client: {report}");
}

#[track_caller]
fn finds_nothing(script: &Script, history: History) -> Report {
    let (log, report) = script.log();
    assert!(report.is_clean(), "{report}");
    let report = check(&[history], &log, 1);
    assert!(report.is_clean(), "{report}");
    report
}

fn all(script: &Script) -> Vec<String> {
    script.updates[2..].to_vec()
}

fn beat(seq: u64) -> String {
    json!({"type": "beat", "heads": {CHANNEL: seq}}).to_string()
}

/// The client after three updates, then a restart, with these frames as the answer to its position.
fn resumed(script: &Script, frames: &[String]) -> History {
    let mut history = client(script, &[script.nth(3)]);
    history.entries.pop();
    history.entries.extend([
        Entry::Closed(Closing::default()),
        Entry::Connected,
        subscribe(Some((EPOCH, 3))),
    ]);
    history.entries.extend(frames.iter().map(|frame| received(frame)));
    history.entries.push(Entry::Settled);
    history
}

/// The log loses the records after sequence 5, and continues in another epoch.
fn damaged() -> (Script, LogContent) {
    let mut script = Script::played();
    let (mut log, mut report) = script.log();
    // The first record opens the channel.
    log.lose_after(6);
    script.epoch = LATER_EPOCH;
    script.seq = 5;
    script.document =
        serde_json::from_str::<Value>(&script.images[5]).expect("an image")["data"].take();
    script.images.truncate(6);
    let before = script.records.len();
    script.update(&json!({"clock": {"s": 60}}), &[]);
    script.records[before..].iter().for_each(|record| log.add(record, &mut report));
    assert!(report.is_clean(), "{report}");
    (script, log)
}

fn fetched(script: &Script, seq: usize) -> ImageRequest {
    ImageRequest {
        is_behind: false,
        channel: CHANNEL.into(),
        tag: None,
        at_least: None,
        sent_at: 0,
        waited: Duration::ZERO,
        status: 200,
        new_tag: Some(format!("\"{EPOCH}-{seq}\"").into()),
        body: script.images[seq].as_str().into(),
    }
}

#[test]
fn whole_history_is_clean() {
    let script = Script::played();
    let report = finds_nothing(&script, client(&script, &all(&script)));
    assert_eq!((report.counts.events, report.counts.images), (3, 1));
}

#[test]
fn merged_history_is_clean() {
    let script = Script::played();
    let merged = json!({"clock": {"s": 7}, "stats": {"home": {"corners": 3}}, "score": {"home": 1}, "ball": null});
    let beat = beat(10);
    let mut frames = vec![script.nth(3), script.merged(3, 7, &merged)];
    frames.extend([8, 9, 10].map(|n| script.nth(n)));
    frames.push(beat);
    finds_nothing(&script, client(&script, &frames));
}

#[test]
fn skipped_update_is_found() {
    let script = Script::played();
    let mut frames = all(&script);
    frames.remove(2);
    finds(&script, client(&script, &frames), Rule::Gap, "update 5 to 6 at 4");
}

#[test]
fn skipped_last_update_is_found() {
    let script = Script::played();
    let mut frames = all(&script);
    frames.pop();
    finds(
        &script,
        client(&script, &frames),
        Rule::Incomplete,
        "at 9 in the end, and the log at 10",
    );
}

#[test]
fn update_sent_twice_is_found() {
    let script = Script::played();
    let mut frames = all(&script);
    frames.insert(1, frames[0].clone());
    finds(&script, client(&script, &frames), Rule::Back, "update 3 again");
}

#[test]
fn event_sent_twice_is_found() {
    let script = Script::played();
    let mut frames = all(&script);
    assert_eq!(frames[6].pop(), Some('}'));
    frames[6] += r#","events":[{"eid":"g1","kind":"goal"}]}"#;
    finds(&script, client(&script, &frames), Rule::Events, "g1");
}

#[test]
fn events_out_of_order_are_found() {
    let script = Script::played();
    let mut frames = all(&script);
    let events = [json!({"kind": "card", "eid": "c1"}), json!({"kind": "var", "eid": "v1"})];
    let turned = json!([events[1], events[0]]).to_string();
    frames[5] = frames[5].replace(&json!(events).to_string(), &turned);
    finds(&script, client(&script, &frames), Rule::Events, "v1");
}

#[test]
fn merged_event_is_found() {
    let script = Script::played();
    let merged = json!({"clock": {"s": 4}, "stats": {"home": {"corners": 2}}});
    let mut frames = vec![script.merged(2, 4, &merged)];
    frames.extend(script.updates[4..].iter().cloned());
    finds(&script, client(&script, &frames), Rule::Events, "from 2 to 4 merges 1 events");
}

#[test]
fn changed_byte_is_found() {
    let script = Script::played();
    let mut frames = all(&script);
    frames[2] = frames[2].replace("10.5", "10.4");
    finds(&script, client(&script, &frames), Rule::Bytes, "10.4");
}

#[test]
fn document_that_differs_after_a_merged_update_is_found() {
    let script = Script::played();
    // The ball of update 5 stays, which update 6 took away.
    let merged = json!({"clock": {"s": 7}, "stats": {"home": {"corners": 3}}, "score": {"home": 1}, "ball": {"x": 1}});
    let mut frames = vec![script.nth(3), script.merged(3, 7, &merged)];
    frames.extend([8, 9, 10].map(|n| script.nth(n)));
    finds(&script, client(&script, &frames), Rule::Document, "at /ball: the log has nothing");
}

#[test]
fn image_that_differs_is_found() {
    let mut script = Script::played();
    script.images[2] = script.images[2].replace("\"corners\":1", "\"corners\":2");
    let frames = all(&script);
    finds(
        &script,
        client(&script, &frames),
        Rule::Document,
        "at /stats/home/corners: the log has 1",
    );
}

#[test]
fn update_that_the_log_lacks_is_found() {
    let script = Script::played();
    let mut frames = all(&script);
    frames.push(script.nth(10).replace("\"seq\":10,\"prev\":9", "\"seq\":11,\"prev\":10"));
    finds(&script, client(&script, &frames), Rule::NotInLog, "update 11");
}

#[test]
fn image_in_place_of_updates_is_found() {
    let script = Script::played();
    let mut frames = all(&script);
    frames[2].clone_from(&script.images[5]);
    finds(
        &script,
        client(&script, &frames),
        Rule::Image,
        "an image at 5 in place of the updates since 4",
    );
}

#[test]
fn going_back_is_found() {
    let script = Script::played();
    let mut frames = all(&script);
    frames.push(script.images[4].clone());
    frames.extend(script.updates[4..].iter().cloned());
    finds(&script, client(&script, &frames), Rule::Back, "an image at 4 after 10");
}

#[test]
fn beat_ahead_of_the_log_is_found() {
    let script = Script::played();
    let mut frames = all(&script);
    frames.insert(3, beat(6));
    finds(&script, client(&script, &frames), Rule::Beat, "a beat at 6, and the client is at 5");
}

#[test]
fn wrong_count_of_merged_changes_is_found() {
    let script = Script::played();
    let mut frames = all(&script);
    frames[3] = script.merged(5, 6, &json!({"ball": null})).replace("\"n\":1", "\"n\":2");
    finds(&script, client(&script, &frames), Rule::Unexpected, "Some(2) changes");
}

#[test]
fn resync_without_a_reason_is_found() {
    let script = Script::played();
    let mut frames = vec![script.nth(3)];
    frames.push(
        json!({"type": "resync", "ch": CHANNEL, "why": "slow", "from": 3, "to": 6}).to_string(),
    );
    frames.push(script.images[6].clone());
    frames.extend(script.updates[6..].iter().cloned());
    let mut history = client(&script, &frames);
    finds(&script, history.clone(), Rule::Resync, "slow");
    history.may_skip = true;
    finds_nothing(&script, history);
}

#[test]
fn update_before_its_image_is_found() {
    let script = Script::played();
    let mut history = client(&script, &all(&script));
    history.entries.remove(3);
    let (log, _) = script.log();
    let report = check(&[history], &log, 1);
    assert_eq!(report.rules(), [Rule::Unexpected], "{report}");
    assert!(report.to_string().contains("an update before its image"), "{report}");
}

#[test]
fn resync_to_another_epoch_without_a_reason_is_found() {
    let script = Script::played();
    let mut frames = vec![script.nth(3)];
    frames.push(json!({"type": "resync", "ch": CHANNEL, "why": "epoch"}).to_string());
    frames.push(script.images[3].clone());
    frames.extend(script.updates[3..].iter().cloned());
    finds(&script, client(&script, &frames), Rule::Epoch, "the log says nothing of an end");
}

#[test]
fn channel_that_a_beat_no_longer_confirms_is_found() {
    let script = Script::played();
    let mut frames = all(&script);
    let beat = |heads: Value, more: bool| {
        json!({"type": "beat", "heads": heads, "more": more}).to_string()
    };
    // In two frames.
    frames.extend([beat(json!({}), true), beat(json!({CHANNEL: 10}), false)]);
    finds_nothing(&script, client(&script, &frames));
    frames.push(beat(json!({}), false));
    finds(&script, client(&script, &frames), Rule::Beat, "no longer in a beat");
}

#[test]
fn inconsistent_logs_are_found() {
    let broken = |change: &dyn Fn(&mut Vec<Record>), words: &str| {
        let mut script = Script::played();
        change(&mut script.records);
        let (_, report) = script.log();
        assert!(report.rules().contains(&Rule::Log), "{words}: {report}");
        assert!(report.to_string().contains(words), "{report}");
    };
    broken(&|records| drop(records.remove(4)), "an update from 4 to 5 at 3");
    broken(&|records| records.swap(4, 5), "follows record");
    broken(
        &|records| {
            let opened = records[0].outputs[0].clone();
            records[4].outputs.insert(0, opened);
        },
        "while it is open",
    );
    let closed = || Output::Closed { channel: ChannelId::new(CHANNEL), epoch: EPOCH };
    broken(&|records| records[4].outputs.push(closed()), "a change after its end");
    broken(&|records| records[10].outputs.extend([closed(), closed()]), "a change after its end");
    broken(&|records| records[10].number = 10, "follows record 10");
    broken(
        &|records| {
            let Output::Published { payload, .. } = &mut records[8].outputs[0] else { return };
            *payload = String::from_utf8_lossy(payload).replace("c1", "g1").into();
        },
        "the event g1 again",
    );
}

#[test]
fn other_sequence_than_that_of_the_image_is_found() {
    let mut script = Script::played();
    let Output::Opened { seq, .. } = &mut script.records[0].outputs[0] else { panic!("opened") };
    *seq = 3;
    let (_, report) = script.log();
    assert!(report.to_string().contains("opened at 3 with an image at 0"), "{report}");
}

#[test]
fn channel_that_goes_on_in_another_epoch_keeps_its_sequence() {
    let mut script = Script::played();
    let (mut log, mut report) = script.log();
    log.lose_after(6);
    let payload = script.images[5].replace(&EPOCH.to_string(), &LATER_EPOCH.to_string());
    let channel = ChannelId::new(CHANNEL);
    let opened = Output::Opened { channel, epoch: LATER_EPOCH, seq: 5, payload: payload.into() };
    script.record(vec![opened]);
    (script.epoch, script.seq) = (LATER_EPOCH, 5);
    script.update(&json!({"clock": {"s": 60}}), &[]);
    script.records[11..].iter().for_each(|record| log.add(record, &mut report));
    assert!(report.is_clean(), "{report}");
    assert_eq!(log.heads()[CHANNEL], (LATER_EPOCH.to_string(), 6));
}

#[test]
fn rewritten_record_is_found() {
    let script = Script::played();
    let (log, mut report) = script.log();
    log.check_again(&script.records[4], &mut report);
    assert!(report.is_clean(), "{report}");
    let mut other = script.records[4].clone();
    let Output::Published { payload, .. } = &mut other.outputs[0] else { panic!("an update") };
    *payload = String::from_utf8_lossy(payload).replace("\"s\":4", "\"s\":5").into();
    log.check_again(&other, &mut report);
    assert_eq!(report.rules(), [Rule::Log], "{report}");
}
