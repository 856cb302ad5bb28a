//! Shots with their place and their expected goals.

use facts::event::{GoalMouth, PitchPlace, Shot, ShotOutcome, Side};

use super::roster;
use crate::{
    decode::statsbomb::{StatsBombEvent, StatsBombShot},
    normalize::football::Course,
};

/// A shot that ends this close to the goal line has crossed it or was held there, in tenths of a
/// percent of the length of the pitch; others were stopped before.
const GOAL_LINE: u16 = 980;

pub(super) fn new_shot(
    course: &Course,
    event: &StatsBombEvent,
    shot: &StatsBombShot,
    side: Side,
) -> Shot {
    let location = event.location.map(|it| PitchPlace { x: it.x, y: it.y });
    let end = shot.end.filter(|end| !shot.blocked && end.location.x >= GOAL_LINE);
    Shot {
        player: event.player.as_ref().map(roster::player),
        situation: Some(shot.situation),
        body_part: shot.body_part,
        expected_goals: shot.expected_goals,
        location,
        goal_mouth: end.and_then(|end| Some(GoalMouth { y: end.location.y, z: end.height? })),
        ..course.shot(event.id.clone(), side, outcome(shot))
    }
}

fn outcome(shot: &StatsBombShot) -> ShotOutcome {
    if shot.goal {
        ShotOutcome::Goal
    } else if shot.blocked {
        ShotOutcome::Blocked
    } else if shot.saved {
        ShotOutcome::Saved
    } else if shot.post {
        ShotOutcome::Post
    } else {
        ShotOutcome::OffTarget
    }
}
