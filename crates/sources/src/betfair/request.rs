//! Requests to Betfair: one JSON object per line.

use serde::Serialize;
use serde_json::Value;
use zeroize::Zeroizing;

use super::settings::{BetfairSettings, Field};
use base::secret::Secret;

/// Definitions are always requested: no fact about a market can be produced without one.
const DEFINITION: &str = "EX_MARKET_DEF";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AuthenticationRequest<'a> {
    op: &'static str,
    id: u64,
    app_key: &'a str,
    session: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SubscriptionRequest<'a> {
    op: &'static str,
    id: u64,
    segmentation_enabled: bool,
    conflate_ms: u64,
    heartbeat_ms: u64,
    market_filter: &'a Value,
    market_data_filter: DataFilter,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_clk: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clk: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DataFilter {
    fields: Vec<&'static str>,
    ladder_levels: u8,
}

pub(super) fn authentication(id: u64, app_key: &Secret, session: &Secret) -> Zeroizing<Vec<u8>> {
    let (app_key, session) = (app_key.expose(), session.expose());
    // Reserve enough for the whole line, because a buffer that grows leaves a copy behind.
    let mut line = Zeroizing::new(Vec::with_capacity(6 * (app_key.len() + session.len()) + 128));
    write(&mut line, &AuthenticationRequest { op: "authentication", id, app_key, session });
    line
}

/// Betfair resumes only an identical subscription, so the request is the same each time.
pub(super) fn subscription(
    id: u64,
    settings: &BetfairSettings,
    resume: Option<[&str; 2]>,
) -> Vec<u8> {
    let fields = settings.fields.iter().copied().map(Field::as_str).chain([DEFINITION]);
    let mut line = Vec::new();
    let subscription = SubscriptionRequest {
        op: "marketSubscription",
        id,
        segmentation_enabled: true,
        conflate_ms: settings.conflate_ms,
        heartbeat_ms: settings.heartbeat_ms,
        market_filter: &settings.market_filter,
        market_data_filter: DataFilter {
            fields: fields.collect(),
            ladder_levels: settings.ladder_levels,
        },
        initial_clk: resume.map(|[initial_clk, _]| initial_clk),
        clk: resume.map(|[_, clk]| clk),
    };
    write(&mut line, &subscription);
    line
}

fn write(line: &mut Vec<u8>, request: &impl Serialize) {
    serde_json::to_writer(&mut *line, request).expect("all keys of a request are strings");
    line.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requests_are_those_of_the_specification() {
        let [key, token] = ["key", "to\"ken"].map(|text| Secret::from(text.to_owned()));
        let expected = "{\"op\":\"authentication\",\"id\":1,\"appKey\":\"key\",\
                        \"session\":\"to\\\"ken\"}\r\n";
        assert_eq!(**authentication(1, &key, &token), *expected.as_bytes());

        let config =
            "app_key = \"key\"\nsession = \"token\"\nmarket_filter = { eventTypeIds = [\"1\"] }";
        let config = toml::from_str(config).expect("settings");
        let settings = BetfairSettings::new(&config, 10_000).expect("the secrets are given");
        let mut expected = json!({
            "op": "marketSubscription", "id": 2, "segmentationEnabled": true,
            "conflateMs": 0, "heartbeatMs": 500, "marketFilter": {"eventTypeIds": ["1"]},
            "marketDataFilter": {
                "fields": [
                    "EX_ALL_OFFERS", "EX_TRADED", "EX_TRADED_VOL", "EX_LTP", "SP_PROJECTED", "EX_MARKET_DEF",
                ],
                "ladderLevels": 3,
            },
        });
        let parsed = |line: &[u8]| serde_json::from_slice::<Value>(line).expect("it is JSON");
        assert_eq!(parsed(&subscription(2, &settings, None)), expected);
        expected["initialClk"] = json!("i");
        expected["clk"] = json!("c");
        assert_eq!(parsed(&subscription(2, &settings, Some(["i", "c"]))), expected);
    }
}
