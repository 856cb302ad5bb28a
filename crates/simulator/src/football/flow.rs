//! The ball: who has it, where it is, and what may come of it next.
//!
//! A chain of situations with fixed chances for what follows. Both sides play the same chain; how
//! good they are shows in what becomes of a shot.

use crate::dice::Dice;
use facts::event::{Ball, Side, Situation};

/// What comes of a situation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// The same side goes on.
    Keep(Situation),
    /// The other side has it.
    Lose(Situation),
    /// The other side fouls: a free kick.
    Foul,
    /// The other side fouls in its box.
    Penalty,
    Offside,
    Shot,
}

#[derive(Debug)]
pub(super) struct Flow {
    ball: Ball,
}

impl Flow {
    pub(super) fn kick_off(side: Side) -> Self {
        Self { ball: Ball { x: 500, y: 500, side, situation: Situation::Possession } }
    }

    pub(super) fn ball(&self) -> Ball {
        self.ball
    }

    /// Draws what comes of the situation.
    pub(super) fn turn(&self, dice: &mut Dice) -> Turn {
        let turns = turns(self.ball.situation);
        turns[dice.weighted(turns.iter().map(|(weight, _)| f64::from(*weight)))].1
    }

    /// The ball is the other side's, which sees the pitch from the other end.
    pub(super) fn lose(&mut self) {
        let Ball { x, y, side, situation } = self.ball;
        self.ball = Ball { x: 1000 - x, y: 1000 - y, side: side.other(), situation };
    }

    /// The side that has the ball comes into a situation.
    pub(super) fn enter(&mut self, situation: Situation, dice: &mut Dice) {
        let (low, high) = reach(situation);
        let x = dice.between(low, high) as u16;
        let y = match situation {
            Situation::Corner | Situation::ThrowIn => {
                if self.ball.y < 500 {
                    0
                } else {
                    1000
                }
            }
            Situation::GoalKick | Situation::Penalty | Situation::Goal => 500,
            _ => self.drift(dice),
        };
        self.ball = Ball { x, y, situation, ..self.ball };
    }

    /// Whether something is about to happen: no referee ends a half here.
    pub(super) fn is_threat(&self) -> bool {
        matches!(self.ball.situation, Situation::Dangerous | Situation::Corner)
    }

    /// Whether the ball is out of play, as it must be for a substitution.
    pub(super) fn is_dead(&self) -> bool {
        matches!(
            self.ball.situation,
            Situation::Corner
                | Situation::FreeKick
                | Situation::ThrowIn
                | Situation::GoalKick
                | Situation::ShotOffTarget
        )
    }

    /// Milliseconds until the next turn: dead balls take longer.
    pub(super) fn pause_ms(&self) -> (i64, i64) {
        match self.ball.situation {
            Situation::Corner | Situation::FreeKick | Situation::GoalKick => (6_000, 14_000),
            Situation::ThrowIn | Situation::ShotOffTarget => (4_000, 9_000),
            Situation::ShotOnTarget => (2_000, 4_000),
            _ => (2_600, 4_600),
        }
    }

    fn drift(&self, dice: &mut Dice) -> u16 {
        let y = i32::from(self.ball.y) + (dice.swing() * 250.0) as i32;
        y.clamp(20, 980) as u16
    }
}

/// How far up the pitch a situation takes place.
fn reach(situation: Situation) -> (u32, u32) {
    match situation {
        Situation::Safe => (80, 400),
        Situation::Possession => (300, 600),
        Situation::Attack | Situation::FreeKick => (520, 780),
        Situation::Dangerous | Situation::ShotOffTarget | Situation::ShotOnTarget => (780, 960),
        Situation::ThrowIn => (250, 850),
        Situation::GoalKick => (55, 60),
        Situation::Penalty => (895, 895),
        Situation::Corner | Situation::Goal => (1000, 1000),
        Situation::Offside | Situation::Injury | Situation::Substitution => (300, 800),
    }
}

/// What may follow, with weights. They are ours, set so that a match has about 25
/// shots, 10 corners, 22 fouls and 40 throw-ins, as league matches do.
fn turns(situation: Situation) -> &'static [(u16, Turn)] {
    use Situation::{
        Attack, Corner, Dangerous, FreeKick, GoalKick, Possession, Safe, ShotOffTarget,
        ShotOnTarget, ThrowIn,
    };
    use Turn::{Foul, Keep, Lose, Offside, Penalty, Shot};
    match situation {
        Attack => &[
            (270, Keep(Dangerous)),
            (250, Keep(Possession)),
            (120, Keep(Attack)),
            (265, Lose(Possession)),
            (22, Keep(ThrowIn)),
            (22, Lose(ThrowIn)),
            (25, Foul),
            (15, Offside),
        ],
        Dangerous => &[
            (185, Shot),
            (220, Keep(Dangerous)),
            (55, Keep(Corner)),
            (275, Lose(Safe)),
            (110, Lose(GoalKick)),
            (130, Keep(Attack)),
            (20, Foul),
            (2, Penalty),
        ],
        Corner => &[(450, Keep(Dangerous)), (150, Shot), (400, Lose(Possession))],
        FreeKick => &[(450, Keep(Attack)), (150, Keep(Dangerous)), (400, Keep(Possession))],
        ThrowIn => &[(500, Keep(Possession)), (300, Keep(Attack)), (200, Lose(Possession))],
        GoalKick => &[(600, Keep(Safe)), (400, Lose(Possession))],
        ShotOnTarget => &[(250, Keep(Corner)), (650, Lose(Safe)), (100, Keep(Dangerous))],
        ShotOffTarget => &[(850, Lose(GoalKick)), (150, Keep(Corner))],
        _ => &[
            (300, Keep(Attack)),
            (290, Keep(Possession)),
            (100, Keep(Safe)),
            (220, Lose(Possession)),
            (22, Keep(ThrowIn)),
            (22, Lose(ThrowIn)),
            (15, Foul),
        ],
    }
}
