//! The play of a match in detail, by sport.

use std::{fmt, sync::Arc};

use base::Micros;
use borsh::{BorshDeserialize, BorshSerialize};
use facts::codec::decimal;
use rust_decimal::Decimal;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, IgnoredAny, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::{FootballRecord, Key};

#[derive(Debug, Clone, PartialEq, Serialize, BorshSerialize, BorshDeserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PlayRecord {
    Football(Box<FootballRecord>),
    Tennis(Box<TennisRecord>),
    /// CS2, darts, hockey, basketball.
    Scoreboard(ScoreboardRecord),
    Race(RaceRecord),
    /// Only odds are available.
    None,
}

/// Expects `kind` to be the first key, which is how records are written. A derived implementation
/// accepts it anywhere and therefore buffers the whole value: reading a record took twice as long.
impl<'de> Deserialize<'de> for PlayRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TaggedFirst)
    }
}

struct TaggedFirst;

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Tag {
    Kind,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Football,
    Tennis,
    Scoreboard,
    Race,
    None,
}

impl<'de> Visitor<'de> for TaggedFirst {
    type Value = PlayRecord;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a play record whose first key is `kind`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PlayRecord, A::Error> {
        let Some((Tag::Kind, kind)) = map.next_entry()? else {
            return Err(A::Error::missing_field("kind"));
        };
        let fields = MapAccessDeserializer::new(map);
        Ok(match kind {
            Kind::Football => PlayRecord::Football(Deserialize::deserialize(fields)?),
            Kind::Tennis => PlayRecord::Tennis(Deserialize::deserialize(fields)?),
            Kind::Scoreboard => PlayRecord::Scoreboard(Deserialize::deserialize(fields)?),
            Kind::Race => PlayRecord::Race(Deserialize::deserialize(fields)?),
            Kind::None => {
                IgnoredAny::deserialize(fields)?;
                PlayRecord::None
            }
        })
    }
}

impl PlayRecord {
    #[must_use]
    pub fn football(&self) -> Option<&FootballRecord> {
        match self {
            Self::Football(football) => Some(football),
            Self::Tennis(_) | Self::Scoreboard(_) | Self::Race(_) | Self::None => None,
        }
    }

    #[must_use]
    pub fn tennis(&self) -> Option<&TennisRecord> {
        match self {
            Self::Tennis(tennis) => Some(tennis),
            Self::Football(_) | Self::Scoreboard(_) | Self::Race(_) | Self::None => None,
        }
    }

    #[must_use]
    pub fn scoreboard(&self) -> Option<&ScoreboardRecord> {
        match self {
            Self::Scoreboard(board) => Some(board),
            Self::Football(_) | Self::Tennis(_) | Self::Race(_) | Self::None => None,
        }
    }

    #[must_use]
    pub fn race(&self) -> Option<&RaceRecord> {
        match self {
            Self::Race(race) => Some(race),
            Self::Football(_) | Self::Tennis(_) | Self::Scoreboard(_) | Self::None => None,
        }
    }

    /// Whether a feed reports the play, not only odds.
    #[must_use]
    pub fn is_followed(&self) -> bool {
        match self {
            Self::Football(it) => it.followed,
            Self::Tennis(it) => it.followed,
            Self::Scoreboard(it) => it.followed,
            Self::Race(it) => it.followed,
            Self::None => false,
        }
    }
}

/// The match clock: it showed `second` at the time `at`, and runs or is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct ClockRecord {
    pub at: Micros,
    pub second: u32,
    pub running: bool,
}

impl ClockRecord {
    /// The seconds that the clock shows at `now`.
    #[must_use]
    pub fn second_at(self, now: Micros) -> u32 {
        let passed = if self.running { now.saturating_sub(self.at).max(0) / 1_000_000 } else { 0 };
        self.second.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct TennisRecord {
    pub followed: bool,
    /// 0 or 1.
    pub server: Option<u8>,
    pub sets: Vec<SetRecord>,
    /// The points of the game in tennis notation: `["40", "A"]`; in a tie-break, counts.
    pub game: [Arc<str>; 2],
    pub points: Vec<PointRecord>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct SetRecord {
    pub games: [u8; 2],
    pub tie_break: Option<[u16; 2]>,
}

/// A point and the score after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct PointRecord {
    /// 0 or 1.
    pub winner: u8,
    pub server: u8,
    /// `ace` or `double_fault`.
    pub how: Option<Arc<str>>,
    /// The number of the set, from 1.
    pub set: u8,
    /// The games of that set after the point.
    pub games: [u8; 2],
    /// The points of the game after the point; both `0` if it ended the game.
    pub game: [Arc<str>; 2],
    pub ended_game: bool,
    pub ended_set: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct ScoreboardRecord {
    pub followed: bool,
    /// The period in progress, as the feed names it.
    pub period: Option<Arc<str>>,
    pub clock: Option<ClockRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct RaceRecord {
    pub followed: bool,
    pub runners: Vec<RunnerRecord>,
    /// The bookmakers' prices of the runners, with the ids by which bookmakers know them. The
    /// prices of the match contain them too.
    pub prices: Vec<RunnerPriceRecord>,
}

/// One bookmaker's price of one runner, in one market.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct RunnerPriceRecord {
    /// The ids of the runner and of its horse if only bookmakers list the runners.
    pub runner: Key,
    pub horse: Key,
    /// The bookmaker's slug.
    pub bookmaker: Arc<str>,
    /// `win`, `to_be_placed`, as the feed names it.
    pub market: Arc<str>,
    /// The bookmaker's id of the runner.
    pub selection: Arc<str>,
    /// The bookmaker's name of the runner; live Betfair has none.
    pub name: Option<Arc<str>>,
    /// The best price to back, and the one before it; absent while none is on offer.
    #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
    pub price: Option<Decimal>,
    #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
    pub previous: Option<Decimal>,
    /// The starting price of an exchange, once it is settled.
    #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
    pub bsp: Option<Decimal>,
    /// The reduction factor of the runner, in percent.
    #[borsh(serialize_with = "decimal::write", deserialize_with = "decimal::read")]
    pub adjustment_factor: Option<Decimal>,
    /// As in `facts::event::SelectionStatus`.
    pub status: Arc<str>,
    /// Whether it is available.
    pub open: bool,
    pub in_play: bool,
    pub at: Micros,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct RunnerRecord {
    /// Of the horse.
    pub id: Key,
    /// Of the horse in this race.
    pub runner: Key,
    pub jockey_id: Option<Key>,
    pub name: Arc<str>,
    /// The saddlecloth number.
    pub number: Option<u16>,
    pub jockey: Option<Arc<str>>,
    /// As in `facts::event::RunnerStatus`.
    pub status: Arc<str>,
    /// 1 is first.
    pub position: Option<u16>,
}

/// The key of a runner that only bookmakers list: its name, which is the same with all of them.
pub fn runner_key(bookmaker: &str, selection: &str, name: Option<&str>) -> String {
    name.map_or_else(|| format!("{bookmaker}|{selection}"), fold_name)
}

/// A name without the parts that bookmakers write differently: leading numbers, blanks,
/// apostrophes.
pub fn fold_name(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphabetic());
    letters.flat_map(char::to_lowercase).collect()
}
