//! A document or a patch as a tree of shared values: what a channel holds, before it is bytes.
//!
//! A patch is a JSON merge patch (RFC 7396): `Null` deletes. Patches compose by [`Object::merge`],
//! which says when two of them cannot be one; the tail uses that to bring a reader forward in as few
//! updates as is right.

mod binary;
mod json;
pub(crate) mod text;

use std::{
    fmt::{self, Write as _},
    sync::Arc,
};

use rust_decimal::Decimal;

pub(crate) use self::json::{NotOurs, Reader};

/// A value. Decimals are written as JSON strings, digits unchanged, except [`Node::Number`].
#[derive(Debug, Clone)]
pub enum Node {
    Null,
    Bool(bool),
    Int(i64),
    /// A measure that is no money: written as a JSON number.
    Number(Decimal),
    /// A price, stake or line: written as a JSON string.
    Decimal(Decimal),
    Text(Arc<str>),
    Word(&'static str),
    Object(Object),
    List(Vec<Self>),
}

/// The depth of the deepest document that is read; those of the hub have at most ten levels.
const DEPTH_MAX: usize = 32;

/// Fields in the order in which they were first set; each key once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object(Vec<(FieldKey, Node)>);

#[derive(Debug, Clone, Eq)]
pub enum FieldKey {
    Word(&'static str),
    Text(Arc<str>),
    Int(u64),
    /// A level of a ladder without trailing zeros, so that one price has one text: see [`FieldKey::price`].
    Price(Decimal),
}

impl PartialEq for FieldKey {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Word(one), Self::Word(other)) => one == other,
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Int(one), Self::Int(other)) => one == other,
            // Without trailing zeros, equal prices have equal bytes. This avoids rescaling.
            (Self::Price(one), Self::Price(other)) => one.serialize() == other.serialize(),
            // Of a document that was read, each key is a text.
            (one, other) => match (one.text(), other.text()) {
                (Some(one), Some(other)) => one == other,
                (Some(text), None) => other.is_written(text),
                (None, Some(text)) => one.is_written(text),
                (None, None) => Digits::new(one).text() == Digits::new(other).text(),
            },
        }
    }
}

/// A word equals a text of the same letters: a restored document has texts only.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(one), Self::Bool(other)) => one == other,
            (Self::Int(one), Self::Int(other)) => one == other,
            (Self::Number(one), Self::Number(other)) => one == other,
            (Self::Decimal(one), Self::Decimal(other)) => one == other,
            (Self::Object(one), Self::Object(other)) => one == other,
            (Self::List(one), Self::List(other)) => one == other,
            (one, other) => one.text().is_some() && one.text() == other.text(),
        }
    }
}

/// Two patches that cannot be merged: the later one rebuilds what the earlier one deleted, and a
/// merge patch has no word for "replace".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Barrier;

impl Object {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn get(&self, key: &FieldKey) -> Option<&Node> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The fields, in order.
    #[cfg(test)]
    pub(crate) fn fields(&self) -> impl Iterator<Item = &(FieldKey, Node)> {
        self.0.iter()
    }

    /// Takes the fields, in order.
    pub(crate) fn into_fields(self) -> impl Iterator<Item = (FieldKey, Node)> {
        self.0.into_iter()
    }

    /// Sets a field, in place of the one of that name.
    pub fn set(&mut self, key: impl Into<FieldKey>, value: impl Into<Node>) {
        *self.slot(key.into()) = value.into();
    }

    /// Makes room for this many more fields.
    pub fn reserve(&mut self, fields: usize) {
        self.0.reserve_exact(fields);
    }

    /// Adds a field of which the caller knows that it is new, without looking for it.
    pub fn add(&mut self, key: impl Into<FieldKey>, value: impl Into<Node>) {
        let key = key.into();
        debug_assert!(self.get(&key).is_none(), "a key stands once");
        self.0.push((key, value.into()));
    }

    /// Adds an empty object under a key of which the caller knows that it is new.
    pub fn add_object(&mut self, key: impl Into<FieldKey>) -> &mut Self {
        self.add(key, Self::default());
        match self.0.last_mut() {
            Some((_, Node::Object(object))) => object,
            _ => unreachable!("it was added above"),
        }
    }

    /// Sets a field that is there; one that is absent stays absent.
    pub fn set_some(&mut self, key: impl Into<FieldKey>, value: Option<impl Into<Node>>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }

