//! Parses the WebSocket frames of a client (RFC 6455): bytes in, complete messages out.
//!
//! A state machine without a socket. Each byte is examined once, however a client splits its bytes into
//! packets and its messages into fragments, and a connection without an incomplete message uses no
//! memory here.

use std::str;

use crate::{close::Close, deflate::inflate};

/// Limits of one message of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MessageLimits {
    /// Payload bytes of a message, and the headers of its fragments after the first.
    pub(crate) bytes_max: usize,
    pub(crate) fragments_max: u32,
    /// Whether the client may send compressed messages (RFC 7692). They are inflated up to `bytes_max`.
    pub(crate) may_deflate: bool,
}

/// What a client sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InboundEvent {
    Text(String),
    Binary(Vec<u8>),
    /// The payload goes back in a pong.
    Ping(Vec<u8>),
    Pong,
    /// The connection must end with this close.
    End(Close),
}

/// Bytes of a client that are not yet complete messages.
#[derive(Debug, Default)]
pub(crate) struct Inbound {
    /// `None` while no message is incomplete.
    state: Option<Box<State>>,
    /// Steps of work so far: bytes examined and headers parsed.
    #[cfg(test)]
    work: usize,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    /// How many of them have been examined.
    examined: usize,
    /// The frame whose payload comes next.
    frame: Option<IncomingFrame>,
    /// The text or binary message that waits for its last fragment.
    message: Option<Message>,
    /// The payload of an unfinished control frame.
    control: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct IncomingFrame {
    opcode: Opcode,
    is_final: bool,
    /// It begins a compressed message.
    is_deflated: bool,
    mask: [u8; 4],
    length: u64,
    /// How much of the payload has arrived.
    received: u64,
}

#[derive(Debug, Default)]
struct Message {
    is_text: bool,
    /// The payload is compressed.
    is_deflated: bool,
    payload: Vec<u8>,
    /// How much of a text is known to be UTF-8.
    utf8: usize,
    fragments: u32,
    /// Declared payload bytes, and the headers of fragments after the first.
    cost: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Inbound {
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.state.get_or_insert_default().bytes.extend_from_slice(bytes);
        }
    }

    /// The next complete message, or why the connection must end.
    pub(crate) fn next(&mut self, limits: MessageLimits) -> Option<InboundEvent> {
        let state = self.state.as_mut()?;
        #[cfg(test)]
        let (before, steps) = (state.examined, &mut self.work);
        let event = loop {
            #[cfg(test)]
            {
                *steps += 1;
            }
            match state.step(limits) {
                Ok(ParseStep::Frame) => {}
                Ok(ParseStep::Event(event)) => break Some(event),
                Ok(ParseStep::Incomplete) => break None,
                Err(close) => break Some(InboundEvent::End(close)),
            }
        };
        #[cfg(test)]
        {
            self.work += state.examined - before;
        }
        if state.examined == state.bytes.len() {
            if state.frame.is_none() && state.message.is_none() {
                self.state = None;
            } else {
                // Not `clear()`: the capacity would stay allocated until the message ends.
                state.bytes = Vec::new();
                state.examined = 0;
            }
        } else if event.is_none() {
            // Part of a header: a few bytes.
            state.bytes.drain(..state.examined);
            state.examined = 0;
        }
        event
    }
}

enum ParseStep {
    /// A frame ended, but no message.
    Frame,
    Event(InboundEvent),
    Incomplete,
}

impl State {
    /// Continues to the end of a frame.
    fn step(&mut self, limits: MessageLimits) -> Result<ParseStep, Close> {
        let mut frame = match self.frame.take() {
            Some(frame) => frame,
            None => match parse_header(&self.bytes[self.examined..], limits.may_deflate)? {
                Some((frame, header_bytes)) => {
                    self.examined += header_bytes;
                    self.begin(&frame, header_bytes, limits)?;
                    frame
                }
                None => return Ok(ParseStep::Incomplete),
            },
        };
        self.take_payload(&mut frame);
        if frame.received < frame.length {
            if let Some(message) = self.message.as_mut().filter(|_| !frame.opcode.is_control()) {
                message.check_text()?;
            }
            self.frame = Some(frame);
            return Ok(ParseStep::Incomplete);
        }
        if frame.opcode.is_control() {
            let payload = std::mem::take(&mut self.control);
            return Ok(ParseStep::Event(match frame.opcode {
                Opcode::Close => InboundEvent::End(reply_to_close(&payload)),
                Opcode::Ping => InboundEvent::Ping(payload),
                _ => InboundEvent::Pong,
            }));
        }
        if !frame.is_final {
            if let Some(message) = &mut self.message {
                message.check_text()?;
            }
            return Ok(ParseStep::Frame);
        }
        let mut message = self.message.take().unwrap_or_default();
        if message.is_deflated {
            message.payload = inflate(message.payload, limits.bytes_max)?;
        }
        Ok(ParseStep::Event(if message.is_text {
            InboundEvent::Text(String::from_utf8(message.payload).map_err(|_| Close::NotText)?)
        } else {
            InboundEvent::Binary(message.payload)
        }))
    }

