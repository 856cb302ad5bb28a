//! What single events count for their side.
//!
//! A throw-in is not a pass here, as in every table; other set pieces that are passed are both. Of
//! a second yellow card the red one is counted. Possession cannot be derived from single events.

use facts::event::{PlayerStat, Stat};

use crate::decode::statsbomb::{
    Card, Goalkeeping, Kind, Pass, SetPiece, StatsBombEvent, StatsBombShot,
};

pub(super) fn stats(event: &StatsBombEvent) -> [Option<Stat>; 4] {
    match &event.kind {
        Kind::Pass(pass) => passed(*pass),
        Kind::Shot(shot) => [Some(Stat::TotalShots), Some(outcome(shot)), None, None],
        Kind::Foul(card) => [Some(Stat::Fouls), card.map(booking), None, None],
        Kind::BadBehaviour(card) => [card.map(booking), None, None, None],
        Kind::Offside => [Some(Stat::Offsides), None, None, None],
        Kind::Goalkeeper(Goalkeeping { save: true, .. }) => [Some(Stat::Saves), None, None, None],
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

/// What an event counts for the player who acts. Goals, assists and cards count as incidents; who was
/// offside is not among it, because the events name who passed.
pub(super) fn of_player(event: &StatsBombEvent) -> Vec<PlayerStat> {
    let mut stats = match &event.kind {
        Kind::Pass(pass) => passed_by(*pass),
        Kind::Shot(shot) => {
            let on_target = outcome(shot) == Stat::ShotsOnTarget;
            let on_target = on_target.then_some(PlayerStat::ShotsOnTarget);
            [PlayerStat::TotalShots].into_iter().chain(on_target).collect()
        }
        Kind::Dribble { complete: true } => vec![PlayerStat::Dribbles, PlayerStat::DribblesWon],
        Kind::Dribble { complete: false } => vec![PlayerStat::Dribbles],
        Kind::Tackle { won: true } => {
            vec![PlayerStat::Tackles, PlayerStat::TacklesWon, PlayerStat::DuelsWon]
        }
        Kind::Tackle { won: false } => vec![PlayerStat::Tackles, PlayerStat::DuelsLost],
        Kind::AerialLost => vec![PlayerStat::AerialsLost, PlayerStat::DuelsLost],
        Kind::Clearance => vec![PlayerStat::Clearances],
        Kind::Interception => vec![PlayerStat::Interceptions],
        Kind::Recovery { failed: false } => vec![PlayerStat::Recoveries],
        Kind::Dispossessed => vec![PlayerStat::Dispossessed],
        Kind::Foul(_) => vec![PlayerStat::Fouls],
        Kind::FoulWon => vec![PlayerStat::WasFouled],
        Kind::Goalkeeper(Goalkeeping { save, conceded }) => {
            let counted = [(*save, PlayerStat::Saves), (*conceded, PlayerStat::GoalsConceded)];
            counted.into_iter().filter(|(it, _)| *it).map(|(_, stat)| stat).collect()
        }
        Kind::StartingXi(_)
        | Kind::HalfStart
        | Kind::HalfEnd
        | Kind::OwnGoalFor
        | Kind::OwnGoalAgainst
        | Kind::BadBehaviour(_)
        | Kind::Substitution { .. }
        | Kind::Offside
        | Kind::Recovery { failed: true }
        | Kind::OnTheBall
        | Kind::Other => Vec::new(),
    };
    if event.aerial_won {
        stats.extend([PlayerStat::AerialsWon, PlayerStat::DuelsWon]);
    }
    stats
}

fn passed_by(pass: Pass) -> Vec<PlayerStat> {
    let is_pass = pass.set_piece != Some(SetPiece::ThrowIn);
    let counted = [
        (is_pass, PlayerStat::TotalPasses),
        (is_pass && pass.complete, PlayerStat::AccuratePasses),
        (pass.key, PlayerStat::KeyPasses),
        (pass.cross, PlayerStat::TotalCrosses),
        (pass.cross && pass.complete, PlayerStat::AccurateCrosses),
        (pass.interception, PlayerStat::Interceptions),
    ];
    counted.into_iter().filter(|(it, _)| *it).map(|(_, stat)| stat).collect()
}

/// What became of a shot.
pub(super) fn outcome(shot: &StatsBombShot) -> Stat {
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
