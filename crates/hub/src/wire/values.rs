//! The values of fields: texts, times, numbers, and the words of the hub's own enums.

use std::{marker::PhantomData, sync::Arc};

use facts::event;
use fanout::Micros;
use record::signal;

use crate::{
    document::{FieldKey, Node, Object},
    hub::{feeds, state},
};

/// A text.
#[derive(Debug)]
pub struct Text(Node);

/// Percent, with at most one decimal.
#[derive(Debug)]
pub struct Percent(Node);

/// A list.
#[derive(Debug)]
pub struct List<T>(Vec<Node>, PhantomData<fn() -> T>);

/// Values by key.
#[derive(Debug)]
pub struct Map<T>(Object, PhantomData<fn() -> T>);

impl<T: Into<Node>, V: Into<T>> FromIterator<V> for List<T> {
    fn from_iter<I: IntoIterator<Item = V>>(values: I) -> Self {
        let node = |value: V| {
            let value: T = value.into();
            value.into()
        };
        Self(values.into_iter().map(node).collect(), PhantomData)
    }
}

impl<K: Into<FieldKey>, T: Into<Node>, V: Into<T>> FromIterator<(K, V)> for Map<T> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(values: I) -> Self {
        let mut out = Object::default();
        for (key, value) in values {
            let value: T = value.into();
            out.set(key, value);
        }
        Self(out, PhantomData)
    }
}

impl<T> Map<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> From<List<T>> for Node {
    fn from(list: List<T>) -> Self {
        Self::List(list.0)
    }
}

impl<T> From<Map<T>> for Node {
    fn from(map: Map<T>) -> Self {
        map.0.into()
    }
}

impl<T> super::declare::Value for List<T> {
    fn put(self, out: &mut Object, name: &'static str, _: bool) {
        out.set(name, self);
    }
}

impl<T> super::declare::Value for Map<T> {
    fn put(self, out: &mut Object, name: &'static str, _: bool) {
        out.set(name, self);
    }
}

macro_rules! texts {
    ($($type:ty),+) => {$(
        impl From<$type> for Text {
            fn from(text: $type) -> Self {
                Self(text.into())
            }
        }
    )+};
}

texts!(&'static str, &Arc<str>, String);

impl From<Text> for Node {
    fn from(text: Text) -> Self {
        text.0
    }
}

impl Percent {
    /// From tenths of a percent.
    pub(crate) fn tenths(tenths: u16) -> Self {
        Self(Node::Number(rust_decimal::Decimal::new(tenths.into(), 1).normalize()))
    }
}

impl From<Percent> for Node {
    fn from(percent: Percent) -> Self {
        percent.0
    }
}

plain_values!(Text, Percent);

/// Declares a value, with its schema.
macro_rules! value {
    ($(#[doc = $doc:literal])+ $name:ident($inner:ty): $schema:expr) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy)]
        pub struct $name($inner);

        impl From<$name> for Node {
            fn from(value: $name) -> Self {
                value.0.into()
            }
        }

        plain_values!($name);

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                self::schema::described($schema, concat!($($doc),+))
            }
        }
    };
}

