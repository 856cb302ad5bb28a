//! The markets on a match: the same at every bookmaker, whose prices differ.

use std::sync::Arc;

use rust_decimal::Decimal;

use facts::event::{
    MarketDefinition, MarketStatus, Outcome, Pair, Participant, SelectionDefinition,
    SelectionStatus,
};

use super::play::Chance;

/// A market by its rule. The lists below define the order of a play's chances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bet {
    /// Home, draw or away.
    Result,
    /// Player 1 or player 2.
    Winner,
    /// Home or away, overtime included.
    Moneyline,
    /// Over or under that many goals and a half.
    Goals(u16),
    BothScore,
    /// Two of home, draw and away.
    DoubleChance,
    /// Home or away; a draw returns the stakes.
    NoBetOnDraw,
    /// Home or away, home with that many tenths of a goal or a point more or less.
    Handicap(i64),
    /// Over or under that many points and a half.
    Points(u16),
    /// Over or under that many corners and a half.
    Corners(u16),
    /// Which runner wins the race.
    Win,
}

pub(super) const FOOTBALL: [Bet; 9] = [
    Bet::Result,
    Bet::Goals(1),
    Bet::Goals(2),
    Bet::Goals(3),
    Bet::BothScore,
    Bet::DoubleChance,
    Bet::NoBetOnDraw,
    Bet::Handicap(-5),
    Bet::Corners(9),
];
pub(super) const OF_PLAYERS: [Bet; 1] = [Bet::Winner];
pub(super) const OF_TEAMS: [Bet; 1] = [Bet::Moneyline];
pub(super) const HOCKEY: [Bet; 3] = [Bet::Moneyline, Bet::Handicap(-15), Bet::Goals(5)];
/// With quarters of ten minutes, and of twelve.
pub(super) const BASKETBALL: [Bet; 3] = [Bet::Moneyline, Bet::Handicap(-25), Bet::Points(177)];
pub(super) const BASKETBALL_LONG: [Bet; 3] = [Bet::Moneyline, Bet::Handicap(-25), Bet::Points(213)];

impl Bet {
    /// What its selections mean with every bookmaker; those of a race are its own.
    fn outcomes(self) -> &'static [Outcome] {
        match self {
            Self::Result => &[Outcome::Home, Outcome::Draw, Outcome::Away],
            Self::Winner => &[Outcome::Player1, Outcome::Player2],
            Self::Moneyline | Self::NoBetOnDraw | Self::Handicap(_) => {
                &[Outcome::Home, Outcome::Away]
            }
            Self::Goals(_) | Self::Points(_) | Self::Corners(_) => &[Outcome::Over, Outcome::Under],
            Self::BothScore => &[Outcome::Yes, Outcome::No],
            // There is no outcome for two of three.
            Self::DoubleChance | Self::Win => &[],
        }
    }

    /// The id of its market, unique within a match and a bookmaker.
    fn id(self) -> String {
        match self.line() {
            Some(line) => format!("{}_{line}", self.kind()),
            None => self.kind().to_owned(),
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Result | Self::Winner | Self::Moneyline => "match_winner",
            Self::Goals(_) | Self::Points(_) => "over_under",
            Self::BothScore => "both_teams_to_score",
            Self::DoubleChance => "double_chance",
            Self::NoBetOnDraw => "draw_no_bet",
            Self::Handicap(_) => "asian_handicap",
            Self::Corners(_) => "over_under_corners",
            Self::Win => "win",
        }
    }

    fn line(self) -> Option<Decimal> {
        match self {
            Self::Goals(count) | Self::Points(count) | Self::Corners(count) => {
                Some(Decimal::new(i64::from(count) * 10 + 5, 1))
            }
            Self::Handicap(tenths) => Some(Decimal::new(tenths, 1)),
            Self::Result
            | Self::Winner
            | Self::Moneyline
            | Self::BothScore
            | Self::DoubleChance
            | Self::NoBetOnDraw
            | Self::Win => None,
        }
    }

    fn name(self) -> String {
        match self {
            Self::Result | Self::Winner | Self::Moneyline => "Match winner".to_owned(),
            Self::Goals(goals) => format!("Over/under {goals}.5 goals"),
            Self::BothScore => "Both teams to score".to_owned(),
            Self::DoubleChance => "Double chance".to_owned(),
            Self::NoBetOnDraw => "Draw no bet".to_owned(),
            Self::Handicap(tenths) => format!("Asian handicap {}", Decimal::new(tenths, 1)),
            Self::Points(points) => format!("Over/under {points}.5 points"),
            Self::Corners(corners) => format!("Over/under {corners}.5 corners"),
            Self::Win => "Win".to_owned(),
        }
    }

    fn selection_name(self, outcome: Outcome, sides: &Pair<Participant>) -> Arc<str> {
        match (outcome, self) {
            (Outcome::Home | Outcome::Player1, _) => sides[0].name.clone(),
            (Outcome::Away | Outcome::Player2, _) => sides[1].name.clone(),
            (Outcome::Draw, _) => "Draw".into(),
            (Outcome::Over, Self::Goals(goals) | Self::Points(goals) | Self::Corners(goals)) => {
                format!("Over {goals}.5").into()
            }
            (Outcome::Under, Self::Goals(goals) | Self::Points(goals) | Self::Corners(goals)) => {
                format!("Under {goals}.5").into()
            }
            (Outcome::Over | Outcome::Under, _) => outcome.as_str().into(),
            (Outcome::Yes, _) => "Yes".into(),
            (Outcome::No, _) => "No".into(),
        }
    }
}

