//! The hub's cost of catching up readers who are far behind: counted, not timed.

use facts::event::{Fact, MarketChange, MarketStatus, OddsFact};
use fanout::{
    Pattern, Position,
    catch_up::{HostRequest, HostResponse, Verdict},
    channel::Rate,
};
use hub::catch_up::WorkBudget;
use serde_json::Value;

use crate::{
    bench::{Bench, SETTINGS},
    json::{merge, parse},
    rules::{at, fixture, market},
};

const BOOK: &str = "football/1/odds/betfair";
const CHANGES: i64 = 4_000;
/// The maximum cost of one response: the writer's limit.
const AN_ANSWER: usize = 64 * 1024;

/// A book in which the volume of a market has changed this many times.
fn traded() -> Bench {
    let mut bench = Bench::new(SETTINGS);
    bench.apply(&at(0, &[fixture(1), market(1, "a", MarketStatus::Open)]));
    for volume in 1..=CHANGES {
        let change = MarketChange::Prices { selections: Vec::new(), volume: Some(volume.into()) };
        let fact = Fact::Odds(OddsFact { book: "betfair".into(), market: "a".into(), change });
        let mut event = market(1, "a", MarketStatus::Open);
        event.fact = fact;
        let (_, errors) = bench.apply(&at(1, &[event]));
        assert_eq!(errors, []);
    }
    bench
}

/// The cost of catching up to the head.
struct ResumeCost {
    answers: usize,
    work: usize,
    /// The cost of the most expensive response.
    dearest: usize,
    frames: usize,
    data: Value,
}

/// Catches up a reader from a position, with as many responses as needed.
fn resume(bench: &mut Bench, from: u64, max: usize) -> ResumeCost {
    let mut resumed = ResumeCost {
        answers: 0,
        work: 0,
        dearest: 0,
        frames: 0,
        data: Value::Object([].into_iter().collect()),
    };
    let epoch = fanout::Epoch::parse(&bench.readers[BOOK].epoch);
    let mut position = from;
    loop {
        let question = HostRequest::CatchUp {
            channel: Pattern::parse(BOOK).expect("a name is a pattern"),
            rate: Rate::Each,
            from: Some(Position { epoch, seq: position }),
            why: "resume",
            bytes_max: usize::MAX,
            with_hash: false,
        };
        let mut work = WorkBudget::up_to(max);
        let answer = bench.hub.answer_within(&question, &mut work);
        let HostResponse::CatchUp(caught_up) = answer else { panic!("it is tracked") };
        assert_eq!(caught_up.verdict, Verdict::Resumed);
        resumed.answers += 1;
        resumed.work += work.spent;
        resumed.dearest = resumed.dearest.max(work.spent);
        for forward in &caught_up.frames {
            let frame = parse(&forward.frame);
            assert_eq!(frame["prev"], position, "a hole, or something twice");
            position = forward.to;
            resumed.frames += 1;
            merge(&mut resumed.data, &frame["patch"]);
        }
        if position == caught_up.head {
            return resumed;
        }
    }
}

#[test]
fn reader_far_behind_resumes_in_bounded_answers() {
    let mut bench = traded();
    let head = bench.readers[BOOK].frames.len() as u64;
    let resumed = resume(&mut bench, head - 2_000, AN_ANSWER);
    assert!(resumed.answers > 1, "one answer did it all");
    // One more block may be merged when the budget is nearly used up.
    assert!(resumed.dearest < 2 * AN_ANSWER, "an answer cost {}", resumed.dearest);
    assert_eq!(resumed.data["markets"]["a"]["volume"], CHANGES.to_string());
}

#[test]
fn updates_merged_for_one_reader_are_reused_for_others() {
    let mut bench = traded();
    let head = bench.readers[BOOK].frames.len() as u64;
    let first = resume(&mut bench, head - 2_000, usize::MAX);
    // Each from a different position, like readers who were cut off at different moments.
    for back in [2_000, 1_990, 1_950, 1_601] {
        let other = resume(&mut bench, head - back, usize::MAX);
        assert!(
            other.work * 5 < first.work,
            "from {back} back: {}, where the first reader cost {}",
            other.work,
            first.work
        );
        assert_eq!(other.frames, 1, "values between events come as one");
        assert_eq!(other.data["markets"]["a"]["volume"], CHANGES.to_string());
    }
}
