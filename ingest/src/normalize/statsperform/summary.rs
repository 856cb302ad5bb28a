//! MA1 alone: the match as its goals, cards, substitutions and reviews, at their moments.
//!
//! Both halves and every other period that the details name are played, with anything in them or
//! without, for as long as the details say.

use std::collections::{BTreeMap, BTreeSet};

use facts::{
    event::{Eid, GoalKind, Id, Incident, IncidentKind, Micros, Pair, Side, Stat, VarDecision},
    football::Period,
};

use super::{
    PROVIDER, played,
    roster::{Roster, player},
};
use crate::{
    decode::statsperform::{
        Card, Details, Document, GoalType, Moment, MomentKind, NamedEntity, PlayedPeriod,
    },
    error::{DecodeError, RefusalKind, Result},
    normalize::{EventByEvent, Interpretation, football::Course},
};

/// Makes facts of one match. Its moments are given in order, then [`finish`](Self::finish).
#[derive(Debug)]
pub struct Summary {
    roster: Roster,
    course: Course,
    details: Details,
    starts: BTreeMap<Period, Micros>,
    /// The number of reported moments, for the ids of those without one.
    reported: usize,
}

impl Summary {
    /// # Errors
    ///
    /// If the document does not say which match it is, or who plays.
    pub fn new(document: &Document) -> Result<Self> {
        let info = document.info.as_ref().ok_or_else(played::no_match)?;
        let roster = Roster::new(info)?;
        let fixture = played::fixture(info, &roster);
        let about = played::about(info, &roster, &[document]);
        let match_id = Id::derive(PROVIDER, "match", &info.id);
        let mut course = Course::new(match_id, fixture).with(about);
        played::line_ups(&mut course, &roster, &[document]);
        Ok(Self {
            course,
            starts: played::starts(std::iter::empty(), &document.details),
            details: document.details.clone(),
            roster,
            reported: 0,
        })
    }
}

impl EventByEvent for Summary {
    type Event = Moment;

    fn event(&mut self, moment: &Moment, out: &mut Interpretation) -> Result<()> {
        let side = self.roster.check(&moment.contestant)?;
        if self.course.period() > Some(moment.period) {
            let reason = format!("element of {:?}, which is over", moment.period);
            return Err(DecodeError::new(RefusalKind::Value, reason));
        }
        self.reach(moment.period, out);
        self.course.at = moment.at;
        let since_us = moment.at.filter(|_| moment.period == Period::Shootout);
        let since_us = since_us.and_then(|at| self.since_start(at, moment.period));
        self.course.advance(since_us.unwrap_or(moment.since_start_us));
        self.reported += 1;
        let incident = self.incident(moment, side);
        let counted = booking(&moment.kind).map(|stat| (side, [stat]));
        let facts = self.course.event_facts(Some(incident), counted);
        self.course.emit(facts, out);
        Ok(())
    }

    /// Ends the match as the provider says that it ended.
    fn finish(&mut self, out: &mut Interpretation) {
        let last = self.details.halves.last().map(|half| half.period);
        let played = self.details.status.as_deref() == Some("Played");
        if let Some(last) = last.max(played.then_some(Period::SecondHalf)) {
            self.reach(last, out);
            self.run_out();
        }
        played::finish(&mut self.course, &self.details, out);
    }
}

impl Summary {
    /// Goes through every period up to one, which is entered.
    fn reach(&mut self, period: Period, out: &mut Interpretation) {
        let regular = [Period::FirstHalf, Period::SecondHalf];
        let named = self.details.halves.iter().map(|half| half.period);
        let due = |it: &Period| *it < period && self.course.period() < Some(*it);
        let before: BTreeSet<_> = regular.into_iter().chain(named).filter(due).collect();
        for period in before.into_iter().chain([period]) {
            if self.course.period() >= Some(period) {
                continue;
            }
            self.run_out();
            self.course.at = self.half(period).and_then(|half| half.start);
            self.course.enter(period, self.starts.get(&period).copied(), out);
        }
    }

    /// Plays the period to its end.
    fn run_out(&mut self) {
        let Some(half) = self.course.period().and_then(|period| self.half(period)) else { return };
        if let Some(length_us) = half.length_us {
            self.course.advance(length_us);
            self.course.at = half.start.map(|start| start.saturating_add(length_us));
        }
    }

    fn half(&self, period: Period) -> Option<PlayedPeriod> {
        self.details.halves.iter().find(|half| half.period == period).copied()
    }

