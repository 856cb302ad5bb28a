//! Documents as compressed JSON: one value of a table, of a match, of all its prices, or of a block of ticks.

use std::{
    collections::VecDeque,
    io::Read,
    sync::{Arc, LazyLock},
};

use base::Micros;
use flate2::read::ZlibDecoder;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use zstd::{
    bulk::{Compressor, Decompressor},
    dict::{DecoderDictionary, EncoderDictionary},
    zstd_safe::get_frame_content_size,
};

use super::{decode, encode};
use crate::archive::{
    odds::{OddsRow, Tick},
    stored_price::StoredPrice,
};
use record::Key;

/// The most that a value expands to: a match with a million prices has less.
const EXPANDED_MAX: usize = 512 * 1024 * 1024;

/// What documents have in common, so that short ones become small too: `dictionary.py` made it. Each value names its number, 1.
/// It never changes, since what it compressed needs it; a better one gets another number.
const DICTIONARY: &[u8] = include_bytes!("documents.dict");

static ENCODER: LazyLock<EncoderDictionary<'static>> =
    LazyLock::new(|| EncoderDictionary::copy(DICTIONARY, zstd::DEFAULT_COMPRESSION_LEVEL));
static DECODER: LazyLock<DecoderDictionary<'static>> =
    LazyLock::new(|| DecoderDictionary::copy(DICTIONARY));

/// The JSON of a value, compressed (zstd).
pub(in crate::archive) fn compressed(value: &impl Serialize) -> Result<Vec<u8>, sqlx::Error> {
    let json = serde_json::to_vec(value).map_err(encode)?;
    Ok(Compressor::with_prepared_dictionary(&ENCODER)?.compress(&json)?)
}

