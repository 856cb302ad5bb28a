//! A line: when, which match, and the fact.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Football, Odds, Race, Scoreboard, Tennis};
use crate::event::Weather;

/// One line of the format `matchwire-events`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Line {
    One(Box<Message>),
    Batch(Batch),
}

/// One fact about one match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// When it happened, in microseconds since the Unix epoch, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The sender's own id of this message: one that comes again is a repetition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whose key `match` is; the source's own where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    pub sport: Sport,
    pub r#match: MatchName,
    pub fact: Fact,
}

/// Several facts that are applied as one piece.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// When all of it happened, in microseconds since the Unix epoch, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The sender's own id of this message: one that comes again is a repetition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub batch: Vec<BatchFact>,
}

/// A fact within a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
// The name in the published schema.
#[serde(deny_unknown_fields)]
#[schemars(rename = "Told")]
pub struct BatchFact {
    /// Whose key `match` is; the source's own where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    pub sport: Sport,
    pub r#match: MatchName,
    pub fact: Fact,
}

/// The provider's key of the match; a number is an id of Matchwire's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "`match` is the match's key as text, or an id of ours as a number")]
pub enum MatchName {
    Key(String),
    Id(u64),
}

/// The sport, as in the names of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sport {
    Football,
    Tennis,
    /// Counter-Strike 2.
    Csgo,
    Darts,
    Hockey,
    Basketball,
    HorseRacing,
    Cricket,
    Other,
}

/// What is told. All facts are absolute: to tell one twice changes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Who plays whom, where and when: the first fact of each match. A later one corrects it.
    Fixture(Fixture),
    /// Particulars of the match. What is left out is not known, and takes nothing back.
    About(Box<About>),
    Football(Football),
    Tennis(Tennis),
    /// The whole scoreboard of a match of CS2, darts, hockey or basketball.
    Scoreboard(Scoreboard),
    /// The whole of a horse race.
    Race(Race),
    /// What one bookmaker says of one market of the match.
    Odds(Odds),
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fixture {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub competition: Option<Competition>,
    /// When it starts, in microseconds since the Unix epoch, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<i64>,
    /// The day on which it is played, where no more is known: `2026-08-30`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Home and away, or player 1 and player 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sides: Option<[Participant; 2]>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct About {
    /// The number of the round or matchday, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u16>,
    /// What the round is called: `Semi-final`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_name: Option<String>,
    /// The group of a cup: `Group A`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The country of the competition: two letters of ISO 3166-1, or its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub venue: Option<Venue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub referee: Option<Participant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home_coach: Option<Participant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away_coach: Option<Participant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attendance: Option<u32>,
    /// Neither side is at home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neutral: Option<bool>,
    /// Tennis: `grass`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface: Option<String>,
    /// Tennis: of the tournament.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// How many sets, legs or maps are played at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_of: Option<u8>,
    /// The country of the home side or player 1: two letters of ISO 3166-1, or its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home_country: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away_country: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weather: Option<Weather>,
}

/// A ground, a court, a race course. Without `key` and `id` it is known by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Venue {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
}

/// A side, a player, a horse. Without `key` and `id` it is known by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Participant {
    pub name: String,
    /// The sender's own key of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// An id of Matchwire's own, in place of a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
}

/// Without `key` and `id` it is known by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Competition {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub season: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Home,
    Away,
}
