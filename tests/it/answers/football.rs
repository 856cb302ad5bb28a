//! Football reported event by event: results, incidents, counters and line-ups.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{RecordedHub, array, number, pair};
use crate::replay::sheet;

const EVENTS: [&str; 6] = [
    "statsbomb/15986.events.json.gz",
    "statsbomb/3788741.events.json.gz",
    "wyscout/2058009.events.json.gz",
    "wyscout/2058017.events.json.gz",
    "wyscout/2516847.events.json.gz",
    "statsperform/hsv-svs-2021-09-11.ma3.json.gz",
];
const SUMMARY: &str = "statsperform/hsv-svs-2021-09-11.ma1.json.gz";
const PENALTIES: &str = "api-football/fixtures-cl-penalties.json";
const FIXTURES: &str = "api-football/fixtures-bundes-ns-pst.json";

#[tokio::test]
async fn matches_agree_with_their_events() {
    let Some(hub) = RecordedHub::imported() else { return };
    for file in EVENTS {
        let sheet = sheet(file);
        let event = hub.event(&sheet["home"], &sheet["away"]).await;
        check_result(&event, &sheet, file);
        let incidents = incidents(&hub, &event).await;
        check_incidents(&incidents, &sheet, file);
        check_players(&hub, &event, &incidents, file).await;
        check_counters(&hub, &event, &sheet, file).await;
    }
    for file in ["statsbomb/15986", "statsbomb/3788741"] {
        check_line_ups(&hub, file).await;
    }
}

/// The same match as a summary, which has no periods.
#[tokio::test]
async fn match_agrees_with_its_summary() {
    let Some(hub) = RecordedHub::import(&[SUMMARY]) else { return };
    let sheet = sheet(SUMMARY);
    let event = hub.event(&sheet["home"], &sheet["away"]).await;
    check_result(&event, &sheet, SUMMARY);
    let incidents = incidents(&hub, &event).await;
    // The sheet has the minute that is displayed, and the clock.
    let goals = rows(&incidents, "goal", |row| {
        let score = format!("{}-{}", row["home_score"], row["away_score"]);
        json!([minute(row), row["is_home"], row["player"], row["goal_type"], score])
    });
    let expected = array(&sheet["goals"]).iter().map(|row| {
        let score = &row["score_after"];
        json!([row["minute_display"], is_home(row, &sheet), row["player"], goal_type(row), score])
    });
    assert_eq!(goals, expected.collect::<Vec<_>>());
    let by_clock = |row: &Value| {
        let clock = row["clock"].as_str().expect("a clock");
        clock.split(':').next().and_then(|it| it.parse::<u64>().ok()).expect("minutes") + 1
    };
    let cards = rows(&incidents, "card", |row| {
        json!([minute(row), row["is_home"], row["player"], row["card_type"]])
    });
    let expected = array(&sheet["cards"])
        .iter()
        .map(|it| json!([by_clock(it), is_home(it, &sheet), it["player"], card_type(it)]));
    assert_eq!(cards, expected.collect::<Vec<_>>());
    let changes = rows(&incidents, "substitution", |row| {
        json!([minute(row), row["is_home"], row["player_out"], row["player_in"]])
    });
    let expected = array(&sheet["substitutions"])
        .iter()
        .map(|it| json!([by_clock(it), is_home(it, &sheet), it["off"], it["on"]]));
    assert_eq!(sorted(changes), sorted(expected.collect()));
}

