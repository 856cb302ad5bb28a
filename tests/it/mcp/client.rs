//! A client that knows only the specification of the protocol.

use std::time::Duration;

use data_encoding::BASE64;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};

use crate::support::{Answer, Hub, PATIENCE};

/// The generation of the protocol that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// 2026-07-28: every request says what the server needs to know.
    Modern,
    /// 2025-11-25, after `initialize`.
    Legacy,
}

pub(super) const ERAS: [Era; 2] = [Era::Modern, Era::Legacy];

const META: &str = "io.modelcontextprotocol";

impl Era {
    pub(super) fn version(self) -> &'static str {
        match self {
            Self::Modern => "2026-07-28",
            Self::Legacy => "2025-11-25",
        }
    }
}

/// A client of one server.
#[derive(Debug, Clone)]
pub(super) struct McpClient {
    address: String,
    key: String,
    path: String,
    pub(super) era: Era,
}

/// A request as it is sent.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

impl Outgoing {
    /// Replaces a header, or adds it.
    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(existing, _)| !existing.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(existing, _)| !existing.eq_ignore_ascii_case(name));
        self
    }

    /// Sends it on a connection of its own.
    pub(super) async fn send(&self, hub: &Hub) -> Answer {
        self.send_text(hub, &self.body.to_string()).await
    }

    /// The same with another body.
    pub(super) async fn send_text(&self, hub: &Hub, body: &str) -> Answer {
        let headers = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        hub.post(&self.path, &headers.collect::<Vec<_>>(), body.as_bytes()).await
    }
}

impl McpClient {
    /// A client of 2026-07-28 of the server at `/mcp`.
    pub(super) fn new(hub: &Hub, key: &str) -> Self {
        let (address, key) = (hub.address.clone(), key.to_owned());
        Self { address, key, path: "/mcp".to_owned(), era: Era::Modern }
    }

    /// The same at another path.
    pub(super) fn at(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    pub(super) fn with_era(self, era: Era) -> Self {
        Self { era, ..self }
    }

    /// A request, before it is sent.
    pub(super) fn request(&self, method: &str, params: &Value) -> Outgoing {
        let mut params = params.clone();
        let mut headers = vec![
            ("authorization".to_owned(), format!("Bearer {}", self.key)),
            ("accept".to_owned(), "application/json, text/event-stream".to_owned()),
            ("content-type".to_owned(), "application/json".to_owned()),
        ];
        if self.era == Era::Modern || method != "initialize" {
            headers.push(("mcp-protocol-version".to_owned(), self.era.version().to_owned()));
        }
        if self.era == Era::Modern {
            let meta = &mut params["_meta"];
            meta[format!("{META}/protocolVersion")] = self.era.version().into();
            meta[format!("{META}/clientInfo")] = json!({"name": "it", "version": "1"});
            meta[format!("{META}/clientCapabilities")] = json!({});
            headers.push(("mcp-method".to_owned(), method.to_owned()));
            let named = match method {
                "tools/call" | "prompts/get" => params["name"].as_str(),
                "resources/read" => params["uri"].as_str(),
                _ => None,
            };
            if let Some(name) = named {
                headers.push(("mcp-name".to_owned(), header_value(name)));
            }
        }
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        Outgoing { path: self.path.clone(), headers, body }
    }

    /// The response to a request, and its HTTP status.
    pub(super) async fn respond(&self, method: &str, params: &Value) -> (u16, Value) {
        let mut stream = EventStream::open(self, method, params).await;
        let status = stream.status;
        if stream.is_stream() {
            // Notifications may come before it.
            loop {
                let message = stream.next().await.expect("a response before the end");
                if message.get("id").is_some() {
                    return (status, message);
                }
            }
        }
        let body = stream.rest().await;
        let body = serde_json::from_str(&body);
        (status, body.unwrap_or_else(|_| panic!("no JSON for {method} {params}: {stream:?}")))
    }

    /// The result of a request that succeeds.
    pub(super) async fn result(&self, method: &str, params: Value) -> Value {
        let (status, body) = self.respond(method, &params).await;
        assert_eq!(
            (status, &body["jsonrpc"], &body["id"]),
            (200, &json!("2.0"), &json!(7)),
            "{body}"
        );
        assert_eq!(body.get("error"), None, "{method} {params}: {body}");
        body["result"].clone()
    }

    /// The status and the error of a request that fails.
    pub(super) async fn error(&self, method: &str, params: Value) -> (u16, Value) {
        let (status, body) = self.respond(method, &params).await;
        assert!(body["error"]["message"].is_string(), "{method} {params} is answered: {body}");
        (status, body["error"].clone())
    }

    /// The result of a tool, whether it is an error or not.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// What a tool answers: its structured content, which is its text as well.
    pub(super) async fn answer(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments.clone()).await;
        assert_ne!(result["isError"], true, "{tool} {arguments}: {result}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        let structured = &result["structuredContent"];
        let parsed: Value = serde_json::from_str(text).expect("the text is JSON");
        assert_eq!(parsed, *structured, "{tool} {arguments}: the text differs");
        structured.clone()
    }

    /// Why a tool refuses.
    pub(super) async fn refusal(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments.clone()).await;
        assert_eq!(result["isError"], true, "{tool} {arguments} is answered: {result}");
        refusal(&result)
    }

