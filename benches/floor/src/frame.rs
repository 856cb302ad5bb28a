//! WebSocket frames (RFC 6455, 5.2): parses those of a publisher, and builds those of the server.

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Binary,
    Close,
    /// Text, pings and fragments of longer messages: a publisher sends none here.
    Other,
}

/// A client frame in a buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientFrame<'a> {
    pub(crate) kind: FrameKind,
    mask: [u8; 4],
    payload: &'a [u8],
    /// Its length in bytes, with the header.
    pub(crate) length: usize,
}

impl<'a> ClientFrame<'a> {
    /// The frame at the beginning of the buffer; `None` while it is incomplete.
    pub(crate) fn parse(buffer: &'a [u8]) -> Option<Self> {
        let (&[first, second], rest) = buffer.split_first_chunk()?;
        let (length, rest) = match second & 0x7f {
            126 => rest
                .split_first_chunk()
                .map(|(n, rest)| (u64::from(u16::from_be_bytes(*n)), rest))?,
            127 => rest.split_first_chunk().map(|(n, rest)| (u64::from_be_bytes(*n), rest))?,
            short => (u64::from(short), rest),
        };
        let (mask, rest) =
            if second & 0x80 == 0 { (&[0; 4], rest) } else { rest.split_first_chunk()? };
        let payload = rest.get(..usize::try_from(length).ok()?)?;
        let kind = match first {
            0x82 => FrameKind::Binary,
            0x88 => FrameKind::Close,
            _ => FrameKind::Other,
        };
        let length = buffer.len() - rest.len() + payload.len();
        Some(Self { kind, mask: *mask, payload, length })
    }

    /// The same message as a server frame.
    pub(crate) fn unmasked(&self) -> Vec<u8> {
        let length = self.payload.len();
        let mut frame = Vec::with_capacity(10 + length);
        frame.push(0x82);
        match (u8::try_from(length), u16::try_from(length)) {
            (Ok(length @ ..126), _) => frame.push(length),
            (_, Ok(length)) => {
                frame.push(126);
                frame.extend(length.to_be_bytes());
            }
            _ => {
                frame.push(127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        let head = frame.len();
        frame.extend_from_slice(self.payload);
        let (fours, rest) = frame[head..].as_chunks_mut();
        for four in fours {
            *four = (u32::from_ne_bytes(*four) ^ u32::from_ne_bytes(self.mask)).to_ne_bytes();
        }
        rest.iter_mut().zip(self.mask).for_each(|(byte, mask)| *byte ^= mask);
        frame
    }

    /// The channel that the message names.
    pub(crate) fn channel(&self) -> Option<u32> {
        let mut digits = *self.payload.get(1..)?.first_chunk()?;
        digits
            .iter_mut()
            .zip(self.mask.iter().cycle().skip(1))
            .for_each(|(byte, mask)| *byte ^= mask);
        six_digits(digits)
    }
}

/// Parses six decimal digits.
pub(crate) fn six_digits(digits: [u8; 6]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0'))
    })
}
