//! CS2, darts, hockey and basketball: a league with a result, a match in play, and an upcoming one.

use serde_json::{Value, json};

use super::{DAY, HOUR, Stage, each, first_id};

/// One match in each state, and prices of the upcoming one.
async fn league(sport: &str, outcomes: [&str; 2]) -> Stage {
    let mut stage = Stage::of_sport(sport);
    stage.fixture(sport, "past", ["Red", "Blue"], -2 * DAY);
    stage.fixture(sport, "now", ["Red", "Green"], -HOUR);
    stage.fixture(sport, "next", ["Blue", "Red"], 2 * DAY);
    let finished = json!({
        "status": "finished", "score": [3, 1], "periods": [[1, 0], [1, 1], [1, 0]],
        "winner": "home",
    });
    stage.add_fact(sport, "past", json!({"scoreboard": finished}));
    let live = json!({
        "status": "live", "score": [2, 1], "periods": [[2, 0], [0, 1]], "period": "p2",
        "clock": {"second": 301, "running": false},
    });
    stage.add_fact(sport, "now", json!({"scoreboard": live}));
    stage.add_fact(sport, "next", json!({"scoreboard": {"status": "not_started"}}));
    let [home, away] = outcomes;
    stage.prices(sport, "next", "acme", &[(home, "3.00"), (away, "1.50")]);
    stage.prices(sport, "next", "big-book", &[(home, "3.00"), (away, "1.50")]);
    stage.push().await;
    stage
}

/// Common checks; returns the ids of the past match, the one in play and the next.
async fn check_matches(stage: &Stage, sport: &str, list: &str, words: [&str; 3]) -> [u64; 3] {
    let list = format!("/{sport}/api/v2/{list}/");
    stage.until(&list, |page| page["count"] == 3).await;
    let mut ids = [0; 3];
    for (id, word) in ids.iter_mut().zip(words) {
        let path = format!("{list}?status={word}");
        let page = stage.until(&path, |page| page["count"] == 1).await;
        assert_eq!(each(&page, "/status"), [word]);
        *id = first_id(&page);
    }
    let [past, live, next] = ids;
    // Ratings are recomputed a few seconds later.
    let prediction = format!("/{sport}/api/v2/predictions/{live}/");
    stage.until(&prediction, |prediction| prediction["model"] == "elo").await;
    // Clients send parameters of other sports, and unknown ones.
    for (word, expected) in [
        ("upcoming", vec![next]),
        ("scheduled", vec![next]),
        ("notstarted", vec![next]),
        ("live", vec![live]),
        ("inplay", vec![live]),
        ("started", vec![live]),
        ("inprogress", vec![live]),
        ("sometime", vec![next, live, past]),
        ("sometime,finished", vec![past]),
    ] {
        let page = stage.get(&format!("{list}?status={word}")).await;
        assert_eq!(each(&page, "/id"), expected, "{sport}: {word}");
    }
    let page = stage.get(&format!("{list}live/")).await;
    assert_eq!(each(&page, "/id"), [live]);
    // The newest first, unless a start is given.
    assert_eq!(each(&stage.get(&list).await, "/id"), [next, live, past]);
    let from = stage.get(&format!("{list}?date_from=2020-01-01&limit=2")).await;
    assert_eq!(each(&from, "/id"), [past, live]);
    let address = from["next"].as_str().expect("a second page");
    assert!(address.ends_with("date_from=2020-01-01&limit=2&offset=2"), "{address}");
    let rest = stage.get(address.split_once(&stage.hub.address).expect("ours").1).await;
    assert_eq!(each(&rest, "/id"), [next]);
    ids
}

