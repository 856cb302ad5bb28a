//! Rows as columns of JSON, compressed: one value of a table for all of a match, or for a block.

use std::{collections::VecDeque, io::Read, io::Write, sync::Arc};

use base::Micros;
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{decode, encode};
use crate::archive::{
    odds::{OddsRow, Tick},
    stored_price::StoredPrice,
};
use record::Key;

/// The most that a value expands to: a match with a million prices has less.
const EXPANDED_MAX: u64 = 512 * 1024 * 1024;

/// The JSON of a value, compressed.
pub(super) fn compressed(value: &impl Serialize) -> Result<Vec<u8>, sqlx::Error> {
    let json = serde_json::to_vec(value).map_err(encode)?;
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(json.len() / 4), Compression::fast());
    encoder.write_all(&json)?;
    Ok(encoder.finish()?)
}

/// A value from its JSON, which is compressed unless a migration wrote it.
pub(super) fn expanded<T: DeserializeOwned>(stored: &[u8]) -> Result<T, sqlx::Error> {
    let mut json = Vec::new();
    let json = if stored.first() == Some(&b'{') {
        stored
    } else {
        ZlibDecoder::new(stored).take(EXPANDED_MAX).read_to_end(&mut json)?;
        &json
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
