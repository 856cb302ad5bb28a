use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::Value;
use simulator::World;

use super::{truth::lines, *};
use fanout::{Change, channel::Rate, encode::payload};

/// Twenty minutes of a match in a round, so that rounds are short to play.
fn test_match() -> TestMatch {
    TestMatch::new(|round| {
        let begins = begins(round);
        let programme = World::new(round.into(), begins).programme(0);
        let scheduled = programme.iter().find(|it| it.sport() == facts::event::Sport::Football);
        let scheduled = scheduled.expect("a day has football");
        let notice = 60_000_000;
        let first = scheduled.start() - notice;
        let mut batches: Vec<Timed> = scheduled.played(notice, 1).collect();
        for timed in &mut batches {
            timed.clock_us = begins + (timed.clock_us - first) / 4;
            timed.batch.at = Some(timed.clock_us);
        }
        batches
    })
}

const ROUND: RoundNumber = 4_986_000;

/// The frames of a round that is advanced at these times after its beginning, in milliseconds.
fn played(round: RoundNumber, at_ms: impl IntoIterator<Item = Micros>) -> Vec<Vec<u8>> {
    let mut changes = Vec::new();
    let mut playing = Round::begin(round, &test_match(), NUMBERS_AFTER, &mut changes);
    for ms in at_ms {
        playing.advance(begins(round) + ms * 1000, &mut changes);
    }
    playing.advance(begins(round) + ROUND_US, &mut changes);
    let frames = changes.iter().filter_map(|change| match change {
        Change::Opened(publication) | Change::Published(Rate::Each, publication) => {
            Some(payload(publication.frame()).to_vec())
        }
        Change::Published(..) | Change::Closed(_) => None,
    });
    frames.collect()
}

#[test]
fn truth_has_the_hash_of_each_document_that_the_hub_has() {
    let mut ends = BTreeMap::new();
    for line in lines(ROUND, &test_match()).split(|byte| *byte == b'\n').filter(|it| !it.is_empty())
    {
        let line: Value = serde_json::from_slice(line).expect("a line of JSON");
        let frame = &line["frame"];
        let name = frame["ch"].as_str().expect("a channel").to_owned();
        assert!(is_test(&name), "{name}");
        assert_eq!(
            frame["epoch"].as_str().unwrap_or(&epoch_of(ROUND).to_string()),
            epoch_of(ROUND).to_string()
        );
        ends.insert(name, (frame["seq"].as_u64(), line["sha256"].as_str().map(str::to_owned)));
    }
    let names: BTreeSet<&str> = ends.keys().map(String::as_str).collect();
    for name in ["test/football", "test/football/odds", "test/boards/football", "test/feeds"] {
        assert!(names.contains(name), "{name} is not among {names:?}");
    }
    let mut changes = Vec::new();
    let mut round = Round::begin(ROUND, &test_match(), NUMBERS_AFTER, &mut changes);
    round.advance(begins(ROUND) + ROUND_US, &mut changes);
    for (name, (seq, sha256)) in ends {
        let request = HostRequest::CatchUp {
            channel: fanout::Pattern::parse(&name).expect("well formed"),
            rate: Rate::Each,
            from: None,
            why: "resume",
            bytes_max: usize::MAX,
            with_hash: true,
        };
        let HostResponse::CatchUp(caught_up) = round.hub().answer(&request) else {
            panic!("{name} is not there");
        };
        assert_eq!(Some(caught_up.head), seq, "{name}");
        let hash = caught_up.hash.expect("it was requested");
        assert_eq!(Some(hash.whole()), sha256.as_deref(), "{name}");
    }
}

#[test]
fn channels_of_a_round_close_with_it_and_have_numbers_of_their_own() {
    let mut changes = Vec::new();
    let mut round = Round::begin(ROUND, &test_match(), NUMBERS_AFTER, &mut changes);
    round.advance(begins(ROUND) + ROUND_US, &mut changes);
    let opened: BTreeSet<u32> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Opened(publication) => Some(publication.channel.number),
            _ => None,
        })
        .collect();
    assert!(opened.iter().all(|number| *number > NUMBERS_AFTER), "{opened:?}");
    changes.clear();
    let last = round.close(&mut changes);
    let closed: BTreeSet<u32> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Closed(channel) => Some(channel.number),
            _ => None,
        })
        .collect();
    assert_eq!(closed, opened);
    assert_eq!(closed.last(), Some(&last));
}

#[test]
fn rounds_next_to_each_other_differ() {
    assert_ne!(epoch_of(ROUND), epoch_of(ROUND + 1));
    assert_ne!(played(ROUND, []), played(ROUND + 1, []));
    assert_eq!(round_at(begins(ROUND + 1) - 1), ROUND);
    assert_eq!(round_at(begins(ROUND + 1)), ROUND + 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// However late it is advanced, and from wherever it starts.
    #[test]
    fn round_is_the_same_however_it_is_advanced(
        mut at_ms in prop::collection::vec(0_i64..300_000, 0..40),
    ) {
        at_ms.sort_unstable();
        prop_assert_eq!(played(ROUND, at_ms), played(ROUND, []));
    }
}
