//! Encodes messages as WebSocket frames, header and payload in one buffer.
//!
//! Frames of a server are not masked (RFC 6455, section 5.1), so all followers get the same bytes.

use std::{cell::RefCell, fmt};

use bytes::Bytes;

/// A payload that the host renders, at most once for each publication.
pub trait Encode: fmt::Debug + Send + Sync {
    /// Appends one JSON text to `out`.
    fn encode(&self, out: &mut Vec<u8>);
}

/// The longest header without a mask: two bytes and a 64-bit length.
const HEADER_BYTES_MAX: usize = 10;
const FIN_TEXT: u8 = 0x81;
/// The first reserved bit says that the payload is compressed (RFC 7692, section 6).
const FIN_TEXT_DEFLATED: u8 = 0xc1;
const FIN_BINARY: u8 = 0x82;
const FIN_CLOSE: u8 = 0x88;
const FIN_PING: u8 = 0x89;
const FIN_PONG: u8 = 0x8a;

/// Bytes of the buffer that each thread reuses; a longer one is freed after its frame.
const REUSED_BYTES_MAX: usize = 64 << 10;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A text message in one frame; `write` appends its payload.
pub fn text_frame(write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    frame(FIN_TEXT, write)
}

/// A text message in one frame, whose payload has been compressed.
pub(crate) fn deflated_text_frame(deflated: &[u8]) -> Bytes {
    copied(FIN_TEXT_DEFLATED, deflated)
}

/// A binary message in one frame.
#[must_use]
pub fn binary_frame(payload: &[u8]) -> Bytes {
    copied(FIN_BINARY, payload)
}

/// The payload of a frame made by this module, sharing its bytes.
#[must_use]
pub fn payload(frame: &Bytes) -> Bytes {
    let header = match frame.get(1) {
        Some(126) => 4,
        Some(127) => 10,
        _ => 2,
    };
    frame.slice(header.min(frame.len())..)
}

/// A close frame. The reason is truncated to what a control frame may contain.
#[must_use]
pub fn close_frame(code: u16, reason: &str) -> Bytes {
    frame(FIN_CLOSE, |out| {
        out.extend_from_slice(&code.to_be_bytes());
        out.extend(reason.bytes().take(123));
    })
}

#[must_use]
pub fn ping_frame() -> Bytes {
    copied(FIN_PING, &[])
}

/// The answer to a ping with this payload.
#[must_use]
pub fn pong_frame(payload: &[u8]) -> Bytes {
    copied(FIN_PONG, payload)
}

/// The payload is written after room for the longest header, and the header then goes directly before it. That is done in a buffer
/// of the thread, from which the frame is copied: it may be stored for long, in an outbox or in a tail, so it has no unused capacity.
fn frame(first: u8, write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut buffer = BUFFER.take();
    buffer.resize(HEADER_BYTES_MAX, 0);
    write(&mut buffer);
    let length = buffer.len() - HEADER_BYTES_MAX;
    let (header, used) = header(first, length);
    let start = HEADER_BYTES_MAX - used;
    buffer[start..HEADER_BYTES_MAX].copy_from_slice(&header[..used]);
    let frame = Bytes::copy_from_slice(&buffer[start..]);
    if buffer.capacity() <= REUSED_BYTES_MAX {
        buffer.clear();
        BUFFER.replace(buffer);
    }
    frame
}

/// A frame of a payload that exists, copied once.
fn copied(first: u8, payload: &[u8]) -> Bytes {
    let (header, used) = header(first, payload.len());
    [&header[..used], payload].concat().into()
}

fn header(first: u8, length: usize) -> ([u8; HEADER_BYTES_MAX], usize) {
    let mut header = [0; HEADER_BYTES_MAX];
    header[0] = first;
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short), _) if short < 126 => {
            header[1] = short;
            (header, 2)
        }
        (_, Ok(medium)) => {
            header[1] = 126;
            header[2..4].copy_from_slice(&medium.to_be_bytes());
            (header, 4)
        }
        _ => {
            header[1] = 127;
            header[2..10].copy_from_slice(&(length as u64).to_be_bytes());
            (header, 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frame, read back by RFC 6455 section 5.2.
    fn check(length: usize, header: &[u8]) {
        let frame = text_frame(|out| out.resize(out.len() + length, b'x'));
        assert_eq!(&frame[..header.len()], header, "header of {length} bytes");
        assert_eq!(frame.len(), header.len() + length);
        assert!(frame[header.len()..].iter().all(|b| *b == b'x'));
        assert_eq!(payload(&frame).len(), length);
    }

    #[test]
    fn length_takes_the_shortest_form() {
        check(0, &[0x81, 0]);
        check(125, &[0x81, 125]);
        check(126, &[0x81, 126, 0, 126]);
        check(65_535, &[0x81, 126, 0xff, 0xff]);
        check(65_536, &[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn close_frame_holds_code_and_reason() {
        assert_eq!(&close_frame(4410, "gone")[..], b"\x88\x06\x11\x3agone");
    }
}
