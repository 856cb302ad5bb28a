//! What the head of a request must be before anything else is asked: its target, its `Host` and its transfer coding, and limits on
//! the length of a URL that is parsed.

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use hyper::{
    HeaderMap, Method, StatusCode, Uri, Version,
    header::{ALLOW, HOST, HeaderValue, TRANSFER_ENCODING},
};

use super::{
    base_url::{is_host, is_scheme},
    cors::METHODS,
    error::HttpError,
    head::LineVersion,
};

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

/// The host in an absolute target takes the place of the `Host` (RFC 9112, 3.2.2).
pub(super) fn settle_host(request: &mut Request) {
    let host = request.uri().authority().filter(|_| request.uri().scheme().is_some());
    let host = host.and_then(|host| HeaderValue::from_str(host.as_str()).ok());
    if let Some(host) = host.filter(|_| has_host(request.version(), request.headers())) {
        request.headers_mut().insert(HOST, host);
    }
}

/// The response to a request that is answered by its head alone: to `OPTIONS *`, which asks about the hub as a whole, and to one
/// that HTTP does not allow.
pub(super) fn answer_head(request: &Request) -> Option<Response> {
    let (uri, headers) = (request.uri(), request.headers());
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    let refused = if request.extensions().get() == Some(&LineVersion::Unsupported) {
        HttpError::Refused(StatusCode::HTTP_VERSION_NOT_SUPPORTED, "the hub speaks HTTP/1.1")
    } else if !has_host(request.version(), headers) {
        HttpError::BadRequest("the request needs one valid Host header")
    } else if uri.scheme_str().is_some_and(|scheme| !is_scheme(scheme)) {
        HttpError::BadRequest("the address is not one of http or https")
    } else if codings.next().is_some_and(|coding| !is_chunked(coding)) || codings.next().is_some() {
        let detail = "the only transfer coding is chunked";
        HttpError::Refused(StatusCode::NOT_IMPLEMENTED, detail)
    } else if uri.path() != "*" {
        return None;
    } else if request.method() == Method::OPTIONS {
        let methods = HeaderValue::from_static(METHODS);
        return Some((StatusCode::NO_CONTENT, [(ALLOW, methods)]).into_response());
    } else {
        HttpError::BadRequest("only OPTIONS has the target *")
    };
    Some(refused.into_response())
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
        let problem_of =
            |path: &str, query: &str| problem(&format!("{path}?{query}").parse().unwrap());
        assert!(problem_of("/api/", &"a".repeat(QUERY_BYTES_MAX)).is_none());
        let refused = problem_of("/api/", &"a".repeat(QUERY_BYTES_MAX + 1));
        assert!(matches!(refused, Some(HttpError::Refused(StatusCode::URI_TOO_LONG, _))));
        let refused = problem_of(&format!("/{}", "a".repeat(PATH_BYTES_MAX)), "");
        assert!(matches!(refused, Some(HttpError::Refused(StatusCode::URI_TOO_LONG, _))));
        assert!(matches!(
            problem_of("/", &"a&".repeat(PARAMETERS_MAX)),
            Some(HttpError::BadRequest(_))
        ));
    }

    fn request(method: &str, target: &str, fields: &[(&str, &str)]) -> Request {
        let head = Request::builder().method(method).uri(target);
        let head = fields.iter().fold(head, |head, (name, value)| head.header(*name, *value));
        let mut request = head.body(axum::body::Body::empty()).expect("a request");
        settle_host(&mut request);
        request
    }

    /// RFC 9110, 9.3.7, and RFC 9112, 3.2 and 6.1.
    #[test]
    fn head_alone_decides_some_answers() {
        let host = ("host", "x");
        for (method, target, fields, expected) in [
            ("GET", "/healthz", vec![host], None),
            ("GET", "http://x/healthz", vec![host], None),
            ("GET", "HTTPS://x/", vec![host], None),
            ("GET", "ftp://x/healthz", vec![host], Some(400)),
            ("GET", "http://a@x/healthz", vec![host], Some(400)),
            ("GET", "http://x/healthz", vec![], Some(400)),
            ("GET", "http://x/", vec![host, host], Some(400)),
            ("OPTIONS", "*", vec![host], Some(204)),
            ("GET", "*", vec![host], Some(400)),
            ("POST", "/mcp", vec![host, ("transfer-encoding", "Chunked")], None),
            ("POST", "/mcp", vec![host, ("transfer-encoding", "gzip, chunked")], Some(501)),
            ("POST", "/mcp", vec![host, ("transfer-encoding", "chunked, chunked")], Some(501)),
            (
                "POST",
                "/mcp",
                vec![host, ("transfer-encoding", "gzip"), ("transfer-encoding", "chunked")],
                Some(501),
            ),
            (
                "POST",
                "/mcp",
                vec![host, ("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")],
                Some(501),
            ),
        ] {
            let answer = answer_head(&request(method, target, &fields));
            let status = answer.map(|answer| answer.status().as_u16());
            assert_eq!(status, expected, "{method} {target} {fields:?}");
        }
        let mut request = request("GET", "/healthz", &[host]);
        for (version, expected) in
            [(LineVersion::Later, None), (LineVersion::Unsupported, Some(505))]
        {
            request.extensions_mut().insert(version);
            let status = answer_head(&request).map(|answer| answer.status().as_u16());
            assert_eq!(status, expected, "{version:?}");
        }
    }

    #[test]
    fn absolute_target_replaces_the_host() {
        let host = |target: &str, hosts: &[(&str, &str)]| {
            let request = request("GET", target, hosts);
            let hosts = request.headers().get_all(HOST).iter();
            hosts.map(|host| host.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(host("/", &[("host", "x")]), ["x"]);
        assert_eq!(host("http://hub.test:81/", &[("host", "x")]), ["hub.test:81"]);
        assert_eq!(host("http://hub.test/", &[("host", "x"), ("host", "y")]), ["x", "y"]);
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
