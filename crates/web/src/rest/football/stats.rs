//! `events/{id}/stats/`: statistics of both sides.

use std::{collections::BTreeMap, sync::Arc};

use facts::{
    event::{ExpectedGoals, Stat},
    football::Period,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::analysis::{self, MinuteXg, Momentum, Positions, Shot, Xg};
use record::{AnalysisRecord, FootballRecord, Key, MatchRecord, ShotRecord, Status, counters};

/// A share, which does not add up over halves.
const POSSESSION: &str = "ball_possession";

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Stats {
    event_id: Key,
    stats: Parts,
    /// Newest first, the kicks of a shoot-out included.
    shotmap: Vec<Shot>,
    momentum: Vec<Momentum>,
    average_positions: Positions,
    /// Minutes with a shot that has expected goals.
    xg_per_minute: Vec<MinuteXg>,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(in crate::rest) struct Parts {
    pub(in crate::rest) home: Counters,
    pub(in crate::rest) away: Counters,
    /// Empty where the feed counts the match as a whole.
    pub(in crate::rest) first_half: Half,
    pub(in crate::rest) second_half: Half,
}

#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
pub(in crate::rest) struct Half {
    pub(in crate::rest) home: Counters,
    pub(in crate::rest) away: Counters,
}

/// Omits what no source counts in this match. What is counted is present for both sides: 0 is 0.
#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
pub(in crate::rest) struct Counters {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) fouls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) passes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) offsides: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) throw_ins: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) free_kicks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) goal_kicks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) total_saves: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) total_shots: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) corner_kicks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) yellow_cards: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) red_cards: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) blocked_shots: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) accurate_passes: Option<u32>,
    /// In percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) ball_possession: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) shots_on_target: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) goalkeeper_saves: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) shots_off_target: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) attack: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) dangerous_attack: Option<u32>,
    /// This side's share of both, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) attack_pct: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) dangerous_attack_pct: Option<u32>,
    /// To one digit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) pass_accuracy_pct: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) shots_inside_box: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) shots_outside_box: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rest) expected_goals: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    xg: Option<Xg>,
}

/// Keyed by the names of `facts::event::Stat`.
type StatCounts = BTreeMap<Arc<str>, u32>;

impl Stats {
    pub(super) fn new(record: &MatchRecord) -> Self {
        let football = record.play.football();
        let analysis = football.and_then(|football| football.analysis.as_deref());
        let analysis = analysis.cloned().unwrap_or_default();
        Self {
            event_id: record.summary.id,
            stats: Parts::new(record),
            shotmap: analysis::shot_map(&analysis),
            momentum: analysis::momentum(&analysis),
            average_positions: Positions::new(&analysis, football),
            xg_per_minute: analysis::xg_per_minute(&analysis),
        }
    }
}

impl Parts {
    pub(in crate::rest) fn new(record: &MatchRecord) -> Self {
        let football = record.play.football();
        let all = football.map(FootballRecord::counters).unwrap_or_default();
        let [home, away] = &all;
        let mut parts = Self {
            home: Counters::new(home, away),
            away: Counters::new(away, home),
            first_half: Half::default(),
            second_half: Half::default(),
        };
        if let Some(analysis) = football.and_then(|football| football.analysis.as_deref()) {
            parts.add(analysis, halves(analysis, &all, record.summary.status));
        }
        parts
    }

    /// Adds the halves, shots and expected goals.
    fn add(&mut self, analysis: &AnalysisRecord, halves: [[StatCounts; 2]; 2]) {
        for (half, [home, away]) in
            [&mut self.first_half, &mut self.second_half].into_iter().zip(halves)
        {
            *half = Half { home: Counters::new(&home, &away), away: Counters::new(&away, &home) };
        }
        let all = [&mut self.home, &mut self.away];
        let first = [&mut self.first_half.home, &mut self.first_half.away];
        let second = [&mut self.second_half.home, &mut self.second_half.away];
        let expected = analysis.expected_goals().map(|it| it.map(ExpectedGoals::goals));
        for (side, counters) in (0..).zip(all) {
            counters.add_shots(analysis, side, |_| true);
            counters.expected_goals = expected.map(|goals| goals[usize::from(side)]);
            counters.xg = counters.expected_goals.map(|actual| Xg { actual });
        }
        for (side, counters) in (0..).zip(first) {
            counters.add_half(analysis, side, Period::FirstHalf);
        }
        for (side, counters) in (0..).zip(second) {
            counters.add_half(analysis, side, Period::SecondHalf);
        }
    }
}

