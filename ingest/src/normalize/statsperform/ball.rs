//! Where the ball is, from the events of the side that has it. Fouls, duels and saves are recorded
//! for the side without the ball, or for both, and are left out like the kicks of a shoot-out.

use facts::{
    event::{Ball, Side, Situation, Stat},
    football::Period,
};

use super::count;
use crate::{
    decode::statsperform::{Kind, Position, StatsPerformEvent, qualifier},
    normalize::football::open_play,
};

/// The ball at an event of a side, if the event has its place.
pub(super) fn at(event: &StatsPerformEvent, side: Side) -> Option<Ball> {
    let Position { x, y } = event.position.filter(|_| event.period != Period::Shootout)?;
    if event.kind == Kind::Goal && event.has(qualifier::OWN_GOAL) {
        // Seen from the other side, for which it is a goal.
        let (x, y) = (1000 - x, 1000 - y);
        let ball = Ball { x, y, side: side.other(), situation: Situation::Goal };
        return event.success.then_some(ball);
    }
    Some(Ball { x, y, side, situation: situation(event, x)? })
}

fn situation(event: &StatsPerformEvent, x: u16) -> Option<Situation> {
    match event.kind {
        Kind::Pass => Some(restart(event).unwrap_or_else(|| open_play(x))),
        Kind::OffsidePass => Some(Situation::Offside),
        Kind::Goal => event.success.then_some(Situation::Goal),
        Kind::Miss | Kind::AttemptSaved => Some(shot(event)),
        Kind::TakeOn | Kind::Clearance | Kind::Recovery => Some(open_play(x)),
        _ => None,
    }
}

fn restart(event: &StatsPerformEvent) -> Option<Situation> {
    let restarts = [
        (qualifier::CORNER, Situation::Corner),
        (qualifier::FREE_KICK, Situation::FreeKick),
        (qualifier::GOAL_KICK, Situation::GoalKick),
        (qualifier::THROW_IN, Situation::ThrowIn),
    ];
    restarts.into_iter().find(|(it, _)| event.has(*it)).map(|(_, situation)| situation)
}

fn shot(event: &StatsPerformEvent) -> Situation {
    match count::outcome(event) {
        _ if event.has(qualifier::PENALTY) => Situation::Penalty,
        Stat::ShotsOnTarget => Situation::ShotOnTarget,
        _ => Situation::ShotOffTarget,
    }
}
