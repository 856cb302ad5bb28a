//! Authorization of all products: which key admits to what, and the errors otherwise.

use accounts::products::Product;
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::support::{Answer, Hub, PATIENCE, QUIET, Setting, on_sqlite, until};

/// A well-formed key that does not exist.
const WRONG: &str = "mw_000000000000000000000000000000000000000000000000";

const ODDS_COST: Setting = ("PRODUCTS_ODDS_FREE_UNTIL", "");

/// A path below each sport except football.
const SPORTS: [&str; 6] = [
    "/tennis/api/v2/matches/",
    "/csgo/api/v2/matches/",
    "/darts/api/v2/matches/",
    "/hockey/api/v2/matches/",
    "/basketball/api/v2/events/",
    "/horseracing/mcp/",
];

/// Below each product there are unknown paths.
const PRODUCTS: [&str; 9] = [
    "/api/",
    "/api/v2/events/",
    "/api/v2/nothing/at/all/",
    "/tennis/api/v2/matches/",
    "/horseracing/api/v2/races/",
    "/odds/api/",
    "/signals/api/",
    "/mcp/",
    "/stream/v1/channels/feeds/",
];

async fn with_key(hub: &Hub, method: &str, path: &str, key: &str) -> Answer {
    hub.request(method, path, &[("authorization", &format!("Token {key}"))]).await
}

