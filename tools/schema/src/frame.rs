//! The frames from the hub: those of `fanout::protocol`, and two that the hub renders by hand, for speed.

use std::borrow::Cow;

use accounts::Addon;
use fanout::protocol::{
    batch::{SubscribedBatchFrame, UnsubscribedBatchFrame},
    frames::{
        BeatFrame, ByeFrame, EntitlementFrame, ErrorFrame, HashFrame, HelloFrame, LagFrame,
        PongFrame, ResyncFrame, StaleFrame, SubscribedFrame, UnsubscribedFrame,
    },
    replay::{ReplayEndFrame, ReplaySubscribedFrame, ReplayUnsubscribedFrame},
    values::{AnyDocument, AnyPatch, Channel, Epoch, MergeReason, Nullable, ReplayName},
};
use hub::wire::values::{Seq, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::document::Event;

/// Declares a frame: its fields, and before them its type.
macro_rules! frame {
    (
        $(#[doc = $doc:literal])+
        $name:ident = $kind:literal { $($fields:tt)* }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, JsonSchema)]
        pub struct $name {
            #[doc = concat!("Always `", $kind, "`.")]
            #[schemars(extend("const" = $kind))]
            pub r#type: String,
            $($fields)*
        }
    };
}

/// A frame from the hub, by `type`. Ignore types that you do not know: there will be more.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Frame {
    Hello(HelloFrame<'static>),
    Subscribed(SubscribedFrame<'static>),
    SubscribedBatch(SubscribedBatchFrame<'static>),
    Image(ImageFrame),
    Update(UpdateFrame),
    Resync(ResyncFrame<'static>),
    Beat(BeatFrame<'static>),
    Lag(LagFrame),
    Stale(StaleFrame),
    Unsubscribed(UnsubscribedFrame<'static>),
    UnsubscribedBatch(UnsubscribedBatchFrame<'static>),
    Entitlement(EntitlementFrame<'static>),
    Hash(HashFrame<'static>),
    Pong(PongFrame<'static>),
    Error(ErrorFrame<'static>),
    Bye(ByeFrame<'static>),
    ReplaySubscribed(ReplaySubscribedFrame<'static>),
    ReplayUnsubscribed(ReplayUnsubscribedFrame<'static>),
    ReplayEnd(ReplayEndFrame<'static>),
}

/// Three moments of a change. `in` and `pub` are null in the image at sequence 0 only.
#[derive(Debug, JsonSchema)]
pub struct Moments {
    /// When the source says that it happened; null if it does not say, and far in the past for a recording.
    pub src: Nullable<Timestamp>,
    /// When the hub received it.
    pub r#in: Nullable<Timestamp>,
    /// When the hub published it.
    pub r#pub: Nullable<Timestamp>,
}

frame! {
    /// The whole document of a channel. It replaces the document that the client has.
    ImageFrame = "image" {
        /// The channel.
        pub ch: Channel,
        /// The epoch of the channel.
        pub epoch: Epoch,
        /// The sequence of the document.
        pub seq: Seq,
        /// The moments of the last change.
        pub at: Moments,
        /// The document. `DocumentsByChannel` says which one, by the name of the channel.
        pub data: AnyDocument,
        /// The replay that it belongs to; absent if it is live.
        pub replay: Option<ReplayName>,
    }
}

frame! {
    /// A change of a document, or several merged into one. It applies to a document at any sequence from `prev` up to
    /// before `seq`. `patch` or `events` may be absent, not both.
    UpdateFrame = "update" {
        /// The channel.
        pub ch: Channel,
        /// The sequence to which it leads.
        pub seq: Seq,
        /// The sequence from which it leads.
        pub prev: Seq,
        /// The number of changes, `seq` - `prev`, if there are several.
        #[schemars(range(min = 2))]
        pub n: Option<u64>,
        /// Why several changes are merged.
        pub why: Option<MergeReason>,
        /// The moments of the last change.
        pub at: Moments,
        /// The change as a JSON merge patch (RFC 7396): null deletes a field. `PatchesByChannel` says which one, by the
        /// name of the channel.
        pub patch: Option<AnyPatch>,
        /// What happened. `EventsByChannel` says which events, by the name of the channel.
        pub events: Option<Vec<Event>>,
        /// The replay that it belongs to; absent if it is live.
        pub replay: Option<ReplayName>,
    }
}

/// An add-on that the account lacks.
#[derive(Debug, JsonSchema)]
pub struct AddonOffer {
    /// The add-on.
    pub addon: AddonName,
    /// The price of a month, as a decimal number.
    pub price: String,
    /// The currency of the price, by ISO 4217.
    pub currency: String,
}

/// An add-on of an account.
#[derive(Debug)]
pub struct AddonName;

impl JsonSchema for AddonName {
    fn schema_name() -> Cow<'static, str> {
        "AddonName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = Addon::ALL.map(Addon::as_str);
        json_schema!({"description": "An add-on of an account.", "type": "string", "enum": words})
    }
}
