//! Several questions in one request, names, zones, calendars and sums.

use hyper::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    ids,
    world::{ALPHA, SCORER, World},
};
use crate::rest::time;
use record::{MatchSummary, Status};

#[tokio::test]
async fn included_parts_are_those_of_their_paths() {
    let world = World::new().await;
    let words = ["incidents", "lineups", "odds", "stats"];
    for id in [1, 3] {
        let all = format!("events/{id}/?include={},refs", words.join(","));
        let event = world.get(&all).await.body;
        for word in words {
            let part = world.get(&format!("events/{id}/{word}/")).await.body;
            assert_eq!(event[word], part, "{word} of {id}");
        }
        assert_eq!(event["refs"], json!({"test": id.to_string()}));
        let bare = world.get(&format!("events/{id}/")).await.body;
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert!(keys(&bare).iter().all(|key| event.get(key).is_some()), "{event}");
        assert_eq!(keys(&event).len(), keys(&bare).len() + words.len() + 1);
    }
    let live = world.get("events/3/?include=incidents").await;
    assert!(live.header("x-matchwire-seq").is_some());
    let page = world.get("events/?include=stats&limit=200&sort=date").await.body;
    assert_eq!(page["results"][0]["stats"], world.get("events/1/stats/").await.body);
    assert_eq!((&page["count"], page["results"][0].get("odds")), (&json!(4), None));
    let fixtures = world.get(&format!("teams/{ALPHA}/fixtures/?last=1&include=incidents")).await;
    assert_eq!(ids(&fixtures.body), [2]);
    assert!(fixtures.body["results"][0]["incidents"]["incidents"].is_array());
}

#[tokio::test]
async fn times_are_of_the_requested_zone() {
    let world = World::new().await;
    let check = async |path: &str, pointer: &str| {
        let time = |answer: &Value| answer.pointer(pointer).unwrap().as_str().unwrap().to_owned();
        let utc = time(&world.get(path).await.body);
        let between = if path.contains('?') { '&' } else { '?' };
        let answer = world.get(&format!("{path}{between}timezone=Asia/Tokyo")).await;
        let tokyo = time(&answer.body);
        assert!(utc.ends_with("+00:00") && tokyo.ends_with("+09:00"), "{utc} {tokyo}");
        let [utc, tokyo] = [utc, tokyo].map(|time| time.parse::<Timestamp>().unwrap());
        assert_eq!(utc, tokyo, "{path}");
        assert_eq!(answer.header("x-matchwire-ignored"), None, "{path}");
    };
    check("events/?limit=1", "/results/0/event_date").await;
    check("events/4/", "/event_date").await;
    check("events/live/", "/events/0/last_updated").await;
    check("events/2/h2h/", "/recent_matches/0/date").await;
}

#[tokio::test]
async fn day_without_a_time_is_the_same_in_every_zone() {
    let world = World::new().await;
    let [before, day, after] = [99, 100, 101].map(|days| world.day(days));
    let summary = world.in_minutes(30, 0, Status::NotStarted);
    world.show([MatchSummary { start: time::begin(&day), day_only: true, ..summary }]);
    for zone in ["UTC", "America/New_York", "Pacific/Pago_Pago", "Pacific/Kiritimati"] {
        for (asked, count) in [(&before, 0), (&day, 1), (&after, 0)] {
            for query in [
                format!("events/?ids=30&date={asked}&timezone={zone}"),
                format!("events/?league_id=5&date={asked}&timezone={zone}"),
                format!("events/?date_from={asked}&date_to={asked}&timezone={zone}"),
            ] {
                assert_eq!(world.get(&query).await.body["count"], count, "{query}");
            }
            let older = format!("events/?date_from={asked}&date_to={asked}&tz={zone}");
            let found = world.at(&format!("http://hub.example/api/{older}")).await.body;
            assert_eq!(found["count"], count, "{older}");
        }
    }
}