/// Sends these bytes, followed by the end of the head, and reads the complete response.
async fn raw(hub: &Hub, head: &str) -> Answer {
    let mut stream = TcpStream::connect(&hub.address).await.expect("it connects");
    let request = format!("{head}connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("it takes a request");
    let mut bytes = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("in time").expect("an answer");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no status in {text:?} to {request:?}"));
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// Whatever a product answers depends on the key: no cache gives it to another one.
fn check_vary(answer: &Answer, what: &str) {
    let fields: Vec<_> = answer.headers("vary").collect();
    assert!(fields.join(", ").contains("authorization"), "{what}: {answer:?}");
}

fn check_401(hub: &Hub, answer: &Answer, what: &str) {
    assert_eq!(answer.status, 401, "{what}");
    check_vary(answer, what);
    let body = answer.json();
    let detail = body["detail"].as_str().expect("a text");
    assert!(detail.contains("Authorization"), "{what}: {detail}");
    let expected = json!({
        "error": "Authentication required",
        "code": "authentication_required",
        "detail": detail,
        "register": format!("http://{}/register/", hub.address),
    });
    assert_eq!(body, expected, "{what}");
    assert!(answer.header("www-authenticate").is_some(), "{what}");
    assert_eq!(answer.header("content-type"), Some("application/json"), "{what}");
}

/// SPEC section 5, rule 1, and section 7: without a token or with an invalid one 401 with exactly
/// these fields, on each path of each product, there or not, with a slash at the end or without.
#[tokio::test]
async fn without_a_valid_key_everything_is_401() {
    let hub = Hub::quiet();
    let revoked = hub.key(&["sports", "odds", "websocket"]);
    hub.revoke(&revoked);
    for path in PRODUCTS {
        check_401(&hub, &hub.get(path).await, path);
        check_401(&hub, &hub.get(path.trim_end_matches('/')).await, path);
        check_401(&hub, &hub.get(&format!("{path}?token=")).await, path);
        check_401(&hub, &hub.get(&format!("{path}?TOKEN={WRONG}")).await, path);
        check_401(&hub, &hub.get(&format!("{path}?token={WRONG}")).await, path);
        check_401(&hub, &hub.request("POST", path, &[]).await, path);
        check_401(&hub, &with_key(&hub, "GET", path, WRONG).await, path);
        check_401(&hub, &with_key(&hub, "GET", path, "nonsense").await, path);
        check_401(&hub, &with_key(&hub, "GET", path, &revoked).await, path);
        let basic = hub.request("GET", path, &[("authorization", "Basic dTpw")]).await;
        check_401(&hub, &basic, path);
        let head = hub.request("HEAD", path, &[]).await;
        assert_eq!((head.status, head.body.as_str()), (401, ""), "HEAD {path}");
    }
}

/// SPEC section 5, rule 2, and section 7: 402, not 403, with exactly these fields.
#[tokio::test]
async fn without_the_addon_a_valid_key_is_402() {
    let hub = Hub::shared(&["serve"], &[QUIET, ODDS_COST]);
    let key = hub.key(&[]);
    let check = async |path: &str, error: &str, detail: &str| {
        for path in [path, path.trim_end_matches('/')] {
            let answer = with_key(&hub, "GET", path, &key).await;
            let expected = json!({
                "error": error,
                "code": "addon_required",
                "detail": detail,
                "pricing_url": format!("http://{}/pricing/", hub.address),
            });
            assert_eq!((answer.status, answer.json()), (402, expected), "{path}");
            check_vary(&answer, path);
        }
    };
    let sports = format!("The {} APIs need the sports add-on at $5/mo.", Product::sports_text());
    for path in SPORTS {
        check(path, "Sports Addon required", &sports).await;
    }
    let odds = "The odds of all bookmakers need the Odds API add-on at $5/mo.";
    check("/odds/api/", "Odds Addon required", odds).await;
    check("/odds/api/nothing/", "Odds Addon required", odds).await;
    let live = "Live channels for football and tennis need the WebSocket add-on at $3/mo.";
    check("/stream/v1/channels/feeds/", "WebSocket Addon required", live).await;
}

/// SPEC section 5: the products of a free account, and of each add-on. After authorization, an
/// unknown path is 404, and a GET of an MCP server 405.
#[tokio::test]
async fn each_addon_opens_only_its_products() {
    let hub = Hub::shared(&["serve"], &[QUIET, ODDS_COST]);
    let free = ["/api/v2/nothing/", "/api/nothing/", "/signals/api/nothing/", "/mcp/"];
    let odds = ["/odds/api/nothing/"];
    let sports =
        SPORTS.map(|path| path.replace("/matches/", "/nothing/").replace("/events/", "/nothing/"));
    let sports = sports.each_ref().map(String::as_str);
    let check = async |addons: &[&str], open: &[&str], closed: &[&str]| {
        let key = hub.key(addons);
        for path in open.iter().chain(&free) {
            let answer = with_key(&hub, "GET", path, &key).await;
            if path.ends_with("/mcp/") {
                assert_eq!(answer.status, 405, "{path} with {addons:?}");
                continue;
            }
            let expected = json!({"error": true, "status": 404, "detail": "Not found"});
            assert_eq!((answer.status, answer.json()), (404, expected), "{path} with {addons:?}");
        }
        for path in closed {
            let answer = with_key(&hub, "GET", path, &key).await;
            assert_eq!(answer.status, 402, "{path} with {addons:?}");
        }
    };
    check(&[], &[], &[&sports[..], &odds].concat()).await;
    check(&["sports"], &sports, &odds).await;
    check(&["odds"], &odds, &sports).await;
    check(&["websocket"], &[], &[&sports[..], &odds].concat()).await;
    check(&["sports", "odds", "websocket"], &[&sports[..], &odds].concat(), &[]).await;
}

/// SPEC sections 4 and 5: the odds are free for everyone with a token until a certain day.
#[tokio::test]
async fn odds_are_free_with_a_key_until_their_date() {
    let settings = [QUIET, ("PRODUCTS_ODDS_FREE_UNTIL", "2199-08-17")];
    let hub = Hub::start_with(&["serve"], &settings);
    let key = hub.key(&[]);
    assert_eq!(with_key(&hub, "GET", "/odds/api/sports/", &key).await.status, 200);
    check_401(&hub, &hub.get("/odds/api/sports/").await, "without a key");
}

#[tokio::test]
async fn blocked_account_is_401_at_once_and_unblocked_again() {
    on_sqlite(async |database| {
        let hub = Hub::start_on(&database, &["serve"], &[QUIET]);
        let (key, other) = (hub.key(&[]), hub.key(&[]));
        assert_eq!(with_key(&hub, "GET", "/api/nothing/", &key).await.status, 404);
        let pool = database.pool().await;
        let set = async |to: &str| {
            let sql = format!(
                "UPDATE accounts SET blocked_us = {to} WHERE id = \
                 (SELECT account_id FROM keys WHERE prefix = '{}')",
                &key[..11]
            );
            sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&pool).await.expect("it is written");
        };
        let nothing = async || hub.get_as(&key, "/api/nothing/").await.status;
        set("1").await;
        until("the block", async || nothing().await == 401).await;
        check_401(&hub, &with_key(&hub, "GET", "/api/nothing/", &key).await, "blocked");
        assert_eq!(with_key(&hub, "GET", "/api/nothing/", &other).await.status, 404);
        set("NULL").await;
        until("the end of the block", async || nothing().await == 404).await;
        pool.close().await;
    })
    .await;
}

/// Issue 5, point 4: header, query, in both schemes; two that agree are accepted, two that differ
/// are a 401 that says so. SPEC section 5.
#[tokio::test]
async fn equal_tokens_are_accepted_and_conflicting_ones_refused() {
    let hub = Hub::quiet();
    let (key, other) = (&hub.key(&[]), &hub.key(&[]));
    let ask = async |query: &str, headers: &[String]| {
        let fields: String = headers.iter().map(|field| format!("{field}\r\n")).collect();
        raw(&hub, &format!("GET /api/nothing/{query} HTTP/1.1\r\nhost: x\r\n{fields}")).await
    };
    let token = |key: &str| format!("Authorization: Token {key}");
    let bearer = |key: &str| format!("authorization: Bearer {key}");

    for (what, query, headers) in [
        ("Token", String::new(), vec![token(key)]),
        ("Bearer", String::new(), vec![bearer(key)]),
        ("query", format!("?token={key}"), vec![]),
        ("query, name in code", format!("?%74oke%6E={key}"), vec![]),
        ("all equal", format!("?token={key}&token={key}"), vec![token(key), bearer(key)]),
        ("joined and equal", String::new(), vec![format!("{}, Bearer {key}", token(key))]),
        ("a foreign scheme", format!("?token={key}"), vec!["Authorization: Basic dTpw".to_owned()]),
        ("a nameless word", format!("?token={key}"), vec!["Authorization: word".to_owned()]),
        ("an empty value", format!("?token=&token={key}"), vec!["Authorization: ".to_owned()]),
        ("another parameter", format!("?TOKEN={other}&Token={WRONG}"), vec![token(key)]),
    ] {
        let answer = ask(&query, &headers).await;
        assert_eq!(answer.status, 404, "{what}: {answer:?}");
    }
    for (what, query, headers) in [
        ("two headers", String::new(), vec![token(key), token(other)]),
        ("two schemes", String::new(), vec![token(key), bearer(other)]),
        (
            "case of the name",
            String::new(),
            vec![token(key), format!("AUTHORIZATION: Token {other}")],
        ),
        ("joined", String::new(), vec![format!("{}, Token {other}", token(key))]),
        ("joined without scheme", String::new(), vec![format!("{},{other}", token(key))]),
        ("header and query", format!("?token={other}"), vec![token(key)]),
        ("good query, wrong header", format!("?token={key}"), vec![token("nonsense")]),
        ("two parameters", format!("?token={key}&token={other}"), vec![]),
        ("both encodings", format!("?token={key}&%74oken={other}"), vec![]),
        ("value in code", format!("?token={key}&token=%6dw_{}", &other[3..]), vec![]),
    ] {
        let answer = ask(&query, &headers).await;
        check_401(&hub, &answer, what);
        let detail = answer.json()["detail"].as_str().map(ToOwned::to_owned);
        assert!(detail.unwrap().contains("the request carries two different tokens"), "{what}");
    }
    // A folded header line is no longer valid HTTP.
    let folded = ask("", &[token(key), format!(" Token {other}")]).await;
    assert_eq!(folded.status, 400, "{folded:?}");
    let folded = ask("", &[format!("x: y\r\n Authorization: Token {key}")]).await;
    assert_eq!(folded.status, 400, "{folded:?}");
}

/// The same rule on the stream, with close code 4401, by both ways in.
#[tokio::test]
async fn socket_with_two_different_tokens_is_refused() {
    let hub = Hub::quiet();
    let (key, other) = (&hub.key(&["websocket"]), &hub.key(&["websocket"]));
    let upgrade = async |query: &str, fields: &str, first: &str| {
        let mut stream = TcpStream::connect(&hub.address).await.expect("it connects");
        let request = format!(
            "{first}GET /stream/v1{query} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\n\
             upgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{fields}\r\n"
        );
        stream.write_all(request.as_bytes()).await.expect("it takes a request");
        let mut seen = Vec::new();
        let reading = async {
            loop {
                let text = String::from_utf8_lossy(&seen).into_owned();
                if text.contains(r#""type":"hello""#) || text.contains(r#""retry":false"#) {
                    return text;
                }
                assert_ne!(stream.read_buf(&mut seen).await.expect("it lasts"), 0, "{text}");
            }
        };
        timeout(PATIENCE, reading).await.expect("in time")
    };
    let plain = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    for first in ["", plain] {
        for (query, fields) in [
            (format!("?token={key}"), format!("authorization: Token {other}\r\n")),
            (format!("?token={key}&%74oken={other}"), String::new()),
            (format!("?token={key}"), format!("sec-websocket-protocol: token, {other}\r\n")),
            (format!("?token={key}&ticket={other}"), String::new()),
            (
                String::new(),
                format!("authorization: Token {key}\r\nauthorization: Token {other}\r\n"),
            ),
            (String::new(), format!("sec-websocket-protocol: token, {key}, token, {other}\r\n")),
        ] {
            let seen = upgrade(&query, &fields, first).await;
            assert!(seen.contains("the request carries two different tokens"), "{fields}: {seen}");
        }
        let all = format!(
            "authorization: Token {key}\r\nsec-websocket-protocol: matchwire.v1, token, {key}\r\n"
        );
        let seen = upgrade(&format!("?token={key}"), &all, first).await;
        assert!(seen.contains(r#""type":"hello""#), "{seen}");
        let answer = seen.split("\r\n\r\n").find(|it| it.contains("101 ")).expect("an answer");
        let answer = answer.to_ascii_lowercase();
        assert!(answer.contains("cache-control: no-store"), "{answer}");
        assert!(answer.contains("referrer-policy: no-referrer"), "{answer}");
    }
}

/// Issue 5, point 4: a response to a request with its token in the URL is not cacheable.
#[tokio::test]
async fn response_to_a_token_in_the_url_is_not_cacheable() {
    let hub = Hub::quiet();
    let key = hub.key(&["websocket"]);
    for path in ["/stream/v1/channels/feeds", "/api/nothing/", "/tennis/api/", "/", "/healthz"] {
        for key in [key.as_str(), WRONG] {
            let answer = hub.get(&format!("{path}?a=1&token={key}")).await;
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
            assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        }
    }
    let with_header = with_key(&hub, "GET", "/stream/v1/channels/feeds", &key).await;
    assert_eq!(with_header.header("cache-control"), Some("private, no-cache"));
}

/// SERVICE section 0: a cross-origin GET with an Authorization header, its preflight included.
#[tokio::test]
async fn cross_origin_requests_are_allowed_for_products_only() {
    let hub = Hub::quiet();
    let key = hub.key(&[]);
    let origin = ("origin", "https://elsewhere.example");
    for path in PRODUCTS {
        let wish = [
            origin,
            ("access-control-request-method", "GET"),
            ("access-control-request-headers", "authorization"),
        ];
        let answer = hub.request("OPTIONS", path, &wish).await;
        assert_eq!((answer.status, answer.body.as_str()), (204, ""), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
        assert_eq!(answer.header("access-control-allow-headers"), Some("authorization"), "{path}");
        let methods = answer.header("access-control-allow-methods").expect("methods");
        assert!(methods.contains("GET"), "{path}: {methods}");
        assert_eq!(answer.header("access-control-allow-credentials"), None, "{path}");

        let headers = [origin, ("authorization", &*format!("Token {key}"))];
        for answer in [
            hub.request("GET", path, &headers).await,
            hub.request("GET", path, &headers[..1]).await,
        ] {
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
            check_vary(&answer, path);
            let exposed = answer.header("access-control-expose-headers").expect("names");
            assert!(exposed.contains("ratelimit") && exposed.contains("retry-after"), "{exposed}");
        }
    }
    // All kinds of answers.
    let key = format!("Token {}", hub.key(&["websocket", "sports"]));
    let authorization = ("authorization", &*key);
    for (method, path, more, status) in [
        ("GET", "/api/v2/leagues/", None, 200),
        ("HEAD", "/api/v2/leagues/", None, 200),
        ("GET", "/api/v2/leagues/", Some(("if-none-match", "*")), 304),
        ("GET", "/api/v2/leagues/?nonsense=1", None, 400),
        ("GET", "/api/leagues/", None, 200),
        ("GET", "/tennis/api/v2/matches/", None, 200),
        ("GET", "/stream/v1/channels/feeds", None, 200),
        ("GET", "/stream/v1/sse/", None, 400),
        ("GET", "/mcp/", None, 405),
        ("POST", "/mcp/", None, 406),
        ("POST", "/api/v2/events/", None, 405),
        ("BREW", "/api/v2/events/", None, 501),
        ("GET", "/api/v2/nothing/", None, 404),
        ("POST", "/ingest/v1/nobody", None, 401),
    ] {
        let headers: Vec<_> = [authorization].into_iter().chain(more).collect();
        let answer = hub.request(method, path, &headers).await;
        assert_eq!(answer.status, status, "{method} {path}");
        check_vary(&answer, path);
    }
    // What is open is for all alike.
    let open = hub.get("/api/v2/coverage/").await;
    assert!(!open.headers("vary").any(|vary| vary.contains("authorization")), "{open:?}");
    // The demo's page shows a key, only to its own origin.
    for path in ["/", "/metrics", "/register/"] {
        let answer = hub.request("GET", path, &[origin]).await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
}

/// A path that only resembles a product's path is unknown.
#[tokio::test]
async fn no_path_spelling_bypasses_the_gate() {
    let hub = Hub::quiet();
    for (path, status) in [
        ("//api//v2//events//", 401),
        ("/stream//v1/channels/feeds", 401),
        ("/stream/v1/channels//feeds", 401),
        ("/stream/v1/channels/%66eeds", 401),
        ("/%73tream/v1/channels/feeds", 404),
        ("/stream/v1/%63hannels/feeds", 404),
        ("/stream/v1/./channels/feeds", 404),
        ("/x/../stream/v1/channels/feeds", 404),
        ("/STREAM/v1/channels/feeds", 404),
        ("/api/v2/%61ccount/", 401),
        ("/%61pi/v2/account/", 404),
        ("/api/v2/account;x=1/", 401),
        ("/api/v2/coverage/../account/", 404),
    ] {
        let answer = hub.get(path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
    }
    let request = format!("GET http://{}/api/v2/events HTTP/1.1\r\nhost: x\r\n", hub.address);
    check_401(&hub, &raw(&hub, &request).await, "an absolute address");
}

/// For any path, method, query and headers, the response is never a server error.
#[tokio::test]
async fn no_request_causes_a_server_error() {
    let hub = Hub::quiet();
    let key = hub.key(&["sports", "odds"]);
    let path = prop_oneof![
        "/[!-~&&[^#]]{0,30}",
        "/(api|tennis|odds|stream|mcp|img|v1|v2|channels|%2e%2e|%00|\\.\\.)(/[a-z0-9%.?=&;]{0,8}){0,6}",
        "/stream/v1/channels/[!-~&&[^#]]{0,30}",
        "/api/v2/(account|stream/ticket|events)/?\\?[a-z%=&+0-9\\[\\]]{0,30}",
    ];
    let method = prop_oneof!["(GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|TRACE)", "[A-Z]{1,9}"];
    let name = "(authorization|origin|x-forwarded-for|if-none-match|accept|cookie|sec-websocket-protocol|content-type|upgrade|connection|[a-z-]{1,12})";
    let value = prop_oneof![
        "[ -~]{0,40}",
        Just(format!("Token {key}")),
        Just(format!("Token {key}, Token {WRONG}")),
        Just("Token".to_owned()),
    ];
    let headers = prop::collection::vec((name, value), 0..4);
    let mut runner = TestRunner::deterministic();
    let requests = (method, path, headers);
    for _ in 0..400 {
        let (method, path, headers) = requests.new_tree(&mut runner).expect("a request").current();
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\n");
        headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        let answer = raw(&hub, &head).await;
        // An unknown method is the client's fault.
        let is_fault = answer.status >= 500 && answer.status != 501;
        assert!(!is_fault, "{head} is answered {answer:?}");
        let is_json = answer.header("content-type") == Some("application/json");
        if answer.status >= 400 && is_json && method != "HEAD" {
            let body: Value = answer.json();
            assert!(body["error"].is_boolean() || body["code"].is_string(), "{head}: {body}");
        }
    }
}
