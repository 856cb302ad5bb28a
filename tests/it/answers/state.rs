//! Matches reported as a state: Betfair's scores, the scores of The Odds API, the Unified Odds
//! Feed.

use serde_json::{Value, json};

use super::{RecordedHub, array, pair};
use crate::replay::sheet;

const TIMELINE: &str = "betfair-scores/eventtimeline.json";
const SCORES: &str = "betfair-scores/scores.json";
const POINTS: &str = "betfair-scores/incidents.json";
const SCORE: &str = "betfair-scores/score.json";
const RESULTS: &str = "the-odds-api/sport-scores.json";
const CHANGE: &str = "sportradar-uof/odds_change-0.xml";
const FIXTURE: &str = "sportradar-uof/fixture-0.xml";

/// A football match in play. (The position of its clock depends on the time of the request.)
#[tokio::test]
async fn football_in_play_shows_the_last_state() {
    for file in [TIMELINE, SCORES] {
        let Some(hub) = RecordedHub::replay(&[file]) else { return };
        let sheet = sheet(file);
        let is_complete = |page: &Value| page["results"][0]["away_score"] == sheet["score"]["away"];
        let page = hub.until("/api/v2/events/live/", |page| page["count"] == 1).await;
        let id = &page["events"][0]["id"];
        hub.until("/api/v2/events/", is_complete).await;
        let event = hub.get(&format!("/api/v2/events/{id}/")).await;
        assert_eq!((&event["home_team"], &event["away_team"]), (&sheet["home"], &sheet["away"]));
        assert_eq!((&event["status"], &event["period"]), (&json!("2nd_half"), &json!("2T")));
        assert_eq!(
            [event["home_score"].clone(), event["away_score"].clone()],
            pair(&sheet["score"])
        );
        let half_time = [event["home_score_ht"].clone(), event["away_score_ht"].clone()];
        assert_eq!(half_time, pair(&sheet["half_time"]), "{file}");
        let stats = hub.get(&format!("/api/v2/events/{id}/stats/")).await;
        for side in ["home", "away"] {
            let of_side = &stats["stats"][side];
            assert_eq!(of_side["yellow_cards"], sheet["yellow_cards"][side], "{side} of {file}");
            if let Some(corners) = sheet.get("corners") {
                assert_eq!(of_side["corner_kicks"], corners[side], "{side} of {file}");
            }
        }
        if file == TIMELINE {
            check_timeline(&hub, id, &sheet).await;
        }
    }
}

async fn check_timeline(hub: &RecordedHub, id: &Value, sheet: &Value) {
    let answer = hub.get(&format!("/api/v2/events/{id}/incidents/")).await;
    // The newest come first here, and last in the sheet.
    let incidents = || array(&answer["incidents"]).iter().rev();
    let actual: Vec<_> = incidents()
        .filter(|it| it["type"] != "injuryTime")
        .map(|row| {
            let what = if row["type"] == "period" { &row["text"] } else { &row["type"] };
            json!([what, row["minute"], row["added_time"], row["is_home"]])
        })
        .collect();
    let expected: Vec<_> = array(&sheet["updates"])
        .iter()
        .map(|row| {
            let what = match row["type"].as_str() {
                Some("KickOff") => "First half",
                Some("FirstHalfEnd") => "HT",
                Some("SecondHalfKickOff") => "Second half",
                Some("Goal") => "goal",
                Some("YellowCard") => "card",
                other => panic!("{other:?} in the sheet"),
            };
            let side = row["team"].as_str().map(|team| team == "home");
            json!([what, row["elapsedRegularTime"], row["elapsedAddedTime"], side])
        })
        .collect();
    assert_eq!(actual, expected);
    let period = incidents().rfind(|it| it["type"] == "period").expect("a period");
    assert_eq!(period["is_live"], true, "{period}");
    assert_eq!([period["home_score"].clone(), period["away_score"].clone()], pair(&sheet["score"]));
    let goals = incidents().filter(|it| it["type"] == "goal");
    let goals: Vec<_> = goals
        .map(|row| {
            let team = if row["is_home"] == true { "home" } else { "away" };
            json!({"minute": row["minute"], "team": team})
        })
        .collect();
    assert_eq!(json!(goals), sheet["goals"]);
}

