//! Betfair's in-play scores: a timeline and a scoreboard of football, points and a score of tennis.

use std::fs;

use facts::event::{
    Fact, FootballFact, FootballScore, FootballStatus, GameScore, Id, IncidentKind, Point,
    PointKind, Side, Stat, TennisFact, TennisScore, TennisStatus, Timed,
};
use ingest::normalize::{Interpret, Interpretation, Signal, betfair_scores::Interpreter};
use serde_json::{Value, json};

use super::{facts, fixture, recording, shared};

#[test]
fn timeline_matches_the_answer_sheet() {
    let Some((batches, sheet)) = recording("betfair-scores/eventtimeline.json") else { return };
    check_teams(&batches, &sheet);
    check_updates(&batches, sheet["updates"].as_array().unwrap());
    let (score, status) = football(&batches);
    assert_eq!(score.goals, pair(&sheet["score"]));
    assert_eq!(score.half_time, Some(pair(&sheet["half_time"])));
    assert_eq!(status, Some(FootballStatus::SecondHalf));
    assert_eq!(stat(&batches, Stat::YellowCards), pair(&sheet["yellow_cards"]).map(u32::from));
    assert_eq!(stat(&batches, Stat::CornerKicks), pair(&sheet["corners"]).map(u32::from));
    let goals = incidents(&batches, |kind| matches!(kind, IncidentKind::Goal(_)));
    let sheet = sheet["goals"].as_array().unwrap();
    assert_eq!(goals.len(), sheet.len());
    for (goal, row) in goals.iter().zip(sheet) {
        assert_eq!(json!({"minute": goal.0, "team": goal.1}), *row);
    }
}

#[test]
fn scoreboard_of_football_matches_the_answer_sheet() {
    let Some((batches, sheet)) = recording("betfair-scores/scores.json") else { return };
    check_teams(&batches, &sheet);
    let (score, status) = football(&batches);
    assert_eq!(score.goals, pair(&sheet["score"]));
    assert_eq!(score.half_time, Some(pair(&sheet["half_time"])));
    assert_eq!(status, Some(FootballStatus::SecondHalf));
    assert_eq!(stat(&batches, Stat::YellowCards), pair(&sheet["yellow_cards"]).map(u32::from));
    let clock = facts(&batches).find_map(|fact| match fact {
        Fact::Football(FootballFact::Clock { second, running }) => Some((*second, *running)),
        _ => None,
    });
    // Minute 78 is in progress, and 56 seconds of it have passed.
    assert_eq!(clock, Some((77 * 60 + 56, true)));
}

#[test]
fn strokes_match_the_answer_sheet() {
    let Some((batches, sheet)) = recording("betfair-scores/incidents.json") else { return };
    let [event] = &sheet["events"].as_array().unwrap()[..] else { panic!("one event") };
    let id = Id::derive("betfair", "match", event["event_id"].as_str().unwrap());
    assert!(batches.iter().flat_map(|it| &it.batch.events).all(|it| it.match_id == id));
    let points: Vec<&Point> = facts(&batches)
        .filter_map(|fact| match fact {
            Fact::Tennis(TennisFact::Point(point)) => Some(point),
            _ => None,
        })
        .collect();
    assert_eq!(json!(points.len()), event["points_played"]);
    let won = |side| points.iter().filter(|point| point.winner == side).count();
    assert_eq!(json!({"1": won(Side::First), "2": won(Side::Second)}), event["points_won"]);
    let how = |kind| json!(points.iter().filter(|point| point.how == Some(kind)).count());
    assert_eq!(how(PointKind::Ace), event["by_type"]["ace"]);
    assert_eq!(how(PointKind::DoubleFault), event["by_type"]["doublefault"]);
    check_games(&points, event["games"].as_array().unwrap());
    check_last(&points.last().unwrap().score, &event["last_scored_state"]);
    let at = |at: Option<i64>| json!(text_of(at.unwrap()));
    assert_eq!(at(batches[0].batch.at), event["first_update"]);
    let statuses = facts(&batches).filter_map(|fact| match fact {
        Fact::Tennis(TennisFact::Status(status)) => Some(*status),
        _ => None,
    });
    assert!(statuses.eq([TennisStatus::NotStarted, TennisStatus::Live]));
}

#[test]
fn score_of_tennis_matches_the_answer_sheet() {
    let Some((batches, sheet)) = recording("betfair-scores/score.json") else { return };
    let values = &sheet["values"];
    assert_eq!(json!(text_of(batches[0].batch.at.unwrap())), sheet["last_updated"]);
    assert_eq!(json!(text_of(fixture(&batches).start.unwrap())), values["startDate"]);
    let score = facts(&batches).filter_map(|fact| match fact {
        Fact::Tennis(TennisFact::Score(score)) => Some(score),
        _ => None,
    });
    let score = score.last().unwrap();
    let games = score.sets.last().unwrap().games.map(|games| games.to_string());
    assert_eq!(json!(games), json!([values["player1GamesWon"], values["player2GamesWon"]]));
    assert_eq!(
        shown(score),
        [values["player1PointsWon"].clone(), values["player2PointsWon"].clone()]
    );
}

#[test]
fn repeated_responses_emit_nothing() {
    for file in ["eventtimeline", "scores", "incidents", "score"] {
        let Some(path) = shared(&format!("betfair-scores/{file}.json")) else { return };
        let bytes = fs::read(path).unwrap();
        let mut interpreter = Interpreter::default();
        let polls = [0, 60_000_000].map(|received| {
            let mut played = Interpretation::default();
            interpreter.message(&bytes, received, &mut played).unwrap();
            played
        });
        assert!(!polls[0].batches.is_empty(), "{file}");
        let nothing = Interpretation { signals: vec![Signal::Fresh], ..Interpretation::default() };
        assert_eq!(polls[1], nothing, "{file}");
    }
}

