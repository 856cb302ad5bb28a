//! Questions to the REST interface of the same process: the router's own handlers, without a socket. So an
//! answer of a tool is REST's by construction.

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
use serde_json::{Map, Value};
use tower::ServiceExt as _;

use crate::refusal::Refusal;

/// The largest answer that is read. REST's pages are far below.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// An answer of the REST interface.
#[derive(Debug, Clone)]
pub(crate) struct RestAnswer {
    pub body: Bytes,
    /// The tag of the body: equal tags of one address mean equal bodies.
    pub tag: Option<HeaderValue>,
}

impl RestAnswer {
    /// The body as a value. Lists that REST gives under two names are there once.
    pub(crate) fn value(&self) -> Result<Value, Refusal> {
        let mut value: Value =
            serde_json::from_slice(&self.body).map_err(|_| Refusal::unavailable())?;
        if let Some(fields) = value.as_object_mut().filter(|fields| has_two_names(fields)) {
            fields.remove("results");
        }
        Ok(value)
    }
}

/// Whether an object of REST, or the properties of its schema, has its rows under a name of their own and as
/// `results` too.
pub(crate) fn has_two_names(fields: &Map<String, Value>) -> bool {
    ["events", "incidents"].into_iter().any(|name| fields.contains_key(name))
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
            return Ok(RestAnswer { body, tag });
        }
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        Err(refusal(head.status, &body))
    }
}

/// A refusal of REST in the words of a tool.
fn refusal(status: StatusCode, body: &Value) -> Refusal {
    let detail = body["detail"].as_str().unwrap_or("The request was refused.").to_owned();
    match status {
        StatusCode::NOT_FOUND => Refusal::not_found("There is nothing with this id."),
        StatusCode::BAD_REQUEST => Refusal::bad_argument(detail),
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
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_with_two_names_are_there_once() {
        for (body, expected) in [
            (
                json!({"count": 1, "events": [1], "results": [1]}),
                json!({"count": 1, "events": [1]}),
            ),
            (json!({"incidents": [], "results": []}), json!({"incidents": []})),
            (json!({"count": 1, "results": [1]}), json!({"count": 1, "results": [1]})),
        ] {
            let answer = RestAnswer { body: body.to_string().into(), tag: None };
            assert!(answer.value().is_ok_and(|value| value == expected), "{body}");
        }
    }
}