#[tokio::test]
async fn matches_decided_by_penalties_match_the_response() {
    let Some(hub) = RecordedHub::import(&[PENALTIES]) else { return };
    for fixture in array(&sheet(PENALTIES)["fixtures"]) {
        let event = hub.event(&fixture["home"], &fixture["away"]).await;
        let score = &fixture["score"];
        let at = |value: &Value, names: [&str; 2]| names.map(|name| value[name].clone());
        assert_eq!(event["status"], "finished");
        assert_eq!(event["event_date"], fixture["date"]);
        assert_eq!(event["round_name"], fixture["round"]);
        assert_eq!(at(&event, ["home_score", "away_score"]), pair(&score["fulltime"]));
        assert_eq!(at(&event, ["home_score_ht", "away_score_ht"]), pair(&score["halftime"]));
        assert_eq!(event["extra_time_score"], score["extratime"]);
        assert_eq!(event["penalty_shootout"], score["penalty"]);
        let season = hub.get(&format!("/api/v2/leagues/{}/season/", event["league_id"])).await;
        let name = season["name"].as_str().expect("a name");
        assert!(name.ends_with(&format!(" {}", fixture["season"])), "{season}");
        assert_eq!(season["year"], fixture["season"], "{season}");
        assert_eq!(season["season"]["id"], season["id"], "{season}");

        let incidents = incidents(&hub, &event).await;
        let side = |it: &Value| json!(it["team"] == fixture["home"]);
        let goals = rows(&incidents, "goal", |row| {
            json!([row["minute"], row["added_time"], row["is_home"], row["player"], row["assist"]])
        });
        let expected = array(&fixture["goals_list"])
            .iter()
            .map(|it| json!([it["minute"], it["extra"], side(it), it["player"], it["assist"]]));
        assert_eq!(goals, expected.collect::<Vec<_>>());
        let cards = rows(&incidents, "card", |row| {
            json!([
                row["minute"],
                row["added_time"],
                row["is_home"],
                row["player"],
                row["card_type"]
            ])
        });
        let expected = array(&fixture["cards"])
            .iter()
            .map(|it| json!([it["minute"], it["extra"], side(it), it["player"], card_type(it)]));
        assert_eq!(cards, expected.collect::<Vec<_>>());
        let home = fixture["home"].as_str().expect("a name");
        let away = fixture["away"].as_str().expect("a name");
        for (team, is_home) in [(home, true), (away, false)] {
            let changes = incidents.iter().filter(|it| it["type"] == "substitution");
            let count = changes.filter(|it| it["is_home"] == is_home).count();
            assert_eq!(json!(count), fixture["substitutions"][team], "{team}");
        }
        // The sheet has the kicks in the order of the file, which is not the order of the kicks.
        let kicks = rows(&incidents, "penaltyShootout", |row| {
            json!([row["is_home"], row["player"], row["text"] == "scored"])
        });
        let expected = array(&fixture["shootout"])
            .iter()
            .map(|it| json!([side(it), it["player"], it["scored"]]));
        assert_eq!(sorted(kicks), sorted(expected.collect()));
        check_running_score(&incidents, "penaltyShootout", |it| it["text"] == "scored");
    }
}

#[tokio::test]
async fn fixtures_have_no_scores_yet() {
    // Replayed, so that the hub knows it: a match without further reports is unresolved in the
    // archive.
    let Some(hub) = RecordedHub::replay(&[FIXTURES]) else { return };
    let sheet = sheet(FIXTURES);
    let list = "/api/v2/events/?limit=200&date_from=2024-01-01&date_to=2024-12-31";
    let page = hub.until(list, |page| page["count"] == sheet["results"]).await;
    let rows = array(&page["results"]);
    for fixture in array(&sheet["fixtures"]) {
        let is_own = |row: &&Value| {
            row["home_team"] == fixture["home"] && row["away_team"] == fixture["away"]
        };
        let row = rows.iter().find(is_own).unwrap_or_else(|| panic!("{fixture} is not there"));
        assert_eq!((&row["status"], &row["period"]), (&json!("notstarted"), &json!("")));
        assert_eq!(row["event_date"], fixture["date"]);
        for name in [
            "home_score",
            "away_score",
            "home_score_ht",
            "away_score_ht",
            "extra_time_score",
            "penalty_shootout",
        ] {
            assert_eq!(row[name], Value::Null, "{name} of {row}");
        }
        let round = fixture["round"].as_str().expect("a round");
        let number = round.rsplit(' ').next().and_then(|number| number.parse::<u64>().ok());
        assert_eq!(row["round_number"].as_u64(), number, "{round}");
    }
}

async fn incidents(hub: &RecordedHub, event: &Value) -> Vec<Value> {
    let answer = hub.get(&format!("/api/v2/events/{}/incidents/", event["id"])).await;
    assert_eq!(answer["event_id"], event["id"]);
    let incidents = array(&answer["incidents"]);
    check_rows(incidents);
    // The newest come first; the sheets are in the order of the match.
    incidents.iter().rev().cloned().collect()
}

/// A row has exactly the keys of its type.
fn check_rows(incidents: &[Value]) {
    let happened = "minute added_time period_second is_home";
    let by_player = format!("{happened} player player_id");
    for row in incidents {
        let expected = match row["type"].as_str().expect("a type") {
            "goal" => format!("{by_player} assist goal_type home_score away_score sequence"),
            "card" => format!("{by_player} card_type rescinded"),
            "substitution" => {
                format!("{happened} player_in player_in_id player_out player_out_id")
            }
            "period" => "minute added_time text home_score away_score is_live".to_owned(),
            "injuryTime" => "minute length".to_owned(),
            "varDecision" => format!("{by_player} decision confirmed"),
            "inGamePenalty" => format!("{by_player} text"),
            "penaltyShootout" => format!("{by_player} text home_score away_score"),
            other => panic!("a row is {other:?}"),
        };
        let mut expected: Vec<_> = expected.split(' ').chain(["type"]).collect();
        expected.sort_unstable();
        let mut keys: Vec<_> = row.as_object().expect("a row").keys().map(|key| &**key).collect();
        keys.sort_unstable();
        assert_eq!(keys, expected, "{row}");
    }
}