/// In the order of the play's chances.
const DOUBLE_CHANCES: [(&str, &str); 3] =
    [("1x", "Home or Draw"), ("12", "Home or Away"), ("x2", "Draw or Away")];

/// A market of one match. Its texts are created once and shared.
#[derive(Debug)]
pub(super) struct Market {
    pub(super) id: Arc<str>,
    template: MarketDefinition,
}

impl Market {
    pub(super) fn new(bet: Bet, sides: &Pair<Participant>) -> Self {
        let selection = |outcome: &Outcome| SelectionDefinition {
            id: outcome.as_str().into(),
            name: Some(bet.selection_name(*outcome, sides)),
            status: SelectionStatus::Active,
            outcome: Some(*outcome),
            terms: None,
        };
        let mut selections: Vec<_> = bet.outcomes().iter().map(selection).collect();
        if bet == Bet::DoubleChance {
            selections.extend(DOUBLE_CHANCES.map(|(id, name)| SelectionDefinition {
                id: id.into(),
                name: Some(name.into()),
                status: SelectionStatus::Active,
                outcome: None,
                terms: None,
            }));
        }
        Self::with_selections(bet, selections)
    }

    /// A selection of a race goes by the id of its runner.
    pub(super) fn of_race<'a>(runners: impl Iterator<Item = &'a Participant>) -> Self {
        let selection = |runner: &Participant| SelectionDefinition {
            id: runner.id.to_string().into(),
            name: Some(runner.name.clone()),
            status: SelectionStatus::Active,
            outcome: None,
            terms: None,
        };
        Self::with_selections(Bet::Win, runners.map(selection).collect())
    }

    fn with_selections(bet: Bet, selections: Vec<SelectionDefinition>) -> Self {
        let template = MarketDefinition {
            kind: bet.kind().into(),
            name: Some(bet.name().into()),
            line: bet.line(),
            period: None,
            status: MarketStatus::Inactive,
            in_play: false,
            selections,
            terms: None,
        };
        Self { id: bet.id().into(), template }
    }

    pub(super) fn selections(&self) -> &[SelectionDefinition] {
        &self.template.selections
    }

    /// The selections that have won, if any have.
    pub(super) fn winners(&self, chance: Chance) -> Vec<Arc<str>> {
        let won = self.selections().iter().enumerate().filter(|(n, _)| chance.is_won_by(*n));
        won.map(|(_, selection)| Arc::clone(&selection.id)).collect()
    }

    /// `removed`: selections that were withdrawn, as bits.
    pub(super) fn defined(
        &self,
        status: MarketStatus,
        in_play: bool,
        removed: u16,
    ) -> MarketDefinition {
        let mut definition = MarketDefinition { status, in_play, ..self.template.clone() };
        for (index, selection) in definition.selections.iter_mut().enumerate() {
            if removed >> index & 1 == 1 {
                selection.status = SelectionStatus::Removed;
            }
        }
        definition
    }

    /// Closed for good: winners and losers, or all stakes returned.
    pub(super) fn settled(&self, chance: Chance, in_play: bool, removed: u16) -> MarketDefinition {
        let mut definition = self.defined(MarketStatus::Closed, in_play, removed);
        let selections = definition.selections.iter_mut().enumerate();
        for (index, selection) in selections.filter(|(_, it)| it.status == SelectionStatus::Active)
        {
            selection.status = match chance {
                Chance::Won(_) | Chance::Shared(_) if chance.is_won_by(index) => {
                    SelectionStatus::Winner
                }
                Chance::Won(_) | Chance::Shared(_) => SelectionStatus::Loser,
                Chance::Open(_) | Chance::Void => SelectionStatus::Removed,
            };
        }
        definition
    }
}
