//! Fields of an object, each read for itself: one that is odd is as good as absent.
//!
//! Numbers come as numbers or as text with a number in it; "" and null mean that it is not known
//! yet, or not to be known.

use std::borrow::Cow;

use serde_json::{Map, Value};

#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'v>(&'v Map<String, Value>);

impl<'v> Fields<'v> {
    pub(super) fn from_value(value: &'v Value) -> Option<Self> {
        value.as_object().map(Self)
    }

    pub(super) fn has(self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub(super) fn object(self, key: &str) -> Option<Self> {
        self.0.get(key).and_then(Self::from_value)
    }

    pub(super) fn list(self, key: &str) -> Option<&'v Vec<Value>> {
        self.0.get(key)?.as_array()
    }

    pub(super) fn entries(self) -> impl Iterator<Item = (&'v String, &'v Value)> {
        self.0.iter()
    }

    pub(super) fn text(self, key: &str) -> Option<Cow<'v, str>> {
        self.0.get(key).and_then(text)
    }

    pub(super) fn owned(self, key: &str) -> Option<String> {
        self.text(key).map(Cow::into_owned)
    }

    pub(super) fn number<T: TryFrom<u64>>(self, key: &str) -> Option<T> {
        self.0.get(key).and_then(number)
    }

    /// `true`, "true" or "1".
    pub(super) fn flag(self, key: &str) -> bool {
        match self.0.get(key) {
            Some(Value::Bool(flag)) => *flag,
            Some(value) => text(value).is_some_and(|text| matches!(&*text, "true" | "1")),
            None => false,
        }
    }
}

/// A text that says something, or a number as text.
pub(super) fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) if text.trim().is_empty() || text == "null" => None,
        Value::String(text) => Some(Cow::Borrowed(text.trim())),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        _ => None,
    }
}

pub(super) fn number<T: TryFrom<u64>>(value: &Value) -> Option<T> {
    T::try_from(text(value)?.parse::<u64>().ok()?).ok()
}
