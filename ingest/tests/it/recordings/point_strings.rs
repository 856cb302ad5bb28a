//! Matches written as strings of points.

use std::collections::BTreeMap;

use facts::event::{
    Event, Fact, Fixture, Id, Point, PointKind, SetScore, Side, TennisFact, TennisScore,
    TennisStatus, Timed,
};
use serde_json::{Value, json};

use super::recording;

#[test]
fn point_strings_match_the_answer_sheet() {
    let Some((batches, sheet)) = recording("pointbypoint-strings/matches.csv") else { return };
    let matches = by_match(&batches);
    let rows = sheet["matches"].as_array().unwrap();
    assert_eq!(matches.len(), rows.len());
    for row in rows {
        let key = row["pbp_id"].to_string();
        check(&matches[&Id::derive("pointbypoint-strings", "match", &key)], row);
    }
}

#[test]
fn matches_begin_together_and_keep_their_pace() {
    let Some((batches, _)) = recording("pointbypoint-strings/matches.csv") else { return };
    let first: Vec<_> = batches.iter().take_while(|timed| timed.clock_us == 0).collect();
    assert_eq!(first.len(), 6);
    let last = batches.last().unwrap().clock_us;
    assert_eq!(last, 409 * 25_000_000, "the longest match has 409 points");
}

fn by_match(batches: &[Timed]) -> BTreeMap<Id, Vec<&Event>> {
    let mut matches: BTreeMap<Id, Vec<&Event>> = BTreeMap::new();
    for event in batches.iter().flat_map(|timed| &timed.batch.events) {
        matches.entry(event.match_id).or_default().push(event);
    }
    matches
}

fn check(events: &[&Event], row: &Value) {
    let Fact::Fixture(fixture) = &events[0].fact else { panic!("no fixture first") };
    check_fixture(fixture, row);
    let points: Vec<&Point> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::Tennis(TennisFact::Point(point)) => Some(point),
            _ => None,
        })
        .collect();
    let by_side = |counted: &dyn Fn(&Point, Side) -> bool| {
        let count = |side| points.iter().filter(|point| counted(point, side)).count();
        json!({"1": count(Side::First), "2": count(Side::Second)})
    };
    let how = |point: &Point, kind| point.how == Some(kind);
    assert_eq!(json!(points.len()), row["points"]);
    assert_eq!(by_side(&|it, side| it.winner == side), row["points_won"]);
    let aces = by_side(&|it, side| how(it, PointKind::Ace) && it.server == side);
    assert_eq!(aces, row["aces_noted"]);
    let faults = by_side(&|it, side| how(it, PointKind::DoubleFault) && it.server == side);
    assert_eq!(faults, row["double_faults_noted"]);
    for pair in points.windows(2) {
        assert_eq!(pair[0].score.server, Some(pair[1].server), "server of {}", pair[1].eid);
        assert_eq!(pair[0].score.points + 1, pair[1].score.points);
    }
    check_end(&points.last().unwrap().score, events, row);
}

fn check_fixture(fixture: &Fixture, row: &Value) {
    let sides = fixture.sides.as_ref().unwrap();
    assert_eq!(json!([&*sides[0].name, &*sides[1].name]), json!([row["server1"], row["server2"]]));
    let date = fixture.date.unwrap().strftime("%d %b %y").to_string();
    assert_eq!(json!(date), row["date"]);
    assert_eq!(&*fixture.provider_key, row["pbp_id"].to_string());
}

fn check_end(score: &TennisScore, events: &[&Event], row: &Value) {
    let sets: Vec<_> = score.sets.iter().map(set).collect();
    assert_eq!(Value::Array(sets), row["sets"]);
    assert_eq!(score.winner.map(|side| json!(side.index() + 1)), Some(row["winner"].clone()));
    let statuses = events.iter().filter_map(|event| match &event.fact {
        Fact::Tennis(TennisFact::Status(status)) => Some(*status),
        _ => None,
    });
    assert!(statuses.eq([TennisStatus::Live, TennisStatus::Finished]));
}

fn set(set: &SetScore) -> Value {
    match set.tie_break {
        Some(tie_break) => json!({"games": set.games, "tiebreak": tie_break}),
        None => json!({"games": set.games}),
    }
}
