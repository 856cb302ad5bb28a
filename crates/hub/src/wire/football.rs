//! A football match: `clock`, `score`, `incidents`, `stats`, `ball`, and its events.

use facts::event::{Ball, FootballScore, Incident, IncidentKind, Pair, Side};
use rust_decimal::Decimal;

use super::participant;
use crate::{
    document::{Node, Object},
    hub::state::{Football, FootballEvent, FootballPart, IncidentEntry, MatchClock},
};

pub(super) fn image(out: &mut Object, state: &Football) {
    out.set_some("clock", state.clock.map(clock));
    out.set_some("score", state.reported_score().map(|it| score(&it, false)));
    for (period, at) in &state.period_starts {
        out.object("period_starts").set(period.as_str(), *at);
    }
    let incidents = out.object("incidents");
    for (index, entry) in state.incidents.iter().enumerate() {
        incidents.set(&entry.incident.eid, incident(index, entry));
    }
    for (side, counters) in Side::BOTH.into_iter().zip(state.counters()) {
        let stats = out.object("stats").object(side_name(side));
        for (name, count) in counters {
            stats.set(name, count);
        }
    }
    out.set_some("ball", state.ball.map(ball));
}

pub(super) fn patch(out: &mut Object, state: &Football, parts: &[FootballPart]) {
    for part in parts {
        match part {
            // The status is in the header.
            FootballPart::Status => {}
            FootballPart::Clock => out.set_some("clock", state.clock.map(clock)),
            FootballPart::Score => {
                out.set_or_null("score", state.reported_score().map(|it| score(&it, true)));
            }
            // An object without members is absent.
            FootballPart::PeriodStart(_) if state.period_starts.is_empty() => {
                out.set("period_starts", Node::Null);
            }
            FootballPart::PeriodStart(period) => {
                let at = state.period_starts.get(period).copied();
                out.object("period_starts").set_or_null(period.as_str(), at);
            }
            FootballPart::Incident(index) => {
                let entry = &state.incidents[*index];
                let mut node = incident(*index, entry);
                absent_incident_fields(&mut node, entry);
                out.object("incidents").set(&entry.incident.eid, node);
            }
            FootballPart::Counter(side, name) => {
                let count = state.counter(*side, name);
                out.object("stats").object(side_name(*side)).set_some(*name, count);
            }
            FootballPart::Ball => out.set_some("ball", state.ball.map(ball)),
        }
    }
}

#[must_use]
pub fn clock(clock: MatchClock) -> Object {
    let mut out = Object::default();
    out.set("at", clock.at);
    out.set("s", clock.second);
    out.set("running", clock.running);
    out
}

/// `home` and `away` are the score of the match; the other parts are present once they are known.
#[must_use]
pub fn score(score: &FootballScore, patch: bool) -> Object {
    let mut out = pair(score.goals);
    let parts = [("ht", score.half_time), ("et", score.extra_time), ("pens", score.penalties)];
    for (name, value) in parts {
        if patch {
            out.set_or_null(name, value.map(pair));
        } else {
            out.set_some(name, value.map(pair));
        }
    }
    out
}

fn pair(goals: Pair<u16>) -> Object {
    let mut out = Object::default();
    out.set("home", goals[0]);
    out.set("away", goals[1]);
    out
}

#[must_use]
pub fn side_name(side: Side) -> &'static str {
    match side {
        Side::First => "home",
        Side::Second => "away",
    }
}

fn incident(index: usize, entry: &IncidentEntry) -> Object {
    let Incident { kind, .. } = &entry.incident;
    let mut out = Object::default();
    out.set("n", u32::try_from(index + 1).unwrap_or(u32::MAX));
    out.set("kind", kind.as_str());
    particulars(&mut out, &entry.incident);
    if let Some(why) = &entry.retracted {
        out.set("retracted", true);
        out.set("why", why);
    }
    out
}

