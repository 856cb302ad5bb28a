//! What the values of a line may be, beyond their types.

use rust_decimal::Decimal;

use crate::{
    decode::events::Number,
    error::{DecodeError, RefusalKind},
};

/// Bytes of a key: of a match, an incident, a market, a selection, a message.
const KEY_BYTES_MAX: usize = 200;
/// Bytes of a name or of a reason.
const TEXT_BYTES_MAX: usize = 1000;
/// Bytes of a slug, which is a part of names of channels.
const SLUG_BYTES_MAX: usize = 100;
/// The end of the year 9999: sums of moments stay far from where 64 bits end.
const MOMENT_MAX: i64 = 253_402_300_799_999_999;
/// Ids are exact in every JSON reader.
const ID_MAX: u64 = (1 << 53) - 1;

pub(super) fn wrong(reason: impl Into<String>) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}

pub(super) fn moment(name: &str, at: Option<i64>) -> Result<(), DecodeError> {
    match at {
        Some(at) if !(0..=MOMENT_MAX).contains(&at) => {
            Err(wrong(format!("{name} {at} is no moment in microseconds since 1970")))
        }
        _ => Ok(()),
    }
}

pub(super) fn key(name: &str, key: &str) -> Result<(), DecodeError> {
    if key.is_empty() {
        return Err(wrong(format!("{name} is empty")));
    }
    at_most(name, key, KEY_BYTES_MAX)
}

pub(super) fn text(name: &str, text: &str) -> Result<(), DecodeError> {
    at_most(name, text, TEXT_BYTES_MAX)
}

fn at_most(name: &str, text: &str, bytes_max: usize) -> Result<(), DecodeError> {
    if text.len() <= bytes_max {
        return Ok(());
    }
    Err(wrong(format!("{name} has {} bytes, more than {bytes_max}", text.len())))
}

pub(super) fn slug(name: &str, slug: &str) -> Result<(), DecodeError> {
    let of_a_slug = |b: u8| b.is_ascii_alphanumeric() || b"-_.:".contains(&b);
    let fits = !slug.is_empty() && slug.len() <= SLUG_BYTES_MAX && slug.bytes().all(of_a_slug);
    fits.then_some(()).ok_or_else(|| {
        let begin = &slug[..slug.floor_char_boundary(SLUG_BYTES_MAX)];
        wrong(format!("{name} {begin:?} is not 1 to {SLUG_BYTES_MAX} letters, digits, `-_.:`"))
    })
}

/// A minute of a match: extra time ends with the 120th.
pub(super) fn match_minute(minute: u16) -> Result<(), DecodeError> {
    if (1..=120).contains(&minute) {
        return Ok(());
    }
    Err(wrong(format!("minute {minute} is not from 1 to 120")))
}

/// A bookmaker: a slug without upper case, so that one bookmaker has one channel.
pub(super) fn book(book: &str) -> Result<(), DecodeError> {
    slug("book", book)?;
    if book.bytes().any(|b| b.is_ascii_uppercase()) {
        return Err(wrong(format!("book {book:?} has upper-case letters")));
    }
    Ok(())
}

pub(super) fn id(id: u64) -> Result<u64, DecodeError> {
    if (1..=ID_MAX).contains(&id) { Ok(id) } else { Err(wrong(format!("{id} is no id"))) }
}

/// A price or a size.
pub(super) fn amount(name: &str, Number(value): Number) -> Result<Decimal, DecodeError> {
    if value.is_sign_negative() && !value.is_zero() {
        return Err(wrong(format!("{name} {value} is negative")));
    }
    Ok(value)
}
