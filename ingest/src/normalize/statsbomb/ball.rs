//! Where the ball is, from the events of the side that has it. Pressure, duels, fouls and saves are
//! recorded for the side without the ball, or for both, and are left out like the kicks of a
//! shoot-out.

use facts::{
    event::{Ball, Side, Situation, Stat},
    football::Period,
};

use super::count;
use crate::{
    decode::statsbomb::{Kind, Position, SetPiece, StatsBombEvent, StatsBombShot},
    normalize::football::open_play,
};

/// The ball at an event of a side, if the event has its place.
pub(super) fn at(event: &StatsBombEvent, side: Side) -> Option<Ball> {
    let Position { x, y } = event.location.filter(|_| event.period != Period::Shootout)?;
    Some(Ball { x, y, side, situation: situation(&event.kind, x)? })
}

fn situation(kind: &Kind, x: u16) -> Option<Situation> {
    match kind {
        Kind::Pass(pass) => Some(pass.set_piece.map_or_else(|| open_play(x), restart)),
        Kind::Shot(shot) => Some(shot_situation(shot)),
        Kind::OwnGoalFor => Some(Situation::Goal),
        Kind::Offside => Some(Situation::Offside),
        Kind::OnTheBall | Kind::Dribble { .. } | Kind::Recovery { .. } | Kind::Clearance => {
            Some(open_play(x))
        }
        _ => None,
    }
}

fn restart(set_piece: SetPiece) -> Situation {
    match set_piece {
        SetPiece::Corner => Situation::Corner,
        SetPiece::FreeKick => Situation::FreeKick,
        SetPiece::GoalKick => Situation::GoalKick,
        SetPiece::ThrowIn => Situation::ThrowIn,
    }
}

fn shot_situation(shot: &StatsBombShot) -> Situation {
    match count::outcome(shot) {
        _ if shot.goal => Situation::Goal,
        _ if shot.penalty => Situation::Penalty,
        Stat::ShotsOnTarget => Situation::ShotOnTarget,
        _ => Situation::ShotOffTarget,
    }
}