/// Point by point, from the first to the last reported one.
#[tokio::test]
async fn tennis_in_play_shows_the_last_state() {
    let Some(hub) = RecordedHub::replay(&[POINTS]) else { return };
    let sheet = &sheet(POINTS)["events"][0];
    let state = &sheet["last_scored_state"];
    let count = sheet["points_played"].as_u64().expect("a count");
    let list = "/tennis/api/v2/matches/live/";
    let page = hub.until(list, |page| page[0]["id"].is_u64()).await;
    let id = &page[0]["id"];
    let points = |answer: &Value| {
        let sets = answer["sets"].as_array().into_iter().flatten();
        let games = sets.flat_map(|set| array(&set["games"]).to_vec());
        games.map(|game| array(&game["points"]).len() as u64).sum::<u64>()
    };
    let path = format!("/tennis/api/v2/matches/{id}/point-by-point/");
    let answer = hub.until(&path, |answer| points(answer) >= count).await;
    assert_eq!(points(&answer), count);
    let [set] = array(&answer["sets"]) else { panic!("one set in {answer}") };
    let games = array(&set["games"]);
    let recorded = array(&sheet["games"]);
    assert_eq!(games.len(), recorded.len());
    for (game, recorded) in games.iter().zip(recorded) {
        let text = |value: &Value| value.as_u64().map(|it| it.to_string());
        let numbers = [&set["set"], &game["game"], &game["server"]].map(text);
        let expected =
            ["set", "game", "server"].map(|name| recorded[name].as_str().map(ToOwned::to_owned));
        assert_eq!(numbers, expected);
        let winners: Vec<_> = array(&game["points"]).iter().map(|it| text(&it["winner"])).collect();
        assert_eq!(json!(winners), recorded["points"]);
        assert_eq!(
            json!(text(&game["winner"])),
            recorded.get("winner").cloned().unwrap_or_default()
        );
    }
    let row = hub.get(&format!("/tennis/api/v2/matches/{id}/")).await;
    assert_eq!(row["status"], "live");
    let text = |value: &Value| json!(value.to_string());
    assert_eq!(text(&row["current_set"]), state["currentSet"]);
    for player in [1, 2] {
        let games = &row["sets_detail"][0][format!("p{player}")];
        assert_eq!(text(games), state[format!("player{player}GamesWon")]);
        assert_eq!(*games, row[format!("current_game_p{player}")]);
        assert_eq!(
            text(&row[format!("player{player}_sets")]),
            state[format!("player{player}SetsWon")]
        );
    }
    let call = |name: &str| state[name].as_str().expect("a call").replace("Av", "A");
    let point = format!("{}-{}", call("team1PointsAfter"), call("team2PointsAfter"));
    assert_eq!(row["current_point"], point);
    assert_eq!(row["is_serving_p1"], state["server"] == "1");
    let (aces, faults) = (&sheet["by_type"]["ace"], &sheet["by_type"]["doublefault"]);
    let sum = |name: &str| {
        let of_player = |player: usize| row[format!("p{player}_{name}")].as_u64().unwrap_or(0);
        json!(of_player(1) + of_player(2))
    };
    assert_eq!((&sum("aces"), &sum("double_faults")), (aces, faults));
}

/// The same match as one image.
#[tokio::test]
async fn tennis_score_matches_the_recording() {
    let Some(hub) = RecordedHub::replay(&[SCORE]) else { return };
    let values = &sheet(SCORE)["values"];
    let page = hub.until("/tennis/api/v2/matches/live/", |page| page[0]["id"].is_u64()).await;
    let row = hub.get(&format!("/tennis/api/v2/matches/{}/", page[0]["id"])).await;
    let start = values["startDate"].as_str().expect("a start").replace(".000Z", "+00:00");
    assert_eq!(row["match_date"], start);
    let text = |value: &Value| json!(value.to_string());
    for player in [1, 2] {
        let recorded = |name: &str| &values[format!("player{player}{name}")];
        assert_eq!(text(&row["sets_detail"][0][format!("p{player}")]), *recorded("GamesWon"));
        assert_eq!(text(&row[format!("player{player}_sets")]), *recorded("SetsWon"));
    }
    let point =
        ["player1PointsWon", "player2PointsWon"].map(|name| values[name].as_str().expect("a call"));
    assert_eq!(row["current_point"], point.join("-"));
}

