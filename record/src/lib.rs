//! The record of one match, as stored in the archive and served over HTTP.
//!
//! In: the hub's typed state at a point in time ([`MatchRecord::of`]). Out: plain values that are
//! serialised as JSON, with the same types for a match in play and for one of ten years ago. It
//! knows neither SQL nor HTTP; `api` derives the public shapes.

mod analysis;
pub(crate) mod counters;
mod detail;
mod fill;
mod odds;
mod of_match;
mod own;
mod play;
mod renumber;
mod source;
mod status;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use fanout::Micros;
use ingest::event::{ExpectedGoals, Sport, Weather};
use serde::{Deserialize, Serialize};

pub(crate) use self::{analysis::merged as merged_analysis, play::fold_name};
pub use self::{
    analysis::{AnalysisRecord, MomentumMinute, PositionRecord, ShotRecord},
    counters::Counters,
    odds::{CONSENSUS, PriceRecord, odds_id},
    play::{
        BallRecord, ClockRecord, FootballRecord, IncidentRecord, LineUpPlayerRecord, LineUpRecord,
        PlayRecord, PlayerRecord, PointRecord, RaceRecord, RunnerPriceRecord, RunnerRecord,
        ScoreboardRecord, SetRecord, TennisRecord,
    },
    status::Status,
};

/// A public id; see [`ingest::event::Id`].
pub type Key = u64;

/// Something with an id and a name: a team, a player, a referee.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EntityRef {
    pub id: Key,
    pub name: Arc<str>,
}

/// The fields of a match that lists show and filter by. Small, since the archive holds those of all
/// matches in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchSummary {
    pub id: Key,
    #[serde(with = "sport")]
    pub sport: Sport,
    pub competition: Option<Key>,
    pub season: Option<Key>,
    /// When it starts. If a feed provides only the day, noon of that day, UTC.
    pub start: Option<Micros>,
    pub status: Status,
    /// Home and away; player 1 and player 2.
    pub sides: Option<[Key; 2]>,
    pub round: Option<u16>,
    pub round_name: Option<Arc<str>>,
    pub group: Option<Arc<str>>,
    pub venue: Option<Key>,
    pub referee: Option<Key>,
    pub coaches: [Option<Key>; 2],
    pub attendance: Option<u32>,
    pub neutral: Option<bool>,
    /// The score: goals without the shoot-out, sets, maps, points, legs.
    pub score: Option<[u32; 2]>,
    /// Football: at half time; goals of extra time alone; kicks of the shoot-out.
    pub half_time: Option<[u16; 2]>,
    pub extra_time: Option<[u16; 2]>,
    pub penalties: Option<[u16; 2]>,
    /// Games of each set, goals of each period, points of each quarter, rounds of each map.
    pub parts: Vec<[u32; 2]>,
    /// 0 or 1: the winning side, in sports where the score does not decide it.
    pub winner: Option<u8>,
    pub best_of: Option<u8>,
    /// When it ended, by the clock of the source that reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Micros>,
    /// Football: expected goals of both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_goals: Option<[ExpectedGoals; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weather: Option<Weather>,
    /// When it last changed.
    pub updated: Micros,
}

/// The complete record of a match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchRecord {
    /// Shared with lists of matches.
    pub brief: Arc<MatchSummary>,
    /// The slugs and keys of its providers.
    pub refs: BTreeMap<Arc<str>, Arc<str>>,
    pub names: Names,
    pub play: PlayRecord,
    /// Every price of every book, and the consensus.
    pub prices: Vec<PriceRecord>,
    /// The position of its channel when the record was made; absent in the archive.
    #[serde(skip)]
    pub position: Option<Position>,
}

/// The names behind the ids of a [`MatchSummary`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Names {
    pub competition: Option<EntityRef>,
    /// ISO 3166-1 alpha-2 if a feed provides it, otherwise the country's name.
    pub country: Option<Arc<str>>,
    pub season: Option<EntityRef>,
    pub sides: Option<[EntityRef; 2]>,
    pub venue: Option<EntityRef>,
    pub city: Option<Arc<str>>,
    pub referee: Option<EntityRef>,
    pub coaches: [Option<EntityRef>; 2],
    /// The surface of a tennis tournament.
    pub surface: Option<Arc<str>>,
    pub category: Option<Arc<str>>,
    /// The countries of both sides, in the format of the competition's country.
    #[serde(default, skip_serializing_if = "is_unknown")]
    pub side_countries: [Option<Arc<str>>; 2],
}

fn is_unknown(countries: &[Option<Arc<str>>; 2]) -> bool {
    countries.iter().all(Option::is_none)
}

/// A position in the sequence of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub epoch: fanout::Epoch,
    pub seq: fanout::Seq,
}

/// A sport by its name in channels and paths.
pub(crate) mod sport {
    use ingest::event::Sport;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(crate) fn serialize<S: Serializer>(sport: &Sport, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(sport.as_str())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Sport, D::Error> {
        let name = String::deserialize(from)?;
        let found = Sport::ALL.into_iter().find(|sport| sport.as_str() == name);
        found.ok_or_else(|| Error::custom(format_args!("no sport is called {name:?}")))
    }
}
