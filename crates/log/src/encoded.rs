//! Records in their encoded form, as one machine hands them to another: the bytes that its files have, so that all
//! copies of a log have the same chain.

use bytes::Bytes;
use fanout::Micros;

use crate::{
    AppendError, LogPosition, RecordNumber,
    codec::{Decoder, Encoder, PREFIX_BYTES, Problem, RecordHeader, body_bytes, chain_after},
    record::Record,
};

/// Records that follow one another, as bytes. There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedRecords {
    bytes: Bytes,
    /// The record before the first one. Its time is not known.
    before: LogPosition,
    end: LogPosition,
}

impl EncodedRecords {
    /// Encodes the records after this position.
    ///
    /// # Errors
    ///
    /// If a record is too large or out of order. There must be at least one.
    pub fn encode(
        encoder: &mut Encoder,
        after: LogPosition,
        records: &[Record],
    ) -> Result<Self, AppendError> {
        let mut bytes = Vec::new();
        let end = encode_after(encoder, after, records, &mut bytes)?;
        let before = LogPosition { at: 0, ..after };
        Ok(Self { bytes: bytes.into(), before, end })
    }

    /// Reads what another machine has encoded. Nothing is trusted: each record has the number and the chain that
    /// follow from the one before it.
    ///
    /// # Errors
    ///
    /// If these are not whole records, or none.
    pub fn read(bytes: Bytes) -> Result<Self, Problem> {
        let mut ends: Option<(LogPosition, LogPosition)> = None;
        for body in (Bodies { rest: &bytes }) {
            let (prefix, body) = body?;
            let header = RecordHeader::check(prefix, body)?;
            let end =
                LogPosition { number: header.number, chain: chain_after(body), at: header.at };
            let (before, last) = ends.unwrap_or_else(|| {
                let number = header.number.wrapping_sub(1);
                let before = LogPosition { number, chain: header.chain, at: 0 };
                (before, before)
            });
            if header.number != last.number.wrapping_add(1) || header.chain != last.chain {
                return Err("it does not follow the record before it");
            }
            if ends.is_some() && header.at < last.at {
                return Err("it is earlier than the record before it");
            }
            ends = Some((before, end));
        }
        let (before, end) = ends.ok_or("there is no record")?;
        Ok(Self { bytes, before, end })
    }

    /// The record after which they are. Its time is 0.
    #[must_use]
    pub fn before(&self) -> LogPosition {
        self.before
    }

    /// The position after the last one.
    #[must_use]
    pub fn end(&self) -> LogPosition {
        self.end
    }

    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The number of the first one.
    #[must_use]
    pub fn first(&self) -> RecordNumber {
        self.before.number + 1
    }

    /// Decodes them.
    ///
    /// # Errors
    ///
    /// If a record was made by another version.
    pub fn decode(&self, decoder: &mut Decoder) -> Result<Vec<Record>, Problem> {
        Bodies { rest: &self.bytes }.map(|body| decoder.decode(body?.1)).collect()
    }
}

impl EncodedRecords {
    /// Each record: when it was made, and its bytes.
    pub(crate) fn each(&self) -> impl Iterator<Item = (Micros, Bytes)> {
        Bodies { rest: &self.bytes }.flatten().filter_map(|(_, body)| {
            let at = RecordHeader::read(body).ok()?.at;
            let body = self.bytes.slice_ref(body);
            let start = body.as_ptr() as usize - self.bytes.as_ptr() as usize - PREFIX_BYTES;
            Some((at, self.bytes.slice(start..start + PREFIX_BYTES + body.len())))
        })
    }
}

/// Appends records after a position to `out`. Returns the position after them.
pub(crate) fn encode_after(
    encoder: &mut Encoder,
    after: LogPosition,
    records: &[Record],
    out: &mut Vec<u8>,
) -> Result<LogPosition, AppendError> {
    let mut end = after;
    for record in records {
        if record.number != end.number + 1 || record.at < end.at {
            return Err(AppendError::OutOfOrder(record.number));
        }
        let chain = encoder.encode(record, end.chain, out)?;
        end = LogPosition { number: record.number, chain, at: record.at };
    }
    Ok(end)
}

/// The prefixes and bodies of records that stand one after another.
struct Bodies<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Bodies<'a> {
    type Item = Result<([u8; PREFIX_BYTES], &'a [u8]), Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let mut body = || {
            let (prefix, rest) = self.rest.split_first_chunk().ok_or("it is cut off")?;
            let (body, rest) =
                rest.split_at_checked(body_bytes(*prefix)?).ok_or("it is cut off")?;
            self.rest = rest;
            Ok((*prefix, body))
        };
        let body = body();
        if body.is_err() {
            self.rest = &[];
        }
        Some(body)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn records(after: RecordNumber, count: u64) -> Vec<Record> {
        let numbers = after + 1..=after + count;
        let record = |number| Record {
            number,
            at: number.cast_signed(),
            inputs: vec![7; usize::try_from(number % 900).unwrap()].into(),
            outputs: Vec::new(),
        };
        numbers.map(record).collect()
    }

    fn encoded(count: u64) -> EncodedRecords {
        let after = LogPosition { number: 41, chain: [3; 16], at: 41 };
        EncodedRecords::encode(&mut Encoder::new().unwrap(), after, &records(41, count)).unwrap()
    }

    #[test]
    fn records_are_read_as_they_were_encoded() {
        let ours = encoded(600);
        let read = EncodedRecords::read(ours.bytes().clone()).unwrap();
        assert_eq!(read, ours);
        assert_eq!((read.first(), read.end().number), (42, 641));
        assert_eq!(read.decode(&mut Decoder::new().unwrap()).unwrap(), records(41, 600));
        assert!(EncodedRecords::read(Bytes::new()).is_err());
    }

    proptest! {
        #[test]
        fn damaged_records_are_refused(cut in 1_usize..200, bit in 0_usize..2_000) {
            let bytes = encoded(5).bytes().to_vec();
            let short = bytes[..bytes.len() - cut].to_vec();
            // A cut between two records leaves whole ones.
            let read = EncodedRecords::read(short.into());
            prop_assert!(read.is_err() || read.is_ok_and(|it| it.end().number < 46));
            let mut changed = bytes.clone();
            let bit = bit % (bytes.len() * 8);
            changed[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(EncodedRecords::read(changed.into()).is_err());
        }
    }
}
