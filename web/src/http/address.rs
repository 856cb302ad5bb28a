//! Limits on the length of a URL that is parsed.

use axum::response::{IntoResponse, Response};
use hyper::{StatusCode, Uri};

use super::error::HttpError;

/// Maximum bytes of a path, and of a query. The names and values of all filters together take a few hundred.
const PATH_BYTES_MAX: usize = 2 * 1024;
const QUERY_BYTES_MAX: usize = 8 * 1024;
/// Parameters of a query.
const PARAMETERS_MAX: usize = 200;

/// The response to a URL that is too expensive to parse.
pub(super) fn refuse(uri: &Uri) -> Option<Response> {
    problem(uri).map(IntoResponse::into_response)
}

fn problem(uri: &Uri) -> Option<HttpError> {
    let query = uri.query().unwrap_or_default();
    if uri.path().len() > PATH_BYTES_MAX || query.len() > QUERY_BYTES_MAX {
        let detail = "the address is too long";
        return Some(HttpError::Refused(StatusCode::URI_TOO_LONG, detail));
    }
    let parameters = query.split('&').count();
    (parameters > PARAMETERS_MAX).then_some(HttpError::BadRequest("too many parameters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_addresses_are_refused() {
        let of = |path: &str, query: &str| problem(&format!("{path}?{query}").parse().unwrap());
        assert!(of("/api/", &"a".repeat(QUERY_BYTES_MAX)).is_none());
        let refused = of("/api/", &"a".repeat(QUERY_BYTES_MAX + 1));
        assert!(matches!(refused, Some(HttpError::Refused(StatusCode::URI_TOO_LONG, _))));
        let refused = of(&format!("/{}", "a".repeat(PATH_BYTES_MAX)), "");
        assert!(matches!(refused, Some(HttpError::Refused(StatusCode::URI_TOO_LONG, _))));
        assert!(matches!(of("/", &"a&".repeat(PARAMETERS_MAX)), Some(HttpError::BadRequest(_))));
    }
}
