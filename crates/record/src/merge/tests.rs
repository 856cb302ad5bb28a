use rust_decimal::dec;

use super::*;
use crate::FootballRecord;
use crate::testing::{self, MATCH, football, incident, line_up, price};

fn odds_only(status: Status) -> MatchRecord {
    let mut record = testing::record(MATCH, FootballRecord::default());
    record.summary_mut().status = status;
    record
}

fn stored() -> MatchRecord {
    let play = FootballRecord {
        incidents: vec![incident("goal", Some("regular"), 0, 101, None)],
        line_ups: [Some(line_up(&[101], &[])), None],
        ..football()
    };
    let mut record = testing::record(MATCH, play);
    record.summary_mut().status = Status::SecondHalf;
    record.summary_mut().score = Some([1, 0]);
    record.summary_mut().round = Some(3);
    record.prices = vec![price("acme", "home", Some(dec!(1.5)))];
    record
}

fn eids(record: &MatchRecord) -> Vec<&str> {
    let PlayRecord::Football(football) = &record.play else { panic!("{:?}", record.play) };
    football.incidents.iter().map(|it| &*it.eid).collect()
}

#[test]
fn odds_only_record_keeps_the_stored_play() {
    let mut reported = odds_only(Status::NotStarted);
    reported.prices = vec![price("acme", "away", Some(dec!(4)))];
    let merged = reported.merged_over(&stored());
    assert_eq!(merged.summary.status, Status::SecondHalf);
    assert_eq!((merged.summary.score, merged.summary.round), (Some([1, 0]), Some(3)));
    assert_eq!(eids(&merged), ["goal 101"]);
    let prices: Vec<_> = merged.prices.iter().map(|it| (&*it.outcome, it.open)).collect();
    assert_eq!(
        prices,
        [("away", true), ("home", false)],
        "a price that is not reported is not open"
    );
    assert_eq!(merged.merged_over(&merged), merged, "merging it over itself changes nothing");
}

#[test]
fn finished_match_stays_finished_without_a_source_of_play() {
    let check = |reported, before, expected| {
        let mut old = stored();
        old.summary_mut().status = before;
        assert_eq!(
            odds_only(reported).merged_over(&old).summary.status,
            expected,
            "{reported:?} {before:?}"
        );
    };
    check(Status::Live, Status::Finished, Status::Finished);
    check(Status::Finished, Status::SecondHalf, Status::Finished);
    check(Status::Live, Status::HalfTime, Status::Live);
    check(Status::NotStarted, Status::HalfTime, Status::HalfTime);
    check(Status::NotStarted, Status::Unresolved, Status::NotStarted);
}

#[test]
fn source_that_follows_the_play_wins() {
    let mut reported = testing::record(MATCH, football());
    reported.summary_mut().score = Some([0, 0]);
    let merged = reported.merged_over(&stored());
    assert_eq!((merged.summary.status, merged.summary.score), (Status::FirstHalf, Some([0, 0])));
}

#[test]
fn goal_with_another_event_id_is_the_same_goal() {
    let mut same = incident("goal", Some("regular"), 0, 101, None);
    (same.eid, same.minute) = ("other".into(), 12);
    let next = incident("goal", Some("regular"), 1, 202, None);
    let play = FootballRecord { incidents: vec![same, next], ..football() };
    let reported = testing::record(MATCH, play);
    assert_eq!(eids(&reported.merged_over(&stored())), ["other", "goal 202"]);
    let play =
        FootballRecord { incidents: vec![incident("yellow", None, 0, 101, None)], ..football() };
    let reported = testing::record(MATCH, play);
    assert_eq!(eids(&reported.merged_over(&stored())), ["goal 101", "yellow 101"]);
}

#[test]
fn complete_record_is_shared_unchanged() {
    let reported = Arc::new(stored());
    assert!(Arc::ptr_eq(&completed(&reported, Some(&odds_only(Status::Live))), &reported));
    assert!(Arc::ptr_eq(&completed(&reported, None), &reported));
}

/// A point by its number in the match, of sets of twelve.
fn point(number: u8) -> PointRecord {
    PointRecord {
        winner: 0,
        server: 0,
        how: None,
        set: 1 + number / 12,
        games: [number % 12, 0],
        game: ["0".into(), "0".into()],
        ended_game: true,
        ended_set: false,
    }
}

#[test]
fn overlapping_points_are_joined() {
    let range = |numbers: std::ops::Range<u8>| numbers.map(point).collect::<Vec<_>>();
    assert_eq!(points(&range(3..6), &range(0..4)), range(0..6));
    assert_eq!(points(&range(4..6), &range(0..4)), range(0..6), "one follows the other");
    assert_eq!(
        points(&range(0..3), &range(0..6)),
        range(0..3),
        "reported again from the beginning"
    );
    assert_eq!(points(&[], &range(0..4)), range(0..4));
    assert_eq!(points(&range(0..4), &[]), range(0..4));
    assert_eq!(points(&range(0..4), &range(6..9)), range(0..4), "later old points are dropped");
}
