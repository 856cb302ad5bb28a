//! From a TCP connection to a WebSocket, and the first commands: bytes, no socket.

use serde_json::json;

use crate::{
    channels::Channels,
    hub::Hub,
    plan::{Class, Endpoint, View},
    position::Positions,
};

/// The example of RFC 6455. It need not be random: nothing depends on it.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// The path of a publisher of bare messages.
pub(crate) const PUBLISH_PATH: &str = "/pub";

/// The extension that compresses frames, in requests and responses.
const DEFLATE: &str = "permessage-deflate";

/// The request of a socket that follows this.
pub(crate) fn request(hub: &Hub, endpoint: &Endpoint, follows: &[String], view: &View) -> Vec<u8> {
    match endpoint {
        Endpoint::Stream { key } => {
            let mut headers = format!("Authorization: Token {key}\r\n");
            if view.deflates {
                headers += &format!("Sec-WebSocket-Extensions: {DEFLATE}\r\n");
            }
            raw_request(hub, &hub.path, &headers)
        }
        Endpoint::Raw => raw_request(hub, &format!("/sub/{}", follows[0]), ""),
    }
}

/// The request for a path.
pub(crate) fn raw_request(hub: &Hub, path: &str, header: &str) -> Vec<u8> {
    let host = &hub.host;
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n{header}\r\n"
    )
    .into_bytes()
}

/// The response of a server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UpgradeResponse {
    /// Incomplete.
    Partial,
    /// The WebSocket starts at this byte.
    Upgraded(usize),
    Refused(String),
}

/// The maximum length of a response to an upgrade.
const RESPONSE_BYTES_MAX: usize = 16 << 10;

/// `deflates`: whether the request offered compression, which the server has to accept.
pub(crate) fn parse_response(bytes: &[u8], deflates: bool) -> UpgradeResponse {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        let is_too_long = bytes.len() > RESPONSE_BYTES_MAX;
        let refused = || UpgradeResponse::Refused("an answer without an end".to_owned());
        return if is_too_long { refused() } else { UpgradeResponse::Partial };
    };
    let head = String::from_utf8_lossy(&bytes[..end]);
    let status = head.lines().next().unwrap_or_default();
    if !status.starts_with("HTTP/1.1 101") {
        return UpgradeResponse::Refused(status.to_owned());
    }
    if !head.contains(ACCEPT) {
        return UpgradeResponse::Refused("an upgrade without its proof".to_owned());
    }
    if deflates && !head.contains(DEFLATE) {
        return UpgradeResponse::Refused("an upgrade without compression".to_owned());
    }
    UpgradeResponse::Upgraded(end + 4)
}

/// The maximum bytes of a command, with room for the fields around the positions.
const POSITIONS_BYTES_MAX: usize = 15 << 10;

/// The commands that subscribe to all of this, from the socket's positions.
pub(crate) fn subscribes(
    (class, view): (&Class, &View),
    follows: &[String],
    positions: &Positions,
    channels: &Channels,
) -> Vec<String> {
    let command = |(id, ch): (usize, &String)| {
        let mut command = json!({"op": "subscribe", "id": id, "ch": ch});
        if class.every_ms > 0 {
            command["every_ms"] = class.every_ms.into();
        }
        if class.on_slow != "merge" {
            command["on_slow"] = class.on_slow.into();
        }
        if let Some(pick) = &view.pick {
            command["pick"] = json!(**pick);
        }
        let positions = positions.all().iter().map(|position| {
            (channels.name(position.ch), channels.epoch_name(position.epoch), position.seq)
        });
        // The hub sends the images of those that find no room, and reports it.
        if let (Some(from), _) = client::resume_from(ch, positions, POSITIONS_BYTES_MAX) {
            command["from"] = from;
        }
        command.to_string()
    };
    follows.iter().enumerate().map(command).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn response_is_accepted_or_refused() {
        let upgraded = format!("HTTP/1.1 101 Switching\r\nSec-WebSocket-Accept: {ACCEPT}\r\n\r\n");
        assert_eq!(parse_response(&upgraded.as_bytes()[..40], false), UpgradeResponse::Partial);
        let whole = UpgradeResponse::Upgraded(upgraded.len());
        assert_eq!(parse_response(upgraded.as_bytes(), false), whole);
        let refused = UpgradeResponse::Refused("an upgrade without compression".to_owned());
        assert_eq!(parse_response(upgraded.as_bytes(), true), refused);
        let refused = UpgradeResponse::Refused("HTTP/1.1 503 Later".to_owned());
        assert_eq!(parse_response(b"HTTP/1.1 503 Later\r\n\r\n", false), refused);
        assert!(matches!(
            parse_response(b"HTTP/1.1 101 Switching\r\n\r\n", false),
            UpgradeResponse::Refused(_)
        ));
    }

    #[test]
    fn subscriptions_resume_from_the_positions_of_the_socket() {
        let mut channels = Channels::default();
        let mut positions = Positions::default();
        let epoch = channels.epoch("e");
        for (name, seq) in [("football/1/odds", 7), ("football/2/odds", 9)] {
            positions.join(channels.number(name), epoch, seq);
        }
        let class = Class { every_ms: 250, ..Class::plain("all") };
        let follows = ["football/2/odds".to_owned(), "football/*/odds".to_owned()];
        let view = View { pick: Some(["/markets".to_owned()].into()), deflates: false };
        let commands = subscribes((&class, &view), &follows, &positions, &channels);
        let commands: Vec<Value> =
            commands.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        assert_eq!(commands[0]["from"], json!({"epoch": "e", "seq": 9}));
        assert_eq!(commands[1]["from"]["football/1/odds"], json!({"epoch": "e", "seq": 7}));
        assert_eq!(commands[1]["every_ms"], 250);
        assert_eq!(commands[1]["pick"], json!(["/markets"]));
    }
}
