//! The recording that ships with the project.

use std::path::Path;

use crate::support::Hub;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/football-match.events.gz");

/// The maximum download for a new user, in bytes.
const BYTES_MAX: u64 = 300_000;

#[tokio::test]
async fn example_is_a_small_recording_of_a_whole_match() {
    let bytes = Path::new(EXAMPLE).metadata().expect("the example is there").len();
    assert!(bytes <= BYTES_MAX, "{bytes} bytes");
    let hub = Hub::start(&["replay", "--speed", "max", EXAMPLE]);
    let key = hub.key(&["sports", "odds"]);
    let finished = "/api/v2/events/?status=finished&limit=5";
    let page = hub.json_until(&key, finished, |page| page["count"] == 1).await;
    let event = &page["results"][0];
    assert!(event["home_score"].is_u64() && event["has_xg"] == true, "{event}");
    let stats = hub.json(&key, &format!("/api/v2/events/{}/stats/", event["id"])).await;
    let shots = stats["shotmap"].as_array().map_or(0, Vec::len);
    let counted = ["home", "away"].map(|side| stats["stats"][side]["total_shots"].as_u64());
    assert_eq!(Some(shots as u64), counted[0].zip(counted[1]).map(|(home, away)| home + away));
    assert!(stats["momentum"].as_array().is_some_and(|all| all.len() >= 90), "{stats}");
    // Prices of a recording are shown once it has ended.
    let prices = format!("/api/v2/odds/?event_id={}&limit=200", event["id"]);
    let odds = hub.json_until(&key, &prices, |page| page["count"] != 0).await;
    for market in ["1x2", "double_chance", "draw_no_bet", "asian_handicap", "total_corners"] {
        let rows = odds["results"].as_array().expect("rows");
        assert!(rows.iter().any(|row| row["market"] == market), "no {market} in {odds}");
    }
}
