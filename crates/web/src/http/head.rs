//! Parses the head of a first request: is it a plain upgrade, which the acceptor answers itself? Pure; the
//! router handles everything unusual.

use hyper::{
    HeaderMap, Method, Uri, Version,
    header::{
        AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue,
        SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
        TRANSFER_ENCODING, UPGRADE,
    },
};

use super::{address, credential, handshake::UpgradeRequest, ws};

/// The longest head that the acceptor parses itself. Longer ones go to the router.
pub(super) const BYTES_MAX: usize = 8 * 1024;

/// Header fields in it. A request with more goes to the router.
const FIELDS_MAX: usize = 48;

/// How each request for one of the sockets begins.
const BEGINNINGS: [&[u8]; 3] = [b"GET /stream/v1", b"GET /live/football", b"GET /ws/live"];

/// The headers that matter for an upgrade.
const DECISIVE: [HeaderName; 8] = [
    AUTHORIZATION,
    CONNECTION,
    HOST,
    UPGRADE,
    SEC_WEBSOCKET_EXTENSIONS,
    SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION,
];

/// What the bytes of a connection begin with.
#[derive(Debug)]
pub(super) enum Head {
    /// So far it may be an upgrade.
    Incomplete,
    Upgrade(Upgrade),
    /// Anything else.
    Other,
}

/// A plain upgrade and its target.
#[derive(Debug)]
pub(super) struct Upgrade {
    /// Without the credential.
    pub(super) uri: Uri,
    pub(super) request: UpgradeRequest,
    /// Length of the head in bytes.
    pub(super) length: usize,
}

/// Recognises an upgrade to one of the sockets; rules out anything else as early as possible.
pub(super) fn parse_for_socket(bytes: &[u8]) -> Head {
    let may_be = |beginning: &&[u8]| {
        let begun = bytes.len().min(beginning.len());
        bytes[..begun] == beginning[..begun]
    };
    if !BEGINNINGS.iter().any(may_be) {
        return Head::Other;
    }
    match parse(bytes) {
        Head::Upgrade(it) if ws::dialect(it.uri.path()).is_none() => Head::Other,
        head => head,
    }
}

/// Recognises any upgrade.
fn parse(bytes: &[u8]) -> Head {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) if bytes.len() < BYTES_MAX => Head::Incomplete,
        Ok(httparse::Status::Complete(length)) => {
            upgrade(&request, length).map_or(Head::Other, Head::Upgrade)
        }
        Ok(httparse::Status::Partial) | Err(_) => Head::Other,
    }
}

/// The version of HTTP in the first line of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum LineVersion {
    /// One that hyper reads, something else that it refuses, or not known yet.
    #[default]
    Usual,
    /// A later minor version of HTTP/1, which is to be read as HTTP/1.1 (RFC 9110, 2.5).
    Later,
    /// Another major version.
    Unsupported,
}

/// Reads the first line of a connection in the parts in which it comes, and makes its version one that hyper reads.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FirstLine {
    spaces: u8,
    /// Bytes read after the second space: `HTTP/1.1`.
    version_bytes: u8,
    pub(super) version: LineVersion,
    is_over: bool,
}

impl FirstLine {
    pub(super) fn read(&mut self, part: &mut [u8]) {
        for byte in part {
            if self.is_over {
                return;
            }
            self.read_byte(byte);
        }
    }

    fn read_byte(&mut self, byte: &mut u8) {
        match (self.spaces, self.version_bytes, *byte) {
            // Empty lines may come before it.
            (spaces, _, b'\n') => return self.is_over = spaces > 0,
            (0 | 1, _, other) => return self.spaces += u8::from(other == b' '),
            (_, 5, b'0' | b'2'..=b'9') => self.version = LineVersion::Unsupported,
            (_, 7, b'2'..=b'9') if self.version == LineVersion::Usual => {
                self.version = LineVersion::Later;
            }
            (_, 7, b'0'..=b'9') if self.version == LineVersion::Unsupported => {}
            (_, 8.., _) => return self.is_over = true,
            _ => return self.version_bytes += 1,
        }
        *byte = b'1';
        self.version_bytes += 1;
    }
}

/// Whether the list in the fields of this name has this word, in any case.
pub(super) fn has_word(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let mut words = values.flat_map(|value| value.split(','));
    words.any(|candidate| candidate.trim().eq_ignore_ascii_case(word))
}

/// The fields of this name in the head of a request that was parsed before.
pub(super) fn fields(bytes: &[u8], name: &HeaderName) -> HeaderMap {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    let mut headers = HeaderMap::new();
    if request.parse(bytes).is_ok() {
        let all = request.headers.iter().filter(|it| it.name.eq_ignore_ascii_case(name.as_str()));
        for value in all.filter_map(|field| HeaderValue::from_bytes(field.value).ok()) {
            headers.append(name, value);
        }
    }
    headers
}

