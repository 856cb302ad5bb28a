//! The hub's address. Only addresses of this machine are accepted: a load test of another party's
//! service is an attack, and one over a network measures the network.

use std::net::IpAddr;

use anyhow::{Result, bail, ensure};
use tokio_tungstenite::tungstenite::http::Uri;

/// Checks a URL from the command line. The result begins with `ws://` or `wss://`.
pub(crate) fn loopback(url: &str) -> Result<Uri, String> {
    check(url).map_err(|error| error.to_string())
}

fn check(url: &str) -> Result<Uri> {
    let uri: Uri = url.parse()?;
    let scheme = match uri.scheme_str() {
        Some("ws" | "http") => "ws",
        Some("wss" | "https") => "wss",
        _ => bail!("it has to begin with ws://, wss://, http:// or https://"),
    };
    let Some(host) = uri.host() else { bail!("it has no host") };
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_loopback = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    ensure!(is_loopback, "{host} is not this machine; only loopback addresses are followed");
    let mut parts = uri.into_parts();
    parts.scheme = Some(scheme.parse()?);
    Ok(Uri::from_parts(parts)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_addresses_are_accepted() {
        for (url, expected) in [
            ("ws://127.0.0.1:8080/stream/v1", "ws://127.0.0.1:8080/stream/v1"),
            ("ws://localhost/", "ws://localhost/"),
            ("wss://[::1]:9/", "wss://[::1]:9/"),
            ("http://127.9.9.9/a?b=c", "ws://127.9.9.9/a?b=c"),
            ("https://localhost:8443", "wss://localhost:8443/"),
        ] {
            assert_eq!(loopback(url).map(|url| url.to_string()).as_deref(), Ok(expected));
        }
        for url in [
            "ws://example.com/",
            "ws://10.0.0.1/",
            "ws://localhost.example.com/",
            "ws://127.0.0.1.example.com/",
            "ws://0.0.0.0/",
            "https://192.0.2.1/",
            "ftp://127.0.0.1/",
            "127.0.0.1:8080",
            "",
        ] {
            assert!(loopback(url).is_err(), "{url}");
        }
    }
}
