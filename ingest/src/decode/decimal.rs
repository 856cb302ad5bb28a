//! The text of a number to a decimal, exactly or not at all.

use rust_decimal::Decimal;

/// Longer than any price or line that is meant: a decimal has 29 digits at most.
const LENGTH_MAX: usize = 64;

/// The value without trailing zeros (`5.0` is `5`). `None` for what is no number in plain or
/// scientific notation, or does not fit: it is never rounded.
pub(crate) fn exact(text: &str) -> Option<Decimal> {
    let plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+');
    let scientific = text.contains(['e', 'E']);
    if text.len() > LENGTH_MAX || !text.bytes().all(|it| plain(it) || matches!(it, b'e' | b'E')) {
        return None;
    }
    let value = match scientific {
        true => Decimal::from_scientific(text).ok()?,
        false => Decimal::from_str_exact(text).ok()?,
    };
    Some(if value.is_zero() { Decimal::ZERO } else { value.normalize() })
}

#[cfg(test)]
mod tests {
    use super::exact;

    #[test]
    fn one_value_has_one_text() {
        for (text, expected) in [
            ("2.10", Some("2.1")),
            ("5.0", Some("5")),
            ("-110", Some("-110")),
            ("-0.0", Some("0")),
            ("1.5e1", Some("15")),
            ("8.97094E-4", Some("0.000897094")),
            ("79228162514264337593543950336", None),
            ("1e99", None),
            ("1_000", None),
            ("NaN", None),
            ("", None),
            ("1.00000000000000000000000000001", None),
        ] {
            assert_eq!(exact(text).map(|it| it.to_string()).as_deref(), expected, "{text}");
        }
    }
}