    pub(super) async fn tools(&self) -> Vec<Value> {
        let listed = self.result("tools/list", json!({})).await;
        listed["tools"].as_array().expect("a list").clone()
    }
}

/// The refusal in the text of a result.
pub(super) fn refusal(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().expect("a text");
    let refusal: Value = serde_json::from_str(text).expect("a refusal is JSON");
    super::results::check_text("a refusal", &refusal);
    assert!(refusal["code"].is_string() && refusal["message"].is_string(), "{refusal}");
    refusal
}

/// A name as a header has it: in Base64 unless it is plain.
fn header_value(name: &str) -> String {
    if name.bytes().all(|byte| (b'!'..=b'~').contains(&byte)) {
        return name.to_owned();
    }
    format!("=?base64?{}?=", BASE64.encode(name.as_bytes()))
}

/// A response that is read as it arrives.
#[derive(Debug)]
pub(super) struct EventStream {
    socket: TcpStream,
    pub(super) status: u16,
    head: String,
    /// What has arrived and is not decoded yet.
    raw: Vec<u8>,
    /// What is decoded and not returned yet.
    decoded: Vec<u8>,
    is_over: bool,
}

impl EventStream {
    /// Sends a request, and reads the head of its response.
    pub(super) async fn open(client: &McpClient, method: &str, params: &Value) -> Self {
        let socket = TcpStream::connect(&client.address).await.expect("it connects");
        Self::open_on(socket, client, method, params).await
    }

    /// The same on this connection.
    pub(super) async fn open_on(
        socket: TcpStream,
        client: &McpClient,
        method: &str,
        params: &Value,
    ) -> Self {
        let mut socket = send_on(socket, client, method, params).await;
        let mut raw = Vec::new();
        let end = loop {
            if let Some(end) = raw.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            let read = timeout(PATIENCE, socket.read_buf(&mut raw)).await.expect("a head in time");
            assert_ne!(read.expect("it lasts"), 0, "no head: {}", String::from_utf8_lossy(&raw));
        };
        let head = String::from_utf8(raw[..end].to_vec()).expect("a head is text");
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
        raw.drain(..end + 4);
        Self { socket, status, head, raw, decoded: Vec::new(), is_over: false }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(existing, _)| existing.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(super) fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// The next message; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Value> {
        let next = timeout(PATIENCE, self.next_message()).await;
        next.unwrap_or_else(|_| panic!("no message came"))
    }

    /// The next message within this time.
    pub(super) async fn next_within(&mut self, time: Duration) -> Option<Value> {
        timeout(time, self.next_message()).await.ok().flatten()
    }

    /// All messages that come within this time.
    pub(super) async fn all_within(&mut self, time: Duration) -> Vec<Value> {
        let end = Instant::now() + time;
        let mut all = Vec::new();
        while let Ok(Some(message)) = timeout_at(end, self.next_message()).await {
            all.push(message);
        }
        all
    }

    async fn next_message(&mut self) -> Option<Value> {
        loop {
            while let Some(end) = self.decoded.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = self.decoded.drain(..end + 2).collect();
                let event = String::from_utf8(event).expect("an event is text");
                let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
                let data = data.collect::<String>();
                if !data.trim().is_empty() {
                    let message = serde_json::from_str(&data);
                    return Some(message.unwrap_or_else(|_| panic!("no JSON: {event}")));
                }
            }
            let before = self.decoded.len();
            self.decode();
            if self.decoded.len() == before && !self.read().await {
                return None;
            }
        }
    }

    /// The rest of the body, when it is no stream.
    async fn rest(&mut self) -> String {
        let reading = async { while self.read().await {} };
        timeout(PATIENCE, reading).await.expect("a whole answer in time");
        String::from_utf8(std::mem::take(&mut self.decoded)).expect("an answer is text")
    }

    /// Reads and decodes more; `false` at the end.
    async fn read(&mut self) -> bool {
        self.decode();
        if self.is_over || self.socket.read_buf(&mut self.raw).await.unwrap_or(0) == 0 {
            return false;
        }
        self.decode();
        true
    }

    /// Takes what has arrived out of its chunks.
    fn decode(&mut self) {
        if self.header("transfer-encoding") != Some("chunked") {
            self.decoded.append(&mut self.raw);
            return;
        }
        while let Some(line) = self.raw.windows(2).position(|two| two == b"\r\n") {
            let size = std::str::from_utf8(&self.raw[..line]).expect("a size is text");
            let size = usize::from_str_radix(size.trim(), 16).expect("a size");
            let end = line + 2 + size;
            if self.raw.len() < end + 2 {
                return;
            }
            self.decoded.extend_from_slice(&self.raw[line + 2..end]);
            self.raw.drain(..end + 2);
            self.is_over |= size == 0;
        }
    }
}

/// Sends a request without reading its response.
pub(super) async fn send_on(
    mut socket: TcpStream,
    client: &McpClient,
    method: &str,
    params: &Value,
) -> TcpStream {
    let Outgoing { path, headers, body } = client.request(method, params);
    let body = body.to_string();
    let mut head =
        format!("POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", client.address);
    headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
    head += &format!("content-length: {}\r\n\r\n{body}", body.len());
    socket.write_all(head.as_bytes()).await.expect("it takes a request");
    socket
}
