//! The messages of the stream about the connection itself.
//!
//! Only a live source sees them. The text of an error (`errorMessage`) is not read: it may repeat
//! what was sent, and that holds secrets.

use std::borrow::Cow;

use super::{Decoder, Read};
use crate::error::Result;

/// How Betfair begins a message of markets.
pub const OF_MARKETS: &[u8] = br#"{"op":"mcm""#;

/// Which message a line is (`op`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// `mcm`: what [`super::decode`] reads.
    Markets,
    Connection,
    Status,
    /// Orders, and what is not known.
    Other,
}

/// The first message of a connection (`op: connection`).
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Connection<'a> {
    /// The id that Betfair's support requests.
    pub connection_id: Option<Cow<'a, str>>,
}

/// The answer to a request, or why the connection ends (`op: status`).
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Status<'a> {
    /// Echo of the request's id; absent where no request is to blame.
    pub id: Option<u64>,
    pub success: bool,
    pub error_code: Option<Cow<'a, str>>,
    pub connection_closed: bool,
}

/// Reads as much of a line as is needed to know what it is. Betfair writes `op` first, so for nearly
/// all lines that is their beginning.
///
/// # Errors
///
/// When the line is not a JSON object up to there.
pub fn op(line: &[u8]) -> Result<Op> {
    if line.starts_with(OF_MARKETS) {
        return Ok(Op::Markets);
    }
    object(line, |decoder| {
        while let Some(key) = decoder.json.key()? {
            if key != "op" {
                decoder.json.skip()?;
                continue;
            }
            return Ok(match decoder.text("op")?.as_deref() {
                Some("mcm") => Op::Markets,
                Some("connection") => Op::Connection,
                Some("status") => Op::Status,
                Some(_) | None => Op::Other,
            });
        }
        Ok(Op::Other)
    })
}

/// Reads a line that [`op`] calls a [`Op::Connection`].
///
/// # Errors
///
/// When it is not a JSON object.
pub fn connection(line: &[u8]) -> Result<Connection<'_>> {
    object(line, |decoder| {
        let mut connection = Connection::default();
        while let Some(key) = decoder.json.key()? {
            match key {
                "connectionId" => connection.connection_id = decoder.text("connectionId")?,
                _ => decoder.json.skip()?,
            }
        }
        decoder.json.end()?;
        Ok(connection)
    })
}

/// Reads a line that [`op`] calls a [`Op::Status`].
///
/// # Errors
///
/// When it is not a JSON object.
pub fn status(line: &[u8]) -> Result<Status<'_>> {
    object(line, |decoder| {
        let mut status = Status::default();
        while let Some(key) = decoder.json.key()? {
            match key {
                "id" => status.id = decoder.integer("id")?,
                "statusCode" => {
                    status.success = decoder.text("statusCode")?.as_deref() == Some("SUCCESS");
                }
                "errorCode" => status.error_code = decoder.text("errorCode")?,
                "connectionClosed" => {
                    status.connection_closed = decoder.flag("connectionClosed")?
                }
                _ => decoder.json.skip()?,
            }
        }
        decoder.json.end()?;
        Ok(status)
    })
}

fn object<'a, T>(line: &'a [u8], read: impl FnOnce(&mut Decoder<'a>) -> Read<T>) -> Result<T> {
    let read = || {
        let mut decoder = Decoder::new(line)?;
        decoder.json.open(b'{')?;
        read(&mut decoder)
    };
    read().map_err(|fault| *fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_op(line: &str, expected: Op) {
        assert_eq!(op(line.as_bytes()), Ok(expected), "{line}");
    }

    #[test]
    fn op_is_found_at_any_position() {
        check_op(r#"{"op":"mcm","mc":["#, Op::Markets);
        check_op(r#" {"op": "mcm","mc":["#, Op::Markets);
        check_op(r#"{"id":[{"op":"status"}],"op":"mcm"}"#, Op::Markets);
        check_op(r#"{"op":"connection"}"#, Op::Connection);
        check_op(r#"{"op":"status"}"#, Op::Status);
        check_op(r#"{"op":"ocm"}"#, Op::Other);
        check_op(r#"{"op":5}"#, Op::Other);
        check_op("{}", Op::Other);
        for line in ["", "[]", r#"{"id":1,"#, "mcm"] {
            assert!(op(line.as_bytes()).is_err(), "{line}");
        }
    }

    #[test]
    fn answers_are_read() {
        let line = br#"{"op":"connection","connectionId":"002-230915140112-174"}"#;
        let id = Some(Cow::Borrowed("002-230915140112-174"));
        assert_eq!(connection(line), Ok(Connection { connection_id: id }));
        let line = br#"{"op":"status","id":1,"connectionClosed":false,"statusCode":"SUCCESS"}"#;
        let success = Status { id: Some(1), success: true, ..Status::default() };
        assert_eq!(status(line), Ok(success));
        let line = br#"{"op":"status","statusCode":"FAILURE","errorCode":"TIMEOUT",
            "errorMessage":"Timed out","connectionClosed":true,"connectionId":"1"}"#;
        let error_code = Some(Cow::Borrowed("TIMEOUT"));
        let timeout = Status { error_code, connection_closed: true, ..Status::default() };
        assert_eq!(status(line), Ok(timeout));
        assert!(status(br#"{"op":"status""#).is_err());
    }
}
