//! Validates `X-Forwarded-Proto` and `X-Forwarded-Host`.

use std::net::IpAddr;

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue},
};

use super::{
    Proxies,
    base_url::{FORWARDED_HOST, FORWARDED_PROTO, is_host, is_scheme},
};

/// Keeps only the last value of each header, and only if a trusted proxy sent it. Any other client could use
/// them to send readers elsewhere, so later steps never see its values.
pub(super) fn settle(proxies: &Proxies, connection: IpAddr, headers: &mut HeaderMap) {
    let is_trusted = proxies.trusts_connection(connection);
    keep_last(headers, &FORWARDED_PROTO, |proto| is_trusted && is_scheme(proto));
    keep_last(headers, &FORWARDED_HOST, |host| is_trusted && is_host(host));
}

/// Keeps the last value of a header if it is credible; removes the header otherwise.
fn keep_last(headers: &mut HeaderMap, name: &HeaderName, is_believed: impl Fn(&str) -> bool) {
    let Some(value) = headers.get_all(name).iter().next_back().cloned() else { return };
    headers.remove(name);
    let last = value.to_str().unwrap_or_default().rsplit(',').next().unwrap_or_default().trim();
    if is_believed(last)
        && let Ok(value) = HeaderValue::from_str(last)
    {
        headers.insert(name.clone(), value);
    }
}

#[cfg(test)]
mod tests {
    use ::base::config::Network;

    use super::*;
    use crate::http::base_url::base_url;

    fn check(header: Option<&str>, connection: &str, host: &str, expected: &str) {
        let header = header.map(|name| name.parse().unwrap());
        let proxies = Proxies { header, trusted: Network::parse_all("10.0.0.0/8").unwrap() };
        let mut headers = HeaderMap::new();
        headers.insert("host", "inner:80".parse().unwrap());
        headers.insert(FORWARDED_HOST, host.parse().unwrap());
        headers.insert(FORWARDED_PROTO, "https".parse().unwrap());
        settle(&proxies, connection.parse().unwrap(), &mut headers);
        assert_eq!(base_url(&headers, "http://own", false), expected, "{connection} {host}");
    }

    #[test]
    fn only_headers_of_trusted_proxies_count() {
        let header = Some("x-forwarded-for");
        check(header, "10.0.0.1", "api.test", "https://api.test");
        check(header, "10.0.0.1", "evil.test, api.test", "https://api.test");
        check(header, "10.0.0.1", "a@b", "https://inner:80");
        check(header, "::ffff:10.0.0.1", "api.test", "https://api.test");
        check(header, "192.0.2.1", "api.test", "http://inner:80");
        check(None, "10.0.0.1", "api.test", "http://inner:80");
    }
}
