//! How the same two sides met before: of `events/{id}/`, and all of `events/{id}/h2h/`.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::matches::Matches;
use crate::{
    api::time,
    record::{Key, MatchSummary},
};

/// As many of the last meetings are told one by one.
const RECENT: usize = 5;

/// Seen from the home side of the match that is asked about; all `null` where they never met.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub(super) struct HeadToHead {
    pub total_matches: Option<usize>,
    /// Of extra time too; a shoot-out decides nothing here.
    pub home_wins: Option<usize>,
    pub draws: Option<usize>,
    pub away_wins: Option<usize>,
    pub home_goals: Option<u32>,
    pub away_goals: Option<u32>,
    /// To two digits.
    pub avg_total_goals: Option<f64>,
    /// 0 to 1, to three digits.
    pub home_win_rate: Option<f64>,
    pub away_win_rate: Option<f64>,
    /// The last five, the newest first.
    pub recent_matches: Option<Vec<Meeting>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(super) struct Meeting {
    /// `2026-03-01T18:00:00+00:00`.
    pub date: Option<String>,
    pub home: String,
    pub away: String,
    /// `0-1`, the home side of that match first.
    pub score: String,
    pub event_id: Key,
    pub home_team_id: Key,
    pub away_team_id: Key,
}

/// A meeting in the past.
struct PastMeeting<'a> {
    brief: &'a MatchSummary,
    sides: [Key; 2],
    goals: [u32; 2],
}

impl HeadToHead {
    /// Of the matches of these two, in their order in time, those before this one.
    pub(super) fn of(matches: &Matches<'_>, of: &MatchSummary, met: &[Arc<MatchSummary>]) -> Self {
        let Some(sides) = of.sides else { return Self::default() };
        let earlier = met.iter().filter(|brief| brief.id != of.id && brief.start < of.start);
        let met: Vec<_> = earlier
            .filter_map(|brief| {
                Some(PastMeeting { brief, sides: brief.sides?, goals: brief.score? })
            })
            .collect();
        if met.is_empty() {
            return Self::default();
        }
        // Home and away are those of the match that is asked about.
        let goals = met.iter().map(|met| match met.sides == sides {
            true => met.goals,
            false => [met.goals[1], met.goals[0]],
        });
        let goals: Vec<_> = goals.collect();
        let count = |is: fn(&&[u32; 2]) -> bool| goals.iter().filter(is).count();
        let [home_wins, away_wins] = [count(|[a, b]| a > b), count(|[a, b]| a < b)];
        let sum = |side: usize| goals.iter().map(|goals| goals[side]).sum::<u32>();
        let [home_goals, away_goals] = [sum(0), sum(1)];
        let total = met.len();
        let recent = met.iter().rev().take(RECENT).map(|met| meeting(matches, met));
        Self {
            total_matches: Some(total),
            home_wins: Some(home_wins),
            draws: Some(total - home_wins - away_wins),
            away_wins: Some(away_wins),
            home_goals: Some(home_goals),
            away_goals: Some(away_goals),
            avg_total_goals: ratio(f64::from(home_goals + away_goals), total, 2),
            home_win_rate: ratio(as_float(home_wins), total, 3),
            away_win_rate: ratio(as_float(away_wins), total, 3),
            recent_matches: Some(recent.collect()),
        }
    }
}

fn meeting(matches: &Matches<'_>, met: &PastMeeting<'_>) -> Meeting {
    let [home, away] = met.sides.map(|team| matches.team_name(team));
    Meeting {
        date: met.brief.start.and_then(time::offset),
        home,
        away,
        score: format!("{}-{}", met.goals[0], met.goals[1]),
        event_id: met.brief.id,
        home_team_id: met.sides[0],
        away_team_id: met.sides[1],
    }
}

/// A count as a number with a fraction; counts here are far below where that loses anything.
pub(super) fn as_float(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

/// To so many digits after the point; `None` of nothing.
pub(super) fn ratio(sum: f64, of: usize, digits: i32) -> Option<f64> {
    let scale = 10_f64.powi(digits);
    (of > 0).then(|| (sum / as_float(of) * scale).round() / scale)
}
