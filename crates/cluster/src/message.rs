//! The messages of the log, as bytes.
//!
//! A message is read without trust: every length is checked, and what does not have this form is an error. What
//! records mean is not known here; they are bytes.
//!
//! All numbers are little-endian: `MWcl`, format (`u16`), kind (`u8`), term (`u64`), the node's name (length as `u8`,
//! then UTF-8), then the fields of the kind in the order of their declaration. The bytes of records fill the rest.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use log::{Chain, LogPosition, RecordNumber};
use serde::{Deserialize, Serialize};

const MAGIC: &[u8; 4] = b"MWcl";
const FORMAT: u16 = 1;
const RECORDS: u8 = 1;
const TERM: u8 = 2;
const HAND_OVER: u8 = 3;

/// The greatest length of a node's name in a message, in bytes.
const NAME_BYTES_MAX: usize = 255;
/// Bytes of everything in front of the records, at most.
const HEAD_BYTES_MAX: usize = 512;

/// One message of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The term of the leader that appended it. It never decreases in a log.
    pub term: u64,
    /// The name of the node that appended it, at most 255 bytes.
    pub node: String,
    pub body: Body,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Records(Records),
    /// The node leads from here on, behind the record at this position.
    Term {
        position: LogPosition,
        formats: Formats,
    },
    /// The leader gives up after the record at this position. `to` should lead next; empty: any node.
    HandOver {
        position: LogPosition,
        to: String,
    },
}

/// Encoded records that follow each other, or a part of their bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records {
    /// The number of the first record.
    pub first: RecordNumber,
    /// How many records there are, at least 1.
    pub count: u32,
    /// The chain of the record before the first.
    pub before: Chain,
    /// The position of the last record.
    pub end: LogPosition,
    /// Which part of the bytes this is.
    pub part: Part,
    pub bytes: Bytes,
}

/// A part of the bytes of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// From 0.
    pub index: u16,
    /// How many parts there are, at least 1.
    pub count: u16,
}

/// The versions of what the log stores, as a leader writes them or as a node reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Formats {
    pub state: u16,
    pub inputs: u16,
    pub document: u16,
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error("it does not begin like a message of the log")]
    Foreign,
    #[error("it has format {0}, and this release reads format {FORMAT}")]
    Format(u16),
    #[error("it ends too early")]
    Truncated,
    #[error("it has bytes after its end")]
    TooLong,
    #[error("its field {0} is invalid")]
    Invalid(&'static str),
}

impl Part {
    /// All bytes in one part.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    #[must_use]
    pub fn is_last(self) -> bool {
        self.index.checked_add(1) == Some(self.count)
    }
}