fn rows(incidents: &[Value], kind: &str, row: impl Fn(&Value) -> Value) -> Vec<Value> {
    let of_kind = incidents.iter().filter(|it| it["type"] == kind);
    of_kind.map(row).collect()
}

/// For incidents of one minute, which have no order.
fn sorted(mut rows: Vec<Value>) -> Vec<Value> {
    rows.sort_by_key(Value::to_string);
    rows
}

/// With stoppage time.
fn minute(it: &Value) -> u64 {
    number(&it["minute"]) + it["added_time"].as_u64().unwrap_or(0)
}

fn is_home(it: &Value, sheet: &Value) -> bool {
    assert!(it["team"] == sheet["home"] || it["team"] == sheet["away"], "whose is {it}");
    it["team"] == sheet["home"]
}

fn goal_type(it: &Value) -> &'static str {
    match (&it["own_goal"], &it["penalty"]) {
        (Value::Bool(true), _) => "own_goal",
        (_, Value::Bool(true)) => "penalty",
        _ => "regular",
    }
}

fn card_type(it: &Value) -> &'static str {
    match it["card"].as_str().or_else(|| it["detail"].as_str()).expect("a card") {
        "Yellow Card" | "yellow" => "yellow",
        "Second Yellow" | "second_yellow" => "yellowRed",
        "Red Card" | "red" => "red",
        other => panic!("a card is {other:?}"),
    }
}

/// 0 to 3, and 4 for the shoot-out.
fn part(it: &Value) -> usize {
    match &it["period"] {
        Value::String(name) => {
            let position = ["1H", "2H", "E1", "E2", "P"].iter().position(|label| label == name);
            position.unwrap_or_else(|| panic!("a period is {name:?}"))
        }
        period => usize::try_from(number(period)).expect("small") - 1,
    }
}

/// The displayed minute, from the minute of the sheets, which count from 0, and the minutes beyond
/// the end of its period.
fn shown(it: &Value) -> [Value; 2] {
    let minute = number(&it["minute"]) + 1;
    let end = [45, 90, 105, 120, 120][part(it)];
    if minute > end { [json!(end), json!(minute - end)] } else { [json!(minute), Value::Null] }
}

fn check_result(event: &Value, sheet: &Value, file: &str) {
    assert_eq!((&event["status"], &event["period"]), (&json!("finished"), &json!("FT")), "{file}");
    let goals = array(&sheet["goals"]);
    let mut extra = [0, 0];
    for goal in goals.iter().filter(|it| part(it) > 1) {
        extra[usize::from(!is_home(goal, sheet))] += 1;
    }
    let parts = sheet["events_by_period"].as_object();
    let has_extra = parts.is_some_and(|parts| parts.contains_key("E1"));
    let of_all = pair(&sheet["final_score"]).map(|goals| number(&goals));
    let regular = [of_all[0] - extra[0], of_all[1] - extra[1]];
    assert_eq!(json!([event["home_score"], event["away_score"]]), json!(regular), "{file}");
    let extra = if has_extra { json!({"home": extra[0], "away": extra[1]}) } else { Value::Null };
    assert_eq!(event["extra_time_score"], extra, "{file}");
    assert_eq!(event["penalty_shootout"], sheet["shootout_score"], "{file}");
    if let Some(half_time) = sheet.get("half_time_score") {
        let actual = [event["home_score_ht"].clone(), event["away_score_ht"].clone()];
        assert_eq!(actual, pair(half_time), "half time of {file}");
    }
    let date = event["event_date"].as_str();
    match (sheet["date_utc"].as_str(), sheet["date"].as_str()) {
        (Some(at), _) => {
            assert_eq!(date, Some(&*format!("{}+00:00", at.replace(' ', "T"))), "{file}")
        }
        (None, Some(day)) => {
            let day = day.trim_end_matches('Z');
            assert!(date.is_some_and(|date| date.starts_with(day)), "{date:?} of {file}");
        }
        (None, None) => assert_eq!(date, None, "nothing says when {file} was"),
    }
}

