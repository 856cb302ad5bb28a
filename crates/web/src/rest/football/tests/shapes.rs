//! Existing clients depend on the names of keys and their order.

use std::collections::{BTreeMap, BTreeSet};

use insta::assert_json_snapshot;
use serde_json::json;

use super::world::{self, World};
use crate::rest::football::{
    event::Event, incidents::Incidents, line_ups::LineUps, player_stats::MatchPlayerStats,
    stats::Stats,
};
use record::{MatchSummary, Status};

#[test]
fn match_has_the_keys_of_the_page_in_their_order() {
    // 2026-07-31T00:30:00Z
    let start = 1_785_457_800_000_000;
    let summary = MatchSummary {
        score: Some([3, 2]),
        half_time: Some([1, 1]),
        extra_time: Some([1, 0]),
        penalties: Some([5, 4]),
        group: Some("Group A".into()),
        round: Some(3),
        ..world::summary(1, [100, 200], start, Status::Finished)
    };
    let event = Event::bare(&summary, ["Alpha FC".to_owned(), "Beta FC".to_owned()], None, start);
    assert_json_snapshot!(event);
    let upcoming = MatchSummary { status: Status::NotStarted, ..summary };
    let event = Event::bare(&upcoming, [String::new(), String::new()], None, start);
    assert_eq!((event.home_score, event.away_score, event.period), (None, None, ""));
}

#[test]
fn starts_of_periods_are_those_reported() {
    use facts::football::Period;

    // 2026-07-31T00:31:00Z, and 16 minutes after the end of the first half
    let starts =
        [(Period::FirstHalf, 1_785_457_860_000_000), (Period::SecondHalf, 1_785_461_520_000_000)];
    let summary = MatchSummary {
        period_starts: Some(Box::new(starts.into())),
        ..world::summary(1, [100, 200], 1_785_457_800_000_000, Status::SecondHalf)
    };
    let event = |summary: &MatchSummary| {
        let event = Event::bare(summary, [String::new(), String::new()], None, 0);
        serde_json::to_value(event).expect("it is JSON")
    };
    let expected = json!({"first_half": "2026-07-31T00:31:00+00:00", "second_half": "2026-07-31T01:32:00+00:00"});
    assert_eq!(event(&summary)["period_starts"], expected);
    let unreported = event(&MatchSummary { period_starts: None, ..summary });
    assert_eq!(unreported.get("period_starts"), None, "the schedule is no report");
}

#[test]
fn minute_stops_in_stoppage_time_and_is_present_in_play_only() {
    use super::super::event::minute;
    use record::ClockRecord;

    let clock = |second, running| ClockRecord { at: 0, second, running };
    let check = |clock, status, expected| assert_eq!(minute(clock, status, 30_000_000), expected);
    check(clock(17 * 60 + 40, true), Status::FirstHalf, Some(18));
    check(clock(17 * 60 + 40, false), Status::FirstHalf, Some(17));
    check(clock(47 * 60, true), Status::FirstHalf, Some(45));
    check(clock(45 * 60, true), Status::SecondHalf, Some(45));
    check(clock(94 * 60, true), Status::SecondHalf, Some(90));
    check(clock(94 * 60, true), Status::Finished, None);
}

#[test]
fn retracted_goals_are_left_out_and_retracted_cards_are_marked() {
    let incidents = Incidents::new(&world::first(0));
    let value = serde_json::to_value(&incidents).expect("it is JSON");
    let rows = value["incidents"].as_array().unwrap();
    let values: Vec<_> = rows
        .iter()
        .map(|row| (row["type"].as_str().unwrap(), row["minute"].as_u64().unwrap()))
        .collect();
    let expected = [
        ("goal", 90),
        ("substitution", 60),
        ("card", 50),
        ("card", 45),
        ("goal", 40),
        ("goal", 12),
    ];
    assert_eq!(values, expected, "the newest first");
    assert_eq!(rows[2]["rescinded"], true);
    assert_eq!((&rows[1]["player_in_id"], &rows[1]["player_out_id"]), (&json!(1012), &json!(1001)));
    // The credited side, although its player did not score: SERVICE section 8, row 19.
    assert_eq!((&rows[4]["goal_type"], &rows[4]["is_home"]), (&json!("own_goal"), &json!(true)));
    assert_json_snapshot!(incidents);
}

