//! Football: the score and its parts, and all incidents, in order.

use serde_json::{Value, json};

use super::{Playback, play};
use crate::support::ChannelState;

#[tokio::test]
async fn world_cup_final() {
    check("wyscout/2058017.events.json.gz", "max").await;
}

#[tokio::test]
async fn extra_time_and_shootout() {
    check("wyscout/2058009.events.json.gz", "max").await;
}

#[tokio::test]
async fn four_all_after_four_nil() {
    check("wyscout/2516847.events.json.gz", "max").await;
}

#[tokio::test]
async fn paced() {
    check("wyscout/2058009.events.json.gz", "3000").await;
}

async fn check(file: &str, speed: &str) {
    let Some(played) = play(file, speed).await else { return };
    let Playback { sheet, .. } = &played;
    let game = played.game();
    check_result(&game.data, sheet);
    let incidents = event_incidents(game);
    assert_eq!(incidents, document_incidents(game), "the events and the document");
    check_goals(&incidents, sheet);
    check_cards(&incidents, sheet);
    check_substitutions(&incidents, sheet);
    check_shootout(&incidents, sheet);
    played.check_end();
}

fn check_result(data: &Value, sheet: &Value) {
    assert_eq!((&data["status"], &data["life"]), (&json!("finished"), &json!("ended")));
    assert_eq!(data["clock"]["running"], false);
    assert_eq!((&data["home"]["name"], &data["away"]["name"]), (&sheet["home"], &sheet["away"]));
    let mut score = sheet["final_score"].clone();
    score["ht"] = sheet["half_time_score"].clone();
    if sheet["events_by_period"].get("E1").is_some() {
        let scored = |team: &Value| {
            let goals = list(&sheet["goals"]).filter(|goal| goal["team"] == *team);
            goals
                .filter(|goal| goal["period"].as_str().is_some_and(|it| it.starts_with('E')))
                .count()
        };
        score["et"] = json!({"home": scored(&sheet["home"]), "away": scored(&sheet["away"])});
    }
    if let Some(shootout) = sheet.get("shootout_score") {
        score["pens"] = shootout.clone();
    }
    assert_eq!(data["score"], score);
}

/// All incidents in order, from the events.
fn event_incidents(game: &ChannelState) -> Vec<Value> {
    let incident = |event: &Value| {
        let mut incident = event.clone();
        if let Some(card) = incident.as_object_mut().expect("an event is an object").remove("card")
        {
            incident["kind"] = card;
        }
        incident
    };
    game.events.iter().map(incident).collect()
}

/// The same from the document.
fn document_incidents(game: &ChannelState) -> Vec<Value> {
    let incidents = game.data["incidents"].as_object().expect("incidents are by eid");
    let mut shown: Vec<(u64, Value)> = incidents
        .iter()
        .map(|(eid, incident)| {
            let mut incident = incident.clone();
            let fields = incident.as_object_mut().expect("an incident is an object");
            let number = fields.remove("n").and_then(|it| it.as_u64());
            fields.insert("eid".to_owned(), json!(eid));
            (number.expect("incidents are numbered"), incident)
        })
        .collect();
    shown.sort_by_key(|(number, _)| *number);
    shown.into_iter().map(|(_, incident)| incident).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn of_kinds<'a>(incidents: &'a [Value], kinds: &[&str]) -> Vec<&'a Value> {
    incidents
        .iter()
        .filter(|it| it["kind"].as_str().is_some_and(|kind| kinds.contains(&kind)))
        .collect()
}

fn side(team: &Value, sheet: &Value) -> &'static str {
    if *team == sheet["home"] { "home" } else { "away" }
}

/// The common fields of a sheet's row and an incident: the sheet counts minutes from 0, a
/// scoreboard shows the minute in progress, and the last minute of a period with stoppage time.
fn common(row: &Value, sheet: &Value) -> Value {
    let last = match row["period"].as_str() {
        Some("1H") => 45,
        Some("2H") => 90,
        Some("E1") => 105,
        _ => 120,
    };
    let minute = row["minute"].as_u64().expect("a minute") + 1;
    let mut out = json!({
        "eid": row["event_id"].to_string(),
        "minute": minute.min(last),
        "side": side(&row["team"], sheet),
        "player": row["player"],
    });
    if minute > last {
        out["added"] = json!(minute - last);
    }
    out
}

/// An incident without the fields that the sheets lack: ids of players, and the assist.
fn as_in_sheets(incident: &Value) -> Value {
    let mut out = incident.clone();
    out["player"] = incident["player"]["name"].clone();
    out.as_object_mut().expect("an incident is an object").remove("assist");
    out
}

fn check_goals(incidents: &[Value], sheet: &Value) {
    let expected = list(&sheet["goals"]).map(|goal| {
        let mut out = common(goal, sheet);
        out["kind"] = json!("goal");
        out["type"] = json!(match (goal["own_goal"] == true, goal["penalty"] == true) {
            (true, _) => "own_goal",
            (_, true) => "penalty",
            _ => "regular",
        });
        let (home, away) = goal["score_after"].as_str().and_then(|it| it.split_once('-')).unwrap();
        let goals = |text: &str| text.parse::<u64>().expect("a count");
        out["score"] = json!({"home": goals(home), "away": goals(away)});
        out
    });
    let goals: Vec<_> = of_kinds(incidents, &["goal"]).into_iter().map(as_in_sheets).collect();
    assert_eq!(goals, expected.collect::<Vec<_>>());
}

fn check_cards(incidents: &[Value], sheet: &Value) {
    let expected = list(&sheet["cards"]).map(|card| {
        let mut out = common(card, sheet);
        out["kind"] = card["card"].clone();
        out
    });
    let cards = of_kinds(incidents, &["yellow", "second_yellow", "red"]);
    let cards: Vec<_> = cards.into_iter().map(as_in_sheets).collect();
    assert_eq!(cards, expected.collect::<Vec<_>>());
}

/// They have no event in the recording: those of one minute have no order, and their minute is the
/// displayed one.
fn check_substitutions(incidents: &[Value], sheet: &Value) {
    let key = |row: &Value| (row["minute"].as_u64(), row["off"].to_string());
    let mut ours: Vec<_> = of_kinds(incidents, &["substitution"])
        .into_iter()
        .map(|incident| {
            let minute = incident["minute"].as_u64().expect("a minute");
            json!({
                "minute": minute + incident["added"].as_u64().unwrap_or(0),
                "side": incident["side"],
                "off": incident["player"]["name"],
                "on": incident["assist"]["name"],
            })
        })
        .collect();
    assert!(ours.is_sorted_by_key(|row| row["minute"].as_u64()));
    let expected = list(&sheet["substitutions"]).map(|row| {
        let side = side(&row["team"], sheet);
        json!({"minute": row["minute"], "side": side, "off": row["off"], "on": row["on"]})
    });
    let mut expected: Vec<_> = expected.collect();
    ours.sort_by_key(key);
    expected.sort_by_key(key);
    assert_eq!(ours, expected);
}

fn check_shootout(incidents: &[Value], sheet: &Value) {
    let kick = |side: &Value, player: &Value, scored: &Value| json!({"side": side, "player": player, "scored": scored});
    let ours: Vec<_> = of_kinds(incidents, &["shootout"])
        .into_iter()
        .map(|it| kick(&it["side"], &it["player"]["name"], &it["scored"]))
        .collect();
    let expected: Vec<_> = list(&sheet["shootout"])
        .map(|it| kick(&json!(side(&it["team"], sheet)), &it["player"], &it["scored"]))
        .collect();
    assert_eq!(ours, expected);
}
