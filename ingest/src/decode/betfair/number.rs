//! The text of a JSON number to a decimal, exactly or not at all.

use rust_decimal::Decimal;

/// How many bytes at the start of `bytes` are a number as JSON writes it.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let sign = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(&bytes[sign..]);
    if whole == 0 || (whole > 1 && bytes[sign] == b'0') {
        return None;
    }
    let mut end = sign + whole;
    if bytes.get(end) == Some(&b'.') {
        end += 1 + at_least_one(digits(&bytes[end + 1..]))?;
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        end += 1 + sign + at_least_one(digits(&bytes[end + 1 + sign..]))?;
    }
    Some(end)
}

fn digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn at_least_one(count: usize) -> Option<usize> {
    (count > 0).then_some(count)
}

/// The number at the start of `bytes` and how long it is, when it is of the kind that nearly all
/// are: up to 18 digits, without sign and exponent. Read in one pass; [`long`] reads the others.
#[inline]
pub(super) fn short(bytes: &[u8]) -> Option<(Decimal, usize)> {
    let (mut units, whole) = run(0, bytes);
    let mut end = whole;
    let mut scale = 0;
    if bytes.get(end) == Some(&b'.') {
        let fraction;
        (units, fraction) = run(units, &bytes[end + 1..]);
        (end, scale) = (end + 1 + at_least_one(fraction)?, fraction);
    }
    let leading_zero = whole > 1 && bytes[0] == b'0';
    let exponent = matches!(bytes.get(end), Some(b'e' | b'E'));
    if whole == 0 || leading_zero || exponent || whole + scale > 18 {
        return None;
    }
    while scale > 0 && units % 10 == 0 {
        units /= 10;
        scale -= 1;
    }
    Some((Decimal::new(units.cast_signed(), scale as u32), end))
}

/// Appends the digits that `bytes` begins with to `units`. More than 18 wrap around, which
/// [`short`] finds by their count.
#[inline]
fn run(mut units: u64, bytes: &[u8]) -> (u64, usize) {
    let mut count = 0;
    while let Some(digit) = bytes.get(count).map(|byte| byte.wrapping_sub(b'0'))
        && digit < 10
    {
        units = units.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    (units, count)
}

/// The value of a number that [`length`] has measured, without trailing zeros (`5.0` is `5`).
///
/// `None` where a [`Decimal`] (96 bits, 28 places) cannot hold it exactly: it is never rounded.
pub(super) fn long(text: &str) -> Option<Decimal> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let places = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    let units = units(whole.trim_start_matches('-'), fraction)?;
    let value = scaled(units, places)?;
    Some(if whole.starts_with('-') { -value } else { value }.normalize())
}

fn units(whole: &str, fraction: &str) -> Option<i128> {
    whole.bytes().chain(fraction.bytes()).try_fold(0_i128, |units, digit| {
        units.checked_mul(10)?.checked_add(i128::from(digit - b'0'))
    })
}

/// `units` divided by ten to the `places`.
fn scaled(mut units: i128, mut places: i32) -> Option<Decimal> {
    if units == 0 {
        return Some(Decimal::ZERO);
    }
    while places > 0 && units % 10 == 0 {
        units /= 10;
        places -= 1;
    }
    let scale = u32::try_from(places.max(0)).ok()?;
    let factor = 10_i128.checked_pow(places.min(0).unsigned_abs())?;
    Decimal::try_from_i128_with_scale(units.checked_mul(factor)?, scale).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As the decoder reads it: the short way when it can be gone, and then the long way agrees.
    fn exact(text: &str) -> Option<Decimal> {
        let short = short(text.as_bytes());
        if let Some((value, length)) = short {
            assert_eq!((Some(value), length), (long(text), text.len()), "{text}");
            assert_eq!(value.scale(), value.normalize().scale(), "{text}");
        }
        short.map(|(value, _)| value).or_else(|| long(text))
    }

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(length(text.as_bytes()), Some(text.len()), "{text} is a number");
        assert_eq!(exact(text).map(|value| value.to_string()).as_deref(), expected, "{text}");
    }

    #[test]
    fn one_value_has_one_text() {
        for text in ["5", "5.0", "5.000", "50e-1", "0.5e1", "0.5E+1", "5.0000000000000000000000000"]
        {
            check(text, Some("5"));
        }
        for text in ["0", "0.0", "-0", "-0.0", "0e999", "0.00000000000000000000"] {
            check(text, Some("0"));
        }
        check("1e3", Some("1000"));
        check("1000", Some("1000"));
        check("-1.50", Some("-1.5"));
        check("4.5603088365589795", Some("4.5603088365589795"));
        check("100000000000000000000e-18", Some("100"));
    }

    #[test]
    fn numbers_that_do_not_fit_are_not_rounded() {
        check("79228162514264337593543950335", Some("79228162514264337593543950335"));
        for text in [
            "79228162514264337593543950336",
            "123456789012345678901234567890",
            "1.00000000000000000000000000001",
            "1e400",
            "1e-29",
            "1e99999999999",
            "1e-99999999999",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn invalid_numbers_have_no_length() {
        for text in ["", "-", ".5", "01", "1.", "1.e3", "1e", "1e+", "x", "-x", "+1"] {
            assert_eq!(length(text.as_bytes()), None, "{text}");
            assert_eq!(short(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn decimals_round_trip_through_text(units in any::<i64>(), scale in 0_u32..=28) {
            let value = Decimal::new(units, scale);
            let text = value.to_string();
            prop_assert_eq!(length(text.as_bytes()), Some(text.len()));
            let read = exact(&text).map(|read| read.to_string());
            prop_assert_eq!(read, Some(value.normalize().to_string()));
        }

        #[test]
        fn exponents_move_the_point(units in any::<i32>(), exponent in -9_i32..=9) {
            let expected = if exponent < 0 {
                Decimal::from(units) / Decimal::from(10_i64.pow(exponent.unsigned_abs()))
            } else {
                Decimal::from(units) * Decimal::from(10_i64.pow(exponent.unsigned_abs()))
            };
            prop_assert_eq!(exact(&format!("{units}e{exponent}")), Some(expected));
        }

        #[test]
        fn short_and_length_end_at_the_same_byte(text in "[0-9.eE+-]{0,24}.{0,2}") {
            let bytes = text.as_bytes();
            prop_assert!(length(bytes).is_none_or(|length| length <= bytes.len()));
            prop_assert!(short(bytes).is_none_or(|(_, end)| Some(end) == length(bytes)));
        }
    }
}
