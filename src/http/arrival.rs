//! What is done with each request before the router sees it: nothing behind this meets a secret in a
//! URL, and everything knows whom it serves and which product is asked.

use std::net::IpAddr;

use hyper::{
    HeaderMap, Request, Uri,
    header::{AUTHORIZATION, COOKIE, SEC_WEBSOCKET_PROTOCOL},
};

use super::{Shared, cors, credential, forwarded, uri};
use crate::products::Product;

/// Takes a request in that came over a connection from this address.
pub(super) fn receive<B>(
    shared: &Shared,
    connection: IpAddr,
    mut request: Request<B>,
) -> Request<B> {
    let peer = shared.parts.proxies.peer(connection, request.headers());
    request.extensions_mut().insert(peer);
    if let Some(in_query) = credential::take(request.uri_mut()) {
        request.extensions_mut().insert(in_query);
    }
    hide(request.headers_mut());
    forwarded::settle(&shared.parts.proxies, connection, request.headers_mut());
    if let Some(product) = Product::of_path(request.uri().path()) {
        request.extensions_mut().insert(product);
        end_in_slash(request.uri_mut());
    } else if cors::is_open(request.uri().path()) {
        end_in_slash(request.uri_mut());
    }
    request
}

/// Marks what must not be shown, should anything print the headers.
fn hide(headers: &mut HeaderMap) {
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
