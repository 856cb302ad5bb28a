//! A message of the host, and the HTTP headers that it needs.

use data_encoding::BASE64;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// Where a message of protocol version 2026-07-28 or newer names its version.
const VERSION_POINTER: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// A request or a notification. It is forwarded unchanged.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    pub(super) text: Vec<u8>,
    /// `None` for a notification.
    pub(super) id: Option<Value>,
    pub(super) method: String,
    /// What it calls, reads or gets.
    name: Option<String>,
    /// The protocol version that it names itself.
    version: Option<String>,
    /// The request that it cancels.
    pub(super) cancels: Option<Value>,
}

/// Why a line is not forwarded.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rejection {
    /// To be answered with this error.
    Error { id: Value, code: i64, message: &'static str },
    /// A response. The servers send no requests, so nobody waits for it.
    Response,
}

impl Message {
    /// # Errors
    ///
    /// If the line is not a request or a notification.
    pub(super) fn parse(text: Vec<u8>) -> Result<Self, Rejection> {
        let error = |id: Option<Value>, code, message| {
            Err(Rejection::Error { id: id.unwrap_or_default(), code, message })
        };
        let Ok(value) = serde_json::from_slice::<Value>(&text) else {
            return error(None, -32700, "the line is not JSON");
        };
        if value.is_array() {
            return error(None, -32600, "batches are not part of the protocol");
        }
        let id = value.get("id").filter(|id| !id.is_null()).cloned();
        let Some(method) = value.get("method").and_then(Value::as_str) else {
            if ["result", "error"].iter().any(|name| value.get(name).is_some()) {
                return Err(Rejection::Response);
            }
            return error(id, -32600, "the message has no method");
        };
        if id.as_ref().is_some_and(|id| !id.is_string() && !id.is_number()) {
            return error(None, -32600, "the id is neither a text nor a number");
        }
        let text_at = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
        let name = match method {
            "tools/call" | "prompts/get" => text_at("/params/name"),
            "resources/read" => text_at("/params/uri"),
            _ => None,
        };
        let cancels = match method {
            "notifications/cancelled" => value.pointer("/params/requestId").cloned(),
            _ => None,
        };
        Ok(Self {
            id,
            method: method.to_owned(),
            name: name.map(str::to_owned),
            version: text_at(VERSION_POINTER).map(str::to_owned),
            cancels,
            text,
        })
    }

    /// Whether its answer is a stream that ends only with the subscription.
    pub(super) fn is_listen(&self) -> bool {
        self.method == "subscriptions/listen"
    }

    /// The headers that repeat parts of the message. `negotiated` is the version that the server chose in
    /// answer to an `initialize` of an older client, which names none in its later messages.
    pub(super) fn headers(&self, negotiated: Option<&HeaderValue>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(version) = &self.version {
            headers.insert(PROTOCOL_VERSION, header_value(version));
            headers.insert(METHOD, header_value(&self.method));
            if let Some(name) = &self.name {
                headers.insert(NAME, header_value(name));
            }
        } else if let Some(version) = negotiated.filter(|_| self.method != "initialize") {
            headers.insert(PROTOCOL_VERSION, version.clone());
        }
        headers
    }
}

/// The text as the value of a header: unchanged if it can be one, and in Base64 otherwise.
pub(super) fn header_value(text: &str) -> HeaderValue {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let encoded = match is_plain {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", BASE64.encode(text.as_bytes())),
    };
    HeaderValue::try_from(encoded).expect("Base64 and printable ASCII are valid in a header")
}

/// A JSON-RPC error as one line.
pub(super) fn error_line(id: &Value, code: i64, message: &str, data: Option<Value>) -> Vec<u8> {
    let mut error = json!({"code": code, "message": message});
    if let Some(data) = data {
        error["data"] = data;
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Message {
        Message::parse(text.as_bytes().to_vec()).expect("a message")
    }

    #[track_caller]
    fn check_headers(text: &str, negotiated: Option<&str>, expected: &[(&str, &str)]) {
        let negotiated = negotiated.map(|version| version.parse().unwrap());
        let headers = message(text).headers(negotiated.as_ref());
        let mut found: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn headers_repeat_what_the_message_says() {
        let modern = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let expected = [
            ("mcp-method", "tools/call"),
            ("mcp-name", "find"),
            ("mcp-protocol-version", "2026-07-28"),
        ];
        check_headers(modern, None, &expected);
        check_headers(modern, Some("2025-11-25"), &expected);
        check_headers(
            &modern.replace("tools/call", "resources/read").replace("name", "uri"),
            None,
            &[
                ("mcp-method", "resources/read"),
                ("mcp-name", "find"),
                ("mcp-protocol-version", "2026-07-28"),
            ],
        );
        check_headers(
            &modern.replace("tools/call", "tools/list"),
            None,
            &[("mcp-method", "tools/list"), ("mcp-protocol-version", "2026-07-28")],
        );
    }

    #[test]
    fn older_clients_get_the_negotiated_version() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find"}}"#;
        check_headers(call, Some("2025-11-25"), &[("mcp-protocol-version", "2025-11-25")]);
        check_headers(call, None, &[]);
        check_headers(r#"{"id":1,"method":"initialize"}"#, Some("2025-11-25"), &[]);
    }

    #[test]
    fn values_that_no_header_can_hold_are_in_base64() {
        let check = |text: &str, expected: &str| assert_eq!(header_value(text), expected, "{text}");
        check("us-west1", "us-west1");
        check("a b", "a b");
        check("", "");
        check("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
        check(" padded ", "=?base64?IHBhZGRlZCA=?=");
        check("line1\nline2", "=?base64?bGluZTEKbGluZTI=?=");
        check("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    }

    #[test]
    fn lines_that_are_no_message_are_rejected() {
        let check = |text: &str, expected: (Value, i64)| match Message::parse(text.into()) {
            Err(Rejection::Error { id, code, .. }) => assert_eq!((id, code), expected, "{text}"),
            other => panic!("{text}: {other:?}"),
        };
        check("nonsense", (Value::Null, -32700));
        check("[]", (Value::Null, -32600));
        check("{}", (Value::Null, -32600));
        check(r#"{"id":7}"#, (json!(7), -32600));
        check(r#"{"id":{},"method":"ping"}"#, (Value::Null, -32600));
        let response = Message::parse(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_vec());
        assert_eq!(response, Err(Rejection::Response));
    }

    #[test]
    fn cancellation_names_its_request() {
        let cancelled = r#"{"method":"notifications/cancelled","params":{"requestId":"a"}}"#;
        assert_eq!(message(cancelled).cancels, Some(json!("a")));
        assert_eq!(message(r#"{"id":1,"method":"ping"}"#).cancels, None);
    }
}