/// SERVICE section 8, rows 9 and 10.
#[test]
fn periods_have_the_score_and_var_checks_the_decision() {
    use record::{IncidentRecord, MatchRecord, PlayRecord};

    let first = world::first(0);
    let Some(mut football) = first.play.football().cloned() else { panic!("it is of football") };
    let incident = football.incidents.last().expect("a goal").clone();
    let incident = |kind: &str, detail: Option<&str>, minute, added| IncidentRecord {
        eid: format!("{kind} {minute}").into(),
        kind: kind.into(),
        detail: detail.map(Into::into),
        minute,
        added,
        score: None,
        ..incident.clone()
    };
    football.incidents.extend([
        incident("period", Some("first_half"), 1, None),
        incident("period", Some("half_time"), 45, Some(3)),
        incident("period", Some("second_half"), 46, None),
        incident("var", Some("checking"), 56, None),
        incident("var", Some("overturned"), 57, None),
        incident("second_yellow", None, 70, None),
    ]);
    let playing = |football, status| MatchRecord {
        summary: MatchSummary { status, ..MatchSummary::clone(&first.summary) }.into(),
        play: PlayRecord::Football(Box::new(football)),
        ..first.clone()
    };
    let rows = |record: &MatchRecord| {
        let value = serde_json::to_value(Incidents::new(record)).expect("it is JSON");
        value["incidents"].as_array().expect("rows").clone()
    };
    let live = rows(&playing(football.clone(), Status::SecondHalf));
    let of_kind = |rows: &[serde_json::Value], kind: &str| -> Vec<_> {
        rows.iter().filter(|row| row["type"] == kind).cloned().collect()
    };
    let period = |text: &str, minute, added: Option<u16>, score: [u16; 2], is_live: bool| {
        json!({"type": "period", "minute": minute, "added_time": added, "text": text,
            "home_score": score[0], "away_score": score[1], "is_live": is_live})
    };
    let expected = [
        period("Second half", 46, None, [2, 1], true),
        period("HT", 45, Some(3), [2, 0], false),
        period("First half", 1, None, [0, 0], false),
    ];
    assert_eq!(of_kind(&live, "period"), expected);
    let stoppage = json!({"type": "injuryTime", "minute": 45, "length": 3});
    assert_eq!(of_kind(&live, "injuryTime"), [stoppage]);
    let decisions: Vec<_> = of_kind(&live, "varDecision")
        .iter()
        .map(|row| (row["decision"].clone(), row["confirmed"].clone()))
        .collect();
    let expected = [(json!("overturned"), json!(false)), (json!("checking"), json!(null))];
    assert_eq!(decisions, expected);
    assert_eq!(of_kind(&live, "card")[0]["card_type"], "yellowRed");

    football.incidents.push(incident("period", Some("finished"), 90, Some(5)));
    let over = rows(&playing(football, Status::Finished));
    assert_eq!(over[0], period("FT", 90, Some(5), [2, 1], false), "the end comes first");
    assert_eq!(over[1], json!({"type": "injuryTime", "minute": 90, "length": 5}));
    assert!(over.iter().all(|row| row["is_live"] != true), "{over:?}");
}

#[test]
fn line_up_of_one_side_is_present_without_the_other() {
    assert_json_snapshot!(LineUps::new(&world::first(0)));
}

#[test]
fn counted_stats_have_zeros_and_others_are_absent() {
    assert_json_snapshot!(Stats::new(&world::first(0)));
}

