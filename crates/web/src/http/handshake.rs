//! The opening handshake of a WebSocket (RFC 6455, 4.2): from the head of a request to the fields of the 101 response, or to
//! the reason why it is refused. Pure; knows no accounts and no connections.

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use fanout::DEFLATE_WINDOW_BITS;
use hyper::{
    HeaderMap, Method, StatusCode, Version,
    header::{
        ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, REFERRER_POLICY,
        SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
        SEC_WEBSOCKET_VERSION, TRANSFER_ENCODING, UPGRADE,
    },
};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::{
    Shared,
    credential::{self, PresentedCredential, QueryCredentials},
    error::uniform,
    head::has_word,
};

/// Why a request is not a valid upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandshakeError {
    /// 405: neither `GET` nor `HEAD`.
    Method,
    /// 426: it does not ask for a WebSocket.
    NoUpgrade,
    /// 426: HTTP/1.0, where an upgrade does not count (RFC 9110, 7.8).
    OldHttp,
    /// 400: it declares a body. Frames could not be told from what is left of it.
    Body,
    /// 426: it does not ask for version 13 of the protocol.
    Version,
    /// 400: not one key of 16 bytes.
    Key,
}

impl IntoResponse for HandshakeError {
    fn into_response(self) -> Response {
        let (status, detail) = match self {
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "Method not allowed"),
            Self::NoUpgrade => {
                let detail = "this endpoint only accepts WebSocket upgrades";
                (StatusCode::UPGRADE_REQUIRED, detail)
            }
            Self::OldHttp => (StatusCode::UPGRADE_REQUIRED, "an upgrade needs HTTP/1.1"),
            Self::Body => (StatusCode::BAD_REQUEST, "an upgrade has no body"),
            Self::Version => (StatusCode::UPGRADE_REQUIRED, "Sec-WebSocket-Version must be 13"),
            Self::Key => (
                StatusCode::BAD_REQUEST,
                "an upgrade has one Sec-WebSocket-Key: 16 bytes in base64",
            ),
        };
        let fields: &[(HeaderName, &str)] = match status {
            StatusCode::METHOD_NOT_ALLOWED => &[(ALLOW, "GET, HEAD")],
            StatusCode::UPGRADE_REQUIRED => {
                &[(CONNECTION, "upgrade"), (UPGRADE, "websocket"), (SEC_WEBSOCKET_VERSION, "13")]
            }
            _ => &[],
        };
        let mut response = uniform(status, detail);
        let fields =
            fields.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        response.headers_mut().extend(fields);
        response
    }
}

/// An offer of compressed messages (RFC 7692) that can be agreed to. Each message is compressed on its own, so that all readers
/// can share it, and within the same window for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeflateOffer {
    AnyWindow,
    /// The client limits the window of what the hub compresses.
    LimitedWindow,
}

impl DeflateOffer {
    /// The first offer that can be agreed to.
    fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(SEC_WEBSOCKET_EXTENSIONS).iter();
        let mut offers =
            values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
        offers.find_map(Self::parse)
    }

    fn parse(offer: &str) -> Option<Self> {
        let mut parts = offer.split(';').map(str::trim);
        parts.next().filter(|name| *name == "permessage-deflate")?;
        let (mut parsed, mut names) = (Self::AnyWindow, Vec::new());
        for parameter in parts {
            let (name, value) = match parameter.split_once('=') {
                Some((name, value)) => (name.trim_end(), Some(window_bits(value.trim_start())?)),
                None => (parameter, None),
            };
            if names.contains(&name) {
                return None;
            }
            names.push(name);
            match (name, value) {
                ("server_no_context_takeover" | "client_no_context_takeover", None) => {}
                // What the client could do about its own window need not be used.
                ("client_max_window_bits", _) => {}
                ("server_max_window_bits", Some(DEFLATE_WINDOW_BITS..)) => {
                    parsed = Self::LimitedWindow;
                }
                _ => return None,
            }
        }
        Some(parsed)
    }

    fn answer(self) -> &'static str {
        const { assert!(DEFLATE_WINDOW_BITS == 12, "the answer has the bits of the window") };
        match self {
            Self::AnyWindow => {
                "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
            }
            Self::LimitedWindow => {
                "permessage-deflate; server_no_context_takeover; client_no_context_takeover; \
                 server_max_window_bits=12"
            }
        }
    }
}

/// The bits of a window, which may be quoted (RFC 7692, 7.1.2): 8 to 15, without a leading zero.
fn window_bits(value: &str) -> Option<u8> {
    let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let value = quoted.unwrap_or(value);
    (8..=15).find(|bits: &u8| bits.to_string() == value)
}

/// A valid upgrade request.
#[derive(Debug)]
pub(super) struct UpgradeRequest {
    /// `Sec-WebSocket-Accept` of the response.
    accept: HeaderValue,
    protocol: Option<&'static str>,
    /// The client's offer of compressed messages, if they can be agreed to.
    deflate: Option<DeflateOffer>,
    /// They are agreed to.
    deflates: bool,
    presented: PresentedCredential,
    /// Whether the URL contained a credential.
    had_secret: bool,
}

