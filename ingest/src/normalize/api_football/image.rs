//! The incidents of one image, in the order of play, before ids are assigned.

use std::sync::Arc;

use facts::event::{GoalKind, Id, Incident, IncidentKind, Pair, Participant, Side, VarDecision};

use super::PROVIDER;
use crate::{
    decode::api_football::{ApiFootballEvent, Kind, NamedEntity},
    error::{DecodeError, RefusalKind},
    normalize::football::add,
};

/// An incident without an id, and the properties that distinguish it.
#[derive(Debug, Clone)]
pub(super) struct IncidentImage {
    pub(super) class: IncidentClass,
    pub(super) side: Side,
    /// Which kick of the shoot-out it was.
    pub(super) kick: Option<u16>,
    /// The provider's words.
    pub(super) detail: Arc<str>,
    pub(super) incident: Incident,
}

/// The class of an incident, which a correction does not change: a goal may become an own goal, a
/// yellow card a red one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum IncidentClass {
    Goal,
    PenaltyMissed,
    Card,
    Substitution,
    Var,
    Kick,
}

/// What the fixture itself states, by which its events are understood.
#[derive(Debug, Clone, Copy)]
pub(super) struct FixtureTotals {
    /// All goals in play, without the shoot-out.
    pub(super) goals: Option<Pair<u16>>,
    /// There is a shoot-out, or there was one.
    pub(super) shootout: bool,
    /// No play follows.
    pub(super) over: bool,
}

/// The incidents of an image. Those of a team that does not play are skipped with a notice.
///
/// Where the fixture and its events contradict each other, the goals of the fixture decide: a penalty from minute 120 on
/// is a kick of the shoot-out if the goals are complete without it, and a goal that a review cancelled is none if there
/// is one more than the fixture has.
pub(super) fn incidents(
    events: Vec<ApiFootballEvent>,
    teams: &Pair<NamedEntity>,
    stated: FixtureTotals,
    notices: &mut Vec<DecodeError>,
) -> Vec<IncidentImage> {
    let mut events: Vec<_> = events
        .into_iter()
        .filter_map(|event| {
            let is = |side: &Side| teams[side.index()].id.as_ref() == Some(&event.team);
            let side = Side::BOTH.into_iter().find(is);
            if side.is_none() {
                let reason = format!("team {} does not play in this match", event.team);
                notices.push(DecodeError::new(RefusalKind::Unknown, reason));
            }
            Some((side?, event))
        })
        .collect();
    sort(&mut events);
    if stated.shootout {
        recognise_kicks(&mut events, stated.goals);
        sort(&mut events);
    }
    if let Some(stated_goals) = stated.goals {
        remove_cancelled_goals(&mut events, stated_goals);
        let counted = goals_of(&events);
        if stated.over && !events.is_empty() && counted != stated_goals {
            let reason =
                format!("goals {counted:?} by the events, {stated_goals:?} by the fixture");
            notices.push(DecodeError::new(RefusalKind::Value, reason));
        }
    }
    let (mut goals, mut kicks) = ([0; 2], [0; 2]);
    let mut incidents = Vec::new();
    for (side, event) in events {
        let score = match event.kind {
            Kind::Goal | Kind::OwnGoal | Kind::Penalty => {
                add(&mut goals, side);
                Some(goals)
            }
            Kind::Kick { scored } => {
                if scored {
                    add(&mut kicks, side);
                }
                Some(kicks)
            }
            _ => None,
        };
        incidents.push(IncidentImage::new(&event, side, score));
    }
    incidents
}

/// By the minute. The kicks of a shoot-out come last, by their number: the provider lists them in
/// any order.
fn sort(events: &mut [(Side, ApiFootballEvent)]) {
    events.sort_by_key(|(_, event)| match event.kind {
        Kind::Kick { .. } => (true, 0, event.extra),
        _ => (false, event.elapsed, event.extra),
    });
}

fn is_goal(kind: Kind) -> bool {
    matches!(kind, Kind::Goal | Kind::OwnGoal | Kind::Penalty)
}

fn goals_of(events: &[(Side, ApiFootballEvent)]) -> Pair<u16> {
    let mut goals = [0; 2];
    for (side, _) in events.iter().filter(|(_, event)| is_goal(event.kind)) {
        add(&mut goals, *side);
    }
    goals
}

/// The minute at which a shoot-out stands in the list, whose kicks the provider does not always say to be such.
const SHOOTOUT_MINUTE: u16 = 120;

/// Makes kicks of the penalties from minute 120 on that the stated goals do not need.
fn recognise_kicks(events: &mut [(Side, ApiFootballEvent)], stated: Option<Pair<u16>>) {
    let is_candidate = |event: &ApiFootballEvent| {
        event.elapsed >= SHOOTOUT_MINUTE
            && matches!(event.kind, Kind::Penalty | Kind::MissedPenalty)
    };
    let mut goals = [0; 2];
    for (side, _) in events.iter().filter(|(_, event)| is_goal(event.kind) && !is_candidate(event))
    {
        add(&mut goals, *side);
    }
    for (side, event) in events.iter_mut().filter(|(_, event)| is_candidate(event)) {
        let scored = event.kind == Kind::Penalty;
        let is_missing = stated.is_some_and(|stated| goals[side.index()] < stated[side.index()]);
        if scored && is_missing {
            add(&mut goals, *side);
        } else {
            event.kind = Kind::Kick { scored };
        }
    }
}