/// A value from its JSON. Migrations wrote it as it is, versions before migration 25 with zlib.
pub(in crate::archive) fn expanded<T: DeserializeOwned>(stored: &[u8]) -> Result<T, sqlx::Error> {
    let mut json = Vec::new();
    let json = match stored.first() {
        Some(b'{') => stored,
        // The first byte of every zlib stream with a window of 32 KiB; that of a frame of zstd is another one.
        Some(b'x') => {
            ZlibDecoder::new(stored).take(EXPANDED_MAX as u64).read_to_end(&mut json)?;
            &json
        }
        _ => {
            let size = get_frame_content_size(stored).ok().flatten();
            let size = size.and_then(|size| usize::try_from(size).ok());
            let size = size.filter(|size| *size <= EXPANDED_MAX);
            let size = size.ok_or_else(|| decode("a document of an impossible size"))?;
            json = Decompressor::with_prepared_dictionary(&DECODER)?.decompress(stored, size)?;
            &json
        }
    };
    serde_json::from_slice(json).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// The prices of a match by column.
#[derive(Debug, Default, Serialize, Deserialize)]
struct PriceColumns {
    id: VecDeque<Key>,
    public_id: VecDeque<Option<Key>>,
    bookmaker: VecDeque<Arc<str>>,
    market: VecDeque<Arc<str>>,
    period: VecDeque<Option<Arc<str>>>,
    line: VecDeque<Option<Decimal>>,
    outcome: VecDeque<Arc<str>>,
    opening: VecDeque<Decimal>,
    opening_us: VecDeque<Micros>,
    previous: VecDeque<Option<Decimal>>,
    price: VecDeque<Decimal>,
    price_us: VecDeque<Micros>,
    received_us: VecDeque<Micros>,
    is_open: VecDeque<u8>,
    is_offered: VecDeque<u8>,
    in_play: VecDeque<u8>,
    ticked_us: VecDeque<Micros>,
    updated_us: VecDeque<Micros>,
}

pub(super) fn pack_prices(prices: &[StoredPrice]) -> Result<Vec<u8>, sqlx::Error> {
    let mut columns = PriceColumns::default();
    for StoredPrice { row, is_offered, ticked_us } in prices {
        columns.id.push_back(row.id);
        columns.public_id.push_back(row.public_id);
        columns.bookmaker.push_back(Arc::clone(&row.bookmaker));
        columns.market.push_back(Arc::clone(&row.market));
        columns.period.push_back(row.period.clone());
        columns.line.push_back(row.line);
        columns.outcome.push_back(Arc::clone(&row.outcome));
        columns.opening.push_back(row.opening);
        columns.opening_us.push_back(row.opening_us);
        columns.previous.push_back(row.previous);
        columns.price.push_back(row.price);
        columns.price_us.push_back(row.price_us);
        columns.received_us.push_back(row.received_us);
        columns.is_open.push_back(u8::from(row.is_open));
        columns.is_offered.push_back(u8::from(*is_offered));
        columns.in_play.push_back(u8::from(row.in_play));
        columns.ticked_us.push_back(*ticked_us);
        columns.updated_us.push_back(row.updated_us);
    }
    compressed(&columns)
}

pub(super) fn unpack_prices(match_id: Key, stored: &[u8]) -> Result<Vec<StoredPrice>, sqlx::Error> {
    let mut columns: PriceColumns = expanded(stored)?;
    let mut prices = Vec::with_capacity(columns.id.len());
    while let Some(id) = columns.id.pop_front() {
        let row = OddsRow {
            id,
            public_id: next(&mut columns.public_id)?,
            match_id,
            bookmaker: next(&mut columns.bookmaker)?,
            market: next(&mut columns.market)?,
            period: next(&mut columns.period)?,
            line: next(&mut columns.line)?,
            outcome: next(&mut columns.outcome)?,
            opening: next(&mut columns.opening)?,
            opening_us: next(&mut columns.opening_us)?,
            previous: next(&mut columns.previous)?,
            price: next(&mut columns.price)?,
            price_us: next(&mut columns.price_us)?,
            received_us: next(&mut columns.received_us)?,
            is_open: next(&mut columns.is_open)? != 0,
            in_play: next(&mut columns.in_play)? != 0,
            updated_us: next(&mut columns.updated_us)?,
        };
        let is_offered = next(&mut columns.is_offered)? != 0;
        prices.push(StoredPrice { row, is_offered, ticked_us: next(&mut columns.ticked_us)? });
    }
    Ok(prices)
}

/// Ticks by column.
#[derive(Debug, Default, Serialize, Deserialize)]
struct TickColumns {
    odds: VecDeque<Key>,
    at_us: VecDeque<Micros>,
    /// From the time of the source to the receipt.
    delay_us: VecDeque<Micros>,
    price: VecDeque<Option<Decimal>>,
}

/// `ticks`: selection by selection, which compresses best.
pub(super) fn pack_ticks(ticks: &[Tick]) -> Result<Vec<u8>, sqlx::Error> {
    let mut columns = TickColumns::default();
    for tick in ticks {
        columns.odds.push_back(tick.odds);
        columns.at_us.push_back(tick.at_us);
        columns.delay_us.push_back(tick.received_us.wrapping_sub(tick.at_us));
        columns.price.push_back(tick.price);
    }
    compressed(&columns)
}

pub(super) fn unpack_ticks(stored: &[u8]) -> Result<Vec<Tick>, sqlx::Error> {
    let mut columns: TickColumns = expanded(stored)?;
    let mut ticks = Vec::with_capacity(columns.odds.len());
    while let Some(odds) = columns.odds.pop_front() {
        let at_us = next(&mut columns.at_us)?;
        let received_us = at_us.wrapping_add(next(&mut columns.delay_us)?);
        ticks.push(Tick { odds, at_us, received_us, price: next(&mut columns.price)? });
    }
    Ok(ticks)
}

fn next<T>(column: &mut VecDeque<T>) -> Result<T, sqlx::Error> {
    column.pop_front().ok_or_else(|| decode("a column of packed rows is too short"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::ZlibEncoder};

    use super::*;
    use record::{MatchSummary, testing};

    #[test]
    fn documents_of_all_versions_are_read() {
        let brief = MatchSummary::clone(&testing::record(testing::MATCH, testing::played()).brief);
        let json = serde_json::to_vec(&brief).unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(&json).unwrap();
        let zstd = compressed(&brief).unwrap();
        assert!(zstd.len() * 3 < json.len(), "{} of {}", zstd.len(), json.len());
        for stored in [json, zlib.finish().unwrap(), zstd] {
            assert_eq!(expanded::<MatchSummary>(&stored).unwrap(), brief);
        }
    }

    #[test]
    fn damaged_documents_are_refused() {
        let whole = compressed(&"x".repeat(1_000)).unwrap();
        let endless = zstd::stream::encode_all(&b"{}"[..], 1).unwrap();
        for stored in [&whole[..whole.len() - 1], &endless[..], &[], &whole[..1]] {
            assert!(expanded::<String>(stored).is_err(), "{stored:?}");
        }
    }
}