#[tokio::test]
async fn hockey_results_match_the_response() {
    let Some(hub) = RecordedHub::replay(&[RESULTS]) else { return };
    let sheet = sheet(RESULTS);
    let list = "/hockey/api/v2/matches/?date_from=2024-03-01&date_to=2024-03-31&limit=200";
    let page = hub.until(list, |page| page["count"] == sheet["events"]).await;
    for expected in array(&sheet["list"]) {
        let start = expected["commence_time"].as_str().expect("a time").replace('Z', "+00:00");
        let is_own = |row: &&Value| {
            row["home_team"]["name"] == expected["home"]
                && row["away_team"]["name"] == expected["away"]
                && row["match_date"] == start
        };
        let row = array(&page["results"]).iter().find(is_own);
        let row = row.unwrap_or_else(|| panic!("{expected} is not among {page}"));
        let status = if expected["completed"] == true { "finished" } else { "scheduled" };
        assert_eq!(row["status"], status, "{expected}");
        for side in ["home", "away"] {
            let name = expected[side].as_str().expect("a name");
            let score =
                expected["scores"][name].as_str().map(|score| score.parse::<u64>().expect("goals"));
            assert_eq!(row[format!("{side}_score")].as_u64(), score, "{expected}");
        }
    }
}

#[tokio::test]
async fn state_and_fixture_of_the_unified_feed() {
    let Some(hub) = RecordedHub::replay(&[CHANGE, FIXTURE]) else { return };
    let page = hub.until("/api/v2/events/", |page| page["count"] == 2).await;
    let rows = array(&page["results"]);
    let change = sheet(CHANGE);
    let row = rows.iter().find(|row| row["home_team"] == "").expect("one without names");
    let status = &change["sport_event_status"];
    let score = json!([row["home_score"].to_string(), row["away_score"].to_string()]);
    assert_eq!(score, json!([status["home_score"], status["away_score"]]));
    // 7 is the second half.
    assert_eq!((&row["status"], &status["match_status"]), (&json!("2nd_half"), &json!("7")));
    // Unmapped markets appear under their ids; selections without a price are omitted.
    let odds = hub.get(&format!("/odds/api/events/{}/", row["id"])).await;
    let markets = array(&odds["markets"]);
    for recorded in array(&change["market_list"]).iter().filter(|it| it["outcomes"] == 2) {
        let id = format!("uof-{}", recorded["id"].as_str().expect("an id"));
        // Specifiers arrive in any order, and are shown in a fixed one.
        let specifiers = recorded["specifiers"].as_str().map(|specifiers| {
            let mut all: Vec<_> = specifiers.split('|').collect();
            all.sort_unstable();
            all.join("|")
        });
        let name = specifiers.map_or_else(|| id.clone(), |it| format!("{id} {it}"));
        let market = markets.iter().find(|market| market["market"] == name);
        let market = market.unwrap_or_else(|| panic!("{name} is not among {odds}"));
        assert_eq!(json!(array(&market["outcomes"]).len()), recorded["outcomes"], "{name}");
        let suspended = recorded["status"].as_str().is_some_and(|status| status != "1");
        for outcome in array(&market["outcomes"]) {
            assert_eq!(outcome["bookmakers"][0]["suspended"], suspended, "{name}");
        }
    }
    let fixture = sheet(FIXTURE);
    let [home, away] = array(&fixture["competitors"]) else { panic!("two sides in {fixture}") };
    let row = rows.iter().find(|row| row["home_team"] == home["name"]).expect("the fixture");
    assert_eq!(row["away_team"], away["name"]);
    assert_eq!(row["event_date"], fixture["fixture"]["scheduled"]);
}
