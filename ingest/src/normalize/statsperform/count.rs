//! What single events count for their side.
//!
//! A throw-in is not a pass here, as in every table; other set pieces that are passed are both. Of
//! a second yellow card the red one is counted, and cards of coaches are counted. Possession cannot
//! be derived from single events.

use facts::event::{PlayerStat, Stat};

use crate::decode::statsperform::{Kind, StatsPerformEvent, qualifier};

pub(super) fn stats(event: &StatsPerformEvent) -> [Option<Stat>; 3] {
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
        | Kind::TakeOn
        | Kind::Clearance
        | Kind::Recovery
        | Kind::Tackle
        | Kind::Interception
        | Kind::Aerial
        | Kind::Challenge
        | Kind::Dispossessed
        | Kind::Other => [None; 3],
    }
}

/// What an event counts for the player who acts. Goals, assists and cards count as incidents;
/// offsides do not, because the event names the player who passed. Duels are counted as the
/// provider does: a tackle wins the duel, whichever side gets the ball.
pub(super) fn of_player(event: &StatsPerformEvent) -> Vec<PlayerStat> {
    use PlayerStat as P;
    let own_goal = event.has(qualifier::OWN_GOAL);
    match (event.kind, event.success) {
        (Kind::Pass, complete) => passed_by(event, complete),
        (Kind::OffsidePass, _) => vec![P::TotalPasses],
        (Kind::Foul, true) => vec![P::WasFouled, P::DuelsWon],
        (Kind::Foul, false) => vec![P::Fouls, P::DuelsLost],
        (Kind::Save, _) if saved(event) => vec![P::Saves],
        (Kind::Miss | Kind::AttemptSaved, _) => {
            let on_target = outcome(event) == Stat::ShotsOnTarget;
            [P::TotalShots].into_iter().chain(on_target.then_some(P::ShotsOnTarget)).collect()
        }
        (Kind::Goal, true) if !own_goal => vec![P::TotalShots, P::ShotsOnTarget],
        (Kind::TakeOn, true) => vec![P::Dribbles, P::DribblesWon, P::DuelsWon],
        (Kind::TakeOn, false) => vec![P::Dribbles, P::DuelsLost],
        (Kind::Tackle, true) => vec![P::Tackles, P::TacklesWon, P::DuelsWon],
        (Kind::Tackle, false) => vec![P::Tackles, P::DuelsWon],
        (Kind::Aerial, true) => vec![P::AerialsWon, P::DuelsWon],
        (Kind::Aerial, false) => vec![P::AerialsLost, P::DuelsLost],
        (Kind::Challenge, _) => vec![P::DuelsLost],
        (Kind::Dispossessed, _) => vec![P::Dispossessed, P::DuelsLost],
        (Kind::Clearance, _) => vec![P::Clearances],
        (Kind::Interception, _) => vec![P::Interceptions],
        (Kind::Recovery, _) => vec![P::Recoveries],
        (
            Kind::Save
            | Kind::Goal
            | Kind::Card
            | Kind::Off
            | Kind::On
            | Kind::PeriodEnd
            | Kind::PeriodStart
            | Kind::Other,
            _,
        ) => Vec::new(),
    }
}

/// Crosses are those of open play.
fn passed_by(event: &StatsPerformEvent, complete: bool) -> Vec<PlayerStat> {
    let is_pass = !event.has(qualifier::THROW_IN);
    let is_cross = event.has(qualifier::CROSS) && is_pass && restart(event).is_none();
    let counted = [
        (is_pass, PlayerStat::TotalPasses),
        (is_pass && complete, PlayerStat::AccuratePasses),
        (event.has(qualifier::SHOT_ASSIST), PlayerStat::KeyPasses),
        (is_cross, PlayerStat::TotalCrosses),
        (is_cross && complete, PlayerStat::AccurateCrosses),
    ];
    counted.into_iter().filter(|(it, _)| *it).map(|(_, stat)| stat).collect()
}

fn passed(event: &StatsPerformEvent) -> [Option<Stat>; 3] {
    if event.has(qualifier::THROW_IN) {
        return [Some(Stat::ThrowIns), None, None];
    }
    [Some(Stat::Passes), event.success.then_some(Stat::AccuratePasses), restart(event)]
}

fn restart(event: &StatsPerformEvent) -> Option<Stat> {
    let restarts = [
        (qualifier::CORNER, Stat::CornerKicks),
        (qualifier::FREE_KICK, Stat::FreeKicks),
        (qualifier::GOAL_KICK, Stat::GoalKicks),
    ];
    restarts.into_iter().find(|(it, _)| event.has(*it)).map(|(_, stat)| stat)
}

fn saved(event: &StatsPerformEvent) -> bool {
    event.success && !event.has(qualifier::OUTFIELD_BLOCK)
}

/// What became of a shot that was no goal.
pub(super) fn outcome(event: &StatsPerformEvent) -> Stat {
    if event.kind == Kind::Miss {
        Stat::ShotsOffTarget
    } else if event.has(qualifier::BLOCKED) {
        Stat::BlockedShots
    } else {
        Stat::ShotsOnTarget
    }
}

fn booking(event: &StatsPerformEvent) -> Option<Stat> {
    if event.has(qualifier::RED) || event.has(qualifier::SECOND_YELLOW) {
        Some(Stat::RedCards)
    } else {
        event.has(qualifier::YELLOW).then_some(Stat::YellowCards)
    }
}
