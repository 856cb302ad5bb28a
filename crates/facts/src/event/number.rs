//! Prices, sizes and lines: decimals as text.
//!
//! An optional field is written this way with `#[serde(with = "number::optional")]`.

use std::fmt;

use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A decimal, written as text: `"2.10"`. A JSON number is refused, because most programs that write
/// or read one go by way of a float, which loses digits in silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number(pub(super) Decimal);

impl Number {
    /// Digits with at most one point between them and a minus in front; never rounded.
    fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let plain = digits(whole) && digits(fraction);
        plain.then(|| Decimal::from_str_exact(text).ok()).flatten().map(Self)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Text)
    }
}

pub(super) mod optional {
    use super::{Decimal, Deserialize, Deserializer, Number, Serialize, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        value: &Option<Decimal>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(Number).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Decimal>, D::Error> {
        Ok(Option::<Number>::deserialize(deserializer)?.map(|number| number.0))
    }
}

struct Text;

impl de::Visitor<'_> for Text {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a decimal as text, such as \"2.10\" (a JSON number may have lost digits)")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
        Number::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(shown(text)), &self))
    }
}

/// As much of a text as an error needs.
fn shown(text: &str) -> &str {
    const SHOWN_MAX: usize = 64;
    &text[..text.floor_char_boundary(SHOWN_MAX)]
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Number {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A decimal as text, such as \"2.10\". Never a JSON number.",
            "pattern": "^-?[0-9]+(\\.[0-9]+)?$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<String, String> {
        let read = serde_json::from_str::<Number>(json);
        read.map(|number| number.0.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn decimal_text_preserves_every_digit() {
        for text in ["2.10", "0", "-0.25", "79228162514264337593543950335", "1000000.01"] {
            assert_eq!(read(&format!("\"{text}\"")), Ok(text.to_owned()));
        }
    }

    #[test]
    fn numbers_that_may_have_lost_digits_are_refused() {
        for json in ["2.1", "2", "1e3", "null", "true"] {
            let error = read(json).unwrap_err();
            assert!(error.contains("a JSON number may have lost digits"), "{json}: {error}");
        }
        let long = format!("\"1.{}\"", "3".repeat(40));
        for json in ["\"\"", "\"1e3\"", "\"+1\"", "\".5\"", "\"1.\"", "\"1_0\"", "\"x\"", &*long] {
            assert!(read(json).is_err(), "{json}");
        }
    }
}
