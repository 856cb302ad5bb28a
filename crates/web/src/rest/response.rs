//! JSON responses with the headers that let clients cache them.

use axum::{body::Body, response::Response};
use bytes::Bytes;
use hyper::{
    HeaderMap, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue},
};
use serde::Serialize;

use super::ApiError;
use crate::{
    etag::{self, is_known},
    http::SharedBody,
};

/// Whether the response came from the cache: `HIT`, or `MISS` if it was rendered for this request.
pub const CACHE_STATUS: HeaderName = HeaderName::from_static("x-cache-status");

/// Room for all headers of a response, including those that are added later.
const FIELDS: usize = 16;

/// The value of `Cache-Control`. Responses belong to one account's key, so no shared cache may store them. In
/// seconds: SERVICE section 1.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheControl(&'static str);

impl SharedBody {
    /// Serializes a value.
    ///
    /// # Errors
    ///
    /// If serialization fails.
    pub fn json(value: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self::new(json(value)?))
    }
}

pub(super) fn json(value: &impl Serialize) -> Result<Bytes, ApiError> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|error| not_serialized(&error))
}

// Apart, so that it is compiled once and not for each type.
fn not_serialized(error: &serde_json::Error) -> ApiError {
    base::log_limited!(error, %error, "cannot serialize a response");
    ApiError::Internal
}

impl CacheControl {
    /// Lists of matches, leagues, teams.
    pub const LIST: Self = Self("private, max-age=5");
    /// Matches in play.
    pub const LIVE: Self = Self("private, max-age=1");
    /// What changes daily: teams, venues, players.
    pub const REFERENCE: Self = Self("private, max-age=300");
    pub const PREDICTIONS: Self = Self("private, max-age=120");
    pub const ODDS: Self = Self("private, max-age=5");

    /// Responds with a body, or with 304 if the client has it already.
    #[must_use]
    pub fn answer_bytes(self, headers: &HeaderMap, body: Bytes) -> Response {
        let etag = etag::of_body(&body);
        let mut response = self.respond(headers, body, etag);
        response.headers_mut().insert(CACHE_STATUS, HeaderValue::from_static("MISS"));
        response
    }

    /// The same for a shared body.
    #[must_use]
    pub fn answer_shared(self, headers: &HeaderMap, shared_body: &SharedBody) -> Response {
        let (body, etag, encoded) = shared_body.clone().into_parts();
        let mut response = self.respond(headers, body, etag);
        response.extensions_mut().insert(encoded);
        response
    }

    fn respond(self, headers: &HeaderMap, body: Bytes, etag: HeaderValue) -> Response {
        let has_it = etag.to_str().is_ok_and(|etag| is_known(headers, etag));
        let mut response = Response::new(if has_it { Body::empty() } else { body.into() });
        if has_it {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let fields = response.headers_mut();
        fields.reserve(FIELDS);
        if !has_it {
            fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        fields.insert(CACHE_CONTROL, HeaderValue::from_static(self.0));
        fields.insert(ETAG, etag);
        response
    }
}
