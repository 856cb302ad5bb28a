//! The documents of channels.

mod board;
mod feeds;
mod football;
mod odds;
mod race;
mod scoreboard;
mod signals;
mod tennis;

use std::collections::BTreeMap;

use schemars::JsonSchema;

use crate::words::{FeedState, Id, Life, Timestamp};

pub use self::{
    board::{
        FootballBoard, FootballRow, HorseRacingBoard, HorseRacingRow, Row, ScoreboardBoard,
        ScoreboardRow, TennisBoard, TennisRow,
    },
    feeds::{Feeds, Source},
    football::{
        Ball, Clock, Details, FootballMatch, FootballScore, HomeAway, Incident, Particulars,
        PeriodStarts, SideStats, Stats,
    },
    odds::{
        ConsensusMarket, ConsensusOdds, ConsensusSelection, Ladder, Market, Odds, OddsHeader,
        Selection, Transition,
    },
    race::{HorseRace, Runner},
    scoreboard::{Scoreboard, ScoreboardMatch},
    signals::{
        ArbitrageLeg, ArbitrageSignal, MomentumSide, MomentumSignal, PriceGapSignal, Signal,
        Signals, SteamSignal, SuspendedSignal, Topic, ValueSignal,
    },
    tennis::{PlayerPair, TennisGame, TennisMatch, TennisSet},
};

/// The fields of every document.
#[derive(Debug, JsonSchema)]
pub struct Header {
    /// The life cycle of what the document describes.
    pub life: Life,
    /// The state of the source on which the document depends.
    pub feed: FeedState,
    /// Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for
    /// this long.
    pub stale_after_ms: u32,
}

/// The document of a channel that has just opened, at sequence 0. Its first update, moments later, brings
/// everything else.
#[derive(Debug, JsonSchema)]
#[schemars(extend("maxProperties" = 3))]
pub struct OpeningDocument {
    #[serde(flatten)]
    pub header: Header,
}

/// The fields of every match.
#[derive(Debug, JsonSchema)]
pub struct Fixture {
    /// The public id, as in the name of the channel.
    pub id: Id,
    /// Each provider that reports the match, with its own key of it: `{"wyscout": "2058017"}`.
    pub refs: BTreeMap<String, String>,
    /// The competition; absent if no source names it.
    pub competition: Option<Competition>,
    /// The scheduled or actual start.
    pub start: Option<Timestamp>,
}

/// A team, a player, or a pair of players.
#[derive(Debug, JsonSchema)]
pub struct Participant {
    /// The public id.
    pub id: Id,
    /// The name, as the source spells it.
    pub name: String,
}

/// A competition: a league, a cup, a tournament.
#[derive(Debug, JsonSchema)]
pub struct Competition {
    /// The public id.
    pub id: Id,
    /// The name, as the source spells it.
    pub name: String,
    /// The season, as the source names it, such as `2026/27`.
    pub season: Option<String>,
}
