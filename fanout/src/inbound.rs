//! What a client sends: bytes in, messages out. Nothing is kept while there is nothing half received.
//!
//! Frames are found here and read by tungstenite, a whole message at a time, so that an idle
//! connection needs neither its buffers nor its state.

use std::{
    io::{self, Cursor, Read, Write},
    ops::Range,
};

use tokio_tungstenite::tungstenite::{
    self, Message,
    error::CapacityError,
    protocol::{
        Role, WebSocketConfig, WebSocketContext,
        frame::{
            FrameHeader,
            coding::{Data, OpCode},
        },
    },
};

use crate::close::Close;

/// Bytes of a client that have not become messages yet.
#[derive(Debug, Default)]
pub(crate) struct Inbound {
    bytes: Vec<u8>,
}

/// What a client said.
#[derive(Debug)]
pub(crate) enum Received {
    Text(String),
    Binary,
    /// A ping or a pong. What the protocol answers to it is to be sent: whole frames, or nothing.
    Control(Vec<u8>),
    /// The connection is to be ended like this.
    End(Close),
}

impl Inbound {
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message. `bytes_max`: of one message.
    pub(crate) fn next(&mut self, bytes_max: usize) -> Option<Received> {
        let message = match next_message(&self.bytes, bytes_max) {
            Ok(range) => self.bytes.drain(range?).collect(),
            Err(close) => return Some(Received::End(close)),
        };
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
        Some(read(message, bytes_max))
    }
}

/// Where the next message lies that is all there. A control frame may stand between the parts of
/// another message, and comes before it.
fn next_message(bytes: &[u8], bytes_max: usize) -> Result<Option<Range<usize>>, Close> {
    let mut cursor = Cursor::new(bytes);
    let mut parts = None;
    loop {
        let start = position(&cursor);
        let Some((header, length)) =
            FrameHeader::parse(&mut cursor).map_err(|_| Close::Protocol)?
        else {
            return Ok(None);
        };
        let OpCode::Data(data) = header.opcode else {
            let end = position(&cursor) + usize::try_from(length).unwrap_or(usize::MAX).min(126);
            return if length > 125 {
                Err(Close::Protocol)
            } else {
                Ok(all_there(start..end, bytes))
            };
        };
        if parts.is_some() != (data == Data::Continue) {
            return Err(Close::Protocol);
        }
        let total = parts.unwrap_or(0_u64).saturating_add(length);
        if total > bytes_max as u64 {
            return Err(Close::CommandTooLarge);
        }
        parts = Some(total);
        let end = cursor.position() + length;
        let whole = usize::try_from(end).ok().and_then(|end| all_there(0..end, bytes));
        if header.is_final || whole.is_none() {
            return Ok(whole);
        }
        cursor.set_position(end);
    }
}

fn position(cursor: &Cursor<&[u8]>) -> usize {
    usize::try_from(cursor.position()).unwrap_or(usize::MAX)
}

fn all_there(range: Range<usize>, bytes: &[u8]) -> Option<Range<usize>> {
    (range.end <= bytes.len()).then_some(range)
}

/// Reads one whole message.
fn read(message: Vec<u8>, bytes_max: usize) -> Received {
    let config = WebSocketConfig::default()
        .read_buffer_size(256)
        .max_message_size(Some(bytes_max))
        .max_frame_size(Some(bytes_max));
    let mut context = WebSocketContext::from_partially_read(message, Role::Server, Some(config));
    let mut answers = Answers(Vec::new());
    loop {
        match context.read(&mut answers) {
            Ok(Message::Text(text)) => return Received::Text(text.as_str().to_owned()),
            Ok(Message::Binary(_)) => return Received::Binary,
            Ok(Message::Close(_)) => return Received::End(Close::Client),
            // Its pong is sent with the next reading.
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
            Err(tungstenite::Error::Io(_)) => return Received::Control(answers.0),
            Err(error) => return Received::End(fault(&error)),
        }
    }
}

