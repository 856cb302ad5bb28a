//! A football match: `clock`, `score`, `incidents`, `stats`, `ball`, and its events.

use facts::event::{self, Pair};

use super::{
    DocumentHeader, MatchHead, Participant, Sides,
    values::{
        CardKind, FootballStatus, GoalType, IncidentKind, Map, Percent, Side, Situation, Text,
        Timestamp, VarDecision,
    },
};
use crate::{
    document::{FieldKey, Node, Object},
    hub::state::{self, Football, FootballPart, IncidentEntry, MatchClock},
};

wire! {
    /// A football match: the document of `football/{id}`.
    document FootballMatch {
        #[schemars(flatten)] header: @shared DocumentHeader,
        #[schemars(flatten)] head: @shared MatchHead,
        /// Always `football`.
        #[schemars(extend("const" = "football"))] sport: @shared Text,
        #[schemars(flatten)] sides: @shared Sides,
        /// The status; absent if the markets are in play but no source reports the play.
        status: @shared Option<FootballStatus>,
        /// The match clock.
        clock: Option<Clock>,
        /// The score. It is absent before the match and while no source states one: that does not mean 0-0.
        score: Option<FootballScore>,
        /// When each period began; absent while no source has reported that of any.
        period_starts: Option<PeriodStarts>,
        /// The incidents by `eid`. An incident stays in the document, and can change until the match is over.
        incidents: Map<Incident>,
        /// Counts of each side.
        stats: Stats,
        /// Where the ball is.
        ball: Option<Ball>,
    }

    /// A match clock. While it runs it shows `s` and the seconds since `at`, by the clock of the hub (`now` of `hello`,
    /// `beat`, `pong`).
    object Clock {
        /// The moment at which the clock showed `s`.
        at: Timestamp,
        /// Seconds on the clock at the moment `at`. In football seconds of the match; in other sports elapsed or
        /// remaining, as is usual in the sport.
        s: u32,
        /// Whether the clock runs.
        running: bool,
    }

    /// The score of a football match.
    object FootballScore {
        /// Goals of the home side on the scoreboard, without the shoot-out.
        home: u16,
        /// Goals of the away side on the scoreboard, without the shoot-out.
        away: u16,
        /// Goals at half time.
        ht: Option<HomeAway>,
        /// Goals of extra time alone.
        et: Option<HomeAway>,
        /// Kicks scored in the shoot-out.
        pens: Option<HomeAway>,
    }

    /// When each period of a football match began, by the clock of the source that reports it. The schedule does not count.
    document PeriodStarts {
        /// The kick-off.
        first_half: @shared Option<Timestamp>,
        /// The second half.
        second_half: @shared Option<Timestamp>,
        /// The first half of extra time.
        extra_first: @shared Option<Timestamp>,
        /// The second half of extra time.
        extra_second: @shared Option<Timestamp>,
        /// The shoot-out.
        shootout: @shared Option<Timestamp>,
    }

    /// A count of each side.
    object HomeAway {
        /// Of the home side.
        home: u32,
        /// Of the away side.
        away: u32,
    }

    /// An incident of a football match.
    object Incident {
        /// Its position in the order in which incidents were first reported, from 1.
        n: u32,
        /// What it is.
        kind: IncidentKind,
        #[schemars(flatten)] particulars: Particulars,
        #[schemars(flatten)] details: Details,
        #[schemars(flatten)] score: ScoreAfter,
        /// True if the incident was retracted; otherwise absent.
        #[schemars(extend("const" = true))] retracted: Option<bool>,
        /// Why it was retracted, as one word: `offside`. Absent unless it was.
        why: Option<Text>,
    }

    /// The fields that every incident and its event share.
    group Particulars {
        /// Minutes: the minute in progress, so that 17:58 on the clock is 18. In stoppage time it is 45 or 90 (105,
        /// 120).
        minute: u16,
        /// Minutes of stoppage time beyond `minute`; absent outside of stoppage time.
        added: Option<u16>,
        /// The side; of a goal, also an own goal, the side that it counts for.
        side: Option<Side>,
        /// The scorer, the booked player, or the player who goes off.
        player: Option<Participant>,
        /// The player who assisted, or who comes on.
        assist: Option<Participant>,
    }

    /// The fields of an incident that depend on its kind.
    group Details {
        /// Of a goal: how it was scored.
        r#type: Option<GoalType>,
        /// Of a VAR check: the decision.
        decision: Option<VarDecision>,
        /// Of a period: the status that began.
        status: Option<FootballStatus>,
        /// Of a kick of the shoot-out: whether it was scored.
        scored: Option<bool>,
    }

    /// The score after an incident.
    group ScoreAfter {
        /// After a goal, the score; of a kick of the shoot-out, the score in it. Other incidents have it if their source
        /// reports it.
        score: Option<HomeAway>,
    }
}

