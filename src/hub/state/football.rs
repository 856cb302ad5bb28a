//! A football match in play: status, clock, score, incidents, counts, ball.

use std::{collections::BTreeMap, sync::Arc};

use fanout::Micros;
use ingest::event::{
    Ball, FootballFact, FootballScore, FootballStatus, Incident, Pair, Side, Stat,
};

use super::Moment;

#[derive(Debug, Default)]
pub struct Football {
    /// `None` until a feed that follows the play has told it.
    pub status: Option<FootballStatus>,
    pub clock: Option<Clock>,
    /// See [`Football::told_score`].
    score: FootballScore,
    /// In the order in which they became known.
    pub incidents: Vec<Entry>,
    pub stats: Pair<BTreeMap<Stat, u32>>,
    pub ball: Option<Ball>,
}

/// The match clock as an anchor: it showed `second` at the moment `at`, and ticks or stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    pub at: Micros,
    pub second: u32,
    pub running: bool,
}

/// An incident and what became of it.
#[derive(Debug)]
pub struct Entry {
    pub incident: Incident,
    /// Why it was taken back, if it was.
    pub retracted: Option<Arc<str>>,
    /// How often it was told anew.
    pub corrections: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FootballPart {
    Status,
    Clock,
    Score,
    /// By its place in [`Football::incidents`].
    Incident(usize),
    Stat(Side, Stat),
    Ball,
}

/// Something happened to the incident at this place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FootballEvent {
    Happened(usize),
    Retracted(usize),
    /// For so many times, this one included.
    Corrected(usize, u32),
}

/// A clock that is right to this many microseconds keeps its anchor: feeds round to seconds, and a
/// client's clock should not jitter.
const DRIFT_US: Micros = 2_000_000;

impl Football {
    /// The score, once a feed follows the play: no feed is no 0-0.
    #[must_use]
    pub fn told_score(&self) -> Option<FootballScore> {
        self.status.map(|_| self.score)
    }

    pub(super) fn apply(
        &mut self,
        fact: &FootballFact,
        moment: Moment,
        parts: &mut Vec<FootballPart>,
        events: &mut Vec<FootballEvent>,
    ) {
        match fact {
            FootballFact::Status(status) if self.status == Some(*status) => {}
            FootballFact::Status(status) => {
                if self.status.replace(*status).is_none() {
                    parts.push(FootballPart::Score);
                }
                parts.push(FootballPart::Status);
            }
            FootballFact::Clock { second, running } => {
                self.clock(
                    Clock { at: moment.anchor(), second: *second, running: *running },
                    parts,
                );
            }
            FootballFact::Score(score) => self.score(*score, parts),
            FootballFact::Incident(incident) => {
                if self.place(&incident.eid).is_none() {
                    events.push(FootballEvent::Happened(self.incidents.len()));
                    self.incident(incident, parts);
                }
            }
            FootballFact::Retract { of, why, score } => {
                self.retract(of, why, parts, events);
                self.score(*score, parts);
            }
            FootballFact::Correct(incident) => self.correct(incident, parts, events),
            FootballFact::Stats { side, values } => {
                for (stat, value) in values {
                    if self.stats[side.index()].insert(*stat, *value) != Some(*value) {
                        parts.push(FootballPart::Stat(*side, *stat));
                    }
                }
            }
            FootballFact::Ball(ball) => {
                if self.ball.replace(*ball) != Some(*ball) {
                    parts.push(FootballPart::Ball);
                }
            }
        }
    }

    fn clock(&mut self, clock: Clock, parts: &mut Vec<FootballPart>) {
        if !self.clock.is_some_and(|anchor| anchor.agrees(clock)) {
            self.clock = Some(clock);
            parts.push(FootballPart::Clock);
        }
    }

    fn score(&mut self, score: FootballScore, parts: &mut Vec<FootballPart>) {
        if self.score != score {
            self.score = score;
            parts.push(FootballPart::Score);
        }
    }

    fn place(&self, eid: &str) -> Option<usize> {
        self.incidents.iter().position(|entry| &*entry.incident.eid == eid)
    }

    fn incident(&mut self, incident: &Incident, parts: &mut Vec<FootballPart>) {
        parts.push(FootballPart::Incident(self.incidents.len()));
        self.incidents.push(Entry { incident: incident.clone(), retracted: None, corrections: 0 });
    }

    fn retract(
        &mut self,
        of: &str,
        why: &Arc<str>,
        parts: &mut Vec<FootballPart>,
        events: &mut Vec<FootballEvent>,
    ) {
        let Some(place) = self.place(of) else { return };
        let entry = &mut self.incidents[place];
        if entry.retracted.is_none() {
            entry.retracted = Some(Arc::clone(why));
            parts.push(FootballPart::Incident(place));
            events.push(FootballEvent::Retracted(place));
        }
    }

    /// A correction of something that was never told is told as new.
    fn correct(
        &mut self,
        incident: &Incident,
        parts: &mut Vec<FootballPart>,
        events: &mut Vec<FootballEvent>,
    ) {
        let Some(place) = self.place(&incident.eid) else {
            events.push(FootballEvent::Happened(self.incidents.len()));
            return self.incident(incident, parts);
        };
        if self.incidents[place].incident != *incident {
            self.incidents[place].incident = incident.clone();
            self.incidents[place].corrections += 1;
            parts.push(FootballPart::Incident(place));
            events.push(FootballEvent::Corrected(place, self.incidents[place].corrections));
        }
    }
}

impl Clock {
    /// Whether this anchor already says what `told` says.
    fn agrees(self, told: Self) -> bool {
        let second = Micros::from(self.second) * 1_000_000;
        let shown = if self.running { second + (told.at - self.at) } else { second };
        self.running == told.running
            && (shown - Micros::from(told.second) * 1_000_000).abs() <= DRIFT_US
    }
}
