//! After a replay, REST shows what the answer sheets say.

use std::{fs, sync::Arc};

use serde_json::{Value, json};

use super::{each, first_id};
use crate::support::{Hub, shared};

const P: &str = "/tennis/api/v2";

/// A hub that has played a recording, and a key; `None`, with a message, if the recording is
/// missing.
fn played(file: &str) -> Option<(Arc<Hub>, String, Value)> {
    let path = shared(file)?;
    let hub =
        Hub::shared(&["replay", "--speed", "max", path.to_str().expect("a path of text")], &[]);
    let key = hub.key(&["sports"]);
    let name = file.replace('/', "__");
    let name = name.trim_end_matches(".gz").trim_end_matches(".csv").trim_end_matches(".jsonl");
    let sheet = shared(&format!("expected/{name}.json")).expect("sheets lie beside recordings");
    let sheet = fs::read(sheet).expect("each recording has its answer sheet");
    Some((hub, key, serde_json::from_slice(&sheet).expect("answer sheets are JSON")))
}

/// All points of a response, in order, with the server of their game.
fn points(answer: &Value) -> Vec<(&Value, &Value)> {
    let mut all = Vec::new();
    for set in answer["sets"].as_array().expect("a list of sets") {
        for game in set["games"].as_array().expect("a list of games") {
            let points = game["points"].as_array().expect("a list of points");
            all.extend(points.iter().map(|point| (&game["server"], point)));
        }
    }
    all
}

/// How many points each player won, in the format of the sheets.
fn won(answer: &Value) -> Value {
    let count = |side| points(answer).iter().filter(|(_, point)| point["winner"] == side).count();
    json!({"1": count(1), "2": count(2)})
}

/// The games of each completed set: from its last game, and the breaks in it.
fn check_sets(answer: &Value, sheet: &Value, breaks: bool) {
    let sets = answer["sets"].as_array().expect("a list of sets");
    let expected =
        sheet["sets_by_replay"].as_array().or_else(|| sheet["sets"].as_array()).expect("sets");
    for (set, expected) in sets.iter().zip(expected) {
        let games = set["games"].as_array().expect("a list of games");
        let last = games.last().expect("a game");
        assert_eq!(json!([last["player1_games"], last["player2_games"]]), expected["games"]);
        let sum = expected["games"].as_array().expect("a pair").iter().filter_map(Value::as_u64);
        assert_eq!(games.len() as u64, sum.sum::<u64>());
    }
    let broken = |side: u64| {
        let games = sets.iter().flat_map(|set| set["games"].as_array().into_iter().flatten());
        games.filter(|game| game["break"] == true && game["winner"] == side).count()
    };
    if breaks {
        assert_eq!(json!({"1": broken(1), "2": broken(2)}), sheet["break_points_won"]);
    }
}

async fn check_slam(name: &str) {
    let file = format!("slam-pointbypoint/{name}.points.csv.gz");
    let Some((hub, key, sheet)) = played(&file) else { return };
    let retired = sheet["status_in_match_file"] == "Retired";
    let status = if retired { "retired" } else { "finished" };
    // Nothing says when it began, so it is on no day.
    let all = format!("{P}/matches/?status={status}");
    let has_all = |page: &Value| page["count"] == 1 && page["results"][0]["winner_id"].is_u64();
    let page = hub.json_until(&key, &all, has_all).await;
    let row = &page["results"][0];
    assert_eq!(row["status"], status);
    let player1 = sheet["player1"].as_str().expect("a name");
    assert!(row["player1"]["name"].as_str().is_some_and(|name| name.starts_with(player1)), "{row}");
    let winner = sheet["winner"].as_u64().or_else(|| sheet["winner_in_match_file"].as_u64());
    let winner = if winner == Some(1) { &row["player1"]["id"] } else { &row["player2"]["id"] };
    assert_eq!(&row["winner_id"], winner);
    assert_eq!(json!({"1": row["p1_aces"], "2": row["p2_aces"]}), sheet["aces"], "aces");
    if sheet.get("partner1").is_none() {
        // A game that the server lost was won by a break point.
        let lost = |player: &str| {
            let count = |name: &str| row[format!("{player}_{name}")].as_u64().expect("a count");
            count("service_games") - count("service_games_won")
        };
        assert_eq!(json!({"1": lost("p2"), "2": lost("p1")}), sheet["break_points_won"], "{row}");
        for (player, breaks) in [("p1", lost("p2")), ("p2", lost("p1"))] {
            let converted = row[format!("{player}_break_points_converted_pct")].as_f64();
            assert_eq!(converted.is_some_and(|it| it > 0.0), breaks > 0, "{player} of {row}");
        }
    }
    let faults = json!({"1": row["p1_double_faults"], "2": row["p2_double_faults"]});
    assert_eq!(faults, sheet["double_faults"], "double faults");
    assert_eq!(row["point_by_point_available"], true);
    let finished =
        sheet["sets_by_replay"].as_array().expect("sets").iter().map(|set| &set["games"]);
    let sets = finished.chain(sheet.get("unfinished_set_games_by_replay"));
    let sets: Vec<_> = sets.map(|games| json!({"p1": games[0], "p2": games[1]})).collect();
    assert_eq!(row["sets_detail"], json!(sets), "sets");
    let id = first_id(&page);
    let detail = hub.get_as(&key, &format!("{P}/matches/{id}/")).await.json();
    assert_eq!(&detail, row, "a match is the same in a list and alone");
    let answer = hub.get_as(&key, &format!("{P}/matches/{id}/point-by-point/")).await.json();
    assert_eq!(
        (&answer["available"], points(&answer).len()),
        (&json!(true), count(&sheet["points"]))
    );
    assert_eq!(won(&answer), sheet["points_won"]);
    // In doubles four players serve, and the sheets count them separately.
    check_sets(&answer, &sheet, sheet.get("partner1").is_none());
}

