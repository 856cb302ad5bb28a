//! What happened: goals, cards, missed penalties and the kicks of a shoot-out.

use facts::{
    event::{GoalKind, Incident, IncidentKind, Micros, Participant, Side},
    football::Period,
};

use super::Normalizer;
use crate::decode::wyscout::{Kind, SetPiece, Tag, WyscoutEvent};

/// An assist waits for its goal no longer than this. The provider tags the pass itself; in the
/// recordings the goal follows within four seconds.
const ASSIST_US_MAX: Micros = 15_000_000;

/// A pass, or a kick, that a goal is to follow.
#[derive(Debug)]
pub(super) struct Assist {
    side: Side,
    player: Option<u64>,
    clock_us: Micros,
}

impl Normalizer {
    /// The incident that an event is, if it is one; the score has moved with it.
    pub(super) fn incident(&mut self, event: &WyscoutEvent, side: Side) -> Option<Incident> {
        if event.period == Period::Shootout {
            return self.shootout_kick(event, side);
        }
        if event.has(Tag::Assist) {
            let clock_us = self.course.clock_us();
            self.assist = Some(Assist { side, player: event.player, clock_us });
        }
        if let Some(kind) = goal(event) {
            return Some(self.goal(event, side, kind));
        }
        let kind = match event.kind {
            Kind::FreeKick(SetPiece::Penalty) => IncidentKind::PenaltyMissed,
            _ => card(event)?,
        };
        Some(self.new_incident(event, kind, side))
    }

    fn goal(&mut self, event: &WyscoutEvent, side: Side, kind: GoalKind) -> Incident {
        let scorer = if kind == GoalKind::OwnGoal { side.other() } else { side };
        let score = Some(self.course.goal(scorer));
        let assist = self.assist_of(scorer);
        Incident { assist, score, ..self.new_incident(event, IncidentKind::Goal(kind), scorer) }
    }

    fn assist_of(&mut self, scorer: Side) -> Option<Participant> {
        let assist = self.assist.take()?;
        let late = self.course.clock_us() - assist.clock_us > ASSIST_US_MAX;
        let player = assist.player.filter(|_| assist.side == scorer && !late)?;
        Some(self.roster.player(player))
    }

    fn shootout_kick(&mut self, event: &WyscoutEvent, side: Side) -> Option<Incident> {
        if event.kind != Kind::FreeKick(SetPiece::Penalty) {
            return card(event).map(|kind| self.new_incident(event, kind, side));
        }
        let scored = event.has(Tag::Goal);
        let score = Some(self.course.kick(side, scored));
        Some(Incident {
            score,
            ..self.new_incident(event, IncidentKind::Shootout { scored }, side)
        })
    }

    fn new_incident(&self, event: &WyscoutEvent, kind: IncidentKind, side: Side) -> Incident {
        let player = event.player.map(|player| self.roster.player(player));
        let eid = event.id.to_string().into();
        Incident { player, ..self.course.incident(eid, kind, Some(side)) }
    }
}

/// The tag of a goal also sits on the save attempt that follows it, which is not one.
fn goal(event: &WyscoutEvent) -> Option<GoalKind> {
    if event.has(Tag::OwnGoal) {
        return Some(GoalKind::OwnGoal);
    }
    match event.kind {
        _ if !event.has(Tag::Goal) => None,
        Kind::FreeKick(SetPiece::Penalty) => Some(GoalKind::Penalty),
        Kind::Shot | Kind::FreeKick(_) => Some(GoalKind::Regular),
        _ => None,
    }
}

fn card(event: &WyscoutEvent) -> Option<IncidentKind> {
    let cards = [
        (Tag::SecondYellow, IncidentKind::SecondYellow),
        (Tag::Red, IncidentKind::Red),
        (Tag::Yellow, IncidentKind::Yellow),
    ];
    cards.into_iter().find(|(tag, _)| event.has(*tag)).map(|(_, kind)| kind)
}
