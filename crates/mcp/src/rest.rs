//! Questions to the REST interface of the same process: the router's own handlers, without a socket. So an
//! answer of a tool is REST's by construction.

use std::collections::BTreeMap;

use accounts::Caller;
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
};
use bytes::Bytes;
use hyper::{
    StatusCode,
    header::{ETAG, HeaderValue},
};
use serde_json::{Value, value::RawValue};
use tower::ServiceExt as _;

use crate::refusal::Refusal;

/// The largest answer that is read. REST's pages are far below.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Lists whose rows are in `results` too, where clients of other lists expect them.
const NAMED_TWICE: [&str; 2] = ["/events/live/", "/incidents/"];

/// An answer of the REST interface.
#[derive(Debug, Clone)]
pub(crate) struct RestAnswer {
    pub body: Bytes,
    /// The tag of the body: equal tags of one address mean equal bodies.
    pub tag: Option<HeaderValue>,
}

impl RestAnswer {
    /// The body as a value.
    pub(crate) fn value(&self) -> Result<Value, Refusal> {
        serde_json::from_slice(&self.body).map_err(|_| Refusal::unavailable())
    }
}

/// The REST interface.
#[derive(Debug, Clone)]
pub(crate) struct Rest {
    router: Router,
}

impl Rest {
    pub(crate) fn new(router: Router) -> Self {
        Self { router }
    }

    /// Gets an address as this caller.
    pub(crate) async fn get(&self, address: &str, caller: &Caller) -> Result<RestAnswer, Refusal> {
        let request = Request::get(address).extension(*caller).body(Body::empty());
        let request = request.map_err(|_| Refusal::unavailable())?;
        let response = match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let (head, body) = response.into_parts();
        let body = to_bytes(body, BODY_BYTES_MAX).await.map_err(|_| Refusal::unavailable())?;
        if head.status.is_success() {
            let tag = head.headers.get(ETAG).cloned();
            let path = address.split('?').next().unwrap_or_default();
            let is_named_twice = NAMED_TWICE.iter().any(|end| path.ends_with(end));
            let once = is_named_twice.then(|| without_results(&body)).flatten();
            return Ok(RestAnswer { body: once.unwrap_or(body), tag });
        }
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        Err(refusal(head.status, &body))
    }
}

/// The object without its copy of the rows: a model reads each once.
fn without_results(body: &[u8]) -> Option<Bytes> {
    let mut fields: BTreeMap<&str, &RawValue> = serde_json::from_slice(body).ok()?;
    fields.remove("results")?;
    serde_json::to_vec(&fields).ok().map(Bytes::from)
}

/// A refusal of REST in the words of a tool.
fn refusal(status: StatusCode, body: &Value) -> Refusal {
    let detail = body["detail"].as_str().unwrap_or("The request was refused.").to_owned();
    match status {
        StatusCode::NOT_FOUND => Refusal::not_found("There is nothing with this id."),
        StatusCode::BAD_REQUEST => match &body["accepted"] {
            Value::Null => Refusal::bad_argument(detail),
            accepted => Refusal::bad_argument(detail).with("accepted", accepted.clone()),
        },
        // A match that the model knows too little for: nothing of the hub is at fault.
        StatusCode::SERVICE_UNAVAILABLE if body["code"] == "not_predicted" => {
            Refusal::new("not_available", detail)
        }
        StatusCode::FORBIDDEN => Refusal::new("bookmakers_not_entitled", detail),
        _ => Refusal::unavailable(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_named_twice_are_kept_once_as_they_are() {
        let rest = br#"{"count":1,"events":[{"wind":2.50}],"results":[{"wind":2.50}]}"#;
        let once = without_results(rest).unwrap();
        assert_eq!(once, &br#"{"count":1,"events":[{"wind":2.50}]}"#[..]);
        assert_eq!(without_results(br#"{"count":0}"#), None);
    }
}
