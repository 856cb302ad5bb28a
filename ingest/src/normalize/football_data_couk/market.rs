//! The markets of a row: the result, two and a half goals, and the Asian handicap at one line.

use std::{cmp::Ordering, sync::Arc};

use facts::event::{
    MarketDefinition, MarketStatus, Outcome, Pair, SelectionDefinition, SelectionStatus,
};
use rust_decimal::Decimal;

use crate::decode::football_data_couk::{Bet, BetSide, Price};

/// The line of the totals: the files have no other.
const GOALS: Decimal = Decimal::from_parts(25, 0, 0, false, 1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Market {
    Result,
    Goals,
    /// With the goals that the home side is given.
    Handicap(Decimal),
}

/// What a selection is called here: by what it stands for.
pub(super) fn selection_id(bet: Bet) -> Arc<str> {
    outcome(bet).as_str().into()
}

fn outcome(bet: Bet) -> Outcome {
    match bet {
        Bet::Result(BetSide::Home) | Bet::Handicap(BetSide::Home) => Outcome::Home,
        Bet::Result(BetSide::Draw) | Bet::Handicap(BetSide::Draw) => Outcome::Draw,
        Bet::Result(BetSide::Away) | Bet::Handicap(BetSide::Away) => Outcome::Away,
        Bet::Over => Outcome::Over,
        Bet::Under => Outcome::Under,
    }
}

impl Market {
    pub(super) fn new(price: &Price) -> Self {
        match price.bet {
            Bet::Result(_) => Self::Result,
            Bet::Over | Bet::Under => Self::Goals,
            Bet::Handicap(_) => Self::Handicap(price.line.unwrap_or_default()),
        }
    }

    pub(super) fn is_handicap(self) -> bool {
        matches!(self, Self::Handicap(_))
    }

    pub(super) fn id(self) -> Arc<str> {
        match self.line() {
            Some(line) => format!("{}@{line}", self.kind()).into(),
            None => self.kind().into(),
        }
    }

    pub(super) fn open(self, teams: &Pair<String>) -> MarketDefinition {
        self.defined(teams, MarketStatus::Open, |_| SelectionStatus::Active)
    }

    pub(super) fn closed(self, teams: &Pair<String>, goals: Pair<u16>) -> MarketDefinition {
        self.defined(teams, MarketStatus::Closed, |outcome| self.settled(outcome, goals))
    }

    fn defined(
        self,
        teams: &Pair<String>,
        status: MarketStatus,
        status_of: impl Fn(Outcome) -> SelectionStatus,
    ) -> MarketDefinition {
        let name = |outcome| match outcome {
            Outcome::Home => teams[0].as_str(),
            Outcome::Away => teams[1].as_str(),
            other => other.as_str(),
        };
        let selection = |outcome: &Outcome| SelectionDefinition {
            id: outcome.as_str().into(),
            name: Some(name(*outcome).into()),
            status: status_of(*outcome),
            outcome: Some(*outcome),
            terms: None,
        };
        MarketDefinition {
            kind: self.kind().into(),
            name: None,
            line: self.line(),
            period: None,
            status,
            in_play: false,
            selections: self.outcomes().iter().map(selection).collect(),
            terms: None,
        }
    }

    fn settled(self, outcome: Outcome, goals: Pair<u16>) -> SelectionStatus {
        let [home, away] = goals.map(Decimal::from);
        let ahead = match self {
            Self::Result => home.cmp(&away),
            Self::Goals => (home + away).cmp(&GOALS),
            Self::Handicap(line) => return settled_handicap(home + line - away, outcome),
        };
        let won = match outcome {
            Outcome::Home | Outcome::Over => ahead == Ordering::Greater,
            Outcome::Away | Outcome::Under => ahead == Ordering::Less,
            _ => ahead == Ordering::Equal,
        };
        if won { SelectionStatus::Winner } else { SelectionStatus::Loser }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Result => "match_winner",
            Self::Goals => "over_under",
            Self::Handicap(_) => "asian_handicap",
        }
    }

    fn line(self) -> Option<Decimal> {
        match self {
            Self::Result => None,
            Self::Goals => Some(GOALS),
            Self::Handicap(line) => Some(line),
        }
    }

    fn outcomes(self) -> &'static [Outcome] {
        match self {
            Self::Result => &[Outcome::Home, Outcome::Draw, Outcome::Away],
            Self::Goals => &[Outcome::Over, Outcome::Under],
            Self::Handicap(_) => &[Outcome::Home, Outcome::Away],
        }
    }
}

/// The result by how far the home side is ahead with its handicap. With a quarter line, half of the stake is on each of the two
/// lines beside it, so that a quarter ahead wins one half and gets the other back.
fn settled_handicap(home_ahead: Decimal, outcome: Outcome) -> SelectionStatus {
    let quarter = Decimal::new(25, 2);
    let ahead = if outcome == Outcome::Away { -home_ahead } else { home_ahead };
    match ahead {
        _ if ahead > quarter => SelectionStatus::Winner,
        _ if ahead == quarter => SelectionStatus::HalfWon,
        _ if ahead == -quarter => SelectionStatus::HalfLost,
        _ if ahead < -quarter => SelectionStatus::Loser,
        _ => SelectionStatus::Push,
    }
}
