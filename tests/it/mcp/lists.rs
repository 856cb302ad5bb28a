//! What the servers offer: tools with their schemas, in full and in short.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::client::{ERAS, Era, McpClient};
use crate::{
    docs_formats::PUBLIC,
    support::{Hub, QUIET},
};

const SERVERS: [(&str, usize); 7] = [
    ("/mcp", 41),
    ("/tennis/mcp", 11),
    ("/csgo/mcp", 12),
    ("/darts/mcp", 10),
    ("/hockey/mcp", 9),
    ("/basketball/mcp", 15),
    ("/horseracing/mcp", 14),
];

/// A definition of ten tokens costs every conversation ten tokens.
const CORE_BYTES_MAX: usize = 12_000;

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
            let client = McpClient::new(&hub, &key).at(path).of(era);
            let full = client.tools().await;
            assert_eq!(full.len(), count, "{path}");
            assert_eq!(full, client.tools().await, "{path}: another order");
            let elsewhere = McpClient::new(&other, &other_key).at(path).of(era).tools().await;
            assert_eq!(full, elsewhere, "{path}: other in another process");
            let explicit = McpClient::new(&hub, &key).at(&format!("{path}?tools=full")).of(era);
            assert_eq!(full, explicit.tools().await);

            let core = McpClient::new(&hub, &key).at(&format!("{path}?tools=core")).of(era);
            let core = core.result("tools/list", json!({})).await;
            let bytes = core.to_string().len();
            assert!(bytes < CORE_BYTES_MAX, "{path}: {bytes} bytes");
            let core = core["tools"].as_array().expect("a list");
            let (all, some) = (names(&full), names(core));
            assert!(some.iter().all(|name| all.contains(name)), "{path}: {some:?}");
            assert!(!some.is_empty() && some.len() <= all.len());
            for name in ["find", "check_matches", "wait_for_change"] {
                assert!(some.contains(&name), "{path}: no {name}");
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
        let mut seen = BTreeSet::new();
        for tool in tools {
            let name = tool["name"].as_str().expect("a name");
            assert!(seen.insert(name), "{path}: {name} twice");
            assert!(
                name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_')
            );
            assert!(tool["description"].as_str().is_some_and(|it| !it.is_empty()), "{name}");
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
        let legacy = client.of(Era::Legacy).result("tools/list", json!({})).await;
        assert_eq!(names(legacy["tools"].as_array().expect("a list")), names(tools));
    }
}
