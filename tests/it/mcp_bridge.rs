//! `matchwire mcp`: the real program between a host that writes lines and an HTTP server.

use std::{
    collections::HashMap,
    process::Stdio,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    response::{IntoResponse, Response},
    routing::post,
};
use hyper::{HeaderMap, StatusCode, Uri, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    net::TcpListener,
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::{Notify, mpsc},
    time::timeout,
};

use crate::support::{Hub, PATIENCE, program};

const KEY: &str = "mw_000102030405060708090a0b0c0d0e0f1011121314151617";

/// The bridge, with both ends of its pipes.
struct Bridge {
    process: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Bridge {
    fn start(url: &str, arguments: &[&str]) -> Self {
        Self::start_with(url, arguments, KEY)
    }

    fn start_with(url: &str, arguments: &[&str], key: &str) -> Self {
        let mut command = program();
        command.args(["mcp", "--url", url]).args(arguments).env("MATCHWIRE_KEY", key);
        let mut process = Command::from(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program starts");
        let input = process.stdin.take();
        let output = process.stdout.take().expect("its output is piped");
        Self { process, input, output: BufReader::new(output).lines() }
    }

    async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    async fn send_text(&mut self, text: &str) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(format!("{text}\n").as_bytes()).await.expect("it reads");
    }

    async fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id = id.into();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    async fn next(&mut self) -> Value {
        let line = timeout(PATIENCE, self.output.next_line()).await.expect("a line in time");
        let line = line.expect("text").expect("a line before the end");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"))
    }

    /// The message of the error that answers this request.
    async fn next_error(&mut self, id: impl Into<Value>) -> String {
        let answer = self.next().await;
        assert_eq!(answer["id"], id.into(), "{answer}");
        answer["error"]["message"].as_str().expect("an error").to_owned()
    }

    /// Closes its input; returns the rest of its output and what it logged.
    async fn end(mut self) -> (Vec<String>, String) {
        drop(self.input.take());
        let mut rest = Vec::new();
        let reading = async {
            while let Some(line) = self.output.next_line().await.expect("text") {
                rest.push(line);
            }
            let mut log = String::new();
            let mut stderr = self.process.stderr.take().expect("its errors are piped");
            stderr.read_to_string(&mut log).await.expect("text");
            assert!(self.process.wait().await.expect("it ends").success(), "{log}");
            log
        };
        let log = timeout(PATIENCE, reading).await.expect("it ends in time");
        assert!(!log.contains(KEY), "the key is logged: {log}");
        (rest, log)
    }
}

/// A request that the server got.
#[derive(Debug, Clone)]
struct Received {
    path: String,
    headers: HeaderMap,
    body: Value,
}

/// An MCP server that answers by the name of the tool.
#[derive(Debug, Clone, Default)]
struct Server {
    received: Arc<Mutex<Vec<Received>>>,
    /// Lets `slow` answer.
    go_on: Arc<Notify>,
    /// The streams that are open, by the id of their request.
    streams: Arc<Mutex<HashMap<String, mpsc::Sender<Bytes>>>>,
    stream_opened: Arc<Notify>,
}

impl Server {
    async fn start() -> (Self, String) {
        let server = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let router = Router::new()
            .route("/mcp", post(answer))
            .route("/tennis/mcp", post(answer))
            .with_state(server.clone());
        tokio::spawn(axum::serve(listener, router).into_future());
        (server, url)
    }

    fn received(&self, method: &str) -> Received {
        let received = self.received.lock().expect("no panic");
        let found = received.iter().rev().find(|it| it.body["method"] == method);
        found.cloned().unwrap_or_else(|| panic!("{method} was not received"))
    }

