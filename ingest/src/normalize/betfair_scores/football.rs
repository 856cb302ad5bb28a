//! A football match by its timeline or its scoreboard.
//!
//! Each update of a timeline is reported once, by its `updateId`. An update that disappears is
//! retracted if the remaining goals add up to the score of the scoreboard. A scoreboard without a
//! timeline gives the score, the phase, the counts and, with seconds, the clock. The score of a goal
//! is counted; the image overrides it.
//!
//! Minutes are minutes in progress, as Betfair counts them: the goal 32:57 after the second half
//! began at 46 is in minute 78. `SecondHalfEnd` ends the match, because what may follow is not said
//! beforehand; where more does follow, the match goes on.

mod image;

use std::collections::{BTreeMap, HashSet};

use facts::{
    event::{
        Eid, Fact, FootballFact, FootballScore, FootballStatus, Id, Incident, IncidentKind, Micros,
        Pair, Participant, Side, Stat,
    },
    football::Period,
};

use super::{
    Match,
    period::{first_second, goes_on, minute, runs, second_of},
    status::{self, Meaning},
};
use crate::{
    decode::betfair_scores::{Board, Update},
    error::DecodeError,
    normalize::{
        Interpretation,
        betfair::{fixture::PROVIDER, time},
    },
};

const SECOND_US: Micros = 1_000_000;

/// The most updates of one match; the busiest recorded match has some two hundred.
const UPDATES_MAX: usize = 2000;

const GONE: &str = "gone from the timeline";
const DISALLOWED: &str = "disallowed";

#[derive(Debug, Default)]
pub(super) struct Football {
    status: Option<FootballStatus>,
    score: FootballScore,
    scored: bool,
    /// A goal of the timeline is of no known side, so that its goals are not all.
    has_goal_of_no_side: bool,
    /// Goals of the timeline; a scoreboard may have more.
    counted: Pair<u16>,
    /// The reported updates of the timeline, in order.
    timeline: Vec<TimelineEntry>,
    stats: Pair<BTreeMap<Stat, u32>>,
    /// When the current period began, if known, and the match second at that time.
    began: Option<(Micros, u32)>,
    /// The minute and second that the scoreboard showed last.
    shown: Option<(u16, Option<u8>)>,
    /// Whether the last reported clock is running.
    ticks: Option<bool>,
    clock_us: Option<Micros>,
}

#[derive(Debug)]
struct TimelineEntry {
    eid: Eid,
    kind: IncidentKind,
    side: Option<Side>,
    /// Whether it was published: without any minute it only counts.
    is_reported: bool,
    retracted: bool,
}

impl Football {
    pub(super) fn board(
        &mut self,
        tracked: &mut Match,
        board: &Board,
        received: Micros,
        out: &mut Interpretation,
    ) {
        let names = tracked.names(board);
        let updates = board.updates.as_deref().unwrap_or_default();
        for (index, update) in updates.iter().enumerate() {
            self.update(tracked, update, &updates[index + 1..], received, out);
        }
        let mut facts: Vec<Fact> = names.into_iter().collect();
        let mut football = Vec::new();
        if board.updates.is_some() {
            self.retract_missing(updates, board, &mut football, &mut out.notices);
        }
        self.image(board, &mut football, &mut out.notices);
        facts.extend(football.into_iter().map(Fact::Football));
        tracked.emit(self.now(board, received), None, facts, out);
    }

    /// The time of the image by the timeline's clock: minutes after its last update.
    fn now(&self, board: &Board, received: Micros) -> Micros {
        let Some(last) = self.clock_us else { return received };
        let update = board.updates.as_deref().and_then(<[Update]>::last);
        let since = board.minute.zip(update.and_then(|update| update.minute));
        let minutes = since.map_or(0, |(now, then)| now.saturating_sub(then));
        last + Micros::from(minutes) * 60 * SECOND_US
    }

    fn update(
        &mut self,
        tracked: &mut Match,
        update: &Update,
        later: &[Update],
        received: Micros,
        out: &mut Interpretation,
    ) {
        let eid = eid(update);
        if self.timeline.len() >= UPDATES_MAX || self.timeline.iter().any(|entry| entry.eid == eid)
        {
            return;
        }
        let at = update.time.as_deref().and_then(time::micros);
        let meaning = match status::football(&update.kind) {
            Meaning::FullTime if later.iter().any(goes_on) => Meaning::Nothing,
            Meaning::FullTime => Meaning::Status(FootballStatus::Finished),
            other => other,
        };
        let mut facts = Vec::new();
        match meaning {
            Meaning::Status(status) => self.period(&eid, status, update, at, &mut facts),
            Meaning::Incident(kind) => self.incident(&eid, kind, update, at, &mut facts),
            Meaning::GoalCancelled => self.disallow(update, &mut facts),
            Meaning::FullTime | Meaning::Nothing => self.pause(update, at, &mut facts),
            Meaning::Unknown => {
                out.notices.push(super::value(format!("update {:?} is not known", update.kind)));
            }
        }
        let is_reported = facts.iter().any(|fact| matches!(fact, FootballFact::Incident(_)));
        if matches!(meaning, Meaning::Status(_) | Meaning::Incident(_)) {
            let reason = || super::value(format!("update {:?} without a minute", update.kind));
            out.notices.extend((!is_reported).then(reason));
        } else {
            // Recorded as well, so that it is processed only once.
            let kind = IncidentKind::Period(FootballStatus::NotStarted);
            let (side, is_reported, retracted) = (None, false, true);
            self.timeline.push(TimelineEntry { eid, kind, side, is_reported, retracted });
        }
        let clock_us = at.or(self.clock_us).unwrap_or(received);
        self.clock_us = self.clock_us.max(Some(clock_us));
        let facts = facts.into_iter().map(Fact::Football).collect();
        tracked.emit(self.clock_us.unwrap_or(clock_us), at, facts, out);
    }

