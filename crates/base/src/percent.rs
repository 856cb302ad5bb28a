//! Percent-encoding, as in the parts of a URL.

use std::{borrow::Cow, fmt};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What is escaped in a value of a query.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
/// What is escaped in a path.
const PATH: &AsciiSet = &VALUE.remove(b'/');

/// Encodes a value of a query.
pub fn encode(value: &str) -> impl fmt::Display {
    utf8_percent_encode(value, VALUE)
}

/// Encodes a path, and keeps its slashes.
pub fn encode_path(path: &str) -> impl fmt::Display {
    utf8_percent_encode(path, PATH)
}

/// The text behind `%40` and the like; `None` if a sequence is broken or the bytes are not UTF-8.
pub fn decode(text: &str) -> Option<String> {
    // The library keeps a broken sequence as it is, which would hide a password that is not encoded.
    let is_sequence = |part: &str| part.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    if !text.split('%').skip(1).all(is_sequence) {
        return None;
    }
    percent_decode_str(text).decode_utf8().ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_text_is_decoded() {
        assert_eq!(decode("me%40example.org"), Some("me@example.org".to_owned()));
        assert_eq!(decode("a+b%25%C3%BC"), Some("a+b%ü".to_owned()));
        assert_eq!(decode(""), Some(String::new()));
    }

    #[test]
    fn only_letters_digits_and_a_few_signs_are_not_encoded() {
        let text = "aZ09-_./?%&=+ ~é";
        assert_eq!(encode(text).to_string(), "aZ09-_.%2F%3F%25%26%3D%2B%20%7E%C3%A9");
        assert_eq!(encode_path(text).to_string(), "aZ09-_./%3F%25%26%3D%2B%20%7E%C3%A9");
    }

    #[test]
    fn malformed_encoding_is_refused() {
        for text in ["%", "%4", "%+4", "%zz", "%ff", "%é1"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
