//! The markets on a match: the same at every bookmaker, whose prices differ.

use std::sync::Arc;

use rust_decimal::Decimal;

use crate::event::{
    MarketDefinition, MarketStatus, Outcome, Pair, Participant, SelectionDefinition,
    SelectionStatus,
};

use super::play::Chance;

/// A market by its rule. The lists below fix the order in which a play tells its chances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bet {
    /// Home, draw or away.
    Result,
    /// Player 1 or player 2.
    Winner,
    /// Over or under that many goals and a half.
    Goals(u16),
    BothScore,
}

pub(super) const FOOTBALL: [Bet; 5] =
    [Bet::Result, Bet::Goals(1), Bet::Goals(2), Bet::Goals(3), Bet::BothScore];
pub(super) const TENNIS: [Bet; 1] = [Bet::Winner];

impl Bet {
    pub(super) fn outcomes(self) -> &'static [Outcome] {
        match self {
            Self::Result => &[Outcome::Home, Outcome::Draw, Outcome::Away],
            Self::Winner => &[Outcome::Player1, Outcome::Player2],
            Self::Goals(_) => &[Outcome::Over, Outcome::Under],
            Self::BothScore => &[Outcome::Yes, Outcome::No],
        }
    }

    /// The id of its market, unique within a match and a bookmaker.
    pub(super) fn id(self) -> String {
        match self {
            Self::Goals(goals) => format!("over_under_{goals}.5"),
            Self::Result | Self::Winner | Self::BothScore => self.kind().to_owned(),
        }
    }

    /// The selection that has won, if any has.
    pub(super) fn winner(self, chance: Chance) -> Option<&'static str> {
        match chance {
            Chance::Won(index) => Some(self.outcomes()[index].as_str()),
            Chance::Open(_) | Chance::Void => None,
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Result | Self::Winner => "match_winner",
            Self::Goals(_) => "over_under",
            Self::BothScore => "both_teams_to_score",
        }
    }

    fn line(self) -> Option<Decimal> {
        match self {
            Self::Goals(goals) => Some(Decimal::new(i64::from(goals) * 10 + 5, 1)),
            Self::Result | Self::Winner | Self::BothScore => None,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Result | Self::Winner => "Match winner".to_owned(),
            Self::Goals(goals) => format!("Over/under {goals}.5 goals"),
            Self::BothScore => "Both teams to score".to_owned(),
        }
    }

    fn selection_name(self, outcome: Outcome, sides: &Pair<Participant>) -> Arc<str> {
        match (outcome, self) {
            (Outcome::Home | Outcome::Player1, _) => sides[0].name.clone(),
            (Outcome::Away | Outcome::Player2, _) => sides[1].name.clone(),
            (Outcome::Draw, _) => "Draw".into(),
            (Outcome::Over, Self::Goals(goals)) => format!("Over {goals}.5").into(),
            (Outcome::Under, Self::Goals(goals)) => format!("Under {goals}.5").into(),
            (Outcome::Over | Outcome::Under, _) => outcome.as_str().into(),
            (Outcome::Yes, _) => "Yes".into(),
            (Outcome::No, _) => "No".into(),
        }
    }
}

/// A market of one match, ready to be told: its texts are made once and shared.
#[derive(Debug)]
pub(super) struct Market {
    pub(super) id: Arc<str>,
    template: MarketDefinition,
}

impl Market {
    pub(super) fn new(bet: Bet, sides: &Pair<Participant>) -> Self {
        let template = MarketDefinition {
            kind: bet.kind().into(),
            name: Some(bet.name().into()),
            line: bet.line(),
            period: None,
            status: MarketStatus::Inactive,
            in_play: false,
            selections: selections(bet, sides),
        };
        Self { id: bet.id().into(), template }
    }

    pub(super) fn selections(&self) -> &[SelectionDefinition] {
        &self.template.selections
    }

    pub(super) fn defined(&self, status: MarketStatus, in_play: bool) -> MarketDefinition {
        MarketDefinition { status, in_play, ..self.template.clone() }
    }

    /// Closed for good: a winner and losers, or all stakes returned.
    pub(super) fn settled(&self, chance: Chance, in_play: bool) -> MarketDefinition {
        let mut definition = self.defined(MarketStatus::Closed, in_play);
        for (index, selection) in definition.selections.iter_mut().enumerate() {
            selection.status = match chance {
                Chance::Won(winner) if winner == index => SelectionStatus::Winner,
                Chance::Won(_) => SelectionStatus::Loser,
                Chance::Open(_) | Chance::Void => SelectionStatus::Removed,
            };
        }
        definition
    }
}

fn selections(bet: Bet, sides: &Pair<Participant>) -> Vec<SelectionDefinition> {
    let selection = |outcome: &Outcome| SelectionDefinition {
        id: outcome.as_str().into(),
        name: Some(bet.selection_name(*outcome, sides)),
        status: SelectionStatus::Active,
        outcome: Some(*outcome),
    };
    bet.outcomes().iter().map(selection).collect()
}
