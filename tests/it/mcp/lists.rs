//! What the servers offer: tools with their schemas, in full and in short.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::client::{ERAS, Era, McpClient};
use crate::{
    docs_formats::PUBLIC,
    support::{Hub, QUIET},
};

const SERVERS: [(&str, usize); 7] = [
    ("/mcp", 36),
    ("/tennis/mcp", 11),
    ("/csgo/mcp", 12),
    ("/darts/mcp", 10),
    ("/hockey/mcp", 9),
    ("/basketball/mcp", 15),
    ("/horseracing/mcp", 14),
];

/// A definition of ten tokens costs every conversation ten tokens: 8,000 of four characters, and for the short list 3,000.
const LIST_CHARS_MAX: usize = 32_000;
const CORE_BYTES_MAX: usize = 12_000;

/// Hosts send the first 40 tools only.
const TOOLS_MAX: usize = 40;

/// Agents name these tools; without a source they say so, and are not listed.
const NOT_AVAILABLE: [&str; 6] = [
    "get_money_history",
    "get_polymarket_odds",
    "list_broadcasts",
    "list_money_movers",
    "list_social_items",
    "list_tv_channels",
];

/// What an own tool is called on a server: by its sport, but for football.
fn own_name(path: &str, name: &str) -> String {
    match path.trim_matches('/').split_once('/') {
        Some((sport, _)) => format!("{sport}_{name}"),
        None => name.to_owned(),
    }
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect()
}

#[tokio::test]
async fn lists_of_tools_are_stable_complete_and_short_on_request() {
    let hub = Hub::quiet();
    let other = Hub::shared(&["serve"], &[QUIET, PUBLIC]);
    let key = hub.key(&["sports"]);
    let other_key = other.key(&["sports"]);
    for (path, count) in SERVERS {
        for era in ERAS {
            let client = McpClient::new(&hub, &key).at(path).with_era(era);
            let full = client.tools().await;
            assert_eq!(full.len(), count, "{path}");
            assert_eq!(full, client.tools().await, "{path}: another order");
            let elsewhere = McpClient::new(&other, &other_key).at(path).with_era(era).tools().await;
            assert_eq!(full, elsewhere, "{path}: other in another process");
            let explicit =
                McpClient::new(&hub, &key).at(&format!("{path}?tools=full")).with_era(era);
            assert_eq!(full, explicit.tools().await);

            let core = McpClient::new(&hub, &key).at(&format!("{path}?tools=core")).with_era(era);
            let core = core.result("tools/list", json!({})).await;
            let bytes = core.to_string().len();
            assert!(bytes < CORE_BYTES_MAX, "{path}: {bytes} bytes");
            let core = core["tools"].as_array().expect("a list");
            let (all, some) = (names(&full), names(core));
            assert!(some.iter().all(|name| all.contains(name)), "{path}: {some:?}");
            assert!(!some.is_empty() && some.len() <= all.len());
            for name in ["find", "check_matches", "wait_for_change"] {
                let name = own_name(path, name);
                assert!(some.contains(&&*name), "{path}: no {name}");
            }
        }
    }
}

#[tokio::test]
async fn tools_are_described_as_the_specification_demands() {
    let hub = Hub::quiet();
    let key = hub.key(&["sports"]);
    for (path, _) in SERVERS {
        let client = McpClient::new(&hub, &key).at(path);
        let listed = client.result("tools/list", json!({})).await;
        assert!(listed["ttlMs"].is_u64() && listed["cacheScope"].is_string(), "{path}: {listed}");
        assert_eq!(listed["resultType"], "complete", "{path}");
        let tools = listed["tools"].as_array().expect("a list");
        let chars = listed["tools"].to_string().chars().count();
        assert!(chars <= LIST_CHARS_MAX && tools.len() <= TOOLS_MAX, "{path}: {chars} characters");
        let mut seen = BTreeSet::new();
        for tool in tools {
            let name = tool["name"].as_str().expect("a name");
            assert!(seen.insert(name), "{path}: {name} twice");
            assert!(
                name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_')
            );
            for text in ["title", "description"] {
                assert!(tool[text].as_str().is_some_and(|it| !it.is_empty()), "{name}: {text}");
            }
            for (argument, schema) in tool["inputSchema"]["properties"].as_object().expect("a map")
            {
                let about = schema["description"].as_str();
                assert!(about.is_some_and(|it| !it.is_empty()), "{path} {name}: {argument}");
            }
            let hints = &tool["annotations"];
            assert_eq!(
                (&hints["readOnlyHint"], &hints["idempotentHint"], &hints["openWorldHint"]),
                (&json!(true), &json!(true), &json!(false)),
                "{path} {name}"
            );
            for schema in ["inputSchema", "outputSchema"] {
                let schema = &tool[schema];
                assert_eq!(schema["type"], "object", "{path} {name}");
                let meta = jsonschema::draft202012::meta::validate(schema);
                assert!(meta.is_ok(), "{path} {name}: {:?}", meta.err());
                assert!(
                    jsonschema::draft202012::new(schema).is_ok(),
                    "{path} {name}: a reference leads nowhere"
                );
            }
        }
        for method in ["prompts/list", "resources/list", "resources/templates/list"] {
            let listed = client.result(method, json!({})).await;
            assert!(
                listed["ttlMs"].is_u64() && listed["cacheScope"].is_string(),
                "{path} {method}: {listed}"
            );
        }
        // A client of 2025-11-25 gets fields of its time.
        let legacy = client.with_era(Era::Legacy).result("tools/list", json!({})).await;
        assert_eq!(names(legacy["tools"].as_array().expect("a list")), names(tools));
    }
}

/// A host that joins all servers gets each name once; what was named before still answers.
#[tokio::test]
async fn names_differ_between_servers_and_old_ones_answer() {
    let hub = Hub::quiet();
    let key = hub.key(&["sports"]);
    let (mut plain, mut prefixed) = (BTreeSet::new(), BTreeSet::new());
    for (path, count) in SERVERS {
        let client = McpClient::new(&hub, &key).at(path);
        for name in ["find", "check_matches", "wait_for_change"] {
            assert!(plain.insert(own_name(path, name)), "{path}: {name}");
        }
        let found = client.answer(&own_name(path, "find"), json!({"q": "nobody"})).await;
        let by_its_old_name = client.answer("find", json!({"q": "nobody"})).await;
        assert_eq!(found["data"], by_its_old_name["data"], "{path}");
        let joined = client.clone().at(&format!("{path}?names=prefixed"));
        let tools = joined.tools().await;
        assert_eq!(tools.len(), count, "{path}");
        for name in names(&tools) {
            assert!(prefixed.insert(name.to_owned()), "{name} twice");
        }
        let sport = path.trim_matches('/').split_once('/').map_or("football", |(sport, _)| sport);
        joined.answer(&format!("{sport}_find"), json!({"q": "nobody"})).await;
    }
    let client = McpClient::new(&hub, &key);
    for name in NOT_AVAILABLE {
        let refused = client.refusal(name, json!({})).await;
        assert_eq!(refused["code"], "not_available", "{name}");
    }
}
