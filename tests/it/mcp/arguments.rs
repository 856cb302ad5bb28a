//! Arguments as agents write them: other names, names in place of ids, mistakes.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::stage::Stage;

#[tokio::test]
async fn arguments_are_accepted_under_other_names_and_refused_with_help() {
    let stage = Stage::new(&[]);
    let id = stage.football("m1", ["Manchester United", "Arsenal"]).await;
    stage.football("m2", ["Manchester City", "Chelsea"]).await;
    let client = stage.client();
    let detail = client.answer("get_match_detail", json!({"match_id": id})).await;
    let team = detail["data"]["home_team_id"].clone();
    let league = detail["data"]["league_id"].clone();
    let same = async |tool: &str, one: Value, other: Value| {
        let (a, b) = (client.answer(tool, one).await, client.answer(tool, other.clone()).await);
        assert_eq!((&a["data"], &a["url"]), (&b["data"], &b["url"]), "{tool} {other}");
    };
    for alias in [
        json!({"event_id": id}),
        json!({"event": id}),
        json!({"id": id}),
        json!({"match": id}),
        json!({"event_id": id.to_string()}),
        json!({"match_id": id, "event_id": id, "include": null}),
    ] {
        same("get_match_detail", json!({"match_id": id}), alias.clone()).await;
        same("get_match_incidents", json!({"match_id": id}), alias).await;
    }
    same("get_standings", json!({"league_id": league}), json!({"league": league})).await;
    same("get_standings", json!({"league_id": league}), json!({"league": "Premier League"})).await;
    same("get_standings", json!({"league_id": league}), json!({"id": "premier league"})).await;
    same("get_team_detail", json!({"team_id": team}), json!({"team": "manchester united"})).await;
    same("get_team_squad", json!({"team_id": team}), json!({"team_id": "Man United"})).await;
    same("search_matches", json!({"league_id": league}), json!({"league": "Premier League"})).await;
    same(
        "search_matches",
        json!({"team": "Manchester United"}),
        json!({"query": "Manchester United"}),
    )
    .await;
    same("check_matches", json!({"match_ids": [id]}), json!({"event_ids": id})).await;

    // A name of a team is never ignored.
    let names = async |arguments: Value| {
        let answer = client.answer("search_matches", arguments).await;
        let rows = answer["data"]["results"].as_array().expect("rows").clone();
        rows.iter()
            .map(|row| row["home_team"].as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(json!({"team": "Arsenal"})).await, ["Manchester United"]);
    assert_eq!(names(json!({"team": team})).await, ["Manchester United"]);
    assert_eq!(names(json!({"team_id": "Chelsea"})).await, ["Manchester City"]);
    assert_eq!(names(json!({"team": "manchester"})).await.len(), 2);
    let pair = "Arsenal v Manchester United";
    assert_eq!(names(json!({"team": pair, "league_id": league})).await.len(), 1);
    assert_eq!(names(json!({"team": pair, "date": "in 300 days"})).await.len(), 0);
    let refused = client.refusal("search_matches", json!({"team": "Nobody FC"})).await;
    assert_eq!(refused["code"], "not_found", "{refused}");

    let refused =
        client.refusal("get_match_detail", json!({"match_id": id, "incldue": ["odds"]})).await;
    assert_eq!(
        (&refused["code"], &refused["suggestion"]),
        (&json!("unknown_argument"), &json!("include"))
    );
    assert!(
        refused["accepted"].as_array().is_some_and(|it| it.contains(&json!("match_id"))),
        "{refused}"
    );
    let refused = client.refusal("get_match_detail", json!({})).await;
    assert_eq!(refused["code"], "bad_argument", "{refused}");
    let refused =
        client.refusal("get_match_detail", json!({"match_id": id, "event_id": id + 1})).await;
    assert!(refused["message"].as_str().is_some_and(|it| it.contains("twice")), "{refused}");

    let refused = client.refusal("get_team_detail", json!({"team": "Manchester"})).await;
    assert_eq!(refused["code"], "ambiguous_name", "{refused}");
    let nearest: Vec<&str> = refused["nearest"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(nearest.len(), 2, "{refused}");
    assert!(
        nearest.contains(&"Manchester City") && nearest.contains(&"Manchester United"),
        "{refused}"
    );
    let refused = client.refusal("get_team_detail", json!({"team": "Chelsee Town"})).await;
    assert_eq!(refused["code"], "not_found", "{refused}");
    let nearest = refused["nearest"].as_array().unwrap_or_else(|| panic!("no nearest: {refused}"));
    assert!(nearest.iter().any(|it| it["name"] == "Chelsea"), "{refused}");
    for tool in ["get_match_detail", "get_match_lineups", "compare_odds", "wait_for_change"] {
        let refused = client.refusal(tool, json!({"match_id": id + 1})).await;
        assert_eq!(refused["code"], "not_found", "{tool}: {refused}");
        let nearest = refused["nearest"].as_array().expect("a list");
        assert!(nearest.iter().any(|it| it["id"] == id), "{tool}: {refused}");
    }
    let checked = client.answer("check_matches", json!({"match_ids": [id, id + 1]})).await;
    assert_eq!(checked["data"]["matches"][1], json!({"match_id": id + 1, "error": "not_found"}));

    for (tool, arguments) in [
        ("get_match_detail", json!({"match_id": -1})),
        ("get_match_detail", json!({"match_id": 1.5})),
        ("get_match_detail", json!({"match_id": [id]})),
        ("get_match_detail", json!({"match_id": id, "include": ["everything"]})),
        ("search_matches", json!({"date": "someday"})),
        ("search_matches", json!({"date": "today", "timezone": "Mars/Base"})),
        ("search_matches", json!({"last": 3, "next": 3})),
        ("search_matches", json!({"date_from": "2026-08-30", "date_to": "2026-08-01"})),
        ("get_match_h2h", json!({"home": "Arsenal"})),
        ("get_leaders", json!({"league_id": league, "stat": "hats"})),
        ("get_odds_history", json!({"match_id": id, "market": "nonsense"})),
        ("get_odds_history", json!({"match_id": id, "selection": "nobody"})),
        ("compare_odds", json!({"match_id": id, "market": "nonsense"})),
        ("compare_odds", json!({"match_id": id, "bookmaker": "nobody"})),
        ("compare_odds", json!({"match_id": id, "bookmaker": "Consensus"})),
        ("search_matches", json!({"limit": 0})),
        ("search_matches", json!({"limit": "many"})),
        ("search_matches", json!({"cursor": "nonsense"})),
        ("search_matches", json!({"status": "unheard of"})),
        ("check_matches", json!({"match_ids": []})),
        ("find", json!({"q": "  "})),
        ("find", json!({"q": "x".repeat(201)})),
        ("find", json!({"q": "Arsenal", "kind": "planet"})),
        ("compare_odds", json!({"match_id": id, "cursor": {}})),
        ("get_odds_history", json!({"match_id": id, "from": "someday"})),
        ("wait_for_change", json!({"match_id": id, "timeout_s": -1})),
    ] {
        let refused = client.refusal(tool, arguments.clone()).await;
        assert_eq!(refused["code"], "bad_argument", "{tool} {arguments}: {refused}");
        let closed = ["market", "selection", "bookmaker", "stat"];
        if closed.iter().any(|name| arguments.get(name).is_some()) {
            let accepted = refused["accepted"].as_array().expect("a list");
            assert!(accepted.iter().all(Value::is_string), "{tool} {arguments}: {refused}");
        }
    }
    let refused = client.refusal("search_matches", json!({"date": "someday"})).await;
    let today = Timestamp::now().strftime("%Y-%m-%d").to_string();
    assert!(refused["today"].as_str().is_some_and(|it| it.contains(&today)), "{refused}");
}

/// A larger limit is reduced, and the answer says how many there are.
#[tokio::test]
async fn large_limits_are_reduced_to_50() {
    let stage = Stage::new(&[]);
    let lines: Vec<String> = (0..60)
        .map(|number| {
            let sides = [format!("H{number}"), format!("A{number}")];
            let fixture = stage.fixture([&sides[0], &sides[1]], 60);
            super::stage::line("football", &format!("m{number}"), &fixture)
        })
        .collect();
    stage.hub.push(&stage.feed_key, &lines).await;
    stage.hub.json_until(&stage.key, "/api/v2/events/", |page| page["count"] == 60).await;
    let client = stage.client();
    let answer = client.answer("search_matches", json!({"limit": 1000})).await;
    assert!(answer["url"].as_str().is_some_and(|it| it.contains("limit=50")), "{answer}");
    let shown = answer["data"]["results"].as_array().expect("rows").len();
    assert!(shown <= 50, "{shown} rows");
    assert_eq!(answer["truncated"][0]["total"], 60, "{answer}");
    let answer = client.answer("search_matches", json!({})).await;
    assert_eq!(answer["data"]["results"].as_array().map(Vec::len), Some(20), "20 by default");
    let answer = client.answer("search_matches", json!({"cursor": "55"})).await;
    assert_eq!(answer["data"]["results"].as_array().map(Vec::len), Some(5), "a number is a cursor");
    assert_eq!(answer["truncated"], Value::Null, "{answer}");
}
