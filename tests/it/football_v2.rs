//! Football, version 2, with the running demo and an existing client's expectations.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{Answer, Client, Hub, PATIENCE, pause};

/// The demo, once its first matches are shown and archived.
async fn demo() -> (Arc<Hub>, String) {
    let hub = Hub::demo();
    let key = hub.key(&["websocket"]);
    for list in ["/api/v2/events/live/", "/api/v2/teams/", "/api/v2/players/"] {
        hub.json_until(&key, list, |page| page["count"] != 0).await;
    }
    (hub, key)
}

async fn ask(hub: &Hub, key: &str, method: &str, path: &str, more: &[(&str, &str)]) -> Answer {
    let token = format!("Token {key}");
    let headers = [&[("authorization", token.as_str())], more].concat();
    hub.request(method, path, &headers).await
}

async fn first_id(hub: &Hub, key: &str, list: &str) -> Option<u64> {
    hub.get_as(key, list).await.json()["results"][0]["id"].as_u64()
}

#[tokio::test]
async fn every_path_of_the_demo_answers() {
    let (hub, key) = demo().await;
    let live = hub.get_as(&key, "/api/v2/events/live/").await.json();
    let event = live["events"][0]["id"].as_u64().expect("a match in play");
    assert_eq!(live["events"][0]["live_websocket"], true);
    for part in ["", "h2h/", "incidents/", "lineups/", "metadata/", "player-stats/", "stats/"] {
        let answer = hub.get_as(&key, &format!("/api/v2/events/{event}/{part}")).await;
        assert_eq!(answer.status, 200, "{part}: {}", answer.body);
        let answer = hub.get_as(&key, &format!("/api/v2/events/1/{part}")).await;
        let nothing = json!({"error": true, "status": 404, "detail": "Not found"});
        assert_eq!((answer.status, answer.json()), (404, nothing), "{part}");
    }
    for (list, parts) in [
        ("leagues", vec!["", "seasons/", "standings/", "top/scorers/", "venues/"]),
        ("teams", vec!["", "fixtures/", "squad/"]),
        ("players", vec!["", "career/", "national-team/", "stats/"]),
        ("managers", vec!["", "career/", "matches/"]),
        ("referees", vec!["", "matches/"]),
        ("venues", vec!["", "competitions/"]),
    ] {
        let list = format!("/api/v2/{list}/");
        assert_eq!(hub.get_as(&key, &list).await.status, 200, "{list}");
        let listed_id = first_id(&hub, &key, &list).await;
        for part in parts {
            if let Some(id) = listed_id {
                let answer = hub.get_as(&key, &format!("{list}{id}/{part}")).await;
                assert_eq!(answer.status, 200, "{list}{part}: {}", answer.body);
            }
            let answer = hub.get_as(&key, &format!("{list}1/{part}")).await;
            assert_eq!(answer.status, 404, "{list}{part}");
        }
    }
    for absent in ["schema/", "coaches/", "transfers/", "tv-channels/", "worldcup/squads/"] {
        assert_eq!(hub.get_as(&key, &format!("/api/v2/{absent}")).await.status, 404, "{absent}");
    }
    for absent in ["shotmap/", "pregame/", "team-stats/", "polymarket/", "social/", "broadcasts/"] {
        let path = format!("/api/v2/events/{event}/{absent}");
        assert_eq!(hub.get_as(&key, &path).await.status, 404, "{absent}");
    }
}

/// Rows 1, 2 and 4 of SERVICE section 8: unchanged requests of clients, and how they interpret a
/// row.
#[tokio::test]
async fn existing_clients_find_live_matches() {
    let (hub, key) = demo().await;
    let live = hub.get_as(&key, "/api/v2/events/live/").await.json();
    let league = live["events"][0]["league_id"].as_u64().expect("a league");
    let season = live["events"][0]["season_id"].clone();
    for query in [
        format!("league_id={league}"),
        format!("league_id={league}&limit=200"),
        "limit=50&offset=0".to_owned(),
        format!("league_id={league}&season_id={season}"),
        "limit=200&tz=UTC".to_owned(),
    ] {
        let answer = hub.get_as(&key, &format!("/api/v2/events/live/?{query}")).await;
        assert_eq!(answer.status, 200, "{query}: {}", answer.body);
        let body = answer.json();
        let rows = body["events"].as_array().expect("rows");
        assert!(!rows.is_empty(), "{query}");
        for row in rows {
            let stage = match (row["status"].as_str(), row["period"].as_str()) {
                (Some("inprogress"), Some("1st_half")) => "1H",
                (Some("inprogress"), Some("halftime")) => "HT",
                (Some("inprogress"), Some("2nd_half")) => "2H",
                (Some("inprogress"), Some("extra_time")) => "ET",
                (Some("inprogress"), Some("penalties")) => "P",
                (Some("finished"), Some("FT")) => "FT",
                (Some("notstarted"), Some("")) => "NS",
                other => panic!("a client knows no {other:?}"),
            };
            assert_eq!(stage == "NS", row["home_score"].is_null(), "{row}");
            let updated: jiff::Timestamp =
                row["last_updated"].as_str().and_then(|at| at.parse().ok()).expect("a moment");
            assert!(updated.as_second() > 1_600_000_000, "{row}");
            assert!(!query.contains("league") || row["league_id"] == league, "{query}: {row}");
        }
    }
    let all = hub.get_as(&key, "/api/v2/events/?limit=1").await.json()["count"].clone();
    for word in ["inplay", "started", "live", "scheduled", "upcoming", "whatever"] {
        let path = format!("/api/v2/events/?limit=1&status={word}");
        let answer = hub.get_as(&key, &path).await;
        assert_eq!(answer.status, 200, "{word}: {}", answer.body);
        let count = answer.json()["count"].clone();
        assert!(word != "whatever" || count.as_u64() >= all.as_u64(), "{word}: {count} of {all}");
    }
}

