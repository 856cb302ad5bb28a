//! `events/{id}/incidents/`: what happened in a match. SERVICE sections 1.9 and 8, rows 9, 10 and 19.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use record::{EntityRef, IncidentRecord, Key, MatchRecord};

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Incidents {
    event_id: Key,
    /// The newest first.
    #[schema(value_type = Vec<Incident>)]
    incidents: Arc<[Incident]>,
    /// The same rows, where clients of other lists expect them.
    #[schema(value_type = Vec<Incident>, required = false)]
    results: Arc<[Incident]>,
}

/// Each type has its own keys only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "type")]
pub(super) enum Incident {
    #[serde(rename = "goal")]
    Goal(Goal),
    #[serde(rename = "card")]
    Card(Card),
    #[serde(rename = "substitution")]
    Substitution(Substitution),
    #[serde(rename = "period")]
    Period(Period),
    #[serde(rename = "injuryTime")]
    InjuryTime(InjuryTime),
    #[serde(rename = "varDecision")]
    VarDecision(VarDecision),
    /// A penalty that was missed.
    #[serde(rename = "inGamePenalty")]
    MissedPenalty(Kick),
    /// A kick of the shoot-out.
    #[serde(rename = "penaltyShootout")]
    Shootout(ShootoutKick),
}

/// When it happened, and which side did it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Happened)]
pub(super) struct IncidentTime {
    minute: u16,
    added_time: Option<u16>,
    /// No feed provides it.
    period_second: Option<u32>,
    is_home: Option<bool>,
}

/// A goal that was taken back is not listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Goal {
    /// `is_home` is the side that is credited with the goal, also with an own goal: the scorer of an
    /// own goal plays for the other side.
    #[serde(flatten)]
    #[schema(inline)]
    happened: IncidentTime,
    player: Option<String>,
    player_id: Option<Key>,
    assist: Option<String>,
    /// `regular`, `own_goal` or `penalty`.
    goal_type: Option<String>,
    /// After it.
    home_score: Option<u16>,
    away_score: Option<u16>,
    /// How it came about, touch by touch: no feed provides it.
    sequence: Vec<Touch>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Card {
    #[serde(flatten)]
    #[schema(inline)]
    happened: IncidentTime,
    player: Option<String>,
    player_id: Option<Key>,
    /// `yellow`, `yellowRed` or `red`.
    card_type: &'static str,
    /// Taken back: it stays listed and is not counted.
    rescinded: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Substitution {
    #[serde(flatten)]
    #[schema(inline)]
    happened: IncidentTime,
    player_in: Option<String>,
    player_in_id: Option<Key>,
    player_out: Option<String>,
    player_out_id: Option<Key>,
}

/// A part of the match, or its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Period {
    minute: u16,
    added_time: Option<u16>,
    /// `First half`, `HT`, `Second half`, `ET`, `PEN` or `FT`.
    text: &'static str,
    /// When it began; of the part in progress the score now. Extra time counts, the shoot-out does not.
    home_score: u32,
    away_score: u32,
    /// Whether this part is in progress.
    is_live: bool,
}

