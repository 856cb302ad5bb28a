//! Enumerations: the words of the hub's own enums, and the basic values.

use std::borrow::Cow;

use accounts::Addon;
use facts::event;
use fanout::{
    catch_up::Gap,
    channel::Rate,
    protocol::{Code, OnSlow},
    replay::ReplayEnd,
};
use hub::{feeds, state};
use record::signal;
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
    /// A moment: microseconds since 1970-01-01T00:00:00Z.
    Timestamp: json!({"type": "integer"});
    /// A price, stake, size or line: a decimal number as a string, with the digits of its source, such as
    /// `"2.10"`. Do not parse it as a binary float.
    Decimal: json!({"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"});
    /// The public id of a match, team, player or competition.
    Id: json!({"type": "integer", "minimum": 1, "maximum": 2_147_483_647});
    /// The number of a change of a channel. It rises by one with each change.
    Seq: json!({"type": "integer", "minimum": 0});
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
    /// One of the two players or pairs of a tennis match: 1 is `p1`, 2 is `p2`.
    PlayerNumber: json!({"type": "integer", "enum": [1, 2]});
    /// Parts of documents: JSON Pointers (RFC 6901) in which `*` stands for any one member.
    PickPaths: json!({
        "type": "array",
        "items": {"type": "string", "pattern": "^/", "maxLength": 200},
        "minItems": 1,
        "maxItems": 16
    });
    /// At most one update of values per channel in this many milliseconds; 0: each change, at once.
    EveryMs: json!({"type": "integer", "enum": Rate::ALL.map(Rate::every_ms)});

    /// The life cycle of a document. `suspended` is an interrupted match, a book without an open
    /// market or held by the hub, or a match in play whose source is unhealthy.
    Life: words(&state::Life::ALL.map(state::Life::as_str));
    /// The state of the source on which a document depends. `late`: silent for longer than its deadline, or
    /// it reports a lag itself. `down`: disconnected, or a recording has ended. `recovering`: connecting, or
    /// connected again and not complete yet.
    FeedState: words(&feeds::FeedState::ALL.map(feeds::FeedState::as_str));
    /// The home or away side.
    Side: words(&event::Side::BOTH.map(hub::wire::football::side_name));
    /// The status of a football match. `extra_first` and `extra_second` are the halves of extra time,
    /// `extra_half` the break between them.
    FootballStatus: words(&event::FootballStatus::ALL.map(event::FootballStatus::as_str));
    /// The kind of an incident of a football match.
    IncidentKind: words(&event::IncidentKind::ALL.map(event::IncidentKind::as_str));
    /// The colour of a card; `second_yellow` is the second of a player, who is sent off.
    CardKind: words(&[
        event::IncidentKind::Yellow.as_str(),
        event::IncidentKind::SecondYellow.as_str(),
        event::IncidentKind::Red.as_str(),
    ]);
    /// How a goal was scored.
    GoalType: words(&event::GoalKind::ALL.map(event::GoalKind::as_str));
    /// The decision of the video assistant.
    VarDecision: words(&event::VarDecision::ALL.map(event::VarDecision::as_str));
    /// What happens on the pitch, from the point of view of the side that has the ball.
    Situation: words(&event::Situation::ALL.map(event::Situation::as_str));
    /// The status of a tennis match.
    TennisStatus: words(&event::TennisStatus::ALL.map(event::TennisStatus::as_str));
    /// How a point was won.
    PointKind: words(&event::PointKind::ALL.map(event::PointKind::as_str));
    /// The status of a match that is followed by its scoreboard.
    ScoreboardStatus: words(&event::ScoreboardStatus::ALL.map(event::ScoreboardStatus::as_str));
    /// The status of a race.
    RaceStatus: words(&event::RaceStatus::ALL.map(event::RaceStatus::as_str));
    /// The status of a runner in a race.
    RunnerStatus: words(&event::RunnerStatus::ALL.map(event::RunnerStatus::as_str));
    /// The status of a market. Only an `open` market takes bets.
    MarketStatus: words(&event::MarketStatus::ALL.map(event::MarketStatus::as_str));
    /// The status of a selection. `winner` and `loser` are its settlement.
    SelectionStatus: words(&event::SelectionStatus::ALL.map(event::SelectionStatus::as_str));
    /// The meaning of a selection, the same with every bookmaker.
    Outcome: words(&event::Outcome::ALL.map(event::Outcome::as_str));
    /// Why the hub holds a book.
    HoldReason: words(&state::HoldReason::ALL.map(state::HoldReason::as_str));
    /// Whether prices fall (`shortening`: the outcome has become likelier) or rise (`drifting`).
    Direction: words(&signal::Direction::ALL.map(signal::Direction::as_str));

    /// What happens when this client cannot keep up. `merge`: every event is delivered, and values between
    /// events are merged. `resync`: what was missed is skipped and reported, and the image is sent. `close`:
    /// the socket is closed with 4508.
    OnSlowChoice: words(&OnSlow::CHOICES.map(OnSlow::as_str));
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
        let codes = Code::ALL.map(|code| serde_json::to_value(code).expect("a code is a word"));
        let host = ["auth_failed", "addon_required", "not_found"].map(Value::from);
        json!({"type": "string", "enum": codes.into_iter().chain(host).collect::<Vec<_>>()})
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
    /// An add-on of an account.
    AddonName: words(&Addon::ALL.map(Addon::as_str));
}

/// A value that may be null. Everything else is absent where it is unknown.
#[derive(Debug)]
pub struct Nullable<T>(T);

/// Marks a null that must stay: the null of an `Option` means absent.
pub(crate) const NULLABLE: &str = "x-nullable";

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
