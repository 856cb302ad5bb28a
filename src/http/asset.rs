//! Files that are part of the program. All answers share one copy of each, compressed at most once for each
//! coding.

use std::borrow::Cow;

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use hyper::{
    StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH},
};

use crate::api::response::EncodedBodies;

/// The body is there in any case, so an answer that holds on to it costs nothing. An extension of responses.
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

    /// The file, or 304 for who has it in this version.
    pub(super) fn answer(&self, request: &Request, cache_control: &'static str) -> Response {
        let tag = HeaderValue::from_static(concat!("\"", env!("CARGO_PKG_VERSION"), "\""));
        // Within a version under development files change, so a debug build is never taken as known.
        let known = !cfg!(debug_assertions) && request.headers().get(IF_NONE_MATCH) == Some(&tag);
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
        headers.insert(ETAG, tag);
        response
    }
}