    /// Checks a new frame against its message and the limits.
    fn begin(
        &mut self,
        frame: &IncomingFrame,
        header_bytes: usize,
        limits: MessageLimits,
    ) -> Result<(), Close> {
        if frame.opcode.is_control() {
            return Ok(());
        }
        if self.message.is_some() != (frame.opcode == Opcode::Continuation) {
            return Err(Close::Protocol);
        }
        let (is_text, is_deflated) = (frame.opcode == Opcode::Text, frame.is_deflated);
        let new = || Message { is_text, is_deflated, ..Message::default() };
        let message = self.message.get_or_insert_with(new);
        let header = if message.fragments > 0 { header_bytes as u64 } else { 0 };
        message.fragments += 1;
        message.cost = message.cost.saturating_add(frame.length).saturating_add(header);
        if message.cost > limits.bytes_max as u64 || message.fragments > limits.fragments_max {
            return Err(Close::CommandTooLarge);
        }
        Ok(())
    }

    /// Moves the arrived part of a frame's payload to its message.
    fn take_payload(&mut self, frame: &mut IncomingFrame) {
        let ready = &self.bytes[self.examined..];
        let left = usize::try_from(frame.length - frame.received).unwrap_or(usize::MAX);
        let ready = &ready[..ready.len().min(left)];
        let payload = match &mut self.message {
            Some(message) if !frame.opcode.is_control() => &mut message.payload,
            _ => &mut self.control,
        };
        let start = payload.len();
        payload.extend_from_slice(ready);
        let mut mask = frame.mask;
        mask.rotate_left(usize::try_from(frame.received % 4).unwrap_or(0));
        unmask(&mut payload[start..], mask);
        self.examined += ready.len();
        frame.received += ready.len() as u64;
    }
}

impl Message {
    /// Fails as soon as a text cannot become UTF-8 with any further bytes.
    fn check_text(&mut self) -> Result<(), Close> {
        if !self.is_text || self.is_deflated {
            return Ok(());
        }
        match str::from_utf8(&self.payload[self.utf8..]) {
            Ok(text) => self.utf8 += text.len(),
            Err(error) if error.error_len().is_some() => return Err(Close::NotText),
            // Its last character is not complete yet.
            Err(error) => self.utf8 += error.valid_up_to(),
        }
        Ok(())
    }
}

impl Opcode {
    fn parse(byte: u8) -> Option<Self> {
        Some(match byte {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xa => Self::Pong,
            _ => return None,
        })
    }

    fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// The longest payload of a control frame.
const CONTROL_BYTES_MAX: u64 = 125;

/// A frame and the length of its header; `None` while the header is incomplete. An error is detected at
/// the first byte that shows it.
fn parse_header(bytes: &[u8], may_deflate: bool) -> Result<Option<(IncomingFrame, usize)>, Close> {
    let Some(&first) = bytes.first() else { return Ok(None) };
    let opcode = Opcode::parse(first & 0x0f).ok_or(Close::Protocol)?;
    let is_final = first & 0x80 != 0;
    // Compression marks the first frame of a message. No other extension is negotiated.
    let is_deflated = first & 0x40 != 0;
    let may_be_deflated = may_deflate && matches!(opcode, Opcode::Text | Opcode::Binary);
    let is_reserved = first & 0x30 != 0 || (is_deflated && !may_be_deflated);
    if is_reserved || (opcode.is_control() && !is_final) {
        return Err(Close::Protocol);
    }
    let Some(&second) = bytes.get(1) else { return Ok(None) };
    let short = u64::from(second & 0x7f);
    let is_masked = second & 0x80 != 0;
    if !is_masked || (opcode.is_control() && short > CONTROL_BYTES_MAX) {
        return Err(Close::Protocol);
    }
    let length_bytes = match short {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let Some(extended) = bytes.get(2..2 + length_bytes) else { return Ok(None) };
    let length = match length_bytes {
        0 => short,
        _ => extended.iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
    };
    if length >> 63 != 0 {
        return Err(Close::Protocol);
    }
    let Some(mask) = bytes[2 + length_bytes..].first_chunk() else { return Ok(None) };
    let frame = IncomingFrame { opcode, is_final, is_deflated, mask: *mask, length, received: 0 };
    Ok(Some((frame, 6 + length_bytes)))
}

fn unmask(payload: &mut [u8], mask: [u8; 4]) {
    let (words, rest) = payload.as_chunks_mut();
    for word in words {
        *word = (u32::from_ne_bytes(*word) ^ u32::from_ne_bytes(mask)).to_ne_bytes();
    }
    rest.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
}

/// The reply to a client's close frame (RFC 6455, sections 5.5.1 and 7.4).
fn reply_to_close(payload: &[u8]) -> Close {
    let Some((code, reason)) = payload.split_first_chunk() else {
        // A code has two bytes.
        return if payload.is_empty() { Close::Client { code: 1000 } } else { Close::Protocol };
    };
    let code = u16::from_be_bytes(*code);
    if !may_be_sent(code) {
        Close::Protocol
    } else if str::from_utf8(reason).is_err() {
        Close::NotText
    } else {
        Close::Client { code }
    }
}

/// Whether a close frame may carry this code: those that RFC 6455 and IANA's registry define for
/// the wire, and the ranges for libraries and applications.
fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::deflate::Deflater;

    const MAX: usize = 1000;
    const LIMITS: MessageLimits =
        MessageLimits { bytes_max: MAX, fragments_max: 100, may_deflate: false };
    const TEXT: u8 = 0x1;
    const BINARY: u8 = 0x2;
    const CLOSE: u8 = 0x8;
    const PING: u8 = 0x9;
    const PONG: u8 = 0xa;
    const FIN: u8 = 0x80;

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
        frame(FIN | TEXT, payload.as_bytes())
    }

    fn close(payload: &[u8]) -> Vec<u8> {
        frame(FIN | CLOSE, payload)
    }

    /// The messages in these bytes, up to the one that ends the connection. The bytes arrive in pieces of
    /// the given lengths, repeatedly.
    fn received(bytes: &[u8], pieces: &[usize]) -> Vec<InboundEvent> {
        received_within(LIMITS, bytes, pieces)
    }

    fn received_within(limits: MessageLimits, bytes: &[u8], pieces: &[usize]) -> Vec<InboundEvent> {
        let (mut inbound, mut all, mut rest) = (Inbound::default(), Vec::new(), bytes);
        for piece in pieces.iter().cycle() {
            let (now, later) = rest.split_at((*piece).clamp(1, rest.len().max(1)).min(rest.len()));
            inbound.extend(now);
            while let Some(received) = inbound.next(limits) {
                let is_end = matches!(received, InboundEvent::End(_));
                all.push(received);
                if is_end {
                    return all;
                }
            }
            if later.is_empty() {
                break;
            }
            rest = later;
        }
        all
    }

    /// Something that a client may send: a control frame, or a message in fragments with pings between
    /// them.
    fn sendable() -> impl Strategy<Value = Vec<u8>> {
        let fragments = prop::collection::vec(("[a-zäß€😀]{0,40}", any::<bool>()), 1..6);
        let message = (any::<bool>(), fragments).prop_map(|(is_text, fragments)| {
            let last = fragments.len() - 1;
            let mut bytes = Vec::new();
            for (at, (payload, has_ping)) in fragments.iter().enumerate() {
                let opcode = if at > 0 {
                    0
                } else if is_text {
                    TEXT
                } else {
                    BINARY
                };
                let fin = if at == last { FIN } else { 0 };
                bytes.extend(frame(fin | opcode, payload.as_bytes()));
                if *has_ping {
                    bytes.extend(frame(FIN | PING, &payload.as_bytes()[..payload.len().min(9)]));
                }
            }
            bytes
        });
        prop_oneof![message, Just(frame(FIN | PONG, b"late")), Just(text(""))]
    }

