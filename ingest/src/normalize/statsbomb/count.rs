//! What single events count for their side.
//!
//! A throw-in is no pass here, as in every table; other set pieces that are passed are both. Of a
//! second yellow card the red one is counted. Possession is not told by single events.

use crate::{
    decode::statsbomb::{Card, Event, Goalkeeping, Kind, Pass, SetPiece, Shot},
    event::Stat,
};

pub(super) fn stats(event: &Event) -> [Option<Stat>; 4] {
    match &event.kind {
        Kind::Pass(pass) => passed(*pass),
        Kind::Shot(shot) => [Some(Stat::TotalShots), Some(outcome(shot)), None, None],
        Kind::Foul(card) => [Some(Stat::Fouls), card.map(booking), None, None],
        Kind::BadBehaviour(card) => [card.map(booking), None, None, None],
        Kind::Offside => [Some(Stat::Offsides), None, None, None],
        Kind::Goalkeeper(Goalkeeping { save: true }) => [Some(Stat::Saves), None, None, None],
        _ => [None; 4],
    }
}

fn passed(pass: Pass) -> [Option<Stat>; 4] {
    let restart = pass.set_piece.map(|set_piece| match set_piece {
        SetPiece::Corner => Stat::CornerKicks,
        SetPiece::FreeKick => Stat::FreeKicks,
        SetPiece::GoalKick => Stat::GoalKicks,
        SetPiece::ThrowIn => Stat::ThrowIns,
    });
    let offside = pass.offside.then_some(Stat::Offsides);
    if pass.set_piece == Some(SetPiece::ThrowIn) {
        return [restart, offside, None, None];
    }
    [Some(Stat::Passes), pass.complete.then_some(Stat::AccuratePasses), restart, offside]
}

/// What became of a shot.
pub(super) fn outcome(shot: &Shot) -> Stat {
    if shot.blocked {
        Stat::BlockedShots
    } else if shot.goal || shot.saved {
        Stat::ShotsOnTarget
    } else {
        Stat::ShotsOffTarget
    }
}

fn booking(card: Card) -> Stat {
    match card {
        Card::Yellow => Stat::YellowCards,
        Card::SecondYellow | Card::Red => Stat::RedCards,
    }
}
