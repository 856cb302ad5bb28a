//! The analysis data of a football match in its record.

use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::{
    event::{BodyPart, ExpectedGoals, ShotOutcome, ShotSituation, Stat},
    football::Period,
};
use serde::{Deserialize, Serialize};

use super::EntityRef;

#[derive(Debug, Clone, PartialEq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct AnalysisRecord {
    /// In the order in which they became known.
    pub shots: Vec<ShotRecord>,
    /// Totals of a provider that does not list shots; home and away.
    pub expected_goals: [Option<ExpectedGoals>; 2],
    /// By [`MomentumMinute`]: from -100 to 100, positive is home.
    pub momentum: Vec<(MomentumMinute, i8)>,
    /// First half, second half; home and away in each.
    pub halves: [[BTreeMap<Stat, u32>; 2]; 2],
    pub positions: [Vec<PositionRecord>; 2],
}

/// Twice the minute, plus 1 for stoppage time: 90 is the 45th minute, 91 the stoppage time after
/// it.
pub type MomentumMinute = u16;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct ShotRecord {
    pub eid: std::sync::Arc<str>,
    /// 0 home, 1 away.
    pub side: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub player: Option<EntityRef>,
    pub period: Period,
    pub minute: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u16>,
    pub outcome: ShotOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub situation: Option<ShotSituation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_part: Option<BodyPart>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_goals: Option<ExpectedGoals>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_on_target: Option<ExpectedGoals>,
    /// `[x, y]` in tenths of a percent, as in `facts::event::PitchPlace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "place")]
    pub location: Option<[u16; 2]>,
    /// `[y, z]`, as in `facts::event::GoalMouth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_mouth: Option<[u16; 2]>,
}

/// The average position of a player, in tenths of a percent of the pitch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
pub struct PositionRecord {
    pub player: EntityRef,
    pub x: u16,
    pub y: u16,
}

impl AnalysisRecord {
    /// Expected goals of both sides: the sum of their shots in play, or the provider's totals.
    #[must_use]
    pub fn expected_goals(&self) -> Option<[ExpectedGoals; 2]> {
        let has_values = self.shots.iter().any(|shot| shot.expected_goals.is_some());
        if has_values {
            return Some([0, 1].map(|side| self.expected_goals_of(side, |_| true)));
        }
        let [home, away] = self.expected_goals;
        Some([home?, away?])
    }

    /// The sum of a side's shots in some periods, without the kicks of a shoot-out.
    #[must_use]
    pub fn expected_goals_of(&self, side: u8, includes: impl Fn(Period) -> bool) -> ExpectedGoals {
        let in_play = |it: &&ShotRecord| it.period != Period::Shootout && includes(it.period);
        let shots = self.shots.iter().filter(in_play).filter(|it| it.side == side);
        ExpectedGoals(shots.filter_map(|it| it.expected_goals).map(|it| it.0).sum())
    }

    /// This record, completed from the stored one.
    #[must_use]
    pub fn merged_over(&self, old: &Self) -> Self {
        let is_reported = |old: &&ShotRecord| self.shots.iter().any(|shot| shot.eid == old.eid);
        let before = old.shots.iter().filter(|shot| !is_reported(shot));
        let mut momentum: BTreeMap<_, _> = old.momentum.iter().copied().collect();
        momentum.extend(self.momentum.iter().copied());
        let mut halves = old.halves.clone();
        for (half, counts) in halves.iter_mut().flatten().zip(self.halves.iter().flatten()) {
            half.extend(counts.iter().map(|(stat, n)| (*stat, *n)));
        }
        let positions = [0, 1].map(|side: usize| {
            let latest = if self.positions[side].is_empty() { old } else { self };
            latest.positions[side].clone()
        });
        Self {
            shots: before.chain(&self.shots).cloned().collect(),
            expected_goals: [0, 1]
                .map(|side: usize| self.expected_goals[side].or(old.expected_goals[side])),
            momentum: momentum.into_iter().collect(),
            halves,
            positions,
        }
    }
}