    /// Sets a field, or deletes it where it is absent.
    pub fn set_or_null(&mut self, key: impl Into<FieldKey>, value: Option<impl Into<Node>>) {
        self.set(key, value.map_or(Node::Null, Into::into));
    }

    /// The object at `key`, made if need be.
    pub fn object(&mut self, key: impl Into<FieldKey>) -> &mut Self {
        let slot = self.slot(key.into());
        if !matches!(slot, Node::Object(_)) {
            *slot = Node::Object(Self::default());
        }
        let Node::Object(object) = slot else { unreachable!("it was made an object above") };
        object
    }

    fn slot(&mut self, key: FieldKey) -> &mut Node {
        let index = self.0.iter().position(|(name, _)| *name == key).unwrap_or_else(|| {
            if self.0.is_empty() {
                // Most objects of a patch only lead to the next one. The usual first room for four
                // fields would be most of what a tail holds.
                self.0.reserve_exact(1);
            }
            self.0.push((key, Node::Null));
            self.0.len() - 1
        });
        &mut self.0[index].1
    }

    /// Composes a later patch into this one, so that applying the result once is applying both.
    ///
    /// # Errors
    ///
    /// [`Barrier`] when no single merge patch does that; this one is unchanged then.
    pub fn merge(&mut self, later: &Self) -> Result<(), Barrier> {
        if !self.composes(later) {
            return Err(Barrier);
        }
        self.overlay(later);
        Ok(())
    }

    fn composes(&self, later: &Self) -> bool {
        later.0.iter().all(|(key, node)| match (self.get(key), node) {
            (Some(Node::Object(object)), Node::Object(other)) => object.composes(other),
            (Some(_), Node::Object(_)) => false,
            _ => true,
        })
    }

    fn overlay(&mut self, later: &Self) {
        for (key, node) in &later.0 {
            match (self.slot(key.clone()), node) {
                (Node::Object(object), Node::Object(other)) => object.overlay(other),
                (slot, node) => *slot = node.clone(),
            }
        }
    }

    /// Bytes of memory that this tree holds, roughly: what the tail's budget counts.
    #[must_use]
    pub fn weight(&self) -> usize {
        let fields = self.0.iter().map(|(_, node)| node.weight());
        self.0.capacity() * size_of::<(FieldKey, Node)>() + fields.sum::<usize>()
    }

    /// Appends the object as JSON text.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (position, (key, node)) in self.0.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            key.write(out);
            out.push(b':');
            node.write(out);
        }
        out.push(b'}');
    }
}

impl Node {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Word(word) => Some(word),
            Self::Null
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Number(_)
            | Self::Decimal(_)
            | Self::Object(_)
            | Self::List(_) => None,
        }
    }

    fn weight(&self) -> usize {
        match self {
            // Texts are shared with the state; only the handle is the tail's own.
            Self::Null
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Number(_)
            | Self::Decimal(_)
            | Self::Text(_)
            | Self::Word(_) => 0,
            Self::Object(object) => object.weight(),
            Self::List(nodes) => {
                nodes.capacity() * size_of::<Self>() + nodes.iter().map(Self::weight).sum::<usize>()
            }
        }
    }

    /// Appends the value as JSON text.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Self::Int(value) => text::integer(out, *value),
            Self::Number(value) => text::decimal(out, *value),
            Self::Decimal(value) => {
                text::in_quotes(out, |out| text::decimal(out, *value));
            }
            Self::Text(text) => text::string(out, text),
            Self::Word(word) => text::word(out, word),
            Self::Object(object) => object.write(out),
            Self::List(nodes) => {
                out.push(b'[');
                for (position, node) in nodes.iter().enumerate() {
                    if position > 0 {
                        out.push(b',');
                    }
                    node.write(out);
                }
                out.push(b']');
            }
        }
    }
}

impl FieldKey {
    /// The level of a ladder at this price.
    pub fn price(price: Decimal) -> Self {
        Self::Price(text::without_trailing_zeros(price))
    }

    /// The text of a key that is no number.
    fn text(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            Self::Text(text) => Some(text),
            Self::Int(_) | Self::Price(_) => None,
        }
    }

    /// Whether a key that is a number has this text.
    fn is_written(&self, text: &str) -> bool {
        text.starts_with(|first: char| first.is_ascii_digit() || first == '-')
            && Digits::new(self).text() == text.as_bytes()
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Word(word) => text::word(out, word),
            Self::Text(text) => text::string(out, text),
            Self::Int(number) => text::in_quotes(out, |out| text::unsigned(out, *number)),
            Self::Price(price) => text::in_quotes(out, |out| text::decimal(out, *price)),
        }
    }
}

