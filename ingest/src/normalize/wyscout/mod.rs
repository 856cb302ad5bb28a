//! Wyscout events and the match record to football facts.
//!
//! The events tell goals, cards, counts and the ball; the record tells home and away, substitutions
//! and the final score. Periods begin with their first event and end with their last. Half time is
//! known from a second half that follows, the final whistle from the end of the data.

mod ball;
mod incident;
mod record;
mod roster;
mod tally;
mod timeline;

use std::collections::{HashSet, VecDeque};

use self::{
    incident::Assist,
    record::{Result as RecordedResult, Substitution},
    roster::Roster,
    tally::Tally,
    timeline::Timeline,
};
use super::{Played, batch};
use crate::{
    decode::wyscout::{Document, Event, Period, record::MatchRecord},
    error::{DecodeError, RefusalKind},
    event::{
        Eid, Fact, Fixture, FootballFact, FootballScore, FootballStatus, Id, Incident,
        IncidentKind, Micros, Pair, Side, Sport,
    },
};

const PROVIDER: &str = "wyscout";

/// Makes facts of one match. Events are given to it in order, then [`finish`](Self::finish).
#[derive(Debug)]
pub struct Normalizer {
    match_key: u64,
    match_id: Id,
    fixture: Fixture,
    roster: Roster,
    /// What the record says came of the match.
    recorded: Option<RecordedResult>,
    /// Those still to come, in order.
    substitutions: VecDeque<Substitution>,
    timeline: Timeline,
    score: FootballScore,
    tallies: Pair<Tally>,
    assist: Option<Assist>,
    /// Ids of events, each of which counts once.
    seen: HashSet<u64>,
}

impl Normalizer {
    /// `start` is when the match starts, where no record says it.
    ///
    /// # Errors
    ///
    /// If the document does not say which match it is, or who plays.
    pub fn new(
        document: &Document,
        record: Option<&MatchRecord>,
        start: Micros,
    ) -> Result<Self, DecodeError> {
        let match_key = document.match_key().ok_or_else(|| {
            DecodeError::new(RefusalKind::Unknown, "no event that says its match")
        })?;
        let roster = Roster::new(document, record)?;
        Ok(Self {
            match_key,
            match_id: Id::derive(PROVIDER, "match", &match_key.to_string()),
            fixture: record::fixture(match_key, record, &roster, start),
            recorded: record.map(RecordedResult::of),
            substitutions: record::substitutions(document, record),
            roster,
            timeline: Timeline::default(),
            score: FootballScore::default(),
            tallies: Pair::default(),
            assist: None,
            seen: HashSet::new(),
        })
    }

    /// Takes the next event.
    ///
    /// # Errors
    ///
    /// If it does not belong to the match, or is one that was already taken.
    pub fn event(&mut self, event: &Event, out: &mut Played) -> Result<(), DecodeError> {
        let side = self.check(event)?;
        self.seen.insert(event.id);
        self.reach(event.period, event.since_start_us, out);
        if !self.timeline.advance(event.since_start_us) {
            let reason = format!("event {} is before the one before it", event.id);
            out.notices.push(DecodeError::new(RefusalKind::TimeBackwards, reason));
        }
        let facts = self.facts(event, side);
        self.emit(facts, out);
        Ok(())
    }

    /// Ends the match, with the record as the authority for its score.
    pub fn finish(&mut self, out: &mut Played) {
        if self.timeline.period().is_none() {
            return;
        }
        self.substitute_until(Period::Shootout, Micros::MAX, out);
        if let Some(recorded) = &self.recorded {
            recorded.put_right(&mut self.score, &mut out.notices);
        }
        let mut facts = self.whistle(FootballStatus::Finished);
        facts.push(FootballFact::Score(self.score));
        self.emit(facts, out);
    }

    fn check(&self, event: &Event) -> Result<Side, DecodeError> {
        let refuse = |kind, reason| Err(DecodeError::new(kind, reason));
        if event.match_id != self.match_key {
            let reason = format!("event of match {} in match {}", event.match_id, self.match_key);
            return refuse(RefusalKind::Unknown, reason);
        }
        if self.seen.contains(&event.id) {
            return refuse(RefusalKind::Value, format!("event {} comes twice", event.id));
        }
        if self.timeline.period() > Some(event.period) {
            let reason = format!("event {} of a period that is over", event.id);
            return refuse(RefusalKind::Value, reason);
        }
        self.roster.side(event.team).ok_or_else(|| {
            let reason = format!("team {} does not play in this match", event.team);
            DecodeError::new(RefusalKind::Unknown, reason)
        })
    }

