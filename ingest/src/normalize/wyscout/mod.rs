//! Wyscout events and the match record to football facts.
//!
//! The events have goals, cards, counts and the ball; the record has home and away, who plays,
//! substitutions, the ground and the final score. Periods begin with their first event and end with their last. Half time is
//! known from a second half that follows, the final whistle from the record, or from events up to the end of 90 minutes.

mod ball;
mod incident;
mod record;
mod roster;
mod shot;
mod tally;

use std::collections::{HashSet, VecDeque};

use facts::{
    event::{Analysis, FootballFact, FootballStatus, Id, Micros, Side},
    football::Period,
};

use self::{incident::Assist, record::Substitution, roster::Roster};
use super::{
    EventByEvent, Interpretation,
    football::{Course, Recorded},
};
use crate::{
    decode::wyscout::{Document, WyscoutEvent, record::MatchRecord},
    error::{DecodeError, RefusalKind, Result},
};

const PROVIDER: &str = "wyscout";

/// Makes facts of one match. Events are given to it in order, then [`finish`](Self::finish).
#[derive(Debug)]
pub struct Normalizer {
    match_key: u64,
    roster: Roster,
    /// What the record says came of the match.
    recorded: Recorded,
    /// Those still to come, in order.
    substitutions: VecDeque<Substitution>,
    course: Course,
    assist: Option<Assist>,
    /// Ids of events, each of which counts once.
    seen: HashSet<u64>,
}

impl Normalizer {
    /// # Errors
    ///
    /// If the document does not say which match it is, or who plays.
    pub fn new(document: &Document, record: Option<&MatchRecord>) -> Result<Self> {
        let match_key = document.match_key().ok_or_else(|| {
            DecodeError::new(RefusalKind::Unknown, "no event that says its match")
        })?;
        let roster = Roster::new(document, record)?;
        let match_id = Id::derive(PROVIDER, "match", &match_key.to_string());
        let fixture = record::fixture(match_key, record, &roster);
        let about = record.map(record::about).unwrap_or_default();
        let mut course = Course::new(match_id, fixture).with(about);
        let sides = record.map(|it| [(Side::First, &it.home), (Side::Second, &it.away)]);
        for (side, team) in sides.into_iter().flatten() {
            if let Some(line_up) = roster.line_up(team) {
                course.line_up(side, line_up);
            }
        }
        Ok(Self {
            match_key,
            course,
            recorded: record.map(record::result).unwrap_or_default(),
            substitutions: record::substitutions(document, record),
            roster,
            assist: None,
            seen: HashSet::new(),
        })
    }
}

impl EventByEvent for Normalizer {
    type Event = WyscoutEvent;

    fn event(&mut self, event: &WyscoutEvent, out: &mut Interpretation) -> Result<()> {
        let side = self.check(event)?;
        self.seen.insert(event.id);
        self.substitute_until(event.period, event.since_start_us, out);
        self.course.enter(event.period, None, out);
        if !self.course.advance(event.since_start_us) {
            let reason = format!("event {} is before the one before it", event.id);
            out.notices.push(DecodeError::new(RefusalKind::TimeBackwards, reason));
        }
        let facts = self.facts(event, side);
        self.course.emit(facts, out);
        Ok(())
    }

    /// Ends the match, whose score is compared with the record. Without a result there, events that stop before the end of the
    /// match leave it as it stands.
    fn finish(&mut self, out: &mut Interpretation) {
        if self.course.period().is_none() {
            return;
        }
        if self.roster.sides.is_none() {
            out.notices.push(DecodeError::new(RefusalKind::Unknown, "a team without a name"));
        }
        if self.recorded.goals.is_none() && !self.course.is_played_in_full() {
            return;
        }
        // Before the substitutions of the record, which are no events.
        let events_are_whole = self.course.reaches_the_end(&self.recorded);
        self.substitute_until(Period::Shootout, Micros::MAX, out);
        self.course.finish(FootballStatus::Finished, &self.recorded, events_are_whole, out);
    }
}

impl Normalizer {
    fn check(&self, event: &WyscoutEvent) -> Result<Side> {
        let refuse = |kind, reason| Err(DecodeError::new(kind, reason));
        if event.match_id != self.match_key {
            let reason = format!("event of match {} in match {}", event.match_id, self.match_key);
            return refuse(RefusalKind::Unknown, reason);
        }
        if self.seen.contains(&event.id) {
            return refuse(RefusalKind::Value, format!("event {} comes twice", event.id));
        }
        if self.course.period() > Some(event.period) {
            let reason = format!("event {} of a period that is over", event.id);
            return refuse(RefusalKind::Value, reason);
        }
        self.roster.side(event.team).ok_or_else(|| {
            let reason = format!("team {} does not play in this match", event.team);
            DecodeError::new(RefusalKind::Unknown, reason)
        })
    }

    /// Everything that lies between the event before and this moment.
    fn substitute_until(
        &mut self,
        period: Period,
        since_start_us: Micros,
        out: &mut Interpretation,
    ) {
        let due =
            |it: &mut Substitution| (it.period, it.since_start_us) <= (period, since_start_us);
        while let Some(substitution) = self.substitutions.pop_front_if(due) {
            self.course.enter(substitution.period, None, out);
            self.course.advance(substitution.since_start_us);
            let incident = substitution.incident(&self.roster);
            let mut facts = vec![self.course.clock()];
            facts.extend(self.course.happened(incident));
            self.course.emit(facts, out);
        }
    }

    fn facts(&mut self, event: &WyscoutEvent, side: Side) -> Vec<FootballFact> {
        let player = event.player.map(|player| self.roster.player(player));
        let incident = self.incident(event, side);
        let counted = (event.period != Period::Shootout)
            .then(|| (side, tally::stats(event).into_iter().flatten()));
        let mut facts = self.course.event_facts(incident, counted);
        if event.period != Period::Shootout {
            facts.extend(self.course.did(side, player.as_ref(), tally::of_player(event)));
        }
        if let Some(shot) = shot::new_shot(&self.course, event, player.clone(), side) {
            facts.push(FootballFact::Analysis(Analysis::Shot(shot)));
        }
        if let Some(ball) = ball::at(event, side) {
            self.course.held_by(ball.side);
            let player = player.as_ref().filter(|_| ball.side == side);
            facts.push(self.course.ball(ball, player));
        }
        facts
    }
}
