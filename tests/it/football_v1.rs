//! Football, version 1, with the demo: pages, time zone, shapes.

#[path = "../../crates/web/src/rest/v1/tests/shape.rs"]
pub(crate) mod shape;

use std::sync::Arc;

use serde_json::Value;

use self::shape::differences;
use crate::support::Hub;

/// The hub with its demo, once lists have matches.
async fn demo() -> (Arc<Hub>, String) {
    let hub = Hub::demo();
    let key = hub.key(&[]);
    hub.json_until(&key, "/api/events/", |page| page["count"] != 0).await;
    (hub, key)
}

/// SERVICE sections 1.2 and 1.3.
#[tokio::test]
async fn pages_are_numbered_and_dates_are_of_the_zone() {
    let (hub, key) = demo().await;
    let index = hub.json(&key, "/api/").await;
    let events = index["events"].as_str().unwrap();
    assert!(events.ends_with("/api/events/") && events.starts_with("http://"), "{index}");

    let first = hub.json(&key, "/api/fixtures/?page_size=2&search=x").await;
    let next = first["next"].as_str().unwrap();
    assert!(next.contains("page=2") && next.contains("page_size=2"), "{next}");
    assert!(first["previous"].is_null());
    let path = next.strip_prefix(&format!("http://{}", hub.address)).unwrap();
    let second = hub.json(&key, path).await;
    assert_ne!(first["results"][0]["id"], second["results"][0]["id"]);
    assert!(second["previous"].as_str().unwrap().contains("page=1"), "{second}");
    let next = hub.json(&key, "/api/events/?limit=2").await["next"].as_str().unwrap().to_owned();
    assert!(next.contains("limit=2") && next.contains("offset=2"), "{next}");

    let id = &first["results"][0]["id"];
    for (zone, ending) in [("", "+04:00"), ("UTC", "+00:00"), ("Not/AZone", "+04:00")] {
        let event = hub.json(&key, &format!("/api/events/{id}/?tz={zone}")).await;
        let date = event["event_date"].as_str().unwrap();
        assert!(date.ends_with(ending), "{date} with {zone:?}");
    }
    // The event belongs to that day where the date differs from UTC.
    let zone = "tz=Pacific/Kiritimati";
    let event = hub.json(&key, &format!("/api/events/{id}/?{zone}")).await;
    let day = &event["event_date"].as_str().unwrap()[..10];
    let of_day = format!("/api/events/?date_from={day}&date_to={day}&limit=200&{zone}");
    let of_day = hub.json(&key, &of_day).await;
    let rows = of_day["results"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["id"] == *id), "{id} is not of {day}: {of_day}");
    let same_day = |row: &Value| row["event_date"].as_str().unwrap().starts_with(day);
    assert!(rows.iter().all(same_day), "{of_day}");
}

/// SERVICE section 1.6.
#[tokio::test]
async fn matches_leagues_and_teams_have_their_shapes() {
    let (hub, key) = demo().await;
    let live = hub.json(&key, "/api/live/").await;
    let event = &live["results"][0];
    for name in ["league", "home_team", "home_team_obj", "event_date", "current_minute", "period"] {
        assert!(!event[name].is_null(), "{name} of {event}");
    }
    for name in ["odds_home", "odds_over_25", "odds_btts_yes", "venue", "home_coach"] {
        assert!(event.as_object().unwrap().contains_key(name), "{name} of {event}");
    }
    // In play, about to begin, and over as soon as the demo has one.
    for list in
        ["live/?limit=3", "events/?status=notstarted&limit=3", "events/?status=finished&limit=3"]
    {
        for row in hub.json(&key, &format!("/api/{list}")).await["results"].as_array().unwrap() {
            assert_eq!(differences("event_row", row), [""; 0], "{list}");
            let detail = hub.json(&key, &format!("/api/events/{}/", row["id"])).await;
            assert_eq!(differences("event", &detail), [""; 0], "{list}");
        }
    }
    let (id, league) = (&event["id"], &event["league"]["id"]);
    assert_eq!(hub.json(&key, &format!("/api/live/{id}/")).await["id"], *id);
    let of_league = hub.json(&key, &format!("/api/matches/?league={league}")).await;
    let rows = of_league["results"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["league"]["id"] == *league), "{of_league}");

    assert_eq!(hub.json(&key, &format!("/api/leagues/{league}/")).await["id"], *league);
    let table = hub.json(&key, &format!("/api/leagues/{league}/standings/")).await;
    assert!(table["standings"].is_array() && table["league"]["id"] == *league, "{table}");
    assert_eq!(differences("standings", &table), [""; 0]);
    let team = &event["home_team_obj"]["id"];
    let detail = hub.json(&key, &format!("/api/teams/{team}/")).await;
    assert_eq!(detail["name"], event["home_team"], "{detail}");
    assert_eq!(differences("team", &detail), [""; 0]);
    for (list, shape) in [
        ("leagues", "league"),
        ("teams", "team_row"),
        ("seasons", "season"),
        ("venues", "venue"),
        ("players", "player"),
        ("managers", "manager"),
        ("referees", "referee_row"),
        ("predictions", "prediction"),
    ] {
        let page = hub.json(&key, &format!("/api/{list}/?page_size=3")).await;
        for row in page["results"].as_array().unwrap() {
            assert_eq!(differences(shape, row), [""; 0], "{list}");
        }
    }
    let matches = hub.json(&key, &format!("/api/teams/{team}/matches/")).await;
    assert!(matches["results"].as_array().unwrap().iter().any(|row| row["id"] == *id), "{matches}");
    for path in ["/api/player-stats/", "/api/odds/", "/api/odds/bookmakers/"] {
        assert!(hub.json(&key, path).await["results"].is_array(), "{path}");
    }
    for path in ["/api/events/1/", "/api/leagues/x/", "/api/teams/1/", "/api/predicted-lineup/1/"] {
        assert_eq!(hub.get_as(&key, path).await.status, 404, "{path}");
    }
    assert_eq!(hub.get_as(&key, "/api/odds/compare/?event=1").await.status, 403);
}

/// Each row of a player's statistics has an id, under which it can be requested.
#[tokio::test]
async fn player_stats_have_their_rows() {
    let (hub, key) = demo().await;
    let path = "/api/player-stats/?page_size=2";
    let page = hub.json_until(&key, path, |page| page["count"] != 0).await;
    for row in page["results"].as_array().unwrap() {
        let detail = hub.json(&key, &format!("/api/player-stats/{}/", row["id"])).await;
        for name in ["id", "player_id", "event_id"] {
            assert_eq!(detail[name], row[name], "{name}");
        }
        assert_eq!(detail["event"]["id"], row["event"]["id"]);
        assert_eq!(detail["player"]["id"], row["player_id"]);
        assert_eq!(detail["heatmap"], serde_json::json!([]));
        // The same row as in the other version.
        let path = format!("/api/v2/events/{}/player-stats/", row["event_id"]);
        let all = hub.json(&key, &path).await;
        let listed =
            all["player_stats"].as_array().unwrap().iter().find(|it| it["id"] == row["id"]);
        assert!(listed.is_none_or(|listed| listed["player_id"] == row["player_id"]), "{all}");
    }
    for path in ["/api/player-stats/1/", "/api/player-stats/x/"] {
        assert_eq!(hub.get_as(&key, path).await.status, 404, "{path}");
    }
}
