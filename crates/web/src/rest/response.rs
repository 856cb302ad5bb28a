//! JSON responses with the headers that let clients cache them.

use std::{hash::Hasher, sync::Arc};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use hyper::{
    HeaderMap, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue},
};
use rustc_hash::FxHasher;
use serde::Serialize;
use tokio::sync::OnceCell;

use super::ApiError;
use crate::etag::is_known;

/// The number of content codings; only `http` knows which they are.
pub(crate) const CODINGS: usize = 3;

/// Whether the response came from the cache: `HIT`, or `MISS` if it was rendered for this request.
pub const CACHE_STATUS: HeaderName = HeaderName::from_static("x-cache-status");

/// Room for all headers of a response, including those that are added later.
const FIELDS: usize = 16;

/// The value of `Cache-Control`. Responses belong to one account's key, so no shared cache may store them. In
/// seconds: SERVICE section 1.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheControl(&'static str);

/// A body and its tag, rendered once and shared.
#[derive(Debug, Clone)]
pub struct SharedBody {
    body: Bytes,
    etag: HeaderValue,
    encoded: EncodedBodies,
}

/// A shared body in each content coding, encoded on first use; clones share it. It travels with the response
/// as an extension.
#[derive(Debug, Clone, Default)]
pub(crate) struct EncodedBodies(Arc<[OnceCell<Option<Bytes>>; CODINGS]>);

impl EncodedBodies {
    /// The body in this coding, made by the first caller while the others wait; `None` if it is not sent in
    /// this coding.
    pub(crate) async fn get_or_make(
        &self,
        coding: usize,
        make: impl Future<Output = Option<Bytes>> + Send,
    ) -> Option<Bytes> {
        let Some(slot) = self.0.get(coding) else { return make.await };
        slot.get_or_init(|| make).await.clone()
    }
}

impl SharedBody {
    /// From a body that is already JSON.
    #[must_use]
    pub fn new(body: Bytes) -> Self {
        let etag = etag(&body);
        Self { body, etag, encoded: EncodedBodies::default() }
    }

    /// Bytes of the body without a content coding.
    #[must_use]
    pub(super) fn bytes(&self) -> usize {
        self.body.len()
    }

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
    let body = serde_json::to_vec(value).map_err(|error| {
        base::log_limited!(error, error, "cannot serialize a response");
        ApiError::Internal
    })?;
    Ok(body.into())
}

/// Weak, since it is the same for every content coding.
fn etag(body: &[u8]) -> HeaderValue {
    let mut hasher = FxHasher::default();
    hasher.write(body);
    let etag = format!("W/\"{:x}-{:016x}\"", body.len(), hasher.finish());
    // Always a valid header value: digits and punctuation.
    HeaderValue::try_from(etag).unwrap_or(HeaderValue::from_static("W/\"\""))
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
        let etag = etag(&body);
        let mut response = self.respond(headers, body, etag);
        response.headers_mut().insert(CACHE_STATUS, HeaderValue::from_static("MISS"));
        response
    }

    /// The same for a shared body.
    #[must_use]
    pub fn answer_shared(self, headers: &HeaderMap, shared_body: &SharedBody) -> Response {
        let SharedBody { body, etag, encoded } = shared_body.clone();
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
