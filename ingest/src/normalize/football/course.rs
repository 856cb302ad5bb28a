//! The course of one match: its state after each event, and the facts that report it.

use facts::{
    event::{
        About, Ball, Eid, Fact, Fixture, FootballFact, FootballScore, FootballStatus, Id, Incident,
        IncidentKind, LineUp, MatchMinute, Micros, Pair, Participant, PitchPlace, PlayerStat, Shot,
        ShotOutcome, Side, Sport, Stat,
    },
    football::Period,
};

use super::{
    add, analyst::Analyst, in_play, period_name, players::Players, tally::Tally, timeline::Timeline,
};
use crate::{
    error::{DecodeError, RefusalKind},
    normalize::{Interpretation, batch},
};

#[derive(Debug)]
pub(in crate::normalize) struct Course {
    match_id: Id,
    fixture: Fixture,
    timeline: Timeline,
    score: FootballScore,
    tallies: Pair<Tally>,
    about: About,
    line_ups: Pair<Option<LineUp>>,
    players: Players,
    analyst: Analyst,
    /// The period in play is over, and the next one has not begun.
    paused: bool,
    /// The time of the current event, if the data gives it.
    pub(in crate::normalize) at: Option<Micros>,
}

/// The score that a provider gives apart from the events, home before away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::normalize) struct Recorded {
    pub(in crate::normalize) goals: Option<Pair<u16>>,
    pub(in crate::normalize) half_time: Option<Pair<u16>>,
    pub(in crate::normalize) shootout: Option<Pair<u16>>,
}

impl Course {
    pub(in crate::normalize) fn new(match_id: Id, fixture: Fixture) -> Self {
        Self {
            match_id,
            fixture,
            timeline: Timeline::default(),
            score: FootballScore::default(),
            tallies: Pair::default(),
            about: About::default(),
            line_ups: Pair::default(),
            players: Players::default(),
            analyst: Analyst::default(),
            paused: false,
            at: None,
        }
    }

    /// The details of the match apart from its fixture, reported when it is opened.
    pub(in crate::normalize) fn with(mut self, about: About) -> Self {
        self.about = about;
        self
    }

    /// The starters and the bench of a side, reported when the match is opened.
    pub(in crate::normalize) fn line_up(&mut self, side: Side, line_up: LineUp) {
        self.players.start(side, &line_up);
        self.line_ups[side.index()] = Some(line_up);
    }

    pub(in crate::normalize) fn period(&self) -> Option<Period> {
        self.timeline.period()
    }

    pub(in crate::normalize) fn goals(&self) -> Pair<u16> {
        self.score.goals
    }

    /// The clock that paces the recording.
    pub(in crate::normalize) fn clock_us(&self) -> Micros {
        self.timeline.clock_us()
    }

    /// Emits the fixture, the status and the line-ups before the match begins, when there is no score.
    pub(in crate::normalize) fn open(&self, status: FootballStatus, out: &mut Interpretation) {
        let mut facts = vec![Fact::Fixture(self.fixture.clone())];
        if self.about != About::default() {
            facts.push(Fact::About(Box::new(self.about.clone())));
        }
        facts.push(Fact::Football(FootballFact::Status(status)));
        for side in Side::BOTH {
            let line_up = self.line_ups[side.index()].clone();
            let line_up_facts = line_up.map(|line_up| FootballFact::LineUp { side, line_up });
            facts.extend(line_up_facts.map(Fact::Football));
        }
        let mut batch = batch(Sport::Football, self.match_id, facts);
        batch.at = self.at;
        out.push(self.timeline.clock_us(), batch);
    }

    /// Enters a period, if it is not in it or past it, and ends the one before. `since_match_us`
    /// is when it began, from the start of the match, where the data says it.
    pub(in crate::normalize) fn enter(
        &mut self,
        period: Period,
        since_match_us: Option<Micros>,
        out: &mut Interpretation,
    ) {
        match self.period() {
            Some(current) if current >= period => return,
            Some(_) => self.leave(out),
            None => self.open(FootballStatus::NotStarted, out),
        }
        self.timeline.begin(period, since_match_us);
        self.paused = false;
        if matches!(period, Period::ExtraFirst | Period::ExtraSecond) {
            self.score.extra_time.get_or_insert_default();
        } else if period == Period::Shootout {
            self.score.penalties.get_or_insert_default();
        }
        let mut facts = self.whistle(period.status());
        facts.push(FootballFact::Score(self.score));
        self.emit(facts, out);
    }

    /// Moves to a moment of the period. One before the last is not gone back to: `false`.
    pub(in crate::normalize) fn advance(&mut self, since_start_us: Micros) -> bool {
        self.timeline.advance(since_start_us)
    }