fn fault(error: &tungstenite::Error) -> Close {
    match error {
        tungstenite::Error::Capacity(CapacityError::MessageTooLong { .. }) => {
            Close::CommandTooLarge
        }
        tungstenite::Error::Utf8(_) => Close::NotText,
        _ => Close::Protocol,
    }
}

/// The socket as tungstenite sees it: nothing more to read, and what it answers is kept.
struct Answers(Vec<u8>);

impl Read for Answers {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }
}

impl Write for Answers {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAX: usize = 1000;
    const TEXT: u8 = 0x1;
    const CLOSE: u8 = 0x8;
    const PING: u8 = 0x9;

    /// A masked frame of a client.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![first];
        match u8::try_from(payload.len()) {
            Ok(short) if short < 126 => frame.push(0x80 | short),
            _ => {
                let length = u16::try_from(payload.len()).expect("short enough");
                frame.push(0x80 | 126);
                frame.extend(length.to_be_bytes());
            }
        }
        let mask = [7, 99, 31, 200];
        frame.extend(mask);
        frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        frame
    }

    fn text(payload: &str) -> Vec<u8> {
        frame(0x80 | TEXT, payload.as_bytes())
    }

    /// What comes of these bytes, given so many at a time.
    fn received(bytes: &[u8], at_a_time: usize) -> Vec<String> {
        let mut inbound = Inbound::default();
        let mut all = Vec::new();
        for part in bytes.chunks(at_a_time.max(1)) {
            inbound.extend(part);
            while let Some(received) = inbound.next(MAX) {
                all.push(match received {
                    Received::Text(text) => text,
                    Received::Binary => "binary".to_owned(),
                    Received::Control(answer) => format!("answer {answer:?}"),
                    Received::End(close) => format!("end {}", close.code()),
                });
                if all.last().is_some_and(|last| last.starts_with("end")) {
                    return all;
                }
            }
        }
        all
    }

    proptest! {
        /// However the bytes are cut, the same messages come of them.
        #[test]
        fn cuts_do_not_matter(
            messages in prop::collection::vec("[a-z]{0,200}", 1..6),
            at_a_time in 1_usize..300,
        ) {
            let bytes: Vec<u8> = messages.iter().flat_map(|message| text(message)).collect();
            prop_assert_eq!(received(&bytes, at_a_time), messages);
        }

        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..300), at_a_time in 1_usize..300) {
            let _messages = received(&bytes, at_a_time);
        }
    }

    #[test]
    fn parts_become_one_message_and_a_ping_between_them_is_taken() {
        let parts = [frame(TEXT, b"one "), frame(0x80 | PING, b"p"), frame(0x80, b"message")];
        assert_eq!(received(&parts.concat(), 3), ["answer [138, 1, 112]", "one message"]);
    }

    #[test]
    fn ping_is_answered() {
        assert_eq!(received(&frame(0x80 | PING, b"p"), 1), ["answer [138, 1, 112]"]);
    }

    #[test]
    fn breaches_end_the_connection() {
        let check = |bytes: &[u8], code: u16| {
            assert_eq!(received(bytes, 7).last(), Some(&format!("end {code}")), "{bytes:?}");
        };
        check(&text(&"x".repeat(MAX + 1)), 4413);
        check(&[frame(TEXT, &[b'x'; MAX]), frame(0x80, b"y")].concat(), 4413);
        check(&frame(0x80 | TEXT, &[0xff]), 1007);
        check(&[0x81, 1, b'x'], 1002);
        check(&frame(0x83, b""), 1002);
        check(&frame(0x80, b"the rest of nothing"), 1002);
        check(&[frame(TEXT, b"one "), text("another")].concat(), 1002);
        check(&frame(0x80 | CLOSE, &[3, 232]), 1000);
    }

    #[test]
    fn idle_connection_keeps_nothing() {
        let mut inbound = Inbound::default();
        inbound.extend(&text("hello"));
        assert!(matches!(inbound.next(MAX), Some(Received::Text(_))));
        assert_eq!(inbound.bytes.capacity(), 0);
    }
}
