//! Shots with their place. This form of the provider's data has no expected goals.

use facts::{
    event::{BodyPart, Participant, PitchPlace, Shot, ShotOutcome, ShotSituation, Side, Stat},
    football::Period,
};

use super::tally;
use crate::{
    decode::wyscout::{Kind, SetPiece, Tag, WyscoutEvent},
    normalize::football::Course,
};

/// The shot that an event is, if it is one.
pub(super) fn new_shot(
    course: &Course,
    event: &WyscoutEvent,
    player: Option<Participant>,
    side: Side,
) -> Option<Shot> {
    let situation = match event.kind {
        Kind::Shot if event.has(Tag::CounterAttack) => ShotSituation::FastBreak,
        Kind::Shot => ShotSituation::Regular,
        Kind::FreeKick(SetPiece::FreeKickShot) => ShotSituation::FreeKick,
        Kind::FreeKick(SetPiece::Penalty) => ShotSituation::Penalty,
        _ => return None,
    };
    // Half of the kicks of a shoot-out are placed at the wrong end.
    let origin = event.origin.filter(|_| event.period != Period::Shootout);
    Some(Shot {
        player,
        situation: Some(situation),
        body_part: body_part(event),
        location: origin.map(|it| PitchPlace { x: it.x, y: it.y }),
        ..course.shot(event.id.to_string().into(), side, outcome(event))
    })
}

fn outcome(event: &WyscoutEvent) -> ShotOutcome {
    if event.has(Tag::Goal) {
        return ShotOutcome::Goal;
    }
    match tally::outcome(event) {
        Stat::BlockedShots => ShotOutcome::Blocked,
        Stat::ShotsOnTarget => ShotOutcome::Saved,
        _ if event.hit_post() => ShotOutcome::Post,
        _ => ShotOutcome::OffTarget,
    }
}

fn body_part(event: &WyscoutEvent) -> Option<BodyPart> {
    let parts = [
        (Tag::LeftFoot, BodyPart::LeftFoot),
        (Tag::RightFoot, BodyPart::RightFoot),
        // The provider has one tag for the head and the rest of the body.
        (Tag::HeadOrBody, BodyPart::Head),
    ];
    parts.into_iter().find(|(tag, _)| event.has(*tag)).map(|(_, part)| part)
}
