//! The JSON text of plain values. A frame consists of little else, so numbers of up to 64 bits, which nearly all are, and
//! texts without escapes do not go through [`std::fmt`].

use std::io::Write as _;

use rust_decimal::Decimal;

/// Appends a whole number.
pub(crate) fn integer(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a whole number that is not negative.
pub(crate) fn unsigned(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a decimal with all its digits, as its [`Display`](std::fmt::Display) does.
pub(crate) fn decimal(out: &mut Vec<u8>, value: Decimal) {
    let Some(units) = units(value) else {
        return write!(out, "{value}").expect("writing to memory does not fail");
    };
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(units).as_bytes();
    let places = value.scale() as usize;
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let whole = digits.len().saturating_sub(places);
    let (whole, fraction) = digits.split_at(whole);
    out.extend_from_slice(if whole.is_empty() { b"0" } else { whole });
    if places > 0 {
        out.push(b'.');
        out.resize(out.len() + places - fraction.len(), b'0');
        out.extend_from_slice(fraction);
    }
}

/// Appends a name or code that the hub defines, in quotes. None of them needs an escape.
pub(crate) fn word(out: &mut Vec<u8>, word: &'static str) {
    debug_assert!(word.bytes().all(is_plain), "{word:?} has to be escaped");
    in_quotes(out, |out| out.extend_from_slice(word.as_bytes()));
}

/// Appends a text in quotes.
pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    if text.bytes().all(is_plain) {
        in_quotes(out, |out| out.extend_from_slice(text.as_bytes()));
    } else {
        serde_json::to_writer(out, text).expect("writing to memory does not fail");
    }
}

/// Appends what `write` appends, in quotes.
pub(crate) fn in_quotes(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}

fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}

/// The same value without trailing zeros, as [`Decimal::normalize`] makes it.
pub(crate) fn without_trailing_zeros(value: Decimal) -> Decimal {
    let Some(mut units) = units(value) else { return value.normalize() };
    if units == 0 {
        return Decimal::ZERO;
    }
    let mut places = value.scale();
    while places > 0 && units % 10 == 0 {
        (units, places) = (units / 10, places - 1);
    }
    if places == value.scale() {
        return value;
    }
    let (low, middle) = (units & u64::from(u32::MAX), units >> 32);
    Decimal::from_parts(low as u32, middle as u32, 0, value.is_sign_negative(), places)
}

/// The digits of a decimal as a number, without sign and point. `None` if they need more than 64 bits.
fn units(value: Decimal) -> Option<u64> {
    u64::try_from(value.mantissa().unsigned_abs()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimals() -> impl Strategy<Value = Decimal> {
        let any_size = (any::<i128>(), 0..=28_u32)
            .prop_map(|(units, places)| Decimal::from_i128_with_scale(units >> 32, places));
        let short =
            (-10_000_i64..10_000, 0..6_u32).prop_map(|(units, places)| Decimal::new(units, places));
        let padded = (-99_i64..99, 0..15_u32, 0..13_u32)
            .prop_map(|(units, zeros, places)| Decimal::new(units * 10_i64.pow(zeros), places));
        prop_oneof![any_size, short, padded, Just(-Decimal::ZERO), Just(Decimal::new(0, 3))]
    }

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("what is written is UTF-8")
    }

    proptest! {
        #[test]
        fn decimals_have_the_text_of_their_display(value in decimals()) {
            prop_assert_eq!(text(|out| decimal(out, value)), value.to_string());
        }

        #[test]
        fn trailing_zeros_are_cut_as_by_normalize(value in decimals()) {
            let (ours, theirs) = (without_trailing_zeros(value), value.normalize());
            prop_assert_eq!(ours.serialize(), theirs.serialize(), "{} and {}", ours, theirs);
        }

        #[test]
        fn integers_have_the_text_of_their_display(signed in any::<i64>(), whole in any::<u64>()) {
            prop_assert_eq!(text(|out| integer(out, signed)), signed.to_string());
            prop_assert_eq!(text(|out| unsigned(out, whole)), whole.to_string());
        }

        #[test]
        fn strings_are_written_as_serde_writes_them(value in any::<String>()) {
            prop_assert_eq!(text(|out| string(out, &value)), serde_json::to_string(&value).unwrap());
        }
    }
}
