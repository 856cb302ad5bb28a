//! A football match's document to facts: the difference from the reported state.

use std::{collections::BTreeMap, sync::Arc};

use facts::{
    event::{
        Ball, Eid, FootballFact, FootballScore, FootballStatus, GoalKind, Incident, IncidentKind,
        Pair, Side, Situation, Stat, VarDecision,
    },
    football::{Period, PeriodStarts},
};
use serde_json::Value;

use super::{
    Moment,
    field::{flag, number, pair, participant, shared, text, word},
};

const SIDES: [&str; 2] = ["home", "away"];

/// The reported state of a match.
#[derive(Debug, Default)]
pub(super) struct Football {
    status: Option<FootballStatus>,
    clock: Option<Value>,
    period_starts: PeriodStarts,
    score: Option<FootballScore>,
    incidents: BTreeMap<Eid, IncidentState>,
    stats: Pair<BTreeMap<Stat, u32>>,
    ball: Option<Ball>,
}

#[derive(Debug, Clone, PartialEq)]
struct IncidentState {
    incident: Incident,
    retracted: Option<Arc<str>>,
}

impl Football {
    /// `patch`: what changed in the document; `None`: it is an image.
    pub(super) fn diff(
        &mut self,
        document: &Value,
        patch: Option<&Value>,
        moment: Moment,
    ) -> Vec<FootballFact> {
        let mut facts = self.period_starts(document);
        if let Some(status) = replace_if_changed(&mut self.status, status(document)) {
            facts.push(FootballFact::Status(status));
        }
        facts.extend(self.clock(document, moment));
        let score = score(document);
        if let Some(score) = replace_if_changed(&mut self.score, score) {
            facts.push(FootballFact::Score(score));
        }
        // Incidents grow with the match, and most updates only change the clock and the ball.
        if patch.and_then(Value::as_object).is_none_or(|it| it.contains_key("incidents")) {
            self.incidents(document, score.unwrap_or_default(), &mut facts);
        }
        self.stats(document, &mut facts);
        if let Some(ball) = replace_if_changed(&mut self.ball, ball(document)) {
            facts.push(FootballFact::Ball(ball));
        }
        facts
    }

    fn period_starts(&mut self, document: &Value) -> Vec<FootballFact> {
        let Some(starts) = document.get("period_starts") else { return Vec::new() };
        let start = |period: Period| {
            let at = number(starts, period.as_str())?;
            let is_new = self.period_starts.insert(period, at) != Some(at);
            is_new.then_some(FootballFact::PeriodStart { period, at })
        };
        Period::ALL.into_iter().filter_map(start).collect()
    }

    fn clock(&mut self, document: &Value, moment: Moment) -> Option<FootballFact> {
        let clock = replace_if_changed(&mut self.clock, document.get("clock").cloned())?;
        let (at, second) = (number(&clock, "at")?, number::<i64>(&clock, "s")?);
        let running = flag(&clock, "running");
        let passed = if running { moment.since(at) / 1_000_000 } else { 0 };
        let second = u32::try_from(second.saturating_add(passed).max(0)).ok()?;
        Some(FootballFact::Clock { second, running })
    }

    fn incidents(&mut self, document: &Value, score: FootballScore, facts: &mut Vec<FootballFact>) {
        let Some(incidents) = document.get("incidents").and_then(Value::as_object) else { return };
        let mut all: Vec<_> = incidents.iter().collect();
        all.sort_by_key(|(_, node)| number::<i64>(node, "n"));
        for (eid, node) in all {
            let eid = Eid::from(eid.as_str());
            let Some(now) = incident_state(&eid, node) else { continue };
            let before = self.incidents.insert(eid, now.clone());
            if before.as_ref() != Some(&now) {
                became(before, now, score, facts);
            }
        }
    }

    fn stats(&mut self, document: &Value, facts: &mut Vec<FootballFact>) {
        let Some(stats) = document.get("stats") else { return };
        for side in Side::BOTH {
            let all = stats.get(SIDES[side.index()]).and_then(Value::as_object);
            let all = all.into_iter().flatten();
            let last = &mut self.stats[side.index()];
            let all = all.filter_map(|(name, value)| {
                let stat = Stat::from_word(name)?;
                let value = u32::try_from(value.as_u64()?).ok()?;
                (last.insert(stat, value) != Some(value)).then_some((stat, value))
            });
            let values: Vec<_> = all.collect();
            if !values.is_empty() {
                facts.push(FootballFact::Stats { side, values });
            }
        }
    }
}