/// The stoppage time of a part that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct InjuryTime {
    /// 45, 90, 105 or 120.
    minute: u16,
    /// Minutes, of which the last had at least begun.
    length: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct VarDecision {
    #[serde(flatten)]
    #[schema(inline)]
    happened: IncidentTime,
    player: Option<String>,
    player_id: Option<Key>,
    /// `checking`, `confirmed` or `overturned`: no feed reports what was reviewed.
    decision: String,
    /// Whether the referee's decision stands; `null` while it is looked at.
    confirmed: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Kick {
    #[serde(flatten)]
    #[schema(inline)]
    happened: IncidentTime,
    player: Option<String>,
    player_id: Option<Key>,
    /// `missed`.
    text: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct ShootoutKick {
    #[serde(flatten)]
    #[schema(inline)]
    happened: IncidentTime,
    player: Option<String>,
    player_id: Option<Key>,
    /// `scored` or `missed`.
    text: Option<String>,
    /// Of the shoot-out, after it.
    home_score: Option<u16>,
    away_score: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Touch {
    event: String,
    pid: Option<Key>,
    player: Option<String>,
}

impl Incidents {
    pub(super) fn new(record: &MatchRecord) -> Self {
        let records = record.play.football().map(|it| it.incidents.as_slice()).unwrap_or_default();
        let mut records: Vec<_> = records.iter().collect();
        // Stable: incidents of the same minute keep their order.
        records.sort_by_key(|it| sort_key(it));
        let last_period = records.iter().rposition(|it| &*it.kind == "period");
        let had_shootout = records.iter().any(|it| is_period(it, "penalties"));
        let mut score = [0; 2];
        let mut incidents = Vec::with_capacity(records.len());
        for (index, it) in records.into_iter().enumerate() {
            score = score_after(score, it);
            if &*it.kind == "period" {
                let is_end_of_shootout = had_shootout && is_period(it, "finished");
                incidents.extend(InjuryTime::incident(it).filter(|_| !is_end_of_shootout));
                let is_live = record.summary.status.is_live() && Some(index) == last_period;
                incidents.extend(Period::incident(record, it, score, is_live));
            } else {
                incidents.extend(Incident::new(it));
            }
        }
        incidents.reverse();
        let incidents = Arc::from(incidents);
        Self { event_id: record.summary.id, results: Arc::clone(&incidents), incidents }
    }
}

fn is_period(it: &IncidentRecord, status: &str) -> bool {
    &*it.kind == "period" && it.detail.as_deref() == Some(status)
}

/// The sort key of an incident: minute, then minute of stoppage time. The end of a period, the beginning of
/// the next one and the kicks of a shoot-out come after everything else in the period.
fn sort_key(it: &IncidentRecord) -> (u16, u16, (u16, u16)) {
    let time = (it.minute, it.added.unwrap_or_default());
    let behind = |minute: u16| (minute, u16::MAX, (0, 0));
    let period = it.detail.as_deref().filter(|_| &*it.kind == "period");
    match period {
        Some("first_half") => (0, 0, (0, 0)),
        Some("half_time" | "second_half") => behind(45),
        Some("extra_first") => behind(90),
        Some("extra_half" | "extra_second") => behind(105),
        Some("penalties") => behind(120),
        Some("finished") => behind(u16::MAX),
        // Some feeds number the kicks as minutes.
        _ if &*it.kind == "shootout" => (120, u16::MAX, time),
        _ => (time.0, time.1, (0, 0)),
    }
}

/// The score after this incident.
fn score_after(score: [u32; 2], it: &IncidentRecord) -> [u32; 2] {
    let is_goal = &*it.kind == "goal" && it.retracted.is_none();
    match (it.score, it.side) {
        (Some(score), _) if is_goal => score.map(u32::from),
        (None, Some(0)) if is_goal => [score[0] + 1, score[1]],
        (None, Some(1)) if is_goal => [score[0], score[1] + 1],
        _ => score,
    }
}

fn name(named: Option<&EntityRef>) -> Option<String> {
    named.map(|named| named.name.to_string())
}

fn id(named: Option<&EntityRef>) -> Option<Key> {
    named.map(|named| named.id)
}

impl IncidentTime {
    fn new(record: &IncidentRecord) -> Self {
        Self {
            minute: record.minute,
            added_time: record.added,
            period_second: None,
            is_home: record.side.map(|side| side == 0),
        }
    }
}

impl Incident {
    /// `None` for retracted incidents that do not count, and for kinds that this interface does not have.
    fn new(record: &IncidentRecord) -> Option<Self> {
        let happened = IncidentTime::new(record);
        let (actor, other) = (record.player.as_ref(), record.assist.as_ref());
        let (player, player_id) = (name(actor), id(actor));
        let detail = || record.detail.as_ref().map(|detail| detail.to_string());
        let [home_score, away_score] = [0, 1].map(|side| record.score.map(|score| score[side]));
        let rescinded = record.retracted.is_some();
        let card = |card_type| Card {
            happened: IncidentTime::new(record),
            player: name(actor),
            player_id,
            card_type,
            rescinded,
        };
        Some(match &*record.kind {
            "yellow" => Self::Card(card("yellow")),
            "second_yellow" => Self::Card(card("yellowRed")),
            "red" => Self::Card(card("red")),
            _ if rescinded => return None,
            "goal" => Self::Goal(Goal {
                happened,
                player,
                player_id,
                assist: name(other),
                goal_type: detail(),
                home_score,
                away_score,
                sequence: Vec::new(),
            }),
            "substitution" => Self::Substitution(Substitution {
                happened,
                player_in: name(other),
                player_in_id: id(other),
                player_out: player,
                player_out_id: player_id,
            }),
            "penalty_missed" => {
                Self::MissedPenalty(Kick { happened, player, player_id, text: "missed" })
            }
            "shootout" => {
                let text = detail();
                Self::Shootout(ShootoutKick {
                    happened,
                    player,
                    player_id,
                    text,
                    home_score,
                    away_score,
                })
            }
            "var" => {
                let decision = detail()?;
                let confirmed = match decision.as_str() {
                    "confirmed" => Some(true),
                    "overturned" => Some(false),
                    _ => None,
                };
                let happened = IncidentTime::new(record);
                Self::VarDecision(VarDecision { happened, player, player_id, decision, confirmed })
            }
            _ => return None,
        })
    }
}

impl Period {
    /// `None` for states that are not part of a match.
    fn incident(
        record: &MatchRecord,
        incident: &IncidentRecord,
        counted: [u32; 2],
        is_live: bool,
    ) -> Option<Incident> {
        let summary = &record.summary;
        let status = incident.detail.as_deref()?;
        let text = match status {
            "first_half" => "First half",
            "half_time" => "HT",
            "second_half" => "Second half",
            "extra_first" | "extra_half" | "extra_second" => "ET",
            "penalties" => "PEN",
            "finished" => "FT",
            _ => return None,
        };
        let reported = match status {
            _ if is_live => summary.score,
            "half_time" => summary.half_time.map(|goals| goals.map(u32::from)),
            "finished" => summary.score,
            _ => None,
        };
        let [home_score, away_score] = reported.unwrap_or(counted);
        Some(Incident::Period(Self {
            minute: incident.minute,
            added_time: incident.added,
            text,
            home_score,
            away_score,
            is_live,
        }))
    }
}

impl InjuryTime {
    /// Stoppage time of the period that this ends; `None` if there was none, or the feed gives no minute.
    fn incident(incident: &IncidentRecord) -> Option<Incident> {
        let is_end = [45, 90, 105, 120].contains(&incident.minute);
        let length = incident.added.filter(|_| is_end)?;
        Some(Incident::InjuryTime(Self { minute: incident.minute, length }))
    }
}