/// The prices of both bookmakers, as exact numbers.
fn check_odds(odds: &Value, id: u64, selections: [&str; 2]) {
    let found = odds.get("match_id").or_else(|| odds.get("event_id"));
    assert_eq!(found, Some(&json!(id)), "{odds}");
    assert_eq!((&odds["bookmakers_count"], &odds["source"]), (&json!(2), &json!("multi")));
    assert_eq!(odds["bookmakers"][1]["bookmaker_slug"], "big-book");
    assert_eq!(odds["bookmakers"][1]["bookmaker"], "Big Book");
    assert_eq!(odds["bookmakers"][0]["odds_home"], json!(3.0));
    assert_eq!(odds["bookmakers"][0]["odds_draw"], Value::Null);
    assert_eq!(odds["bookmakers"][0]["odds_away"], json!(1.5));
    assert_eq!(odds["bookmakers"][0]["movement_home"], "STABLE");
    let market = &odds["markets"][0];
    assert_eq!(
        (&market["market_kind"], &market["market_period"]),
        (&json!("WINNER"), &json!("FT"))
    );
    assert_eq!(market["selections"], json!(selections));
    let price = &market["bookmakers"][0]["prices"][selections[1]];
    assert_eq!(price["price"], json!(1.5), "{market}");
}

#[tokio::test]
async fn hockey() {
    let stage = league("hockey", ["home", "away"]).await;
    let words = ["finished", "live", "scheduled"];
    let [past, live, next] = check_matches(&stage, "hockey", "matches", words).await;
    let detail = stage.get(&format!("/hockey/api/v2/matches/{live}/")).await;
    assert_eq!((&detail["home_score"], &detail["away_score"]), (&json!(2), &json!(1)));
    assert_eq!(detail["periods_score"], "2-0, 0-1");
    assert_eq!((&detail["current_period"], &detail["current_minute"]), (&json!("p2"), &json!(5)));
    assert_eq!((&detail["is_overtime"], &detail["winner_id"]), (&json!(false), &Value::Null));
    let won = stage.get(&format!("/hockey/api/v2/matches/{past}/")).await;
    let red = &won["home_team"]["id"];
    assert_eq!((&won["winner_id"], &won["home_team"]["elo_rating"]), (red, &json!(1516)));
    let path = format!("/hockey/api/v2/matches/{next}/odds/");
    let odds = stage.until(&path, |odds| !odds["bookmakers"][0]["movement_home"].is_null()).await;
    check_odds(&odds, next, ["HOME", "AWAY"]);
    // Red has won, and is away in the next one.
    let h2h = stage.get(&format!("/hockey/api/v2/matches/{next}/h2h/")).await;
    let meetings = &h2h["head_to_head"];
    assert_eq!((&meetings["total_matches"], &meetings["away_wins"]), (&json!(1), &json!(1)));
    assert_eq!(meetings["recent_matches"][0]["winner"], "away");
    assert_eq!(
        (&h2h["away_form"]["form_string"], &h2h["away_form"]["points"]),
        (&json!("W"), &json!(2))
    );
    let league = first_id(&stage.get("/hockey/api/v2/leagues/").await);
    let standings = stage.get(&format!("/hockey/api/v2/standings/?league={league}")).await;
    let first = &standings["standings"][0];
    assert_eq!((&first["team"]["id"], &first["points"]), (red, &json!(3)), "{standings}");
    assert_eq!((&first["goals_scored"], &first["goals_conceded"]), (&json!(3), &json!(1)));
    assert_eq!(standings["standings"][1]["losses"], 1);
    let teams = stage.get("/hockey/api/v2/teams/").await;
    assert_eq!(each(&teams, "/name"), ["Red", "Blue", "Green"], "the strongest first");
    assert_eq!(each(&teams, "/elo_rating"), [json!(1516), json!(1484), Value::Null]);
    // Without the margin: 1/3 and 1/1.5 are 1 together.
    let page = stage.get("/hockey/api/v2/predictions/").await;
    assert_eq!(each(&page, "/match_id"), [next]);
    let prediction = &page["results"][0];
    assert_eq!(prediction["home_win_prob"], 0.3333, "{prediction}");
    assert_eq!(
        (&prediction["predicted_winner_id"], &prediction["model"]),
        (red, &json!("consensus"))
    );
    let live = stage.get(&format!("/hockey/api/v2/predictions/{live}/")).await;
    assert_eq!((&live["model"], &live["home_win_prob"]), (&json!("elo"), &json!(0.523)));
    let past = stage.get(&format!("/hockey/api/v2/predictions/?match=1,{past}")).await;
    let past = &past["results"][0];
    assert_eq!((&past["home_win_prob"], &past["actual_winner_id"]), (&Value::Null, red));
}