fn check_incidents(incidents: &[Value], sheet: &Value, file: &str) {
    let goals = rows(incidents, "goal", |row| {
        let score = format!("{}-{}", row["home_score"], row["away_score"]);
        json!([
            row["minute"],
            row["added_time"],
            row["is_home"],
            row["player"],
            row["goal_type"],
            score
        ])
    });
    let expected = array(&sheet["goals"]).iter().map(|row| {
        let [minute, added] = shown(row);
        let score = &row["score_after"];
        json!([minute, added, is_home(row, sheet), row["player"], goal_type(row), score])
    });
    assert_eq!(goals, expected.collect::<Vec<_>>(), "goals of {file}");

    let cards = rows(incidents, "card", |row| {
        assert_eq!(row["rescinded"], false, "{row}");
        json!([row["minute"], row["added_time"], row["is_home"], row["player"], row["card_type"]])
    });
    let expected = array(&sheet["cards"]).iter().map(|row| {
        let [minute, added] = shown(row);
        json!([minute, added, is_home(row, sheet), row["player"], card_type(row)])
    });
    assert_eq!(cards, expected.collect::<Vec<_>>(), "cards of {file}");

    let changes = rows(incidents, "substitution", |row| {
        json!([minute(row), row["is_home"], row["player_out"], row["player_in"]])
    });
    let expected = array(&sheet["substitutions"]).iter().map(|row| {
        // If the minutes come from the record of the match, they are the displayed ones.
        let minute = number(&row["minute"]) + u64::from(row.get("period").is_some());
        json!([minute, is_home(row, sheet), row["off"], row["on"]])
    });
    assert_eq!(sorted(changes), sorted(expected.collect()), "substitutions of {file}");

    let kicks = rows(incidents, "penaltyShootout", |row| {
        json!([row["is_home"], row["player"], row["text"] == "scored"])
    });
    let none = Vec::new();
    let expected = sheet["shootout"].as_array().unwrap_or(&none).iter();
    let expected = expected.map(|it| json!([is_home(it, sheet), it["player"], it["scored"]]));
    assert_eq!(kicks, expected.collect::<Vec<_>>(), "shoot-out of {file}");
    check_running_score(incidents, "penaltyShootout", |it| it["text"] == "scored");

    let parts = sheet["events_by_period"].as_object().map_or(2, |parts| {
        parts.keys().filter(|name| !["14", "16"].contains(&name.as_str())).count()
    });
    let expected: &[&str] = match parts {
        2 => &["First half", "HT", "Second half", "FT"],
        5 => &["First half", "HT", "Second half", "ET", "ET", "ET", "PEN", "FT"],
        other => panic!("{other} parts in {file}"),
    };
    assert_eq!(rows(incidents, "period", |it| it["text"].clone()), expected, "periods of {file}");
    check_periods(incidents, sheet, file);
}

/// Clients read the final score and the half-time score from the rows of periods.
fn check_periods(incidents: &[Value], sheet: &Value, file: &str) {
    let at = |text: &str| {
        let row = incidents.iter().find(|it| it["type"] == "period" && it["text"] == text);
        let row = row.unwrap_or_else(|| panic!("{text} is not there in {file}"));
        assert_eq!(row["is_live"], false, "{text} of {file}");
        [row["home_score"].clone(), row["away_score"].clone()]
    };
    assert_eq!(at("FT"), pair(&sheet["final_score"]), "the end of {file}");
    if let Some(half_time) = sheet.get("half_time_score") {
        assert_eq!(at("HT"), pair(half_time), "half time of {file}");
    }
    assert_eq!(at("First half"), [json!(0), json!(0)], "the kick-off of {file}");
    assert_eq!(
        incidents.last().map(|it| it["text"].clone()),
        Some(json!("FT")),
        "the newest of {file}"
    );
    for row in incidents.iter().filter(|it| it["type"] == "injuryTime") {
        let is_end = [45, 90, 105, 120].contains(&number(&row["minute"]));
        assert!(is_end && (1..30).contains(&number(&row["length"])), "{row} of {file}");
    }
}

/// Each score is the one before it, plus one if the incident counts.
fn check_running_score(incidents: &[Value], kind: &str, counts: impl Fn(&Value) -> bool) {
    let mut score = [0, 0];
    for row in incidents.iter().filter(|it| it["type"] == kind) {
        if counts(row) {
            score[usize::from(row["is_home"] == false)] += 1;
        }
        assert_eq!(json!([row["home_score"], row["away_score"]]), json!(score), "{row}");
    }
}

