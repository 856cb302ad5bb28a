//! Football: `event`, `livedata` and `action`.

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{
    Ball, FootballStatus, GoalKind, Incident, IncidentKind, Pair, Participant, Side, Situation,
    VarDecision,
};
use fanout::Micros;
use rust_decimal::Decimal;

use super::{MatchScene, frame, kickoff, uts};
use crate::{
    document::{Node, Object},
    hub::state::{Football, IncidentEntry, Match, MatchClock},
};
use record::{Status, Vocabulary};

/// The match clock as frames contain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, BorshSerialize, BorshDeserialize)]
pub struct MatchTime {
    /// Whole minutes played; in stoppage time, the minute at which the period ends.
    pub minute: Option<u32>,
    pub second: Option<u32>,
    /// The minute of stoppage time in progress.
    pub added: Option<u32>,
    /// 1 and 2 are the halves, 3 and 4 those of extra time, 5 the shoot-out. During a break, the
    /// previous period.
    pub period: Option<u8>,
}

impl MatchTime {
    /// `until`: the time up to which the clock is known to have run.
    #[must_use]
    pub fn new(state: &Football, until: Micros) -> Self {
        let period = state.status.and_then(period);
        let Some(clock) = state.clock.filter(|_| period.is_some()) else {
            return Self { period, ..Self::default() };
        };
        let second = shown(clock, until);
        let end = period.map_or(u32::MAX, |period| END[usize::from(period) - 1]);
        let passed = second / 60;
        let added = (passed >= end).then(|| passed - end + 1);
        Self { minute: Some(passed.min(end)), second: Some(second % 60), added, period }
    }

    fn display(self) -> Option<String> {
        let minute = self.minute?;
        Some(match self.added {
            Some(added) => format!("{minute}+{added}'"),
            None => format!("{minute}'"),
        })
    }
}

/// The minute at which each period ends. The shoot-out has no clock.
const END: [u32; 5] = [45, 90, 105, 120, 120];

fn shown(clock: MatchClock, until: Micros) -> u32 {
    let passed = if clock.running { (until - clock.at).max(0) / 1_000_000 } else { 0 };
    clock.second.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX))
}

fn period(status: FootballStatus) -> Option<u8> {
    match status {
        FootballStatus::FirstHalf | FootballStatus::HalfTime => Some(1),
        FootballStatus::SecondHalf => Some(2),
        FootballStatus::ExtraFirst | FootballStatus::ExtraHalf => Some(3),
        FootballStatus::ExtraSecond => Some(4),
        FootballStatus::Penalties => Some(5),
        FootballStatus::NotStarted
        | FootballStatus::Finished
        | FootballStatus::Postponed
        | FootballStatus::Abandoned
        | FootballStatus::Cancelled
        | FootballStatus::Live
        | FootballStatus::Interrupted => None,
    }
}

/// `time.status`, in the words of the REST API.
fn status(scene: &MatchScene<'_>, state: &Football) -> &'static str {
    match scene.state.football_status(state) {
        // In play, but no feed provides the phase.
        None | Some(FootballStatus::Live) => "live",
        Some(status) => Status::from(status).word(Vocabulary::Football),
    }
}

pub(super) fn event(out: &mut Object, scene: &MatchScene<'_>, state: &Football) {
    let reported = state.reported_score();
    out.set("score", score(reported.map(|it| it.goals)));
    let time = MatchTime::new(state, scene.until);
    let time_out = out.object("time");
    time_out.set_or_null("minute", time.minute);
    time_out.set_or_null("second", time.second);
    time_out.set_or_null("display", time.display());
    time_out.set_or_null("period", time.period);
    time_out.set("status", status(scene, state));
    time_out.set_or_null("added_time", time.added);
    time_out.set_or_null("kickoff_at", kickoff(scene.state));
    let stats = out.object("stats");
    for (side, counters) in Side::BOTH.into_iter().zip(state.counters()) {
        let stats = stats.object(side_name(side));
        for (stat, value) in counters {
            stats.set(stat_name(stat), value);
        }
    }
    out.set("websocket_plus", state.is_full());
}

/// The REST API's name of a counter.
fn stat_name(stat: &'static str) -> &'static str {
    match stat {
        "saves" => "goalkeeper_saves",
        "attacks" => "attack",
        "dangerous_attacks" => "dangerous_attack",
        other => other,
    }
}

/// `null`, not 0, if no feed provides the score.
fn score(goals: Option<Pair<u16>>) -> Object {
    let mut out = Object::default();
    out.set_or_null("home", goals.map(|goals| goals[0]));
    out.set_or_null("away", goals.map(|goals| goals[1]));
    out
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::First => "home",
        Side::Second => "away",
    }
}

/// A position of the ball and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct BallMove {
    pub at: Micros,
    pub time: MatchTime,
    pub ball: Ball,
    /// The number of this position in the match.
    pub number: u32,
}

