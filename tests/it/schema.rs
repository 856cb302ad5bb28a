//! The machine-readable documents of the interface, and whether the hub conforms to them.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};

use crate::{
    entitlement::command,
    support::{
        Client, Hub, QUIET,
        feed::{self, Market},
        json_schema::problems,
    },
};

const EVERY: [(&str, &str); 1] = [("accept", "*/*")];

#[tokio::test]
async fn openapi_document_is_public_in_each_format() {
    let hub = Hub::quiet();
    let json = hub.get("/api/schema/").await;
    assert_eq!((json.status, json.header("content-type")), (200, Some("application/json")));
    assert_eq!(json.header("access-control-allow-origin"), Some("*"));
    let document = json.json();
    assert_eq!(document["openapi"], "3.1.0");
    let servers = json!([{"url": format!("http://{}", hub.address)}]);
    assert_eq!(document["servers"], servers, "the request's own host");
    for same in ["/api/schema", "/api/schema/?format=json", "/api/schema/?format=openapi-json"] {
        assert_eq!(hub.get(same).await.json(), document, "{same}");
    }
    let yaml = hub.get("/api/schema/?format=yaml").await;
    assert_eq!((yaml.status, yaml.header("content-type")), (200, Some("application/yaml")));
    assert!(
        yaml.body.contains("\n\"openapi\": \"3.1.0\"\n") || yaml.body.starts_with("\"openapi\"")
    );
    assert_eq!(hub.get("/api/schema/?format=pdf").await.status, 400);
    let tag = json.header("etag").expect("a tag");
    assert_eq!(hub.request("GET", "/api/schema/", &[("if-none-match", tag)]).await.status, 304);
}

/// Requests every path that needs no id: it exists, for a key with all add-ons.
#[tokio::test]
async fn every_path_of_the_document_is_served() {
    let hub = Hub::quiet();
    let key = hub.key(&["sports", "odds", "websocket"]);
    let authorization = format!("Token {key}");
    let document = hub.get("/api/schema/").await.json();
    let mut requests = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        if path.contains('{') || item["get"].is_null() {
            continue;
        }
        let mut headers = vec![];
        if item["get"]["security"] != json!([]) {
            assert_eq!(hub.get(path).await.status, 401, "{path} without a key");
            headers.push(("authorization", authorization.as_str()));
        }
        let answer = hub.request("GET", path, &headers).await;
        let status = answer.status.to_string();
        let responses = item["get"]["responses"].as_object().expect("responses");
        assert!(responses.contains_key(&status), "{path}: {status} is not documented");
        assert_ne!((answer.status, answer.status / 100), (404, 5), "{path}");
        if let Some(tag) = answer.header("etag") {
            headers.push(("if-none-match", tag));
            let again = hub.request("GET", path, &headers).await.status;
            assert!(
                again == 200 || again == 304 && responses.contains_key("304"),
                "{path}: {again}"
            );
        }
        requests += 1;
    }
    assert!(requests >= 2, "{requests} paths");
}

/// Each path has exactly the methods of the document, and lists them itself. Undocumented routes
/// are searched for as well.
#[tokio::test]
async fn every_path_has_the_methods_of_the_document() {
    let hub = Hub::quiet();
    let authorization = format!("Token {}", hub.key(&["sports", "odds", "websocket"]));
    let key = [("authorization", authorization.as_str())];
    let document = hub.get("/api/schema/").await.json();
    for (path, item) in document["paths"].as_object().expect("paths") {
        let named = path.replace("{type}", "team").replace("{channel}", "football");
        let parts = named.split('/').map(|part| if part.starts_with('{') { "1" } else { part });
        let address = parts.collect::<Vec<_>>().join("/");
        let mut methods: BTreeSet<String> =
            item.as_object().expect("an item").keys().cloned().collect();
        if methods.contains("get") {
            methods.insert("head".to_owned());
        }
        let allowed = |header: Option<&str>| -> BTreeSet<String> {
            let header = header.unwrap_or_default().to_ascii_lowercase();
            header.split(',').map(|method| method.trim().to_owned()).collect()
        };
        let refused = hub.request("PATCH", &address, &key).await;
        assert_eq!(refused.status, 405, "{path} is not there");
        assert_eq!(allowed(refused.header("allow")), methods, "{path}");
        methods.insert("options".to_owned());
        let answer = hub.request("OPTIONS", &address, &[]).await;
        assert_eq!(allowed(answer.header("allow")), methods, "{path}");
    }
}

