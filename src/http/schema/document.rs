//! The OpenAPI document: what handlers say of themselves, and what holds for all of them.

use hyper::StatusCode;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use crate::{
    api::{
        self,
        error::{ErrorBody, UnknownParametersBody},
    },
    http::{
        account,
        error::{AddonRequired, AuthenticationRequired},
        images, rest,
    },
    products::Product,
};

/// What is served beside the interface of `api`.
#[derive(OpenApi)]
#[openapi(
    paths(account::show, rest::ticket, rest::channel, images::show),
    components(schemas(ErrorBody, UnknownParametersBody, AuthenticationRequired, AddonRequired))
)]
struct Own;

/// Tags as handlers name them, in the order in which they are shown.
const TAGS: [(&str, &str); 18] = [
    (
        "football v2",
        "Football: matches, leagues, teams, people, grounds. What needs no key says so.",
    ),
    (
        "football v1",
        "Football in the first version of the interface, for clients that were written for it.",
    ),
    ("tennis", "Tennis. Needs the Sports add-on; without it there is a small daily taster."),
    ("csgo", "Counter-Strike 2. Needs the Sports add-on."),
    ("darts", "Darts. Needs the Sports add-on."),
    ("hockey", "Ice hockey. Needs the Sports add-on."),
    ("basketball", "Basketball. Needs the Sports add-on."),
    ("horseracing", "Horse racing. Needs the Sports add-on."),
    ("padel", "Padel. Needs the Sports add-on."),
    (
        "odds",
        "Prices. Everybody sees the consensus; those of bookmakers by name need the Odds add-on.",
    ),
    ("odds api", "Prices of all sports with their history. Needs the Odds add-on."),
    ("signals", "Signals: what moved, and what tipsters say of it."),
    ("wom", "Weight of money."),
    ("tipsters", "Tips and slips."),
    ("account", "The account of the key itself; asking is no call that counts."),
    ("websocket", "Beside the sockets, which `/api/asyncapi/` describes."),
    ("images", "Crests, portraits and grounds. No key is needed."),
    ("coverage", "What there is. No key is needed."),
];

/// The whole of it, but for `servers`.
pub(super) fn openapi() -> Value {
    let document = api::document().merge_from(Own::openapi());
    let mut document = serde_json::to_value(document).unwrap_or_default();
    document["openapi"] = "3.1.0".into();
    document["info"] = info();
    document["security"] = json!([{"token": []}, {"bearer": []}, {"query": []}]);
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
    document
}

fn info() -> Value {
    json!({
        "title": "Matchwire",
        "version": env!("CARGO_PKG_VERSION"),
        "summary": "Sports data over HTTP",
        "description": "One key opens every product that its account has. Lists are in pages of `limit` rows \
                        from `offset` on; `next` and `previous` are the addresses of the pages beside. Answers \
                        have an `ETag`: whoever sends it back in `If-None-Match` is answered 304 while nothing \
                        has changed. Where a daily allowance holds, `RateLimit-Policy` and `RateLimit` tell how \
                        it stands. Live channels go over sockets, which `/api/asyncapi/` describes.",
        "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
    })
}

fn security_schemes() -> Value {
    json!({
        "token": {
            "type": "apiKey", "in": "header", "name": "Authorization",
            "description": "The header's whole value: `Token YOUR_KEY`.",
        },
        "bearer": {"type": "http", "scheme": "bearer", "description": "The key as a bearer token."},
        "query": {
            "type": "apiKey", "in": "query", "name": "token",
            "description": "Only where no header can be set: addresses end up in logs.",
        },
    })
}

/// Shared answers, by status.
const SHARED: [(&str, &str); 5] = [
    ("400", "BadRequest"),
    ("401", "Unauthorized"),
    ("402", "PaymentRequired"),
    ("404", "NotFound"),
    ("429", "TooManyRequests"),
];

fn responses() -> Value {
    let answer = |description: &str, schema: Value, headers: Value| {
        let content = json!({"application/json": {"schema": schema}});
        json!({"description": description, "headers": headers, "content": content})
    };
    let of = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let text = |what: &str| json!({"description": what, "schema": {"type": "string"}});
    let either = json!({"anyOf": [of("UnknownParametersBody"), of("ErrorBody")]});
    json!({
        "BadRequest": answer("A parameter is unknown, or its value cannot be used", either, json!({})),
        "Unauthorized": answer(
            "The key is missing or not valid",
            of("AuthenticationRequired"),
            json!({"WWW-Authenticate": text("`Token`")}),
        ),
        "PaymentRequired": answer(
            "The key is valid, and its account lacks the add-on", of("AddonRequired"), json!({}),
        ),
        "NotFound": answer("There is no such thing", of("ErrorBody"), json!({})),
        "TooManyRequests": answer(
            "Too many at once (`rate_limited`), or the day's allowance is used up (`taster_exhausted`)",
            of("ErrorBody"),
            json!({
                "Retry-After": {"description": "Seconds to wait", "schema": {"type": "integer"}},
                "RateLimit-Policy": text("The allowance, where one holds"),
                "RateLimit": text("What is left of it"),
            }),
        ),
    })
}

/// Gives an operation what all have: an id of its own, who may ask, and the answers of whoever stands in front.
fn complete(path: &str, method: &str, operation: &mut Value) {
    operation["operationId"] = operation_id(path, method).into();
    let product = Product::of_path(path);
    if product.is_none() {
        operation["security"] = json!([]);
    }
    let has_parameters = operation["parameters"].as_array().is_some_and(|all| !all.is_empty());
    let applies = |status: &str| match status {
        // Each endpoint refuses parameters that it has not.
        "400" => has_parameters || product.is_some(),
        "401" | "429" => product.is_some(),
        "402" => product.is_some_and(|it| it.addon().is_some()) && !asks_for_no_addon(path),
        _ => true,
    };
    if !operation["responses"].is_object() {
        operation["responses"] = Value::Object(Map::new());
    }
    for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        if response["description"].as_str().is_none_or(str::is_empty) && response["$ref"].is_null()
        {
            let reason = status.parse::<StatusCode>().ok().and_then(|it| it.canonical_reason());
            response["description"] = reason.unwrap_or("An answer").into();
        }
    }
    for (status, name) in SHARED.into_iter().filter(|(status, _)| applies(status)) {
        if operation["responses"][status].is_null() {
            operation["responses"][status] =
                json!({"$ref": format!("#/components/responses/{name}")});
        }
    }
}

/// What every account has, whatever it has paid for.
fn asks_for_no_addon(path: &str) -> bool {
    path == "/api/v2/account/" || path == "/api/v2/stream/ticket/"
}

/// `get_api_v2_events_id_odds`: of the path alone, so that it stays when functions are renamed.
fn operation_id(path: &str, method: &str) -> String {
    let parts = path.split('/').map(|part| part.trim_matches(['{', '}']).replace('-', "_"));
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    format!("{method}_{}", parts.join("_"))
}

/// Those that are used: the ones that are known first, in their order.
fn tags(used: &[String]) -> Value {
    let known = TAGS.into_iter().filter(|(name, _)| used.iter().any(|own| own == name));
    let mut tags: Vec<Value> =
        known.map(|(name, what)| json!({"name": name, "description": what})).collect();
    let mut others: Vec<_> =
        used.iter().filter(|own| !TAGS.iter().any(|(name, _)| name == own)).collect();
    others.sort_unstable();
    others.dedup();
    tags.extend(others.into_iter().map(|name| json!({"name": name})));
    tags.into()
}

#[cfg(test)]
mod tests;
