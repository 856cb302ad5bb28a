//! Shots, expected goals, halves, possession, momentum and average positions of recordings,
//! compared with independent computations from the raw files.

use std::{collections::BTreeMap, fs::File, io::Read as _};

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use super::{RecordedHub, array, number};
use crate::{replay::sheet, support::shared};

const STATSBOMB: [&str; 2] = ["statsbomb/15986.events.json.gz", "statsbomb/3788741.events.json.gz"];
const OTHERS: [&str; 2] =
    ["wyscout/2058017.events.json.gz", "statsperform/hsv-svs-2021-09-11.ma3.json.gz"];
const API_FOOTBALL: &str = "api-football/fixtures-cl-penalties.json";

fn raw(file: &str) -> Option<Value> {
    let path = shared(file)?;
    let mut text = String::new();
    let bytes = File::open(&path).expect("it is there");
    GzDecoder::new(bytes).read_to_string(&mut text).expect("it is whole");
    Some(serde_json::from_str(&text).expect("it is JSON"))
}

async fn stats(hub: &RecordedHub, sheet: &Value) -> (Value, Value) {
    let event = hub.event(&sheet["home"], &sheet["away"]).await;
    let answer = hub.get(&format!("/api/v2/events/{}/stats/", event["id"])).await;
    (event, answer)
}

