//! How the types of documents and events are declared: once, for what the hub renders and for the published schema.
//!
//! `wire!` takes types of these forms:
//!
//! - `object`: an object that is rendered as a whole. The hub fills a struct.
//! - `group`: fields that several objects share.
//! - `event`: an object with a `kind` and an `eid`.
//! - `union`: one of several of those.
//! - `document`: an object that is rendered field by field, as its parts change: [typed names](Field). What is marked
//!   `@shared` is rendered by code that several sports share.
//!
//! The order of fields is that of their JSON text, but in a `document`. Their comments are the descriptions of the schema,
//! which the feature `schema` adds: `schemars` is no part of the program.

use std::marker::PhantomData;

use crate::document::{FieldKey, Node, Object};

/// The value of a field.
pub(crate) trait Value {
    /// Sets the field. In a patch, an absent value deletes it.
    fn put(self, out: &mut Object, name: &'static str, patch: bool);
}

impl<T: Value> Value for Option<T> {
    fn put(self, out: &mut Object, name: &'static str, patch: bool) {
        match self {
            Some(value) => value.put(out, name, patch),
            None if patch => out.set(name, Node::Null),
            None => {}
        }
    }
}

/// Values that are the same in a patch.
macro_rules! plain_values {
    ($($type:ty),+) => {$(
        impl $crate::wire::declare::Value for $type {
            fn put(self, out: &mut $crate::document::Object, name: &'static str, _: bool) {
                out.set(name, self);
            }
        }
    )+};
}

plain_values!(bool, u8, u16, u32, u64);

/// The name of a field of a document, with the type of its value.
pub(crate) struct Field<V> {
    name: &'static str,
    value: PhantomData<fn() -> V>,
}

impl<V> Field<V> {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, value: PhantomData }
    }
}

impl<V> From<Field<V>> for FieldKey {
    fn from(field: Field<V>) -> Self {
        Self::Word(field.name)
    }
}

impl Object {
    /// Sets a field.
    pub(crate) fn put<V: Into<Node>>(&mut self, field: Field<V>, value: impl Into<V>) {
        let value: V = value.into();
        self.set(field, value);
    }

    /// Sets a field that is there.
    pub(crate) fn put_some<V: Into<Node>>(
        &mut self,
        field: Field<Option<V>>,
        value: Option<impl Into<V>>,
    ) {
        self.put_optional(field, value, false);
    }

    /// Sets a field, or deletes it where it is absent.
    pub(crate) fn put_or_null<V: Into<Node>>(
        &mut self,
        field: Field<Option<V>>,
        value: Option<impl Into<V>>,
    ) {
        self.put_optional(field, value, true);
    }

    /// Sets an optional field. In a patch, an absent value deletes it.
    pub(crate) fn put_optional<V: Into<Node>>(
        &mut self,
        field: Field<Option<V>>,
        value: Option<impl Into<V>>,
        patch: bool,
    ) {
        match value {
            Some(value) => {
                let value: V = value.into();
                self.set(field, value);
            }
            None if patch => self.set(field, Node::Null),
            None => {}
        }
    }
}