    /// The end of 90 or 120 minutes when more play follows: only stops the clock.
    fn pause(&mut self, update: &Update, at: Option<Micros>, facts: &mut Vec<FootballFact>) {
        if matches!(status::football(&update.kind), Meaning::FullTime) {
            let second = self.second(update, at);
            facts.extend(second.map(|second| FootballFact::Clock { second, running: false }));
            self.ticks = Some(false);
            self.began = None;
        }
    }

    fn period(
        &mut self,
        eid: &Eid,
        status: FootballStatus,
        update: &Update,
        at: Option<Micros>,
        facts: &mut Vec<FootballFact>,
    ) {
        let running = runs(status);
        let second = match first_second(status) {
            Some(first) => Some(first.max(update.minute.map_or(0, second_of))),
            None => self.second(update, at),
        };
        self.began = at.filter(|_| running).zip(second);
        match status {
            FootballStatus::HalfTime if !self.has_goal_of_no_side => {
                self.score.half_time = Some(self.score.goals);
            }
            FootballStatus::ExtraFirst => {
                self.score.extra_time.get_or_insert_default();
            }
            FootballStatus::Penalties => {
                self.score.penalties.get_or_insert_default();
            }
            _ => {}
        }
        self.status = Some(status);
        let start = Period::played_in(status).zip(at);
        facts.extend(start.map(|(period, at)| FootballFact::PeriodStart { period, at }));
        facts.push(FootballFact::Status(status));
        facts.extend(second.map(|second| FootballFact::Clock { second, running }));
        self.ticks = Some(running);
        facts.push(FootballFact::Score(self.score));
        self.scored = true;
        self.record_incident(eid, IncidentKind::Period(status), update, (second, None), facts);
    }

    fn incident(
        &mut self,
        eid: &Eid,
        kind: IncidentKind,
        update: &Update,
        at: Option<Micros>,
        facts: &mut Vec<FootballFact>,
    ) {
        let kind = match kind {
            IncidentKind::Goal(_) if self.status == Some(FootballStatus::Penalties) => {
                IncidentKind::Shootout { scored: true }
            }
            IncidentKind::PenaltyMissed if self.status == Some(FootballStatus::Penalties) => {
                IncidentKind::Shootout { scored: false }
            }
            other => other,
        };
        let score = match (kind, side(update)) {
            (IncidentKind::Goal(_), Some(side)) => {
                self.count(side);
                facts.push(FootballFact::Score(self.score));
                Some(self.counted)
            }
            (IncidentKind::Shootout { scored }, Some(side)) => {
                let kicks = self.score.penalties.get_or_insert_default();
                if scored {
                    add(kicks, side);
                }
                let kicks = *kicks;
                facts.push(FootballFact::Score(self.score));
                Some(kicks)
            }
            (IncidentKind::Goal(_), None) => {
                self.has_goal_of_no_side = true;
                None
            }
            _ => None,
        };
        self.record_incident(eid, kind, update, (self.second(update, at), score), facts);
    }

    /// Reports an incident, with the second of the match and the score after it, if they are known. Without any minute it is
    /// only recorded, and can still be retracted.
    fn record_incident(
        &mut self,
        eid: &Eid,
        kind: IncidentKind,
        update: &Update,
        (second, score): (Option<u32>, Option<Pair<u16>>),
        facts: &mut Vec<FootballFact>,
    ) {
        let side = side(update);
        let at = minute(update, self.status, second);
        let (eid, is_reported, retracted) = (eid.clone(), at.is_some(), false);
        self.timeline.push(TimelineEntry { eid: eid.clone(), kind, side, is_reported, retracted });
        let Some(at) = at else { return };
        let player = update.player.as_deref().map(|name| Participant {
            id: Id::derive(PROVIDER, "player", name),
            name: name.into(),
        });
        let incident = Incident { player, score, ..Incident::new(eid, kind, at, side) };
        facts.push(FootballFact::Incident(incident));
    }