/// The `livedata` frame. Without `moved`, because no feed provides the ball, the frame contains
/// only the time.
#[must_use]
pub fn livedata(state: &Match, at: Micros, time: MatchTime, moved: Option<&BallMove>) -> Object {
    let mut out = frame("livedata", state);
    out.set("uts", uts(at));
    out.set_or_null("side", moved.map(|moved| side_name(moved.ball.side)));
    out.set_or_null("situation", moved.map(|moved| moved.ball.situation.as_str()));
    let coordinates = moved.map(|moved| Node::Object(coordinates(moved.ball)));
    out.set("coordinates", Node::List(coordinates.into_iter().collect()));
    out.set_or_null("commentary", moved.and_then(|moved| commentary(state, moved.ball)));
    out.set_or_null("minute", time.minute);
    out.set_or_null("second", time.second);
    out.set_or_null("period", time.period);
    out
}

fn coordinates(ball: Ball) -> Object {
    let mut out = Object::default();
    out.set("x", percent(ball.x));
    out.set("y", percent(ball.y));
    out
}

/// Converts tenths of a percent to percent.
fn percent(tenths: u16) -> Node {
    Node::Number(Decimal::new(tenths.into(), 1).normalize())
}

/// The situation as text.
fn commentary(state: &Match, ball: Ball) -> Option<String> {
    let name = &state.fixture.sides.as_ref()?[ball.side.index()].name;
    let words = match ball.situation {
        Situation::Possession => "In possession",
        Situation::Attack => "Attack",
        Situation::Dangerous => "Dangerous attack",
        Situation::Safe => "Safe possession",
        Situation::Corner => "Corner",
        Situation::FreeKick => "Free kick",
        Situation::ThrowIn => "Throw-in",
        Situation::GoalKick => "Goal kick",
        Situation::Penalty => "Penalty",
        Situation::ShotOnTarget => "Shot on target",
        Situation::ShotOffTarget => "Shot off target",
        Situation::Goal => "Goal",
        Situation::Offside => "Offside",
        Situation::Injury => "Injury",
        Situation::Substitution => "Substitution",
    };
    Some(format!("{words}: {name}"))
}

/// Numbers of actions derived from the ball start here; those of incidents are lower.
const BALLS_FROM: u32 = 100_000;

/// The `action` frame of a ball whose situation is an action: a shot, a corner, an offside. Goals,
/// penalties and substitutions are reported as incidents; other situations are not actions.
/// `shooter` is the player who made the shot, if known.
#[must_use]
pub fn ball_action(
    state: &Match,
    football: &Football,
    moved: &BallMove,
    shooter: Option<&Participant>,
) -> Option<Object> {
    let (kind, qualifier) = match moved.ball.situation {
        Situation::ShotOnTarget => ("shot", Some("on_target")),
        Situation::ShotOffTarget => ("shot", Some("off_target")),
        Situation::Corner => ("corner", None),
        Situation::Offside => ("offside", None),
        Situation::Possession
        | Situation::Attack
        | Situation::Dangerous
        | Situation::Safe
        | Situation::FreeKick
        | Situation::ThrowIn
        | Situation::GoalKick
        | Situation::Penalty
        | Situation::Goal
        | Situation::Injury
        | Situation::Substitution => return None,
    };
    let act = ActionFrame {
        kind,
        tid: BALLS_FROM + moved.number,
        ball: Some(moved.ball),
        side: Some(moved.ball.side),
        player: shooter.filter(|_| kind == "shot"),
        score: football.reported_score().map(|it| it.goals),
        qualifiers: qualifier.into_iter().collect(),
        minute: moved.time.minute,
        second: moved.time.second,
        period: moved.time.period,
        at: moved.at,
    };
    Some(action(state, &act))
}

/// The contents of an `action` frame.
struct ActionFrame<'a> {
    kind: &'static str,
    tid: u32,
    ball: Option<Ball>,
    side: Option<Side>,
    player: Option<&'a Participant>,
    score: Option<Pair<u16>>,
    qualifiers: Vec<&'static str>,
    minute: Option<u32>,
    second: Option<u32>,
    period: Option<u8>,
    at: Micros,
}

