//! What single events count for their side.
//!
//! A throw-in is no pass here, as in every table; other set pieces that are passed are both. Of a
//! second yellow card the red one is counted, and cards of coaches are counted. Possession is not
//! told by single events.

use crate::{
    decode::statsperform::{Event, Kind, qualifier},
    event::Stat,
};

pub(super) fn stats(event: &Event) -> [Option<Stat>; 3] {
    match event.kind {
        Kind::Pass => passed(event),
        Kind::OffsidePass => [Some(Stat::Passes), Some(Stat::Offsides), None],
        Kind::Foul => [(!event.success).then_some(Stat::Fouls), None, None],
        Kind::Save => [saved(event).then_some(Stat::Saves), None, None],
        Kind::Miss | Kind::AttemptSaved => [Some(Stat::TotalShots), Some(outcome(event)), None],
        // A goal that does not stand was no shot, and an own goal is none of its side's.
        Kind::Goal if !event.success || event.has(qualifier::OWN_GOAL) => [None; 3],
        Kind::Goal => [Some(Stat::TotalShots), Some(Stat::ShotsOnTarget), None],
        Kind::Card => [booking(event), None, None],
        Kind::Off
        | Kind::On
        | Kind::PeriodEnd
        | Kind::PeriodStart
        | Kind::OnTheBall
        | Kind::Other => [None; 3],
    }
}

fn passed(event: &Event) -> [Option<Stat>; 3] {
    if event.has(qualifier::THROW_IN) {
        return [Some(Stat::ThrowIns), None, None];
    }
    [Some(Stat::Passes), event.success.then_some(Stat::AccuratePasses), restart(event)]
}

fn restart(event: &Event) -> Option<Stat> {
    let restarts = [
        (qualifier::CORNER, Stat::CornerKicks),
        (qualifier::FREE_KICK, Stat::FreeKicks),
        (qualifier::GOAL_KICK, Stat::GoalKicks),
    ];
    restarts.into_iter().find(|(it, _)| event.has(*it)).map(|(_, stat)| stat)
}

fn saved(event: &Event) -> bool {
    event.success && !event.has(qualifier::OUTFIELD_BLOCK)
}

/// What became of a shot that was no goal.
pub(super) fn outcome(event: &Event) -> Stat {
    if event.kind == Kind::Miss {
        Stat::ShotsOffTarget
    } else if event.has(qualifier::BLOCKED) {
        Stat::BlockedShots
    } else {
        Stat::ShotsOnTarget
    }
}

fn booking(event: &Event) -> Option<Stat> {
    if event.has(qualifier::RED) || event.has(qualifier::SECOND_YELLOW) {
        Some(Stat::RedCards)
    } else {
        event.has(qualifier::YELLOW).then_some(Stat::YellowCards)
    }
}
