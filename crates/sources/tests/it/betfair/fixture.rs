//! A small handwritten stream: three markets of one match, which trade and are suspended in turn.

use serde_json::{Value, json};

/// Messages after the image.
pub(crate) const UPDATES: usize = 90;

/// In a recorder's format: an image, and then updates.
pub(crate) fn stream() -> Vec<String> {
    let markets = ["1.1", "1.2", "1.3"].map(|id| market(id, "OPEN"));
    let image = json!({"op": "mcm", "pt": 1_000_000, "ct": "SUB_IMAGE", "mc": markets});
    let updates = (0..UPDATES).map(|index| update(index).to_string());
    std::iter::once(image.to_string()).chain(updates).collect()
}

/// A market change with its definition.
pub(crate) fn market(id: &str, status: &str) -> Value {
    let runner = |id: u64| json!({"id": id, "status": "ACTIVE", "sortPriority": id - 6});
    json!({
        "id": id,
        "marketDefinition": {
            "eventId": "30", "eventTypeId": "2", "marketType": "MATCH_ODDS",
            "bettingType": "ODDS", "status": status, "inPlay": true,
            "runners": [runner(7), runner(8)],
        },
    })
}

fn update(index: usize) -> Value {
    let id = format!("1.{}", 1 + index % 3);
    let changes = if index % 20 == 19 {
        let status = if index % 40 == 19 { "SUSPENDED" } else { "OPEN" };
        vec![market(&id, status)]
    } else {
        vec![prices(&id, index)]
    };
    json!({"op": "mcm", "pt": 1_000_001 + index, "mc": changes})
}

/// Rungs that are added and removed.
fn prices(market: &str, index: usize) -> Value {
    // In steps that can be halved exactly.
    let price = |step: usize| 1.5 + f64::from(u8::try_from(step % 9).expect("small")) / 4.0;
    json!({
        "id": market, "tv": index * 3,
        "rc": [{
            "id": 7 + index % 2, "ltp": price(index), "tv": index + 1,
            "atb": [[price(index), index % 4 * 10], [price(index + 4), 5.25]],
            "atl": [[price(index) + 1.0, (index + 1) % 3 * 7]],
            "trd": [[price(index), index + 1]],
        }],
    })
}
