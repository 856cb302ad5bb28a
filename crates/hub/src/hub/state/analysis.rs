//! Analysis data of a football match: shots, expected goals, momentum, halves, average positions,
//! ratings.
//!
//! It changes no part: it goes into the record, not into the stream's documents. All of it is
//! bounded by what a match can have.

use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{
    Analysis, AveragePosition, ExpectedGoals, Half, Id, MatchMinute, Momentum, Pair, Participant,
    PlayerRating, Shot, Side, Stat,
};

/// Shots of one match, shoot-out included: far more than any match has had.
const SHOTS_MAX: usize = 300;
/// Players of one side: more than any rules allow in a squad.
const PLAYERS_MAX: usize = 60;
/// Minutes of momentum: 120 and the added times.
const MINUTES_MAX: usize = 250;

#[derive(Debug, Clone, Default, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct MatchAnalysis {
    /// In the order in which they became known.
    pub shots: Vec<Shot>,
    /// Totals of a provider that does not report them per shot.
    pub expected_goals: Pair<Option<ExpectedGoals>>,
    pub momentum: BTreeMap<MatchMinute, i8>,
    /// First half, second half; of each home and away.
    pub halves: [Pair<BTreeMap<Stat, u32>>; 2],
    pub positions: Pair<Vec<AveragePosition>>,
    pub ratings: BTreeMap<Id, (Side, Participant, u16)>,
}

impl MatchAnalysis {
    pub(super) fn apply(&mut self, fact: &Analysis) {
        match fact {
            Analysis::Shot(shot) => match self.shots.iter().position(|it| it.eid == shot.eid) {
                Some(index) => self.shots[index].clone_from(shot),
                None if self.shots.len() < SHOTS_MAX => self.shots.push(shot.clone()),
                None => {}
            },
            Analysis::ExpectedGoals { side, goals } => {
                self.expected_goals[side.index()] = Some(*goals);
            }
            Analysis::Momentum(Momentum { minute, value }) => {
                if self.momentum.len() < MINUTES_MAX || self.momentum.contains_key(minute) {
                    self.momentum.insert(*minute, *value);
                }
            }
            Analysis::HalfStats { half, side, values } => {
                self.halves[half.index()][side.index()].extend(values.iter().copied());
            }
            Analysis::AveragePositions { side, players } => {
                let players = &players[..players.len().min(PLAYERS_MAX)];
                self.positions[side.index()] = players.to_vec();
            }
            Analysis::Ratings { side, players } => {
                for PlayerRating { player, rating } in players {
                    let room = self.ratings.len() < 2 * PLAYERS_MAX;
                    if room || self.ratings.contains_key(&player.id) {
                        self.ratings.insert(player.id, (*side, player.clone(), *rating));
                    }
                }
            }
        }
    }

    /// All of it as facts.
    pub(super) fn facts(&self) -> Vec<Analysis> {
        let mut facts: Vec<_> = self.shots.iter().cloned().map(Analysis::Shot).collect();
        for side in Side::BOTH {
            let goals = self.expected_goals[side.index()];
            facts.extend(goals.map(|goals| Analysis::ExpectedGoals { side, goals }));
            for half in Half::BOTH {
                let values = &self.halves[half.index()][side.index()];
                let values: Vec<_> = values.iter().map(|(stat, n)| (*stat, *n)).collect();
                if !values.is_empty() {
                    facts.push(Analysis::HalfStats { half, side, values });
                }
            }
            let players = self.positions[side.index()].clone();
            if !players.is_empty() {
                facts.push(Analysis::AveragePositions { side, players });
            }
            let ratings = self.ratings.values().filter(|it| it.0 == side);
            let players: Vec<_> = ratings
                .map(|(_, player, rating)| PlayerRating { player: player.clone(), rating: *rating })
                .collect();
            if !players.is_empty() {
                facts.push(Analysis::Ratings { side, players });
            }
        }
        let momentum = self.momentum.iter();
        let momentum = momentum.map(|(minute, value)| Momentum { minute: *minute, value: *value });
        facts.extend(momentum.map(Analysis::Momentum));
        facts
    }
}

#[cfg(test)]
mod tests {
    use facts::event::{Fact, FootballFact};
    use simulator::Simulator;

    use super::*;

    #[test]
    fn analysis_is_rebuilt_from_its_facts() {
        let mut analysis = MatchAnalysis::default();
        for timed in Simulator::new(3, 0).take(60_000) {
            for event in timed.batch.events {
                if let Fact::Football(FootballFact::Analysis(fact)) = &event.fact {
                    analysis.apply(fact);
                }
            }
        }
        assert!(!analysis.shots.is_empty() && !analysis.momentum.is_empty(), "{analysis:?}");
        let mut again = MatchAnalysis::default();
        analysis.facts().iter().for_each(|fact| again.apply(fact));
        assert_eq!(again, analysis);
    }
}