/// The common fields of an incident and its event.
fn particulars(out: &mut Object, incident: &Incident) {
    out.set("minute", incident.minute);
    out.set_some("added", incident.added);
    out.set_some("side", incident.side.map(side_name));
    out.set_some("player", incident.player.as_ref().map(participant));
    out.set_some("assist", incident.assist.as_ref().map(participant));
    match incident.kind {
        IncidentKind::Goal(kind) => out.set("type", kind.as_str()),
        IncidentKind::Var(decision) => out.set("decision", decision.as_str()),
        IncidentKind::Period(phase) => out.set("status", phase.as_str()),
        IncidentKind::Shootout { scored } => out.set("scored", scored),
        IncidentKind::Yellow
        | IncidentKind::SecondYellow
        | IncidentKind::Red
        | IncidentKind::Substitution
        | IncidentKind::PenaltyMissed => {}
    }
    out.set_some("score", incident.score.map(pair));
}

/// In a patch, deletes the fields that an incident no longer has: a correction may remove an
/// assist.
fn absent_incident_fields(out: &mut Object, entry: &IncidentEntry) {
    let Incident { added, side, player, assist, score, kind, .. } = &entry.incident;
    let absent = [
        ("added", added.is_none()),
        ("side", side.is_none()),
        ("player", player.is_none()),
        ("assist", assist.is_none()),
        ("score", score.is_none()),
        ("type", !matches!(kind, IncidentKind::Goal(_))),
        ("decision", !matches!(kind, IncidentKind::Var(_))),
        ("status", !matches!(kind, IncidentKind::Period(_))),
        ("scored", !matches!(kind, IncidentKind::Shootout { .. })),
    ];
    for (name, _) in absent.into_iter().filter(|(_, absent)| *absent) {
        out.set(name, Node::Null);
    }
}

/// Converts tenths of a percent to percent with at most one decimal.
fn ball(ball: Ball) -> Object {
    let percent = |tenths: u16| Node::Number(Decimal::new(tenths.into(), 1).normalize());
    let mut out = Object::default();
    out.set("x", percent(ball.x));
    out.set("y", percent(ball.y));
    out.set("side", side_name(ball.side));
    out.set("situation", ball.situation.as_str());
    out
}

pub(super) fn events(state: &Football, events: &[FootballEvent]) -> Vec<Node> {
    events.iter().map(|event| Node::Object(self::event(state, *event))).collect()
}

fn event(state: &Football, event: FootballEvent) -> Object {
    let mut out = Object::default();
    match event {
        FootballEvent::Happened(index) => {
            let incident = &state.incidents[index].incident;
            out.set("kind", event_kind(incident.kind));
            out.set("eid", &incident.eid);
            out.set_some("card", card(incident.kind));
            particulars(&mut out, incident);
        }
        FootballEvent::Retracted(index) => {
            let IncidentEntry { incident, retracted, .. } = &state.incidents[index];
            out.set("kind", "retract");
            out.set("eid", format!("retract-{}", incident.eid));
            out.set("of", &incident.eid);
            out.set_some("why", retracted.as_ref());
            out.set_some("score", state.reported_score().map(|it| pair(it.goals)));
        }
        FootballEvent::Corrected(index, number) => {
            let incident = &state.incidents[index].incident;
            out.set("kind", "correct");
            out.set("eid", format!("correct-{}-{number}", incident.eid));
            out.set("of", &incident.eid);
            particulars(&mut out, incident);
        }
        FootballEvent::ScoreCorrected(number) => {
            out.set("kind", "correct");
            out.set("eid", format!("correct-score-{number}"));
            out.set("of", "score");
            out.set_some("score", state.reported_score().map(|it| pair(it.goals)));
        }
    }
    out
}

fn event_kind(kind: IncidentKind) -> &'static str {
    match kind {
        IncidentKind::Yellow | IncidentKind::SecondYellow | IncidentKind::Red => "card",
        other => other.as_str(),
    }
}

fn card(kind: IncidentKind) -> Option<&'static str> {
    (event_kind(kind) == "card").then(|| kind.as_str())
}