#[tokio::test]
async fn swagger_page_loads_nothing_from_elsewhere() {
    let hub = Hub::quiet();
    let page = hub.request("GET", "/api/docs/", &[("accept", "text/html")]).await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'self'"), "{policy}");
    assert!(!page.body.contains("//unpkg") && !page.body.contains("https://"), "{}", page.body);
    for part in page.body.split(['"']).filter(|part| part.starts_with("/api/docs/")) {
        let file = hub.get(part).await;
        assert_eq!(file.status, 200, "{part}");
        assert!(file.body.len() > 200, "{part}");
    }
    assert_eq!(hub.get("/api/docs/../schema/").await.status, 404);
    assert_eq!(hub.get("/api/docs/index.html").await.status, 404);
    let json = hub.request("GET", "/api/docs/", &[("accept", "application/json")]).await;
    assert_eq!((json.status, json.json()["status"].clone()), (406, json!(406)));
    for (other, status) in [("/api/docs", 308), ("/api/redoc/", 308)] {
        let moved = hub.request("GET", other, &EVERY).await;
        assert_eq!((moved.status, moved.header("location")), (status, Some("/api/docs/")));
    }
}

/// The message of this name in the document.
fn payload<'a>(document: &'a Value, name: &str) -> &'a Value {
    &document["components"]["messages"][name]["payload"]
}

#[tokio::test]
async fn asyncapi_document_is_complete_and_its_examples_match() {
    let hub = Hub::start_with(&["serve"], &[QUIET, ("SERVER_PUBLIC_URL", "https://api.test/hub")]);
    let document = hub.get("/api/asyncapi/").await.json();
    assert_eq!(document["asyncapi"], "3.0.0");
    let server = &document["servers"]["hub"];
    assert_eq!((&server["host"], &server["protocol"]), (&json!("api.test/hub"), &json!("wss")));
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let target = document.pointer(reference.strip_prefix('#').expect("a way from the top"));
            assert!(target.is_some(), "{reference} leads nowhere");
        }
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    for (name, message) in document["components"]["messages"].as_object().expect("messages") {
        let examples = message["examples"].as_array().expect("examples");
        assert!(!examples.is_empty(), "{name}");
        for example in examples {
            let wrong = problems(&document, payload(&document, name), &example["payload"]);
            assert_eq!(wrong, [""; 0], "{name}");
        }
    }
}

/// Asserts that the document has the frame, by its definition in the schema.
fn assert_documented(document: &Value, message: &str) {
    let (first, rest) = message.split_at(1);
    let definition = format!("#/components/schemas/{}{rest}Frame", first.to_ascii_uppercase());
    assert_eq!(payload(document, message)["$ref"], *definition);
}

/// The schema of the stream protocol has an address of its own. The AsyncAPI document contains it.
#[tokio::test]
async fn schema_of_the_stream_protocol_is_public() {
    let hub = Hub::quiet();
    let answer = hub.get("/api/schema/documents/").await;
    let kind = answer.header("content-type");
    assert_eq!((answer.status, kind), (200, Some("application/schema+json")));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(answer.header("cache-control"), Some("public, max-age=300"));
    let schema = answer.json();
    assert_eq!(schema, schema::document(), "what the types declare");
    let tag = answer.header("etag").expect("a tag");
    let again = hub.request("GET", "/api/schema/documents/", &[("if-none-match", tag)]).await;
    assert_eq!(again.status, 304);

    let asyncapi = hub.get("/api/asyncapi/").await.json();
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        let expected = definition.to_string().replace("#/$defs/", "#/components/schemas/");
        assert_eq!(asyncapi["components"]["schemas"][name].to_string(), expected, "{name}");
    }
}

/// The frames that a client can cause at any time, and those of a slow client or at the end.
const OFTEN: [&str; 11] = [
    "hello",
    "subscribed",
    "subscribedBatch",
    "image",
    "update",
    "beat",
    "hash",
    "pong",
    "error",
    "unsubscribed",
    "unsubscribedBatch",
];
const SELDOM: [&str; 4] = ["entitlement", "resync", "lag", "bye"];
/// Those of replays, which `replays.rs` checks, and that of a hub whose log takes no records.
const ELSEWHERE: [&str; 4] = ["replaySubscribed", "replayUnsubscribed", "replayEnd", "stale"];

