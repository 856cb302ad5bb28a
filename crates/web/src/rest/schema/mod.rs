//! API documents for programs: `/api/schema/`, `/api/asyncapi/`, `/api/schema/documents/`, and Swagger UI at
//! `/api/docs/`.
//!
//! No key is needed, since they contain nothing that is not on the pages. The page loads nothing from other
//! hosts.

mod document;
pub(crate) mod swagger;
mod yaml;

use std::sync::{Arc, LazyLock};

use axum::{
    Extension,
    extract::{Request, State},
    response::{Redirect, Response},
};
use base::work::{self, Pool};
use bytes::Bytes;
use hyper::{
    header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY},
    http::request::Parts,
};
use serde_json::{Value, json};

use super::CacheControl;
use crate::http::{
    Peer, Shared, SharedBody, asset::Permanent, error::HttpError, known_paths::KnownPaths,
};

/// The OpenAPI document without `servers`.
pub(crate) fn openapi() -> Value {
    document::openapi()
}

/// The paths below the products, all of which are documented.
pub(crate) fn known_paths(openapi: &Value) -> KnownPaths {
    let paths = openapi["paths"].as_object();
    let documented = paths.into_iter().flatten().map(|(path, _)| match path.as_str() {
        // A channel's name contains slashes.
        "/stream/v1/channels/{channel}" => "/stream/v1/channels/{*channel}",
        path => path,
    });
    KnownPaths::new(documented)
}

/// Placeholders in the texts for what differs between clients.
const BASE: &str = "@base@";
const HOST: &str = "@host@";
const PROTOCOL: &str = "@protocol@";

const JSON_SCHEMA: HeaderValue = HeaderValue::from_static("application/schema+json");
const PUBLIC: HeaderValue = HeaderValue::from_static("public, max-age=300");
const OWN: HeaderValue = HeaderValue::from_static("private, no-store");
/// The headers that determine the URL where it is not a setting.
const ADDRESS_FIELDS: HeaderValue =
    HeaderValue::from_static("host, x-forwarded-host, x-forwarded-proto");

/// A document in both formats, the same for all clients except for the server's URL.
#[derive(Debug)]
struct Texts {
    json: String,
    yaml: String,
}

static OPENAPI: LazyLock<Texts> = LazyLock::new(|| {
    let mut document = document::openapi();
    document["servers"] = json!([{"url": BASE}]);
    Texts::new(&document)
});

/// The JSON Schema of the stream protocol, which tests compare with its frames.
const STREAM_SCHEMA: &str = include_str!("../../../../../tools/schema/documents.schema.json");

/// How `docs/asyncapi.json` and the schema itself refer to a definition of the schema.
const DEFINITIONS: [&str; 2] = ["../tools/schema/documents.schema.json#/$defs/", "#/$defs/"];

static ASYNCAPI: LazyLock<Texts> = LazyLock::new(|| {
    let mut document = asyncapi_document();
    document["servers"]["hub"]["host"] = HOST.into();
    document["servers"]["hub"]["protocol"] = PROTOCOL.into();
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    Texts::new(&document)
});

static STREAM_SCHEMA_BODY: LazyLock<SharedBody> = LazyLock::new(|| {
    // Without the indentation, half of the bytes.
    SharedBody::new(Bytes::from(embedded(STREAM_SCHEMA).to_string()))
});

/// A document of this program.
fn embedded(text: &str) -> Value {
    serde_json::from_str(text).expect("a file of this program, which tests read")
}

/// The AsyncAPI document, complete in itself: with the definitions of the schema among its own.
fn asyncapi_document() -> Value {
    let mut document = embedded(include_str!("../../../../../docs/asyncapi.json"));
    let mut schema = embedded(STREAM_SCHEMA);
    let definitions = schema["$defs"].as_object_mut().map(std::mem::take).unwrap_or_default();
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.extend(definitions);
    }
    redirect(&mut document);
    document
}

/// Turns references to definitions of the schema into references to the schemas of the AsyncAPI document.
fn redirect(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get_mut("$ref")
                && let Some(name) =
                    DEFINITIONS.into_iter().find_map(|start| reference.strip_prefix(start))
            {
                *reference = format!("#/components/schemas/{name}");
            }
            fields.values_mut().for_each(redirect);
        }
        Value::Array(items) => items.iter_mut().for_each(redirect),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `/api/docs` and `/api/redoc/`, its other addresses: to the page.
pub(crate) async fn to_the_page() -> Redirect {
    Redirect::permanent("/api/docs/")
}

