//! Protects forms against cross-site request forgery.
//!
//! Two conditions must hold. Each form carries a token, the keyed hash of the cookie of the browser that it
//! was rendered for, which requires both the cookie and the pepper to compute. And if the browser reports the
//! site that the form comes from, it must be this one.

use std::fmt;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use hyper::{
    HeaderMap,
    header::{HOST, ORIGIN},
};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The visitor a form is rendered for, by the secret of their cookie.
#[derive(Clone, Copy)]
pub(crate) enum Holder<'a> {
    Visitor(&'a str),
    Session(&'a str),
    /// An operator's session.
    Operator(&'a str),
}

/// The secret that signs tokens. It is derived from the pepper, so an open form stays valid when the hub
/// restarts.
pub(crate) struct FormKey(Zeroizing<[u8; 32]>);

impl FormKey {
    pub(crate) fn new(secret: Zeroizing<[u8; 32]>) -> Self {
        Self(secret)
    }

    /// The token for their forms, 64 hex digits.
    pub(crate) fn token(&self, holder: Holder<'_>) -> String {
        HEXLOWER.encode(&self.mac(holder))
    }

    /// Whether the token is theirs; compared in constant time.
    pub(crate) fn accepts(&self, holder: Holder<'_>, token: &str) -> bool {
        self.token(holder).as_bytes().ct_eq(token.as_bytes()).into()
    }

    fn mac(&self, holder: Holder<'_>) -> [u8; 32] {
        let (label, secret) = match holder {
            Holder::Visitor(secret) => ("visitor", secret),
            Holder::Session(secret) => ("session", secret),
            Holder::Operator(secret) => ("operator", secret),
        };
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&*self.0).expect("HMAC takes a key of any length");
        mac.update(label.as_bytes());
        mac.update(b":");
        mac.update(secret.as_bytes());
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for FormKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FormKey(..)")
    }
}

/// Whether the origin that the browser reports allows the form. Old browsers that report nothing rely on the
/// token. So does the origin `null`, which browsers also send for the hub's own forms, because its pages ask
/// them not to reveal their URLs.
pub(crate) fn may_be_ours(headers: &HeaderMap, public_url: &str) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let site_is_ours = match text("sec-fetch-site") {
        None | Some("same-origin" | "none") => true,
        Some(_) => false,
    };
    let origin_is_ours = match text(ORIGIN.as_str()) {
        None | Some("null") => true,
        Some(origin) if origin == origin_of(public_url) => true,
        // Without TLS the hub may be reached by several names; with TLS there is only one.
        Some(origin) => {
            let host = origin.split_once("://").map(|(_, host)| host);
            !public_url.starts_with("https://") && host == text(HOST.as_str())
        }
    };
    site_is_ours && origin_is_ours
}

/// Scheme, host and port.
fn origin_of(url: &str) -> &str {
    let Some((scheme, rest)) = url.split_once("://") else { return url };
    let host = rest.find('/').unwrap_or(rest.len());
    &url[..scheme.len() + 3 + host]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> FormKey {
        FormKey::new(Zeroizing::new([byte; 32]))
    }

    #[test]
    fn token_is_valid_only_for_its_holder() {
        let token = key(1).token(Holder::Session("aa"));
        assert!(key(1).accepts(Holder::Session("aa"), &token));
        assert!(!key(1).accepts(Holder::Session("ab"), &token));
        assert!(!key(1).accepts(Holder::Visitor("aa"), &token), "another kind of cookie");
        assert!(!key(1).accepts(Holder::Operator("aa"), &token), "another kind of cookie");
        assert!(!key(2).accepts(Holder::Session("aa"), &token), "another pepper");
        for bad in ["", "00", &token[..63], &format!("{token}0")] {
            assert!(!key(1).accepts(Holder::Session("aa"), bad), "{bad}");
        }
    }

    fn check(public_url: &str, headers: &[(&'static str, &str)], expected: bool) {
        let mut map = HeaderMap::new();
        map.insert(HOST, "127.0.0.1:8080".parse().unwrap());
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        assert_eq!(may_be_ours(&map, public_url), expected, "{public_url} {headers:?}");
    }

    #[test]
    fn forms_of_other_sites_are_recognised_by_browser_headers() {
        for url in ["https://sports.example/base", "http://sports.example"] {
            check(url, &[], true);
            check(url, &[("origin", origin_of(url))], true);
            check(url, &[("origin", "null")], true);
            check(url, &[("sec-fetch-site", "same-origin")], true);
            check(url, &[("origin", "https://evil.example")], false);
            check(url, &[("origin", "https://sports.example.evil.example")], false);
            check(url, &[("origin", "")], false);
            check(url, &[("sec-fetch-site", "cross-site")], false);
            check(url, &[("sec-fetch-site", "same-site")], false);
            check(url, &[("sec-fetch-site", "cross-site"), ("origin", origin_of(url))], false);
            let both = [("sec-fetch-site", "same-origin"), ("origin", "https://evil.example")];
            check(url, &both, false);
        }
    }

    #[test]
    fn origin_with_another_host_is_accepted_only_without_tls() {
        let by_number = [("origin", "http://127.0.0.1:8080")];
        check("http://sports.example", &by_number, true);
        check("https://sports.example", &by_number, false);
        check("https://sports.example", &[("origin", "http://sports.example")], false);
    }
}
