//! Lenient, incremental JSON reading.
//!
//! An object is filled key by key, and a list is read element by element. So everything before a
//! break is kept, and an unusable element costs only itself. An optional value of the wrong type is
//! read as unknown.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};
use serde_json::value::RawValue;

use super::json_error;
use crate::error::{DecodeError, Refusal, Result};

/// A part of a document that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedItem {
    pub error: DecodeError,
    /// Its text, cut to [`Refusal::BYTES_MAX`].
    pub bytes: Vec<u8>,
}

impl RefusedItem {
    pub(super) fn new(error: DecodeError, text: &str) -> Self {
        let bytes = text.as_bytes();
        Self { error, bytes: bytes[..bytes.len().min(Refusal::BYTES_MAX)].to_vec() }
    }
}

/// A type that is filled from an object while it is read.
pub(super) trait Fill {
    /// Reads the value of a key, or leaves it to be skipped.
    fn fill<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        value: Value<'_, A>,
    ) -> Result<(), A::Error>;
}

/// The value of a key that was read.
pub(super) struct Value<'m, A>(&'m mut A);

impl<'de, A: MapAccess<'de>> Value<'_, A> {
    pub(super) fn read<T: Deserialize<'de>>(self) -> Result<T, A::Error> {
        self.0.next_value()
    }

    /// The value as JSON text.
    pub(super) fn text(self) -> Result<&'de str, A::Error> {
        self.read::<&'de RawValue>().map(RawValue::get)
    }

    /// Fills something from an object; null is an object without anything.
    pub(super) fn fill(self, filled: &mut impl Fill) -> Result<(), A::Error> {
        self.0.next_value_seed(FillSeed(filled))
    }

    /// Reads a list, element by element; null is a list without any.
    pub(super) fn each(self, take: impl FnMut(&'de str)) -> Result<(), A::Error> {
        self.0.next_value_seed(EachSeed(take))
    }

    pub(super) fn skip(self) -> Result<(), A::Error> {
        self.read::<IgnoredAny>().map(drop)
    }
}

/// Fills something from a document that is an object. The error says why the document is cut.
pub(super) fn fill(bytes: &[u8], filled: &mut impl Fill) -> Result<()> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = FillSeed(filled).deserialize(&mut json).and_then(|()| json.end());
    read.map_err(|error| json_error(&error))
}

/// Reads a document that is a list, element by element. The error says why the document is cut.
pub(super) fn each<'de>(bytes: &'de [u8], take: impl FnMut(&'de str)) -> Result<()> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = EachSeed(take).deserialize(&mut json).and_then(|()| json.end());
    read.map_err(|error| json_error(&error))
}

struct FillSeed<'f, F>(&'f mut F);

impl<'de, F: Fill> DeserializeSeed<'de> for FillSeed<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de, F: Fill> Visitor<'de> for FillSeed<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            self.0.fill(&key, Value(&mut map))?;
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

struct EachSeed<F>(F);

