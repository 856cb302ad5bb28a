//! Percent-encoding, as in the parts of a URL.

/// The text behind `%40` and the like; `None` if a sequence is broken or the bytes are not UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut out = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let code = part.get(..2).filter(|code| code.bytes().all(|b| b.is_ascii_hexdigit()))?;
        out.push(u8::from_str_radix(code, 16).ok()?);
        out.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_comes_back() {
        assert_eq!(decode("me%40example.org"), Some("me@example.org".to_owned()));
        assert_eq!(decode("a+b%25%C3%BC"), Some("a+b%ü".to_owned()));
        assert_eq!(decode(""), Some(String::new()));
    }

    #[test]
    fn what_is_broken_is_refused() {
        for text in ["%", "%4", "%+4", "%zz", "%ff", "%é1"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
