//! What is done with each request before the router sees it: nothing behind this meets a secret in a
//! URL, and everything knows whom it serves and which product is asked.

use std::net::IpAddr;

use axum::extract::Request;
use hyper::{
    HeaderMap, Uri,
    header::{AUTHORIZATION, COOKIE, SEC_WEBSOCKET_PROTOCOL},
};

use super::{Peer, Shared, cors, credential, forwarded, uri};
use crate::products::Product;

/// What is asked, as far as its address says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestTarget {
    Product(Product),
    /// What programs ask without a key, from every page: images, documents of the interface.
    Open,
    /// Pages, sockets, and what is nowhere.
    Other,
}

impl RequestTarget {
    fn of(path: &str) -> Self {
        match Product::of_path(path) {
            Some(product) => Self::Product(product),
            None if cors::is_open(path) => Self::Open,
            None => Self::Other,
        }
    }
}

/// Takes a request in that came over a connection from this address.
pub(super) fn prepare(
    shared: &Shared,
    connection: IpAddr,
    request: &mut Request,
) -> (Peer, RequestTarget) {
    let peer = shared.parts.proxies.peer(connection, request.headers());
    request.extensions_mut().insert(peer);
    if let Some(in_query) = credential::take(request.uri_mut()) {
        request.extensions_mut().insert(in_query);
    }
    mark_sensitive(request.headers_mut());
    forwarded::settle(&shared.parts.proxies, connection, request.headers_mut());
    let target = RequestTarget::of(request.uri().path());
    if target != RequestTarget::Other {
        end_in_slash(request.uri_mut());
    }
    (peer, target)
}

/// Marks what must not be shown, should anything print the headers.
fn mark_sensitive(headers: &mut HeaderMap) {
    let secret = [AUTHORIZATION, COOKIE, SEC_WEBSOCKET_PROTOCOL];
    for (_, value) in headers.iter_mut().filter(|(name, _)| secret.contains(name)) {
        value.set_sensitive(true);
    }
}

/// With and without a slash at the end, a path that programs ask is the same: routes stand there once.
fn end_in_slash(uri: &mut Uri) {
    if !uri.path().ends_with('/') {
        let (path, query) = (format!("{}/", uri.path()), uri.query().map(ToOwned::to_owned));
        uri::replace(uri, &path, query.as_deref());
    }
}
