//! Both versions of the football API describe every recorded match identically.

use serde_json::{Value, json};
use tokio::time::timeout;

use super::{RecordedHub, array};
use crate::{
    football_v1::shape,
    support::{PATIENCE, pause},
};

/// Football that the hub holds after it was played: fixtures, prices, scores.
const PLAYED: [&str; 6] = [
    "api-football/fixtures-bundes-ns-pst.json",
    "betfair-stream/football-200-markets.live.bz2",
    "betfair-stream/football-1-event-77-markets.basic.bz2",
    "betfair-scores/eventtimeline.json",
    "betfair-scores/scores.json",
    "sportradar-uof/odds_change-0.xml",
];

/// The types of incidents in both versions: version 1, version 2.
const INCIDENTS: [[&str; 2]; 5] = [
    ["goal", "goal"],
    ["card", "card"],
    ["substitution", "substitution"],
    ["penalty_missed", "inGamePenalty"],
    ["shootout", "penaltyShootout"],
];

#[tokio::test]
async fn imported_matches_are_the_same_in_both_versions() {
    let Some(hub) = RecordedHub::imported() else { return };
    let (count, differences) = compare(&hub).await;
    assert_eq!(differences, Vec::<String>::new());
    // Two seasons of 380 matches, six matches by event, and those of the response.
    assert!(count > 2 * 380 + 6, "{count} matches");
}

/// Played matches change until their recordings end, and the two requests are not made at one moment.
#[tokio::test]
async fn played_matches_are_the_same_in_both_versions() {
    for file in PLAYED {
        let Some(hub) = RecordedHub::replay(&[file]) else { return };
        let mut last = (0, Vec::new());
        let agreeing = async {
            loop {
                last = compare(&hub).await;
                if last.0 > 0 && last.1.is_empty() {
                    return;
                }
                pause().await;
            }
        };
        let agreed = timeout(PATIENCE, agreeing).await;
        assert!(agreed.is_ok(), "{file}: {last:?}");
    }
}

/// The number of matches, and what differs.
async fn compare(hub: &RecordedHub) -> (usize, Vec<String>) {
    let first = hub.all("/api/events/?limit=200&tz=UTC").await;
    let second = hub.all("/api/v2/events/?limit=200").await;
    let mut differences = Vec::new();
    let ids = |rows: &[Value]| rows.iter().map(|row| row["id"].clone()).collect::<Vec<_>>();
    if ids(&first) != ids(&second) {
        differences.push(format!("{} and {} matches", first.len(), second.len()));
        return (second.len(), differences);
    }
    for (number, (one, two)) in first.iter().zip(&second).enumerate() {
        let incidents = hub.get(&format!("/api/v2/events/{}/incidents/", two["id"])).await;
        differences.extend(shape::differences("event_row", one));
        // A season of results has no more than its first rows show.
        if number % 50 == 0 || !array(&incidents["incidents"]).is_empty() {
            let detail = hub.get(&format!("/api/events/{}/?tz=UTC", two["id"])).await;
            differences.extend(shape::differences("event", &detail));
        }
        let (one, two) = (of_first(one), of_second(two, &incidents));
        if one != two {
            differences.push(format!("version 1: {one}, version 2: {two}"));
        }
    }
    (second.len(), differences)
}

/// What version 1 says of a match.
fn of_first(event: &Value) -> Value {
    let team = |side: &str| event[format!("{side}_team_obj")]["id"].clone();
    // A side without a name is null in version 1, and empty text in version 2.
    let name = |side: &str| event[side].as_str().unwrap_or_default().to_owned();
    json!({
        "league": event["league"]["id"],
        "sides": [name("home_team"), name("away_team")],
        "teams": [team("home"), team("away")],
        "coaches": [event["home_coach"]["id"], event["away_coach"]["id"]],
        "venue": event["venue"]["id"],
        // Where the day alone is known, version 1 has its midnight.
        "date": match event["day_only"].as_bool() {
            Some(true) => event["event_date"].as_str().and_then(|text| text.split('T').next()).into(),
            _ => event["event_date"].clone(),
        },
        "status": [event["status"], event["period"]],
        "score": [event["home_score"], event["away_score"]],
        "incidents": INCIDENTS.map(|[kind, _]| count(&event["incidents"], kind)),
    })
}

/// The same of version 2.
fn of_second(event: &Value, incidents: &Value) -> Value {
    json!({
        "league": event["league_id"],
        "sides": [event["home_team"], event["away_team"]],
        "teams": [event["home_team_id"], event["away_team_id"]],
        "coaches": [event["home_coach_id"], event["away_coach_id"]],
        "venue": event["venue_id"],
        "date": event["event_date"],
        "status": [event["status"], event["period"]],
        "score": [event["home_score"], event["away_score"]],
        "incidents": INCIDENTS.map(|[_, kind]| count(&incidents["incidents"], kind)),
    })
}

fn count(incidents: &Value, kind: &str) -> usize {
    array(incidents).iter().filter(|it| it["type"] == *kind).count()
}