    /// The end of a period. Our vocabulary has no status for the breaks before extra time and
    /// before a shoot-out; there the clock stops, and that is all.
    pub(in crate::normalize) fn leave(&mut self, out: &mut Interpretation) {
        let Some(period) = self.period().filter(|_| !self.paused) else { return };
        self.paused = true;
        let analysis = self.analyst.whistle();
        let status = match period {
            Period::FirstHalf => {
                self.score.half_time = Some(self.score.goals);
                FootballStatus::HalfTime
            }
            Period::ExtraFirst => FootballStatus::ExtraHalf,
            Period::SecondHalf | Period::ExtraSecond | Period::Shootout => {
                let facts = analysis.into_iter().chain([self.clock()]).collect();
                return self.emit(facts, out);
            }
        };
        let mut facts = analysis;
        facts.extend(self.whistle(status));
        facts.push(FootballFact::Score(self.score));
        self.emit(facts, out);
    }

    /// Ends the match: see [`Recorded::compare`]. Without events and without a result there is no score.
    pub(in crate::normalize) fn finish(
        &mut self,
        status: FootballStatus,
        recorded: &Recorded,
        events_are_whole: bool,
        out: &mut Interpretation,
    ) {
        let has_score = self.period().is_some() || recorded.goals.is_some();
        recorded.compare(&mut self.score, events_are_whole, &mut out.notices);
        let mut facts = self.players.end(self.minutes_played());
        facts.extend(self.analyst.whistle());
        facts.extend(self.whistle(status));
        facts.extend(has_score.then_some(FootballFact::Score(self.score)));
        self.emit(facts, out);
    }

    /// Whether play has gone on to the end of the last period, whose end nothing says, without what was added to it.
    pub(in crate::normalize) fn is_played_in_full(&self) -> bool {
        self.period().is_some_and(|period| {
            period == Period::Shootout
                || period != Period::ExtraFirst
                    && period > Period::FirstHalf
                    && self.minutes_played() >= u32::from(period.last_minute())
        })
    }

    /// Whether the second half or a later period is over, and none follows so far.
    pub(in crate::normalize) fn is_after_full_time(&self) -> bool {
        self.paused && self.period() >= Some(Period::SecondHalf)
    }

    /// Whether the events so far are those of a whole match: they go on until near its end, and have the goals at half time that
    /// the provider states.
    pub(in crate::normalize) fn reaches_the_end(&self, recorded: &Recorded) -> bool {
        let is_late = self.period() > Some(Period::SecondHalf)
            || self.period() == Some(Period::SecondHalf) && self.minutes_played() >= LATE_MINUTE;
        let has_first_half = self
            .score
            .half_time
            .is_some_and(|events| recorded.half_time.is_none_or(|record| record == events));
        is_late && has_first_half
    }

    /// The score, with one goal more for a side; and what the scoreboard shows now.
    pub(in crate::normalize) fn goal(&mut self, side: Side) -> Pair<u16> {
        add(&mut self.score.goals, side);
        if let Some(extra_time) = &mut self.score.extra_time {
            add(extra_time, side);
        }
        self.score.goals
    }

    /// A kick of the shoot-out, and how that stands now.
    pub(in crate::normalize) fn kick(&mut self, side: Side, scored: bool) -> Pair<u16> {
        let kicks = self.score.penalties.get_or_insert_default();
        if scored {
            add(kicks, side);
        }
        *kicks
    }

    /// Something that happens now.
    pub(in crate::normalize) fn incident(
        &self,
        eid: Eid,
        kind: IncidentKind,
        side: Option<Side>,
    ) -> Incident {
        Incident::new(eid, kind, self.timeline.minute(), side)
    }

    /// The facts of one event: the clock, the incident, and the statistics of its side.
    pub(in crate::normalize) fn event_facts(
        &mut self,
        incident: Option<Incident>,
        counted: Option<(Side, impl IntoIterator<Item = Stat>)>,
    ) -> Vec<FootballFact> {
        let mut facts = vec![self.clock()];
        facts.extend(self.minute_passed());
        if let Some(incident) = incident {
            facts.push(FootballFact::Score(self.score));
            facts.extend(self.happened(incident));
        }
        if let Some((side, stats)) = counted {
            let values = self.tallies[side.index()].count(stats);
            if let Some(period) = self.timeline.period() {
                self.analyst.count(side, period, values.iter().map(|(stat, _)| *stat));
            }
            if !values.is_empty() {
                facts.push(FootballFact::Stats { side, values });
            }
        }
        facts
    }

    /// An incident, and what it counts for those who had a part in it.
    pub(in crate::normalize) fn happened(&mut self, incident: Incident) -> Vec<FootballFact> {
        let counted = self.players.incident(&incident, self.minutes_played());
        std::iter::once(FootballFact::Incident(incident)).chain(counted).collect()
    }