fn upgrade(request: &httparse::Request<'_, '_>, length: usize) -> Option<Upgrade> {
    if (request.method, request.version) != (Some("GET"), Some(1)) {
        return None;
    }
    let mut uri: Uri = request.path?.parse().ok()?;
    let in_query = credential::take(&mut uri);
    let mut headers = HeaderMap::with_capacity(DECISIVE.len());
    for field in request.headers.iter() {
        let is = |name: &HeaderName| field.name.eq_ignore_ascii_case(name.as_str());
        if let Some(name) = DECISIVE.iter().find(|name| is(name)) {
            headers.append(name, HeaderValue::from_bytes(field.value).ok()?);
        } else if is(&CONTENT_LENGTH) || is(&TRANSFER_ENCODING) {
            return None;
        }
    }
    let line = (&Method::GET, Version::HTTP_11);
    let request = UpgradeRequest::parse(line, &headers, in_query.as_ref());
    let request = request.ok().filter(|_| address::has_host(line.1, &headers))?;
    Some(Upgrade { request, uri, length })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &str = "Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

    fn check(request: &str, expected: &str) {
        let found = match parse_for_socket(request.as_bytes()) {
            Head::Incomplete => "incomplete".to_owned(),
            Head::Upgrade(it) => format!("socket, then {:?}", &request[it.length..]),
            Head::Other => "other".to_owned(),
        };
        assert_eq!(found, expected, "{request:?}");
    }

    #[test]
    fn upgrade_is_recognised_once_its_head_is_complete() {
        let request = format!("GET /stream/v1?token=k HTTP/1.1\r\n{FIELDS}\r\n");
        for end in 0..request.len() {
            check(&request[..end], "incomplete");
        }
        check(&request, r#"socket, then """#);
        check(&format!("{request}more"), r#"socket, then "more""#);
        for path in ["/stream/v1/", "/live/football", "/live/football/?token=k", "/ws/live/"] {
            check(&format!("GET {path} HTTP/1.1\r\n{FIELDS}\r\n"), r#"socket, then """#);
        }
    }

    #[test]
    fn fields_of_one_name_are_found_in_order() {
        let name = HeaderName::from_static("x-forwarded-for");
        let request = format!(
            "GET /stream/v1 HTTP/1.1\r\nX-Forwarded-For: 1.1.1.1\r\n{FIELDS}x-forwarded-for: 2.2.2.2\r\n\r\n{{"
        );
        let fields = fields(request.as_bytes(), &name);
        let values: Vec<_> = fields.get_all(&name).iter().collect();
        assert_eq!(values, ["1.1.1.1", "2.2.2.2"]);
        assert!(super::fields(b"nonsense", &name).is_empty());
    }

    #[test]
    fn other_versions_are_read_as_the_latest_one_in_whatever_parts_they_come() {
        use LineVersion::{Later, Unsupported, Usual};
        for (line, read, version) in [
            ("GET / HTTP/1.2\r\nx: 1 2 HTTP/1.2", "GET / HTTP/1.1\r\nx: 1 2 HTTP/1.2", Later),
            ("\r\nGET / HTTP/1.9\r\n", "\r\nGET / HTTP/1.1\r\n", Later),
            ("GET / HTTP/1.1\r\nx: HTTP/1.2\r\n", "GET / HTTP/1.1\r\nx: HTTP/1.2\r\n", Usual),
            ("GET / HTTP/1.0\r\n", "GET / HTTP/1.0\r\n", Usual),
            ("PRI * HTTP/2.0\r\n\r\nSM 2 2\r\n", "PRI * HTTP/1.1\r\n\r\nSM 2 2\r\n", Unsupported),
            ("GET / HTTP/0.9\r\n", "GET / HTTP/1.1\r\n", Unsupported),
            ("GET / HTTP/3.7\r\n", "GET / HTTP/1.1\r\n", Unsupported),
            ("GET / HTTP/x.y\r\n", "GET / HTTP/x.y\r\n", Usual),
            ("GET /\r\nx: 2 2 22222222", "GET /\r\nx: 2 2 22222222", Usual),
            ("", "", Usual),
        ] {
            for part_bytes in 1..=line.len().max(1) {
                let (mut bytes, mut first) = (line.as_bytes().to_vec(), FirstLine::default());
                bytes.chunks_mut(part_bytes).for_each(|part| first.read(part));
                assert_eq!(bytes, read.as_bytes(), "{line:?} in parts of {part_bytes}");
                assert_eq!(first.version, version, "{line:?} in parts of {part_bytes}");
            }
        }
    }

    #[test]
    fn other_requests_go_to_the_router() {
        check(&format!("POST /stream/v1 HTTP/1.1\r\n{FIELDS}\r\n"), "other");
        check(&format!("GET /stream/v1 HTTP/1.0\r\n{FIELDS}\r\n"), "other");
        check(&format!("GET /stream/v12 HTTP/1.1\r\n{FIELDS}\r\n"), "other");
        check(&format!("GET /stream/v1 HTTP/1.1\r\n{FIELDS}Content-Length: 1\r\n\r\n"), "other");
        check("GET /stream/v1 HTTP/1.1\r\nHost: x\r\n\r\n", "other");
        check(&format!("GET /stream/v1 HTTP/1.1\r\n{FIELDS}Host: y\r\n\r\n"), "other");
        check(&format!("GET /stream/v1 HTTP/1.1\r\nx-{FIELDS}\r\n"), "other");
        check("GET /stream/v1/channels/football HTTP/1.1\r\n\r\n", "other");
        check(&format!("GET /live/tennis/ HTTP/1.1\r\n{FIELDS}\r\n"), "other");
        check(&format!("GET /ws/live/football HTTP/1.1\r\n{FIELDS}\r\n"), "other");
        check("GET /healthz", "other");
        check("GET /stream/v1 HTTP/1.1\r\nnonsense\r\n", "other");
        check(&format!("GET /stream/v1 HTTP/1.1\r\nx: {}", "y".repeat(BYTES_MAX)), "other");
        check(
            &format!("GET /stream/v1 HTTP/1.1\r\n{}", "x: y\r\n".repeat(FIELDS_MAX + 1)),
            "other",
        );
    }
}
