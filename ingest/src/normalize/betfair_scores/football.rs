//! A football match by its timeline or its scoreboard.
//!
//! A timeline tells each update once, by its `updateId`, and takes back what is gone from it, when
//! what is left adds up to the score beside it. A scoreboard without one tells the score, the phase,
//! the counts and, with its seconds, the clock. The score of a goal is counted; the image has the
//! last word.
//!
//! Minutes are minutes in progress, as Betfair counts them: the goal 32:57 after the second half
//! began at 46 is in minute 78. `SecondHalfEnd` ends the match, because what may follow is not said
//! beforehand; where more does follow, the match goes on.

mod image;

use std::collections::{BTreeMap, HashSet};

use super::{
    Match,
    period::{first_second, goes_on, minute, runs, second_of},
    status::{self, Meaning},
};
use crate::{
    decode::betfair_scores::{Board, Update},
    error::DecodeError,
    event::{
        Eid, Fact, FootballFact, FootballScore, FootballStatus, Id, Incident, IncidentKind, Micros,
        Pair, Participant, Side, Stat,
    },
    normalize::{
        Played,
        betfair::{fixture::PROVIDER, time},
    },
};

const SECOND_US: Micros = 1_000_000;

/// Updates of one match; the busiest known has some two hundred.
const UPDATES_MAX: usize = 2000;

const GONE: &str = "gone from the timeline";
const DISALLOWED: &str = "disallowed";

#[derive(Debug, Default)]
pub(super) struct Football {
    status: Option<FootballStatus>,
    score: FootballScore,
    scored: bool,
    /// Goals of the timeline; a scoreboard may know of more.
    counted: Pair<u16>,
    /// What the timeline holds of what was told, in order.
    timeline: Vec<Told>,
    stats: Pair<BTreeMap<Stat, u32>>,
    /// When the period in play began, where that is known, and the match second then.
    began: Option<(Micros, u32)>,
    /// The minute and second that the scoreboard showed last.
    shown: Option<(u16, Option<u8>)>,
    /// Whether the clock told last runs.
    ticks: Option<bool>,
    clock_us: Option<Micros>,
}

#[derive(Debug)]
struct Told {
    eid: Eid,
    kind: IncidentKind,
    side: Option<Side>,
    retracted: bool,
}

impl Football {
    pub(super) fn board(
        &mut self,
        of: &mut Match,
        board: &Board,
        received: Micros,
        out: &mut Played,
    ) {
        let names = of.names(board);
        let updates = board.updates.as_deref().unwrap_or_default();
        for (place, update) in updates.iter().enumerate() {
            self.update(of, update, &updates[place + 1..], received, out);
        }
        let mut facts: Vec<Fact> = names.into_iter().collect();
        let mut own = Vec::new();
        if board.updates.is_some() {
            self.take_back(updates, board, &mut own, &mut out.notices);
        }
        self.image(board, &mut own, &mut out.notices);
        facts.extend(own.into_iter().map(Fact::Football));
        of.emit(self.now(board, received), None, facts, out);
    }

    /// When the image was, by the timeline's own clock: minutes after its last update.
    fn now(&self, board: &Board, received: Micros) -> Micros {
        let Some(last) = self.clock_us else { return received };
        let update = board.updates.as_deref().and_then(<[Update]>::last);
        let since = board.minute.zip(update.and_then(|update| update.minute));
        let minutes = since.map_or(0, |(now, then)| now.saturating_sub(then));
        last + Micros::from(minutes) * 60 * SECOND_US
    }

    fn update(
        &mut self,
        of: &mut Match,
        update: &Update,
        later: &[Update],
        received: Micros,
        out: &mut Played,
    ) {
        let eid = eid(update);
        if self.timeline.len() >= UPDATES_MAX || self.timeline.iter().any(|told| told.eid == eid) {
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
            Meaning::Incident(kind) => self.incident(&eid, kind, update, &mut facts),
            Meaning::GoalCancelled => self.disallow(update, &mut facts),
            Meaning::FullTime | Meaning::Nothing => self.pause(update, at, &mut facts),
            Meaning::Unknown => {
                out.notices.push(super::value(format!("update {:?} is not known", update.kind)));
            }
        }
        if !matches!(meaning, Meaning::Status(_) | Meaning::Incident(_)) {
            // Remembered all the same, so that it is looked at once.
            let kind = IncidentKind::Period(FootballStatus::NotStarted);
            self.timeline.push(Told { eid, kind, side: None, retracted: true });
        }
        let clock_us = at.or(self.clock_us).unwrap_or(received);
        self.clock_us = self.clock_us.max(Some(clock_us));
        let facts = facts.into_iter().map(Fact::Football).collect();
        of.emit(self.clock_us.unwrap_or(clock_us), at, facts, out);
    }

