//! The usual call of a tool, answered without the library's tasks and channels.
//!
//! Most requests are `tools/call` from a client that does everything as the specification says. They are read and
//! answered here: three times as many a second. Everything else, and everything that looks unusual in any way,
//! goes to `rmcp`, which also says what is wrong with it. So nothing is refused here.

use std::borrow::Cow;

use accounts::Caller;
use axum::{
    body::{Body, to_bytes},
    extract::Request,
    response::Response,
};
use bytes::Bytes;
use hyper::{
    HeaderMap, Method,
    header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN},
};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use crate::{
    BaseUrl,
    call::Call,
    mount,
    server::{CallOutcome, Server, usage_meta},
    tool_list::ToolAction,
};

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The generation without `initialize`, and those with it whose calls look the same.
const MODERN: &str = "2026-07-28";
const OLDER: [&str; 2] = ["2025-11-25", "2025-06-18"];

/// A call as it is usually sent. Any other member makes it unusual.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    id: &'a RawValue,
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Params<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default)]
    arguments: Map<String, Value>,
    #[serde(rename = "_meta", borrow, default)]
    meta: Meta<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion", borrow, default)]
    version: Option<Cow<'a, str>>,
    #[serde(rename = "io.modelcontextprotocol/clientInfo", borrow, default)]
    _client: Option<&'a RawValue>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities", default)]
    capabilities: Option<Map<String, Value>>,
}

/// A request that was read and is not answered here.
#[derive(Debug)]
pub(crate) struct Unhandled(pub Request);

/// Answers a call, or hands the request back.
pub(crate) async fn answer(
    server: &Server,
    hosts: &[String],
    bytes_max: usize,
    request: Request,
) -> Result<Response, Unhandled> {
    let is_usual = request.method() == Method::POST && has_usual_headers(request.headers(), hosts);
    if !is_usual {
        return Err(Unhandled(request));
    }
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, bytes_max).await else {
        // The library answers a body that is too long; for that it needs to see one.
        let too_long = Bytes::from(vec![b' '; bytes_max + 1]);
        return Err(Unhandled(Request::from_parts(head, Body::from(too_long))));
    };
    if is_batch(&body) {
        // The library would read all of it before it says so.
        return Ok(mount::no_message());
    }
    let caller: Option<Caller> = head.extensions.get().copied();
    let base: Option<&BaseUrl> = head.extensions.get();
    let text = respond(server, &head.headers, caller.as_ref(), base, &body).await;
    match text {
        Some(text) => {
            let mut response = Response::new(Body::from(text));
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
            Ok(response)
        }
        None => Err(Unhandled(Request::from_parts(head, Body::from(body)))),
    }
}

async fn respond(
    server: &Server,
    headers: &HeaderMap,
    caller: Option<&Caller>,
    base: Option<&BaseUrl>,
    body: &[u8],
) -> Option<String> {
    let message: Message<'_> = serde_json::from_slice(body).ok()?;
    let Params { name, arguments, meta } = &message.params;
    let is_call = message.jsonrpc == "2.0" && message.method == "tools/call" && is_id(message.id);
    let tool = server.kind.tool(name).filter(|_| is_call)?;
    // Those that wait must notice when the client leaves, and may report progress.
    if matches!(tool.declared.does, ToolAction::WaitForChange) {
        return None;
    }
    let is_modern = has_headers_of_modern(headers, name, meta);
    if !is_modern && !has_headers_of_older(headers, meta) {
        return None;
    }
    let call = Call { server, tool, caller: caller?, base, context: None };
    let CallOutcome { result, quota } = server.call(call, arguments).await;
    let members = match result {
        Ok(result) => result.members(),
        Err(refusal) => refusal.members(),
    };
    let complete = if is_modern { r#""resultType":"complete","# } else { "" };
    let usage = usage_meta(quota).and_then(|meta| serde_json::to_string(&meta).ok());
    let meta = usage.map(|usage| format!(r#","_meta":{usage}"#)).unwrap_or_default();
    let id = message.id.get();
    Some(
        [r#"{"jsonrpc":"2.0","id":"#, id, r#","result":{"#, complete, &members, &meta, "}}"]
            .concat(),
    )
}

/// Whether a body is a list, which is no message in any version that is served.
fn is_batch(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'[')
}

/// A whole number or a string.
fn is_id(id: &RawValue) -> bool {
    let text = id.get();
    text.starts_with('"') || text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() < 16
}

/// Each header once, as the specification has it; no page, and a host that is served.
fn has_usual_headers(headers: &HeaderMap, hosts: &[String]) -> bool {
    let accepts = one(headers, &ACCEPT).is_some_and(|accept| {
        accept.contains("application/json")
            && accept.contains("text/event-stream")
            && !accept.contains(";")
    });
    let is_json = one(headers, &CONTENT_TYPE).is_some_and(|kind| {
        kind == "application/json" || kind.eq_ignore_ascii_case("application/json; charset=utf-8")
    });
    let is_served = one(headers, &HOST).is_some_and(|host| {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        hosts.iter().any(|allowed| allowed == host || allowed == name)
    });
    let is_page = headers.contains_key(ORIGIN);
    let has_parameters = headers.keys().any(|name| name.as_str().starts_with("mcp-param-"));
    accepts && is_json && is_served && !is_page && !has_parameters
}

fn has_headers_of_modern(headers: &HeaderMap, name: &str, meta: &Meta<'_>) -> bool {
    one(headers, &VERSION) == Some(MODERN)
        && meta.version.as_deref() == Some(MODERN)
        && meta.capabilities.is_some()
        && one(headers, &METHOD) == Some("tools/call")
        && one(headers, &NAME) == Some(name)
}

fn has_headers_of_older(headers: &HeaderMap, meta: &Meta<'_>) -> bool {
    one(headers, &VERSION).is_some_and(|version| OLDER.contains(&version))
        && meta.version.is_none()
        && meta.capabilities.is_none()
        && !headers.contains_key(METHOD)
        && !headers.contains_key(NAME)
}

/// The value of a header that is there once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_is_a_batch() {
        for (body, expected) in
            [("[]", true), (" \n[{}]", true), ("{\"a\":[1]}", false), ("", false), ("x", false)]
        {
            assert_eq!(is_batch(body.as_bytes()), expected, "{body:?}");
        }
    }
}