/// The name of a field in JSON: without the mark of a raw identifier.
pub(crate) const fn field_name(identifier: &'static str) -> &'static str {
    match identifier.as_bytes() {
        [b'r', b'#', ..] => identifier.split_at(2).1,
        _ => identifier,
    }
}

/// Declares types, each with its form.
macro_rules! wire {
    ($(
        $(#[doc = $doc:literal])+
        $form:ident $name:ident $(= $kind:literal)? { $($fields:tt)+ }
    )+) => {
        $($form! { $(#[doc = $doc])+ $name $(= $kind)? { $($fields)+ } })+
    };
}

/// A struct that sets its fields in an object.
macro_rules! fields {
    (
        $(#[doc = $doc:literal])+
        $name:ident { $(
            $(#[doc = $field_doc:literal])*
            $(#[schemars($($rule:tt)+)])*
            $field:ident: $type:ty,
        )+ }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name {$(
            $(#[doc = $field_doc])*
            $(#[cfg_attr(feature = "schema", schemars($($rule)+))])*
            pub $field: $type,
        )+}

        impl $name {
            /// In a patch, absent values are deleted.
            fn set_fields(self, out: &mut $crate::document::Object, patch: bool) {$(
                $crate::wire::declare::Value::put(
                    self.$field,
                    out,
                    const { $crate::wire::declare::field_name(stringify!($field)) },
                    patch,
                );
            )+}
        }
    };
}

macro_rules! object {
    ($(#[doc = $doc:literal])+ $name:ident { $($fields:tt)+ }) => {
        fields! { $(#[doc = $doc])+ $name { $($fields)+ } }

        impl $name {
            /// In a patch, absent values are deleted.
            pub(crate) fn object(self, patch: bool) -> $crate::document::Object {
                let mut out = $crate::document::Object::default();
                self.set_fields(&mut out, patch);
                out
            }
        }

        impl From<$name> for $crate::document::Node {
            fn from(value: $name) -> Self {
                value.object(false).into()
            }
        }

        impl $crate::wire::declare::Value for $name {
            fn put(self, out: &mut $crate::document::Object, name: &'static str, patch: bool) {
                out.set(name, self.object(patch));
            }
        }
    };
}

macro_rules! group {
    ($(#[doc = $doc:literal])+ $name:ident { $($fields:tt)+ }) => {
        fields! { $(#[doc = $doc])+ $name { $($fields)+ } }

        /// The fields are those of the object around it.
        impl $crate::wire::declare::Value for $name {
            fn put(self, out: &mut $crate::document::Object, _: &'static str, patch: bool) {
                self.set_fields(out, patch);
            }
        }
    };
}

macro_rules! event {
    (
        $(#[doc = $doc:literal])+
        $name:ident = $kind:literal { $(
            $(#[doc = $field_doc:literal])*
            $(#[schemars($($rule:tt)+)])*
            $field:ident: $type:ty,
        )* }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug)]
        pub struct $name {
            pub eid: $crate::wire::values::Text,
            $(
                $(#[doc = $field_doc])*
                pub $field: $type,
            )*
        }

        impl From<$name> for $crate::document::Node {
            fn from(event: $name) -> Self {
                let mut out = $crate::document::Object::default();
                out.set("kind", $kind);
                out.set("eid", event.eid);
                $($crate::wire::declare::Value::put(
                    event.$field,
                    &mut out,
                    const { $crate::wire::declare::field_name(stringify!($field)) },
                    false,
                );)*
                out.into()
            }
        }

        described! {
            $name,
            $(#[doc = $doc])+
            struct {
                #[doc = concat!("Always `", $kind, "`.")]
                #[schemars(extend("const" = $kind))]
                kind: String,
                /// Its permanent id: within one channel and epoch no `eid` comes twice. An incident has the same in the
                /// document.
                eid: String,
                $(
                    $(#[doc = $field_doc])*
                    $(#[schemars($($rule)+)])*
                    $field: $type,
                )*
            }
        }
    };
}

macro_rules! union {
    ($(#[doc = $doc:literal])+ $name:ident { $($variant:ident),+ $(,)? }) => {
        $(#[doc = $doc])+
        #[derive(Debug)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(untagged))]
        pub enum $name {
            $($variant($variant),)+
        }

        $(impl From<$variant> for $name {
            fn from(value: $variant) -> Self {
                Self::$variant(value)
            }
        })+

        impl From<$name> for $crate::document::Node {
            fn from(value: $name) -> Self {
                match value {
                    $($name::$variant(value) => value.into(),)+
                }
            }
        }

        plain_values!($name);
    };
}

macro_rules! document {
    (
        $(#[doc = $doc:literal])+
        $name:ident { $(
            $(#[doc = $field_doc:literal])*
            $(#[schemars($($rule:tt)+)])*
            $field:ident: $(@ $mark:ident)? $type:ty,
        )+ }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name {$(
            $(#[doc = $field_doc])*
            $(#[cfg_attr(feature = "schema", schemars($($rule)+))])*
            pub $field: $type,
        )+}

        impl $name {
            $(field! { $($mark)? $field: $type })+
        }
    };
}

macro_rules! field {
    (shared $field:ident: $type:ty) => {};
    ($field:ident: $type:ty) => {
        pub(crate) const fn $field() -> $crate::wire::declare::Field<$type> {
            const NAME: &str = $crate::wire::declare::field_name(stringify!($field));
            $crate::wire::declare::Field::new(NAME)
        }
    };
}

/// The schema of a type, from the declaration of its fields.
macro_rules! described {
    ($name:ident, $(#[$attribute:meta])+ struct { $($fields:tt)+ }) => {
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $(#[$attribute])+
                #[derive(schemars::JsonSchema)]
                #[expect(dead_code, reason = "only its declaration is used")]
                struct $name {
                    $($fields)+
                }
                <$name as schemars::JsonSchema>::json_schema(generator)
            }
        }
    };
}
