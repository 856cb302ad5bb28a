//! What single events count for their side.
//!
//! Possession is not among them: the events are touches, and the time between two of them belongs
//! to nobody. Of a second yellow card the red one is counted, as every table does.

use crate::{
    decode::wyscout::{Event, Kind, SetPiece, Tag},
    event::Stat,
};

pub(super) fn stats(event: &Event) -> [Option<Stat>; 2] {
    match event.kind {
        Kind::Pass => {
            [Some(Stat::Passes), event.has(Tag::Accurate).then_some(Stat::AccuratePasses)]
        }
        Kind::Shot => [Some(Stat::TotalShots), Some(outcome(event))],
        Kind::FreeKick(set_piece) => restart(event, set_piece),
        Kind::Foul { contact } => [contact.then_some(Stat::Fouls), card(event)],
        Kind::Offside => [Some(Stat::Offsides), None],
        Kind::SaveAttempt => [(!event.has(Tag::Goal)).then_some(Stat::Saves), None],
        Kind::AttackingDuel | Kind::OnTheBall | Kind::Other => [None; 2],
    }
}

fn restart(event: &Event, set_piece: SetPiece) -> [Option<Stat>; 2] {
    match set_piece {
        SetPiece::FreeKick => [Some(Stat::FreeKicks), None],
        // A free kick at goal is counted as the shot that it is.
        SetPiece::FreeKickShot | SetPiece::Penalty => {
            [Some(Stat::TotalShots), Some(outcome(event))]
        }
        SetPiece::Corner => [Some(Stat::CornerKicks), None],
        SetPiece::GoalKick => [Some(Stat::GoalKicks), None],
        SetPiece::ThrowIn => [Some(Stat::ThrowIns), None],
    }
}

/// What became of a shot.
pub(super) fn outcome(shot: &Event) -> Stat {
    if shot.has(Tag::Blocked) {
        Stat::BlockedShots
    } else if shot.has(Tag::Goal) || shot.has(Tag::Accurate) || shot.within_frame() {
        Stat::ShotsOnTarget
    } else {
        Stat::ShotsOffTarget
    }
}

fn card(event: &Event) -> Option<Stat> {
    if event.has(Tag::Red) || event.has(Tag::SecondYellow) {
        Some(Stat::RedCards)
    } else {
        event.has(Tag::Yellow).then_some(Stat::YellowCards)
    }
}
