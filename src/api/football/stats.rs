//! `events/{id}/stats/`: what was counted of each side.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;
use utoipa::ToSchema;

use crate::record::{Key, MatchRecord};

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Stats {
    event_id: Key,
    stats: Parts,
    /// Where shots were made from, how the match swayed and expected goals: no feed of ours tells it.
    shotmap: Vec<Shot>,
    momentum: Vec<Momentum>,
    average_positions: Positions,
    xg_per_minute: Vec<MinuteXg>,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Parts {
    home: Counters,
    away: Counters,
    /// Feeds count the match as a whole: both are empty.
    first_half: Half,
    second_half: Half,
}

#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
pub(super) struct Half {
    home: Counters,
    away: Counters,
}

/// What is not told is left out; that is not 0.
#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
pub(super) struct Counters {
    #[serde(skip_serializing_if = "Option::is_none")]
    fouls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offsides: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    throw_ins: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    free_kicks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal_kicks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_saves: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_shots: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    corner_kicks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    yellow_cards: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    red_cards: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_shots: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accurate_passes: Option<u32>,
    /// In percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    ball_possession: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shots_on_target: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goalkeeper_saves: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shots_off_target: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attack: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dangerous_attack: Option<u32>,
    /// This side's share of both, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    attack_pct: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dangerous_attack_pct: Option<u32>,
    /// To one digit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pass_accuracy_pct: Option<f64>,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Shot {
    min: u32,
    home: bool,
    #[serde(rename = "type")]
    kind: String,
    xg: Option<f64>,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Momentum {
    m: f64,
    v: i32,
}

#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
pub(super) struct Positions {
    home: Vec<Position>,
    away: Vec<Position>,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Position {
    n: Option<u16>,
    x: f64,
    y: f64,
    pos: String,
    name: String,
    player_id: Option<Key>,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct MinuteXg {
    m: u32,
    xg_home: f64,
    xg_away: f64,
    cum_home: f64,
    cum_away: f64,
}

/// By the names of `ingest::event::Stat`.
type Told = BTreeMap<Arc<str>, u32>;

impl Stats {
    pub(super) fn of(record: &MatchRecord) -> Self {
        let empty = [Told::new(), Told::new()];
        let [home, away] = record.play.football().map_or(&empty, |football| &football.stats);
        Self {
            event_id: record.brief.id,
            stats: Parts {
                home: Counters::of(home, away),
                away: Counters::of(away, home),
                first_half: Half::default(),
                second_half: Half::default(),
            },
            shotmap: Vec::new(),
            momentum: Vec::new(),
            average_positions: Positions::default(),
            xg_per_minute: Vec::new(),
        }
    }
}

/// One side's share of what both have, in whole percent; `None` where one of them is not told.
pub(in crate::api) fn share(own: &Told, other: &Told, name: &str) -> Option<u32> {
    let (own, other) = (*own.get(name)?, *other.get(name)?);
    (100 * own + (own + other) / 2).checked_div(own + other)
}

impl Counters {
    fn of(own: &Told, other: &Told) -> Self {
        let get = |name: &str| own.get(name).copied();
        let accuracy = |accurate: u32, all: u32| {
            (all > 0).then(|| (f64::from(accurate) / f64::from(all) * 1000.0).round() / 10.0)
        };
        let passes = get("passes");
        let accurate_passes = get("accurate_passes");
        Self {
            fouls: get("fouls"),
            passes,
            offsides: get("offsides"),
            throw_ins: get("throw_ins"),
            free_kicks: get("free_kicks"),
            goal_kicks: get("goal_kicks"),
            total_saves: get("saves"),
            total_shots: get("total_shots"),
            corner_kicks: get("corner_kicks"),
            yellow_cards: get("yellow_cards"),
            red_cards: get("red_cards"),
            blocked_shots: get("blocked_shots"),
            accurate_passes,
            ball_possession: get("ball_possession"),
            shots_on_target: get("shots_on_target"),
            goalkeeper_saves: get("saves"),
            shots_off_target: get("shots_off_target"),
            attack: get("attacks"),
            dangerous_attack: get("dangerous_attacks"),
            attack_pct: share(own, other, "attacks"),
            dangerous_attack_pct: share(own, other, "dangerous_attacks"),
            pass_accuracy_pct: accurate_passes.zip(passes).and_then(|(a, all)| accuracy(a, all)),
        }
    }
}