impl<'de, F: FnMut(&'de str)> DeserializeSeed<'de> for EachSeed<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de, F: FnMut(&'de str)> Visitor<'de> for EachSeed<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(text) = list.next_element::<&'de RawValue>()? {
            (self.0)(text.get());
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Defines objects of a document. Each field may be absent; the function behind it reads a value of any type.
macro_rules! lenient {
    ($(
        $(#[$attribute:meta])*
        $visibility:vis struct $object:ident $(<$lifetime:lifetime>)? {
            $(
                $(#[$field_attribute:meta])*
                $field_visibility:vis $field:ident: $type:ty $(as $read:literal)?
            ),* $(,)?
        }
    )+) => {$(
        #[derive(serde::Deserialize)]
        $(#[$attribute])*
        $visibility struct $object $(<$lifetime>)? {
            $(
                $(#[$field_attribute])*
                #[serde(default $(, deserialize_with = $read)?)]
                $field_visibility $field: $type
            ),*
        }
    )+};
}
pub(super) use lenient;

/// A value if it is of its type, and unknown if it is not.
pub(super) fn known_value<'de, D, T>(json: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let text = <&RawValue>::deserialize(json)?.get();
    Ok(serde_json::from_str::<Option<T>>(text).ok().flatten())
}

/// A list without the elements that are not of its type; empty where there is none.
pub(super) fn known_all<'de, D, T>(json: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    Ok(known_elements(<&RawValue>::deserialize(json)?.get()))
}

/// The same of a text.
pub(super) fn known_elements<T: DeserializeOwned>(text: &str) -> Vec<T> {
    let all = serde_json::from_str::<Vec<&RawValue>>(text).unwrap_or_default();
    all.into_iter().filter_map(|one| serde_json::from_str(one.get()).ok()).collect()
}

/// A number, or a text with one: `0.5`, `"0.5"`.
pub(super) fn float<'de, D: Deserializer<'de>>(json: D) -> Result<Option<f64>, D::Error> {
    Ok(float_of(<&RawValue>::deserialize(json)?))
}

/// A list of such numbers; empty if one of its elements is none, since their places count.
pub(super) fn floats<'de, D: Deserializer<'de>>(json: D) -> Result<Vec<f64>, D::Error> {
    let text = <&RawValue>::deserialize(json)?.get();
    let all = serde_json::from_str::<Vec<&RawValue>>(text).unwrap_or_default();
    Ok(all.into_iter().map(float_of).collect::<Option<_>>().unwrap_or_default())
}

pub(super) fn float_of(json: &RawValue) -> Option<f64> {
    unquoted(json).parse().ok().filter(|number: &f64| number.is_finite())
}

/// `true`, `false`, or a text with one of them.
pub(super) fn flag<'de, D: Deserializer<'de>>(json: D) -> Result<Option<bool>, D::Error> {
    Ok(unquoted(<&RawValue>::deserialize(json)?).parse().ok())
}

fn unquoted(json: &RawValue) -> &str {
    json.get().trim_matches('"').trim()
}

/// A whole number that is not negative, as a number or as text: `5`, `5.0`, `"5"`.
pub(super) fn whole<'de, D: Deserializer<'de>>(json: D) -> Result<Option<u64>, D::Error> {
    let text = unquoted(<&RawValue>::deserialize(json)?);
    let rounded = || text.parse::<f64>().ok().filter(|it| it.fract() == 0.0 && WHOLE.contains(it));
    Ok(text.parse().ok().or_else(|| rounded().map(|it| it as u64)))
}

/// The same, if it is small.
pub(super) fn small<'de, D: Deserializer<'de>>(json: D) -> Result<Option<u16>, D::Error> {
    Ok(whole(json)?.and_then(|number| u16::try_from(number).ok()))
}

/// The whole numbers that an `f64` holds exactly.
const WHOLE: std::ops::RangeInclusive<f64> = 0.0..=9_007_199_254_740_992.0;

/// A key, as text or as a number; unknown where it is empty.
pub(super) fn key<'de, D: Deserializer<'de>>(json: D) -> Result<Option<Arc<str>>, D::Error> {
    let raw = <&RawValue>::deserialize(json)?.get();
    let text: Cow<'_, str> = match raw.as_bytes().first() {
        Some(b'"') => serde_json::from_str::<String>(raw).unwrap_or_default().into(),
        Some(b'0'..=b'9' | b'-') => raw.into(),
        _ => return Ok(None),
    };
    Ok(Some(text.trim()).filter(|text| !text.is_empty()).map(Into::into))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Lenient {
        #[serde(default, deserialize_with = "whole")]
        whole: Option<u64>,
        #[serde(default, deserialize_with = "key")]
        key: Option<Arc<str>>,
        #[serde(default, deserialize_with = "known_value")]
        flag: Option<bool>,
        #[serde(default, deserialize_with = "known_all")]
        list: Vec<i8>,
    }

    #[derive(serde::Deserialize, PartialEq, Debug, Default)]
    struct Quoted {
        #[serde(default, deserialize_with = "float")]
        float: Option<f64>,
        #[serde(default, deserialize_with = "floats")]
        floats: Vec<f64>,
        #[serde(default, deserialize_with = "small")]
        small: Option<u16>,
        #[serde(default, deserialize_with = "super::flag")]
        flag: Option<bool>,
    }

    #[test]
    fn numbers_and_flags_may_be_texts() {
        let read = |json: &str| serde_json::from_str::<Quoted>(json).unwrap();
        let all =
            Quoted { float: Some(0.5), floats: vec![60.0, 40.5], small: Some(3), flag: Some(true) };
        let plain = r#"{"float":0.5,"floats":[60,40.5],"small":3,"flag":true}"#;
        let quoted = r#"{"float":"0.5","floats":["60"," 40.5"],"small":"3","flag":"true"}"#;
        assert_eq!((read(plain), read(quoted)), (all, read(plain)));
        let odd = r#"{"float":"inf","floats":[60,null,1],"small":70000,"flag":1}"#;
        assert_eq!(read(odd), Quoted::default());
    }

    #[track_caller]
    fn check(json: &str, whole: Option<u64>, key: Option<&str>, flag: Option<bool>, list: &[i8]) {
        let read: Lenient = serde_json::from_str(json).unwrap();
        let ours = (read.whole, read.key.as_deref(), read.flag, read.list.as_slice());
        assert_eq!(ours, (whole, key, flag, list), "of {json}");
    }

    #[test]
    fn values_of_other_types_are_unknown() {
        let all = r#"{"whole":5,"key":"a\u00e9","flag":true,"list":[1,2]}"#;
        check(all, Some(5), Some("aé"), Some(true), &[1, 2]);
        let odd = r#"{"whole":"5","key":7,"flag":1,"list":[1,"2",null,3]}"#;
        check(odd, Some(5), Some("7"), None, &[1, 3]);
        check(r#"{"whole":5.0,"key":"","flag":null,"list":{}}"#, Some(5), None, None, &[]);
        check(r#"{"whole":-1,"key":null,"list":null}"#, None, None, None, &[]);
        check(r#"{"whole":1e300,"key":{}}"#, None, None, None, &[]);
        check("{}", None, None, None, &[]);
    }
}