fn decimal(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[track_caller]
fn check_close(actual: f64, expected: f64, within: f64, what: &str) {
    assert!((actual - expected).abs() <= within, "{what}: {actual} for {expected}");
}

#[tokio::test]
async fn analysis_matches_the_raw_events() {
    let files: Vec<&str> = STATSBOMB.into_iter().chain(OTHERS).collect();
    let Some(hub) = RecordedHub::import(&files) else { return };
    for file in STATSBOMB {
        let (Some(raw), sheet) = (raw(file), sheet(file)) else { return };
        let (event, actual) = stats(&hub, &sheet).await;
        assert_eq!(event["has_xg"], true, "{file}");
        let events = array(&raw);
        let home = |it: &Value| it["team"]["name"] == sheet["home"];
        let shots: Vec<_> = events.iter().filter(|it| it["type"]["name"] == "Shot").collect();
        check_shots(&actual, &shots, &home, file);
        check_expected_goals(&actual, &shots, &home, file);
        check_possession(&actual, events, &sheet, file);
        check_positions(&actual, events, &sheet, file);
        check_players(&hub, &event, &shots, file).await;
    }
    for file in OTHERS {
        let sheet = sheet(file);
        let (event, actual) = stats(&hub, &sheet).await;
        assert_eq!(event["has_xg"], false, "{file} has no expected goals");
        for (is_home, side) in [(true, "home"), (false, "away")] {
            let map = array(&actual["shotmap"]).iter().filter(|it| it["home"] == is_home);
            let in_play: Vec<_> = map.collect();
            let counted = number(&actual["stats"][side]["total_shots"]);
            // The kicks of a shoot-out are in the map but are not shots.
            assert!(in_play.len() as u64 >= counted && counted > 0, "{side} of {file}");
            assert!(in_play.iter().all(|it| it["xg"].is_null()), "{file}");
            assert!(in_play.iter().any(|it| it["pos"].is_object()), "{file}");
        }
    }
    for file in files {
        let sheet = sheet(file);
        let (_, actual) = stats(&hub, &sheet).await;
        check_halves(&actual, file);
        check_momentum(&actual, file);
        for side in ["home", "away"] {
            assert!(array(&actual["average_positions"][side]).len() >= 11, "{side} of {file}");
        }
    }
}

#[tokio::test]
async fn expected_goals_and_ratings_match_the_provider() {
    let Some(hub) = RecordedHub::import(&[API_FOOTBALL]) else { return };
    let Some(path) = shared(API_FOOTBALL) else { return };
    let text = std::fs::read_to_string(path).expect("it is there");
    let raw: Value = serde_json::from_str(&text).expect("it is JSON");
    for fixture in array(&raw["response"]) {
        let sides = ["home", "away"].map(|side| &fixture["teams"][side]["name"]);
        let event = hub.event(sides[0], sides[1]).await;
        let actual = hub.get(&format!("/api/v2/events/{}/stats/", event["id"])).await;
        let mut has_expected_goals = false;
        for (side, name) in ["home", "away"].into_iter().zip(sides) {
            let statistics = array(&fixture["statistics"]);
            let of_team = statistics.iter().find(|it| it["team"]["name"] == *name);
            let Some(of_team) = of_team else { continue };
            let mut values = array(&of_team["statistics"]).iter();
            let expected = values.find(|it| it["type"] == "expected_goals");
            let Some(expected) = expected.and_then(|it| it["value"].as_str()) else { continue };
            let expected: f64 = expected.parse().expect("a number");
            assert_eq!(actual["stats"][side]["expected_goals"], json!(expected), "{name}");
            assert_eq!(actual["stats"][side]["xg"]["actual"], json!(expected), "{name}");
            has_expected_goals = true;
        }
        assert_eq!(event["has_xg"], json!(has_expected_goals));
        let rows = hub.get(&format!("/api/v2/events/{}/player-stats/", event["id"])).await;
        let mut ratings: Vec<f64> =
            array(&rows["player_stats"]).iter().filter_map(|it| it["rating"].as_f64()).collect();
        let teams = array(&fixture["players"]).iter();
        let players = teams.flat_map(|team| array(&team["players"]));
        let mut expected: Vec<f64> = players
            .filter(|it| number_or_none(&it["statistics"][0]["games"]["minutes"]).is_some())
            .filter_map(|it| it["statistics"][0]["games"]["rating"].as_str()?.parse().ok())
            .collect();
        ratings.sort_by(f64::total_cmp);
        expected.sort_by(f64::total_cmp);
        assert_eq!(ratings, expected, "of {sides:?}");
    }
}

fn number_or_none(value: &Value) -> Option<u64> {
    value.as_u64()
}

/// Place by place, from the last to the first.
fn check_shots(actual: &Value, shots: &[&Value], home: &impl Fn(&Value) -> bool, file: &str) {
    let map = array(&actual["shotmap"]);
    assert_eq!(map.len(), shots.len(), "shots of {file}");
    for (actual, shot) in map.iter().rev().zip(shots) {
        let what = format!("{actual} of {file} for {}", shot["id"]);
        assert_eq!(actual["home"], home(shot), "{what}");
        let outcome = shot["shot"]["outcome"]["name"].as_str().expect("an outcome");
        let expected = match outcome {
            "Goal" => "goal",
            "Blocked" => "block",
            outcome if outcome.starts_with("Saved") && !outcome.contains("Off") => "save",
            _ => "miss",
        };
        assert_eq!(actual["type"], expected, "{what}");
        check_close(decimal(&actual["xg"]), decimal(&shot["shot"]["statsbomb_xg"]), 5e-6, &what);
        let [x, y] = [0, 1].map(|at: usize| decimal(&shot["location"][at]));
        check_close(decimal(&actual["pos"]["x"]), 100.0 - x / 1.2, 0.051, &what);
        check_close(decimal(&actual["pos"]["y"]), 100.0 - y / 0.8, 0.051, &what);
        let body = shot["shot"]["body_part"]["name"].as_str().expect("a body part");
        assert_eq!(actual["body"], body.to_lowercase().replace(' ', "-"), "{what}");
        let (period, minute) = (number(&shot["period"]), number(&shot["minute"]) + 1);
        let last = [45, 90, 105, 120, 120][usize::try_from(period).expect("small") - 1];
        assert_eq!(actual["min"], minute.min(last), "{what}");
    }
}

fn check_expected_goals(
    actual: &Value,
    shots: &[&Value],
    home: &impl Fn(&Value) -> bool,
    file: &str,
) {
    let sum = |is_home: bool, counts: &dyn Fn(u64) -> bool| -> f64 {
        let counted =
            shots.iter().filter(|it| home(it) == is_home && counts(number(&it["period"])));
        counted.map(|it| decimal(&it["shot"]["statsbomb_xg"])).sum()
    };
    for (is_home, side) in [(true, "home"), (false, "away")] {
        let stats = &actual["stats"];
        let parts = [
            ("the match", &stats[side], sum(is_home, &|period| period < 5)),
            ("the first half", &stats["first_half"][side], sum(is_home, &|period| period == 1)),
            ("the second half", &stats["second_half"][side], sum(is_home, &|period| period == 2)),
        ];
        for (part, actual, expected) in parts {
            let what = format!("{side} in {part} of {file}");
            check_close(decimal(&actual["expected_goals"]), expected, 1e-3, &what);
            assert_eq!(actual["xg"]["actual"], actual["expected_goals"], "{what}");
        }
    }
    let last = array(&actual["xg_per_minute"]).last().expect("there are shots");
    for (side, name) in [("home", "cum_home"), ("away", "cum_away")] {
        let all = decimal(&actual["stats"][side]["expected_goals"]);
        check_close(decimal(&last[name]), all, 1e-3, &format!("{name} of {file}"));
    }
}

/// The share of the time between two events, up to ten seconds, that belongs to the team in
/// possession.
fn check_possession(actual: &Value, events: &[Value], sheet: &Value, file: &str) {
    let mut order: Vec<_> = events.iter().collect();
    order.sort_by_key(|it| number(&it["index"]));
    let seconds = |it: &Value| -> f64 {
        let text = it["timestamp"].as_str().expect("a time");
        text.split(':').fold(0.0, |all, part| all * 60.0 + part.parse::<f64>().expect("a number"))
    };
    let mut held = [0.0, 0.0];
    let mut latest: BTreeMap<u64, f64> = BTreeMap::new();
    let mut before: Option<(u64, f64, usize)> = None;
    for event in order {
        let period = number(&event["period"]);
        // A timestamp that goes back counts as the one before it.
        let at = latest.entry(period).or_default();
        *at = at.max(seconds(event));
        let holder = usize::from(event["possession_team"]["name"] != sheet["home"]);
        if let Some((_, since, holder)) = before.filter(|it| it.0 == period) {
            held[holder] += (*at - since).min(10.0);
        }
        before = Some((period, *at, holder));
    }
    let home = 100.0 * held[0] / (held[0] + held[1]);
    let actual = ["home", "away"].map(|side| number(&actual["stats"][side]["ball_possession"]));
    assert_eq!(actual[0] + actual[1], 100, "{file}");
    check_close(actual[0] as f64, home, 0.51, &format!("possession of {file}"));
}

/// The mean of the goalkeepers' positions on the ball.
fn check_positions(actual: &Value, events: &[Value], sheet: &Value, file: &str) {
    const ON_THE_BALL: [&str; 7] =
        ["Pass", "Shot", "Carry", "Ball Receipt*", "Dribble", "Ball Recovery", "Clearance"];
    for (side, team) in ["home", "away"].into_iter().zip([&sheet["home"], &sheet["away"]]) {
        let is_of_team = |it: &&Value| it["team"]["name"] == *team;
        let keeper = array(&actual["average_positions"][side]);
        let keeper = keeper.iter().find(|it| it["pos"] == "G").expect("a goalkeeper");
        let of_keeper = events.iter().filter(is_of_team).filter(|event| {
            let kind = event["type"]["name"].as_str().unwrap_or_default();
            event["player"]["name"] == keeper["name"] && ON_THE_BALL.contains(&kind)
        });
        let places: Vec<_> = of_keeper
            .filter(|it| number(&it["period"]) < 5)
            .filter_map(|it| Some([it["location"][0].as_f64()?, it["location"][1].as_f64()?]))
            .collect();
        let mean = |at: usize| places.iter().map(|it| it[at]).sum::<f64>() / places.len() as f64;
        let what = format!("{keeper} of {file}");
        check_close(decimal(&keeper["x"]), mean(0) / 1.2, 0.15, &what);
        check_close(decimal(&keeper["y"]), mean(1) / 0.8, 0.15, &what);
        assert!(decimal(&keeper["x"]) < 40.0, "{what} is not before his goal");
    }
}

/// Without extra time, the halves of a counter add up to it.
fn check_halves(actual: &Value, file: &str) {
    let stats = &actual["stats"];
    let extra = array(&actual["momentum"]).iter().any(|it| decimal(&it["m"]) > 91.0);
    for side in ["home", "away"] {
        for name in ["passes", "total_shots", "corner_kicks", "fouls"] {
            let count = |part: &Value| part[side][name].as_u64().unwrap_or(0);
            let halves = count(&stats["first_half"]) + count(&stats["second_half"]);
            let all = stats[side][name].as_u64().unwrap_or(0);
            let fits = if extra { halves <= all } else { halves == all };
            assert!(fits, "{name} of {side} in {file}: {halves} of {all}");
        }
        for half in ["first_half", "second_half"] {
            assert!(number(&stats[half][side]["passes"]) > 0, "{half} of {file}");
            assert!(number(&stats[half][side]["ball_possession"]) < 100, "{half} of {file}");
        }
    }
}

fn check_momentum(actual: &Value, file: &str) {
    let all = array(&actual["momentum"]);
    let minutes: Vec<f64> = all.iter().map(|it| decimal(&it["m"])).collect();
    assert!(minutes.len() >= 88, "{} minutes of {file}", minutes.len());
    assert!(minutes.is_sorted_by(|one, next| one < next), "{minutes:?} of {file}");
    assert!(all.iter().all(|it| decimal(&it["v"]).abs() <= 100.0), "{file}");
    let swings = |wanted: fn(f64) -> bool| all.iter().any(|it| wanted(decimal(&it["v"])));
    assert!(swings(|v| v > 0.0) && swings(|v| v < 0.0), "{file} sways one way only");
}

/// Expected goals of every player with a shot.
async fn check_players(hub: &RecordedHub, event: &Value, shots: &[&Value], file: &str) {
    let rows = hub.get(&format!("/api/v2/events/{}/player-stats/", event["id"])).await;
    let mut actual: Vec<f64> = array(&rows["player_stats"])
        .iter()
        .filter_map(|it| it["expected_goals"].as_f64())
        .collect();
    let mut expected: BTreeMap<u64, f64> = BTreeMap::new();
    for shot in shots.iter().filter(|it| number(&it["period"]) < 5) {
        let total = expected.entry(number(&shot["player"]["id"])).or_default();
        *total += decimal(&shot["shot"]["statsbomb_xg"]);
    }
    let mut expected: Vec<f64> = expected.into_values().collect();
    actual.sort_by(f64::total_cmp);
    expected.sort_by(f64::total_cmp);
    assert_eq!(actual.len(), expected.len(), "players of {file}");
    for (actual, expected) in actual.into_iter().zip(expected) {
        check_close(actual, expected, 1e-4, file);
    }
}
