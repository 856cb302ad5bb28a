//! The HTTP side: hosts, origins, methods, lengths, versions, and malformed messages.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    access::initialize,
    client::{ERAS, Era, McpClient},
};
use crate::support::{Hub, QUIET};

fn quiet() -> (Arc<Hub>, McpClient) {
    let hub = Hub::shared(
        &["serve"],
        &[
            QUIET,
            ("MCP_HOSTS", "mcp.example.test"),
            ("MCP_ORIGINS", "https://app.example.test:443"),
        ],
    );
    let key = hub.key(&["sports"]);
    let client = McpClient::new(&hub, &key);
    (hub, client)
}

/// No page can reach the hub under a name of its own, or from another origin.
#[tokio::test]
async fn foreign_hosts_and_origins_are_403() {
    let (hub, client) = quiet();
    let hub_origin = format!("http://{}", hub.address);
    let port = hub.address.rsplit_once(':').expect("a port").1;
    for era in ERAS {
        let request = client.clone().with_era(era).request("tools/list", &json!({}));
        let origin =
            async |origin: &str| request.clone().header("origin", origin).send(&hub).await.status;
        assert_eq!(request.send(&hub).await.status, 200, "without an origin");
        for allowed in [
            hub_origin.as_str(),
            &format!("http://localhost:{port}"),
            "http://localhost:6274",
            "http://[::1]:80",
            "https://app.example.test",
            "https://app.example.test:443",
        ] {
            assert_eq!(origin(allowed).await, 200, "{allowed}");
        }
        for foreign in [
            "https://evil.example",
            "http://evil.example:80",
            "null",
            "http://app.example.test",
            "https://app.example.test.evil.example",
            "https://app.example.test:444",
            "http://localhost.evil.example",
            "file://",
            "nonsense",
        ] {
            assert_eq!(origin(foreign).await, 403, "{foreign}");
        }
    }
    for (host, status) in [
        (hub.address.as_str(), 200),
        ("localhost", 200),
        ("localhost:9", 200),
        ("mcp.example.test", 200),
        ("mcp.example.test:8443", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("mcp.example.test.evil.example", 403),
    ] {
        let answer = with_host(&hub, &client, host).await;
        assert_eq!(answer, status, "{host}");
    }
}

/// The status of a request with this host.
async fn with_host(hub: &Hub, client: &McpClient, host: &str) -> u16 {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let request = client.request("tools/list", &json!({}));
    let body = request.body.to_string();
    let mut text =
        format!("POST {} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n", request.path);
    request.headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
    text += &format!("content-length: {}\r\n\r\n{body}", body.len());
    let mut socket = tokio::net::TcpStream::connect(&hub.address).await.expect("it connects");
    socket.write_all(text.as_bytes()).await.expect("it takes a request");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.expect("an answer");
    answer.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn only_post_is_served() {
    let (hub, client) = quiet();
    let key = client.request("ping", &json!({})).headers[0].1.clone();
    for path in ["/mcp", "/mcp/", "/api/mcp/", "/tennis/mcp"] {
        for method in ["GET", "DELETE", "PUT"] {
            let headers = [("authorization", &*key), ("accept", "text/event-stream")];
            let answer = hub.request(method, path, &headers).await;
            assert_eq!(answer.status, 405, "{method} {path}: {answer:?}");
            assert!(answer.header("allow").is_some_and(|it| it.contains("POST")), "{answer:?}");
        }
    }
}

/// JSON-RPC 2.0 and the specification, "Sending Messages to the Server".
#[tokio::test]
async fn wrong_messages_are_refused_with_the_codes_of_the_specification() {
    let (hub, client) = quiet();
    let legacy = client.clone().with_era(Era::Legacy);

    let (status, error) = client.error("nothing/at/all", json!({})).await;
    assert_eq!((status, &error["code"]), (404, &json!(-32601)), "{error}");
    let (_, error) = legacy.error("nothing/at/all", json!({})).await;
    assert_eq!(error["code"], -32601, "{error}");
    for era in ERAS {
        let client = client.clone().with_era(era);
        let (_, error) =
            client.error("tools/call", json!({"name": "get_match_detials", "arguments": {}})).await;
        assert_eq!(
            (&error["code"], &error["data"]["suggestion"]),
            (&json!(-32602), &json!("get_match_detail"))
        );
        // What is not of this server is not its tool.
        let (_, error) =
            client.error("tools/call", json!({"name": "get_rankings", "arguments": {}})).await;
        assert_eq!(error["code"], -32602);
        for (body, what) in [
            ("{", "malformed"),
            ("", "empty"),
            ("[]", "an empty batch"),
            ("7", "a number"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#, "another version"),
        ] {
            let answer = client.request("tools/list", &json!({})).send_text(&hub, body).await;
            assert_eq!(answer.status, 400, "{era:?} {what}: {answer:?}");
            let code = answer.json()["error"]["code"].as_i64();
            assert!(matches!(code, Some(-32700 | -32600)), "{era:?} {what}: {answer:?}");
        }
        let long = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{{\"x\":\"{}\"}}}}",
            "x".repeat(70_000)
        );
        let answer = client.request("tools/list", &json!({})).send_text(&hub, &long).await;
        assert_eq!(answer.status, 413, "{era:?}: {answer:?}");
        let text = client.request("tools/list", &json!({})).header("content-type", "text/plain");
        assert_eq!(text.send(&hub).await.status, 415, "{era:?}");
        let html = client.request("tools/list", &json!({})).header("accept", "text/html");
        assert_eq!(html.send(&hub).await.status, 406, "{era:?}");
        let mut notification = client.request("notifications/cancelled", &json!({"requestId": 1}));
        notification.body.as_object_mut().expect("an object").remove("id");
        let answer = notification.send(&hub).await;
        assert_eq!((answer.status, answer.body.as_str()), (202, ""), "{era:?}");
    }
}

/// The headers of 2026-07-28 agree with the body, or the request is refused.
#[tokio::test]
async fn headers_that_contradict_the_body_are_refused() {
    let (hub, client) = quiet();
    let call = client.request("tools/call", &json!({"name": "get_feeds", "arguments": {}}));
    let code = async |request: super::client::Outgoing| {
        let answer = request.send(&hub).await;
        (answer.status, answer.json()["error"]["code"].clone())
    };
    assert_eq!(call.send(&hub).await.status, 200);
    let mismatch = (400, json!(-32020));
    assert_eq!(code(call.clone().header("mcp-method", "tools/list")).await, mismatch);
    assert_eq!(code(call.clone().header("mcp-name", "find")).await, mismatch);
    assert_eq!(code(call.clone().without("mcp-name")).await, mismatch);
    assert_eq!(code(call.clone().without("mcp-method")).await, mismatch);
    assert_eq!(code(call.clone().header("mcp-protocol-version", "2025-11-25")).await, mismatch);
    let mut other = call.clone().header("mcp-protocol-version", "2099-01-01");
    other.body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01".into();
    let answer = other.send(&hub).await;
    let error = &answer.json()["error"];
    assert_eq!((answer.status, &error["code"]), (400, &json!(-32022)), "{error}");
    let supported = error["data"]["supported"].as_array().expect("versions");
    assert!(supported.contains(&json!("2026-07-28")), "{error}");
}

/// Nothing is kept between requests: an older client may leave out what its session would have been.
#[tokio::test]
async fn older_clients_are_served_without_a_session() {
    let (hub, client) = quiet();
    let legacy = client.clone().with_era(Era::Legacy);
    let answer = initialize(&legacy).await;
    assert_eq!(answer["protocolVersion"], "2025-11-25", "{answer}");
    assert_eq!(answer["serverInfo"]["name"], "matchwire-football", "{answer}");
    let resources = &answer["capabilities"]["resources"];
    assert_eq!(
        (&resources["subscribe"], &resources["listChanged"]),
        (&Value::Null, &Value::Null),
        "{answer}"
    );
    assert!(answer["instructions"].as_str().is_some_and(|it| it.contains("wait_for_change")));
    let initialize = legacy.request("initialize", &json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "it", "version": "1"},
    }));
    assert_eq!(initialize.send(&hub).await.header("mcp-session-id"), None);
    let without = legacy.request("tools/list", &json!({})).without("mcp-protocol-version");
    assert_eq!(without.send(&hub).await.status, 200);
    let stale = legacy.request("tools/list", &json!({})).header("mcp-session-id", "gone");
    assert_eq!(stale.send(&hub).await.status, 200);
    let discovered = client.result("server/discover", json!({})).await;
    let versions = discovered["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!("2026-07-28")), "{discovered}");
    assert_eq!(discovered["capabilities"]["resources"]["subscribe"], true, "{discovered}");
    for field in ["ttlMs", "cacheScope"] {
        assert!(!discovered[field].is_null(), "{field}: {discovered}");
    }
}

/// A page of another origin asks before it sends its key.
#[tokio::test]
async fn browsers_may_send_the_headers_of_the_protocol() {
    let (hub, _) = quiet();
    let headers = "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name";
    for path in ["/mcp", "/mcp/", "/tennis/mcp"] {
        let asked = [
            ("origin", "https://app.example.test"),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", headers),
        ];
        let answer = hub.request("OPTIONS", path, &asked).await;
        assert!((200..300).contains(&answer.status), "{path}: {answer:?}");
        let methods = answer.header("access-control-allow-methods").unwrap_or_default();
        assert!(methods.contains("POST"), "{path}: {answer:?}");
        let allowed =
            answer.header("access-control-allow-headers").unwrap_or_default().to_lowercase();
        for header in headers.split(", ") {
            assert!(allowed.contains(header), "{path}: {header} is not in {allowed}");
        }
    }
}

/// Usual calls take a shorter way through the server. They are answered like the same calls that it does not
/// take for usual, and unusual ones are not answered on it.
#[tokio::test]
async fn usual_calls_are_answered_like_unusual_ones() {
    let (hub, client) = quiet();
    for era in ERAS {
        let client = client.clone().with_era(era);
        for (tool, arguments) in [
            ("list_leagues", json!({})),
            ("list_leagues", json!({"limit": 3})),
            ("check_matches", json!({"match_ids": [1, 2]})),
            ("get_match_detail", json!({"match_id": 1})),
            ("get_match_detail", json!({"match": "\u{202e}\" \\ \n"})),
            ("get_polymarket_odds", json!({})),
            ("find", json!({"q": "\"Größe\" \u{1f3be}"})),
        ] {
            let usual =
                client.request("tools/call", &json!({"name": tool, "arguments": arguments}));
            let weighted = "application/json;q=1, text/event-stream";
            let mut with_more = usual.clone();
            with_more.body["params"]["_meta"]["org.example/trace"] = "t".into();
            let page = usual.clone().header("origin", &format!("http://{}", hub.address));
            let expected = without_times(usual.send(&hub).await.json());
            assert_eq!(expected["id"], 7, "{tool}: {expected}");
            for unusual in [usual.clone().header("accept", weighted), with_more, page] {
                let answer = unusual.send(&hub).await;
                assert_eq!(answer.header("content-type"), Some("application/json"), "{answer:?}");
                assert_eq!(without_times(answer.json()), expected, "{era:?} {tool} {arguments}");
            }
        }
        // Ids come back as they were.
        for id in [
            json!("seven"),
            json!(0),
            json!(-7),
            json!(9_007_199_254_740_991_i64),
            json!("\u{202e}\""),
        ] {
            let mut call =
                client.request("tools/call", &json!({"name": "get_feeds", "arguments": {}}));
            call.body["id"] = id.clone();
            let answer = call.send(&hub).await.json();
            assert_eq!((&answer["id"], answer.get("result").is_some()), (&id, true), "{answer}");
        }
        let foreign = client.request("tools/call", &json!({"name": "get_feeds", "arguments": {}}));
        assert_eq!(foreign.header("origin", "https://evil.example").send(&hub).await.status, 403);
    }
}

/// A response without what the time changes.
fn without_times(mut response: Value) -> Value {
    let result = &mut response["result"];
    if let Some(fields) = result["structuredContent"].as_object_mut() {
        for name in ["as_of", "cite", "age_ms"] {
            fields.remove(name);
        }
        result["content"] = Value::Null;
    }
    response
}