impl UpgradeRequest {
    /// Reads an upgrade request. The `Host` has been checked.
    pub(super) fn parse(
        (method, version): (&Method, Version),
        headers: &HeaderMap,
        query: Option<&QueryCredentials>,
    ) -> Result<Self, HandshakeError> {
        check(method, version, headers)?;
        let key = headers.get(SEC_WEBSOCKET_KEY).filter(|key| is_key(key.as_bytes()));
        let accept =
            key.and_then(|key| HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok());
        Ok(Self {
            accept: accept.ok_or(HandshakeError::Key)?,
            protocol: credential::selected(headers),
            deflate: DeflateOffer::from_headers(headers),
            deflates: false,
            presented: credential::of_upgrade(headers, query),
            had_secret: query.is_some(),
        })
    }

    /// The same for a request that has passed [`super::request_context`].
    pub(super) fn of_request(request: &Request) -> Result<Self, HandshakeError> {
        let line = (request.method(), request.version());
        Self::parse(line, request.headers(), request.extensions().get())
    }

    pub(super) fn presented(&self) -> &PresentedCredential {
        &self.presented
    }

    /// Agrees to compressed messages if they are offered and the operator allows them.
    pub(super) fn agree_to_deflate(&mut self, shared: &Shared) {
        self.deflates = self.deflate.is_some() && shared.parts.connections.deflate;
    }

    pub(super) fn deflates(&self) -> bool {
        self.deflates
    }

    /// The headers of the response.
    pub(super) fn fields(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let selected = HeaderValue::from_static;
        let deflate = self.deflate.filter(|_| self.deflates).map(DeflateOffer::answer);
        let uncached = [(CACHE_CONTROL, "no-store"), (REFERRER_POLICY, "no-referrer")];
        let uncached = uncached.map(|(name, value)| (name, selected(value)));
        [
            (CONNECTION, HeaderValue::from_static("upgrade")),
            (UPGRADE, HeaderValue::from_static("websocket")),
            (SEC_WEBSOCKET_ACCEPT, self.accept.clone()),
        ]
        .into_iter()
        .chain(self.protocol.map(|protocol| (SEC_WEBSOCKET_PROTOCOL, selected(protocol))))
        .chain(deflate.map(|answer| (SEC_WEBSOCKET_EXTENSIONS, selected(answer))))
        .chain(uncached.into_iter().filter(|_| self.had_secret))
    }

    /// The 101 response as bytes.
    pub(super) fn answer(&self) -> Vec<u8> {
        let mut answer = Vec::with_capacity(256);
        answer.extend_from_slice(b"HTTP/1.1 101 Switching Protocols\r\n");
        for (name, value) in self.fields() {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                answer.extend_from_slice(part);
            }
        }
        answer.extend_from_slice(b"\r\n");
        answer
    }
}

/// Everything but the value of the key.
fn check(method: &Method, version: Version, headers: &HeaderMap) -> Result<(), HandshakeError> {
    let only = |name: HeaderName| {
        let mut values = headers.get_all(name).iter();
        values.next().filter(|_| values.next().is_none())
    };
    let lengths = || headers.get_all(CONTENT_LENGTH).iter();
    if *method != Method::GET && *method != Method::HEAD {
        Err(HandshakeError::Method)
    } else if *method == Method::HEAD
        || !has_word(headers, &UPGRADE, "websocket")
        || !has_word(headers, &CONNECTION, "upgrade") && version >= Version::HTTP_11
    {
        Err(HandshakeError::NoUpgrade)
    } else if version < Version::HTTP_11 {
        Err(HandshakeError::OldHttp)
    } else if headers.contains_key(TRANSFER_ENCODING) || lengths().any(|length| length != "0") {
        Err(HandshakeError::Body)
    } else if only(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        Err(HandshakeError::Version)
    } else if only(SEC_WEBSOCKET_KEY).is_none() {
        Err(HandshakeError::Key)
    } else {
        Ok(())
    }
}