    /// The stream of this request, once it is open.
    async fn stream(&self, id: &str) -> mpsc::Sender<Bytes> {
        let opening = async {
            loop {
                let opened = self.stream_opened.notified();
                if let Some(stream) = self.streams.lock().expect("no panic").get(id) {
                    return stream.clone();
                }
                opened.await;
            }
        };
        timeout(PATIENCE, opening).await.expect("the stream opens")
    }
}

async fn answer(
    State(server): State<Server>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body: Value = serde_json::from_slice(&body).expect("a message");
    let path = uri.path().to_owned();
    let received = Received { path, headers, body: body.clone() };
    server.received.lock().expect("no panic").push(received);
    let Some(id) = body.get("id") else { return StatusCode::ACCEPTED.into_response() };
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    let json = |status: StatusCode, body: &Value| {
        // With line breaks, which must not reach the host.
        (status, [(CONTENT_TYPE, "application/json")], format!("{body:#}\n")).into_response()
    };
    let tool = body["params"]["name"].as_str().unwrap_or_default();
    match (body["method"].as_str().unwrap_or_default(), tool) {
        ("initialize", _) => {
            json(StatusCode::OK, &result(json!({"protocolVersion": "2025-06-18"})))
        }
        ("subscriptions/listen", _) | (_, "stream") => stream(&server, &id.to_string()),
        (_, "slow") => {
            server.go_on.notified().await;
            json(StatusCode::OK, &result(json!("slow")))
        }
        (_, "refused") => {
            let body =
                json!({"error": "Authentication required", "code": "authentication_required"});
            json(StatusCode::UNAUTHORIZED, &body)
        }
        (_, "unpaid") => {
            let body = json!({
                "code": "addon_required", "detail": format!("The Sports add-on, not {KEY}."),
                "pricing_url": "https://api.test/pricing/",
            });
            json(StatusCode::PAYMENT_REQUIRED, &body)
        }
        (_, "busy") => {
            let mut response =
                json(StatusCode::TOO_MANY_REQUESTS, &json!({"code": "rate_limited"}));
            response.headers_mut().insert("retry-after", "7".parse().expect("a header"));
            response
        }
        (_, "mismatch") => {
            let error = json!({"jsonrpc": "2.0", "error": {"code": -32020, "message": "mismatch"}});
            json(StatusCode::BAD_REQUEST, &error)
        }
        (_, "page") => "<!doctype html>".into_response(),
        _ => json(StatusCode::OK, &result(json!({"text": "a\nb"}))),
    }
}

fn stream(server: &Server, id: &str) -> Response {
    let (chunks, mut from_test) = mpsc::channel::<Bytes>(16);
    server.streams.lock().expect("no panic").insert(id.to_owned(), chunks);
    server.stream_opened.notify_waiters();
    let body = futures_util::stream::poll_fn(move |context| {
        from_test.poll_recv(context).map(|chunk| chunk.map(Ok::<_, std::io::Error>))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(body)).into_response()
}

fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    params
}

#[tokio::test]
async fn request_is_posted_with_key_and_headers_and_answered_on_one_line() {
    let (server, url) = Server::start().await;
    let mut bridge = Bridge::start(&url, &["--sport", "tennis"]);
    bridge.request(1, "tools/call", modern(json!({"name": "Größe"}))).await;
    let answer = bridge.next().await;
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 1, "result": {"text": "a\nb"}}));
    let Received { path, headers, body } = server.received("tools/call");
    assert_eq!(path, "/tennis/mcp");
    let header = |name: &str| headers.get(name).map(|value| value.to_str().expect("ASCII"));
    assert_eq!(header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(header("content-type"), Some("application/json"));
    assert_eq!(header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(header("mcp-method"), Some("tools/call"));
    assert_eq!(header("mcp-name"), Some("=?base64?R3LDtsOfZQ==?="));
    assert_eq!(body["params"]["name"], "Größe");
    bridge.end().await;
}

#[tokio::test]
async fn older_client_sends_the_version_that_was_negotiated() {
    let (server, url) = Server::start().await;
    let mut bridge = Bridge::start(&url, &[]);
    bridge.request("a", "initialize", json!({"protocolVersion": "2025-11-25"})).await;
    assert_eq!(bridge.next().await["result"]["protocolVersion"], "2025-06-18");
    bridge.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    bridge.request("b", "tools/list", json!({})).await;
    assert_eq!(bridge.next().await["id"], "b");
    let (rest, _) = bridge.end().await;
    assert!(rest.is_empty(), "a notification was answered: {rest:?}");
    let version =
        |method: &str| server.received(method).headers.get("mcp-protocol-version").cloned();
    assert_eq!(version("initialize"), None);
    for method in ["notifications/initialized", "tools/list"] {
        assert_eq!(version(method).expect("a version"), "2025-06-18", "{method}");
    }
    assert!(server.received("tools/list").headers.get("mcp-method").is_none());
}

#[tokio::test]
async fn messages_of_a_stream_are_passed_on_up_to_the_answer() {
    let (server, url) = Server::start().await;
    let mut bridge = Bridge::start(&url, &[]);
    bridge.request(5, "tools/call", json!({"name": "stream"})).await;
    let stream = server.stream("5").await;
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress"});
    let event = format!(": alive\n\nevent: message\r\ndata: {progress}\r\n\r\ndata: {{\"json");
    stream.send(event.into()).await.expect("it reads");
    assert_eq!(bridge.next().await, progress);
    let rest = "rpc\":\"2.0\",\ndata: \"id\":5,\"result\":{}}\n\n";
    stream.send(rest.into()).await.expect("it reads");
    assert_eq!(bridge.next().await, json!({"jsonrpc": "2.0", "id": 5, "result": {}}));
    timeout(PATIENCE, stream.closed()).await.expect("the stream is closed after the answer");
    bridge.end().await;
}

#[tokio::test]
async fn stream_that_breaks_is_answered_with_an_error() {
    let (server, url) = Server::start().await;
    let mut bridge = Bridge::start(&url, &[]);
    bridge.request(1, "tools/call", json!({"name": "stream"})).await;
    drop(server.stream("1").await);
    server.streams.lock().expect("no panic").clear();
    let error = bridge.next_error(1).await;
    assert!(error.contains("broke before the answer"), "{error}");
    bridge.end().await;
}

#[tokio::test]
async fn long_requests_hold_up_no_others_and_end_with_the_input() {
    let (server, url) = Server::start().await;
    let mut bridge = Bridge::start(&url, &[]);
    bridge.request("listen", "subscriptions/listen", modern(json!({}))).await;
    let stream = server.stream("\"listen\"").await;
    bridge.request("slow", "tools/call", json!({"name": "slow"})).await;
    for id in 0..50 {
        bridge.request(id, "tools/call", json!({"name": "find"})).await;
    }
    let mut ids = Vec::new();
    for _ in 0..50 {
        ids.push(bridge.next().await["id"].as_i64().expect("a number"));
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..50).collect::<Vec<_>>());
    let updated = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated"});
    stream.send(format!("data: {updated}\n\n").into()).await.expect("it reads");
    assert_eq!(bridge.next().await, updated);
    server.go_on.notify_one();
    let (rest, _) = bridge.end().await;
    assert_eq!(rest.len(), 1, "the slow request is answered, the subscription is not: {rest:?}");
    assert!(rest[0].contains("\"slow\""), "{rest:?}");
    timeout(PATIENCE, stream.closed()).await.expect("the subscription ends");
}

