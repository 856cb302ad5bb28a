//! The steady source for load tests. Rate-limited readers: `tests/hub/rate_tiers.rs`, and `terms` over a socket.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::support::{Client, Hub};

#[tokio::test]
async fn steady_load_keeps_its_schedule() {
    const CHANGES: usize = 2_000;
    let hub = Hub::start(&["serve", "--bench-rate", "4000", "--bench-channels", "5"]);
    let mut client = Client::connect(&hub.address, &hub.said("demo key").await).await;
    let command = json!({"op": "subscribe", "id": 1, "ch": hub.said("channels").await});
    assert_eq!(client.ask(&command).await["channels"], 5);
    let (mut seen, mut in_turn, mut slugs) = (0, 0, BTreeSet::new());
    // When the last change of each channel was due, unless changes were merged since.
    let mut last = BTreeMap::new();
    while in_turn < CHANGES / 2 {
        let frame = client.next().await.expect("the hub stays up");
        let channel = frame["ch"].as_str().map(str::to_owned);
        // Those from before this client are merged, and what waits for one that is slow.
        if frame["type"] != "update" || frame.get("n").is_some() {
            last.remove(&channel);
            continue;
        }
        let at = |which: &str| frame["at"][which].as_i64().expect("a moment");
        assert!(at("src") <= at("in"), "{frame} comes before its time");
        slugs.insert(channel.clone());
        seen += 1;
        if let Some(last) = last.insert(channel, at("src"))
            && seen > CHANGES / 2
        {
            assert_eq!(at("src") - last, 5 * 250, "{frame}");
            in_turn += 1;
        }
    }
    assert_eq!(slugs.len(), 5);
}
