//! What clients discover: the protected resources and their authorization server.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::State,
    response::{IntoResponse, Response},
};
use hyper::{
    HeaderMap,
    header::{CACHE_CONTROL, HeaderValue},
};
use serde::Serialize;

use super::McpResource;
use crate::http::{Shared, error::HttpError};
use accounts::Scope;

/// RFC 9728, section 2.
#[derive(Debug, Serialize)]
struct ProtectedResource {
    resource: String,
    authorization_servers: [String; 1],
    scopes_supported: [&'static str; 2],
    bearer_methods_supported: [&'static str; 1],
    resource_name: String,
    resource_documentation: String,
}

/// RFC 8414, section 2, with RFC 9207 and draft-ietf-oauth-client-id-metadata-document. There is no
/// registration endpoint: dynamic client registration is deprecated in MCP.
#[derive(Debug, Serialize)]
struct AuthorizationServer {
    authorization_endpoint: String,
    token_endpoint: String,
    revocation_endpoint: String,
    issuer: String,
    scopes_supported: [&'static str; 3],
    response_types_supported: [&'static str; 1],
    response_modes_supported: [&'static str; 1],
    grant_types_supported: [&'static str; 2],
    token_endpoint_auth_methods_supported: [&'static str; 1],
    revocation_endpoint_auth_methods_supported: [&'static str; 1],
    code_challenge_methods_supported: [&'static str; 1],
    client_id_metadata_document_supported: bool,
    authorization_response_iss_parameter_supported: bool,
    service_documentation: String,
}

/// `/.well-known/oauth-protected-resource`, with or without the path of an MCP server.
pub(super) async fn protected_resource(
    State(shared): State<Arc<Shared>>,
    resource: Option<Extension<McpResource>>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let Extension(resource) = resource.ok_or(HttpError::NotFound)?;
    let base = shared.base_url(&headers);
    Ok(answer(ProtectedResource {
        resource: resource.url(&base),
        scopes_supported: [Scope::for_product(resource.product).as_str(), Scope::Odds.as_str()],
        bearer_methods_supported: ["header"],
        resource_name: format!("Matchwire {}", resource.product.title()),
        resource_documentation: format!("{base}/mcp-info/"),
        authorization_servers: [base],
    }))
}

/// `/.well-known/oauth-authorization-server`.
pub(super) async fn authorization_server(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
) -> Response {
    let base = shared.base_url(&headers);
    answer(AuthorizationServer {
        authorization_endpoint: format!("{base}/oauth/authorize/"),
        token_endpoint: format!("{base}/oauth/token/"),
        revocation_endpoint: format!("{base}/oauth/revoke/"),
        scopes_supported: Scope::OF_APPS.map(Scope::as_str),
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        token_endpoint_auth_methods_supported: ["none"],
        revocation_endpoint_auth_methods_supported: ["none"],
        code_challenge_methods_supported: ["S256"],
        client_id_metadata_document_supported: true,
        authorization_response_iss_parameter_supported: true,
        service_documentation: format!("{base}/mcp-info/"),
        issuer: base,
    })
}

/// It depends on the host that the client used, so no cache may give it to others unasked.
fn answer(document: impl Serialize) -> Response {
    let mut response = Json(document).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