/// The fields that a correction may remove, in the order of a patch.
const REMOVABLE: [&str; 9] =
    ["added", "side", "player", "assist", "score", "type", "decision", "status", "scored"];

wire! {
    /// Counts of both sides of a football match.
    document Stats {
        /// Counts of the home side.
        home: SideStats,
        /// Counts of the away side.
        away: SideStats,
    }
}

/// Counts of a side by name. No source reports all of them.
#[derive(Debug)]
pub struct SideStats;

wire! {
    /// Where the ball is, seen from the side that has it.
    object Ball {
        /// Percent of the length of the pitch: 0 is the own goal line of the side, 100 the other one.
        x: Percent,
        /// Percent of the width of the pitch: 0 is the left touch line of the side.
        y: Percent,
        /// The side that has the ball.
        side: Side,
        /// What happens.
        situation: Situation,
    }

    /// An event of a football match.
    union FootballEvent { Goal, Card, Substitution, PenaltyMissed, Var, Period, Shootout, Retract, FootballCorrect }

    /// A goal of a football match.
    event Goal = "goal" {
        #[schemars(flatten)] particulars: Particulars,
        /// How it was scored.
        r#type: GoalType,
        #[schemars(flatten)] score: ScoreAfter,
    }

    /// A card of a football match.
    event Card = "card" {
        /// The colour.
        card: CardKind,
        #[schemars(flatten)] particulars: Particulars,
        #[schemars(flatten)] score: ScoreAfter,
    }

    /// A substitution of a football match: `player` goes off, `assist` comes on.
    event Substitution = "substitution" {
        #[schemars(flatten)] particulars: Particulars,
        #[schemars(flatten)] score: ScoreAfter,
    }

    /// A penalty of a football match that was not scored.
    event PenaltyMissed = "penalty_missed" {
        #[schemars(flatten)] particulars: Particulars,
        #[schemars(flatten)] score: ScoreAfter,
    }

    /// A check by the video assistant.
    event Var = "var" {
        #[schemars(flatten)] particulars: Particulars,
        /// The decision.
        decision: VarDecision,
        #[schemars(flatten)] score: ScoreAfter,
    }

    /// A football match enters another status.
    event Period = "period" {
        #[schemars(flatten)] particulars: Particulars,
        /// The status that began.
        status: FootballStatus,
        #[schemars(flatten)] score: ScoreAfter,
    }

    /// A kick of the shoot-out of a football match.
    event Shootout = "shootout" {
        #[schemars(flatten)] particulars: Particulars,
        /// Whether the kick was scored.
        scored: bool,
        #[schemars(flatten)] score: ScoreAfter,
    }

    /// An earlier event of a football or tennis match is taken back. The patch of the same update has the score too.
    event Retract = "retract" {
        /// The `eid` of the retracted event.
        of: Text,
        /// Why, as one word: `offside`.
        #[schemars(with = "Text")] why: Option<Text>,
        /// Football: the current score.
        score: Option<HomeAway>,
    }

    /// An incident of a football match is corrected, and has these fields now; or, with `of` `"score"`, the score
    /// decreased without a retracted incident, and `score` is the current one.
    event FootballCorrect = "correct" {
        /// The `eid` of the incident, or `score`.
        of: Text,
        #[schemars(flatten)] particulars: Option<Particulars>,
        #[schemars(flatten)] details: Details,
        #[schemars(flatten)] score: ScoreAfter,
    }
}

