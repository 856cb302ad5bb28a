//! What happened: goals, cards, substitutions, missed penalties and the kicks of a shoot-out.

use facts::{
    event::{GoalKind, Incident, IncidentKind, Side},
    football::Period,
};

use super::{Normalizer, own_goal::OwnGoal, roster::player};
use crate::decode::statsbomb::{Card, Kind, NamedEntity, StatsBombEvent, StatsBombShot};

impl Normalizer {
    /// The incident that an event is, if it is one; the score has moved with it.
    pub(super) fn incident(&mut self, event: &StatsBombEvent, side: Side) -> Option<Incident> {
        match &event.kind {
            Kind::Shot(shot) if event.period == Period::Shootout => self.kick(event, shot, side),
            Kind::Shot(shot) => self.shot(event, shot, side),
            Kind::OwnGoalFor | Kind::OwnGoalAgainst => self.own_goal(event),
            Kind::Foul(card) | Kind::BadBehaviour(card) => {
                Some(self.new_incident(event, card_kind((*card)?), side))
            }
            Kind::Substitution { replacement } => {
                let assist = replacement.as_ref().map(player);
                Some(Incident {
                    assist,
                    ..self.new_incident(event, IncidentKind::Substitution, side)
                })
            }
            _ => None,
        }
    }

    fn shot(
        &mut self,
        event: &StatsBombEvent,
        shot: &StatsBombShot,
        side: Side,
    ) -> Option<Incident> {
        if !shot.goal {
            return shot
                .penalty
                .then(|| self.new_incident(event, IncidentKind::PenaltyMissed, side));
        }
        let kind = if shot.penalty { GoalKind::Penalty } else { GoalKind::Regular };
        let score = Some(self.course.goal(side));
        let assist = shot.key_pass.as_ref().and_then(|pass| self.assists.get(pass)).map(player);
        Some(Incident { score, assist, ..self.new_incident(event, IncidentKind::Goal(kind), side) })
    }

    fn own_goal(&mut self, event: &StatsBombEvent) -> Option<Incident> {
        let OwnGoal { side, scorer } = self.own_goals.get(&event.id)?.as_ref().ok()?.clone();
        let score = Some(self.course.goal(side));
        let own_goal = self.new_incident(event, IncidentKind::Goal(GoalKind::OwnGoal), side);
        Some(Incident { score, player: scorer, ..own_goal })
    }

    fn kick(
        &mut self,
        event: &StatsBombEvent,
        shot: &StatsBombShot,
        side: Side,
    ) -> Option<Incident> {
        let scored = shot.goal;
        let score = Some(self.course.kick(side, scored));
        Some(Incident {
            score,
            ..self.new_incident(event, IncidentKind::Shootout { scored }, side)
        })
    }

    fn new_incident(&self, event: &StatsBombEvent, kind: IncidentKind, side: Side) -> Incident {
        let player = event.player.as_ref().map(|named: &NamedEntity| player(named));
        Incident { player, ..self.course.incident(event.id.clone(), kind, Some(side)) }
    }
}

fn card_kind(card: Card) -> IncidentKind {
    match card {
        Card::Yellow => IncidentKind::Yellow,
        Card::SecondYellow => IncidentKind::SecondYellow,
        Card::Red => IncidentKind::Red,
    }
}
