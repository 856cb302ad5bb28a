//! Stats Perform events to football facts: MA3 event by event (this module), and MA1 alone as the
//! summary that it is ([`Summary`]).
//!
//! Events are taken by the match clock, which is their order; their wall-clock times may step back
//! and are reported unchanged. A disallowed goal (`outcome` 0) is ignored. A substitution is
//! reported with the player who comes on; a player who only goes off is not reported. A result that
//! is given separately overrides the events.

mod ball;
mod count;
mod incident;
mod played;
mod roster;
mod shot;
mod summary;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use facts::{
    event::{Analysis, FootballFact, Id, Micros, Side},
    football::Period,
};

use self::roster::Roster;
use super::{EventByEvent, Interpretation, football::Course};
use crate::{
    decode::statsperform::{
        Details, Document, Kind, Moment, MomentKind, NamedEntity, StatsPerformEvent, qualifier,
    },
    error::{DecodeError, RefusalKind, Result},
};

pub use self::summary::Summary;

const PROVIDER: &str = "statsperform";

/// Makes facts of one match. Events are given to it in order, then [`finish`](Self::finish).
#[derive(Debug)]
pub struct Normalizer {
    roster: Roster,
    course: Course,
    details: Details,
    /// When each period began, from the start of the match.
    starts: BTreeMap<Period, Micros>,
    /// Who goes off, by the id of the event in which another comes on.
    off: HashMap<Arc<str>, NamedEntity>,
    /// Passes that a shot came of, by the team and the team's own number of the pass.
    passes: HashMap<(Arc<str>, u64), NamedEntity>,
    /// Who gave the last pass, by the id of the goal, as MA1 has it.
    assists: HashMap<Arc<str>, NamedEntity>,
    /// Ids of events, each of which counts once.
    seen: HashSet<Arc<str>>,
}

impl Normalizer {
    /// `summary` is the MA1 of the match, if there is one.
    ///
    /// # Errors
    ///
    /// If neither says which match it is, or who plays.
    pub fn new(document: &Document, summary: Option<&Document>) -> Result<Self> {
        let info =
            document.info.as_ref().or_else(|| summary.and_then(|summary| summary.info.as_ref()));
        let info = info.ok_or_else(played::no_match)?;
        let roster = Roster::new(info)?;
        let fixture = played::fixture(info, &roster);
        let moments = summary.map_or(document.moments.as_slice(), |it| it.moments.as_slice());
        let documents: Vec<_> = summary.into_iter().chain([document]).collect();
        let about = played::about(info, &roster, &documents);
        let match_id = Id::derive(PROVIDER, "match", &info.id);
        let mut course = Course::new(match_id, fixture).with(about);
        played::line_ups(&mut course, &roster, &documents);
        Ok(Self {
            course,
            starts: starts(document),
            off: off(document),
            passes: passes(document),
            assists: moments.iter().flatten().filter_map(assist).collect(),
            details: document.details.clone(),
            roster,
            seen: HashSet::new(),
        })
    }
}

impl EventByEvent for Normalizer {
    type Event = StatsPerformEvent;

    fn event(&mut self, event: &StatsPerformEvent, out: &mut Interpretation) -> Result<()> {
        let side = self.check(event)?;
        self.seen.insert(event.id.clone());
        self.course.at = event.at;
        self.course.enter(event.period, self.starts.get(&event.period).copied(), out);
        self.course.advance(event.since_start_us);
        let facts = self.facts(event, side);
        self.course.emit(facts, out);
        if event.kind == Kind::PeriodEnd {
            self.course.leave(out);
        }
        Ok(())
    }

    /// Ends the match as the provider says that it ended.
    fn finish(&mut self, out: &mut Interpretation) {
        played::finish(&mut self.course, &self.details, out);
    }
}

impl Normalizer {
    fn check(&self, event: &StatsPerformEvent) -> Result<Side> {
        let refuse = |kind, reason| Err(DecodeError::new(kind, reason));
        if self.seen.contains(&event.id) {
            return refuse(RefusalKind::Value, format!("event {} comes twice", event.id));
        }
        if self.course.period() > Some(event.period) {
            let reason = format!("event {} of a period that is over", event.id);
            return refuse(RefusalKind::Value, reason);
        }
        self.roster.check(&event.contestant)
    }

    fn facts(&mut self, event: &StatsPerformEvent, side: Side) -> Vec<FootballFact> {
        let player = event.player.as_ref().map(roster::player);
        let incident = self.incident(event, side);
        let in_play = event.period != Period::Shootout;
        let counted = in_play.then(|| (side, count::stats(event).into_iter().flatten()));
        let mut facts = self.course.event_facts(incident, counted);
        if in_play {
            facts.extend(self.course.did(side, player.as_ref(), count::of_player(event)));
        }
        if let Some(shot) = shot::new_shot(&self.course, event, side) {
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

/// As the details of the match say, or else its own events.
fn starts(document: &Document) -> BTreeMap<Period, Micros> {
    let events = document.events.iter().flatten().filter(|event| event.kind == Kind::PeriodStart);
    let by_events = events.filter_map(|event| Some((event.period, event.at?)));
    played::starts(by_events, &document.details)
}

/// The two events of a substitution name each other; where they do not, they belong together by
/// their team and their moment, in order.
fn off(document: &Document) -> HashMap<Arc<str>, NamedEntity> {
    let events = || document.events.iter().flatten();
    let substitutions =
        |kind: Kind| events().filter(move |it| it.kind == kind).take(SUBSTITUTIONS_MAX);
    let mut leaving: Vec<_> = substitutions(Kind::Off).collect();
    let mut off = HashMap::new();
    for coming in substitutions(Kind::On) {
        let related = coming.number(qualifier::RELATED);
        let of_team = |it: &&StatsPerformEvent| it.contestant == coming.contestant;
        let named =
            |it: &&StatsPerformEvent| of_team(it) && related.is_some() && it.event_id == related;
        let at_once = |it: &&StatsPerformEvent| of_team(it) && it.moment() == coming.moment();
        let at = leaving.iter().position(named).or_else(|| leaving.iter().position(at_once));
        if let Some(player) = at.and_then(|at| leaving.remove(at).player.clone()) {
            off.insert(coming.id.clone(), player);
        }
    }
    off
}

/// More than any rules allow; further ones are reported without the player who goes off.
const SUBSTITUTIONS_MAX: usize = 100;

fn passes(document: &Document) -> HashMap<(Arc<str>, u64), NamedEntity> {
    let passes = document
        .events
        .iter()
        .flatten()
        .filter(|event| matches!(event.kind, Kind::Pass) && event.has(qualifier::SHOT_ASSIST));
    let named = |event: &StatsPerformEvent| {
        Some(((event.contestant.clone(), event.event_id?), event.player.clone()?))
    };
    passes.filter_map(named).collect()
}

fn assist(moment: &Moment) -> Option<(Arc<str>, NamedEntity)> {
    match &moment.kind {
        MomentKind::Goal { assist, .. } => Some((moment.event_id.clone()?, assist.clone()?)),
        _ => None,
    }
}