impl Message {
    /// The message as bytes. Names are cut to 255 bytes.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let bytes = match &self.body {
            Body::Records(records) => records.bytes.len(),
            Body::Term { .. } | Body::HandOver { .. } => 0,
        };
        let mut out = BytesMut::with_capacity(HEAD_BYTES_MAX + bytes);
        out.put_slice(MAGIC);
        out.put_u16_le(FORMAT);
        out.put_u8(match &self.body {
            Body::Records(_) => RECORDS,
            Body::Term { .. } => TERM,
            Body::HandOver { .. } => HAND_OVER,
        });
        out.put_u64_le(self.term);
        put_name(&mut out, &self.node);
        match &self.body {
            Body::Records(records) => {
                out.put_u64_le(records.first);
                out.put_u32_le(records.count);
                out.put_slice(&records.before);
                put_position(&mut out, &records.end);
                out.put_u16_le(records.part.index);
                out.put_u16_le(records.part.count);
                out.put_slice(&records.bytes);
            }
            Body::Term { position, formats } => {
                put_position(&mut out, position);
                out.put_u16_le(formats.state);
                out.put_u16_le(formats.inputs);
                out.put_u16_le(formats.document);
            }
            Body::HandOver { position, to } => {
                put_position(&mut out, position);
                put_name(&mut out, to);
            }
        }
        out.freeze()
    }

    /// Reads a message. The bytes of records are shared with `bytes`, not copied.
    ///
    /// # Errors
    ///
    /// If it does not have the form that [`Self::encode`] writes.
    pub fn decode(bytes: &Bytes) -> Result<Self, MessageError> {
        let mut input = Input(bytes.clone());
        if input.take(MAGIC.len()).ok().as_deref() != Some(MAGIC) {
            return Err(MessageError::Foreign);
        }
        match input.u16()? {
            FORMAT => {}
            other => return Err(MessageError::Format(other)),
        }
        let kind = input.u8()?;
        let term = input.u64()?;
        let node = input.name("node")?;
        let body = match kind {
            RECORDS => Body::Records(input.records()?),
            TERM => {
                let position = input.position()?;
                let (state, inputs, document) = (input.u16()?, input.u16()?, input.u16()?);
                Body::Term { position, formats: Formats { state, inputs, document } }
            }
            HAND_OVER => Body::HandOver { position: input.position()?, to: input.name("to")? },
            _ => return Err(MessageError::Invalid("kind")),
        };
        if input.0.has_remaining() {
            return Err(MessageError::TooLong);
        }
        Ok(Self { term, node, body })
    }

    /// The position after this message: of its last record, or the one that it names. For a part that is not the last,
    /// its records' position all the same.
    #[must_use]
    pub fn position(&self) -> LogPosition {
        match &self.body {
            Body::Records(records) => records.end,
            Body::Term { position, .. } | Body::HandOver { position, .. } => *position,
        }
    }

    /// The message in parts with at most `bytes_max` bytes of records each, or itself if it is small enough; `None` if
    /// there would be more than 65,535.
    pub(crate) fn parts(&self, bytes_max: usize) -> Option<Vec<Self>> {
        let Body::Records(records) = &self.body else { return Some(vec![self.clone()]) };
        if records.bytes.len() <= bytes_max {
            return Some(vec![self.clone()]);
        }
        let count = u16::try_from(records.bytes.len().div_ceil(bytes_max)).ok()?;
        let part = |index: u16| {
            let from = usize::from(index) * bytes_max;
            let to = records.bytes.len().min(from + bytes_max);
            let bytes = records.bytes.slice(from..to);
            let part = Part { index, count };
            let body = Body::Records(Records { part, bytes, ..records.clone() });
            Self { term: self.term, node: self.node.clone(), body }
        };
        Some((0..count).map(part).collect())
    }
}

