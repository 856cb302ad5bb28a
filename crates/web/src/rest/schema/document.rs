//! The OpenAPI document: what handlers declare, completed with what applies to all of them.

mod id;
mod parameter;
mod plain;

use std::sync::LazyLock;

use facts::event::Sport;
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use crate::{
    http::{
        channel,
        error::{AddonRequired, AuthenticationRequired},
        sse, ticket,
    },
    products::Product,
    rest::{
        self, account,
        error::{ErrorBody, UnknownParametersBody},
        images, test_channels,
    },
};

/// The endpoints that `rest::routes` does not have.
#[derive(OpenApi)]
#[openapi(
    paths(
        account::show,
        ticket::sell,
        channel::show,
        sse::events,
        test_channels::rounds,
        test_channels::output,
        images::show,
    ),
    components(schemas(ErrorBody, UnknownParametersBody, AuthenticationRequired, AddonRequired))
)]
struct HttpDocument;

const FOOTBALL_V1: &str = "football v1";
const FOOTBALL_V2: &str = "football v2";

/// The tags of endpoints, in the order in which they are shown.
static TAGS: LazyLock<Vec<(&'static str, String)>> = LazyLock::new(|| {
    let mut tags = OTHER_TAGS.map(|(name, what)| (name, what.to_owned())).to_vec();
    let end = tags.iter().position(|(name, _)| *name == "odds").unwrap_or_default();
    let sports = Product::sports().filter(|sport| *sport != Sport::Tennis);
    let needs_addon = |it: &str| format!("{it}. Needs the Sports add-on.");
    let sports = sports.map(|it| (it.as_str(), needs_addon(it.profile().full_title)));
    tags.splice(end..end, sports);
    tags
});

/// Those of no sport, of football and of tennis.
const OTHER_TAGS: [(&str, &str); 11] = [
    (
        FOOTBALL_V2,
        "Football: matches, leagues, teams, people, venues. Endpoints without a key say so.",
    ),
    (FOOTBALL_V1, "Football, version 1, for existing clients."),
    (
        "tennis",
        "Tennis. Needs the Sports add-on, unless the operator allows some requests per day without it.",
    ),
    ("odds", "Prices. The consensus is free; prices by bookmaker need the Odds add-on."),
    ("odds api", "Prices of all sports and their history. Needs the Odds add-on."),
    (
        "signals",
        "Signals from odds and play: arbitrages, price gaps, value, steam, suspensions, momentum.",
    ),
    ("account", "The account of the key. These calls do not count as usage."),
    ("webhooks", "Events posted to a URL of yours. These calls do not count as usage."),
    ("websocket", "HTTP endpoints for live channels. `/api/asyncapi/` describes the sockets."),
    ("images", "Crests, portraits and venues. No key needed."),
    ("coverage", "Coverage of the data. No key needed."),
];

const ACCOUNT: &str = "/api/v2/account/";
const WEBHOOKS: &str = "/api/v2/webhooks/";
const STREAM: &str = "/api/v2/stream/";

/// The whole document without `servers`.
pub(super) fn openapi() -> Value {
    let document = rest::document().merge_from(HttpDocument::openapi());
    #[cfg(feature = "webhooks")]
    let document = document.merge_from(rest::webhooks::WebhooksDocument::openapi());
    #[cfg(feature = "films")]
    let document = document.merge_from(crate::http::replays::ReplaysDocument::openapi());
    let mut document = serde_json::to_value(document).unwrap_or_default();
    document["openapi"] = "3.1.0".into();
    document["info"] = info();
    document["security"] = keys();
    let components = &mut document["components"];
    components["securitySchemes"] = security_schemes();
    components["responses"] = responses();
    let mut used = Vec::new();
    for (path, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            complete(path, method, operation);
            let tags = operation["tags"].as_array().into_iter().flatten();
            used.extend(tags.filter_map(Value::as_str).map(ToOwned::to_owned));
        }
    }
    document["tags"] = tags(&used);
    plain::complete(&mut document);
    id::complete(&mut document);
    document
}

fn info() -> Value {
    json!({
        "title": "Matchwire",
        "version": env!("CARGO_PKG_VERSION"),
        "summary": "Sports data over HTTP",
        "description": "One API key works for every product of your account. Lists are paginated with `limit` \
                        and `offset`; `next` and `previous` are the URLs of the adjacent pages. Responses \
                        have an `ETag`: send it in `If-None-Match` to get 304 while nothing has changed. If a \
                        daily quota applies, `RateLimit-Policy` and `RateLimit` report it. Live channels use \
                        WebSockets, described by `/api/asyncapi/`.",
        "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
    })
}

fn security_schemes() -> Value {
    json!({
        "token": {
            "type": "apiKey", "in": "header", "name": "Authorization",
            "description": "The whole header value: `Token YOUR_KEY`.",
        },
        "bearer": {"type": "http", "scheme": "bearer", "description": "The key as a bearer token."},
        "query": {
            "type": "apiKey", "in": "query", "name": "token",
            "description": "Only if you cannot set headers: URLs end up in logs.",
        },
    })
}

/// Shared responses, by status.
const SHARED: [(&str, &str); 9] = [
    ("304", "NotModified"),
    ("400", "BadRequest"),
    ("401", "Unauthorized"),
    ("402", "PaymentRequired"),
    ("403", "Forbidden"),
    ("404", "NotFound"),
    ("414", "UriTooLong"),
    ("429", "TooManyRequests"),
    ("503", "Unavailable"),
];

