//! An answer as JSON, with what a client needs to ask for it less often.

use std::{hash::Hasher, sync::Arc};

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use hyper::{
    HeaderMap, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH},
};
use rustc_hash::FxHasher;
use serde::Serialize;

use super::ApiError;

/// For how long an answer may be kept, in seconds: SERVICE section 1.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept(pub u32);

/// A body and its tag, made once and shared.
#[derive(Debug, Clone)]
pub struct Prepared {
    body: Bytes,
    etag: Arc<str>,
}

impl Prepared {
    /// Of what is JSON already.
    #[must_use]
    pub fn of(body: Bytes) -> Self {
        let mut hasher = FxHasher::default();
        hasher.write(&body);
        // Weak, since it is the same whatever the body is compressed with.
        let etag = format!("W/\"{:x}-{:016x}\"", body.len(), hasher.finish());
        Self { body, etag: etag.into() }
    }

    /// Of a value.
    ///
    /// # Errors
    ///
    /// If it cannot be written as JSON.
    pub fn json(value: &impl Serialize) -> Result<Self, ApiError> {
        let body = serde_json::to_vec(value).map_err(|error| {
            tracing::error!(error = &error as &dyn std::error::Error, "an answer is no JSON");
            ApiError::Internal
        })?;
        Ok(Self::of(body.into()))
    }
}

impl Kept {
    /// Lists of matches, leagues, teams.
    pub const LIST: Self = Self(5);
    /// What is in play.
    pub const LIVE: Self = Self(1);
    /// What changes by the day: teams, venues, players.
    pub const REFERENCE: Self = Self(300);
    pub const PREDICTIONS: Self = Self(120);
    pub const ODDS: Self = Self(5);

    /// A value as an answer: 304 without a body where the client has it already.
    ///
    /// # Errors
    ///
    /// If it cannot be written as JSON.
    pub fn answer(self, headers: &HeaderMap, value: &impl Serialize) -> Result<Response, ApiError> {
        Ok(self.answer_prepared(headers, &Prepared::json(value)?))
    }

    /// The same of what is JSON already.
    #[must_use]
    pub fn answer_bytes(self, headers: &HeaderMap, body: Bytes) -> Response {
        self.answer_prepared(headers, &Prepared::of(body))
    }

    /// The same of what was prepared before, for everybody who asks for it.
    #[must_use]
    pub fn answer_prepared(self, headers: &HeaderMap, prepared: &Prepared) -> Response {
        let Prepared { body, etag } = prepared.clone();
        let matches = headers.get_all(IF_NONE_MATCH).iter();
        let matches = matches.filter_map(|value| value.to_str().ok());
        let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        let is_known = matches
            .flat_map(|value| value.split(','))
            .any(|tag| tag.trim() == "*" || opaque(tag) == etag.trim_start_matches("W/"));
        let json = HeaderValue::from_static("application/json");
        let mut response = if is_known {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            ([(CONTENT_TYPE, json)], body).into_response()
        };
        // Answers are of one account's key: no cache between us and the client may share them.
        let control = format!("private, max-age={}", self.0);
        for (name, value) in [(CACHE_CONTROL, control), (ETAG, etag.to_string())] {
            if let Ok(value) = HeaderValue::try_from(value) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}