#[tokio::test]
async fn basketball() {
    let stage = league("basketball", ["home", "away"]).await;
    let words = ["finished", "live", "scheduled"];
    let [past, live, next] = check_matches(&stage, "basketball", "events", words).await;
    let get = async |path: String| stage.get(&format!("/basketball/api/v2/{path}")).await;
    let event = get(format!("events/{live}/")).await;
    assert_eq!((&event["home_score"], &event["current_period"]), (&json!(2), &json!("p2")));
    let stats = get(format!("events/{past}/team-stats/")).await;
    assert_eq!(stats["home"], json!({"points": 3, "points_by_period": [1, 1, 1]}));
    assert_eq!(get(format!("events/{past}/box-score/")).await, json!({"home": [], "away": []}));
    let path = format!("/basketball/api/v2/events/{next}/odds/");
    let odds = stage.until(&path, |odds| !odds["bookmakers"][0]["movement_home"].is_null()).await;
    check_odds(&odds, next, ["HOME", "AWAY"]);
    let pregame = get(format!("events/{next}/pregame/")).await;
    assert_eq!(
        (&pregame["event_id"], &pregame["home_form"]["form_string"]),
        (&json!(next), &json!("L"))
    );
    let league = first_id(&get("leagues/".to_owned()).await);
    let standings = get(format!("standings/?league={league}")).await;
    let shares = standings["standings"].as_array().expect("rows");
    let shares: Vec<_> = shares.iter().map(|row| &row["win_pct"]).collect();
    assert_eq!(shares, [&json!(1.0), &json!(0.0)], "{standings}");
    assert_eq!(get(format!("standings/{league}/")).await, standings);
    let team = first_id(&get("teams/?search=RED".to_owned()).await);
    let team = get(format!("teams/{team}/")).await;
    assert_eq!((&team["elo"], &team["games_played"]), (&json!(1516), &json!(1)));
    let predictions = get("predictions/?days=1".to_owned()).await;
    assert_eq!(predictions["count"], 0, "the match is in two days");
    let predictions = get(format!("predictions/?league={league}&days=3")).await;
    assert_eq!(each(&predictions, "/event_id"), [next]);
    let sum = ["home_win_prob", "away_win_prob"].map(|it| predictions["results"][0][it].as_f64());
    assert!((sum.iter().flatten().sum::<f64>() - 1.0).abs() < 0.001, "{predictions}");
}

