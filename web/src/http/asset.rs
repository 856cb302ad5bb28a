//! Files compiled into the program. All responses share one copy of each, compressed at most once per coding.

use std::borrow::Cow;

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use hyper::{
    StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue},
};

use crate::{api::response::EncodedBodies, etag};

/// The tag of every file: one version of the program has one version of each.
const TAG: &str = concat!("\"", env!("CARGO_PKG_VERSION"), "\"");

/// A response extension: the body lives as long as the program, so a response that holds it costs nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Permanent;

/// A file and what it is.
#[derive(Debug)]
pub(super) struct Asset {
    pub(super) name: &'static str,
    kind: &'static str,
    body: Bytes,
    encoded: EncodedBodies,
}

impl Asset {
    pub(super) fn new(
        name: &'static str,
        kind: &'static str,
        body: impl Into<Cow<'static, [u8]>>,
    ) -> Self {
        let body = match body.into() {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => bytes.into(),
        };
        Self { name, kind, body, encoded: EncodedBodies::default() }
    }

    /// The file, or 304 if the client has this version.
    pub(super) fn answer(&self, request: &Request, cache_control: &'static str) -> Response {
        // During development a file changes within a version, so a debug build never answers 304.
        let known = !cfg!(debug_assertions) && etag::is_known(request.headers(), TAG);
        let mut response = if known {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let mut response = Response::new(Body::from(self.body.clone()));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
            response.extensions_mut().insert(self.encoded.clone());
            response.extensions_mut().insert(Permanent);
            response
        };
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache_control));
        headers.insert(ETAG, HeaderValue::from_static(TAG));
        response
    }
}