macro_rules! values {
    ($($(#[doc = $doc:literal])+ $name:ident($inner:ty): $schema:tt;)+) => {$(
        value! { $(#[doc = $doc])+ $name($inner): serde_json::json!($schema) }

        impl From<$inner> for $name {
            fn from(value: $inner) -> Self {
                Self(value)
            }
        }
    )+};
}

/// Declares the words of an enum: the enum, its values, and the word of each.
macro_rules! words {
    ($($(#[doc = $doc:literal])+ $name:ident: $source:ty, $all:expr, $word:expr;)+) => {$(
        value! { $(#[doc = $doc])+ $name(&'static str): schema::words(&$all.map($word)) }

        impl From<$source> for $name {
            fn from(value: $source) -> Self {
                Self($word(value))
            }
        }
    )+};
}

values! {
    /// A moment: microseconds since 1970-01-01T00:00:00Z.
    Timestamp(Micros): {"type": "integer"};
    /// A price, stake, size or line: a decimal number as a string, with the digits of its source, such as
    /// `"2.10"`. Do not parse it as a binary float.
    Decimal(rust_decimal::Decimal): {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"};
    /// The public id of a match, team, player or competition.
    Id(u64): {"type": "integer", "minimum": 1, "maximum": 2_147_483_647};
    /// The number of a change of a channel. It rises by one with each change.
    Seq(u64): {"type": "integer", "minimum": 0};
    /// One of the two players or pairs of a tennis match: 1 is `p1`, 2 is `p2`.
    PlayerNumber(u8): {"type": "integer", "enum": [1, 2]};
}

words! {
    /// The life cycle of a document. `suspended` is an interrupted match, a book without an open
    /// market or held by the hub, or a match in play whose source is unhealthy.
    Life: state::Life, state::Life::ALL, state::Life::as_str;
    /// The state of the source on which a document depends. `late`: silent for longer than its deadline, or
    /// it reports a lag itself. `down`: disconnected, or a recording has ended. `recovering`: connecting, or
    /// connected again and not complete yet.
    FeedState: feeds::FeedState, feeds::FeedState::ALL, feeds::FeedState::as_str;
    /// The home or away side.
    Side: event::Side, event::Side::BOTH, side_name;
    /// The status of a football match. `extra_first` and `extra_second` are the halves of extra time,
    /// `extra_half` the break between them.
    FootballStatus: event::FootballStatus, event::FootballStatus::ALL, event::FootballStatus::as_str;
    /// The kind of an incident of a football match.
    IncidentKind: event::IncidentKind, event::IncidentKind::ALL, event::IncidentKind::as_str;
    /// The colour of a card; `second_yellow` is the second of a player, who is sent off.
    CardKind: event::IncidentKind, CARDS, event::IncidentKind::as_str;
    /// How a goal was scored.
    GoalType: event::GoalKind, event::GoalKind::ALL, event::GoalKind::as_str;
    /// The decision of the video assistant.
    VarDecision: event::VarDecision, event::VarDecision::ALL, event::VarDecision::as_str;
    /// What happens on the pitch, from the point of view of the side that has the ball.
    Situation: event::Situation, event::Situation::ALL, event::Situation::as_str;
    /// The status of a tennis match.
    TennisStatus: event::TennisStatus, event::TennisStatus::ALL, event::TennisStatus::as_str;
    /// How a point was won.
    PointKind: event::PointKind, event::PointKind::ALL, event::PointKind::as_str;
    /// The status of a match that is followed by its scoreboard.
    ScoreboardStatus: event::ScoreboardStatus, event::ScoreboardStatus::ALL, event::ScoreboardStatus::as_str;
    /// The status of a race.
    RaceStatus: event::RaceStatus, event::RaceStatus::ALL, event::RaceStatus::as_str;
    /// The status of a runner in a race.
    RunnerStatus: event::RunnerStatus, event::RunnerStatus::ALL, event::RunnerStatus::as_str;
    /// The status of a market. Only an `open` market takes bets.
    MarketStatus: event::MarketStatus, event::MarketStatus::ALL, event::MarketStatus::as_str;
    /// The status of a selection. `winner` and `loser` are its settlement.
    SelectionStatus: event::SelectionStatus, event::SelectionStatus::ALL, event::SelectionStatus::as_str;
    /// The meaning of a selection, the same with every bookmaker.
    Outcome: event::Outcome, event::Outcome::ALL, event::Outcome::as_str;
    /// Why the hub holds a book.
    HoldReason: state::HoldReason, state::HoldReason::ALL, state::HoldReason::as_str;
    /// Whether prices fall (`shortening`: the outcome has become likelier) or rise (`drifting`).
    Direction: signal::Direction, signal::Direction::ALL, signal::Direction::as_str;
    /// The first or the second side.
    MomentumSide: u8, [0, 1], momentum_side;
}

/// The incidents that are cards.
#[cfg(feature = "schema")]
const CARDS: [event::IncidentKind; 3] =
    [event::IncidentKind::Yellow, event::IncidentKind::SecondYellow, event::IncidentKind::Red];

impl From<event::Side> for PlayerNumber {
    fn from(side: event::Side) -> Self {
        Self(state::number(side))
    }
}

/// The name of a side of a match between home and away.
#[must_use]
pub fn side_name(side: event::Side) -> &'static str {
    match side {
        event::Side::First => "home",
        event::Side::Second => "away",
    }
}

fn momentum_side(side: u8) -> &'static str {
    if side == 0 { "first" } else { "second" }
}

#[cfg(feature = "schema")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use serde_json::{Value, json};

    use super::{List, Map, Percent, Text};

    /// A schema with a description.
    pub(super) fn described(schema: Value, description: &str) -> Schema {
        let mut schema = Schema::try_from(schema).expect("the declarations are objects");
        schema.insert("description".to_owned(), description.trim().into());
        schema
    }

    pub(super) fn words(words: &[&str]) -> Value {
        json!({"type": "string", "enum": words})
    }

    /// Schemas that have no definition of their own.
    macro_rules! inline {
        ($([$($parameter:ident)?] $type:ty, $name:expr, $schema:expr;)+) => {$(
            impl<$($parameter: JsonSchema)?> JsonSchema for $type {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> Cow<'static, str> {
                    $name.into()
                }

                fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                    let schema: fn(&mut SchemaGenerator) -> Schema = $schema;
                    schema(generator)
                }
            }
        )+};
    }

    inline! {
        [] Text, "Text", String::json_schema;
        [] Percent, "Percent", |_| json_schema!({"type": "number", "minimum": 0, "maximum": 100});
        [T] List<T>, format!("List{}", T::schema_name()), Vec::<T>::json_schema;
        [T] Map<T>, format!("Map{}", T::schema_name()), std::collections::BTreeMap::<String, T>::json_schema;
    }
}
