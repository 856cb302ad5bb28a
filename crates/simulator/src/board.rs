//! The scoreboard of CS2, darts, hockey and basketball.

use std::sync::Arc;

use facts::event::{Fact, MatchClock, Pair, Scoreboard, ScoreboardStatus, Side};

use super::{play::Chance, truth::ScoreboardTruth};

#[derive(Debug)]
pub(super) struct Board {
    pub(super) status: ScoreboardStatus,
    pub(super) score: Pair<u32>,
    pub(super) periods: Vec<Pair<u32>>,
    pub(super) winner: Option<Side>,
    period: Option<Arc<str>>,
}

impl Board {
    pub(super) fn new() -> Self {
        Self {
            status: ScoreboardStatus::NotStarted,
            score: [0, 0],
            periods: Vec::new(),
            winner: None,
            period: None,
        }
    }

    /// The next part of the match begins.
    pub(super) fn begin(&mut self, period: &str) {
        self.status = ScoreboardStatus::Live;
        self.periods.push([0, 0]);
        self.call(period);
    }

    /// What the part in progress is called.
    pub(super) fn call(&mut self, period: &str) {
        self.status = ScoreboardStatus::Live;
        self.period = Some(period.into());
    }

    /// The part in progress counts for a side.
    pub(super) fn count(&mut self, side: Side, points: u32) {
        if let Some(period) = self.periods.last_mut() {
            period[side.index()] += points;
        }
    }

    pub(super) fn in_progress(&self) -> Pair<u32> {
        self.periods.last().copied().unwrap_or_default()
    }

    /// The side that has more.
    pub(super) fn leader(&self) -> Option<Side> {
        let [first, second] = self.score;
        if first == second {
            return None;
        }
        Some(if first > second { Side::First } else { Side::Second })
    }

    pub(super) fn finish(&mut self) {
        self.status = ScoreboardStatus::Finished;
        self.winner = self.leader();
        self.period = None;
    }

    pub(super) fn fact(&self, clock: Option<MatchClock>) -> Fact {
        let begun = self.status != ScoreboardStatus::NotStarted;
        Fact::Scoreboard(Scoreboard {
            status: self.status,
            score: begun.then_some(self.score),
            periods: self.periods.clone(),
            period: self.period.clone(),
            clock,
            winner: self.winner,
        })
    }

    /// Who wins the match: decided, or by the probability that the first side does.
    pub(super) fn winner_chance(&self, first_wins: impl FnOnce() -> f64) -> Chance {
        match self.winner {
            Some(winner) => Chance::Won(winner.index()),
            None => Chance::of_first(first_wins()),
        }
    }

    pub(super) fn truth(&self) -> ScoreboardTruth {
        let Self { status, score, ref periods, winner, .. } = *self;
        ScoreboardTruth { status, score, periods: periods.clone(), winner }
    }
}