/// A player has the same id in all incidents and in the line-up. (A line-up may contain two players
/// of one name: Colombia had two J. Cuadrado.)
async fn check_players(hub: &RecordedHub, event: &Value, incidents: &[Value], file: &str) {
    let mut ids: BTreeMap<&str, u64> = BTreeMap::new();
    for row in incidents {
        for (name, id) in [
            ("player", "player_id"),
            ("player_in", "player_in_id"),
            ("player_out", "player_out_id"),
        ] {
            if let Some(name) = row[name].as_str() {
                let id = number(&row[id]);
                assert_eq!(*ids.entry(name).or_insert(id), id, "{name} is two in {file}");
            }
        }
    }
    let mut distinct: Vec<_> = ids.values().collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), ids.len(), "two players have one id in {file}");
    let line_ups = hub.get(&format!("/api/v2/events/{}/lineups/", event["id"])).await;
    let sides = ["home", "away"].into_iter().map(|side| &line_ups["lineups"][side]);
    let lists = sides.flat_map(|side| [&side["players"], &side["substitutes"]]);
    let members: Vec<_> = lists.filter_map(Value::as_array).flatten().collect();
    for (name, id) in ids {
        let is_own = |it: &&&Value| it["name"] == name && it["id"] == id;
        let count = members.iter().filter(is_own).count();
        assert!(
            count == 1 || members.is_empty(),
            "{name} is {count} times in the line-ups of {file}"
        );
    }
}

/// The counters of both sides that a kind of event increases.
async fn check_counters(hub: &RecordedHub, event: &Value, sheet: &Value, file: &str) {
    let stats = hub.get(&format!("/api/v2/events/{}/stats/", event["id"])).await;
    let of_side = |side: &str, name: &str| stats["stats"][side][name].as_u64().unwrap_or(0);
    for (side, team) in ["home", "away"].into_iter().zip(pair(sheet)) {
        let counts = &sheet["cards_by_team"][team.as_str().expect("a name")];
        let cards =
            |names: &[&str]| names.iter().filter_map(|name| counts[*name].as_u64()).sum::<u64>();
        assert_eq!(of_side(side, "yellow_cards"), cards(&["Yellow Card", "yellow"]), "{file}");
        let red = cards(&["Red Card", "red", "Second Yellow", "second_yellow"]);
        assert_eq!(of_side(side, "red_cards"), red, "{file}");
    }
    let sum = |names: &[&str]| {
        let both_sides = |name: &&str| of_side("home", name) + of_side("away", name);
        names.iter().map(both_sides).sum::<u64>()
    };
    let kinds = ["events_by_type", "events_by_name", "events_by_type_id"];
    let kinds = kinds.iter().find_map(|name| sheet[*name].as_object()).expect("counts of events");
    let events =
        |names: &[&str]| names.iter().filter_map(|name| kinds.get(*name)?.as_u64()).sum::<u64>();
    match file.split('/').next() {
        Some("statsbomb") => {
            assert_eq!(sum(&["passes", "throw_ins"]), events(&["Pass"]), "passes of {file}");
            assert_eq!(sum(&["total_shots"]), events(&["Shot"]), "shots of {file}");
            assert_eq!(sum(&["fouls"]), events(&["Foul Committed"]), "fouls of {file}");
        }
        Some("wyscout") => {
            assert_eq!(sum(&["passes"]), events(&["Pass"]), "passes of {file}");
            assert_eq!(sum(&["offsides"]), events(&["Offside"]), "offsides of {file}");
        }
        // 2 is a pass to an offside player; 13 to 16 are shots, including goals.
        Some("statsperform") => {
            assert_eq!(sum(&["passes", "throw_ins"]), events(&["1", "2"]), "passes of {file}");
            assert_eq!(sum(&["total_shots"]), events(&["13", "14", "15", "16"]), "shots of {file}");
            assert_eq!(sum(&["offsides"]), events(&["2"]), "offsides of {file}");
        }
        other => panic!("{other:?} has no events"),
    }
}

async fn check_line_ups(hub: &RecordedHub, name: &str) {
    let events = sheet(&format!("{name}.events.json.gz"));
    let event = hub.event(&events["home"], &events["away"]).await;
    let answer = hub.get(&format!("/api/v2/events/{}/lineups/", event["id"])).await;
    assert_eq!(answer["lineup_status"], "confirmed");
    for team in array(&sheet(&format!("{name}.lineups.json"))["teams"]) {
        let side = if team["team"] == events["home"] { "home" } else { "away" };
        let line_up = &answer["lineups"][side];
        assert_eq!(line_up["team_name"], team["team"]);
        let [players, bench] = ["players", "substitutes"].map(|list| array(&line_up[list]).len());
        assert_eq!((players, json!(players + bench)), (11, team["players"].clone()), "{team}");
    }
}