    /// What a player did now, once each.
    pub(in crate::normalize) fn did(
        &mut self,
        side: Side,
        player: Option<&Participant>,
        stats: impl IntoIterator<Item = PlayerStat>,
    ) -> Option<FootballFact> {
        self.players.count(side, player?, stats)
    }

    /// A side has the ball from now on.
    pub(in crate::normalize) fn held_by(&mut self, side: Side) {
        if let Some(period) = self.timeline.period() {
            self.analyst.held_by(side, period, self.timeline.since_start_us());
        }
    }

    /// Where the ball is, and who plays it.
    pub(in crate::normalize) fn ball(
        &mut self,
        ball: Ball,
        player: Option<&Participant>,
    ) -> FootballFact {
        self.analyst.ball(ball);
        if let Some(player) = player {
            self.analyst.touched(ball.side, player, PitchPlace { x: ball.x, y: ball.y });
        }
        FootballFact::Ball(ball)
    }

    /// A shot of now, with nothing but its outcome.
    pub(in crate::normalize) fn shot(&self, eid: Eid, side: Side, outcome: ShotOutcome) -> Shot {
        let (minute, added) = self.timeline.minute();
        Shot {
            eid,
            side,
            player: None,
            period: self.timeline.period().unwrap_or(Period::FirstHalf),
            minute,
            added,
            outcome,
            situation: None,
            body_part: None,
            expected_goals: None,
            expected_on_target: None,
            location: None,
            goal_mouth: None,
        }
    }

    /// The analysis to report when a minute of play has passed.
    fn minute_passed(&mut self) -> Vec<FootballFact> {
        if self.paused || matches!(self.period(), None | Some(Period::Shootout)) {
            return Vec::new();
        }
        let (minute, added) = self.timeline.minute();
        self.analyst.advance(MatchMinute { minute, added: added.is_some() })
    }

    /// Whole minutes of the match clock, without added time.
    fn minutes_played(&self) -> u32 {
        let minute = self.timeline.second() / 60;
        match self.period() {
            None => 0,
            Some(Period::Shootout) => minute.min(self.timeline.minute().0.into()),
            Some(period) => minute.min(period.last_minute().into()),
        }
    }

    pub(in crate::normalize) fn clock(&self) -> FootballFact {
        let running = !self.paused && self.period() != Some(Period::Shootout);
        FootballFact::Clock { second: self.timeline.second(), running }
    }

    pub(in crate::normalize) fn stopped_clock(&self) -> FootballFact {
        FootballFact::Clock { second: self.timeline.second(), running: false }
    }

    pub(in crate::normalize) fn emit(&self, facts: Vec<FootballFact>, out: &mut Interpretation) {
        let facts = facts.into_iter().map(Fact::Football);
        let mut batch = batch(Sport::Football, self.match_id, facts);
        batch.at = self.at;
        out.push(self.timeline.clock_us(), batch);
    }

    /// The facts of a new status, whose name also names the incident.
    fn whistle(&self, status: FootballStatus) -> Vec<FootballFact> {
        let eid: Eid = format!("period-{}", period_name(status)).into();
        let incident = self.incident(eid, IncidentKind::Period(status), None);
        let second = self.timeline.second();
        let clock = FootballFact::Clock { second, running: in_play(status) };
        vec![FootballFact::Status(status), clock, FootballFact::Incident(incident)]
    }
}

/// A complete event list has an event at or after this minute.
const LATE_MINUTE: u32 = 85;

impl Recorded {
    /// Compares the score by the events with the provider's summary. The events of a whole match stand, and the summary is
    /// refused with a notice; otherwise the summary stands. The kicks of a shoot-out are not always listed, so there the summary stands.
    fn compare(
        &self,
        score: &mut FootballScore,
        events_are_whole: bool,
        notices: &mut Vec<DecodeError>,
    ) {
        let mut differs = |what: &str, events: Pair<u16>, recorded: Option<Pair<u16>>| {
            let recorded = recorded.filter(|recorded| *recorded != events)?;
            let reason =
                format!("{what} {events:?} by the events, {recorded:?} by the match record");
            notices.push(DecodeError::new(RefusalKind::Value, reason));
            Some(recorded)
        };
        if let Some(goals) = differs("score", score.goals, self.goals)
            && !events_are_whole
        {
            score.goals = goals;
        }
        if let Some(half_time) = &mut score.half_time
            && let Some(recorded) = differs("half-time score", *half_time, self.half_time)
            && !events_are_whole
        {
            *half_time = recorded;
        }
        if let Some(kicks) = &mut score.penalties
            && let Some(recorded) = differs("shoot-out", *kicks, self.shootout)
        {
            *kicks = recorded;
        }
    }
}
