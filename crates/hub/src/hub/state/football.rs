//! A football match in play: status, clock, score, incidents, counts, ball.

use std::{collections::BTreeMap, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::{
    event::{
        Ball, Eid, FootballFact, FootballScore, FootballStatus, Id, Incident, LineUp, Pair,
        Participant, PlayerStat, Side, Stat,
    },
    football::{Period, PeriodStarts},
};
use fanout::Micros;
use record::counters::{self, CardColour};

use super::{MatchAnalysis, MatchDelta, Moment};
use crate::hub::feeds::{FactKind, SourceNumber};

#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub struct Football {
    /// `None` until a feed reports the play.
    pub status: Option<FootballStatus>,
    pub clock: Option<MatchClock>,
    /// As sources stated them, or reported the status of the period at the time.
    pub period_starts: PeriodStarts,
    /// The last one that a source stated. See [`Football::reported_score`].
    score: Option<FootballScore>,
    /// The latest source time of a score.
    scored_at: Option<Micros>,
    /// How often the score was lowered without a retracted incident.
    put_right: u32,
    /// In the order in which they became known.
    pub incidents: Vec<IncidentEntry>,
    /// As sources state them. See [`Football::counters`].
    pub stats: Pair<BTreeMap<Stat, u32>>,
    pub ball: Option<Ball>,
    pub line_ups: Pair<Option<LineUp>>,
    /// What each player has done, in the order of ids.
    pub players: BTreeMap<Id, PlayerTally>,
    /// Boxed, since few feeds report it.
    pub analysis: Option<Box<MatchAnalysis>>,
}

/// What one player has done.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PlayerTally {
    pub player: Participant,
    pub side: Side,
    pub values: BTreeMap<PlayerStat, u32>,
}

/// The match clock as an anchor: it showed `second` at the moment `at`, and ticks or stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct MatchClock {
    pub at: Micros,
    pub second: u32,
    pub running: bool,
}

/// An incident with its retraction and corrections.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct IncidentEntry {
    pub incident: Incident,
    /// The reason of its retraction, if it was retracted.
    pub retracted: Option<Arc<str>>,
    /// How often it was corrected.
    pub corrections: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FootballPart {
    Status,
    Clock,
    Score,
    PeriodStart(Period),
    /// By its place in [`Football::incidents`].
    Incident(usize),
    /// By its name in [`Football::counters`].
    Counter(Side, &'static str),
    Ball,
}

/// An event of the incident at this index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FootballEvent {
    Happened(usize),
    Retracted(usize),
    /// With the number of corrections, this one included.
    Corrected(usize, u32),
    /// The score was lowered without a retraction, with the number of times, this one included.
    ScoreCorrected(u32),
}

/// The anchor stays while the clock agrees to within this many microseconds: feeds round to
/// seconds, and a client's clock should not jitter.
const DRIFT_US: Micros = 2_000_000;

/// A feed has missed the start of a period if its clock is so much beyond it. Some count the minute in progress.
const LATE_SECONDS: u32 = 120;

impl Football {
    /// The score of a match that has begun, as a source stated it: without a statement there is none, not 0-0.
    #[must_use]
    pub fn reported_score(&self) -> Option<FootballScore> {
        self.score.filter(|_| self.status.is_some_and(FootballStatus::has_begun))
    }

