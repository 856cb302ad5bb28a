//! The values of frames and commands, as the published schema describes them.

use std::{borrow::Cow, marker::PhantomData};

use crate::{
    catch_up::Gap,
    channel::Rate,
    protocol::{Code, OnSlow},
    replay::ReplayEnd,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// Declares definitions without fields, each with its description and the rest of its schema.
macro_rules! values {
    ($($(#[doc = $doc:literal])+ $name:ident: $schema:expr;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug)]
        pub struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                described($schema, concat!($($doc),+))
            }
        }
    )+};
}

fn described(schema: Value, description: &str) -> Schema {
    let mut schema = Schema::try_from(schema).expect("the declarations are objects");
    schema.insert("description".to_owned(), description.trim().into());
    schema
}

fn words(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

values! {
    /// Identifies a run of sequence numbers of a channel. Numbers of different epochs are unrelated.
    Epoch: json!({"type": "string", "pattern": "^[0-9a-z]+$"});
    /// The name of a channel: letters, digits and `-_.@+:` in segments between `/`, at most 200 bytes.
    Channel: json!({"type": "string", "maxLength": 200});
    /// The name of a channel, or a pattern in which `*` stands for any one whole segment.
    ChannelPattern: json!({"type": "string", "maxLength": 200});
    /// The id of a command, which its answer repeats; null if the command has none.
    CommandId: json!({"type": ["number", "string", "null"], "maxLength": 64});
    /// The name of a replay on this socket, such as `r1`.
    ReplayName: json!({"type": "string", "pattern": "^r[0-9]+$"});
    /// Parts of documents: JSON Pointers (RFC 6901) in which `*` stands for any one member.
    PickPaths: json!({
        "type": "array",
        "items": {"type": "string", "pattern": "^/", "maxLength": 200},
        "minItems": 1,
        "maxItems": 16
    });
    /// At most one update of values per channel in this many milliseconds; 0: each change, at once.
    EveryMs: json!({"type": "integer", "enum": Rate::ALL.map(Rate::every_ms)});

    /// What happens when this client cannot keep up. `merge`: every event is delivered, and values between
    /// events are merged. `resync`: what was missed is skipped and reported, and the image is sent. `close`:
    /// the socket is closed with 4508.
    OnSlowChoice: words(&OnSlow::ALL.map(OnSlow::as_str));
    /// Why a position cannot be resumed. `window`: it is older than the hub's tail. `epoch`: it belongs to
    /// another epoch. `ahead`: it is ahead of the channel.
    ResumeRefusal: words(&Gap::ALL.map(Gap::as_str));
    /// Why an update stands for several changes. `rate`: the client requested fewer updates, or changed the
    /// rate. `slow`: its socket was full. `resume`: it was disconnected, has just subscribed, or the hub
    /// itself was overloaded.
    MergeReason: words(&["rate", "slow", "resume"]);
    /// Why changes are skipped. `slow`: the client fell too far behind. `epoch`, `gap`: the changes since
    /// its position are not available.
    ResyncReason: words(&["slow", "epoch", "gap"]);
    /// What is wrong. `auth_failed`, `addon_required` and `not_found` precede a close frame.
    ErrorCode: {
        let host = ["auth_failed", "addon_required", "not_found"];
        words(&[&Code::ALL.map(Code::as_str)[..], &host[..]].concat())
    };
    /// Why the hub closes the socket.
    ByeReason: words(&["drain", "slow", "idle", "token_revoked"]);
    /// Why a replay is over. `end`: everything that is recorded so far has been played. `unsubscribed`: the
    /// client ended it, or may no longer follow its channels. `limit`: it was paused or not read for too
    /// long, or its recording cannot be read on.
    ReplayEndReason: words(&ReplayEnd::ALL.map(ReplayEnd::as_str));
    /// The speed of a replay: how many times as fast as it was recorded, or `max`, as fast as the client
    /// reads.
    ReplaySpeed: json!({"anyOf": [{"type": "number", "minimum": 0.1, "maximum": 100}, {"const": "max"}]});
}

/// A value that may be null. Everything else is absent where it is unknown.
#[derive(Debug)]
pub struct Nullable<T>(PhantomData<T>);

/// Marks a null that must stay: the null of an `Option` means absent.
pub const NULLABLE: &str = "x-nullable";

impl<T: JsonSchema> JsonSchema for Nullable<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Nullable{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let schema = generator.subschema_for::<T>();
        json_schema!({"anyOf": [schema, {"type": "null"}], NULLABLE: true})
    }
}

/// Events of a subscription: all or none, or those of these kinds.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum EventChoice {
    All(bool),
    Kinds(#[schemars(length(max = 16))] Vec<String>),
}

/// Refers to definitions that are made elsewhere.
macro_rules! references {
    ($($name:ident: $definition:literal;)+) => {$(
        #[doc = concat!("Refers to `", $definition, "`.")]
        #[derive(Debug)]
        pub struct $name;

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                $definition.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"$ref": concat!("#/$defs/", $definition)})
            }
        }
    )+};
}

references! {
    AddonName: "AddonName";
    AddonOffer: "AddonOffer";
    AnyDocument: "Document";
    AnyPatch: "Patch";
    Seq: "Seq";
    Timestamp: "Timestamp";
}
