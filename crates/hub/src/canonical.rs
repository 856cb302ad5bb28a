//! The canonical form of JSON (RFC 8785) from its text, without a tree of values.
//!
//! A hash of the board takes it of megabytes on a thread that serves sockets. Only what the hub renders otherwise is changed: members
//! are sorted, and numbers with a fraction and texts with escapes are written again by the library.

use std::borrow::Cow;

use serde_json::Value;

/// The canonical form of one value.
///
/// # Panics
///
/// If the text is not one JSON value without white space, as the hub renders it.
pub(crate) fn canonical(text: &str) -> Vec<u8> {
    let mut writer = Writer { text, at: 0, out: Vec::with_capacity(text.len()), moved: Vec::new() };
    writer.value();
    assert_eq!(writer.at, text.len(), "one value without white space");
    writer.out
}

struct Writer<'a> {
    text: &'a str,
    /// What has been read.
    at: usize,
    out: Vec<u8>,
    /// The members of an object while they are sorted.
    moved: Vec<u8>,
}

impl<'a> Writer<'a> {
    fn value(&mut self) {
        match self.byte() {
            b'{' => self.object(),
            b'[' => self.list(),
            b'"' => drop(self.string()),
            _ => self.scalar(),
        }
    }

    fn list(&mut self) {
        self.copy();
        while self.byte() != b']' {
            if self.byte() == b',' {
                self.copy();
            }
            self.value();
        }
        self.copy();
    }

    fn object(&mut self) {
        self.copy();
        let start = self.out.len();
        // Each key, and where its member is in `out`.
        let mut members: Vec<(Cow<'a, str>, usize, usize)> = Vec::new();
        while self.byte() != b'}' {
            if self.byte() == b',' {
                self.at += 1;
            }
            let begin = self.out.len();
            let key = self.string();
            self.copy();
            self.value();
            members.push((key, begin, self.out.len()));
        }
        members.sort_by(|(one, ..), (other, ..)| one.encode_utf16().cmp(other.encode_utf16()));
        self.moved.clear();
        for (index, (_, begin, end)) in members.into_iter().enumerate() {
            if index > 0 {
                self.moved.push(b',');
            }
            self.moved.extend_from_slice(&self.out[begin..end]);
        }
        self.out.truncate(start);
        self.out.append(&mut self.moved);
        self.copy();
    }

    /// Takes over a string: its letters as they are written if it has no escapes.
    fn string(&mut self) -> Cow<'a, str> {
        let begin = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut end = begin;
        let mut is_escaped = false;
        while bytes[end] != b'"' {
            if bytes[end] == b'\\' {
                (is_escaped, end) = (true, end + 1);
            }
            end += 1;
        }
        self.at = end + 1;
        let written = &self.text[begin - 1..=end];
        if is_escaped {
            let text: String = serde_json::from_str(written).expect("a string of JSON");
            self.write(&Value::from(text.as_str()));
            Cow::Owned(text)
        } else {
            self.out.extend_from_slice(written.as_bytes());
            Cow::Borrowed(&self.text[begin..end])
        }
    }

    /// A number or a word.
    fn scalar(&mut self) {
        let rest = &self.text[self.at..];
        let end = rest.find([',', ']', '}']).unwrap_or(rest.len());
        let written = &rest[..end];
        self.at += end;
        let digits = written.strip_prefix('-').unwrap_or(written);
        // Below 2^53, and not -0.
        let is_plain = digits.len() <= 15
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && written != "-0";
        if is_plain || matches!(written, "null" | "true" | "false") {
            self.out.extend_from_slice(written.as_bytes());
        } else {
            self.write(&serde_json::from_str(written).expect("a number of JSON"));
        }
    }

    fn write(&mut self, value: &Value) {
        let written = serde_json_canonicalizer::to_vec(value);
        self.out.extend(written.expect("a JSON value has a canonical form"));
    }

    fn byte(&self) -> u8 {
        self.text.as_bytes()[self.at]
    }

    /// Takes over one byte.
    fn copy(&mut self) {
        self.out.push(self.byte());
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(value: &Value) {
        let expected = serde_json_canonicalizer::to_vec(value).unwrap();
        let made = canonical(&value.to_string());
        assert_eq!(String::from_utf8(made), String::from_utf8(expected));
    }

    fn values() -> impl Strategy<Value = Value> {
        let numbers = prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (-1000_i64..1000).prop_map(|n| Value::from(f64::from(i32::try_from(n).unwrap()) / 8.0)),
        ];
        let leaves = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            numbers,
            any::<String>().prop_map(Value::from),
            "[a-z\"\\\\/\n\u{e9}\u{1f600}\u{fb33}]{0,6}".prop_map(Value::from),
        ];
        leaves.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map(
                    "[a-zA-Z0-9\"\n\u{e9}\u{1f600}\u{fb33}]{0,3}",
                    inner,
                    0..6
                )
                .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn form_is_that_of_the_library(value in values()) {
            check(&value);
        }
    }

    #[test]
    fn edges_are_those_of_the_library() {
        for value in [
            json!({}),
            json!([]),
            json!({"b": [], "a": {"d": -0.0, "c": 1e21}, "": [[{}]]}),
            json!([9_007_199_254_740_993_i64, 999_999_999_999_999_i64, -1, 0, 0.1, 1.0, 1e-7]),
            json!({"\u{fb33}": 1, "\u{1f600}": 2, "\u{20ac}": 3, "\r": 4, "1": 5}),
            json!("\u{8}\u{c}\n\r\t\u{1}\"\\/\u{7f}\u{2028}"),
        ] {
            check(&value);
        }
    }
}