/// A value that is there and is another than the one before, which it replaces.
pub(super) fn replace_if_changed<T: PartialEq + Clone>(
    last: &mut Option<T>,
    now: Option<T>,
) -> Option<T> {
    let now = now.filter(|now| last.as_ref() != Some(now))?;
    Some(last.insert(now).clone())
}

/// What happened to an incident between two documents.
fn became(
    before: Option<IncidentState>,
    now: IncidentState,
    score: FootballScore,
    facts: &mut Vec<FootballFact>,
) {
    let was_retracted = before.as_ref().is_some_and(|it| it.retracted.is_some());
    let eid = Arc::clone(&now.incident.eid);
    match before {
        None => facts.push(FootballFact::Incident(now.incident)),
        Some(before) if before.incident != now.incident => {
            facts.push(FootballFact::Correct(now.incident));
        }
        Some(_) => {}
    }
    if let Some(why) = now.retracted.filter(|_| !was_retracted) {
        facts.push(FootballFact::Retract { eid, why, score });
    }
}

fn status(document: &Value) -> Option<FootballStatus> {
    FootballStatus::from_word(text(document, "status")?)
}

fn score(document: &Value) -> Option<FootballScore> {
    let score = document.get("score")?;
    let part = |name| score.get(name).and_then(|part| pair(part, SIDES));
    Some(FootballScore {
        goals: pair(score, SIDES)?,
        half_time: part("ht"),
        extra_time: part("et"),
        penalties: part("pens"),
    })
}

fn incident_state(eid: &Eid, node: &Value) -> Option<IncidentState> {
    // Every field: the other hub has all of them.
    let incident = Incident {
        eid: Arc::clone(eid),
        kind: kind(node)?,
        minute: number(node, "minute")?,
        added: number(node, "added"),
        side: text(node, "side").and_then(side),
        player: participant(node, "player", "player"),
        assist: participant(node, "assist", "player"),
        score: node.get("score").and_then(|score| pair(score, SIDES)),
    };
    let why = || shared(node, "why").unwrap_or_else(|| "retracted".into());
    Some(IncidentState { incident, retracted: flag(node, "retracted").then(why) })
}

fn kind(node: &Value) -> Option<IncidentKind> {
    Some(match text(node, "kind")? {
        "goal" => IncidentKind::Goal(GoalKind::from_word(text(node, "type")?)?),
        "yellow" => IncidentKind::Yellow,
        "second_yellow" => IncidentKind::SecondYellow,
        "red" => IncidentKind::Red,
        "substitution" => IncidentKind::Substitution,
        "penalty_missed" => IncidentKind::PenaltyMissed,
        "var" => IncidentKind::Var(VarDecision::from_word(text(node, "decision")?)?),
        "period" => IncidentKind::Period(status(node)?),
        "shootout" => IncidentKind::Shootout { scored: node.get("scored")?.as_bool()? },
        _ => return None,
    })
}

fn side(name: &str) -> Option<Side> {
    Side::BOTH.into_iter().find(|side| SIDES[side.index()] == name)
}

fn ball(document: &Value) -> Option<Ball> {
    let ball = document.get("ball")?;
    Some(Ball {
        x: tenths(ball.get("x")?)?,
        y: tenths(ball.get("y")?)?,
        side: text(ball, "side").and_then(side)?,
        situation: word(&SITUATIONS, Situation::as_str, text(ball, "situation")?)?,
    })
}

/// Percent with one decimal digit, which rounds correctly from a binary number.
fn tenths(value: &Value) -> Option<u16> {
    let percent = value.as_f64().filter(|percent| (0.0..=100.0).contains(percent))?;
    u16::try_from((percent * 10.0).round() as i64).ok()
}

const SITUATIONS: [Situation; 15] = [
    Situation::Possession,
    Situation::Attack,
    Situation::Dangerous,
    Situation::Safe,
    Situation::Corner,
    Situation::FreeKick,
    Situation::ThrowIn,
    Situation::GoalKick,
    Situation::Penalty,
    Situation::ShotOnTarget,
    Situation::ShotOffTarget,
    Situation::Goal,
    Situation::Offside,
    Situation::Injury,
    Situation::Substitution,
];
