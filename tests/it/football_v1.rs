//! Football, version 1, with the demo: pages, time zone, shapes.

use serde_json::Value;
use tokio::time::timeout;

use crate::support::{Answer, Hub, PATIENCE};

async fn ask(hub: &Hub, path: &str, key: &str) -> Answer {
    hub.request("GET", path, &[("authorization", &format!("Token {key}"))]).await
}

async fn ok(hub: &Hub, path: &str, key: &str) -> Value {
    let answer = ask(hub, path, key).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.json()
}

/// The hub with its demo, once lists have matches.
async fn demo() -> (Hub, String) {
    let hub = Hub::start(&["serve"]);
    let key = hub.key(&[]);
    let kept = async { while ok(&hub, "/api/events/", &key).await["count"] == 0 {} };
    timeout(PATIENCE, kept).await.expect("matches are kept");
    (hub, key)
}

/// SERVICE sections 1.2 and 1.3.
#[tokio::test]
async fn pages_are_numbered_and_dates_are_of_the_zone() {
    let (hub, key) = demo().await;
    let index = ok(&hub, "/api/", &key).await;
    let events = index["events"].as_str().unwrap();
    assert!(events.ends_with("/api/events/") && events.starts_with("http://"), "{index}");

    let first = ok(&hub, "/api/fixtures/?page_size=2&search=x", &key).await;
    let next = first["next"].as_str().unwrap();
    assert!(next.contains("page=2") && next.contains("page_size=2"), "{next}");
    assert!(first["previous"].is_null());
    let path = next.strip_prefix(&format!("http://{}", hub.address)).unwrap();
    let second = ok(&hub, path, &key).await;
    assert_ne!(first["results"][0]["id"], second["results"][0]["id"]);
    assert!(second["previous"].as_str().unwrap().contains("page=1"), "{second}");
    let next = ok(&hub, "/api/events/?limit=2", &key).await["next"].as_str().unwrap().to_owned();
    assert!(next.contains("limit=2") && next.contains("offset=2"), "{next}");

    let id = &first["results"][0]["id"];
    for (zone, ending) in [("", "+04:00"), ("UTC", "+00:00"), ("Not/AZone", "+04:00")] {
        let event = ok(&hub, &format!("/api/events/{id}/?tz={zone}"), &key).await;
        let date = event["event_date"].as_str().unwrap();
        assert!(date.ends_with(ending), "{date} with {zone:?}");
    }
    // The event belongs to that day where the date differs from UTC.
    let zone = "tz=Pacific/Kiritimati";
    let event = ok(&hub, &format!("/api/events/{id}/?{zone}"), &key).await;
    let day = &event["event_date"].as_str().unwrap()[..10];
    let of_day = format!("/api/events/?date_from={day}&date_to={day}&limit=200&{zone}");
    let of_day = ok(&hub, &of_day, &key).await;
    let rows = of_day["results"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["id"] == *id), "{id} is not of {day}: {of_day}");
    let same_day = |row: &Value| row["event_date"].as_str().unwrap().starts_with(day);
    assert!(rows.iter().all(same_day), "{of_day}");
}

/// SERVICE section 1.6.
#[tokio::test]
async fn matches_leagues_and_teams_have_their_shapes() {
    let (hub, key) = demo().await;
    let live = ok(&hub, "/api/live/", &key).await;
    let event = &live["results"][0];
    for name in ["league", "home_team", "home_team_obj", "event_date", "current_minute", "period"] {
        assert!(!event[name].is_null(), "{name} of {event}");
    }
    for name in ["odds_home", "odds_over_25", "odds_btts_yes", "venue", "home_coach"] {
        assert!(event.as_object().unwrap().contains_key(name), "{name} of {event}");
    }
    let (id, league) = (&event["id"], &event["league"]["id"]);
    assert_eq!(ok(&hub, &format!("/api/live/{id}/"), &key).await["id"], *id);
    let of_league = ok(&hub, &format!("/api/matches/?league={league}"), &key).await;
    let rows = of_league["results"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["league"]["id"] == *league), "{of_league}");

    assert_eq!(ok(&hub, &format!("/api/leagues/{league}/"), &key).await["id"], *league);
    let table = ok(&hub, &format!("/api/leagues/{league}/standings/"), &key).await;
    assert!(table["standings"].is_array() && table["league"]["id"] == *league, "{table}");
    let team = &event["home_team_obj"]["id"];
    let detail = ok(&hub, &format!("/api/teams/{team}/"), &key).await;
    assert_eq!(detail["name"], event["home_team"], "{detail}");
    let own = ok(&hub, &format!("/api/teams/{team}/matches/"), &key).await;
    assert!(own["results"].as_array().unwrap().iter().any(|row| row["id"] == *id), "{own}");
    for path in [
        "/api/leagues/",
        "/api/teams/",
        "/api/seasons/",
        "/api/venues/",
        "/api/players/",
        "/api/managers/",
        "/api/referees/",
        "/api/player-stats/",
        "/api/predictions/",
        "/api/odds/",
        "/api/odds/bookmakers/",
    ] {
        assert!(ok(&hub, path, &key).await["results"].is_array(), "{path}");
    }
    for path in ["/api/events/1/", "/api/leagues/x/", "/api/teams/1/", "/api/predicted-lineup/1/"] {
        assert_eq!(ask(&hub, path, &key).await.status, 404, "{path}");
    }
    assert_eq!(ask(&hub, "/api/odds/compare/?event=1", &key).await.status, 403);
}

/// Each row of a player's statistics has an id, under which it can be requested.
#[tokio::test]
async fn player_stats_have_their_rows() {
    let (hub, key) = demo().await;
    let path = "/api/player-stats/?page_size=2";
    let kept = async { while ok(&hub, path, &key).await["count"] == 0 {} };
    timeout(PATIENCE, kept).await.expect("the demo tells players, and they are kept");
    let page = ok(&hub, path, &key).await;
    for row in page["results"].as_array().unwrap() {
        let detail = ok(&hub, &format!("/api/player-stats/{}/", row["id"]), &key).await;
        for name in ["id", "player_id", "event_id"] {
            assert_eq!(detail[name], row[name], "{name}");
        }
        assert_eq!(detail["event"]["id"], row["event"]["id"]);
        assert_eq!(detail["player"]["id"], row["player_id"]);
        assert_eq!(detail["heatmap"], serde_json::json!([]));
        // The same row as in the other version.
        let path = format!("/api/v2/events/{}/player-stats/", row["event_id"]);
        let all = ok(&hub, &path, &key).await;
        let own = all["player_stats"].as_array().unwrap().iter().find(|it| it["id"] == row["id"]);
        assert!(own.is_none_or(|own| own["player_id"] == row["player_id"]), "{all}");
    }
    for path in ["/api/player-stats/1/", "/api/player-stats/x/"] {
        assert_eq!(ask(&hub, path, &key).await.status, 404, "{path}");
    }
}
