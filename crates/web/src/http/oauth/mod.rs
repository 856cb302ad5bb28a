//! OAuth 2.1 for the MCP servers: metadata, tokens and revocation. The page on which a customer agrees is
//! among the pages of `site`.
//!
//! The hub is both the protected resources (RFC 9728), each MCP server one, and their authorization server
//! (RFC 8414). Clients identify themselves by a metadata document; there is no registration. Only the MCP
//! servers accept access tokens. This module decides nothing about grants: it calls [`accounts::OAuth`].
//!
//! In reading order: `resource`, `metadata`, `request`, `token`.

mod metadata;
mod request;
mod resource;
mod token;

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    routing::{get, post},
};

pub(crate) use self::request::{AuthorizationError, AuthorizationRequest, UnverifiedRequest};
pub(super) use self::resource::McpResource;
use super::{Shared, form::FORM_BYTES_MAX};

/// The routes for programs, with a slash at the end: see `request_context`.
pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/.well-known/oauth-protected-resource/", get(metadata::protected_resource))
        .route("/.well-known/oauth-protected-resource/{*path}", get(metadata::protected_resource))
        .route("/.well-known/oauth-authorization-server/", get(metadata::authorization_server))
        .route("/oauth/token/", post(token::exchange))
        .route("/oauth/revoke/", post(token::revoke))
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
}