    /// Everything that lies between the event before and this moment.
    fn reach(&mut self, period: Period, since_start_us: Micros, out: &mut Played) {
        self.substitute_until(period, since_start_us, out);
        self.enter(period, out);
    }

    fn substitute_until(&mut self, period: Period, since_start_us: Micros, out: &mut Played) {
        let due =
            |it: &mut Substitution| (it.period, it.since_start_us) <= (period, since_start_us);
        while let Some(substitution) = self.substitutions.pop_front_if(due) {
            self.enter(substitution.period, out);
            self.timeline.advance(substitution.since_start_us);
            let incident = substitution.incident(&self.roster);
            let facts = vec![self.clock(), FootballFact::Incident(incident)];
            self.emit(facts, out);
        }
    }

    fn enter(&mut self, period: Period, out: &mut Played) {
        match self.timeline.period() {
            Some(current) if current >= period => return,
            Some(current) => self.leave(current, out),
            None => self.open(out),
        }
        self.timeline.begin(period);
        if matches!(period, Period::ExtraFirst | Period::ExtraSecond) {
            self.score.extra_time.get_or_insert_default();
        } else if period == Period::Shootout {
            self.score.penalties.get_or_insert_default();
        }
        let mut facts = self.whistle(timeline::status(period));
        facts.push(FootballFact::Score(self.score));
        self.emit(facts, out);
    }

    fn open(&self, out: &mut Played) {
        let facts = [
            Fact::Fixture(self.fixture.clone()),
            Fact::Football(FootballFact::Status(FootballStatus::NotStarted)),
            Fact::Football(FootballFact::Score(self.score)),
        ];
        out.push(self.timeline.clock_us(), batch(Sport::Football, self.match_id, facts));
    }

    /// The end of a period after which another one follows. Our vocabulary has no status for the
    /// breaks before extra time and before a shoot-out; there the clock stops, and that is all.
    fn leave(&mut self, period: Period, out: &mut Played) {
        let status = match period {
            Period::FirstHalf => {
                self.score.half_time = Some(self.score.goals);
                FootballStatus::HalfTime
            }
            Period::ExtraFirst => FootballStatus::ExtraHalf,
            Period::SecondHalf | Period::ExtraSecond | Period::Shootout => {
                return self.emit(vec![self.stopped_clock()], out);
            }
        };
        let mut facts = self.whistle(status);
        facts.push(FootballFact::Score(self.score));
        self.emit(facts, out);
    }

    /// The facts of a new status, whose name also names the incident.
    fn whistle(&self, status: FootballStatus) -> Vec<FootballFact> {
        let (minute, added) = self.timeline.minute();
        let eid: Eid = format!("period-{}", incident::period_name(status)).into();
        let incident = Incident {
            eid,
            kind: IncidentKind::Period(status),
            minute,
            added,
            side: None,
            player: None,
            assist: None,
            score: None,
        };
        let clock = if incident::in_play(status) { self.clock() } else { self.stopped_clock() };
        vec![FootballFact::Status(status), clock, FootballFact::Incident(incident)]
    }

    fn facts(&mut self, event: &Event, side: Side) -> Vec<FootballFact> {
        let mut facts = vec![self.clock()];
        if let Some(incident) = self.incident(event, side) {
            facts.push(FootballFact::Score(self.score));
            facts.push(FootballFact::Incident(incident));
        }
        if event.period != Period::Shootout {
            let values = self.tallies[side.index()].count(event);
            if !values.is_empty() {
                facts.push(FootballFact::Stats { side, values });
            }
        }
        facts.extend(ball::at(event, side).map(FootballFact::Ball));
        facts
    }

    fn clock(&self) -> FootballFact {
        let running = self.timeline.period() != Some(Period::Shootout);
        FootballFact::Clock { second: self.timeline.second(), running }
    }

    fn stopped_clock(&self) -> FootballFact {
        FootballFact::Clock { second: self.timeline.second(), running: false }
    }

    fn emit(&self, facts: Vec<FootballFact>, out: &mut Played) {
        let facts = facts.into_iter().map(Fact::Football);
        out.push(self.timeline.clock_us(), batch(Sport::Football, self.match_id, facts));
    }
}