pub(super) fn image(out: &mut Object, state: &Football) {
    out.put_some(FootballMatch::clock(), state.clock);
    out.put_some(FootballMatch::score(), state.reported_score());
    for (period, at) in &state.period_starts {
        out.object(FootballMatch::period_starts()).set(period.as_str(), *at);
    }
    let incidents = out.object(FootballMatch::incidents());
    for (index, entry) in state.incidents.iter().enumerate() {
        incidents.set(&entry.incident.eid, incident(index, entry));
    }
    for (side, counters) in event::Side::BOTH.into_iter().zip(state.counters()) {
        let stats = side_stats(out, side);
        for (name, count) in counters {
            stats.set(name, count);
        }
    }
    out.put_some(FootballMatch::ball(), state.ball);
}

pub(super) fn patch(out: &mut Object, state: &Football, parts: &[FootballPart]) {
    for part in parts {
        match part {
            // The status is in the header.
            FootballPart::Status => {}
            FootballPart::Clock => out.put_some(FootballMatch::clock(), state.clock),
            FootballPart::Score => {
                let score = state.reported_score().map(FootballScore::from);
                out.set_or_null(FootballMatch::score(), score.map(|it| it.object(true)));
            }
            // An object without members is absent.
            FootballPart::PeriodStart(_) if state.period_starts.is_empty() => {
                out.set(FootballMatch::period_starts(), Node::Null);
            }
            FootballPart::PeriodStart(period) => {
                let at = state.period_starts.get(period).copied();
                out.object(FootballMatch::period_starts()).set_or_null(period.as_str(), at);
            }
            FootballPart::Incident(index) => {
                let entry = &state.incidents[*index];
                let mut node = incident(*index, entry).object(false);
                // A correction may remove an assist.
                for name in REMOVABLE.map(FieldKey::from) {
                    if node.get(&name).is_none() {
                        node.add(name, Node::Null);
                    }
                }
                out.object(FootballMatch::incidents()).set(&entry.incident.eid, node);
            }
            FootballPart::Counter(side, name) => {
                let count = state.counter(*side, name);
                side_stats(out, *side).set_some(*name, count);
            }
            FootballPart::Ball => out.put_some(FootballMatch::ball(), state.ball),
        }
    }
}

fn side_stats(out: &mut Object, side: event::Side) -> &mut Object {
    let field = match side {
        event::Side::First => Stats::home(),
        event::Side::Second => Stats::away(),
    };
    out.object(FootballMatch::stats()).object(field)
}

impl From<MatchClock> for Clock {
    fn from(MatchClock { at, second, running }: MatchClock) -> Self {
        Self { at: at.into(), s: second, running }
    }
}

impl From<event::FootballScore> for FootballScore {
    fn from(score: event::FootballScore) -> Self {
        let [home, away] = score.goals;
        let [ht, et, pens] =
            [score.half_time, score.extra_time, score.penalties].map(|it| it.map(HomeAway::from));
        Self { home, away, ht, et, pens }
    }
}

impl<T: Into<u32>> From<Pair<T>> for HomeAway {
    fn from(pair: Pair<T>) -> Self {
        let [home, away] = pair.map(Into::into);
        Self { home, away }
    }
}

impl From<event::Ball> for Ball {
    fn from(ball: event::Ball) -> Self {
        let [x, y] = [ball.x, ball.y].map(Percent::tenths);
        Self { x, y, side: ball.side.into(), situation: ball.situation.into() }
    }
}

fn incident(index: usize, entry: &IncidentEntry) -> Incident {
    let IncidentEntry { incident, retracted, .. } = entry;
    Incident {
        n: u32::try_from(index + 1).unwrap_or(u32::MAX),
        kind: incident.kind.into(),
        particulars: incident.into(),
        details: incident.kind.into(),
        score: incident.into(),
        retracted: retracted.as_ref().map(|_| true),
        why: retracted.as_ref().map(Text::from),
    }
}

impl From<&event::Incident> for Particulars {
    fn from(incident: &event::Incident) -> Self {
        Self {
            minute: incident.minute,
            added: incident.added,
            side: incident.side.map(Side::from),
            player: incident.player.as_ref().map(Participant::from),
            assist: incident.assist.as_ref().map(Participant::from),
        }
    }
}

