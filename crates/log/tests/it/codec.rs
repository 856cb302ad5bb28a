//! The bytes of a record.

use bytes::Bytes;
use fanout::{ChannelId, Epoch};
use log::{
    codec::{Decoder, Encoder, PREFIX_BYTES, RecordHeader, body_bytes, chain_after},
    record::{Output, Record},
};
use proptest::{collection::vec, prelude::*};

use crate::support::cases;

fn payloads() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        vec(any::<u8>(), 0..600).prop_map(Bytes::from),
        (any::<u8>(), 0..5_000_usize).prop_map(|(byte, count)| vec![byte; count].into()),
    ]
}

fn outputs() -> impl Strategy<Value = Output> {
    let names = "[a-z0-9/]{0,60}".prop_map(ChannelId::new);
    (names, any::<u32>(), any::<(u64, u64, bool, bool)>(), payloads(), 0..3).prop_map(
        |(channel, epoch, (prev, seq, urgent, has_events), payload, kind)| {
            let epoch = Epoch(epoch);
            match kind {
                0 => Output::Opened { channel, epoch, seq, payload },
                1 => Output::Published { channel, epoch, prev, seq, urgent, has_events, payload },
                _ => Output::Closed { channel, epoch },
            }
        },
    )
}

fn records() -> impl Strategy<Value = Record> {
    (any::<u64>(), any::<i64>(), payloads(), vec(outputs(), 0..8))
        .prop_map(|(number, at, inputs, outputs)| Record { number, at, inputs, outputs })
}

/// Reads a frame as a reader does.
fn decode(bytes: &[u8]) -> Result<Record, &'static str> {
    let (prefix, body) = bytes.split_first_chunk::<PREFIX_BYTES>().ok_or("too short")?;
    if body_bytes(*prefix)? != body.len() {
        return Err("another length");
    }
    RecordHeader::check(*prefix, body)?;
    Decoder::new().unwrap().decode(body)
}

proptest! {
    #![proptest_config(cases(1))]

    #[test]
    fn a_record_is_decoded_as_it_was(record in records(), chain in any::<[u8; 16]>()) {
        let mut encoder = Encoder::new().unwrap();
        let mut bytes = vec![7];
        let after = encoder.encode(&record, chain, &mut bytes).unwrap();
        prop_assert_eq!(after, chain_after(&bytes[1 + PREFIX_BYTES..]));
        let header = RecordHeader::read(&bytes[1 + PREFIX_BYTES..]).unwrap();
        prop_assert_eq!((header.number, header.at, header.chain), (record.number, record.at, chain));
        prop_assert_eq!(decode(&bytes[1..]), Ok(record.clone()));

        // The encoder has no memory of the record before.
        let mut again = Vec::new();
        encoder.encode(&record, chain, &mut again).unwrap();
        prop_assert_eq!(&bytes[1..], &again[..]);
    }

    #[test]
    fn a_changed_byte_is_found(record in records(), index in any::<prop::sample::Index>(), mask in 1_u8..) {
        let mut bytes = Vec::new();
        Encoder::new().unwrap().encode(&record, [0; 16], &mut bytes).unwrap();
        let index = index.index(bytes.len());
        bytes[index] ^= mask;
        prop_assert!(decode(&bytes).is_err());
    }

    /// Without the CRC, so that the damage reaches the decoder.
    #[test]
    fn damaged_bodies_are_decoded_without_a_panic(
        record in records(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Vec::new();
        Encoder::new().unwrap().encode(&record, [0; 16], &mut bytes).unwrap();
        let mut body = bytes.split_off(PREFIX_BYTES);
        let mut decoder = Decoder::new().unwrap();
        decoder.decode(&body[..cut.index(body.len())]).unwrap_err();
        for (index, byte) in damage {
            let index = index.index(body.len());
            body[index] = byte;
        }
        decoder.decode(&body).ok();
    }

    #[test]
    fn arbitrary_bytes_are_no_record(body in vec(any::<u8>(), 0..200), head in any::<bool>()) {
        let mut body = body;
        if head && body.len() > 2 {
            (body[0], body[1]) = (0, 0);
        }
        Decoder::new().unwrap().decode(&body).ok();
    }
}
