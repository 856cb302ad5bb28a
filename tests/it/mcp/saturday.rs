//! A Saturday: 2,000 matches, and every answer within its bound.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    client::McpClient,
    results::{Checker, bytes_max},
    stage::{Stage, line},
};

const MATCHES: u64 = 2_000;

/// As long as names of clubs are.
fn club(number: u64) -> String {
    const WORDS: [&str; 8] = [
        "Wolverhampton Wanderers",
        "Manchester United",
        "Brighton & Hove Albion",
        "Nottingham Forest",
        "Deportivo Alavés",
        "Borussia Mönchengladbach",
        "West Bromwich Albion",
        "Queens Park Rangers",
    ];
    format!("{} {number}", WORDS[usize::try_from(number % 8).expect("a few")])
}

/// 2,000 matches of football and as many of hockey, each with a score and prices.
async fn saturday() -> Stage {
    let stage = Stage::new(&[]);
    for sport in ["football", "hockey"] {
        let lines: Vec<String> =
            (0..MATCHES).flat_map(|number| facts(&stage, sport, number)).collect();
        for some in lines.chunks(4000) {
            stage.hub.push(&stage.feed_key, some).await;
        }
    }
    let all = "/api/v2/events/?limit=1";
    stage.hub.json_until(&stage.key, all, |page| page["count"] == MATCHES).await;
    let all = "/api/v2/teams/?limit=1";
    stage.hub.json_until(&stage.key, all, |page| page["count"] == 2 * MATCHES).await;
    let all = "/hockey/api/v2/matches/?limit=1";
    stage.hub.json_until(&stage.key, all, |page| page["count"] == MATCHES).await;
    stage
}

