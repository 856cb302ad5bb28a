//! Goals of a source that is not primary for the score.
//!
//! A goal is published once the primary score includes it, so incidents never contradict the
//! published score. A goal that no other source confirms stays in the view of its source.

use facts::event::{Eid, Fact, FootballFact, Incident, IncidentKind};

use super::{Match, MatchDelta, Moment, Play, football::Football};
use crate::hub::feeds::{FactKind, SourceNumber};

impl Match {
    /// Whether the fact is a goal that the primary score does not include, or the retraction of one.
    pub(super) fn is_unconfirmed(&self, fact: &Fact, source: SourceNumber) -> bool {
        let (Fact::Football(fact), Play::Football(public)) = (fact, &self.play) else {
            return false;
        };
        if self.views.is_empty() || self.primaries.get(FactKind::Score) == Some(source) {
            return false;
        }
        let is_shown = |eid: &Eid| self.names.contains_key(&(source, eid.clone()));
        match fact {
            FootballFact::Incident(incident) | FootballFact::Correct(incident) => {
                !is_shown(&incident.eid) && is_beyond(public, incident)
            }
            FootballFact::Retract { eid, .. } => !is_shown(eid),
            _ => false,
        }
    }

    /// Publishes goals of the primary source of incidents that the changed primary score now includes.
    pub(super) fn confirm_goals(&mut self, moment: Moment, delta: &mut MatchDelta) {
        let Some(primary) = self.primaries.get(FactKind::Incidents) else { return };
        if self.primaries.get(FactKind::Score) == Some(primary) {
            return;
        }
        let Some(view) = self.views.iter().find(|view| view.source == primary) else { return };
        let goals =
            view.play.facts(FactKind::Incidents, moment).into_iter().filter(|fact| match fact {
                Fact::Football(FootballFact::Incident(incident)) => {
                    is_goal(incident) && !self.names.contains_key(&(primary, incident.eid.clone()))
                }
                _ => false,
            });
        for fact in goals.collect::<Vec<_>>() {
            if !self.is_unconfirmed(&fact, primary) {
                let fact = self.in_public_names(&fact, primary);
                self.play.apply(&fact, false, moment, delta);
            }
        }
    }
}

/// Whether a goal would be more than the score has.
fn is_beyond(public: &Football, goal: &Incident) -> bool {
    let Some(score) = public.reported_score().filter(|_| is_goal(goal)) else { return false };
    if goal.score.is_some_and(|after| after[0] > score.goals[0] || after[1] > score.goals[1]) {
        return true;
    }
    let Some(side) = goal.side else { return false };
    let shown = public.incidents.iter().filter(|entry| {
        entry.retracted.is_none() && is_goal(&entry.incident) && entry.incident.side == Some(side)
    });
    shown.count() >= usize::from(score.goals[side.index()])
}

fn is_goal(incident: &Incident) -> bool {
    matches!(incident.kind, IncidentKind::Goal(_))
}
