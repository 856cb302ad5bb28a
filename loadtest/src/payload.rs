//! The payload of a bare message: a version, the six digits of its channel, when it was due, when
//! it was sent, its number, and fill up to the requested length. Numbers are little-endian.

/// The minimum length of a payload.
pub(crate) const BYTES_MIN: usize = 31;

const VERSION: u8 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Payload {
    pub(crate) channel: u32,
    pub(crate) intended: u64,
    pub(crate) sent: u64,
    pub(crate) seq: u64,
}

/// Writes a payload of this length.
pub(crate) fn push(out: &mut Vec<u8>, payload: &Payload, bytes: usize) {
    let end = out.len() + bytes.max(BYTES_MIN);
    out.push(VERSION);
    out.extend_from_slice(&digits(payload.channel));
    for number in [payload.intended, payload.sent, payload.seq] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.resize(end, b'.');
}

#[inline]
pub(crate) fn read(bytes: &[u8]) -> Option<Payload> {
    let (head, rest) = bytes.split_at_checked(7)?;
    let [intended, sent, seq] = numbers(rest)?;
    let channel = head[1..].iter().try_fold(0_u32, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0'))
    })?;
    (head[0] == VERSION).then_some(Payload { channel, intended, sent, seq })
}

#[inline]
fn numbers(bytes: &[u8]) -> Option<[u64; 3]> {
    let (numbers, _) = bytes.as_chunks::<8>();
    let &[a, b, c, ..] = numbers else { return None };
    Some([u64::from_le_bytes(a), u64::from_le_bytes(b), u64::from_le_bytes(c)])
}

/// The name of a bare channel.
pub(crate) fn digits(channel: u32) -> [u8; 6] {
    let mut rest = channel;
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).expect("a remainder of ten");
        rest /= 10;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_survives_writing_and_reading() {
        let payload = Payload { channel: 40_127, intended: 1, sent: u64::MAX, seq: 77 };
        for bytes in [0, BYTES_MIN, 200] {
            let mut out = Vec::new();
            push(&mut out, &payload, bytes);
            assert_eq!(out.len(), bytes.max(BYTES_MIN));
            assert_eq!(&out[1..7], b"040127");
            assert_eq!(read(&out), Some(payload));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        assert_eq!(read(b""), None);
        assert_eq!(read(&[1; 200]), None);
        assert_eq!(read(b"\x01000001short"), None);
    }
}
