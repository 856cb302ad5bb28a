//! The hub's URL as the client of a request knows it.

use hyper::{
    HeaderMap,
    header::{HOST, HeaderName},
    http::uri::Authority,
};

/// Headers of a proxy in front. They have been removed by now unless the proxy is trusted.
pub(crate) const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
pub(crate) const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// The base of URLs in responses, without a trailing slash: the configured one, else the one that the client
/// used.
#[must_use]
pub(crate) fn base_url(headers: &HeaderMap, public_url: &str, is_configured: bool) -> String {
    let Some(host) = host(headers).filter(|_| !is_configured) else {
        return public_url.to_owned();
    };
    let proto_header = headers.get(FORWARDED_PROTO).and_then(|proto| proto.to_str().ok());
    let default_scheme = if public_url.starts_with("https:") { "https" } else { "http" };
    format!("{}://{host}", proto_header.filter(|it| is_scheme(it)).unwrap_or(default_scheme))
}

/// Whether it is a scheme that clients can use.
#[must_use]
pub(crate) fn is_scheme(text: &str) -> bool {
    ["http", "https"].contains(&text)
}

/// A host, with its port if there is one; no user name or password.
#[must_use]
pub(crate) fn is_host(text: &str) -> bool {
    let authority = text.parse::<Authority>();
    authority.is_ok_and(|it| !text.contains('@') && !it.host().is_empty())
}

fn host(headers: &HeaderMap) -> Option<&str> {
    let named = [FORWARDED_HOST, HOST].into_iter().find_map(|name| headers.get(name));
    named?.to_str().ok().filter(|host| is_host(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[(HeaderName, &str)], is_configured: bool, expected: &str) {
        let pairs = pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap()));
        let headers: HeaderMap = pairs.collect();
        assert_eq!(base_url(&headers, "http://127.0.0.1:8080", is_configured), expected);
    }

    #[test]
    fn base_is_the_configured_one_or_the_one_the_client_used() {
        check(&[(HOST, "hub.test:81")], true, "http://127.0.0.1:8080");
        check(&[(HOST, "hub.test:81")], false, "http://hub.test:81");
        check(&[(HOST, "[::1]:81")], false, "http://[::1]:81");
        check(&[], false, "http://127.0.0.1:8080");
        check(&[(HOST, "a@b")], false, "http://127.0.0.1:8080");
        check(&[(HOST, "a/b")], false, "http://127.0.0.1:8080");
        check(
            &[(HOST, "10.0.0.1"), (FORWARDED_HOST, "api.test"), (FORWARDED_PROTO, "https")],
            false,
            "https://api.test",
        );
    }
}
