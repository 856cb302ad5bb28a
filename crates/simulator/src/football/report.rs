//! Reports a football match as facts.
//!
//! It counts the score from the events by itself, so that the facts and the record are independent
//! accounts of the match and can be compared.

use std::sync::Arc;

use crate::truth::{Card, Colour, Goal, Minute, PenaltyMissed, Substitution};
use facts::event::{
    Ball, Eid, FootballFact, FootballScore, FootballStatus, Incident, IncidentKind, LineUp, Pair,
    Participant, Side, VarDecision,
};

/// An event on the pitch.
#[derive(Debug, Clone)]
pub(super) enum PitchEvent {
    /// A period began or ended.
    Period(FootballStatus),
    LineUp(Side, LineUp),
    Ball(Ball),
    Goal(Goal),
    Card(Card),
    Substitution(Substitution),
    PenaltyMissed(PenaltyMissed),
    /// A video review of a goal, in progress or decided.
    Var {
        eid: Eid,
        side: Side,
        scorer: Participant,
        decision: VarDecision,
    },
    /// A goal was overturned.
    Overturned {
        goal: Eid,
        side: Side,
        why: &'static str,
    },
}

/// The reading of the match clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClockReading {
    pub(super) second: u32,
    pub(super) running: bool,
    pub(super) minute: Minute,
}

#[derive(Debug, Default)]
pub(super) struct Reporter {
    score: FootballScore,
    periods: u32,
}

impl Reporter {
    /// The facts of one moment; an incident also reports the clock.
    pub(super) fn facts(
        &mut self,
        pitch_events: Vec<PitchEvent>,
        clock: ClockReading,
    ) -> Vec<FootballFact> {
        let mut facts = Vec::new();
        for pitch_event in pitch_events {
            self.report(pitch_event, clock.minute, &mut facts);
        }
        if facts.iter().any(|fact| matches!(fact, FootballFact::Incident(_))) {
            facts.push(FootballFact::Clock { second: clock.second, running: clock.running });
        }
        facts
    }

    fn report(&mut self, pitch_event: PitchEvent, at: Minute, facts: &mut Vec<FootballFact>) {
        match pitch_event {
            PitchEvent::Period(status) => self.period(status, at, facts),
            PitchEvent::LineUp(side, line_up) => {
                facts.push(FootballFact::LineUp { side, line_up });
            }
            PitchEvent::Ball(ball) => facts.push(FootballFact::Ball(ball)),
            PitchEvent::Goal(goal) => self.goal(goal, facts),
            PitchEvent::Card(card) => facts.push(FootballFact::Incident(booked(card))),
            PitchEvent::Substitution(change) => facts.push(FootballFact::Incident(changed(change))),
            PitchEvent::PenaltyMissed(miss) => facts.push(FootballFact::Incident(missed(miss))),
            PitchEvent::Var { eid, side, scorer, decision } => {
                let kind = IncidentKind::Var(decision);
                let incident =
                    Incident { player: Some(scorer), ..new_incident(eid, kind, at, Some(side)) };
                facts.push(FootballFact::Incident(incident));
            }
            PitchEvent::Overturned { goal, side, why } => self.overturn(goal, side, why, facts),
        }
    }

    fn period(&mut self, status: FootballStatus, at: Minute, facts: &mut Vec<FootballFact>) {
        if status == FootballStatus::HalfTime {
            self.score.half_time = Some(self.score.goals);
        }
        self.periods += 1;
        let eid = format!("p{}", self.periods).into();
        facts.extend([
            FootballFact::Status(status),
            FootballFact::Incident(new_incident(eid, IncidentKind::Period(status), at, None)),
            FootballFact::Score(self.score),
        ]);
    }

    fn goal(&mut self, goal: Goal, facts: &mut Vec<FootballFact>) {
        self.score.goals[goal.side.index()] += 1;
        facts.push(FootballFact::Score(self.score));
        facts.push(FootballFact::Incident(scored(goal, self.score.goals)));
    }

    fn overturn(&mut self, goal: Eid, side: Side, why: &str, facts: &mut Vec<FootballFact>) {
        self.score.goals[side.index()] -= 1;
        facts.push(FootballFact::Retract { eid: goal, why: Arc::from(why), score: self.score });
        facts.push(FootballFact::Score(self.score));
    }
}

/// An incident without players.
fn new_incident(eid: Eid, kind: IncidentKind, at: Minute, side: Option<Side>) -> Incident {
    Incident::new(eid, kind, (at.minute, at.added), side)
}

fn scored(goal: Goal, score: Pair<u16>) -> Incident {
    Incident {
        player: Some(goal.scorer),
        assist: goal.assist,
        score: Some(score),
        ..new_incident(goal.eid, IncidentKind::Goal(goal.kind), goal.at, Some(goal.side))
    }
}

fn booked(card: Card) -> Incident {
    let kind = match card.colour {
        Colour::Yellow => IncidentKind::Yellow,
        Colour::SecondYellow => IncidentKind::SecondYellow,
        Colour::Red => IncidentKind::Red,
    };
    Incident { player: Some(card.player), ..new_incident(card.eid, kind, card.at, Some(card.side)) }
}

fn changed(change: Substitution) -> Incident {
    let Substitution { eid, at, side, off, on } = change;
    let incident = new_incident(eid, IncidentKind::Substitution, at, Some(side));
    Incident { player: Some(off), assist: Some(on), ..incident }
}

fn missed(miss: PenaltyMissed) -> Incident {
    let incident = new_incident(miss.eid, IncidentKind::PenaltyMissed, miss.at, Some(miss.side));
    Incident { player: Some(miss.player), ..incident }
}