fn count(value: &Value) -> usize {
    value.as_u64().and_then(|count| usize::try_from(count).ok()).expect("a count")
}

#[tokio::test]
async fn points_of_the_slams() {
    for name in [
        "2011-wimbledon-2148",
        "2011-wimbledon-2701",
        "2012-ausopen-1701",
        "2012-wimbledon-1701",
        "2013-usopen-2701",
        "2023-usopen-4601",
    ] {
        check_slam(name).await;
    }
}

#[tokio::test]
async fn points_are_strings() {
    let Some((hub, key, sheet)) = played("pointbypoint-strings/matches.csv") else { return };
    let sheets = sheet["matches"].as_array().expect("a list of matches");
    let all = format!("{P}/matches/?date_from=2000-01-01&limit=200");
    let has_all = |page: &Value| {
        page["count"] == sheets.len() && each(page, "/winner_id").iter().all(Value::is_u64)
    };
    let page = hub.json_until(&key, &all, has_all).await;
    for sheet in sheets {
        let rows = page["results"].as_array().expect("rows");
        let row = rows.iter().find(|row| {
            row["player1"]["name"] == sheet["server1"]
                && row["player2"]["name"] == sheet["server2"]
                && row["sets_detail"].as_array().map(Vec::len)
                    == sheet["sets"].as_array().map(Vec::len)
        });
        let row = row.unwrap_or_else(|| panic!("{sheet} is not among {page}"));
        let id = row["id"].as_u64().expect("an id");
        let answer = hub.get_as(&key, &format!("{P}/matches/{id}/point-by-point/")).await.json();
        assert_eq!(points(&answer).len(), count(&sheet["points"]), "{sheet}");
        assert_eq!(won(&answer), sheet["points_won"], "{sheet}");
        check_sets(&answer, sheet, false);
        let winner =
            if sheet["winner"] == 1 { &row["player1"]["id"] } else { &row["player2"]["id"] };
        assert_eq!(&row["winner_id"], winner, "{sheet}");
        let sets = sheet["sets"].as_array().expect("sets").iter().map(|set| &set["games"]);
        let sets: Vec<_> = sets.map(|games| json!({"p1": games[0], "p2": games[1]})).collect();
        assert_eq!(row["sets_detail"], json!(sets), "{sheet}");
    }
}

/// A Betfair market contains only runners, without names.
#[tokio::test]
async fn runners_of_a_market() {
    let name = "betfair-stream/racing-1.241629436.live.jsonl.gz";
    let Some((hub, key, _)) = played(name) else { return };
    let all = "/horseracing/api/v2/races/?date_from=2025-04-01&date_to=2025-04-01";
    let page = hub.json_until(&key, all, |page| page["results"][0]["competitors_count"] == 9).await;
    let race = first_id(&page);
    let list = format!("/horseracing/api/v2/runners/?race={race}");
    let is_settled = |page: &Value| each(page, "/finish_position").contains(&json!(1));
    let runners = hub.json_until(&key, &list, is_settled).await;
    assert_eq!(each(&runners, "/horse"), vec![Value::Null; 9], "Betfair gives no names");
}