/// Removes goals that a review cancelled and that the provider still lists, as many as there are more than stated.
fn remove_cancelled_goals(events: &mut Vec<(Side, ApiFootballEvent)>, stated: Pair<u16>) {
    let cancelled = |(_, event): &&(Side, ApiFootballEvent)| {
        event.kind == Kind::Var
            && decision(&event.detail) == VarDecision::Overturned
            && event.detail.to_ascii_lowercase().contains("goal")
    };
    let reviews: Vec<_> =
        events.iter().filter(cancelled).map(|(side, event)| (*side, event.clone())).collect();
    for (side, review) in reviews {
        if goals_of(events)[side.index()] <= stated[side.index()] {
            continue;
        }
        let reviewed = |(reviewed_side, event): &(Side, ApiFootballEvent)| {
            let since = review.elapsed.checked_sub(event.elapsed);
            // In added time only its minutes grow.
            let is_before = event.elapsed < review.elapsed
                || review.extra.is_none()
                || event.extra <= review.extra;
            *reviewed_side == side
                && is_goal(event.kind)
                && is_before
                && since.is_some_and(|since| since <= REVIEW_MINUTES_MAX)
        };
        if let Some(index) = events.iter().rposition(reviewed) {
            events.remove(index);
        }
    }
}

impl IncidentImage {
    fn new(event: &ApiFootballEvent, side: Side, score: Option<Pair<u16>>) -> Self {
        let class = class(event.kind);
        let kick = event.extra.filter(|_| class == IncidentClass::Kick);
        let added = event.extra.filter(|_| class != IncidentClass::Kick);
        let incident = Incident {
            player: event.player.as_ref().map(player),
            assist: event.assist.as_ref().map(player),
            score,
            ..Incident::new("", kind(event), (event.elapsed.max(1), added), Some(side))
        };
        Self { class, side, kick, detail: event.detail.clone(), incident }
    }

    /// Whether two are the same, apart from the score, which an earlier goal may have changed.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        let rest = |it: &Self| Incident { eid: "".into(), score: None, ..it.incident.clone() };
        self.kick == other.kick && rest(self) == rest(other)
    }

    /// Whether they have the same time, and the player of one of them is unknown.
    pub(super) fn is_of_moment(&self, other: &Self) -> bool {
        let at = |it: &Self| (it.incident.minute, it.incident.added, it.kick);
        at(self) == at(other) && (self.player().is_none() || other.player().is_none())
    }

    /// Whether they have the same minute, for any player.
    pub(super) fn is_of_minute(&self, other: &Self) -> bool {
        self.incident.minute == other.incident.minute && self.kick == other.kick
    }

    pub(super) fn is_of_player(&self, other: &Self) -> bool {
        self.kick == other.kick && self.player().is_some() && self.player() == other.player()
    }

    pub(super) fn is_near(&self, other: &Self) -> bool {
        let apart = self.incident.minute.abs_diff(other.incident.minute);
        self.kick == other.kick && apart <= MINUTES_APART_MAX
    }

    fn player(&self) -> Option<&Participant> {
        self.incident.player.as_ref()
    }
}

/// A review takes some minutes, during which the clock keeps running.
pub(super) const REVIEW_MINUTES_MAX: u16 = 6;

/// A corrected minute differs by one or two.
const MINUTES_APART_MAX: u16 = 2;

impl IncidentClass {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::PenaltyMissed => "penalty-missed",
            Self::Card => "card",
            Self::Substitution => "sub",
            Self::Var => "var",
            Self::Kick => "kick",
        }
    }
}

fn class(kind: Kind) -> IncidentClass {
    match kind {
        Kind::Goal | Kind::OwnGoal | Kind::Penalty => IncidentClass::Goal,
        Kind::MissedPenalty => IncidentClass::PenaltyMissed,
        Kind::Kick { .. } => IncidentClass::Kick,
        Kind::Yellow | Kind::SecondYellow | Kind::Red => IncidentClass::Card,
        Kind::Substitution => IncidentClass::Substitution,
        Kind::Var => IncidentClass::Var,
    }
}

fn kind(event: &ApiFootballEvent) -> IncidentKind {
    match event.kind {
        Kind::Goal => IncidentKind::Goal(GoalKind::Regular),
        Kind::OwnGoal => IncidentKind::Goal(GoalKind::OwnGoal),
        Kind::Penalty => IncidentKind::Goal(GoalKind::Penalty),
        Kind::MissedPenalty => IncidentKind::PenaltyMissed,
        Kind::Kick { scored } => IncidentKind::Shootout { scored },
        Kind::Yellow => IncidentKind::Yellow,
        Kind::SecondYellow => IncidentKind::SecondYellow,
        Kind::Red => IncidentKind::Red,
        Kind::Substitution => IncidentKind::Substitution,
        Kind::Var => IncidentKind::Var(decision(&event.detail)),
    }
}

/// `Goal cancelled`, `Goal Disallowed - offside`, `Penalty cancelled`, `Card upgrade`: what was
/// decided on the field does not stand. `Goal confirmed`, `Penalty confirmed`: it does.
fn decision(detail: &str) -> VarDecision {
    let detail = detail.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| detail.contains(word));
    if says(&["cancel", "disallow", "overturn", "upgrade", "not awarded"]) {
        VarDecision::Overturned
    } else if says(&["confirm", "awarded"]) {
        VarDecision::Confirmed
    } else {
        VarDecision::Checking
    }
}

pub(super) fn player(named: &NamedEntity) -> Participant {
    let key = named.id.as_ref().map_or_else(|| format!("name {}", named.name), ToString::to_string);
    Participant { id: Id::derive(PROVIDER, "player", &key), name: named.name.clone() }
}
