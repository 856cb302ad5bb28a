//! Documents as compressed JSON: one value of a table, of a match, of all its prices, or of a block of ticks.

use std::{
    collections::VecDeque,
    sync::{Arc, LazyLock},
};

use base::Micros;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use zstd::{
    bulk::{Compressor, Decompressor},
    dict::{DecoderDictionary, EncoderDictionary},
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
pub(in crate::archive) fn compressed(value: &impl Serialize) -> sqlx::Result<Vec<u8>> {
    let json = serde_json::to_vec(value).map_err(encode)?;
    let mut zstd = Compressor::with_prepared_dictionary(&ENCODER)?;
    // Otherwise a changed bit can be read as another value.
    zstd.include_checksum(true)?;
    let mut packed = zstd.compress(&json)?;
    // It has room for the JSON as it is.
    packed.shrink_to_fit();
    Ok(packed)
}

/// A value from what [`compressed`] made of it.
pub(super) fn expanded<T: DeserializeOwned>(stored: &[u8]) -> sqlx::Result<T> {
    let size = Decompressor::upper_bound(stored).filter(|size| *size <= EXPANDED_MAX);
    let size = size.ok_or_else(|| decode("a document of an impossible size"))?;
    let mut zstd = Decompressor::with_prepared_dictionary(&DECODER)?;
    let json = zstd.decompress(stored, size)?;
    serde_json::from_slice(&json).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// Defines prices by column, and how one is put there and taken out: these fields of [`OddsRow`], and these flags as 0 or 1.
macro_rules! price_columns {
    ($($field:ident: $type:ty),+; $($flag:ident),+) => {
        #[derive(Debug, Default, Serialize, Deserialize)]
        struct PriceColumns {
            $($field: VecDeque<$type>,)+
            $($flag: VecDeque<u8>,)+
            is_offered: VecDeque<u8>,
            ticked_us: VecDeque<Micros>,
        }

        impl PriceColumns {
            fn push(&mut self, StoredPrice { row, is_offered, ticked_us }: &StoredPrice) {
                $(self.$field.push_back(Clone::clone(&row.$field));)+
                $(self.$flag.push_back(u8::from(row.$flag));)+
                self.is_offered.push_back(u8::from(*is_offered));
                self.ticked_us.push_back(*ticked_us);
            }

            fn pop(&mut self, match_id: Key) -> sqlx::Result<StoredPrice> {
                let row = OddsRow {
                    match_id,
                    $($field: next(&mut self.$field)?,)+
                    $($flag: next(&mut self.$flag)? != 0,)+
                };
                let is_offered = next(&mut self.is_offered)? != 0;
                Ok(StoredPrice { row, is_offered, ticked_us: next(&mut self.ticked_us)? })
            }
        }
    };
}

price_columns! {
    id: Key, public_id: Option<Key>, bookmaker: Arc<str>, market: Arc<str>, period: Option<Arc<str>>,
    line: Option<Decimal>, outcome: Arc<str>, opening: Decimal, opening_us: Micros, previous: Option<Decimal>,
    price: Decimal, price_us: Micros, received_us: Micros, updated_us: Micros;
    is_open, in_play
}

pub(super) fn pack_prices(prices: &[StoredPrice]) -> sqlx::Result<Vec<u8>> {
    let mut columns = PriceColumns::default();
    prices.iter().for_each(|price| columns.push(price));
    compressed(&columns)
}

pub(super) fn unpack_prices(match_id: Key, stored: &[u8]) -> sqlx::Result<Vec<StoredPrice>> {
    let mut columns: PriceColumns = expanded(stored)?;
    (0..columns.id.len()).map(|_| columns.pop(match_id)).collect()
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
pub(super) fn pack_ticks(ticks: &[Tick]) -> sqlx::Result<Vec<u8>> {
    let mut columns = TickColumns::default();
    for tick in ticks {
        columns.odds.push_back(tick.odds);
        columns.at_us.push_back(tick.at_us);
        columns.delay_us.push_back(tick.received_us.wrapping_sub(tick.at_us));
        columns.price.push_back(tick.price);
    }
    compressed(&columns)
}

pub(super) fn unpack_ticks(stored: &[u8]) -> sqlx::Result<Vec<Tick>> {
    let mut columns: TickColumns = expanded(stored)?;
    let mut ticks = Vec::with_capacity(columns.odds.len());
    while let Some(odds) = columns.odds.pop_front() {
        let at_us = next(&mut columns.at_us)?;
        let received_us = at_us.wrapping_add(next(&mut columns.delay_us)?);
        ticks.push(Tick { odds, at_us, received_us, price: next(&mut columns.price)? });
    }
    Ok(ticks)
}

fn next<T>(column: &mut VecDeque<T>) -> sqlx::Result<T> {
    column.pop_front().ok_or_else(|| decode("a column of packed rows is too short"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{MatchSummary, testing};

    #[test]
    fn documents_become_smaller_and_are_read_back() {
        let summary =
            MatchSummary::clone(&testing::record(testing::MATCH, testing::played()).summary);
        let json = serde_json::to_vec(&summary).unwrap();
        let stored = compressed(&summary).unwrap();
        assert!(stored.len() * 3 < json.len(), "{} of {}", stored.len(), json.len());
        assert_eq!(expanded::<MatchSummary>(&stored).unwrap(), summary);
    }

    #[test]
    fn damaged_documents_are_refused() {
        let whole = compressed(&"x".repeat(1_000)).unwrap();
        let mut changed = whole.clone();
        changed[whole.len() - 1] ^= 1;
        for stored in [&whole[..whole.len() - 1], &[], &whole[..1], b"{}", &changed[..]] {
            assert!(expanded::<String>(stored).is_err(), "{stored:?}");
        }
    }
}