/// The message of the document that describes a frame.
fn message_of(frame: &Value) -> String {
    let kind = frame["type"].as_str().expect("a type");
    if frame["chs"].is_null() { kind.to_owned() } else { format!("{kind}Batch") }
}

/// Reads on until these have arrived. The client checks each against the schema, to which the document refers.
async fn read_until(client: &mut Client, document: &Value, wanted: &[&str]) {
    let mut missing: BTreeSet<_> = wanted.iter().copied().collect();
    while !missing.is_empty() {
        let frame = client.next().await.expect("the hub does not close");
        let kind = message_of(&frame);
        assert_documented(document, &kind);
        missing.remove(kind.as_str());
    }
}

/// Real frames of a hub that plays a recording faster than one client reads, sells an add-on, and
/// is stopped.
#[tokio::test]
async fn rare_stream_frames_match_the_document() {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let path = feed::write(folder.path(), "feed.json", &Market { event: 30 }.busy(20_000, 30_000));
    let path = path.to_str().expect("a path of text");
    let arguments = ["replay", "--speed", "max", "--hold", path];
    let settings = [
        ("FANOUT_BEAT_MS", "100"),
        ("FANOUT_OUTBOX_BYTES", "16384"),
        ("FANOUT_WRITE_BYTES_MAX", "16384"),
    ];
    let hub = Hub::start_in_with(folder, &arguments, &settings);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let document = hub.get("/api/asyncapi/").await.json();
    let email = "ann@example.org";
    let bought = command(&hub, &["key", "create", "--email", email, "--addon", "websocket"]);
    let mut buyer = Client::connect(&hub.address, &bought).await;
    command(&hub, &["addon", "gift", email, "sports", "--days", "30", "--note", "a test"]);
    read_until(&mut buyer, &document, &["entitlement"]).await;
    let mut slow = Client::connect_narrow(&hub.address, &key).await;
    slow.next_of("hello").await;
    let books = "tennis/*/odds/betfair";
    slow.send(&json!({"op": "subscribe", "ch": books, "on_slow": "resync", "lag": true})).await;
    hub.until_counted("matchwire_lag_frames_total").await;
    read_until(&mut slow, &document, &["resync", "lag"]).await;
    hub.terminate();
    read_until(&mut slow, &document, &["bye"]).await;

    let documented =
        document["operations"]["followStream"]["messages"].as_array().expect("messages");
    let documented = documented.iter().map(|message| {
        let way = message["$ref"].as_str().expect("a way to the message");
        way.rsplit('/').next().expect("a name")
    });
    let seen: BTreeSet<_> = OFTEN.into_iter().chain(SELDOM).chain(ELSEWHERE).collect();
    assert_eq!(documented.collect::<BTreeSet<_>>(), seen, "what the hub sends, and what was seen");
}

/// Real frames of a hub that plays its demo: every type that a client can cause.
#[tokio::test]
async fn stream_frames_match_the_document() {
    let hub = Hub::start_with(&["serve"], &[("FANOUT_BEAT_MS", "50")]);
    let key = hub.key(&crate::support::ALL_ADDONS);
    let document = hub.get("/api/asyncapi/").await.json();
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("football").await;
    client.subscribe("*/*").await;
    client.subscribe("*/*/odds").await;
    for command in [
        json!({"op": "ping", "id": 7, "t": {"own": true}}),
        json!({"op": "subscribe", "id": 8, "ch": "football/1"}),
        json!({"op": "subscribe", "id": 9, "ch": "not a channel"}),
        json!({"op": "subscribe", "id": 10, "chs": ["tennis", "football/1", "x//y", "*"]}),
        json!({"op": "hash", "id": 11, "ch": "football"}),
        json!({"op": "unsubscribe", "id": 12, "chs": ["tennis"]}),
        json!({"op": "set", "id": 10, "ch": "football", "every_ms": 100, "lag": true}),
        json!({"op": "unsubscribe", "id": 11, "ch": "football"}),
        json!({"op": "nothing"}),
    ] {
        client.send(&command).await;
    }
    let mut seen = BTreeSet::new();
    let mut frames = 0;
    while frames < 200 || !OFTEN.iter().all(|kind| seen.contains(*kind)) {
        let frame = client.next().await.expect("the hub does not close");
        let kind = message_of(&frame);
        assert_documented(&document, &kind);
        seen.insert(kind);
        frames += 1;
    }
}