#[tokio::test]
async fn darts() {
    let stage = league("darts", ["p1", "p2"]).await;
    let words = ["finished", "live", "scheduled"];
    let [past, live, next] = check_matches(&stage, "darts", "matches", words).await;
    let get = async |path: String| stage.get(&format!("/darts/api/v2/{path}")).await;
    let detail = get(format!("matches/{live}/")).await;
    assert_eq!((&detail["player1_sets"], &detail["player1_legs"]), (&json!(2), &json!(2)));
    assert_eq!(
        (&detail["current_set"], &detail["sets_detail"][1]),
        (&json!(2), &json!({"p1": 0, "p2": 1}))
    );
    assert_eq!(detail["stats"]["player2"]["180s"], Value::Null);
    let path = format!("/darts/api/v2/matches/{next}/odds/");
    let odds = stage.until(&path, |odds| !odds["bookmakers"][0]["movement_home"].is_null()).await;
    check_odds(&odds, next, ["P1", "P2"]);
    // SERVICE section 8, row 16: also under the names of tennis.
    assert_eq!((&odds["player1_name"], &odds["player2_name"]), (&json!("Blue"), &json!("Red")));
    let first = &odds["bookmakers"][0];
    assert_eq!((&first["odds_player1"], &first["odds_player2"]), (&json!(3.0), &json!(1.5)));
    assert_eq!(first["movement_player1"], first["movement_home"]);
    let h2h = get(format!("matches/{next}/h2h/")).await;
    assert_eq!((&h2h["total_matches"], &h2h["player2_wins"]), (&json!(1), &json!(1)));
    assert_eq!(h2h["recent_matches"][0]["winner"], "player2");
    let rankings = get("rankings/".to_owned()).await;
    assert_eq!(each(&rankings, "/player/name"), ["Red", "Blue"]);
    assert_eq!(each(&rankings, "/points"), [1516, 1484]);
    // SERVICE section 8, row 12. No tournament here is marked as part of the tour.
    for (requested, expected) in [("PDC", "PDC"), ("pdc", "PDC"), ("ProTour", "ProTour")] {
        let rows = get(format!("rankings/?type={requested}")).await;
        assert_eq!(each(&rows, "/player/name"), ["Red", "Blue"], "{requested}");
        assert_eq!(each(&rows, "/type"), [expected, expected]);
    }
    assert_eq!(get("rankings/?type=nonsense".to_owned()).await["count"], 0);
    let red = rankings["results"][0]["player"]["id"].as_u64().expect("an id");
    let of_red = get(format!("matches/?player={red}&status=finished")).await;
    assert_eq!(each(&of_red, "/id"), [past]);
    let prediction = get(format!("predictions/{next}/")).await;
    assert_eq!(
        (&prediction["prob_player1_wins"], &prediction["predicted_winner"]),
        (&json!(33.33), &json!(2))
    );
}

#[tokio::test]
async fn csgo() {
    let stage = league("csgo", ["home", "away"]).await;
    let words = ["finished", "inprogress", "notstarted"];
    let [past, live, next] = check_matches(&stage, "csgo", "matches", words).await;
    let get = async |path: String| stage.get(&format!("/csgo/api/v2/{path}")).await;
    let detail = get(format!("matches/{live}/")).await;
    let map = json!({"map": "map 2", "map_name": null, "home_rounds": 0, "away_rounds": 1});
    assert_eq!((&detail["home_score"], &detail["maps"][1]), (&json!(2), &map));
    let row = &get("matches/?status=live".to_owned()).await["results"][0];
    assert_eq!((row.get("maps"), &row["tournament"]["name"]), (None, &json!("ATP League")));
    let path = format!("/csgo/api/v2/matches/{next}/odds/");
    let odds = stage.until(&path, |odds| !odds["bookmakers"][0]["movement_home"].is_null()).await;
    check_odds(&odds, next, ["HOME", "AWAY"]);
    let stats = get(format!("matches/{next}/stats/")).await;
    // Blue is at home, and lost 1-3 in maps and 1-3 in rounds.
    assert_eq!(
        (&stats["teams"][0]["map_winrate"], &stats["teams"][1]["map_winrate"]),
        (&json!(0.25), &json!(0.75))
    );
    assert_eq!(
        (&stats["teams"][1]["form_results"], &stats["head_to_head"]["away_wins"]),
        (&json!(["W"]), &json!(1))
    );
    assert_eq!(get(format!("matches/{past}/player-stats/")).await["player_stats"], json!([]));
    let of_blue = get("matches/?team=blu&date_from=2020-01-01".to_owned()).await;
    assert_eq!(each(&of_blue, "/id"), [past, next]);
    let teams = get("teams/".to_owned()).await;
    assert_eq!(each(&teams, "/elo_rating"), [json!(1484), Value::Null, json!(1516)], "by name");
    assert_eq!(each(&get("predictions/".to_owned()).await, "/match_id"), [next]);
}
