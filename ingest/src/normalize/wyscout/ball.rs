//! Where the ball is, from the events of the side that has it.
//!
//! Other events are left out: a foul, a defending duel and a save are recorded for the side without
//! the ball, and a save has a corner of the pitch as its position. So are the kicks of a shoot-out,
//! half of which the data places at the wrong end.

use facts::{
    event::{Ball, Side, Situation, Stat},
    football::Period,
};

use super::tally;
use crate::{
    decode::wyscout::{Kind, Position, SetPiece, Tag, WyscoutEvent},
    normalize::football::open_play,
};

/// The ball at an event of a side, if the event has its place.
pub(super) fn at(event: &WyscoutEvent, side: Side) -> Option<Ball> {
    if event.period == Period::Shootout {
        return None;
    }
    let Position { x, y } = event.origin?;
    if event.has(Tag::OwnGoal) {
        // Seen from the other side, for which it is a goal.
        let (x, y) = (1000 - x, 1000 - y);
        return Some(Ball { x, y, side: side.other(), situation: Situation::Goal });
    }
    Some(Ball { x, y, side, situation: situation(event, x)? })
}

fn situation(event: &WyscoutEvent, x: u16) -> Option<Situation> {
    match event.kind {
        Kind::Shot => Some(shot(event)),
        Kind::FreeKick(set_piece) => Some(restart(event, set_piece)),
        Kind::Offside => Some(Situation::Offside),
        Kind::Pass | Kind::AttackingDuel | Kind::OnTheBall => Some(open_play(x)),
        Kind::Foul { .. } | Kind::SaveAttempt | Kind::Other => None,
    }
}

fn shot(event: &WyscoutEvent) -> Situation {
    match tally::outcome(event) {
        _ if event.has(Tag::Goal) => Situation::Goal,
        Stat::ShotsOnTarget => Situation::ShotOnTarget,
        _ => Situation::ShotOffTarget,
    }
}

fn restart(event: &WyscoutEvent, set_piece: SetPiece) -> Situation {
    match set_piece {
        _ if event.has(Tag::Goal) => Situation::Goal,
        SetPiece::FreeKick | SetPiece::FreeKickShot => Situation::FreeKick,
        SetPiece::Corner => Situation::Corner,
        SetPiece::GoalKick => Situation::GoalKick,
        SetPiece::Penalty => Situation::Penalty,
        SetPiece::ThrowIn => Situation::ThrowIn,
    }
}
