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
mod tests;
