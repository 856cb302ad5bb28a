//! What the provider writes where a number or a name is meant.
//!
//! A number may be a number, a text with a number in it, the text "null", "", or null. A name has a
//! second level of escapes: after JSON parsing there is still a literal `\u017e` in it.

use std::{fmt, sync::Arc};

use serde::de::{Deserializer, Error, Visitor};

/// A number that must be there.
pub(super) fn whole<'de, D: Deserializer<'de>>(json: D) -> Result<u64, D::Error> {
    perhaps(json)?.ok_or_else(|| D::Error::custom("a number is missing"))
}

/// A number that may be missing.
pub(super) fn perhaps<'de, D: Deserializer<'de>>(json: D) -> Result<Option<u64>, D::Error> {
    json.deserialize_any(NumberOrText)
}

/// A score or a minute that may be missing.
pub(super) fn small<'de, D: Deserializer<'de>>(json: D) -> Result<Option<u16>, D::Error> {
    let fitted = |number| {
        u16::try_from(number).map_err(|_| D::Error::custom(format!("{number} is too large")))
    };
    perhaps(json)?.map(fitted).transpose()
}

struct NumberOrText;

impl Visitor<'_> for NumberOrText {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number, as a number or as text")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        match text.trim() {
            "" | "null" => Ok(None),
            number => number.parse().map(Some).map_err(E::custom),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// A name without its second level of escapes; as it stands where that is broken.
pub(super) fn unescaped(name: &str) -> Arc<str> {
    if !name.contains('\\') {
        return name.into();
    }
    let quoted = format!("\"{}\"", name.replace('"', "\\\""));
    serde_json::from_str::<String>(&quoted).map_or_else(|_| name.into(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn second_level_of_escapes_is_decoded() {
        assert_eq!(&*unescaped(r"M. Mand\u017euki\u0107"), "M. Mandžukić");
        assert_eq!(&*unescaped(r#"the "Wall" \u00e9"#), "the \"Wall\" é");
        assert_eq!(&*unescaped(r"broken \u01"), r"broken \u01");
        assert_eq!(&*unescaped("N'Golo"), "N'Golo");
    }
}