/// `/api/schema/`: the OpenAPI document.
pub(crate) async fn show_openapi(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, HttpError> {
    let in_flight = shared.parts.admission.limits.request(peer.0).await;
    let _in_flight = in_flight.map_err(HttpError::RateLimited)?;
    let base = shared.base_url(request.headers());
    OPENAPI.answer(&shared, "openapi", &request.into_parts().0, &[(BASE, &base)]).await
}

/// `/api/schema/documents/`: the JSON Schema of every document, event, frame and command of `/stream/v1`.
pub(crate) async fn stream_schema(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, HttpError> {
    let in_flight = shared.parts.admission.limits.request(peer.0).await;
    let _in_flight = in_flight.map_err(HttpError::RateLimited)?;
    let mut response =
        CacheControl::REFERENCE.answer_shared(request.headers(), &STREAM_SCHEMA_BODY);
    response.extensions_mut().insert(Permanent);
    response.headers_mut().insert(CACHE_CONTROL, PUBLIC);
    response.headers_mut().insert(CONTENT_TYPE, JSON_SCHEMA);
    Ok(response)
}

/// `/api/asyncapi/`: the messages on sockets.
pub(crate) async fn asyncapi(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, HttpError> {
    let in_flight = shared.parts.admission.limits.request(peer.0).await;
    let _in_flight = in_flight.map_err(HttpError::RateLimited)?;
    let base = shared.base_url(request.headers());
    let (protocol, host) = match base.split_once("://") {
        Some(("https", host)) => ("wss", host),
        Some((_, host)) => ("ws", host),
        None => ("ws", base.as_str()),
    };
    let placeholders = [(HOST, host), (PROTOCOL, protocol)];
    ASYNCAPI.answer(&shared, "asyncapi", &request.into_parts().0, &placeholders).await
}

impl Texts {
    fn new(document: &Value) -> Self {
        Self { json: document.to_string(), yaml: yaml::to_yaml(document) }
    }

    /// As JSON, or as YAML on request; `openapi-json` is an older name of `json`.
    ///
    /// Without `server.public_url` the document names the URL of the request itself, so no cache may keep it.
    async fn answer(
        &'static self,
        shared: &Shared,
        document: &str,
        request: &Parts,
        placeholders: &[(&str, &str)],
    ) -> Result<Response, HttpError> {
        let query = request.uri.query().unwrap_or_default();
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        let format = pairs.find(|(name, _)| name == "format").map(|(_, value)| value);
        let (text, kind) = match format.as_deref().unwrap_or("json") {
            "json" | "openapi-json" | "openapi" | "" => (&self.json, "application/json"),
            "yaml" | "openapi-yaml" => (&self.yaml, "application/yaml"),
            _ => return Err(HttpError::BadRequest("format is to be json or yaml.")),
        };
        // Quoted, as they appear in JSON and in YAML.
        let quoted = |text: &str| Value::from(text).to_string();
        let replacements: Vec<_> =
            placeholders.iter().map(|(name, value)| (quoted(name), quoted(value))).collect();
        let fill = move || {
            let replace =
                |text: String, (name, value): (String, String)| text.replacen(&name, &value, 1);
            Bytes::from(replacements.into_iter().fold(text.clone(), replace))
        };
        let base = placeholders.iter().map(|(_, value)| *value).collect::<Vec<_>>().join(" ");
        let name = format!("{document} {kind} {base}");
        let make =
            async { Ok::<_, HttpError>(work::run_here(Pool::Rest, || SharedBody::new(fill()))) };
        let body = shared.documents.get_or_make(&name, make).await?;
        let mut response = CacheControl::REFERENCE.answer_shared(&request.headers, &body);
        if shared.parts.settings.server.public_url.is_empty() {
            response.headers_mut().insert(CACHE_CONTROL, OWN);
            response.headers_mut().insert(VARY, ADDRESS_FIELDS);
        } else {
            response.extensions_mut().insert(Permanent);
            response.headers_mut().insert(CACHE_CONTROL, PUBLIC);
        }
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A definition of the schema that had the name of another one of the document would replace it.
    #[test]
    fn definitions_and_schemas_have_different_names() {
        let document = embedded(include_str!("../../../../../docs/asyncapi.json"));
        let definitions = embedded(STREAM_SCHEMA);
        let schemas = document["components"]["schemas"].as_object().expect("schemas");
        for name in schemas.keys() {
            assert!(definitions["$defs"].get(name).is_none(), "{name}");
        }
    }
}