/// Whether it is 16 bytes in base64.
fn is_key(text: &[u8]) -> bool {
    let digits = text.strip_suffix(b"==").filter(|digits| digits.len() == 22);
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    digits.is_some_and(|digits| digits.iter().all(is_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_is_agreed_to_as_it_is_offered() {
        let answer = |offer: &'static str| {
            let offer = (SEC_WEBSOCKET_EXTENSIONS, HeaderValue::from_static(offer));
            DeflateOffer::from_headers(&HeaderMap::from_iter([offer])).map(DeflateOffer::answer)
        };
        let plain = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
        let limited = format!("{plain}; server_max_window_bits=12");
        for offer in [
            "permessage-deflate",
            "permessage-deflate; client_max_window_bits",
            "bbf-usp-protocol, permessage-deflate;server_no_context_takeover",
            "permessage-deflate; server_max_window_bits=10, permessage-deflate",
            "permessage-deflate; client_max_window_bits=16, permessage-deflate",
            "permessage-deflate ;client_max_window_bits = 8",
        ] {
            assert_eq!(answer(offer), Some(plain), "{offer}");
        }
        for offer in [
            "permessage-deflate; server_max_window_bits=12; client_max_window_bits=12",
            "permessage-deflate; server_max_window_bits=\"15\"",
        ] {
            assert_eq!(answer(offer), Some(&*limited), "{offer}");
        }
        for offer in [
            "",
            "x-webkit-deflate-frame",
            "permessage-deflate; unknown",
            "permessage-deflate; server_max_window_bits=11",
            "permessage-deflate; server_max_window_bits",
            "permessage-deflate; server_max_window_bits=16",
            "permessage-deflate; server_max_window_bits=012",
            "permessage-deflate; server_max_window_bits=12; server_max_window_bits=12",
            "permessage-deflate; client_max_window_bits=7",
            "permessage-deflate; client_max_window_bits=+9",
            "permessage-deflate; client_max_window_bits=\"9",
            "permessage-deflate; client_max_window_bits; client_max_window_bits",
            "permessage-deflate; server_no_context_takeover=1",
            "permessage-deflate; client_no_context_takeover=",
            "permessage-deflate;",
        ] {
            assert_eq!(answer(offer), None, "{offer}");
        }
    }

    const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

    /// A valid handshake with these fields in place of its own, or without them if they are empty.
    fn with(changed: &[(&'static str, &str)]) -> HeaderMap {
        let defaults = [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "WebSocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", KEY),
        ];
        let is_changed = |name: &str| changed.iter().any(|(other, _)| *other == name);
        let kept = defaults.into_iter().filter(|(name, _)| !is_changed(name));
        let mut headers = HeaderMap::new();
        for (name, value) in kept.chain(changed.iter().copied()).filter(|(_, it)| !it.is_empty()) {
            headers.append(name, value.parse().expect("a value"));
        }
        headers
    }

    #[test]
    fn head_decides_what_an_upgrade_gets() {
        use HandshakeError::{
            Body, Key, Method as NoMethod, NoUpgrade, OldHttp, Version as NoVersion,
        };
        let get = (Method::GET, Version::HTTP_11);
        let answer = |(method, version): &(Method, Version), changed: &[(&'static str, &str)]| {
            let read = UpgradeRequest::parse((method, *version), &with(changed), None);
            read.map(|request| request.accept)
        };
        let accept = Ok(HeaderValue::from_static("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        assert_eq!(answer(&get, &[]), accept);
        assert_eq!(answer(&get, &[("content-length", "0")]), accept, "no body");
        assert_eq!(answer(&get, &[("upgrade", "h2c, websocket")]), accept);
        for (changed, error) in [
            (vec![("connection", "")], NoUpgrade),
            (vec![("connection", "keep-alive")], NoUpgrade),
            (vec![("upgrade", "")], NoUpgrade),
            (vec![("upgrade", "h2c")], NoUpgrade),
            (vec![("content-length", "5")], Body),
            (vec![("content-length", "0"), ("content-length", "5")], Body),
            (vec![("transfer-encoding", "chunked")], Body),
            (vec![("sec-websocket-version", "")], NoVersion),
            (vec![("sec-websocket-version", "8")], NoVersion),
            (vec![("sec-websocket-version", "13, 8")], NoVersion),
            (vec![("sec-websocket-version", "13"), ("sec-websocket-version", "8")], NoVersion),
            (vec![("sec-websocket-key", "")], Key),
            (vec![("sec-websocket-key", "short")], Key),
            (vec![("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=")], Key),
            (vec![("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZSE=")], Key),
            (vec![("sec-websocket-key", "dGhlIHNhbXBsZSBub25j-_==")], Key),
            (vec![("sec-websocket-key", KEY), ("sec-websocket-key", KEY)], Key),
        ] {
            assert_eq!(answer(&get, &changed), Err(error), "{changed:?}");
        }
        for (method, version, error) in [
            (Method::POST, Version::HTTP_11, NoMethod),
            (Method::CONNECT, Version::HTTP_11, NoMethod),
            (Method::HEAD, Version::HTTP_11, NoUpgrade),
            (Method::GET, Version::HTTP_10, OldHttp),
        ] {
            assert_eq!(answer(&(method.clone(), version), &[]), Err(error), "{method} {version:?}");
        }
    }

    #[test]
    fn refusal_names_what_would_be_accepted() {
        let check = |error: HandshakeError, status: u16, fields: &[(&str, &str)]| {
            let response = error.into_response();
            assert_eq!(response.status().as_u16(), status, "{error:?}");
            for name in ["allow", "upgrade", "connection", "sec-websocket-version"] {
                let expected = fields.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
                let value = response.headers().get(name).map(|value| value.to_str().unwrap());
                assert_eq!(value, expected, "{error:?} {name}");
            }
        };
        let upgrade =
            [("upgrade", "websocket"), ("connection", "upgrade"), ("sec-websocket-version", "13")];
        check(HandshakeError::Method, 405, &[("allow", "GET, HEAD")]);
        check(HandshakeError::NoUpgrade, 426, &upgrade);
        check(HandshakeError::OldHttp, 426, &upgrade);
        check(HandshakeError::Version, 426, &upgrade);
        check(HandshakeError::Body, 400, &[]);
        check(HandshakeError::Key, 400, &[]);
    }
}