#[test]
fn everyone_who_played_has_a_row() {
    let rows = MatchPlayerStats::new(&world::first(0));
    let value = serde_json::to_value(&rows).expect("it is JSON");
    // Eleven starters, one substitute, and two of the other side known from incidents.
    assert_eq!(value["count"], 14);
    let row_of = |id: u64| {
        let rows = value["player_stats"].as_array().unwrap();
        rows.iter().find(|row| row["player_id"] == id).unwrap().clone()
    };
    assert_eq!((&row_of(1001)["goals"], &row_of(1002)["goal_assist"]), (&json!(1), &json!(1)));
    assert_eq!((&row_of(2001)["goals"], &row_of(2001)["team_id"]), (&json!(0), &json!(200)));
    assert_eq!(row_of(2002)["red_card"], 0, "a card that was taken back is counted");
    // SERVICE section 8, row 7: only these may be missing.
    let row = row_of(1003);
    let nulls = row.as_object().unwrap().iter().filter(|(_, value)| value.is_null());
    let nulls: Vec<_> = nulls.map(|(name, _)| name.as_str()).collect();
    let unknown = |name: &&str| {
        ["rating", "goals_prevented"].contains(name)
            || name.starts_with("expected_")
            || name.contains("_value")
    };
    assert!(nulls.iter().all(unknown), "{nulls:?}");
    assert_eq!((&row["total_shots"], &row["yellow_card"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn rows_of_lists_have_the_keys_of_the_page() {
    let world = World::new().await;
    let mut keys = BTreeMap::new();
    for path in [
        "leagues/",
        "leagues/5/season/",
        "teams/",
        "events/1/h2h/",
        "leagues/5/standings/",
        "referees/",
        "venues/",
        "managers/",
        "players/",
    ] {
        let body = world.get(path).await.body;
        let row = body["results"].get(0).or_else(|| body["standings"].get(0)).unwrap_or(&body);
        let of_row: BTreeSet<_> = row.as_object().expect("an object").keys().cloned().collect();
        keys.insert(path, of_row);
    }
    assert_json_snapshot!(keys);
}

#[tokio::test]
async fn earlier_meetings_are_from_the_home_side() {
    let world = World::new().await;
    let met = world.get("events/2/h2h/").await.body;
    let counts = ["total_matches", "home_wins", "draws", "away_wins", "home_goals", "away_goals"];
    let counts = counts.map(|name| met[name].as_u64().unwrap());
    assert_eq!(counts, [1, 0, 0, 1, 1, 2], "{met}");
    assert_eq!(met["away_win_rate"], 1.0);
    let recent = &met["recent_matches"][0];
    assert_eq!((&recent["score"], &recent["home"]), (&json!("2-1"), &json!("name 100")));
    // SERVICE section 8, row 6.
    let date = recent["date"].as_str().expect("a moment");
    assert_eq!(date, world.get("events/1/").await.body["event_date"]);
    let detail = world.get("events/2/").await.body;
    assert_eq!(detail["head_to_head"], met);
    assert_eq!(world.get("events/1/h2h/").await.body["total_matches"], json!(null));
}

/// SERVICE section 8, rows 14 and 20.
#[tokio::test]
async fn season_is_present_below_its_key_and_at_the_top() {
    let world = World::new().await;
    let season = world.get("leagues/5/season/").await.body;
    assert_eq!((&season["league_id"], &season["season"]["id"]), (&json!(5), &json!(50)));
    for name in ["id", "name", "year", "start_date", "end_date", "is_current"] {
        assert_eq!(season[name], season["season"][name], "{name}");
    }
    let first_year = season["start_date"].as_str().expect("a day")[..4].parse::<u16>();
    assert_eq!(season["year"], first_year.expect("a year"), "the name has no year");
    // The season's name contains the league's.
    assert_eq!(season["name"], "name 50");
    let league = world.get("leagues/5/").await.body;
    assert_eq!(league["current_season"], season["season"]);
    assert_eq!(league["current_season"]["is_current"], true);
    for path in ["leagues/5/", "teams/100/", "referees/800/", "managers/700/", "venues/900/"] {
        let country = world.get(path).await.body["country"].clone();
        assert_eq!(country, "", "{path}");
    }
}
