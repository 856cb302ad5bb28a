//! What is stored of a match, as plain values, and the registry of public ids.
//!
//! **In:** values that the hub exports or the archive reads. **Out:** [`MatchRecord`], the same type for
//! a match in play and for one of ten years ago; [`MatchSummary`], the fields that lists show and filter
//! by; signals; public ids. **Must not know** the hub's state, the archive's tables, or HTTP. Public REST
//! shapes are made in `web`.
//!
//! # Live records
//!
//! The hub sends each change of a match once, as a `MatchChange`. `LiveRecords` adds it to the record that it
//! has. A record is immutable, so its readers never see a half-applied change.
//!
//! # Public ids
//!
//! Clients declare ids as 32-bit integers, so every id that they see is from 1 to 2^31 - 1. Normalisers
//! derive 52-bit digests from providers' keys. [`ids::PublicIds::number_batch`] replaces them on the
//! source's own thread, before the facts reach the writer. Behind this boundary there are only numbers.
//! Imports and the demo's past use the same boundary.
//!
//! - A digest takes the first free number of its own sequence of choices. Nearly all get their first
//!   choice, which is the same on every machine; of 400,000 ids some 40 do not. Numbers are unique across
//!   all kinds of things.
//! - Numbers are permanent, in the table `public_ids`. A task writes new ones in groups, so sources do
//!   not wait for the database. Before a number is used, it is appended to a journal next to the
//!   database, which survives `kill -9` and is read at the next start.
//! - Several programs on one database make the same choices. If two give one number to different digests
//!   at the same time, the table refuses the second.
//! - Derived ids (a season, a runner in a race) are digests of numbers and are numbered in the same way.
//!   Prices, appearances and signals are too many for a registry in memory; the archive and the hub
//!   number them by the same choices.
//! - At `hub.ids_max` ids, facts with new ids are dropped and counted.

mod analysis;
pub mod bookmaker;
pub mod counters;
mod coverage;
mod derived;
pub mod detail;
mod fill;
mod football;
pub mod ids;
mod live;
mod merge;
mod odds;
mod play;
pub mod signal;
mod status;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod withdrawals;

use std::{collections::BTreeMap, sync::Arc};

use base::Micros;
use borsh::{BorshDeserialize, BorshSerialize};
use facts::{
    event::{ExpectedGoals, Participant, Sport, Weather},
    football::PeriodStarts,
};
use serde::{Deserialize, Serialize};

pub use self::{
    analysis::{AnalysisRecord, MomentumMinute, PositionRecord, ShotRecord},
    counters::Counters,
    coverage::says_who_or_where,
    derived::{derived, runner, season},
    football::{
        BallRecord, FootballRecord, IncidentRecord, LineUpPlayerRecord, LineUpRecord, PlayerRecord,
    },
    live::{ChangedRecords, LiveRecords, MarketPlace, MarketUpdate, MatchChange, MatchUpdate},
    merge::completed,
    odds::{CONSENSUS, PriceRecord, odds_id},
    play::fold_name,
    play::runner_key,
    play::{
        ClockRecord, PlayRecord, PointRecord, RaceRecord, RunnerPriceRecord, RunnerRecord,
        ScoreboardRecord, SetRecord, TennisRecord,
    },
    status::{Status, Vocabulary},
    withdrawals::{Withdrawal, Withdrawals},
};

/// A public id; see [`facts::event::Id`].
pub type Key = u64;

/// Something with an id and a name: a team, a player, a referee.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct EntityRef {
    pub id: Key,
    pub name: Arc<str>,
}

impl From<&Participant> for EntityRef {
    fn from(participant: &Participant) -> Self {
        Self { id: participant.id.0, name: Arc::clone(&participant.name) }
    }
}

/// The fields of a match that lists show and filter by. Small, since the archive holds those of all
/// matches in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct MatchSummary {
    pub id: Key,
    pub sport: Sport,
    pub competition: Option<Key>,
    pub season: Option<Key>,
    /// When it starts. If a feed provides only the day, noon of that day, UTC: for the order, not to show.
    /// See [`start_text`](Self::start_text).
    pub start: Option<Micros>,
    /// Only the day of the start is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub day_only: bool,
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
    /// Football: when each period began. Boxed, since most feeds do not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_starts: Option<Box<PeriodStarts>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weather: Option<Weather>,
    /// When it last changed.
    pub updated: Micros,
}

impl MatchSummary {
    /// The start as `write` puts it, or the day alone if no more is known: `2016-08-13`.
    #[must_use]
    pub fn start_text(&self, write: impl FnOnce(Micros) -> Option<String>) -> Option<String> {
        let start = self.start?;
        if !self.day_only {
            return write(start);
        }
        Some(base::time_format::zulu(start)?.chars().take(DAY_CHARS).collect())
    }
}

/// Of `2016-08-13`.
const DAY_CHARS: usize = 10;

/// The complete record of a match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchRecord {
    /// Shared with lists of matches.
    #[serde(rename = "brief")]
    pub summary: Arc<MatchSummary>,
    /// The slugs and keys of its providers.
    pub refs: BTreeMap<Arc<str>, Arc<str>>,
    pub names: Names,
    pub play: PlayRecord,
    /// Every price of every book, and the consensus.
    pub prices: Vec<PriceRecord>,
    /// How current it is; absent in the archive.
    #[serde(skip)]
    pub freshness: Option<Freshness>,
}

/// The names behind the ids of a [`MatchSummary`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
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

/// How current a record of the hub is: the channel of its match when the record was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Freshness {
    pub position: Position,
    /// The state of the source that leads: `live`, `late`, `down`, `recovering`.
    #[borsh(
        serialize_with = "facts::codec::word::write",
        deserialize_with = "facts::codec::word::read"
    )]
    pub feed: &'static str,
    /// When the last change happened, if the source reports it.
    pub source_at: Option<Micros>,
    /// When the hub received the last change; `None` before the first.
    pub received_at: Option<Micros>,
}

/// A position in the sequence of a channel: its epoch as a number, and the number of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Position {
    pub epoch: u32,
    pub seq: u64,
}
