//! Tennis: rows, ranking, predictions, and meetings.

use serde_json::{Value, json};

use super::{DAY, HOUR, Stage, each, first_id};

const P: &str = "/tennis/api/v2";

fn score(sets: &[[u8; 2]], winner: Option<&str>) -> Value {
    let sets: Vec<_> = sets.iter().map(|games| json!({"games": games})).collect();
    let mut score = json!({"sets": sets, "points": 60, "server": "p1"});
    if let Some(winner) = winner {
        score["winner"] = json!(winner);
    }
    json!({"tennis": {"score": score}})
}

async fn tour() -> Stage {
    let mut stage = Stage::of_sport("tennis");
    let status = |status: &str| json!({"tennis": {"status": status}});
    stage.fixture("tennis", "past", ["A. One", "B. Two"], -20 * DAY);
    stage.add_fact("tennis", "past", status("finished"));
    stage.add_fact("tennis", "past", score(&[[6, 3], [6, 4]], Some("p1")));
    stage.fixture("tennis", "now", ["A. One", "C. Three"], -HOUR);
    stage.add_fact("tennis", "now", status("live"));
    stage.add_fact("tennis", "now", score(&[[6, 3], [2, 1]], None));
    stage.fixture("tennis", "next", ["B. Two", "A. One"], 2 * DAY);
    stage.add_fact("tennis", "next", status("not_started"));
    stage.fixture("tennis", "far", ["B. Two", "C. Three"], 20 * DAY);
    stage.add_fact("tennis", "far", status("not_started"));
    stage.prices("tennis", "next", "acme", &[("p1", "4.00"), ("p2", "1.3333")]);
    stage.push().await;
    stage.until(&format!("{P}/matches/?date_from=2020-01-01"), |page| page["count"] == 4).await;
    stage.until(&format!("{P}/matches/?status=finished"), |page| page["count"] == 1).await;
    // Ratings are recomputed a few seconds later.
    stage.until(&format!("{P}/rankings/"), |page| page["count"] == 2).await;
    stage
}

#[tokio::test]
async fn tour_is_shown_by_match_and_by_player() {
    let stage = tour().await;
    check_matches(&stage).await;
    check_players(&stage).await;
}

/// The next seven days are the default.
async fn check_matches(stage: &Stage) {
    let page = stage.get(&format!("{P}/matches/?player_id=7&tz=UTC")).await;
    let names = each(&page, "/player1/name");
    // The match in play began an hour ago, possibly yesterday.
    assert!(names.ends_with(&[json!("B. Two")]) && !names.is_empty(), "{page}");
    let next = page["results"].as_array().and_then(|rows| rows.last()).expect("the next match");
    assert_eq!((&next["status"], &next["odds_player1"]), (&json!("scheduled"), &json!(4.0)));
    assert_eq!(
        (&next["tournament"]["circuit"], &next["player1"]["gender"]),
        (&json!("ATP"), &json!("M"))
    );
    let over = stage.get(&format!("{P}/matches/?status=finished")).await;
    assert_eq!(each(&over, "/sets_detail"), [json!([{"p1": 6, "p2": 3}, {"p1": 6, "p2": 4}])]);
    assert_eq!(over["results"][0]["winner_id"], over["results"][0]["player1"]["id"]);
    assert_eq!(over["results"][0]["point_by_point_available"], false);
    let live = stage.get(&format!("{P}/matches/live/")).await;
    let live = live[0].clone();
    assert_eq!((&live["status"], &live["current_set"]), (&json!("live"), &json!(2)));
    assert_eq!((&live["current_game_p1"], &live["current_point"]), (&json!(2), &json!("0-0")));
    assert_eq!((&live["is_serving_p1"], &live["p1_aces"]), (&json!(true), &Value::Null));
    for (word, count) in
        [("inplay", 1), ("started", 1), ("live", 1), ("upcoming", 2), ("scheduled", 2)]
    {
        let page = stage.get(&format!("{P}/matches/?date_from=2020-01-01&status={word}")).await;
        assert_eq!(page["count"], count, "{word}");
    }
    let default = stage.get(&format!("{P}/matches/")).await;
    let unknown = stage.get(&format!("{P}/matches/?status=sometime")).await;
    assert_eq!(unknown["results"], default["results"], "an unknown word filters nothing");
    let id = first_id(&over);
    let points = stage.get(&format!("{P}/matches/{id}/point-by-point/")).await;
    assert_eq!(points, json!({"match_id": id, "available": false, "sets": []}));
}

#[tokio::test]
async fn match_in_play_since_yesterday_is_found_by_its_status() {
    let mut stage = Stage::new();
    stage.fixture("tennis", "night", ["A. One", "B. Two"], -25 * HOUR);
    stage.add_fact("tennis", "night", json!({"tennis": {"status": "live"}}));
    stage.push().await;
    stage.until(&format!("{P}/matches/live/"), |live| live[0]["status"] == "live").await;
    for status in ["live", "interrupted,live,finished"] {
        let page = stage.get(&format!("{P}/matches/?status={status}")).await;
        assert_eq!(page["count"], 1, "{status}: {page}");
    }
    let next_days = stage.get(&format!("{P}/matches/?status=live,scheduled")).await;
    assert_eq!(
        next_days["count"], 0,
        "scheduled matches are those of the next seven days: {next_days}"
    );
}