fn put_name(out: &mut BytesMut, name: &str) {
    let mut end = name.len().min(NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    // It fits, because it was cut to 255.
    out.put_u8(u8::try_from(end).unwrap_or(u8::MAX));
    out.put_slice(&name.as_bytes()[..end]);
}

fn put_position(out: &mut BytesMut, position: &LogPosition) {
    out.put_u64_le(position.number);
    out.put_slice(&position.chain);
    out.put_i64_le(position.at);
}

/// The rest of a message that is being read.
struct Input(Bytes);

impl Input {
    fn take(&mut self, bytes: usize) -> Result<Bytes, MessageError> {
        if self.0.len() < bytes {
            return Err(MessageError::Truncated);
        }
        Ok(self.0.split_to(bytes))
    }

    fn u8(&mut self) -> Result<u8, MessageError> {
        Ok(self.take(1)?.get_u8())
    }

    fn u16(&mut self) -> Result<u16, MessageError> {
        Ok(self.take(2)?.get_u16_le())
    }

    fn u32(&mut self) -> Result<u32, MessageError> {
        Ok(self.take(4)?.get_u32_le())
    }

    fn u64(&mut self) -> Result<u64, MessageError> {
        Ok(self.take(8)?.get_u64_le())
    }

    fn chain(&mut self) -> Result<Chain, MessageError> {
        let mut chain = Chain::default();
        self.take(chain.len())?.copy_to_slice(&mut chain);
        Ok(chain)
    }

    fn position(&mut self) -> Result<LogPosition, MessageError> {
        let (number, chain) = (self.u64()?, self.chain()?);
        Ok(LogPosition { number, chain, at: self.take(8)?.get_i64_le() })
    }

    fn name(&mut self, field: &'static str) -> Result<String, MessageError> {
        let bytes = usize::from(self.u8()?);
        let name = self.take(bytes)?;
        String::from_utf8(name.into()).map_err(|_| MessageError::Invalid(field))
    }

    fn records(&mut self) -> Result<Records, MessageError> {
        let (first, count) = (self.u64()?, self.u32()?);
        let (before, end) = (self.chain()?, self.position()?);
        let part = Part { index: self.u16()?, count: self.u16()? };
        if part.index >= part.count {
            return Err(MessageError::Invalid("part"));
        }
        if first == 0 || count == 0 || first.checked_add(u64::from(count) - 1) != Some(end.number) {
            return Err(MessageError::Invalid("count"));
        }
        let bytes = self.take(self.0.len())?;
        Ok(Records { first, count, before, end, part, bytes })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn position() -> impl Strategy<Value = LogPosition> {
        let fields = (any::<u64>(), any::<Chain>(), any::<i64>());
        fields.prop_map(|(number, chain, at)| LogPosition { number, chain, at })
    }

    fn part() -> impl Strategy<Value = Part> {
        (1..=u16::MAX)
            .prop_flat_map(|count| (0..count).prop_map(move |index| Part { index, count }))
    }

    fn records() -> impl Strategy<Value = Records> {
        let bytes = prop::collection::vec(any::<u8>(), 0..300);
        let fields = (1..1_u64 << 40, 1..=u32::MAX, any::<Chain>(), position(), part(), bytes);
        fields.prop_map(|(first, count, before, end, part, bytes)| Records {
            first,
            count,
            before,
            end: LogPosition { number: first + u64::from(count) - 1, ..end },
            part,
            bytes: bytes.into(),
        })
    }

    fn message() -> impl Strategy<Value = Message> {
        let formats = any::<[u16; 3]>();
        let formats =
            formats.prop_map(|[state, inputs, document]| Formats { state, inputs, document });
        let body = prop_oneof![
            records().prop_map(Body::Records),
            (position(), formats).prop_map(|(position, formats)| Body::Term { position, formats }),
            (position(), "[a-z0-9-]{0,64}")
                .prop_map(|(position, to)| Body::HandOver { position, to }),
        ];
        (any::<u64>(), "[a-zA-Z0-9-]{1,64}", body).prop_map(|(term, node, body)| Message {
            term,
            node,
            body,
        })
    }

    proptest! {
        #[test]
        fn message_is_read_as_it_was_written(message in message()) {
            prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
        }

        #[test]
        fn truncated_message_is_an_error_or_has_fewer_bytes_of_records(
            message in message(),
            at: prop::sample::Index,
        ) {
            let bytes = message.encode();
            let cut = bytes.slice(..at.index(bytes.len()));
            if let Ok(read) = Message::decode(&cut) {
                prop_assert!(matches!(read.body, Body::Records(_)));
                prop_assert_ne!(read, message);
            }
        }

        #[test]
        fn flipped_bit_never_gives_the_same_message(
            message in message(),
            at: prop::sample::Index,
            bit in 0_u8..8,
        ) {
            let mut bytes = message.encode().to_vec();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert_ne!(Message::decode(&bytes.into()).ok(), Some(message));
        }

        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let bytes = [&MAGIC[..], &FORMAT.to_le_bytes(), &bytes].concat();
            drop(Message::decode(&bytes.into()));
        }

        #[test]
        fn parts_hold_all_bytes_in_order(records in records(), bytes_max in 1_usize..100) {
            let records = Records { part: Part::WHOLE, ..records };
            let whole = records.bytes.clone();
            let message = Message { term: 1, node: "a".to_owned(), body: Body::Records(records) };
            let parts = message.parts(bytes_max).expect("there are few parts");
            let mut bytes = Vec::new();
            for (index, part) in parts.iter().enumerate() {
                let Body::Records(records) = &part.body else { panic!("{part:?}") };
                prop_assert!(records.bytes.len() <= bytes_max);
                prop_assert_eq!(usize::from(records.part.index), index);
                prop_assert_eq!(usize::from(records.part.count), parts.len());
                bytes.extend_from_slice(&records.bytes);
            }
            prop_assert_eq!(bytes, whole);
        }
    }

    #[test]
    fn long_name_is_cut_at_a_character() {
        let body = Body::HandOver { position: LogPosition::default(), to: "é".repeat(200) };
        let message = Message { term: 1, node: "a".to_owned(), body };
        let read = Message::decode(&message.encode()).expect("it is valid");
        let Body::HandOver { to, .. } = read.body else { panic!("{read:?}") };
        assert_eq!(to, "é".repeat(127));
    }

    #[test]
    fn message_of_another_release_says_so() {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(9_u16.to_le_bytes());
        assert_eq!(Message::decode(&bytes.into()), Err(MessageError::Format(9)));
        assert_eq!(Message::decode(&Bytes::from_static(b"GET /")), Err(MessageError::Foreign));
    }
}
