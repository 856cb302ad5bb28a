//! What single events count for their side.
//!
//! Possession is not among them: the events are touches, and the time between two of them belongs
//! to neither side. Of a second yellow card the red one is counted, as every table does.

use facts::event::{PlayerStat, Stat};

use crate::decode::wyscout::{Detail, Kind, SetPiece, Tag, WyscoutEvent};

pub(super) fn stats(event: &WyscoutEvent) -> [Option<Stat>; 2] {
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

fn restart(event: &WyscoutEvent, set_piece: SetPiece) -> [Option<Stat>; 2] {
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

/// What an event counts for the player who acts. Goals, assists and cards count as incidents.
pub(super) fn of_player(event: &WyscoutEvent) -> Vec<PlayerStat> {
    let is_pass = event.kind == Kind::Pass;
    let is_cross = event.detail == Some(Detail::Cross);
    let is_shot = stats(event).contains(&Some(Stat::TotalShots));
    let is_duel = matches!(event.detail, Some(Detail::AirDuel | Detail::GroundDuel));
    let is_aerial = event.detail == Some(Detail::AirDuel);
    let is_dribble = event.kind == Kind::AttackingDuel
        && (event.has(Tag::TakeOnLeft) || event.has(Tag::TakeOnRight));
    let (accurate, won, lost) =
        (event.has(Tag::Accurate), event.has(Tag::Won), event.has(Tag::Lost));
    let counted = [
        (is_pass, PlayerStat::TotalPasses),
        (is_pass && accurate, PlayerStat::AccuratePasses),
        (event.has(Tag::KeyPass) || event.has(Tag::Assist), PlayerStat::KeyPasses),
        (is_cross, PlayerStat::TotalCrosses),
        (is_cross && accurate, PlayerStat::AccurateCrosses),
        (is_shot, PlayerStat::TotalShots),
        (is_shot && outcome(event) == Stat::ShotsOnTarget, PlayerStat::ShotsOnTarget),
        (is_dribble, PlayerStat::Dribbles),
        (is_dribble && won, PlayerStat::DribblesWon),
        (is_duel && won, PlayerStat::DuelsWon),
        (is_duel && lost, PlayerStat::DuelsLost),
        (is_aerial && won, PlayerStat::AerialsWon),
        (is_aerial && lost, PlayerStat::AerialsLost),
        (event.detail == Some(Detail::Clearance), PlayerStat::Clearances),
        (event.has(Tag::Interception), PlayerStat::Interceptions),
        (event.kind == Kind::Foul { contact: true }, PlayerStat::Fouls),
        (event.kind == Kind::Offside, PlayerStat::Offsides),
        (event.kind == Kind::SaveAttempt && !event.has(Tag::Goal), PlayerStat::Saves),
    ];
    counted.into_iter().filter(|(it, _)| *it).map(|(_, stat)| stat).collect()
}

/// What became of a shot.
pub(super) fn outcome(shot: &WyscoutEvent) -> Stat {
    if shot.has(Tag::Blocked) {
        Stat::BlockedShots
    } else if shot.has(Tag::Goal) || shot.has(Tag::Accurate) || shot.within_frame() {
        Stat::ShotsOnTarget
    } else {
        Stat::ShotsOffTarget
    }
}

fn card(event: &WyscoutEvent) -> Option<Stat> {
    if event.has(Tag::Red) || event.has(Tag::SecondYellow) {
        Some(Stat::RedCards)
    } else {
        event.has(Tag::Yellow).then_some(Stat::YellowCards)
    }
}
