//! Which side has the run of play.
//!
//! Football: each new situation of the ball weighs by how close it is to a goal ([`weight`]), and loses
//! half of its weight every two minutes. Once the weights add up to `WEIGHT_MIN`, a side has the
//! momentum from 70 % of the whole on, and keeps it down to 60 %.
//!
//! Tennis: of the last twelve points nine, and keeps it down to eight.
//!
//! The weights are ours. They follow the order in which feeds rank situations (safe, attack, dangerous
//! attack, shot), and are no fit on data.

use std::collections::VecDeque;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{Ball, Side, Situation};
use fanout::Micros;
use rust_decimal::{Decimal, prelude::FromPrimitive};

use super::{Finding, Signal, SignalKind, Topic};

const HALF_LIFE_US: f64 = 120.0 * 1e6;

/// The weight of a few minutes of play. Less is not significant.
const WEIGHT_MIN: f64 = 8.0;

const GAIN_SHARE: f64 = 0.7;
const KEEP_SHARE: f64 = 0.6;

const POINTS: usize = 12;
const POINTS_TO_GAIN: usize = 9;
const POINTS_TO_KEEP: usize = 8;

/// The run of play of one match.
#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub struct MomentumTracker {
    /// Weights of both sides at the moment of the last situation.
    weights: [f64; 2],
    at: Micros,
    last: Option<(Side, Situation)>,
    /// Who won the last points, the oldest first.
    points: VecDeque<Side>,
    leader: Option<Side>,
}

impl MomentumTracker {
    /// The ball is somewhere now. Only what is new about it counts.
    pub fn ball(&mut self, ball: Ball, at: Micros) -> Option<Signal> {
        let state = (ball.side, ball.situation);
        if self.last.replace(state) != Some(state) {
            self.decay(at);
            self.weights[ball.side.index()] += weight(ball.situation);
        }
        let whole = self.weights[0] + self.weights[1];
        let share = |side: Side| self.weights[side.index()] / whole;
        let keeps = |side: &Side| share(*side) >= KEEP_SHARE;
        let gains = |side: &Side| share(*side) >= GAIN_SHARE;
        let leader = if whole < WEIGHT_MIN {
            None
        } else {
            self.leader.filter(keeps).or_else(|| Side::BOTH.into_iter().find(gains))
        };
        self.leader = leader;
        leader.map(|side| signal(side, share(side)))
    }

    /// A side has won a point.
    pub fn point(&mut self, winner: Side) -> Option<Signal> {
        if self.points.len() == POINTS {
            self.points.pop_front();
        }
        self.points.push_back(winner);
        let won = |side: Side| self.points.iter().filter(|it| **it == side).count();
        let leader = self.leader.filter(|side| won(*side) >= POINTS_TO_KEEP);
        let gains = |side: &Side| won(*side) >= POINTS_TO_GAIN;
        self.leader = leader.or_else(|| Side::BOTH.into_iter().find(gains));
        self.leader.map(|side| signal(side, won(side) as f64 / self.points.len() as f64))
    }

    fn decay(&mut self, at: Micros) {
        let since = (at - self.at).max(0) as f64;
        let decay = (-since / HALF_LIFE_US).exp2();
        self.weights = self.weights.map(|weight| weight * decay);
        self.at = self.at.max(at);
    }
}

fn signal(side: Side, share: f64) -> Signal {
    let share = Decimal::from_f64(share).unwrap_or(Decimal::ONE).round_dp(4);
    let beyond = (share - Decimal::new(5, 1)).max(Decimal::ZERO);
    Signal {
        topic: Topic { kind: SignalKind::Momentum, market: None, outcome: None, bookmaker: None },
        strength: super::strength(beyond, Decimal::new(5, 1)),
        finding: Finding::Momentum { side: u8::from(side == Side::Second), share },
    }
}

/// What a situation says of the run of play.
#[must_use]
pub fn weight(situation: Situation) -> f64 {
    match situation {
        Situation::Goal | Situation::Penalty => 6.0,
        Situation::ShotOnTarget => 4.0,
        Situation::ShotOffTarget => 3.0,
        Situation::Dangerous | Situation::Corner => 2.0,
        Situation::Attack | Situation::FreeKick => 1.0,
        Situation::Possession
        | Situation::Safe
        | Situation::ThrowIn
        | Situation::GoalKick
        | Situation::Offside
        | Situation::Injury
        | Situation::Substitution => 0.0,
    }
}