#[tokio::test]
async fn cancelled_request_is_closed_and_not_answered() {
    let (server, url) = Server::start().await;
    let mut bridge = Bridge::start(&url, &[]);
    bridge.request(1, "tools/call", json!({"name": "stream"})).await;
    let stream = server.stream("1").await;
    let cancelled = json!({"requestId": 1, "reason": "enough"});
    bridge.send(&json!({"method": "notifications/cancelled", "params": cancelled})).await;
    timeout(PATIENCE, stream.closed()).await.expect("the connection is closed");
    bridge.request(2, "tools/call", json!({"name": "find"})).await;
    assert_eq!(bridge.next().await["id"], 2);
    let (rest, _) = bridge.end().await;
    assert!(rest.is_empty(), "{rest:?}");
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    let (_server, url) = Server::start().await;
    let mut bridge = Bridge::start(&url, &[]);
    let mut refusal = async |tool: &str| {
        bridge.request(tool, "tools/call", json!({"name": tool})).await;
        bridge.next().await
    };
    let answer = refusal("refused").await;
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.contains("401") && message.contains("MATCHWIRE_KEY"), "{message}");
    let data = json!({"status": 401, "code": "authentication_required"});
    assert_eq!((&answer["error"]["code"], &answer["error"]["data"]), (&json!(-32000), &data));

    let answer = refusal("unpaid").await.to_string();
    assert!(answer.contains("402") && answer.contains("https://api.test/pricing/"), "{answer}");

    let answer = refusal("busy").await;
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.contains("429") && message.contains("wait 7 seconds"), "{message}");

    let answer = refusal("page").await.to_string();
    assert!(answer.contains("check --url"), "{answer}");
    let answer = refusal("mismatch").await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("mismatch"), &json!(-32020)));
    bridge.end().await;
}

