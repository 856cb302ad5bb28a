//! The minimum of an upgrade (RFC 6455, 4.2): the path and the response.

use tungstenite::handshake::derive_accept_key;

use crate::frame::six_digits;

/// The maximum length of a request's head, in bytes.
pub(crate) const HEAD_BYTES_MAX: usize = 4096;

/// The role of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientRole {
    Publish,
    Follow(u32),
}

/// The result of parsing the beginning of a connection.
pub(crate) enum Request {
    /// The head is incomplete.
    Incomplete,
    /// Not an upgrade, or an unknown path.
    Refused,
    /// An upgrade whose head is `head` bytes long.
    Upgrade { client_role: ClientRole, answer: String, head: usize },
}

pub(crate) fn read(bytes: &[u8]) -> Request {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut headers);
    let head = match request.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES_MAX => {
            return Request::Incomplete;
        }
        Ok(httparse::Status::Partial) | Err(_) => return Request::Refused,
    };
    let key = request.headers.iter().find(|it| it.name.eq_ignore_ascii_case("sec-websocket-key"));
    let (Some(client_role), Some(key)) = (request.path.and_then(client_role), key) else {
        return Request::Refused;
    };
    let accept = derive_accept_key(key.value);
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-accept: {accept}\r\n\r\n"
    );
    Request::Upgrade { client_role, answer, head }
}

fn client_role(path: &str) -> Option<ClientRole> {
    if path == "/pub" {
        return Some(ClientRole::Publish);
    }
    let digits = path.strip_prefix("/sub/")?.as_bytes().try_into().ok()?;
    six_digits(digits).map(ClientRole::Follow)
}
