//! The vocabulary of the hub: every fact that a feed can report.
//!
//! Every fact is **absolute** ("the score is 2-1"), never a difference, so that applying one twice
//! changes nothing. A [`Batch`] contains all facts of one message of a source; the hub applies it as
//! one piece.
//!
//! The types are also Matchwire's own line format (`docs/INGEST.md`): serde reads and writes lines
//! with them, and `docs/events.schema.json` is generated from them and their comments. Unknown names
//! are errors. No provider's field name appears here.

mod about;
mod analysis;
mod class;
mod counts;
mod football;
mod ids;
mod line_up;
mod number;
mod odds;
mod race;
pub mod references;
mod scoreboard;
mod sport;
mod swap;
mod tennis;
mod words;

use std::{fmt, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use self::{
    about::{About, Venue, Weather},
    analysis::{
        Analysis, AveragePosition, BodyPart, ExpectedGoals, GoalMouth, Half, MatchMinute, Momentum,
        PitchPlace, PlayerRating, Shot, ShotOutcome, ShotSituation,
    },
    class::{AgeGroup, Class, Discipline, Gender},
    football::{
        Ball, FootballFact, FootballScore, FootballStatus, GoalKind, Incident, IncidentKind,
        Situation, Stat, VarDecision,
    },
    ids::EntityKind,
    line_up::{LineUp, LineUpPlayer, PlayerPosition, PlayerStat},
    odds::{
        Level, MarketChange, MarketDefinition, MarketStatus, MarketTerms, OddsFact, Outcome,
        SelectionChange, SelectionDefinition, SelectionStatus, SelectionTerms,
    },
    race::{Race, RaceRunner, RaceStatus, RunnerStatus},
    scoreboard::{MatchClock, Scoreboard, ScoreboardStatus},
    sport::{PlayKind, Sport, SportProfile, StatusWords},
    tennis::{GameScore, Point, PointKind, SetScore, TennisFact, TennisScore, TennisStatus},
};

use self::references::{NamedCompetition, NamedParticipant};
use crate::codec;

/// Microseconds since the Unix epoch, UTC.
pub type Micros = i64;

/// All facts of one message of a source, to be applied as one piece.
#[derive(Debug, Clone, PartialEq, Default, BorshSerialize, BorshDeserialize)]
pub struct Batch {
    /// When the source says that it happened; `None` where the source does not say.
    pub at: Option<Micros>,
    /// How many price changes the message held: elements of ladders and last traded prices.
    pub price_changes: u32,
    pub events: Vec<Event>,
}

/// A batch with the moment at which its source had it: what a recording or the simulator plays.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct Timed {
    /// The source's own clock, by which it is paced.
    pub clock_us: Micros,
    pub batch: Batch,
}

/// One fact about one match.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct Event {
    pub sport: Sport,
    pub match_id: Id,
    pub fact: Fact,
}

/// What is reported. All facts are absolute: to report one twice changes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// Sides, place and time: the first fact of each match. A later one corrects it.
    Fixture(Fixture),
    /// Particulars that not every feed has: round, ground, referee.
    About(Box<About>),
    Football(FootballFact),
    Tennis(TennisFact),
    /// The whole scoreboard of a match of CS2, darts, hockey or basketball.
    Scoreboard(Scoreboard),
    /// The whole of a horse race.
    Race(Race),
    /// What one bookmaker says of one market of the match.
    Odds(OddsFact),
}

/// An id of a match, a participant, a player, a competition or a venue.
///
/// In a source's events, ids are digests ([`Id::derive`]). A hub replaces each digest by a public
/// number of 31 bits when it receives the event, and only uses those numbers; see
/// [`Batch::each_id`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(BorshSerialize, BorshDeserialize)]
pub struct Id(pub u64);

impl Id {
    /// The digest of a provider's own key. It is the same after a restart, in another process and on
    /// another machine. 52 bits: a million of them collide with a probability of about one in nine
    /// thousand.
    ///
    /// `kind` is what the id names (`match`, `team`, `player`, `competition`).
    #[must_use]
    pub fn derive(provider: &str, kind: &str, key: &str) -> Self {
        let mut hash = Sha256::new();
        for part in [provider, kind, key] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let digest = hash.finalize();
        let head = digest.iter().take(8).fold(0_u64, |id, byte| id << 8 | u64::from(*byte));
        Self((head >> 12).max(1))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which of the two: home and away in football, player 1 and player 2 in tennis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Side {
    #[serde(rename = "home")]
    First,
    #[serde(rename = "away")]
    Second,
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::First, Self::Second];

    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// 0 for the first side, 1 for the second: an index into a pair.
    #[must_use]
    pub fn index(self) -> usize {
        match self {
            Self::First => 0,
            Self::Second => 1,
        }
    }
}

/// A value of each side: `[home, away]`, `[player 1, player 2]`.
pub type Pair<T> = [T; 2];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "NamedParticipant", into = "NamedParticipant")]
pub struct Participant {
    pub id: Id,
    pub name: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "NamedCompetition", into = "NamedCompetition")]
pub struct Competition {
    pub id: Id,
    pub name: Arc<str>,
    pub season: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Fixture {
    /// The provider's slug and its own key of the match: `("wyscout", "2058017")`. Lines have both
    /// outside of the fact.
    #[serde(skip)]
    pub provider: Arc<str>,
    #[serde(skip)]
    pub provider_key: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub competition: Option<Competition>,
    /// When it starts, in microseconds since the Unix epoch, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Micros>,
    /// The day on which it is played, where no more is known: `2026-08-30`.
    #[serde(with = "day", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[borsh(
        serialize_with = "codec::optional_day::write",
        deserialize_with = "codec::optional_day::read"
    )]
    pub date: Option<Date>,
    /// Home and away, or player 1 and player 2. Absent if the feed has ids alone (live Betfair).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sides: Option<Pair<Participant>>,
    /// What the source states of gender, age, form of the sport and country.
    #[serde(skip_serializing_if = "Class::is_empty")]
    pub class: Class,
}

/// A day as lines write it: `2026-08-30`.
mod day {
    use jiff::civil::Date;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(
        date: &Option<Date>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        date.map(|date| date.to_string()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Date>, D::Error> {
        let date = Option::<String>::deserialize(deserializer)?;
        let read = |date: String| {
            let wrong = |_| format!("date {date:?} is not a day as 2026-08-30");
            date.parse::<Date>().map_err(wrong).map_err(D::Error::custom)
        };
        date.map(read).transpose()
    }
}

/// The stable name of something that happened, unique within its match: `"g1"`, `"263884274"`.
pub type Eid = Arc<str>;