impl From<&event::Incident> for ScoreAfter {
    fn from(incident: &event::Incident) -> Self {
        Self { score: incident.score.map(HomeAway::from) }
    }
}

impl From<event::IncidentKind> for Details {
    fn from(kind: event::IncidentKind) -> Self {
        let mut details = Self { r#type: None, decision: None, status: None, scored: None };
        match kind {
            event::IncidentKind::Goal(kind) => details.r#type = Some(kind.into()),
            event::IncidentKind::Var(decision) => details.decision = Some(decision.into()),
            event::IncidentKind::Period(status) => details.status = Some(status.into()),
            event::IncidentKind::Shootout { scored } => details.scored = Some(scored),
            event::IncidentKind::Yellow
            | event::IncidentKind::SecondYellow
            | event::IncidentKind::Red
            | event::IncidentKind::Substitution
            | event::IncidentKind::PenaltyMissed => {}
        }
        details
    }
}

pub(super) fn events(state: &Football, events: &[state::FootballEvent]) -> Vec<Node> {
    events.iter().map(|event| event_now(state, *event).into()).collect()
}

fn event_now(state: &Football, event: state::FootballEvent) -> FootballEvent {
    let score = || state.reported_score().map(|it| HomeAway::from(it.goals));
    match event {
        state::FootballEvent::Happened(index) => happened(&state.incidents[index].incident),
        state::FootballEvent::Retracted(index) => {
            let IncidentEntry { incident, retracted, .. } = &state.incidents[index];
            let eid = format!("retract-{}", incident.eid).into();
            let why = retracted.as_ref().map(Text::from);
            Retract { eid, of: (&incident.eid).into(), why, score: score() }.into()
        }
        state::FootballEvent::Corrected(index, number) => {
            let incident = &state.incidents[index].incident;
            let correct = FootballCorrect {
                eid: format!("correct-{}-{number}", incident.eid).into(),
                of: (&incident.eid).into(),
                particulars: Some(incident.into()),
                details: incident.kind.into(),
                score: incident.into(),
            };
            correct.into()
        }
        state::FootballEvent::ScoreCorrected(number) => {
            let details = Details { r#type: None, decision: None, status: None, scored: None };
            let (eid, of) = (format!("correct-score-{number}").into(), "score".into());
            let score = ScoreAfter { score: score() };
            FootballCorrect { eid, of, particulars: None, details, score }.into()
        }
    }
}

/// The event of an incident.
fn happened(incident: &event::Incident) -> FootballEvent {
    let (eid, particulars, score) = ((&incident.eid).into(), incident.into(), incident.into());
    match incident.kind {
        event::IncidentKind::Goal(kind) => {
            Goal { eid, particulars, r#type: kind.into(), score }.into()
        }
        event::IncidentKind::Yellow
        | event::IncidentKind::SecondYellow
        | event::IncidentKind::Red => {
            Card { eid, card: incident.kind.into(), particulars, score }.into()
        }
        event::IncidentKind::Substitution => Substitution { eid, particulars, score }.into(),
        event::IncidentKind::PenaltyMissed => PenaltyMissed { eid, particulars, score }.into(),
        event::IncidentKind::Var(decision) => {
            Var { eid, particulars, decision: decision.into(), score }.into()
        }
        event::IncidentKind::Period(status) => {
            Period { eid, particulars, status: status.into(), score }.into()
        }
        event::IncidentKind::Shootout { scored } => {
            Shootout { eid, particulars, scored, score }.into()
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for SideStats {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SideStats".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let properties = event::Stat::ALL.map(|stat| {
            let name = stat.as_str();
            let description = match stat {
                event::Stat::BallPossession => {
                    "Share of the possession of the ball, in percent.".to_owned()
                }
                _ => format!("Number of {}.", name.replace('_', " ")),
            };
            let schema =
                serde_json::json!({"type": "integer", "minimum": 0, "description": description});
            (name.to_owned(), schema)
        });
        schemars::json_schema!({
            "description": "Counts of a side by name. No source reports all of them.",
            "type": "object",
            "properties": serde_json::Map::<String, serde_json::Value>::from_iter(properties),
        })
    }
}
