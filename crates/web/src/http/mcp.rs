//! Mounts the MCP servers: which paths are theirs, and what they answer from. Refuses calls of tools in a way that reaches the
//! model.

use std::time::Duration;

use axum::{
    Json, Router,
    body::to_bytes,
    extract::Request,
    response::{IntoResponse, Response},
};
use hyper::{
    StatusCode,
    header::{CACHE_CONTROL, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE},
};
use mcp::{DocsPage, McpParts};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Shared;

/// The routes of the servers, which ask the hub's other routes. `docs` are pages that they offer as resources. `stop` ends
/// calls that wait, and streams.
pub(crate) fn routes(
    shared: &Shared,
    rest: Router,
    openapi: &Value,
    docs: Vec<DocsPage>,
    stop: CancellationToken,
) -> Router {
    let parts = &shared.parts;
    let parts = McpParts {
        config: parts.settings.mcp.clone(),
        rest,
        history: parts.matches.history.clone(),
        hub: parts.hub.handle.clone(),
        accounts: parts.customers.accounts.clone(),
        prices: parts.customers.prices.clone(),
        limits: parts.admission.limits.clone(),
        meter: parts.customers.meter.clone(),
        public_url: parts.settings.public_url.as_str().into(),
        stale_after_ms: parts.settings.stale_after_ms,
        docs,
        stop,
    };
    mcp::routes(parts, openapi)
}

/// What is read of a refused request: its bytes, and how long they may take.
const REFUSED_BYTES_MAX: usize = 64 * 1024;
const REFUSED_WITHIN: Duration = Duration::from_secs(1);

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The first version whose results say that they are complete.
const MODERN: &[u8] = b"2026-07-28";

/// A message of the client, as far as a refusal needs it.
#[derive(Debug, Deserialize)]
struct Message {
    id: Value,
    method: String,
}

/// The refusal of a call of a tool as its result: hosts hide errors of HTTP from the model. Other requests keep the refusal, as
/// does what a client mends by authorizing again.
pub(super) async fn for_the_model(request: &mut Request, refusal: Response) -> Response {
    let is_mended = refusal.headers().contains_key(WWW_AUTHENTICATE);
    if is_mended || !(refusal.status().is_client_error() || refusal.status().is_server_error()) {
        return refusal;
    }
    let body = std::mem::take(request.body_mut());
    let Ok(Ok(body)) = timeout(REFUSED_WITHIN, to_bytes(body, REFUSED_BYTES_MAX)).await else {
        return refusal;
    };
    let message = serde_json::from_slice::<Message>(&body).ok();
    let Some(Message { id, .. }) = message.filter(is_call) else { return refusal };
    let is_modern =
        request.headers().get(PROTOCOL_VERSION).is_some_and(|version| version == MODERN);
    result(&id, is_modern, refusal).await
}

fn is_call(message: &Message) -> bool {
    message.method == "tools/call" && (message.id.is_string() || message.id.is_number())
}

async fn result(id: &Value, is_modern: bool, refusal: Response) -> Response {
    let (head, body) = refusal.into_parts();
    let body = to_bytes(body, REFUSED_BYTES_MAX).await.unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let retry_after = head.headers.get(RETRY_AFTER).and_then(|wait| wait.to_str().ok());
    let mut text = json!({
        "code": body["code"].as_str().unwrap_or("unavailable"), "message": body["detail"],
    });
    if let Some(seconds) = retry_after.and_then(|wait| wait.parse::<u64>().ok()) {
        text["retry_after_s"] = seconds.into();
    }
    if let Some(address) = body["pricing_url"].as_str() {
        text["pricing_url"] = address.into();
    }
    let mut result =
        json!({"content": [{"type": "text", "text": text.to_string()}], "isError": true});
    if is_modern {
        result["resultType"] = "complete".into();
    }
    let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
    let mut response = (StatusCode::OK, Json(message)).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;
    use crate::{http::error::HttpError, limits::RetryAfter};
    use accounts::{access::Denial, config::ProductsConfig};

    async fn refused(body: &'static str, refusal: Response) -> (StatusCode, Value) {
        let request = Request::post("/mcp").header(PROTOCOL_VERSION, "2026-07-28");
        let mut request = request.body(Body::from(body)).expect("a request");
        let (head, body) = for_the_model(&mut request, refusal).await.into_parts();
        let body = to_bytes(body, REFUSED_BYTES_MAX).await.expect("a body");
        (head.status, serde_json::from_slice(&body).expect("JSON"))
    }

    fn limited() -> Response {
        HttpError::RateLimited(RetryAfter { seconds: 3 }).into_response()
    }

    #[tokio::test]
    async fn refusals_of_calls_reach_the_model_and_others_keep_their_status() {
        let call = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"find"}}"#;
        let (status, body) = refused(call, limited()).await;
        assert_eq!((status, &body["id"]), (StatusCode::OK, &json!("a")));
        let result = &body["result"];
        assert_eq!((&result["isError"], &result["resultType"]), (&json!(true), &json!("complete")));
        let text = result["content"][0]["text"].as_str().expect("a text");
        let text: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!((&text["code"], &text["retry_after_s"]), (&json!("rate_limited"), &json!(3)));
        assert!(text["message"].is_string(), "{text}");

        for other in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            "nonsense",
            "",
            r#"{"method":"tools/call"}"#,
        ] {
            let (status, body) = refused(other, limited()).await;
            assert_eq!(
                (status, &body["code"]),
                (StatusCode::TOO_MANY_REQUESTS, &json!("rate_limited"))
            );
        }
        let catalogue = ProductsConfig::default().catalogue().expect("valid prices");
        let (prices, public_url) = (catalogue.into(), "https://hub.test".to_owned());
        let denied = HttpError::Denied { denial: Denial::NoKey, prices, public_url };
        assert_eq!(refused(call, denied.into_response()).await.0, StatusCode::UNAUTHORIZED);
    }
}