/// Players are ranked by results, and predicted by results and prices.
async fn check_players(stage: &Stage) {
    let rankings = stage.get(&format!("{P}/rankings/?limit=900")).await;
    assert_eq!(each(&rankings, "/player/name"), ["A. One", "B. Two"]);
    assert_eq!(each(&rankings, "/points"), [1516, 1484]);
    assert_eq!(each(&rankings, "/previous_position"), [1, 2], "they met twenty days ago");
    let first = first_id(&rankings);
    let row = stage.get(&format!("{P}/rankings/{first}/")).await;
    assert_eq!((&row["position"], &row["type"]), (&json!(1), &json!("ATP")));
    let one = row["player"]["id"].as_u64().expect("an id");
    assert_eq!(stage.get(&format!("{P}/rankings/{one}/")).await, row, "by the player's id");
    let atp = stage.get(&format!("{P}/rankings/?type=atp&limit=500")).await;
    assert_eq!(each(&atp, "/player/name"), ["A. One", "B. Two"]);
    assert_eq!(stage.get(&format!("{P}/rankings/?type=WTA")).await["count"], 0);
    assert_eq!(stage.get(&format!("{P}/rankings/?date=2020-01-01")).await["count"], 0);
    let players = stage.get(&format!("{P}/players/?search=one&gender=m")).await;
    assert_eq!(each(&players, "/current_ranking/position"), [1], "{players}");
    assert_eq!(each(&players, "/current_ranking/type"), ["ATP"], "{players}");
    assert_eq!(each(&players, "/country_name"), [""], "no feed reports it");
    assert_eq!(stage.get(&format!("{P}/players/?gender=F")).await["count"], 0);
    let tournament = stage.get(&format!("{P}/tournaments/?circuit=atp")).await;
    assert_eq!(each(&tournament, "/active"), [true], "{tournament}");
    assert_eq!(stage.get(&format!("{P}/tournaments/?circuit=wta")).await["count"], 0);
    let page = stage.get(&format!("{P}/predictions/?upcoming=true")).await;
    let [priced, rated] = &page["results"].as_array().expect("rows")[..] else {
        panic!("two are to come: {page}");
    };
    assert_eq!(
        (&priced["model"], &priced["prob_player1_wins"]),
        (&json!("consensus"), &json!(25.0))
    );
    assert_eq!((&priced["predicted_winner"], &priced["confidence"]), (&json!(2), &json!(75.0)));
    // 1484 against 1500.
    assert_eq!((&rated["model"], &rated["prob_player1_wins"]), (&json!("elo"), &json!(47.7)));
    assert_eq!(rated["expected_total_sets"], Value::Null);
    let old = stage.get("/tennis/api/predictions/?upcoming=true&limit=1").await;
    let first = &old["results"][0];
    assert_eq!((&first["player1_obj"], &first["id"]), (&priced["match"]["player1"], &priced["id"]));
    let next = priced["match_id"].as_u64().expect("an id");
    let h2h = stage.get(&format!("{P}/matches/{next}/h2h/")).await;
    assert_eq!(
        h2h["h2h"],
        json!({"total_matches": 1, "player1_wins": 0, "player2_wins": 1, "by_surface": {}})
    );
    // SERVICE section 8, row 13: the fields that a client of box scores reads from each row.
    let row = &h2h["player2_last5"][0];
    assert_eq!((&row["won"], &row["sets_won"]), (&json!(true), &json!(2)));
    assert_eq!(row["score"], json!([{"p1": 6, "p2": 3}, {"p1": 6, "p2": 4}]));
    assert_eq!(
        (&row["opponent"]["name"], &row["tournament"]["circuit"]),
        (&json!("B. Two"), &json!("ATP"))
    );
    for name in ["id", "date", "surface", "round"] {
        assert!(row.as_object().expect("a row").contains_key(name), "{name} of {row}");
    }
    let box_score = stage.get(&format!("{P}/matches/{}/", row["id"])).await;
    assert_eq!((&box_score["p1_games_won"], &box_score["p2_games_won"]), (&json!(12), &json!(7)));
    for name in ["service_games", "service_games_won", "break_points_converted_pct"] {
        for player in ["p1", "p2"] {
            let value = box_score.get(format!("{player}_{name}"));
            assert_eq!(value, Some(&Value::Null), "its points were not reported: {player}_{name}");
        }
    }
    let far = stage
        .get(&format!("{P}/matches/?date_from=2020-01-01&player={}", row["opponent"]["id"]))
        .await;
    let far = far["results"].as_array().and_then(|rows| rows.last()).expect("a match to come");
    let unmet = stage.get(&format!("{P}/matches/{}/h2h/", far["id"])).await;
    assert_eq!(unmet["h2h"], Value::Null, "they never met");
    let best = stage.get(&format!("{P}/odds/best/?limit=10")).await;
    assert_eq!(each(&best, "/match_id"), [next], "one match has prices");
    assert_eq!(each(&best, "/odds_player1"), [json!(4.0)]);
    assert_eq!(each(&best, "/bookmaker_slug_player2"), ["acme"]);
    assert_eq!(stage.get(&format!("{P}/odds/best/?tournament=7")).await["count"], 0);
    let odds = stage.get(&format!("{P}/matches/{next}/odds/")).await;
    assert_eq!(
        (&odds["source"], &odds["bookmakers"][0]["odds_player2"]),
        (&json!("multi"), &json!(1.3333))
    );
    let text = stage.ask(&format!("{P}/matches/{next}/odds/")).await.body;
    assert!(text.contains("\"odds_player1\":4.00,"), "digits stay as they were reported: {text}");
}
