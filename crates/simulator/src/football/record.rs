//! The record of a match: events enter its truth at once, and are pending until they are reported.

use crate::truth::{
    Card, Colour, FootballTruth, Goal, Minute, OverturnedGoal, PenaltyMissed, Substitution,
};
use facts::event::{
    Ball, Eid, FootballStatus, GoalKind, LineUp, Pair, Participant, Side, VarDecision,
};

use super::report::PitchEvent;

#[derive(Debug)]
pub(super) struct Record {
    truth: FootballTruth,
    /// Incidents so far, for their names.
    incidents: u32,
    pending: Vec<PitchEvent>,
}

impl Record {
    pub(super) fn new() -> Self {
        let truth = FootballTruth {
            status: FootballStatus::NotStarted,
            score: [0, 0],
            half_time: [0, 0],
            goals: Vec::new(),
            overturned: Vec::new(),
            cards: Vec::new(),
            substitutions: Vec::new(),
            penalties_missed: Vec::new(),
        };
        Self { truth, incidents: 0, pending: Vec::new() }
    }

    pub(super) fn truth(&self) -> &FootballTruth {
        &self.truth
    }

    /// The events since the last call.
    pub(super) fn take_pending(&mut self) -> Vec<PitchEvent> {
        std::mem::take(&mut self.pending)
    }

    pub(super) fn line_up(&mut self, side: Side, line_up: LineUp) {
        self.pending.push(PitchEvent::LineUp(side, line_up));
    }

    pub(super) fn ball(&mut self, ball: Ball) {
        self.pending.push(PitchEvent::Ball(ball));
    }

    pub(super) fn period(&mut self, status: FootballStatus) {
        self.truth.status = status;
        if status == FootballStatus::HalfTime {
            self.truth.half_time = self.truth.score;
        }
        self.pending.push(PitchEvent::Period(status));
    }

    /// A goal for `side`; with the scorer the one who gave the pass.
    pub(super) fn goal(
        &mut self,
        at: Minute,
        side: Side,
        kind: GoalKind,
        (scorer, assist): (Participant, Option<Participant>),
    ) {
        self.truth.score[side.index()] += 1;
        let (eid, score): (_, Pair<u16>) = (self.eid('g'), self.truth.score);
        let goal = Goal { eid, at, side, scorer, assist, kind, score };
        self.truth.goals.push(goal.clone());
        self.pending.push(PitchEvent::Goal(goal));
    }

    /// The video assistant looks at the last goal, or has.
    pub(super) fn check(&mut self, decision: VarDecision) {
        let goal = self.truth.goals.last().expect("a check is on the last goal");
        let (side, scorer) = (goal.side, goal.scorer.clone());
        let eid = self.eid('v');
        self.pending.push(PitchEvent::Var { eid, side, scorer, decision });
    }

    /// The last goal does not count.
    pub(super) fn overturn(&mut self, why: &'static str) -> Goal {
        let goal = self.truth.goals.pop().expect("a verdict is on the last goal");
        self.truth.score[goal.side.index()] -= 1;
        self.pending.push(PitchEvent::Overturned { goal: goal.eid.clone(), side: goal.side, why });
        self.truth.overturned.push(OverturnedGoal { goal: goal.clone(), why });
        goal
    }

    pub(super) fn card(&mut self, at: Minute, side: Side, player: Participant, colour: Colour) {
        let card = Card { eid: self.eid('c'), at, side, player, colour };
        self.truth.cards.push(card.clone());
        self.pending.push(PitchEvent::Card(card));
    }

    pub(super) fn substitution(
        &mut self,
        at: Minute,
        side: Side,
        (off, on): (Participant, Participant),
    ) {
        let change = Substitution { eid: self.eid('s'), at, side, off, on };
        self.truth.substitutions.push(change.clone());
        self.pending.push(PitchEvent::Substitution(change));
    }

    pub(super) fn penalty_missed(&mut self, at: Minute, side: Side, player: Participant) {
        let miss = PenaltyMissed { eid: self.eid('m'), at, side, player };
        self.truth.penalties_missed.push(miss.clone());
        self.pending.push(PitchEvent::PenaltyMissed(miss));
    }

    /// The name of the next incident: a letter for its kind, and its number.
    fn eid(&mut self, kind: char) -> Eid {
        self.incidents += 1;
        format!("{kind}{}", self.incidents).into()
    }
}
