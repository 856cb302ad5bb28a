//! A football match told in facts.
//!
//! It keeps the score by itself from what happens, so that facts and the play's record are two
//! accounts of the same match and can be held against each other.

use std::sync::Arc;

use crate::{
    event::{
        Ball, Eid, FootballFact, FootballScore, FootballStatus, Incident, IncidentKind, LineUp,
        Pair, Participant, Side, VarDecision,
    },
    simulator::truth::{Card, Colour, Goal, Minute, PenaltyMissed, Substitution},
};

/// Something that happened on the pitch.
#[derive(Debug, Clone)]
pub(super) enum Happening {
    /// A period began or ended.
    Period(FootballStatus),
    LineUp(Side, LineUp),
    Ball(Ball),
    Goal(Goal),
    Card(Card),
    Substitution(Substitution),
    PenaltyMissed(PenaltyMissed),
    /// The video assistant looks at a goal, or has.
    Var {
        eid: Eid,
        side: Side,
        scorer: Participant,
        decision: VarDecision,
    },
    /// A goal does not count.
    Overturned {
        of: Eid,
        side: Side,
        why: &'static str,
    },
}

/// What the match clock shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown {
    pub(super) second: u32,
    pub(super) running: bool,
    pub(super) minute: Minute,
}

#[derive(Debug, Default)]
pub(super) struct Report {
    score: FootballScore,
    periods: u32,
}

impl Report {
    /// The facts of one moment; with an incident comes what the clock shows.
    pub(super) fn tell(&mut self, happenings: Vec<Happening>, shown: Shown) -> Vec<FootballFact> {
        let mut facts = Vec::new();
        for happening in happenings {
            self.tell_one(happening, shown.minute, &mut facts);
        }
        if facts.iter().any(|fact| matches!(fact, FootballFact::Incident(_))) {
            facts.push(FootballFact::Clock { second: shown.second, running: shown.running });
        }
        facts
    }

    fn tell_one(&mut self, happening: Happening, at: Minute, facts: &mut Vec<FootballFact>) {
        match happening {
            Happening::Period(status) => self.period(status, at, facts),
            Happening::LineUp(side, line_up) => {
                facts.push(FootballFact::LineUp { side, line_up });
            }
            Happening::Ball(ball) => facts.push(FootballFact::Ball(ball)),
            Happening::Goal(goal) => self.goal(goal, facts),
            Happening::Card(card) => facts.push(FootballFact::Incident(booked(card))),
            Happening::Substitution(change) => facts.push(FootballFact::Incident(changed(change))),
            Happening::PenaltyMissed(miss) => facts.push(FootballFact::Incident(missed(miss))),
            Happening::Var { eid, side, scorer, decision } => {
                let kind = IncidentKind::Var(decision);
                let incident = Incident { player: Some(scorer), ..told(eid, kind, at, Some(side)) };
                facts.push(FootballFact::Incident(incident));
            }
            Happening::Overturned { of, side, why } => self.overturn(of, side, why, facts),
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
            FootballFact::Incident(told(eid, IncidentKind::Period(status), at, None)),
            FootballFact::Score(self.score),
        ]);
    }

    fn goal(&mut self, goal: Goal, facts: &mut Vec<FootballFact>) {
        self.score.goals[goal.side.index()] += 1;
        facts.push(FootballFact::Score(self.score));
        facts.push(FootballFact::Incident(scored(goal, self.score.goals)));
    }

    fn overturn(&mut self, of: Eid, side: Side, why: &str, facts: &mut Vec<FootballFact>) {
        self.score.goals[side.index()] -= 1;
        facts.push(FootballFact::Retract { of, why: Arc::from(why), score: self.score });
        facts.push(FootballFact::Score(self.score));
    }
}

/// An incident with nobody in it yet.
fn told(eid: Eid, kind: IncidentKind, at: Minute, side: Option<Side>) -> Incident {
    let Minute { minute, added } = at;
    Incident { eid, kind, minute, added, side, player: None, assist: None, score: None }
}

fn scored(goal: Goal, score: Pair<u16>) -> Incident {
    Incident {
        player: Some(goal.scorer),
        assist: goal.assist,
        score: Some(score),
        ..told(goal.eid, IncidentKind::Goal(goal.kind), goal.at, Some(goal.side))
    }
}

fn booked(card: Card) -> Incident {
    let kind = match card.colour {
        Colour::Yellow => IncidentKind::Yellow,
        Colour::SecondYellow => IncidentKind::SecondYellow,
        Colour::Red => IncidentKind::Red,
    };
    Incident { player: Some(card.player), ..told(card.eid, kind, card.at, Some(card.side)) }
}

fn changed(change: Substitution) -> Incident {
    let Substitution { eid, at, side, off, on } = change;
    let incident = told(eid, IncidentKind::Substitution, at, Some(side));
    Incident { player: Some(off), assist: Some(on), ..incident }
}

fn missed(miss: PenaltyMissed) -> Incident {
    let incident = told(miss.eid, IncidentKind::PenaltyMissed, miss.at, Some(miss.side));
    Incident { player: Some(miss.player), ..incident }
}