    proptest! {
        /// The messages do not depend on how the bytes are split into packets.
        #[test]
        fn splitting_does_not_matter(
            all_sent in prop::collection::vec(sendable(), 1..8),
            pieces in prop::collection::vec(1_usize..60, 1..20),
        ) {
            let bytes = all_sent.concat();
            let whole = received(&bytes, &[bytes.len()]);
            prop_assert!(!whole.iter().any(|it| matches!(it, InboundEvent::End(_))), "{whole:?}");
            prop_assert_eq!(&received(&bytes, &pieces), &whole);
            prop_assert_eq!(&received(&bytes, &[1]), &whole);
        }

        /// Any bytes are parsed without a panic and with the same result, however they are split.
        #[test]
        fn splitting_arbitrary_bytes_does_not_change_the_result(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            pieces in prop::collection::vec(1_usize..60, 1..20),
        ) {
            prop_assert_eq!(received(&bytes, &pieces), received(&bytes, &[300]));
        }

        /// Text that is not UTF-8 ends the connection, however it is split into frames and packets.
        #[test]
        fn text_is_checked_as_a_whole(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0xc0_u8..=0xf4, 0x80_u8..0xc0], 0..24),
            cut in 0_usize..24,
            piece in 1_usize..9,
        ) {
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            let sent = [frame(TEXT, first), frame(FIN, second)].concat();
            let expected = match String::from_utf8(bytes) {
                Ok(text) => InboundEvent::Text(text),
                Err(_) => InboundEvent::End(Close::NotText),
            };
            prop_assert_eq!(received(&sent, &[piece]), [expected]);
        }
    }

    #[test]
    fn fragments_become_one_message_and_a_ping_between_them_comes_first() {
        let parts = [frame(TEXT, b"one "), frame(FIN | PING, b"p"), frame(FIN, b"message")];
        let expected =
            [InboundEvent::Ping(b"p".to_vec()), InboundEvent::Text("one message".to_owned())];
        assert_eq!(received(&parts.concat(), &[3]), expected);
    }

    fn check_end(bytes: &[u8], code: u16) {
        let all = received(bytes, &[7]);
        let Some(InboundEvent::End(close)) = all.last() else { panic!("{bytes:?}: {all:?}") };
        assert_eq!(close.code(), code, "{bytes:?}");
    }

    #[test]
    fn violations_end_the_connection() {
        check_end(&text(&"x".repeat(MAX + 1)), 4413);
        check_end(&[frame(TEXT, &[b'x'; MAX]), frame(FIN, b"y")].concat(), 4413);
        check_end(&frame(FIN | TEXT, &[0xff]), 1007);
        check_end(&[0x81, 1, b'x'], 1002);
        check_end(&frame(FIN | 0x3, b""), 1002);
        check_end(&frame(FIN | 0xb, b""), 1002);
        check_end(&frame(FIN | 0x40 | TEXT, b""), 1002);
        check_end(&frame(FIN, b"the rest of nothing"), 1002);
        check_end(&[frame(TEXT, b"one "), text("another")].concat(), 1002);
        check_end(&frame(PING, b"a fragment of a ping"), 1002);
        check_end(&frame(FIN | PING, &[0; 126]), 1002);
        check_end(&[0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0], 1002);
    }

    /// A message is compressed as a whole and then fragmented; only its first frame is marked.
    #[test]
    fn compressed_message_is_inflated_up_to_the_limit() {
        const MARK: u8 = 0x40;
        let deflating = MessageLimits { may_deflate: true, ..LIMITS };
        let end = |close| vec![InboundEvent::End(close)];
        let command = "{\"op\":\"ping\"}".repeat(20);
        let deflated = Deflater::default().deflate(command.as_bytes()).to_vec();
        let (head, tail) = deflated.split_at(9);
        let fragments = [frame(MARK | TEXT, head), frame(FIN, tail)].concat();
        for pieces in [1, 7, fragments.len()] {
            let received = received_within(deflating, &fragments, &[pieces]);
            assert_eq!(received, [InboundEvent::Text(command.clone())], "in pieces of {pieces}");
        }
        let whole = frame(FIN | MARK | TEXT, &deflated);
        assert_eq!(received(&whole, &[1000]), end(Close::Protocol), "it was not agreed to");
        let marked = [frame(MARK | TEXT, head), frame(FIN | MARK, tail)].concat();
        for wrong in [&marked, &frame(FIN | MARK | PING, b""), &frame(FIN | MARK | TEXT, b"no")] {
            assert_eq!(received_within(deflating, wrong, &[1000]), end(Close::Protocol));
        }
        let bomb = Deflater::default().deflate(&vec![b' '; 100 * MAX]).to_vec();
        let bomb = frame(FIN | MARK | TEXT, &bomb);
        assert_eq!(received_within(deflating, &bomb, &[1000]), end(Close::CommandTooLarge));
        let most = Deflater::default().deflate(&vec![b' '; MAX]).to_vec();
        let most = received_within(deflating, &frame(FIN | MARK | TEXT, &most), &[1000]);
        assert_eq!(most, [InboundEvent::Text(" ".repeat(MAX))]);
    }

    #[test]
    fn close_is_echoed() {
        check_end(&close(b""), 1000);
        check_end(&close(b"\x03"), 1002);
        check_end(&close(&[3, 232, 0xc3, 0x28]), 1007);
        for code in 0..=u16::MAX {
            let may_be_sent = match code {
                1000..=1014 => ![1004, 1005, 1006].contains(&code),
                3000..=4999 => true,
                _ => false,
            };
            let expected = if may_be_sent { code } else { 1002 };
            check_end(&close(&[&code.to_be_bytes()[..], b"why"].concat()), expected);
        }
    }

    /// The first frame of a text message that never ends, and then the same fragment repeatedly.
    fn endless(fragment: &[u8], count: usize) -> Vec<u8> {
        [frame(TEXT, b""), fragment.repeat(count)].concat()
    }

    #[test]
    fn fragments_of_one_message_are_limited() {
        let empty = frame(0, b"");
        check_end(&endless(&empty, 100), 4413);
        let just_enough = [endless(&empty, 98), frame(FIN, b"x")].concat();
        assert_eq!(received(&just_enough, &[7]), [InboundEvent::Text("x".to_owned())]);
        // Headers count too: 60 times 6 and 12 bytes are more than 1,000.
        check_end(&endless(&frame(0, b"twelve bytes"), 60), 4413);
    }

    /// A client that splits a message into the smallest fragments and sends each byte separately.
    #[test]
    fn work_is_proportional_to_the_bytes() {
        let limits = MessageLimits { bytes_max: 1 << 20, fragments_max: u32::MAX, ..LIMITS };
        let per_byte = |count: usize| {
            let ping = frame(FIN | PING, b"");
            let fragment = [frame(0, b""), frame(0, b"x"), ping].concat();
            let bytes = endless(&fragment, count);
            let (mut inbound, mut pings, mut held) = (Inbound::default(), 0, 0);
            for byte in &bytes {
                inbound.extend(&[*byte]);
                while let Some(received) = inbound.next(limits) {
                    assert_eq!(received, InboundEvent::Ping(Vec::new()));
                    pings += 1;
                }
                held = held.max(inbound.held_bytes());
            }
            assert_eq!(pings, count);
            assert!(held <= 2 * count + 256, "{held} bytes held for {count} bytes of payload");
            inbound.work as f64 / bytes.len() as f64
        };
        let (few, many) = (per_byte(100), per_byte(10_000));
        assert!(many < 2.0 * few, "{many} steps a byte, {few} with a hundredth of the bytes");
        assert!(many < 4.0, "{many} steps a byte");
    }

    impl Inbound {
        fn held_bytes(&self) -> usize {
            self.state.as_ref().map_or(0, |state| {
                let message = state.message.as_ref().map_or(0, |it| it.payload.capacity());
                state.bytes.capacity() + state.control.capacity() + message
            })
        }
    }

    #[test]
    fn idle_connection_uses_no_memory() {
        let mut inbound = Inbound::default();
        inbound.extend(&[text("hello"), frame(FIN | PING, b"?")].concat());
        assert_eq!(inbound.next(LIMITS), Some(InboundEvent::Text("hello".to_owned())));
        assert_eq!(inbound.next(LIMITS), Some(InboundEvent::Ping(b"?".to_vec())));
        assert_eq!(inbound.next(LIMITS), None);
        assert!(inbound.state.is_none());
    }
}