/// The counters of both halves, which feeds report by the minute: the half in play has what the match has beyond the other.
fn halves(
    analysis: &AnalysisRecord,
    all: &[StatCounts; 2],
    status: Status,
) -> [[StatCounts; 2]; 2] {
    let mut halves = analysis.halves.each_ref().map(|half| half.each_ref().map(half_counts));
    for half in halves.iter_mut().filter(|half| half.iter().any(|side| !side.is_empty())) {
        counters::complete(half, false, []);
    }
    let [first, second] = &mut halves;
    for (side, all) in all.iter().enumerate() {
        let (current, other) = match status {
            Status::FirstHalf => (&mut first[side], None),
            Status::SecondHalf => (&mut second[side], Some(&first[side])),
            _ => break,
        };
        for (name, count) in current.iter_mut().filter(|(name, _)| ***name != *POSSESSION) {
            let other = other.map_or(Some(0), |counts| counts.get(name).copied());
            if let Some((all, other)) = all.get(name).copied().zip(other) {
                *count = all.saturating_sub(other);
            }
        }
    }
    halves
}

fn half_counts(counts: &BTreeMap<Stat, u32>) -> StatCounts {
    counts.iter().map(|(stat, n)| (stat.as_str().into(), *n)).collect()
}

/// One side's share of the sum, in whole percent; `None` if either is missing.
pub(in crate::rest) fn share(side: &StatCounts, other: &StatCounts, name: &str) -> Option<u32> {
    let (side, other) = (*side.get(name)?, *other.get(name)?);
    percent(side, side.saturating_add(other))
}

/// A part in whole percent; `None` of nothing.
pub(in crate::rest) fn percent(part: u32, all: u32) -> Option<u32> {
    let [part, all] = [part, all].map(u64::from);
    u32::try_from((100 * part + all / 2).checked_div(all)?).ok()
}

impl Counters {
    fn add_shots(&mut self, analysis: &AnalysisRecord, side: u8, is_in: impl Fn(Period) -> bool) {
        let placed = analysis.shots.iter().filter(|shot| shot.period != Period::Shootout);
        let placed =
            placed.filter(|shot| is_in(shot.period)).filter_map(|it| Some((it.side, it.location?)));
        let placed: Vec<_> = placed.collect();
        if placed.is_empty() {
            return;
        }
        let by_side = placed.iter().filter(|(whose, _)| *whose == side);
        let inside = by_side.clone().filter(|it| analysis::is_in_box(it.1)).count();
        self.shots_inside_box = u32::try_from(inside).ok();
        self.shots_outside_box = u32::try_from(by_side.count() - inside).ok();
    }

    fn add_half(&mut self, analysis: &AnalysisRecord, side: u8, period: Period) {
        self.add_shots(analysis, side, |shot_period| shot_period == period);
        let is_counted = |shot: &ShotRecord| shot.period == period && shot.expected_goals.is_some();
        if analysis.shots.iter().any(is_counted) {
            let goals = analysis.expected_goals_of(side, |shot_period| shot_period == period);
            self.expected_goals = Some(goals.goals());
            self.xg = self.expected_goals.map(|actual| Xg { actual });
        }
    }

    fn new(counts: &StatCounts, other: &StatCounts) -> Self {
        let get = |name: &str| counts.get(name).copied();
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
            attack_pct: share(counts, other, "attacks"),
            dangerous_attack_pct: share(counts, other, "dangerous_attacks"),
            pass_accuracy_pct: accurate_passes.zip(passes).and_then(|(a, all)| accuracy(a, all)),
            // Counted from shots.
            shots_inside_box: None,
            shots_outside_box: None,
            expected_goals: None,
            xg: None,
        }
    }
}