    /// Retracts the last goal of the side that the update names, or of either side.
    fn disallow(&mut self, update: &Update, facts: &mut Vec<FootballFact>) {
        let by = side(update);
        let is_meant =
            |entry: &TimelineEntry| entry.is_goal() && (by.is_none() || entry.side == by);
        if let Some(at) = self.timeline.iter().rposition(is_meant) {
            self.retract(at, DISALLOWED, facts);
        }
    }

    /// Takes back an entry of the timeline, and what it counted.
    fn retract(&mut self, at: usize, why: &str, facts: &mut Vec<FootballFact>) {
        let entry = &mut self.timeline[at];
        entry.retracted = true;
        let (eid, kind, side) = (entry.eid.clone(), entry.kind, entry.side);
        let is_reported = entry.is_reported;
        match kind {
            IncidentKind::Goal(_) => {
                self.uncount(side);
                let is_of_no_side = |entry: &TimelineEntry| entry.is_goal() && entry.side.is_none();
                self.has_goal_of_no_side &= self.timeline.iter().any(is_of_no_side);
            }
            IncidentKind::Shootout { scored: true } => {
                if let (Some(side), Some(kicks)) = (side, &mut self.score.penalties) {
                    kicks[side.index()] = kicks[side.index()].saturating_sub(1);
                }
            }
            _ if is_reported => {}
            _ => return,
        }
        let score = self.score;
        facts.push(if is_reported {
            FootballFact::Retract { eid, why: why.into(), score }
        } else {
            FootballFact::Score(score)
        });
    }

    /// Counts a goal of the timeline, which the scoreboard may already contain.
    fn count(&mut self, side: Side) {
        add(&mut self.counted, side);
        let (index, counted) = (side.index(), self.counted[side.index()]);
        if self.score.goals[index] < counted {
            self.score.goals[index] = counted;
            self.score.extra_time.iter_mut().for_each(|goals| add(goals, side));
        }
    }

    fn uncount(&mut self, side: Option<Side>) {
        let Some(side) = side else { return };
        let index = side.index();
        let (goals, counted) = (&mut self.score.goals[index], &mut self.counted[index]);
        if goals == counted {
            *goals = goals.saturating_sub(1);
            let extra_time = self.score.extra_time.iter_mut();
            extra_time.for_each(|goals| goals[index] = goals[index].saturating_sub(1));
        }
        *counted = counted.saturating_sub(1);
    }

    /// Retracts what is missing from the timeline, unless that contradicts the score: then the
    /// timeline is incomplete.
    fn retract_missing(
        &mut self,
        updates: &[Update],
        board: &Board,
        facts: &mut Vec<FootballFact>,
        notices: &mut Vec<DecodeError>,
    ) {
        let eids: HashSet<_> = updates.iter().map(eid).collect();
        let gone = |entry: &TimelineEntry| !entry.retracted && !eids.contains(&entry.eid);
        if !self.timeline.iter().any(gone) {
            return;
        }
        let mut left = [0_u16; 2];
        for entry in self.timeline.iter().filter(|entry| entry.is_goal() && !gone(entry)) {
            entry.side.into_iter().for_each(|side| add(&mut left, side));
        }
        if image::goals(board).is_some_and(|goals| goals != left) {
            return notices.push(super::value(format!("timeline of goals {left:?} lacks some")));
        }
        for at in 0..self.timeline.len() {
            let entry = &self.timeline[at];
            if !entry.retracted && !eids.contains(&entry.eid) {
                self.retract(at, GONE, facts);
            }
        }
    }

    /// The match second of an update, by the clock since its period began, else by its minute.
    fn second(&self, update: &Update, at: Option<Micros>) -> Option<u32> {
        let since = self.began.zip(at).and_then(|((began, second), at)| {
            let passed = u32::try_from(at.checked_sub(began)? / SECOND_US).ok()?;
            second.checked_add(passed)
        });
        since.or_else(|| update.minute.map(second_of))
    }
}

impl TimelineEntry {
    fn is_goal(&self) -> bool {
        matches!(self.kind, IncidentKind::Goal(_)) && !self.retracted
    }
}

fn side(update: &Update) -> Option<Side> {
    match update.team {
        Some(0) => Some(Side::First),
        Some(1) => Some(Side::Second),
        _ => None,
    }
}

/// By its id, or, without one, by its kind, minute and team.
fn eid(update: &Update) -> Eid {
    match update.id {
        Some(id) => format!("u{id}").into(),
        None => {
            let team = update.team.map_or("-", |team| ["home", "away"][team.min(1)]);
            format!("{}-{}-{team}", update.kind, update.minute.unwrap_or(0)).into()
        }
    }
}

fn add(goals: &mut Pair<u16>, side: Side) {
    let scored = &mut goals[side.index()];
    *scored = scored.saturating_add(1);
}
