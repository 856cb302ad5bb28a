//! The full correct outcome of a day, from the plays' own records.
//!
//! Nothing here is computed from emitted facts, so it can be held against them.

use std::sync::Arc;

use facts::event::{
    Competition, Eid, FootballStatus, GoalKind, Id, Micros, Pair, Participant, RaceRunner,
    RaceStatus, ScoreboardStatus, SetScore, Side, Sport, TennisStatus,
};

/// Every match of a day, in the order in which they start.
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    pub matches: Vec<MatchTruth>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MatchTruth {
    pub sport: Sport,
    pub id: Id,
    pub competition: Competition,
    pub start: Micros,
    /// Absent in a race.
    pub sides: Option<Pair<Participant>>,
    pub ending: Ending,
    pub markets: Vec<SettledMarket>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    Football(FootballTruth),
    Tennis(TennisTruth),
    /// CS2, darts, hockey, basketball.
    Scoreboard(ScoreboardTruth),
    Race(RaceTruth),
}

/// How a market ended, alike at every bookmaker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettledMarket {
    /// The market's id: `over_under_2.5`.
    pub market: Box<str>,
    /// The ids of the selections that won: two in a dead heat, none where the market was void.
    pub winners: Vec<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FootballTruth {
    pub status: FootballStatus,
    pub score: Pair<u16>,
    pub half_time: Pair<u16>,
    /// In order; those overturned are not among them.
    pub goals: Vec<Goal>,
    pub overturned: Vec<OverturnedGoal>,
    /// In order, with the red ones.
    pub cards: Vec<Card>,
    pub substitutions: Vec<Substitution>,
    pub penalties_missed: Vec<PenaltyMissed>,
}

/// The minute in progress as scoreboards count it; stoppage time is 45 or 90 with `added`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Minute {
    pub minute: u16,
    pub added: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    pub eid: Eid,
    pub at: Minute,
    /// The side that profits of it.
    pub side: Side,
    /// For an own goal a player of the other side.
    pub scorer: Participant,
    pub assist: Option<Participant>,
    pub kind: GoalKind,
    /// The score after it.
    pub score: Pair<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverturnedGoal {
    pub goal: Goal,
    pub why: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    pub eid: Eid,
    pub at: Minute,
    pub side: Side,
    pub player: Participant,
    pub colour: Colour,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Yellow,
    SecondYellow,
    Red,
}

impl Colour {
    /// Whether the player must leave.
    #[must_use]
    pub fn sends_off(self) -> bool {
        self != Self::Yellow
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Substitution {
    pub eid: Eid,
    pub at: Minute,
    pub side: Side,
    pub off: Participant,
    pub on: Participant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PenaltyMissed {
    pub eid: Eid,
    pub at: Minute,
    pub side: Side,
    pub player: Participant,
}

impl FootballTruth {
    /// Players sent off, of each side.
    #[must_use]
    pub fn red_cards(&self) -> Pair<usize> {
        Side::BOTH.map(|side| {
            self.cards.iter().filter(|card| card.side == side && card.colour.sends_off()).count()
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreboardTruth {
    pub status: ScoreboardStatus,
    pub score: Pair<u32>,
    pub periods: Vec<Pair<u32>>,
    pub winner: Option<Side>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaceTruth {
    pub status: RaceStatus,
    pub runners: Vec<RaceRunner>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TennisTruth {
    pub status: TennisStatus,
    /// With the tie-breaks; the last set of a retirement is not finished.
    pub sets: Vec<SetScore>,
    /// Points that count.
    pub points: u32,
    /// Points that the umpire took back.
    pub retracted: Vec<Eid>,
    /// Points that count, won on the winner's own serve and altogether served: `[won, served]` of
    /// each side.
    pub serve: Pair<[u32; 2]>,
    pub winner: Option<Side>,
}

impl TennisTruth {
    #[must_use]
    pub fn tie_breaks(&self) -> usize {
        self.sets.iter().filter(|set| set.tie_break.is_some()).count()
    }
}