#[tokio::test]
async fn coverage_needs_no_key() {
    let (hub, _) = demo().await;
    let answer = hub.get("/api/v2/coverage/").await;
    assert_eq!(answer.status, 200);
    let football = &answer.json()["sports"][0];
    assert_eq!(
        (&football["sport"], &football["season_state"]),
        (&json!("football"), &json!("in_season"))
    );
    assert_eq!(hub.get("/api/v2/events/").await.status, 401);
}

#[tokio::test]
async fn pages_of_the_demo_can_be_followed_to_the_end() {
    let (hub, key) = demo().await;
    // A match that is announced meanwhile moves the others to other pages.
    let (mut seen, count) = loop {
        let (seen, counts) = follow_pages(&hub, &key).await;
        if let [count] = counts.iter().copied().collect::<Vec<_>>()[..] {
            break (seen, count);
        }
    };
    assert_eq!(seen.len() as u64, count);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len() as u64, count, "a match is on two pages");
}

/// The matches of all pages, and the different counts that the pages state.
async fn follow_pages(hub: &Hub, key: &str) -> (Vec<u64>, BTreeSet<u64>) {
    let (mut seen, mut counts) = (Vec::new(), BTreeSet::new());
    let mut next = Some(format!("http://{}/api/v2/events/?limit=7&tz=UTC", hub.address));
    while let Some(address) = next {
        let path = address.split_once(&*hub.address).expect("an address of the hub").1;
        let page = hub.get_as(key, path).await.json();
        counts.insert(page["count"].as_u64().expect("a count"));
        let rows = page["results"].as_array().expect("rows");
        seen.extend(rows.iter().map(|row| row["id"].as_u64().expect("an id")));
        next = page["next"].as_str().map(ToOwned::to_owned);
    }
    (seen, counts)
}

#[tokio::test]
async fn unchanged_resources_are_not_sent_again() {
    let (hub, key) = demo().await;
    // Teams do not change while a match is played.
    let path = "/api/v2/teams/?limit=3";
    let answer = hub.get_as(&key, path).await;
    let tag = answer.header("etag").expect("a tag").to_owned();
    let again = ask(&hub, &key, "GET", path, &[("if-none-match", &tag)]).await;
    assert_eq!((again.status, &*again.body), (304, ""));
    let head = ask(&hub, &key, "HEAD", path, &[]).await;
    assert_eq!((head.status, &*head.body), (200, ""));
    assert_eq!(head.header("etag"), Some(&*tag));
    let other = ask(&hub, &key, "POST", path, &[("content-length", "0")]).await;
    assert_eq!(other.status, 405);
}

/// A match over HTTP equals the match of its channel at the position in the response.
#[tokio::test]
async fn match_in_play_matches_its_channel() {
    let (hub, key) = demo().await;
    let live = hub.get_as(&key, "/api/v2/events/live/").await.json();
    let event = live["events"][0]["id"].as_u64().expect("a match in play");
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe(&format!("football/{event}")).await;
    client.next_of("image").await;
    let (name, channel) = client.channels.iter().next().expect("the channel of the match");
    let joined_at = (name.clone(), channel.epoch.clone(), channel.seq);
    let reached = async {
        loop {
            let answer = hub.get_as(&key, &format!("/api/v2/events/{event}/")).await;
            let position = answer.header("x-matchwire-seq").expect("a place in the stream");
            let (epoch, seq) = position.split_once(':').expect("an epoch and a sequence");
            assert_eq!(epoch, joined_at.1, "another run of {}", joined_at.0);
            let seq: u64 = seq.parse().expect("a number");
            if seq >= joined_at.2 {
                return answer.json();
            }
            pause().await;
        }
    };
    let body = timeout(PATIENCE, reached).await.expect("HTTP stays behind the stream");
    assert_eq!(body["id"], event);
    assert!(body["home_score"].is_u64() && body["head_to_head"].is_object(), "{body}");
    assert_ne!(body["period"], Value::Null);
}
