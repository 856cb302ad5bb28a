//! The same fact with the sides the other way round: providers do not agree on who is player 1, nor,
//! on neutral ground, on who is at home.

use super::{
    About, Analysis, Fact, Fixture, FootballFact, FootballScore, GameScore, Incident, MarketChange,
    MarketDefinition, Momentum, OddsFact, Outcome, Pair, Point, Scoreboard, SetScore, Side,
    TennisFact, TennisScore,
};

impl Fact {
    /// The fact with the sides swapped. Swapping twice restores it.
    #[must_use]
    pub fn swapped(&self) -> Self {
        match self {
            Self::Fixture(fixture) => Self::Fixture(swap_fixture(fixture)),
            Self::About(about) => Self::About(Box::new(swap_about(about))),
            Self::Football(fact) => Self::Football(swap_football(fact)),
            Self::Tennis(fact) => Self::Tennis(swap_tennis(fact)),
            Self::Scoreboard(board) => Self::Scoreboard(swap_scoreboard(board)),
            Self::Odds(fact) => Self::Odds(swap_odds(fact)),
            Self::Race(_) => self.clone(),
        }
    }
}

impl Outcome {
    /// What it is for the other side.
    #[must_use]
    pub fn swapped(self) -> Self {
        match self {
            Self::Home => Self::Away,
            Self::Away => Self::Home,
            Self::Player1 => Self::Player2,
            Self::Player2 => Self::Player1,
            Self::Draw | Self::Over | Self::Under | Self::Yes | Self::No => self,
        }
    }
}

fn swap<T>([first, second]: Pair<T>) -> Pair<T> {
    [second, first]
}

fn swap_fixture(fixture: &Fixture) -> Fixture {
    Fixture { sides: fixture.sides.clone().map(swap), ..fixture.clone() }
}

fn swap_about(about: &About) -> About {
    About {
        home_coach: about.away_coach.clone(),
        away_coach: about.home_coach.clone(),
        home_country: about.away_country.clone(),
        away_country: about.home_country.clone(),
        ..about.clone()
    }
}

fn swap_football(fact: &FootballFact) -> FootballFact {
    match fact {
        FootballFact::Status(_) | FootballFact::Clock { .. } | FootballFact::PeriodStart { .. } => {
            fact.clone()
        }
        FootballFact::Score(score) => FootballFact::Score(swap_goals(*score)),
        FootballFact::Incident(it) => FootballFact::Incident(swap_incident(it)),
        FootballFact::Correct(it) => FootballFact::Correct(swap_incident(it)),
        FootballFact::Retract { eid, why, score } => {
            FootballFact::Retract { eid: eid.clone(), why: why.clone(), score: swap_goals(*score) }
        }
        FootballFact::Stats { side, values } => {
            FootballFact::Stats { side: side.other(), values: values.clone() }
        }
        FootballFact::Ball(ball) => {
            let mut ball = *ball;
            ball.side = ball.side.other();
            FootballFact::Ball(ball)
        }
        FootballFact::LineUp { side, line_up } => {
            FootballFact::LineUp { side: side.other(), line_up: line_up.clone() }
        }
        FootballFact::PlayerStats { side, player, values } => FootballFact::PlayerStats {
            side: side.other(),
            player: player.clone(),
            values: values.clone(),
        },
        FootballFact::Analysis(analysis) => FootballFact::Analysis(swap_analysis(analysis)),
    }
}

fn swap_analysis(analysis: &Analysis) -> Analysis {
    let mut swapped = analysis.clone();
    match &mut swapped {
        Analysis::Shot(shot) => shot.side = shot.side.other(),
        Analysis::Momentum(Momentum { value, .. }) => *value = -*value,
        Analysis::ExpectedGoals { side, .. }
        | Analysis::HalfStats { side, .. }
        | Analysis::AveragePositions { side, .. }
        | Analysis::Ratings { side, .. } => *side = side.other(),
    }
    swapped
}

fn swap_goals(score: FootballScore) -> FootballScore {
    FootballScore {
        goals: swap(score.goals),
        half_time: score.half_time.map(swap),
        extra_time: score.extra_time.map(swap),
        penalties: score.penalties.map(swap),
    }
}

fn swap_incident(incident: &Incident) -> Incident {
    Incident {
        side: incident.side.map(Side::other),
        score: incident.score.map(swap),
        ..incident.clone()
    }
}

fn swap_tennis(fact: &TennisFact) -> TennisFact {
    match fact {
        TennisFact::Status(_) => fact.clone(),
        TennisFact::Score(score) => TennisFact::Score(swap_sets(score)),
        TennisFact::Point(point) => TennisFact::Point(Point {
            winner: point.winner.other(),
            server: point.server.other(),
            score: swap_sets(&point.score),
            ..point.clone()
        }),
        TennisFact::Retract { eid, why, score } => {
            TennisFact::Retract { eid: eid.clone(), why: why.clone(), score: swap_sets(score) }
        }
    }
}

fn swap_sets(score: &TennisScore) -> TennisScore {
    let set = |it: &SetScore| SetScore { games: swap(it.games), tie_break: it.tie_break.map(swap) };
    TennisScore {
        server: score.server.map(Side::other),
        sets: score.sets.iter().map(set).collect(),
        stated_sets: score.stated_sets.map(swap),
        game: match score.game {
            GameScore::Points(points) => GameScore::Points(swap(points)),
            GameScore::TieBreak(points) => GameScore::TieBreak(swap(points)),
        },
        points: score.points,
        winner: score.winner.map(Side::other),
    }
}

fn swap_scoreboard(board: &Scoreboard) -> Scoreboard {
    Scoreboard {
        score: board.score.map(swap),
        periods: board.periods.iter().copied().map(swap).collect(),
        winner: board.winner.map(Side::other),
        ..board.clone()
    }
}

fn swap_odds(fact: &OddsFact) -> OddsFact {
    let change = match &fact.change {
        MarketChange::Define(definition) => MarketChange::Define(swap_definition(definition)),
        MarketChange::Clear | MarketChange::Prices { .. } => fact.change.clone(),
    };
    OddsFact { change, ..fact.clone() }
}

/// The line of a handicap is the first side's.
fn swap_definition(definition: &MarketDefinition) -> MarketDefinition {
    let mut swapped = definition.clone();
    let mut of_sides = false;
    for selection in &mut swapped.selections {
        let outcome = selection.outcome.map(Outcome::swapped);
        of_sides |= outcome != selection.outcome;
        selection.outcome = outcome;
    }
    if of_sides {
        swapped.line = swapped.line.map(|line| -line);
    }
    swapped
}