impl<'a> ActionFrame<'a> {
    /// What all frames of an incident have: whose it is and when it was, and the current score.
    fn of_incident(
        kind: &'static str,
        (index, incident): (usize, &'a Incident),
        football: &Football,
        at: Micros,
        until: Micros,
    ) -> Self {
        Self {
            kind,
            tid: tid(index),
            ball: None,
            side: incident.side,
            player: incident.player.as_ref(),
            score: football.reported_score().map(|it| it.goals),
            qualifiers: Vec::new(),
            minute: Some(incident.minute.into()),
            second: None,
            period: MatchTime::new(football, until).period,
            at,
        }
    }
}

fn action(state: &Match, act: &ActionFrame<'_>) -> Object {
    let mut out = frame("action", state);
    out.set("action_type", act.kind);
    out.set("tid", act.tid);
    out.set_or_null("x", act.ball.map(|ball| percent(ball.x)));
    out.set_or_null("y", act.ball.map(|ball| percent(ball.y)));
    out.set_or_null("team", act.side.map(side_name));
    out.set_or_null("player", act.player.map(named));
    out.set("score", score(act.score));
    let qualifiers = act.qualifiers.iter().map(|word| Node::Word(word));
    out.set("qualifiers", Node::List(qualifiers.collect()));
    out.set_or_null("minute", act.minute);
    out.set_or_null("second", act.second);
    out.set_or_null("period", act.period);
    out.set("ts", uts(act.at));
    out
}

fn named(player: &Participant) -> Object {
    let mut out = Object::default();
    out.set("id", player.id.0);
    out.set("name", &player.name);
    out
}

/// The `action` frame of an incident; `None` for incidents that the `event` frame contains, and for
/// kinds that clients do not know. `index` is that of the incident in its match.
#[must_use]
pub fn incident_action(
    state: &Match,
    football: &Football,
    index: usize,
    at: Micros,
    until: Micros,
) -> Option<Object> {
    let IncidentEntry { incident, .. } = football.incidents.get(index)?;
    let (kind, qualifiers) = incident_kind(incident.kind)?;
    // A kick of the shoot-out does not count in the score.
    let score = incident.score.filter(|_| !matches!(incident.kind, IncidentKind::Shootout { .. }));
    let at_incident = ActionFrame::of_incident(kind, (index, incident), football, at, until);
    let act = ActionFrame {
        ball: football.ball.and_then(|ball| incident_place(incident, ball)),
        score: score.or(at_incident.score),
        qualifiers,
        ..at_incident
    };
    let mut out = action(state, &act);
    // The player who comes on, or who gave the assist.
    out.set_some("related_player", incident.assist.as_ref().map(named));
    out.set_some("added_time", incident.added);
    Some(out)
}

/// The position of the ball at an incident, from the perspective of its side, if `ball` gives it:
/// at a goal or a penalty that side has the ball there; at a substitution it lies where play
/// stopped.
fn incident_place(incident: &Incident, ball: Ball) -> Option<Ball> {
    let side = incident.side?;
    let is_there = match incident.kind {
        IncidentKind::Goal(_) => ball.situation == Situation::Goal && ball.side == side,
        IncidentKind::PenaltyMissed => {
            let shots = [Situation::Penalty, Situation::ShotOnTarget, Situation::ShotOffTarget];
            shots.contains(&ball.situation) && ball.side == side
        }
        IncidentKind::Substitution => true,
        IncidentKind::Yellow
        | IncidentKind::SecondYellow
        | IncidentKind::Red
        | IncidentKind::Var(_)
        | IncidentKind::Period(_)
        | IncidentKind::Shootout { .. } => false,
    };
    let mirrored = || Ball {
        x: 1000_u16.saturating_sub(ball.x),
        y: 1000_u16.saturating_sub(ball.y),
        side,
        ..ball
    };
    is_there.then(|| if ball.side == side { ball } else { mirrored() })
}

/// The `deleted_event` action: an incident is withdrawn, and this is the new score.
#[must_use]
pub fn deleted_action(
    state: &Match,
    football: &Football,
    index: usize,
    at: Micros,
    until: Micros,
) -> Option<Object> {
    let IncidentEntry { incident, retracted, .. } = football.incidents.get(index)?;
    incident_kind(incident.kind)?;
    let act = ActionFrame::of_incident("deleted_event", (index, incident), football, at, until);
    let mut out = action(state, &act);
    out.set_some("reason", retracted.as_ref());
    Some(out)
}

fn tid(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(BALLS_FROM - 1).min(BALLS_FROM - 1)
}

fn incident_kind(kind: IncidentKind) -> Option<(&'static str, Vec<&'static str>)> {
    Some(match kind {
        IncidentKind::Goal(GoalKind::Regular) => ("goal", Vec::new()),
        IncidentKind::Goal(GoalKind::Penalty) => ("goal", vec!["penalty"]),
        IncidentKind::Goal(GoalKind::OwnGoal) => ("goal", vec!["own_goal"]),
        IncidentKind::Yellow => ("yellow_card", Vec::new()),
        IncidentKind::SecondYellow => ("red_card", vec!["second_yellow"]),
        IncidentKind::Red => ("red_card", Vec::new()),
        IncidentKind::Substitution => ("substitution", Vec::new()),
        IncidentKind::PenaltyMissed => ("shot", vec!["penalty", "missed"]),
        IncidentKind::Var(VarDecision::Checking) => ("var_review", vec!["checking"]),
        IncidentKind::Var(VarDecision::Confirmed) => ("var_review", vec!["confirmed"]),
        IncidentKind::Var(VarDecision::Overturned) => ("var_review", vec!["overturned"]),
        IncidentKind::Shootout { scored: true } => ("shot", vec!["shootout", "scored"]),
        IncidentKind::Shootout { scored: false } => ("shot", vec!["shootout", "missed"]),
        IncidentKind::Period(_) => return None,
    })
}