    /// Kicks of a shoot-out have a wall-clock time alone.
    fn since_start(&self, at: Micros, period: Period) -> Option<Micros> {
        let start = self.half(period)?.start?;
        at.checked_sub(start).filter(|since| (0..SHOOTOUT_US_MAX).contains(since))
    }

    fn incident(&mut self, moment: &Moment, side: Side) -> Incident {
        let (kind, side, score) = self.outcome(&moment.kind, side);
        let (who, other) = players(&moment.kind);
        let eid = moment.event_id.clone().unwrap_or_else(|| name(&moment.kind, self.reported));
        Incident {
            player: who.map(player),
            assist: other.map(player),
            score,
            ..self.course.incident(eid, kind, Some(side))
        }
    }

    /// What it is, whose it is, and the score after it; the score has moved with it.
    fn outcome(
        &mut self,
        what: &MomentKind,
        side: Side,
    ) -> (IncidentKind, Side, Option<Pair<u16>>) {
        match what {
            MomentKind::Goal { kind, score, .. } => {
                let side = self.profits(*kind, *score, side);
                (IncidentKind::Goal(goal_kind(*kind)), side, Some(self.course.goal(side)))
            }
            MomentKind::Kick { scored, .. } => {
                let score = self.course.kick(side, *scored);
                (IncidentKind::Shootout { scored: *scored }, side, Some(score))
            }
            MomentKind::Card { card, .. } => (card_kind(*card), side, None),
            MomentKind::Substitution { .. } => (IncidentKind::Substitution, side, None),
            MomentKind::PenaltyMissed(_) => (IncidentKind::PenaltyMissed, side, None),
            MomentKind::Review { stands, .. } => (IncidentKind::Var(decision(*stands)), side, None),
        }
    }

    /// The side that a goal counts for: the one whose score increases. If that is unknown, an
    /// own goal is the other side's, as in MA3.
    fn profits(&self, kind: GoalType, score: Option<Pair<u16>>, side: Side) -> Side {
        let before = self.course.goals();
        let grown = |side: &Side| {
            let mut after = before;
            after[side.index()] = after[side.index()].saturating_add(1);
            Some(after) == score
        };
        let by_kind = if kind == GoalType::OwnGoal { side.other() } else { side };
        Side::BOTH.into_iter().find(grown).unwrap_or(by_kind)
    }
}

/// A shoot-out longer than this is a broken clock.
const SHOOTOUT_US_MAX: Micros = 2 * 3600 * 1_000_000;

/// Who it was, and who gave the pass or comes on.
fn players(what: &MomentKind) -> (Option<&NamedEntity>, Option<&NamedEntity>) {
    match what {
        MomentKind::Goal { scorer, assist, .. } => (scorer.as_ref(), assist.as_ref()),
        MomentKind::Substitution { off, on } => (off.as_ref(), on.as_ref()),
        MomentKind::PenaltyMissed(player)
        | MomentKind::Card { player, .. }
        | MomentKind::Kick { player, .. }
        | MomentKind::Review { player, .. } => (player.as_ref(), None),
    }
}

/// A substitution has no id of its own, but each player comes on once.
fn name(kind: &MomentKind, number: usize) -> Eid {
    match kind {
        MomentKind::Substitution { on: Some(on), .. } => format!("sub-{}", on.id).into(),
        MomentKind::Kick { .. } => format!("kick-{number}").into(),
        _ => format!("moment-{number}").into(),
    }
}

fn goal_kind(kind: GoalType) -> GoalKind {
    match kind {
        GoalType::Regular => GoalKind::Regular,
        GoalType::Penalty => GoalKind::Penalty,
        GoalType::OwnGoal => GoalKind::OwnGoal,
    }
}

fn card_kind(card: Card) -> IncidentKind {
    match card {
        Card::Yellow => IncidentKind::Yellow,
        Card::SecondYellow => IncidentKind::SecondYellow,
        Card::Red => IncidentKind::Red,
    }
}

fn decision(stands: Option<bool>) -> VarDecision {
    match stands {
        Some(true) => VarDecision::Confirmed,
        Some(false) => VarDecision::Overturned,
        None => VarDecision::Checking,
    }
}

fn booking(what: &MomentKind) -> Option<Stat> {
    let MomentKind::Card { card, .. } = what else { return None };
    Some(match card {
        Card::Yellow => Stat::YellowCards,
        Card::SecondYellow | Card::Red => Stat::RedCards,
    })
}