    /// The counters of both sides, with the zeros that feeds omit, as in the REST API: see [`record::counters`].
    #[must_use]
    pub fn counters(&self) -> Pair<BTreeMap<&'static str, u32>> {
        let named =
            |side: &BTreeMap<Stat, u32>| side.iter().map(|(stat, n)| (stat.as_str(), *n)).collect();
        let mut sides: Pair<BTreeMap<&'static str, u32>> = self.stats.each_ref().map(named);
        let standing = self.incidents.iter().filter(|entry| entry.retracted.is_none());
        let shown = standing.filter_map(|IncidentEntry { incident, .. }| {
            let card = CardColour::from_kind(incident.kind.as_str())?;
            Some((card, u8::from(incident.side? == Side::Second)))
        });
        counters::complete(&mut sides, !self.incidents.is_empty(), shown);
        sides
    }

    /// The current state of one kind of fact, as facts of this moment.
    pub(super) fn facts(&self, kind: FactKind, moment: Moment) -> Vec<FootballFact> {
        match (kind, self.status) {
            (FactKind::Score, Some(status)) => {
                let mut facts = self.period_start_facts();
                facts.push(FootballFact::Status(status));
                facts.extend(self.score.map(FootballFact::Score));
                facts.extend(self.clock.map(|clock| clock.fact_at(moment.best())));
                facts
            }
            (FactKind::Incidents, _) => {
                let standing = self.incidents.iter().filter(|entry| entry.retracted.is_none());
                standing.map(|entry| FootballFact::Incident(entry.incident.clone())).collect()
            }
            (FactKind::Stats, _) => Side::BOTH
                .map(|side| self.stats_fact(side))
                .into_iter()
                .chain(self.people_facts())
                .chain(self.analysis.iter().flat_map(|it| it.facts()).map(FootballFact::Analysis))
                .collect(),
            (FactKind::Ball, _) => self.ball.map(FootballFact::Ball).into_iter().collect(),
            (FactKind::Score, None) => self.period_start_facts(),
            (FactKind::Fixture | FactKind::Odds, _) => Vec::new(),
        }
    }

    fn period_start_facts(&self) -> Vec<FootballFact> {
        let starts = self.period_starts.iter();
        starts.map(|(period, at)| FootballFact::PeriodStart { period: *period, at: *at }).collect()
    }

    /// The start of the period of a new status, which its source reports at this time. A period that goes on after an
    /// interruption keeps its start, and one whose start the source has not seen has none.
    pub(super) fn new_period_start(
        &self,
        status: FootballStatus,
        at: Micros,
    ) -> Option<FootballFact> {
        let period = Period::played_in(status)?;
        let is_new = !self.period_starts.contains_key(&period) && period.follows(self.status?);
        is_new.then_some(FootballFact::PeriodStart { period, at })
    }

    /// Withdraws a start that was reported late, as a clock of the same message shows.
    fn check_period_start(&mut self, second: u32, moment: Moment, delta: &mut MatchDelta) {
        let Some(period) = self.status.and_then(Period::played_in) else { return };
        let is_late = second > period.first_second() + LATE_SECONDS;
        let start = self.period_starts.get(&period).copied();
        if is_late && start.is_some() && start == moment.source {
            self.period_starts.remove(&period);
            delta.football.push(FootballPart::PeriodStart(period));
        }
    }

    fn stats_fact(&self, side: Side) -> FootballFact {
        let values = &self.stats[side.index()];
        FootballFact::Stats { side, values: values.iter().map(|(stat, n)| (*stat, *n)).collect() }
    }

    fn people_facts(&self) -> impl Iterator<Item = FootballFact> {
        let line_ups = Side::BOTH.into_iter().filter_map(|side| {
            let line_up = self.line_ups[side.index()].clone()?;
            Some(FootballFact::LineUp { side, line_up })
        });
        let players = self.players.values().map(|it| FootballFact::PlayerStats {
            side: it.side,
            player: it.player.clone(),
            values: it.values.iter().map(|(stat, n)| (*stat, *n)).collect(),
        });
        line_ups.chain(players)
    }

    /// A free incident id: the source's own, or with a suffix for the source.
    pub(super) fn free_name(&self, eid: &Eid, source: SourceNumber) -> Eid {
        match self.incident_index(eid) {
            None => Arc::clone(eid),
            Some(_) => format!("{eid}~{}", source.0).into(),
        }
    }

    /// `scores`: whether the score after a retraction is applied, too.
    pub(super) fn apply(
        &mut self,
        fact: &FootballFact,
        scores: bool,
        moment: Moment,
        delta: &mut MatchDelta,
    ) {
        let before = may_count(fact).then(|| self.counters());
        self.apply_fact(fact, scores, moment, delta);
        if let Some(before) = before {
            self.counted(&before, delta);
        }
    }

    /// The counters that differ from these.
    fn counted(&self, before: &Pair<BTreeMap<&'static str, u32>>, delta: &mut MatchDelta) {
        for (side, after) in Side::BOTH.into_iter().zip(self.counters()) {
            let before = &before[side.index()];
            let changed = after.into_iter().filter(|(name, count)| before.get(name) != Some(count));
            delta.football.extend(changed.map(|(name, _)| FootballPart::Counter(side, name)));
        }
    }

    /// Sets counters. No other follows from one that a source provides already, but for possession, whose rest is the other
    /// side's.
    fn count(&mut self, side: Side, values: &[(Stat, u32)], delta: &mut MatchDelta) {
        let first = delta.football.len();
        let mut others = Vec::new();
        for (stat, value) in values {
            match self.stats[side.index()].get_mut(stat) {
                Some(count) if count == value => {}
                Some(count) if *stat != Stat::BallPossession => {
                    *count = *value;
                    delta.football.push(FootballPart::Counter(side, stat.as_str()));
                }
                _ => others.push((*stat, *value)),
            }
        }
        if !others.is_empty() {
            let before = self.counters();
            self.stats[side.index()].extend(others);
            self.counted(&before, delta);
        }
        delta.football[first..].sort_unstable_by_key(|part| match part {
            FootballPart::Counter(side, name) => (side.index(), *name),
            _ => (0, ""),
        });
    }

    /// A counter of [`Self::counters`].
    #[must_use]
    pub fn counter(&self, side: Side, name: &str) -> Option<u32> {
        let mut provided = self.stats[side.index()].iter();
        let value = provided.find(|(stat, _)| stat.as_str() == name).map(|(_, value)| *value);
        value.or_else(|| self.counters()[side.index()].get(name).copied())
    }

    fn apply_fact(
        &mut self,
        fact: &FootballFact,
        scores: bool,
        moment: Moment,
        delta: &mut MatchDelta,
    ) {
        match fact {
            FootballFact::Status(status) if self.status == Some(*status) => {}
            FootballFact::Status(status) => {
                let before = self.reported_score();
                self.status = Some(*status);
                self.score_changed(before, delta);
                delta.football.push(FootballPart::Status);
            }
            FootballFact::PeriodStart { period, at } => {
                if self.period_starts.insert(*period, *at) != Some(*at) {
                    delta.football.push(FootballPart::PeriodStart(*period));
                }
            }
            FootballFact::Clock { second, running } => {
                self.check_period_start(*second, moment, delta);
                let (second, running) = (*second, *running);
                self.clock(MatchClock { at: moment.anchor(), second, running }, delta);
            }
            FootballFact::Score(score) => self.put(*score, moment, delta),
            FootballFact::Incident(incident) => {
                if self.incident_index(&incident.eid).is_none() {
                    delta.football_events.push(FootballEvent::Happened(self.incidents.len()));
                    self.incident(incident, delta);
                }
            }
            FootballFact::Retract { eid, why, score } => {
                let retracted = self.retract(eid, why, delta);
                match (scores, retracted) {
                    (false, _) => {}
                    (true, true) => self.score(*score, delta),
                    (true, false) => self.put(*score, moment, delta),
                }
            }
            FootballFact::Correct(incident) => self.correct(incident, delta),
            FootballFact::Stats { side, values } => self.count(*side, values, delta),
            FootballFact::Ball(ball) => {
                if self.ball.replace(*ball) != Some(*ball) {
                    delta.football.push(FootballPart::Ball);
                }
            }
            FootballFact::Analysis(fact) => self.analysis.get_or_insert_default().apply(fact),
            FootballFact::LineUp { side, line_up } => {
                self.line_ups[side.index()] = Some(line_up.clone());
            }
            FootballFact::PlayerStats { side, player, values } => {
                let tally = self.players.entry(player.id);
                let tally = tally.or_insert_with(|| PlayerTally {
                    player: player.clone(),
                    side: *side,
                    values: BTreeMap::new(),
                });
                tally.values.extend(values.iter().copied());
            }
        }
    }

    /// The player whose shot count this fact increases. To be called before it is applied.
    pub(super) fn shooter(&self, fact: &FootballFact) -> Option<(Side, Participant)> {
        let FootballFact::PlayerStats { side, player, values } = fact else { return None };
        let count = self.players.get(&player.id);
        let count = count.and_then(|tally| tally.values.get(&PlayerStat::TotalShots)).copied();
        let shots = values.iter().find(|(stat, _)| *stat == PlayerStat::TotalShots);
        let has_shot = shots.is_some_and(|(_, shots)| *shots > count.unwrap_or_default());
        has_shot.then(|| (*side, player.clone()))
    }

    fn clock(&mut self, clock: MatchClock, delta: &mut MatchDelta) {
        if !self.clock.is_some_and(|anchor| anchor.agrees(clock)) {
            self.clock = Some(clock);
            delta.football.push(FootballPart::Clock);
        }
    }

    /// Sets a score. A lower score publishes an event of its own, unless its source time is before
    /// that of the current score: then it is late and ignored.
    fn put(&mut self, score: FootballScore, moment: Moment, delta: &mut MatchDelta) {
        if self.score.is_some_and(|current| current.is_ahead_of(&score)) {
            if moment.source < self.scored_at {
                return;
            }
            if self.reported_score().is_some() {
                self.put_right += 1;
                delta.football_events.push(FootballEvent::ScoreCorrected(self.put_right));
            }
        }
        self.scored_at = self.scored_at.max(moment.source);
        self.score(score, delta);
    }

    fn score(&mut self, score: FootballScore, delta: &mut MatchDelta) {
        let before = self.reported_score();
        self.score = Some(score);
        self.score_changed(before, delta);
    }

    fn score_changed(&self, before: Option<FootballScore>, delta: &mut MatchDelta) {
        if self.reported_score() != before {
            delta.football.push(FootballPart::Score);
        }
    }

    fn incident_index(&self, eid: &str) -> Option<usize> {
        self.incidents.iter().position(|entry| &*entry.incident.eid == eid)
    }

    fn incident(&mut self, incident: &Incident, delta: &mut MatchDelta) {
        delta.football.push(FootballPart::Incident(self.incidents.len()));
        self.incidents.push(IncidentEntry {
            incident: incident.clone(),
            retracted: None,
            corrections: 0,
        });
    }

    /// Returns whether there was an incident to retract.
    fn retract(&mut self, eid: &str, why: &Arc<str>, delta: &mut MatchDelta) -> bool {
        let Some(index) = self.incident_index(eid) else { return false };
        let entry = &mut self.incidents[index];
        if entry.retracted.is_some() {
            return false;
        }
        entry.retracted = Some(Arc::clone(why));
        delta.football.push(FootballPart::Incident(index));
        delta.football_events.push(FootballEvent::Retracted(index));
        true
    }

    /// Applies a correction. An unknown incident is added as new.
    fn correct(&mut self, incident: &Incident, delta: &mut MatchDelta) {
        let Some(index) = self.incident_index(&incident.eid) else {
            delta.football_events.push(FootballEvent::Happened(self.incidents.len()));
            return self.incident(incident, delta);
        };
        if self.incidents[index].incident != *incident {
            let entry = &mut self.incidents[index];
            entry.incident = incident.clone();
            entry.corrections += 1;
            delta.football.push(FootballPart::Incident(index));
            delta.football_events.push(FootballEvent::Corrected(index, entry.corrections));
        }
    }
}