/// The answer sheets of two files of one match agree if one source reports both.
#[test]
fn scoreboard_behind_its_timeline_adds_the_clock() {
    let files = ["betfair-scores/eventtimeline.json", "betfair-scores/scores.json"];
    let mut interpreter = Interpreter::default();
    let mut last = Interpretation::default();
    for file in files {
        let Some(path) = shared(file) else { return };
        last = Interpretation::default();
        interpreter.message(&fs::read(path).unwrap(), 0, &mut last).unwrap();
    }
    let facts: Vec<_> = facts(&last.batches).collect();
    let clock = FootballFact::Clock { second: 77 * 60 + 56, running: true };
    assert_eq!(facts[0], &Fact::Football(clock));
}

fn check_teams(batches: &[Timed], sheet: &Value) {
    let fixture = fixture(batches);
    assert_eq!(*fixture.provider_key, sheet["event_id"].to_string());
    let names = fixture.sides.as_ref().unwrap().each_ref().map(|side| &*side.name);
    assert_eq!(json!(names), json!([sheet["home"], sheet["away"]]));
}

/// Each update is a batch at its own time, with an incident of its minute.
fn check_updates(batches: &[Timed], updates: &[Value]) {
    let timed_batches: Vec<_> = batches.iter().filter(|timed| timed.batch.at.is_some()).collect();
    assert_eq!(timed_batches.len(), updates.len());
    for (timed, update) in timed_batches.into_iter().zip(updates) {
        assert_eq!(json!(text_of(timed.batch.at.unwrap())), update["updateTime"]);
        let incident = timed.batch.events.iter().find_map(|event| match &event.fact {
            Fact::Football(FootballFact::Incident(incident)) => Some(incident),
            _ => None,
        });
        let incident = incident.unwrap();
        assert_eq!(*incident.eid, format!("u{}", update["updateId"]));
        assert_eq!(json!(incident.minute), update["elapsedRegularTime"]);
        assert_eq!(
            incident.added.map(|added| json!(added)).as_ref(),
            update.get("elapsedAddedTime")
        );
        let expected = match update["type"].as_str().unwrap() {
            "KickOff" => IncidentKind::Period(FootballStatus::FirstHalf),
            "FirstHalfEnd" => IncidentKind::Period(FootballStatus::HalfTime),
            "SecondHalfKickOff" => IncidentKind::Period(FootballStatus::SecondHalf),
            "YellowCard" => IncidentKind::Yellow,
            _ => continue,
        };
        assert_eq!(incident.kind, expected);
        let start = timed.batch.events.iter().find_map(|event| match event.fact {
            Fact::Football(FootballFact::PeriodStart { at, .. }) => Some(at),
            _ => None,
        });
        let is_kick_off = update["type"].as_str().unwrap().ends_with("KickOff");
        assert_eq!(start, timed.batch.at.filter(|_| is_kick_off));
    }
}

/// Minute and team of each incident of a kind.
fn incidents(batches: &[Timed], kind: fn(IncidentKind) -> bool) -> Vec<(u16, &'static str)> {
    let timed_batches = facts(batches).filter_map(|fact| match fact {
        Fact::Football(FootballFact::Incident(incident)) if kind(incident.kind) => {
            Some((incident.minute, ["home", "away"][incident.side.unwrap().index()]))
        }
        _ => None,
    });
    timed_batches.collect()
}

fn football(batches: &[Timed]) -> (FootballScore, Option<FootballStatus>) {
    let (mut score, mut last) = (FootballScore::default(), None);
    for fact in facts(batches) {
        match fact {
            Fact::Football(FootballFact::Score(new)) => score = *new,
            Fact::Football(FootballFact::Status(status)) => last = Some(*status),
            _ => {}
        }
    }
    (score, last)
}

fn stat(batches: &[Timed], wanted: Stat) -> [u32; 2] {
    let mut counts = [0; 2];
    for fact in facts(batches) {
        if let Fact::Football(FootballFact::Stats { side, values }) = fact {
            for (_, value) in values.iter().filter(|(stat, _)| *stat == wanted) {
                counts[side.index()] = *value;
            }
        }
    }
    counts
}

fn check_games(points: &[&Point], games: &[Value]) {
    let mut points = points.iter();
    for game in games {
        for winner in game["points"].as_array().unwrap() {
            let point = points.next().unwrap();
            assert_eq!(json!((point.winner.index() + 1).to_string()), *winner);
            assert_eq!(json!((point.server.index() + 1).to_string()), game["server"]);
        }
    }
    assert!(points.next().is_none());
}

fn check_last(score: &TennisScore, state: &Value) {
    assert_eq!(json!(score.sets.len().to_string()), state["currentSet"]);
    let games = score.sets.last().unwrap().games.map(|games| games.to_string());
    assert_eq!(json!(games), json!([state["player1GamesWon"], state["player2GamesWon"]]));
    assert_eq!(
        shown(score),
        [state["team1PointsAfter"].clone(), state["team2PointsAfter"].clone()]
    );
}

fn shown(score: &TennisScore) -> [Value; 2] {
    let GameScore::Points(points) = score.game else { panic!("a tie-break") };
    points.map(|points| json!(["0", "15", "30", "40", "Av"][usize::from(points)]))
}

fn pair(value: &Value) -> [u16; 2] {
    ["home", "away"].map(|side| value[side].as_u64().unwrap() as u16)
}

fn text_of(at: i64) -> String {
    jiff::Timestamp::from_microsecond(at).unwrap().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}
