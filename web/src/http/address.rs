//! What the address of a request must be: the `Host`, and limits on the length of a URL that is parsed.

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use hyper::{HeaderMap, StatusCode, Uri, Version, header::HOST};

use super::error::HttpError;
use crate::api::base::is_host;

/// Maximum bytes of a path, and of a query. The names and values of all filters together take a few hundred.
const PATH_BYTES_MAX: usize = 2 * 1024;
const QUERY_BYTES_MAX: usize = 8 * 1024;
/// Parameters of a query.
const PARAMETERS_MAX: usize = 200;

/// Whether a request has the one valid `Host` that HTTP/1.1 requires (RFC 9112, 3.2); an empty one is valid. HTTP/1.0 does not
/// require it.
pub(super) fn has_host(version: Version, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => version < Version::HTTP_11,
        (Some(host), None) => host.to_str().is_ok_and(|host| host.is_empty() || is_host(host)),
        (Some(_), Some(_)) => false,
    }
}

/// The response to a request without a valid `Host`.
pub(super) fn refuse_host(request: &Request) -> Option<Response> {
    let refused = HttpError::BadRequest("the request needs one valid Host header");
    (!has_host(request.version(), request.headers())).then(|| refused.into_response())
}

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

    #[test]
    fn one_valid_host_is_needed() {
        let check = |version: Version, hosts: &[&str], expected: bool| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(HOST, host.parse().unwrap());
            }
            assert_eq!(has_host(version, &headers), expected, "{version:?} {headers:?}");
        };
        let valid = ["hub.test", "hub.test:81", "a_b", "127.0.0.1:8080", "[::1]:81", ""];
        valid.iter().for_each(|host| check(Version::HTTP_11, &[host], true));
        let wrong = ["a@hub.test", "a b", "a/b", ":81", "a, b"];
        wrong.iter().for_each(|host| check(Version::HTTP_11, &[host], false));
        check(Version::HTTP_11, &[], false);
        check(Version::HTTP_11, &["hub.test", "hub.test"], false);
        check(Version::HTTP_10, &[], true);
        check(Version::HTTP_10, &["hub.test", "other"], false);
    }
}
