//! What happened: goals, cards, substitutions, missed penalties and the kicks of a shoot-out.

use facts::{
    event::{GoalKind, Incident, IncidentKind, Side},
    football::Period,
};

use super::{Normalizer, roster::player};
use crate::decode::statsperform::{Kind, NamedEntity, StatsPerformEvent, qualifier};

impl Normalizer {
    /// The incident that an event is, if it is one; the score has moved with it.
    pub(super) fn incident(&mut self, event: &StatsPerformEvent, side: Side) -> Option<Incident> {
        match event.kind {
            Kind::Goal | Kind::Miss | Kind::AttemptSaved if event.period == Period::Shootout => {
                self.kick(event, side)
            }
            Kind::Goal => event.success.then(|| self.goal(event, side)),
            Kind::Miss | Kind::AttemptSaved => {
                let missed = || self.new_incident(event, IncidentKind::PenaltyMissed, side);
                event.has(qualifier::PENALTY).then(missed)
            }
            Kind::Card => Some(self.new_incident(event, card(event)?, side)),
            Kind::On => Some(self.substitution(event, side)),
            _ => None,
        }
    }

    fn goal(&mut self, event: &StatsPerformEvent, side: Side) -> Incident {
        let (kind, scorer) = match () {
            () if event.has(qualifier::OWN_GOAL) => (GoalKind::OwnGoal, side.other()),
            () if event.has(qualifier::PENALTY) => (GoalKind::Penalty, side),
            () => (GoalKind::Regular, side),
        };
        let score = Some(self.course.goal(scorer));
        let assist = self.assist(event).map(player);
        Incident { score, assist, ..self.new_incident(event, IncidentKind::Goal(kind), scorer) }
    }

    fn assist(&self, goal: &StatsPerformEvent) -> Option<&NamedEntity> {
        let related = goal.number(qualifier::RELATED);
        let pass = related.and_then(|pass| self.passes.get(&(goal.contestant.clone(), pass)));
        pass.or_else(|| self.assists.get(&goal.id))
    }

    fn kick(&mut self, event: &StatsPerformEvent, side: Side) -> Option<Incident> {
        let scored = event.kind == Kind::Goal && event.success;
        let score = Some(self.course.kick(side, scored));
        Some(Incident {
            score,
            ..self.new_incident(event, IncidentKind::Shootout { scored }, side)
        })
    }

    fn substitution(&self, event: &StatsPerformEvent, side: Side) -> Incident {
        Incident {
            player: self.off.get(&event.id).map(player),
            assist: event.player.as_ref().map(player),
            ..self.new_incident(event, IncidentKind::Substitution, side)
        }
    }

    fn new_incident(&self, event: &StatsPerformEvent, kind: IncidentKind, side: Side) -> Incident {
        let player = event.player.as_ref().map(player);
        Incident { player, ..self.course.incident(event.id.clone(), kind, Some(side)) }
    }
}

fn card(event: &StatsPerformEvent) -> Option<IncidentKind> {
    let cards = [
        (qualifier::SECOND_YELLOW, IncidentKind::SecondYellow),
        (qualifier::RED, IncidentKind::Red),
        (qualifier::YELLOW, IncidentKind::Yellow),
    ];
    cards.into_iter().find(|(it, _)| event.has(*it)).map(|(_, kind)| kind)
}
