//! Shots with their place. MA3 has no expected goals.

use facts::event::{BodyPart, GoalMouth, PitchPlace, Shot, ShotOutcome, ShotSituation, Side, Stat};

use super::{count, roster};
use crate::{
    decode::statsperform::{Kind, StatsPerformEvent, qualifier},
    normalize::football::Course,
};

/// The provider's height of the crossbar in its units for the goal mouth.
const CROSSBAR: f64 = 38.0;

/// The shot that an event is, if it is one.
pub(super) fn new_shot(course: &Course, event: &StatsPerformEvent, side: Side) -> Option<Shot> {
    let own_goal = event.has(qualifier::OWN_GOAL);
    let outcome = match event.kind {
        Kind::Goal if event.success && !own_goal => ShotOutcome::Goal,
        Kind::Miss if event.hit_post => ShotOutcome::Post,
        Kind::Miss => ShotOutcome::OffTarget,
        Kind::AttemptSaved if count::outcome(event) == Stat::BlockedShots => ShotOutcome::Blocked,
        Kind::AttemptSaved => ShotOutcome::Saved,
        _ => return None,
    };
    Some(Shot {
        player: event.player.as_ref().map(roster::player),
        situation: Some(situation(event)),
        body_part: body_part(event),
        location: event.position.map(|it| PitchPlace { x: it.x, y: it.y }),
        goal_mouth: goal_mouth(event).filter(|_| outcome != ShotOutcome::Blocked),
        ..course.shot(event.id.clone(), side, outcome)
    })
}

fn situation(event: &StatsPerformEvent) -> ShotSituation {
    let mapping = [
        (qualifier::PENALTY, ShotSituation::Penalty),
        (qualifier::DIRECT_FREE_KICK, ShotSituation::FreeKick),
        (qualifier::FROM_CORNER, ShotSituation::Corner),
        (qualifier::SET_PIECE, ShotSituation::SetPiece),
        (qualifier::FROM_THROW_IN, ShotSituation::ThrowIn),
        (qualifier::FAST_BREAK, ShotSituation::FastBreak),
        (qualifier::ASSISTED, ShotSituation::Assisted),
    ];
    let found = mapping.into_iter().find(|(it, _)| event.has(*it));
    found.map_or(ShotSituation::Regular, |(_, situation)| situation)
}

fn body_part(event: &StatsPerformEvent) -> Option<BodyPart> {
    let mapping = [
        (qualifier::HEAD, BodyPart::Head),
        (qualifier::RIGHT_FOOT, BodyPart::RightFoot),
        (qualifier::OTHER_BODY_PART, BodyPart::Other),
        (qualifier::LEFT_FOOT, BodyPart::LeftFoot),
    ];
    mapping.into_iter().find(|(it, _)| event.has(*it)).map(|(_, part)| part)
}

/// The provider counts `y` from the right.
fn goal_mouth(event: &StatsPerformEvent) -> Option<GoalMouth> {
    let y = event.decimal(qualifier::GOAL_MOUTH_Y)?;
    let z = event.decimal(qualifier::GOAL_MOUTH_Z)?;
    let tenths = |value: f64, max: f64| (value * 10.0).round().clamp(0.0, max) as u16;
    Some(GoalMouth { y: tenths(100.0 - y, 1000.0), z: tenths(z / CROSSBAR * 100.0, 9_999.0) })
}
