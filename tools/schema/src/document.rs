//! Unions of what the hub renders, and the document of a channel that has no content yet.

use hub::wire::{
    DocumentHeader,
    football::{FootballCorrect, FootballEvent},
    odds::{ConsensusEvent, OddsEvent, SettlementCorrect},
    race::{RaceCorrect, RaceEvent},
    scoreboard::{ScoreboardCorrect, ScoreboardEvent},
    signals::SignalEvent,
    tennis::{TennisCorrect, TennisEvent},
};
use schemars::JsonSchema;

/// The document of a channel that has just opened, at sequence 0. Its first update, moments later, brings
/// everything else.
#[derive(Debug, JsonSchema)]
#[schemars(extend("maxProperties" = 3))]
pub struct OpeningDocument {
    #[serde(flatten)]
    pub header: DocumentHeader,
}

/// An event, by `kind`. A kind that several channels share has a form for each.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Event {
    Football(FootballEvent),
    Tennis(TennisEvent),
    Scoreboard(ScoreboardEvent),
    Race(RaceEvent),
    Odds(OddsEvent),
    Consensus(ConsensusEvent),
    Signal(SignalEvent),
}

/// A correction, by the channel.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Correct {
    Football(FootballCorrect),
    Tennis(TennisCorrect),
    Scoreboard(ScoreboardCorrect),
    Race(RaceCorrect),
    Settlement(SettlementCorrect),
}