#[tokio::test]
async fn matches_without_a_start_are_last_in_both_orders() {
    let world = World::new().await;
    let undated = |id| MatchSummary { start: None, ..world.in_minutes(id, 0, Status::NotStarted) };
    world.show([30, 31].map(undated));
    for (sort, expected) in [("date", [1, 2, 3, 4, 30, 31]), ("-date", [4, 3, 2, 1, 31, 30])] {
        for filter in ["", "&league_id=5"] {
            let mut page = world.get(&format!("events/?sort={sort}&limit=1{filter}")).await;
            let mut seen = ids(&page.body);
            while let Some(link) = page.header("link") {
                let next = link.split_once('>').unwrap().0.trim_start_matches('<').to_owned();
                page = world.at(&next).await;
                seen.extend(ids(&page.body));
                assert!(seen.len() <= expected.len(), "{seen:?}");
            }
            assert_eq!(seen, expected, "{sort}{filter}");
        }
    }
}

#[tokio::test]
async fn names_are_found_with_the_best_fit_first() {
    let world = World::new().await;
    let search = async |query: &str| world.get(&format!("search/?{query}")).await;
    let found = search("q=Name%20100").await.body;
    let first = &found["results"][0];
    assert_eq!((&first["type"], &first["id"]), (&json!("team"), &json!(ALPHA)), "{found}");
    let matches = search("q=name%20100%20v%20name%20200").await.body;
    assert_eq!(ids(&matches), [2, 1], "{matches}");
    assert_eq!(matches["results"][0]["name"], "name 200 v name 100");
    let players = search("q=name&type=player&limit=1").await.body;
    assert_eq!(players["results"][0]["type"], "player");
    assert_eq!(search("q=nobody").await.body["count"], 0);
    for bad in ["", "q=n", "q=name&type=horse"] {
        assert_eq!(search(bad).await.status, StatusCode::BAD_REQUEST, "{bad}");
    }
}

#[tokio::test]
async fn calendar_has_an_event_for_each_match() {
    let world = World::new().await;
    let answer = world.get(&format!("teams/{ALPHA}/calendar/")).await;
    assert_eq!(answer.header("content-type"), Some("text/calendar; charset=utf-8"));
    let text = answer.body.as_str().unwrap();
    assert!(text.starts_with("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:"), "{text}");
    assert!(text.ends_with("END:VEVENT\r\nEND:VCALENDAR\r\n"), "{text}");
    for (line, count) in [
        ("BEGIN:VEVENT", 3),
        ("UID:match-1@matchwire", 1),
        ("SUMMARY:name 100 2-1 name 200", 1),
        ("SUMMARY:name 100 v name 300", 1),
        ("LOCATION:name 900", 1),
        ("URL:http://hub.example/match/football/1/", 1),
    ] {
        assert_eq!(
            text.split("\r\n").filter(|candidate| *candidate == line).count(),
            count,
            "{line} in {text}"
        );
    }
    assert_eq!(text.matches("\r\nDTSTAMP:").count(), 3);
    assert_eq!(world.get("teams/4242/calendar/").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn figures_are_sums_over_results() {
    let world = World::new().await;
    let figures = world.get(&format!("teams/{ALPHA}/figures/?season_id=50,51")).await.body;
    let counts = |part: &str| {
        ["matches", "wins", "draws", "losses"].map(|name| figures[part][name].as_u64().unwrap())
    };
    // The second was drawn before its extra time.
    assert_eq!((counts("total"), counts("home")), ([2, 1, 1, 0], [1, 1, 0, 0]), "{figures}");
    assert_eq!(figures["home"]["avg_goals_scored"], 2.0);
    let none = world.get(&format!("teams/{ALPHA}/figures/?league_id=6")).await.body;
    assert_eq!((&none["total"]["matches"], &none["total"]["win_pct"]), (&json!(0), &Value::Null));
    let player = world.get(&format!("players/{SCORER}/figures/?team_id={ALPHA},7")).await.body;
    assert_eq!((&player["matches"], &player["totals"]["goals"]), (&json!(1), &json!(1)));
    let other = world.get(&format!("players/{SCORER}/figures/?team_id=7")).await.body;
    assert_eq!((&other["matches"], &other["totals"]), (&json!(0), &json!({})));
}
