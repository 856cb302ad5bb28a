//! Recordings of sources: written, read back, cut, damaged.

use facts::event::Id;
use ingest::recording::{Limits, Recording, Step, container::Writer};

use proptest::prelude::*;

use super::{
    Outcome, Scratch,
    properties::{changed, changes},
};

const BEGAN: i64 = 1_700_000_000_000_000;

fn messages() -> [&'static [u8]; 3] {
    [
        br#"{"sport":"hockey","match":"m1","fact":{"fixture":{}}}"#,
        b"\xff\xfe is no text",
        br#"{"sport":"hockey","match":"m1","fact":{"scoreboard":{"status":"live"}}}"#,
    ]
}

/// A recording with this interval between messages.
fn recorded(format: &str, every_us: i64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), format, "acme", BEGAN).unwrap();
    for (number, message) in (1..).zip(messages()) {
        writer.message(BEGAN + number * every_us, message).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn messages_are_replayed_at_their_recorded_times() {
    let scratch = Scratch::new();
    let path = scratch.file("monday.rec", recorded("matchwire-events", 10));
    let recording = Recording::open(&path, &[], 0, &Limits::default()).unwrap();
    assert_eq!(recording.format().as_str(), "matchwire-events");
    let mut clocks = Vec::new();
    for step in recording {
        match step {
            Step::Batch(timed) => {
                assert_eq!(timed.batch.events[0].match_id, Id::derive("acme", "match", "m1"));
                clocks.push(timed.clock_us - BEGAN);
            }
            Step::Refused(refusal) => {
                assert_eq!((refusal.location.line, &*refusal.bytes), (3, messages()[1]));
            }
        }
    }
    assert_eq!(clocks, [10, 30]);
}

#[test]
fn recorded_clock_never_goes_back() {
    let message = |at: u32| {
        format!(
            r#"{{"at":{at},"text":"{{\"sport\":\"hockey\",\"match\":\"m\",\"fact\":{{\"fixture\":{{}}}}}}"}}"#
        )
    };
    let head = r#"{"matchwire":"recording","version":1,"format":"matchwire-events","source":"s","began":1}"#;
    let lines = [head.to_owned(), message(7), message(5), message(9)];
    let scratch = Scratch::new();
    let path = scratch.file("a", lines.join("\n"));
    let clocks = Recording::open(&path, &[], 0, &Limits::default()).unwrap().map(|step| {
        let Step::Batch(timed) = step else { panic!("{step:?}") };
        timed.clock_us
    });
    assert_eq!(clocks.collect::<Vec<_>>(), [7, 7, 9]);
}

#[test]
fn plain_and_gzip_are_read_as_well() {
    let plain = zstd::decode_all(&*recorded("matchwire-events", 10)).unwrap();
    for bytes in [super::fixtures::gz(&plain), plain] {
        let outcome = Outcome::of_bytes("a", bytes);
        assert_eq!((outcome.batches, outcome.refused().len()), (2, 1));
    }
}

#[test]
fn a_stream_is_read_by_its_own_format() {
    let mut writer = Writer::new(Vec::new(), "betfair-stream", "betfair", BEGAN).unwrap();
    writer.message(BEGAN + 5, br#"{"op":"mcm","pt":1,"mc":[{"id":"1.2","rc":[]}]}"#).unwrap();
    let outcome = Outcome::of_bytes("a", writer.finish().unwrap());
    assert_eq!(outcome.refused(), [("unknown", 2)], "{:?}", outcome.reasons());
}

#[test]
fn a_crash_loses_only_unflushed_messages() {
    // One second between messages: each is flushed at once, and no block is ever finished.
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, "matchwire-events", "acme", BEGAN).unwrap();
    writer.message(BEGAN + 1_000_000, messages()[0]).unwrap();
    writer.message(BEGAN + 1_000_001, messages()[2]).unwrap();
    writer.flush_due(BEGAN + 1_000_002).unwrap();
    drop(writer);
    let outcome = Outcome::of_bytes("a", &out);
    assert_eq!((outcome.batches, outcome.refused()), (1, vec![("truncated", 3)]));

    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, "matchwire-events", "acme", BEGAN).unwrap();
    writer.message(BEGAN + 1, messages()[0]).unwrap();
    writer.flush_due(BEGAN + 1_000_000).unwrap();
    drop(writer);
    assert_eq!(Outcome::of_bytes("a", &out).batches, 1);
}

#[test]
fn truncated_file_is_played_to_the_cut() {
    let whole = recorded("matchwire-events", 1_000_000);
    for length in 100..whole.len() {
        let scratch = Scratch::new();
        let path = scratch.file("a", &whole[..length]);
        let Ok(outcome) = Outcome::read(&path, &Limits::default()) else { continue };
        let last = outcome.refused().last().copied().unwrap_or_default();
        assert_eq!(last.0, "truncated", "cut at {length} of {}", whole.len());
    }
}

#[test]
fn unplayable_file_is_refused_with_a_reason() {
    let scratch = Scratch::new();
    let check = |first: &str, part: &str| {
        let path = scratch.file("a", format!("{first}\n"));
        let error = Recording::open(&path, &[], 0, &Limits::default()).unwrap_err();
        let text = format!("{error}: {:?}", std::error::Error::source(&error));
        assert!(text.contains(part), "{text} does not say {part}");
    };
    let head = |version: u32, format: &str| {
        format!(
            r#"{{"matchwire":"recording","version":{version},"format":"{format}","source":"s","began":1}}"#
        )
    };
    check(&head(2, "wyscout"), "of version 2; this program reads recordings of version 1");
    check(&head(1, "tomorrow"), "no known format");
    check(&head(1, "wyscout"), "cannot be played one by one");
    check(r#"{"matchwire":"recording","version":1}"#, "missing field");
}

#[test]
fn damaged_lines_are_skipped_alone() {
    let lines = zstd::decode_all(&*recorded("matchwire-events", 10)).unwrap();
    let mut lines: Vec<String> =
        String::from_utf8(lines).unwrap().lines().map(Into::into).collect();
    lines.insert(1, "garbage".to_owned());
    lines.insert(2, r#"{"at":1}"#.to_owned());
    lines.insert(3, r#"{"at":1,"text":"a","base64":"YQ=="}"#.to_owned());
    lines.insert(4, r#"{"at":1,"base64":"?"}"#.to_owned());
    let outcome = Outcome::of_bytes("a", lines.join("\n"));
    let expected = [("syntax", 2), ("value", 3), ("value", 4), ("value", 5), ("syntax", 7)];
    assert_eq!((outcome.batches, outcome.refused()), (2, expected.to_vec()));
}

proptest! {
    /// Damage in the lines, and in the compressed data.
    #[test]
    fn damaged_containers_do_not_panic(changes in changes(), is_plain in any::<bool>()) {
        let whole = recorded("matchwire-events", 10);
        let plain = zstd::decode_all(&*whole).unwrap();
        let damaged = if is_plain {
            changed(std::str::from_utf8(&plain).unwrap(), &changes)
        } else {
            let mut damaged = whole;
            for (index, _, put) in &changes {
                let from = index.index(damaged.len());
                damaged.splice(from..from, put.iter().copied());
            }
            damaged
        };
        let scratch = Scratch::new();
        if let Ok(outcome) = Outcome::read(&scratch.file("a", damaged), &Limits::default()) {
            prop_assert!(outcome.batches <= 20);
        }
    }
}
