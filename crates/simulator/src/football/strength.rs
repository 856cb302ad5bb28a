//! How many goals the sides are worth, by their class, the players they have left, and the ball.

use crate::names;
use facts::event::{Ball, Pair, Participant, Side, Situation};

/// Goals of an average home and away side in a match: 2.7 together, as in most leagues.
const GOALS_BASE: Pair<f64> = [1.5, 1.2];
/// How much better or worse than average an attack and a defence can be.
const ATTACK: f64 = 0.3;
const DEFENCE: f64 = 0.25;
/// What a player fewer does to a side's own rate and to the other's.
const MAN_DOWN: f64 = 0.72;
const MAN_UP: f64 = 1.3;
/// Goals of a side from penalties: 0.27 kicks a match, of which three of four go in.
const GOALS_FROM_PENALTIES: f64 = 0.1;
/// Shots of a side in a match, less what the video assistant takes back: measured over ten thousand
/// matches. A test of the average score holds it in place.
const SHOTS: f64 = 13.6;

#[derive(Debug)]
pub(super) struct Strength {
    /// Goals a match of each side, eleven against eleven.
    base: Pair<f64>,
    /// Goals a match of each side in the current state.
    now: Pair<f64>,
}

impl Strength {
    pub(super) fn new(teams: &Pair<Participant>) -> Self {
        let base = [0, 1].map(|side: usize| {
            let attack = 1.0 + ATTACK * names::skill(&teams[side], 0);
            let defence = 1.0 - DEFENCE * names::skill(&teams[1 - side], 1);
            GOALS_BASE[side] * attack * defence
        });
        Self { base, now: base }
    }

    /// Players were sent off, that many of each side by now.
    pub(super) fn sent_off(&mut self, reds: Pair<usize>) {
        let power = |factor: f64, count: usize| (0..count).fold(1.0, |all, _| all * factor);
        self.now = [0, 1].map(|side: usize| {
            self.base[side] * power(MAN_DOWN, reds[side]) * power(MAN_UP, reds[1 - side])
        });
    }

    /// The probability that a shot of a side goes in.
    pub(super) fn of_shot(&self, side: Side) -> f64 {
        (self.now[side.index()] - GOALS_FROM_PENALTIES).max(0.0) / SHOTS
    }

    /// Goals still expected of each side, over a share of the match that is left and with the ball
    /// where it is.
    pub(super) fn to_come(&self, left: f64, ball: Ball) -> Pair<f64> {
        Side::BOTH.map(|side| {
            let promise = if side == ball.side { promise(ball.situation) } else { 0.0 };
            self.now[side.index()] * (left + promise)
        })
    }
}

/// What a situation adds to the goals to come, as a share of a whole match's: a dangerous attack
/// is worth about a minute and a half of ordinary play.
fn promise(situation: Situation) -> f64 {
    match situation {
        Situation::Dangerous => 0.016,
        Situation::Corner => 0.014,
        Situation::ShotOnTarget => 0.02,
        Situation::Attack => 0.004,
        Situation::FreeKick => 0.005,
        _ => 0.0,
    }
}