    /// The end of 90 or 120 minutes that more follows: the clock stops, and that is all.
    fn pause(&mut self, update: &Update, at: Option<Micros>, facts: &mut Vec<FootballFact>) {
        if matches!(status::football(&update.kind), Meaning::FullTime) {
            facts.push(FootballFact::Clock { second: self.second(update, at), running: false });
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
            Some(first) => first.max(second_of(update.minute)),
            None => self.second(update, at),
        };
        self.began = at.filter(|_| running).map(|at| (at, second));
        match status {
            FootballStatus::HalfTime => self.score.half_time = Some(self.score.goals),
            FootballStatus::ExtraFirst => {
                self.score.extra_time.get_or_insert_default();
            }
            FootballStatus::Penalties => {
                self.score.penalties.get_or_insert_default();
            }
            _ => {}
        }
        self.status = Some(status);
        facts.push(FootballFact::Status(status));
        facts.push(FootballFact::Clock { second, running });
        self.ticks = Some(running);
        facts.push(FootballFact::Score(self.score));
        self.scored = true;
        self.tell(eid, IncidentKind::Period(status), update, None, facts);
    }

    fn incident(
        &mut self,
        eid: &Eid,
        kind: IncidentKind,
        update: &Update,
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
            _ => None,
        };
        self.tell(eid, kind, update, score, facts);
    }

    fn tell(
        &mut self,
        eid: &Eid,
        kind: IncidentKind,
        update: &Update,
        score: Option<Pair<u16>>,
        facts: &mut Vec<FootballFact>,
    ) {
        let side = side(update);
        self.timeline.push(Told { eid: eid.clone(), kind, side, retracted: false });
        let (minute, added) = minute(update, self.status);
        let player = update.player.as_deref().map(|name| Participant {
            id: Id::derive(PROVIDER, "player", name),
            name: name.into(),
        });
        let eid = eid.clone();
        let incident = Incident { eid, kind, minute, added, side, player, assist: None, score };
        facts.push(FootballFact::Incident(incident));
    }

    /// Takes back the last goal of the side that the update names, or of either.
    fn disallow(&mut self, update: &Update, facts: &mut Vec<FootballFact>) {
        let by = side(update);
        let of = |told: &&mut Told| told.is_goal() && (by.is_none() || told.side == by);
        if let Some(told) = self.timeline.iter_mut().rev().find(of) {
            told.retracted = true;
            let (eid, side) = (told.eid.clone(), told.side);
            self.uncount(side);
            let score = self.score;
            facts.push(FootballFact::Retract { of: eid, why: DISALLOWED.into(), score });
        }
    }

    /// Counts a goal of the timeline, which the scoreboard may have had before.
    fn count(&mut self, side: Side) {
        add(&mut self.counted, side);
        let (own, counted) = (side.index(), self.counted[side.index()]);
        if self.score.goals[own] < counted {
            self.score.goals[own] = counted;
            self.score.extra_time.iter_mut().for_each(|goals| add(goals, side));
        }
    }

    fn uncount(&mut self, side: Option<Side>) {
        let Some(side) = side else { return };
        let own = side.index();
        let (goals, counted) = (&mut self.score.goals[own], &mut self.counted[own]);
        if goals == counted {
            *goals = goals.saturating_sub(1);
            let extra_time = self.score.extra_time.iter_mut();
            extra_time.for_each(|goals| goals[own] = goals[own].saturating_sub(1));
        }
        *counted = counted.saturating_sub(1);
    }

    /// Takes back what is gone from the timeline, unless that contradicts the score: then it is the
    /// timeline that lacks something.
    fn take_back(
        &mut self,
        updates: &[Update],
        board: &Board,
        facts: &mut Vec<FootballFact>,
        notices: &mut Vec<DecodeError>,
    ) {
        let eids: HashSet<_> = updates.iter().map(eid).collect();
        let gone = |told: &Told| !told.retracted && !eids.contains(&told.eid);
        if !self.timeline.iter().any(gone) {
            return;
        }
        let mut left = [0_u16; 2];
        for told in self.timeline.iter().filter(|told| told.is_goal() && !gone(told)) {
            told.side.into_iter().for_each(|side| add(&mut left, side));
        }
        if image::goals(board).is_some_and(|goals| goals != left) {
            return notices.push(super::value(format!("timeline of goals {left:?} lacks some")));
        }
        for at in 0..self.timeline.len() {
            let told = &mut self.timeline[at];
            if told.retracted || eids.contains(&told.eid) {
                continue;
            }
            let (of, goal, side) = (told.eid.clone(), told.is_goal(), told.side);
            told.retracted = true;
            if goal {
                self.uncount(side);
            }
            facts.push(FootballFact::Retract { of, why: GONE.into(), score: self.score });
        }
    }

    /// The match second of an update, by the clock since its period began, else by its minute.
    fn second(&self, update: &Update, at: Option<Micros>) -> u32 {
        let since = self.began.zip(at).and_then(|((began, second), at)| {
            let passed = u32::try_from(at.checked_sub(began)? / SECOND_US).ok()?;
            second.checked_add(passed)
        });
        since.unwrap_or_else(|| second_of(update.minute))
    }
}

impl Told {
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

/// By its id, or, where it has none, by what it is.
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
    let own = &mut goals[side.index()];
    *own = own.saturating_add(1);
}