fn facts(stage: &Stage, sport: &str, number: u64) -> Vec<String> {
    let (home, away) = (club(2 * number), club(2 * number + 1));
    let league = number / 100;
    let fixture = json!({"fixture": {
        "competition": {"name": format!("Premier League of region {league}"), "key": format!("l{league}"), "season": "2026/27"},
        "start": stage.now - 30 * super::stage::MINUTE,
        // Keys are of the source, whatever the sport.
        "sides": [{"name": home, "key": format!("{sport}-{home}")}, {"name": away, "key": format!("{sport}-{away}")}],
    }});
    let name = format!("{sport}-{number}");
    let mut facts = vec![fixture];
    if sport == "football" {
        facts.push(json!({"football": {"status": "first_half"}}));
        facts.push(json!({"football": {"score": {"goals": [number % 4, 1]}}}));
    } else {
        facts.push(json!({"scoreboard": {"status": "live", "score": [number % 4, 1]}}));
    }
    facts.iter().map(|fact| line(sport, &name, fact)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_matches_stay_within_every_bound() {
    let stage = saturday().await;
    let client = stage.client();
    let checker = Checker::new(client.clone()).await;
    check_lists(&checker).await;
    let hockey = client.clone().at("/hockey/mcp");
    let hockey_checker = Checker::new(hockey.clone()).await;
    check_lists(&hockey_checker).await;

    let ids = check_cursors(&client, "search_matches", json!({"limit": 50})).await;
    assert_eq!(ids.len() as u64, MATCHES);
    let hockey_ids = check_cursors(&hockey, "list_matches", json!({"limit": 50})).await;
    assert_eq!(hockey_ids.len() as u64, MATCHES);
    let teams = check_cursors(&client, "search_teams", json!({"limit": 50})).await;
    assert_eq!(teams.len() as u64, 2 * MATCHES);
    let live = check_cursors(&client, "get_live_scores", json!({})).await;
    assert_eq!(live.len() as u64, MATCHES);
    assert_eq!(live, ids);
    // A Saturday of 60 matches is one result.
    let answer = client.answer("get_live_scores", json!({})).await;
    let lines = answer["data"]["events"].as_array().expect("rows").len();
    assert!(lines >= 60, "{lines} matches in {} bytes", answer.to_string().len());

    check_slate(&checker, "check_matches", &ids).await;
    check_slate(&hockey_checker, "hockey_check_matches", &hockey_ids).await;
    let listed = client.result("resources/list", json!({})).await;
    let listed = listed["resources"].as_array().expect("a list");
    assert!(listed.len() <= 100, "{} resources", listed.len());
    let board = client.result("resources/read", json!({"uri": "matchwire://football"})).await;
    let text = board["contents"][0]["text"].as_str().expect("a text");
    assert!(text.len() <= super::results::RESULT_BYTES_MAX, "{} bytes of the board", text.len());
    let board: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(board["truncated"][0]["total"], MATCHES, "the board says that it is cut");
    // Ten names in 4 KiB, and the one that was asked for is the first.
    let found = checker.call("find", &json!({"q": club(1234)})).await.expect("an answer");
    // A match of the team fits as well as the team.
    let best: Vec<&Value> = (0..2).map(|index| &found["data"]["results"][index]["name"]).collect();
    assert!(best.contains(&&json!(club(1234))), "{found}");
    assert!(found.to_string().len() <= 4 * 1024);
    let found = checker.call("find", &json!({"q": format!("{} v {}", club(600), club(601))})).await;
    let found = found.expect("an answer");
    assert_eq!(found["data"]["results"][0]["kind"], "match", "{found}");
}

/// Every tool that lists something, with the largest limit.
async fn check_lists(checker: &Checker) {
    let mut lists = 0;
    for tool in &checker.listed {
        let name = tool["name"].as_str().expect("a name");
        let properties = &tool["inputSchema"]["properties"];
        let is_none = name.ends_with("find") || name == "get_odds_history";
        if properties.get("limit").is_none() || is_none {
            continue;
        }
        for arguments in [json!({}), json!({"limit": 50}), json!({"limit": 500})] {
            match checker.call(name, &arguments).await {
                Ok(answer) => {
                    let bytes = answer.to_string().len();
                    assert!(bytes <= bytes_max(name, &answer), "{name} {arguments}: {bytes}");
                    lists += 1;
                }
                Err(refusal) => {
                    let code = refusal["code"].as_str().expect("a code");
                    assert!(["not_available", "bad_argument"].contains(&code), "{name}: {refusal}");
                }
            }
        }
    }
    assert!(lists > 10, "only {lists} lists");
}

/// The ids in a list, page by page: each row comes once, and every page says how many there are.
async fn check_cursors(client: &McpClient, tool: &str, arguments: Value) -> BTreeSet<u64> {
    let mut ids = BTreeSet::new();
    let mut asked = arguments.clone();
    for page in 0.. {
        assert!(page < 300, "{tool}: {} rows after {page} pages", ids.len());
        let answer = client.answer(tool, asked.clone()).await;
        assert!(answer.to_string().len() <= bytes_max(tool, &answer), "{tool} {asked}");
        let data = &answer["data"];
        let rows = [&data["results"], &data["events"], data].into_iter().find(|it| it.is_array());
        let rows = rows.unwrap_or_else(|| panic!("no list: {answer}")).as_array().expect("a list");
        for row in rows {
            let id = row["id"].as_u64().unwrap_or_else(|| panic!("no id: {row}"));
            assert!(ids.insert(id), "{tool} {asked}: {id} came twice");
        }
        let cuts: Vec<&Value> = answer["truncated"].as_array().into_iter().flatten().collect();
        let Some(cut) = cuts.iter().find(|cut| cut["at"].as_str().is_some_and(is_list)) else {
            break;
        };
        assert_eq!(cut["shown"], rows.len(), "{tool} {asked}: {cut}");
        assert!(!rows.is_empty(), "{tool} {asked}: no rows before {cut}");
        asked = arguments.clone();
        asked["cursor"] = cut["cursor"].clone();
    }
    ids
}

fn is_list(at: &str) -> bool {
    ["", "/results", "/events"].contains(&at)
}

/// A slate of matches is checked in one call.
async fn check_slate(checker: &Checker, tool: &str, ids: &BTreeSet<u64>) {
    for count in [25, 50] {
        let slate: Vec<u64> = ids.iter().copied().take(count).collect();
        let answer = checker.call(tool, &json!({"match_ids": slate})).await;
        let answer = answer.expect("an answer");
        assert!(
            answer.to_string().len() <= 8 * 1024,
            "{count}: {} bytes",
            answer.to_string().len()
        );
        let rows = answer["data"]["matches"].as_array().expect("rows");
        let found: Vec<u64> = rows.iter().filter_map(|row| row["match_id"].as_u64()).collect();
        assert_eq!(found, slate, "{count} in one call: {:?}", answer["truncated"]);
        for row in rows {
            assert!(row["status"].is_string() && row["feed"].is_string(), "{row}");
        }
    }
    let many: Vec<u64> = ids.iter().copied().take(51).collect();
    let refusal = checker.call(tool, &json!({"match_ids": many})).await;
    assert_eq!(refusal.expect_err("too many")["code"], "bad_argument");
}
