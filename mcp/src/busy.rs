//! What a client hears whose account has too many requests waiting.

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};

use crate::{direct::MODERN, refusal::Refusal};

/// The response to a request that is not answered for so many seconds: for a call the result of its tool, which the model reads,
/// otherwise an error of the protocol. `None` if the body is no request. Hosts show the model no other status than 200.
#[must_use]
pub fn busy(body: &[u8], seconds: u64) -> Option<Response> {
    busy_message(body, seconds).map(|message| Json(message).into_response())
}

fn busy_message(body: &[u8], seconds: u64) -> Option<Value> {
    let request: Value = serde_json::from_slice(body).ok()?;
    let id = request.get("id").filter(|id| id.is_string() || id.is_number())?;
    let method = request.get("method")?.as_str()?;
    let refusal = Refusal::rate_limited(seconds);
    let mut response = json!({"jsonrpc": "2.0", "id": id});
    if method == "tools/call" {
        let version = request.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
        response["result"] = serde_json::to_value(refusal.result()).ok()?;
        if version.and_then(Value::as_str) == Some(MODERN) {
            response["result"]["resultType"] = "complete".into();
        }
    } else {
        response["error"] = serde_json::to_value(refusal.error()).ok()?;
    }
    Some(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(request: &Value) -> Option<Value> {
        busy_message(request.to_string().as_bytes(), 7)
    }

    #[test]
    fn model_reads_when_to_call_again() {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}});
        let response = message(&call).expect("a response");
        assert_eq!((&response["id"], &response["result"]["isError"]), (&json!(1), &json!(true)));
        let text = response["result"]["content"][0]["text"].as_str().expect("a text");
        let refusal: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(refusal["code"], "rate_limited");
        assert_eq!(refusal["retry_after_s"], 7);
    }

    #[test]
    fn other_requests_get_an_error_and_notifications_nothing() {
        let list = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list"});
        let response = message(&list).expect("a response");
        assert_eq!((&response["id"], &response["error"]["code"]), (&json!("a"), &json!(-32000)));
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(message(&notification), None);
        assert_eq!(busy_message(b"nonsense", 7), None);
    }
}