/// The text of a key that is a number, without an allocation: a decimal has at most 31 characters.
struct Digits {
    bytes: [u8; 40],
    len: usize,
}

impl Digits {
    fn new(key: &FieldKey) -> Self {
        let mut digits = Self { bytes: [0; 40], len: 0 };
        match key {
            FieldKey::Int(number) => write!(digits, "{number}"),
            FieldKey::Price(price) => write!(digits, "{price}"),
            FieldKey::Word(_) | FieldKey::Text(_) => Ok(()),
        }
        .expect("numbers are shorter");
        digits
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Write for Digits {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        self.write(&mut out);
        String::from_utf8_lossy(&out).chars().try_for_each(|c| f.write_char(c))
    }
}

impl From<&'static str> for FieldKey {
    fn from(word: &'static str) -> Self {
        Self::Word(word)
    }
}

impl From<&Arc<str>> for FieldKey {
    fn from(text: &Arc<str>) -> Self {
        Self::Text(Arc::clone(text))
    }
}

macro_rules! nodes {
    ($($type:ty: $variant:ident),+ $(,)?) => {$(
        impl From<$type> for Node {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )+};
}

nodes! {
    bool: Bool,
    i64: Int,
    u32: Int,
    u16: Int,
    u8: Int,
    Decimal: Decimal,
    &'static str: Word,
    String: Text,
    Object: Object,
}

impl From<u64> for Node {
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<&Arc<str>> for Node {
    fn from(text: &Arc<str>) -> Self {
        Self::Text(Arc::clone(text))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    pub(crate) use facts::merge_patch as apply;
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn json(object: &Object) -> Value {
        serde_json::from_str(&object.to_string()).expect("what is written is JSON")
    }

    /// Any patch of a few names, with deletions at any depth.
    pub(crate) fn tree() -> impl Strategy<Value = Object> {
        let leaf = prop_oneof![
            Just(Node::Null),
            any::<bool>().prop_map(Node::Bool),
            (0_i64..3).prop_map(Node::Int),
        ];
        let keys = || prop::sample::select(vec!["a", "b", "c"]);
        let object = move |inner: BoxedStrategy<Node>| {
            prop::collection::vec((keys(), inner), 0..4).prop_map(|fields| {
                let mut object = Object::default();
                fields.into_iter().for_each(|(key, node)| object.set(key, node));
                object
            })
        };
        let nested =
            leaf.prop_recursive(3, 20, 4, move |inner| object(inner).prop_map(Node::Object));
        prop::collection::vec((prop::sample::select(vec!["a", "b", "c"]), nested), 0..4).prop_map(
            |fields| {
                let mut object = Object::default();
                fields.into_iter().for_each(|(key, node)| object.set(key, node));
                object
            },
        )
    }

    proptest! {
        /// Where two patches compose, applying the composition is applying both, to any document.
        #[test]
        fn merged_patches_equal_patches_applied_in_order(document in tree(), first in tree(), second in tree()) {
            let mut twice = json(&document);
            apply(&mut twice, &json(&first));
            apply(&mut twice, &json(&second));
            let mut composed = first;
            if composed.merge(&second).is_ok() {
                let mut once = json(&document);
                apply(&mut once, &json(&composed));
                prop_assert_eq!(once, twice);
            }
        }
    }

    #[test]
    fn patches_that_rebuild_a_deleted_object_are_not_merged() {
        let mut first = Object::default();
        first.set("a", Node::Null);
        let mut second = Object::default();
        second.object("a").set("b", 1_u32);
        assert_eq!(first.merge(&second), Err(Barrier));
        assert_eq!(first.to_string(), r#"{"a":null}"#);
    }

    #[test]
    fn prices_keep_their_digits() {
        let mut object = Object::default();
        object.set("price", Decimal::new(210, 2));
        object.object("back").set(FieldKey::Price(Decimal::new(18, 1)), Decimal::new(500, 2));
        object.set("x", Node::Number(Decimal::new(635, 1)));
        assert_eq!(object.to_string(), r#"{"price":"2.10","back":{"1.8":"5.00"},"x":63.5}"#);
    }
}