fn responses() -> Value {
    let answer = |description: &str, schema: Value, headers: Value| {
        let content = json!({"application/json": {"schema": schema}});
        json!({"description": description, "headers": headers, "content": content})
    };
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let text = |what: &str| json!({"description": what, "schema": {"type": "string"}});
    let either = json!({"anyOf": [reference("UnknownParametersBody"), reference("ErrorBody")]});
    let seconds = json!({"description": "Seconds to wait", "schema": {"type": "integer"}});
    json!({
        "NotModified": {"description": "Not modified since the `ETag` in `If-None-Match`"},
        "BadRequest": answer("Unknown parameter or invalid value", either, json!({})),
        "Unauthorized": answer(
            "The key is missing or invalid",
            reference("AuthenticationRequired"),
            json!({"WWW-Authenticate": text("`Token`")}),
        ),
        "PaymentRequired": answer(
            "The key is valid, but the account lacks the add-on", reference("AddonRequired"), json!({}),
        ),
        "Forbidden": answer(
            "The key lacks the scope (`insufficient_scope`), or does not work from this address (`address_not_allowed`)",
            reference("ErrorBody"),
            json!({}),
        ),
        "NotFound": answer("Not found", reference("ErrorBody"), json!({})),
        "UriTooLong": answer("The URL is too long", reference("ErrorBody"), json!({})),
        "TooManyRequests": answer(
            "Too many requests (`rate_limited`), or the daily quota is used up (`taster_exhausted`)",
            reference("ErrorBody"),
            json!({
                "Retry-After": seconds,
                "RateLimit-Policy": text("The quota, if one applies"),
                "RateLimit": text("What is left of the quota"),
            }),
        ),
        "Unavailable": answer(
            "Temporarily unavailable", reference("ErrorBody"), json!({"Retry-After": seconds}),
        ),
    })
}

/// Completes an operation: its id, its tag, who may call it, the parameters that its path and its answer imply,
/// and the responses of the steps before the handler.
fn complete(path: &str, method: &str, operation: &mut Value) {
    operation["operationId"] = operation_id(path, method).into();
    let product = Product::from_path(path);
    operation["security"] = if product.is_some() { keys() } else { json!([]) };
    let tag = tag(path);
    operation["tags"] = json!([tag]);
    parameter::add_implied(path, tag, operation);
    let mut has_parameters = false;
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        parameter::complete(path, parameter);
        has_parameters = true;
    }
    let applies = |status: &str| match status {
        "304" => method == "get" && path != ACCOUNT && !path.starts_with(WEBHOOKS),
        // Endpoints reject unknown parameters, and the service rejects URLs that are too long.
        "400" | "414" => has_parameters || product.is_some(),
        "401" | "403" | "429" => product.is_some(),
        "402" => product.is_some_and(|it| it.addon().is_some()),
        "404" => path.contains('{'),
        // Handlers declare the others themselves.
        _ => false,
    };
    if !operation["responses"].is_object() {
        operation["responses"] = Value::Object(Map::new());
    }
    let responses = &mut operation["responses"];
    for (status, name) in SHARED {
        let declared = responses.get(status);
        if declared.is_none() && !applies(status) {
            continue;
        }
        // The endpoint's own description goes with the shared shape.
        let description = declared
            .and_then(|declared| declared["description"].as_str())
            .filter(|description| !description.is_empty())
            // Version 1 ignores unknown parameters.
            .or_else(|| {
                (status == "400" && tag == FOOTBALL_V1).then_some("Invalid parameter value")
            });
        let mut response = json!({"$ref": format!("#/components/responses/{name}")});
        if let Some(description) = description {
            response["description"] = description.into();
        }
        responses[status] = response;
    }
    for (status, response) in responses.as_object_mut().into_iter().flatten() {
        if response["description"].as_str().is_none_or(str::is_empty) && response["$ref"].is_null()
        {
            let reason = status.parse::<StatusCode>().ok().and_then(|it| it.canonical_reason());
            response["description"] = reason.unwrap_or("Response").into();
        }
    }
}

/// The alternative ways to send a key.
fn keys() -> Value {
    json!([{"token": []}, {"bearer": []}, {"query": []}])
}

/// The tag of the endpoints at this path: what it starts with, or else its first segment.
fn tag(path: &str) -> &str {
    const PREFIXES: [(&str, &str); 8] = [
        (ACCOUNT, "account"),
        (WEBHOOKS, "webhooks"),
        (STREAM, "websocket"),
        ("/stream/", "websocket"),
        ("/test/", "websocket"),
        ("/img/", "images"),
        ("/api/v2/", FOOTBALL_V2),
        ("/api/", FOOTBALL_V1),
    ];
    let prefix = PREFIXES.into_iter().find(|(prefix, _)| path.starts_with(prefix));
    prefix.map_or_else(|| path.split('/').nth(1).unwrap_or_default(), |(_, tag)| tag)
}

/// `get_api_v2_events_id_odds`: derived from the path only, so that it stays the same when functions are
/// renamed.
fn operation_id(path: &str, method: &str) -> String {
    let parts = path.split('/').map(|part| part.trim_matches(['{', '}']).replace('-', "_"));
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    format!("{method}_{}", parts.join("_"))
}

/// The tags in use: the declared ones first, in their order.
fn tags(used: &[String]) -> Value {
    let documented = TAGS.iter().filter(|(name, _)| used.iter().any(|tag| tag == name));
    let mut tags: Vec<Value> =
        documented.map(|(name, what)| json!({"name": name, "description": what})).collect();
    let mut others: Vec<_> =
        used.iter().filter(|tag| !TAGS.iter().any(|(name, _)| name == tag)).collect();
    others.sort_unstable();
    others.dedup();
    tags.extend(others.into_iter().map(|name| json!({"name": name})));
    tags.into()
}

#[cfg(test)]
mod tests;
