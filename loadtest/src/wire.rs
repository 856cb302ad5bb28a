//! WebSocket frames as bytes: server frames are parsed in place, client frames are written. No
//! socket, and no copy of a payload.

/// The opcodes of a frame (RFC 6455, section 5.2).
pub(crate) const TEXT: u8 = 1;
pub(crate) const BINARY: u8 = 2;
pub(crate) const CLOSE: u8 = 8;
pub(crate) const PING: u8 = 9;
pub(crate) const PONG: u8 = 10;

/// A larger frame counts as a fault of the server: the hub's images are far smaller.
const PAYLOAD_BYTES_MAX: u64 = 64 << 20;

/// One frame of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) opcode: u8,
    /// Whether the payload is compressed (RFC 7692).
    pub(crate) is_deflated: bool,
    pub(crate) payload: &'a [u8],
}

/// What a buffer begins with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ParseStep<'a> {
    Frame(Frame<'a>, usize),
    /// An incomplete frame.
    Partial,
    /// Not a valid server frame: masked, fragmented, or too large.
    Broken(&'static str),
}

/// Parses the frame at the beginning of `bytes`.
#[inline]
pub(crate) fn step(bytes: &[u8]) -> ParseStep<'_> {
    let &[first, second, ref rest @ ..] = bytes else { return ParseStep::Partial };
    let (head, length) = match (second, rest) {
        (0..=125, _) => (2, u64::from(second)),
        (126, &[a, b, ..]) => (4, u64::from(u16::from_be_bytes([a, b]))),
        (126, _) => return ParseStep::Partial,
        (127, &[a, b, c, d, e, f, g, h, ..]) => (10, u64::from_be_bytes([a, b, c, d, e, f, g, h])),
        (127, _) => return ParseStep::Partial,
        _ => return ParseStep::Broken("a masked frame"),
    };
    if first & 0x80 == 0 || first & 0x0f == 0 {
        return ParseStep::Broken("a message in fragments");
    }
    if length > PAYLOAD_BYTES_MAX {
        return ParseStep::Broken("a frame beyond any size");
    }
    let end = head + usize::try_from(length).unwrap_or(usize::MAX);
    match bytes.get(head..end) {
        Some(payload) => {
            let (opcode, is_deflated) = (first & 0x0f, first & 0x40 != 0);
            ParseStep::Frame(Frame { opcode, is_deflated, payload }, end)
        }
        None => ParseStep::Partial,
    }
}

/// Passes on each complete frame at the beginning of `bytes`. Returns their length; the caller
/// keeps the rest until more bytes arrive.
///
/// # Errors
///
/// If the bytes are not valid server frames; the frames before them were passed on.
#[inline]
pub(crate) fn walk(bytes: &[u8], mut take: impl FnMut(Frame<'_>)) -> Result<usize, &'static str> {
    let mut at = 0;
    loop {
        match step(&bytes[at..]) {
            ParseStep::Frame(frame, length) => {
                take(frame);
                at += length;
            }
            ParseStep::Partial => return Ok(at),
            ParseStep::Broken(why) => return Err(why),
        }
    }
}

/// Writes a client frame. The mask is zero: a server must refuse a frame without a mask, and any
/// other mask would cost the publisher a pass over every byte.
pub(crate) fn push_frame(out: &mut Vec<u8>, opcode: u8, payload: &[u8]) {
    push_head(out, opcode, payload.len());
    out.extend_from_slice(payload);
}

/// Writes the header of a client frame with this payload length.
pub(crate) fn push_head(out: &mut Vec<u8>, opcode: u8, length: usize) {
    out.push(0x80 | opcode);
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short @ 0..=125), _) => out.push(0x80 | short),
        (_, Ok(medium)) => {
            out.push(0x80 | 126);
            out.extend_from_slice(&medium.to_be_bytes());
        }
        _ => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&[0; 4]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A server frame.
    fn server_frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        push_frame(&mut bytes, opcode, payload);
        bytes[1] &= 0x7f;
        let head = bytes.len() - payload.len();
        bytes.drain(head - 4..head);
        bytes
    }

    #[test]
    fn invalid_server_frames_are_errors() {
        assert!(matches!(step(&[0x82, 0x85, 0, 0, 0, 0]), ParseStep::Broken(_)));
        assert!(matches!(step(&[0x02, 1, 7]), ParseStep::Broken(_)));
        assert!(matches!(step(&[0x80, 1, 7]), ParseStep::Broken(_)));
        assert!(matches!(step(&[0x82, 127, 1, 0, 0, 0, 0, 0, 0, 0]), ParseStep::Broken(_)));
        assert_eq!(step(&[0x82, 2, 7]), ParseStep::Partial);
    }

    proptest! {
        #[test]
        fn any_split_of_the_stream_gives_the_same_frames(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..70_000), 1..5),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let stream: Vec<u8> = payloads.iter().flat_map(|p| server_frame(BINARY, p)).collect();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
            cuts.push(stream.len());
            cuts.sort_unstable();
            let (mut partial, mut found, mut from) = (Vec::new(), Vec::new(), 0);
            for cut in cuts {
                partial.extend_from_slice(&stream[from..cut]);
                let whole = walk(&partial, |frame| found.push(frame.payload.to_vec())).unwrap();
                partial.drain(..whole);
                from = cut;
            }
            prop_assert_eq!(found, payloads);
            prop_assert!(partial.is_empty());
        }
    }
}