/// Whether the fact can change a counter, besides one that states counters.
fn may_count(fact: &FootballFact) -> bool {
    matches!(
        fact,
        FootballFact::Incident(_) | FootballFact::Retract { .. } | FootballFact::Correct(_)
    )
}

impl MatchClock {
    /// The clock at that moment, as a fact.
    fn fact_at(self, at: Micros) -> FootballFact {
        let since = if self.running { (at - self.at).max(0) / 1_000_000 } else { 0 };
        let second = self.second.saturating_add(u32::try_from(since).unwrap_or(0));
        FootballFact::Clock { second, running: self.running }
    }

    /// Whether this anchor agrees with `other`.
    pub(super) fn agrees(self, other: Self) -> bool {
        let second = Micros::from(self.second) * 1_000_000;
        let shown = if self.running { second + (other.at - self.at) } else { second };
        self.running == other.running
            && (shown - Micros::from(other.second) * 1_000_000).abs() <= DRIFT_US
    }

    /// Like [`Self::agrees`], for a clock that counts down.
    pub(super) fn agrees_backwards(self, other: Self) -> bool {
        // Backwards in time, the later reading is the anchor of the earlier one.
        Self { at: self.at, ..other }.agrees(Self { at: other.at, ..self })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use facts::event::IncidentKind;
    use proptest::prelude::*;

    use super::*;

    fn fact() -> impl Strategy<Value = FootballFact> {
        let side = prop_oneof![Just(Side::First), Just(Side::Second)];
        let values =
            prop::collection::btree_map(prop::sample::select(&Stat::ALL[..]), 0..3_u32, 1..4);
        let stats = (side.clone(), values).prop_map(|(side, values)| FootballFact::Stats {
            side,
            values: values.into_iter().collect(),
        });
        let card = (side, 0..4_u8).prop_map(|(side, number)| {
            let eid = format!("card-{number}");
            let card = Incident::new(eid, IncidentKind::Yellow, (10, None), Some(side));
            FootballFact::Incident(card)
        });
        prop_oneof![4 => stats, 1 => card]
    }

    proptest! {
        /// Whatever is stated in whichever order: the parts of a fact name each counter that it changes, and no other.
        #[test]
        fn parts_are_the_difference_of_counters(facts in prop::collection::vec(fact(), 1..40)) {
            let mut state = Football::default();
            let moment = Moment { source: None, received: 1 };
            for fact in facts {
                let before = state.counters();
                let mut delta = MatchDelta::default();
                state.apply(&fact, true, moment, &mut delta);
                let after = state.counters();
                let stated = delta.football.iter().filter_map(|part| match part {
                    FootballPart::Counter(side, name) => Some((side.index(), *name)),
                    _ => None,
                });
                let mut changed = BTreeSet::new();
                for side in Side::BOTH {
                    for (name, count) in &after[side.index()] {
                        prop_assert_eq!(state.counter(side, name), Some(*count));
                        if before[side.index()].get(name) != Some(count) {
                            changed.insert((side.index(), *name));
                        }
                    }
                }
                prop_assert_eq!(stated.collect::<Vec<_>>(), changed.into_iter().collect::<Vec<_>>());
            }
        }
    }
}
