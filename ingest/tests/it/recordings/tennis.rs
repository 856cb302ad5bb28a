//! Matches of the majors, point by point.

use facts::event::{
    Fact, GameScore, Pair, Point, PointKind, SetScore, Side, TennisFact, TennisScore, TennisStatus,
    Timed,
};
use ingest::recording::{Limits, Recording, Step};
use serde_json::{Value, json};

use super::{START, facts, fixture, recording, shared};

#[test]
fn melbourne_2012_matches_the_answer_sheet() {
    check_tennis("2012-ausopen-1701");
}

#[test]
fn wimbledon_2012_matches_the_answer_sheet() {
    check_tennis("2012-wimbledon-1701");
}

#[test]
fn new_york_2013_matches_the_answer_sheet() {
    check_tennis("2013-usopen-2701");
}

#[test]
fn wimbledon_2011_matches_the_answer_sheet() {
    check_tennis("2011-wimbledon-2701");
}

#[test]
fn retirement_matches_the_answer_sheet() {
    check_tennis("2011-wimbledon-2148");
}

#[test]
fn doubles_match_the_answer_sheet() {
    check_tennis("2023-usopen-4601");
}

/// Matches whose columns contradict the points or are empty, that are longer than usual, or end with a match
/// tie-break: `tests/truths` has the same results.
#[test]
fn results_are_those_of_the_points() {
    for (key, expected) in [
        ("2018-ausopen-MD108", "7-6(16-14) 7-6(7-4) 1"),
        ("2020-frenchopen-3112", "7-6(7-5) 4-6 0-6 2"),
        ("2021-frenchopen-5107", "6-4 6-2 1"),
        ("2021-wimbledon-3110", "4-6 6-3 12-13(4-7) 2"),
        ("2021-wimbledon-3113", "6-1 6-7(4-7) 11-13 2"),
        ("2024-usopen-5101", "6-4 6-7(5-7) 0-1(8-10) 2"),
        ("2024-usopen-5205", "6-7(4-7) 6-4 1-0(10-6) 1"),
        ("2012-frenchopen-1220", "6-7(2-7) 6-4 6-4 3-6 18-16 1"),
    ] {
        let file = format!("../feeds-2/slam-pointbypoint/{key}.points.csv.gz");
        let Some(path) = shared(&file) else { return };
        let steps = Recording::open(&path, &[], START, &Limits::default()).unwrap();
        let facts = steps.filter_map(|step| match step {
            Step::Batch(timed) => Some(timed.batch.events),
            Step::Refused(_) => None,
        });
        let scores = facts.flatten().filter_map(|event| match event.fact {
            Fact::Tennis(fact) => fact.score().cloned(),
            _ => None,
        });
        let score = scores.last().unwrap();
        let sets = score.sets.iter().map(|set| {
            let [first, second] = set.games;
            let tie_break =
                set.tie_break.map_or(String::new(), |[one, other]| format!("({one}-{other})"));
            format!("{first}-{second}{tie_break} ")
        });
        let winner = score.winner.unwrap().index() + 1;
        assert_eq!(format!("{}{winner}", sets.collect::<String>()), expected, "{key}");
    }
}

fn check_tennis(key: &str) {
    let Some((batches, sheet)) = recording(&format!("slam-pointbypoint/{key}.points.csv.gz"))
    else {
        return;
    };
    check_players(&batches, &sheet);
    check_points(&points(&batches), &sheet);
    check_end(&batches, &sheet);
}

fn points(batches: &[Timed]) -> Vec<&Point> {
    let points = facts(batches).filter_map(|fact| match fact {
        Fact::Tennis(TennisFact::Point(point)) => Some(point),
        _ => None,
    });
    points.collect()
}

fn check_players(batches: &[Timed], sheet: &Value) {
    let sides = fixture(batches).sides.as_ref().unwrap();
    for (side, player, partner) in [(0, "player1", "partner1"), (1, "player2", "partner2")] {
        let name = match (sheet[player].as_str().unwrap(), sheet[partner].as_str()) {
            (player, Some(partner)) => format!("{player} / {partner}"),
            (player, None) => player.to_owned(),
        };
        assert_eq!(*sides[side].name, *name);
    }
}

fn check_points(points: &[&Point], sheet: &Value) {
    let count = |counted: &dyn Fn(&Point) -> bool| points.iter().filter(|it| counted(it)).count();
    let by_player = |counted: &dyn Fn(&Point, Side) -> bool| {
        json!({
            "1": count(&|point| counted(point, Side::First)),
            "2": count(&|point| counted(point, Side::Second)),
        })
    };
    let ace = |it: &Point, side| it.how == Some(PointKind::Ace) && it.winner == side;
    let fault = |it: &Point, side| it.how == Some(PointKind::DoubleFault) && it.server == side;
    assert_eq!(json!(points.len()), sheet["points"]);
    assert_eq!(by_player(&|it, side| it.winner == side), sheet["points_won"]);
    assert_eq!(by_player(&ace), sheet["aces"]);
    assert_eq!(by_player(&fault), sheet["double_faults"]);
    let first_server = sheet["first_server"].as_u64().unwrap() as usize;
    assert_eq!(points[0].server.index(), (first_server - 1) % 2);
    for (at, pair) in points.windows(2).enumerate() {
        assert_eq!(pair[0].score.server, Some(pair[1].server), "server of point {}", at + 2);
        assert_eq!(pair[1].score.points as usize, at + 2);
    }
}

fn check_end(batches: &[Timed], sheet: &Value) {
    let (mut score, mut status) = (TennisScore::default(), None);
    for fact in facts(batches) {
        match fact {
            Fact::Tennis(TennisFact::Point(point)) => score = point.score.clone(),
            Fact::Tennis(TennisFact::Score(new)) => score = new.clone(),
            Fact::Tennis(TennisFact::Status(new)) => status = Some(*new),
            _ => {}
        }
    }
    let retired = sheet["status_in_match_file"] == "Retired";
    let expected = if retired { TennisStatus::Retired } else { TennisStatus::Finished };
    assert_eq!(status, Some(expected));
    assert_eq!(score.winner.map(|side| json!(side.index() + 1)), Some(sheet["winner"].clone()));
    assert_eq!(json!(score.points), sheet["points"]);
    let mut sets = sheet["sets_by_replay"].as_array().unwrap().clone();
    if let Some(games) = sheet.get("unfinished_set_games_by_replay") {
        sets.push(json!({ "games": games }));
    }
    assert_eq!(score.sets.iter().map(set).collect::<Vec<_>>(), sets);
    if let Some(unfinished) = sheet.get("unfinished_game_points_by_replay") {
        assert_eq!(score.game, GameScore::Points(pair(unfinished)));
    }
}

fn set(set: &SetScore) -> Value {
    match set.tie_break {
        Some(tie_break) => json!({"games": set.games, "tiebreak": tie_break}),
        None => json!({"games": set.games}),
    }
}

fn pair(value: &Value) -> Pair<u8> {
    [0, 1].map(|at| value[at].as_u64().unwrap() as u8)
}