#[tokio::test]
async fn invalid_lines_are_answered_and_the_bridge_continues() {
    let (_server, url) = Server::start().await;
    let mut bridge = Bridge::start(&url, &[]);
    bridge.send_text("nonsense").await;
    assert_eq!(bridge.next().await["error"]["code"], -32700);
    bridge.send_text("").await;
    bridge.send(&json!({"jsonrpc": "2.0", "id": 9, "result": {}})).await;
    bridge.send_text(&format!("\"{}\"", "x".repeat(5 * 1024 * 1024))).await;
    assert_eq!(bridge.next().await["error"]["code"], -32600);
    bridge.request(1, "tools/list", json!({})).await;
    assert_eq!(bridge.next().await["id"], 1);
    bridge.end().await;
}

/// A server whose connections the test answers by hand.
async fn raw_server() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("its address"));
    (listener, url)
}

/// Reads a request; closes the connection without an answer.
async fn hang_up(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().await.expect("a connection");
    assert_ne!(stream.read_buf(&mut Vec::new()).await.expect("a request"), 0);
}

#[tokio::test]
async fn broken_connection_is_retried_once() {
    let (listener, url) = raw_server().await;
    let mut bridge = Bridge::start(&url, &[]);
    bridge.request(1, "tools/list", json!({})).await;
    hang_up(&listener).await;
    let (mut stream, _) = listener.accept().await.expect("a second attempt");
    assert_ne!(stream.read_buf(&mut Vec::new()).await.expect("a request"), 0);
    let body = json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(answer.as_bytes()).await.expect("it reads");
    assert_eq!(bridge.next().await["result"], json!({}));

    bridge.request(2, "tools/list", json!({})).await;
    hang_up(&listener).await;
    hang_up(&listener).await;
    let error = bridge.next_error(2).await;
    assert!(error.contains("broke"), "{error}");
    bridge.end().await;
}

#[tokio::test]
async fn server_that_is_down_or_silent_is_an_error() {
    let (listener, url) = raw_server().await;
    let mut bridge = Bridge::start(&url, &["--timeout", "1"]);
    bridge.request(1, "tools/list", json!({})).await;
    let (_silent, _) = listener.accept().await.expect("a connection");
    let error = bridge.next_error(1).await;
    assert!(error.contains("sent nothing for 1 s"), "{error}");
    drop(listener);
    bridge.request(2, "tools/list", json!({})).await;
    let error = bridge.next_error(2).await;
    assert!(error.contains("cannot reach") && error.contains("--url"), "{error}");
    bridge.end().await;
}

#[tokio::test]
async fn wrong_arguments_are_refused() {
    let run = async |arguments: &[&str]| {
        let output = program().arg("mcp").args(arguments).stdin(Stdio::null()).output();
        let output = output.expect("the program runs");
        assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    let url = ["--url", "http://127.0.0.1:1"];
    let error = run(&[&url[..], &["--key", "env:MATCHWIRE_NOT_SET"]].concat()).await;
    assert!(error.contains("MATCHWIRE_NOT_SET"), "{error}");
    let with_key = ["--url", "http://127.0.0.1:1?token=mw_secret", "--key", "x"];
    let error = run(&with_key).await;
    assert!(error.contains("--key env:NAME") && !error.contains("mw_secret"), "{error}");
    let twice = ["--url", "http://127.0.0.1:1/mcp", "--sport", "tennis", "--key", "x"];
    assert!(run(&twice).await.contains("--sport"));
}

/// The whole way: a host that writes lines, the bridge, and the hub's own server.
#[tokio::test]
async fn host_calls_the_tools_of_a_hub_through_the_bridge() {
    let hub = Hub::quiet();
    let key = hub.key(&["sports"]);
    let url = format!("http://{}", hub.address);
    let mut bridge = Bridge::start_with(&url, &["--sport", "darts"], &key);
    let client = json!({"name": "host", "version": "1"});
    let version = "2025-11-25";
    let hello = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
    bridge.request(1, "initialize", hello).await;
    let hello = bridge.next().await;
    assert_eq!(hello["result"]["serverInfo"]["name"], "matchwire-darts");
    assert_eq!(hello["result"]["protocolVersion"], version);
    bridge.request(2, "tools/call", json!({"name": "list_players", "arguments": {}})).await;
    let players = bridge.next().await;
    assert_eq!(players["result"]["structuredContent"]["data"]["count"], 0, "{players}");
    bridge.end().await;

    let without = hub.key(&[]);
    let mut bridge = Bridge::start_with(&url, &["--sport", "darts"], &without);
    bridge.request(3, "tools/list", json!({})).await;
    let refused = bridge.next_error(3).await;
    assert!(refused.contains("add-on"), "{refused}");
    bridge.end().await;
}
