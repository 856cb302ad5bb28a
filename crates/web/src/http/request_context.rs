//! Prepares each request before the router sees it: removes secrets from the URL, and determines the client's
//! address and the requested product.

use std::net::IpAddr;

use axum::extract::Request;
use hyper::{
    HeaderMap, Uri,
    header::{AUTHORIZATION, COOKIE, SEC_WEBSOCKET_PROTOCOL},
};

use super::{Peer, Shared, address, cors, credential, forwarded, oauth::McpResource, uri};
use crate::products::Product;

/// What a request asks for, judged by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestTarget {
    Product(Product),
    /// For programs without a key, from every origin: images and API documents.
    Open,
    /// Pages, sockets, and paths that do not exist.
    Other,
}

impl RequestTarget {
    fn from_path(path: &str) -> Self {
        match Product::from_path(path) {
            Some(product) => Self::Product(product),
            None if cors::is_open(path) => Self::Open,
            None => Self::Other,
        }
    }
}

/// Prepares a request that arrived over a connection from this address.
pub(super) fn prepare(
    shared: &Shared,
    connection: IpAddr,
    request: &mut Request,
) -> (Peer, RequestTarget) {
    address::settle_host(request);
    let peer = shared.parts.connections.proxies.peer(connection, request.headers());
    request.extensions_mut().insert(peer);
    if let Some(in_query) = credential::take(request.uri_mut()) {
        request.extensions_mut().insert(in_query);
    }
    mark_sensitive(request.headers_mut());
    forwarded::settle(&shared.parts.connections.proxies, connection, request.headers_mut());
    let target = RequestTarget::from_path(request.uri().path());
    if let Some(resource) = McpResource::from_path(request.uri().path()) {
        request.extensions_mut().insert(resource);
    }
    if target != RequestTarget::Other {
        end_in_slash(request.uri_mut());
    }
    (peer, target)
}

/// Marks headers that must not appear in logs.
fn mark_sensitive(headers: &mut HeaderMap) {
    let secret = [AUTHORIZATION, COOKIE, SEC_WEBSOCKET_PROTOCOL];
    for (_, value) in headers.iter_mut().filter(|(name, _)| secret.contains(name)) {
        value.set_sensitive(true);
    }
}

/// Appends the trailing slash to paths for programs, so that each route is registered once.
fn end_in_slash(uri: &mut Uri) {
    if !uri.path().ends_with('/') {
        let (path, query) = (format!("{}/", uri.path()), uri.query().map(ToOwned::to_owned));
        uri::replace(uri, &path, query.as_deref());
    }
}
