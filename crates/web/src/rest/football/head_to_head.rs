//! How the same two sides met before: of `events/{id}/`, and all of `events/{id}/h2h/`.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::snapshot::Matches;
use history::query::{self, DecidedBy, SideMatch};
use record::{Key, MatchSummary};

/// The number of latest meetings that are listed.
const RECENT: usize = 5;

/// From the perspective of the home side of the requested match; all `null` without a meeting.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub(in crate::rest) struct HeadToHead {
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
pub(in crate::rest) struct Meeting {
    /// `2026-03-01T18:00:00+00:00`; of version 1 in the requested time zone.
    pub date: Option<String>,
    pub home: String,
    pub away: String,
    /// `0-1`, the home side of that match first.
    pub score: String,
    pub event_id: Key,
    pub home_team_id: Key,
    pub away_team_id: Key,
}

impl HeadToHead {
    /// Of the meetings of these two sides, in order of start, those before this match. `date`: how their starts are shown.
    pub(super) fn new(
        matches: &Matches<'_>,
        this: &MatchSummary,
        met: &[Arc<MatchSummary>],
        date: impl Fn(&MatchSummary) -> Option<String>,
    ) -> Self {
        let Some([home, _]) = this.sides else { return Self::default() };
        let is_earlier = |other: &MatchSummary| other.start.is_some() && other.start < this.start;
        let earlier = met.iter().filter(|summary| summary.id != this.id && is_earlier(summary));
        let meetings = earlier.filter_map(|summary| SideMatch::new(Arc::clone(summary), home));
        let record = query::HeadToHead::new(meetings, DecidedBy::Goals);
        let total = record.meetings.len();
        if total == 0 {
            return Self::default();
        }
        let [home_goals, away_goals] = record.goals;
        let recent = record.meetings.iter().rev().take(RECENT);
        Self {
            total_matches: Some(total),
            home_wins: Some(record.wins),
            draws: Some(record.draws),
            away_wins: Some(record.losses),
            home_goals: Some(home_goals),
            away_goals: Some(away_goals),
            avg_total_goals: ratio(f64::from(home_goals + away_goals), total, 2),
            home_win_rate: ratio(as_float(record.wins), total, 3),
            away_win_rate: ratio(as_float(record.losses), total, 3),
            recent_matches: Some(
                recent.filter_map(|it| meeting(matches, &it.summary, &date)).collect(),
            ),
        }
    }
}

fn meeting(
    matches: &Matches<'_>,
    summary: &MatchSummary,
    date: impl Fn(&MatchSummary) -> Option<String>,
) -> Option<Meeting> {
    let (sides, goals) = (summary.sides?, summary.score?);
    let [home, away] = sides.map(|team| matches.team_name(team));
    Some(Meeting {
        date: date(summary),
        home,
        away,
        score: format!("{}-{}", goals[0], goals[1]),
        event_id: summary.id,
        home_team_id: sides[0],
        away_team_id: sides[1],
    })
}

/// A count as a number with a fraction; counts here are far below where that loses anything.
pub(in crate::rest) fn as_float(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

/// To so many digits after the point; `None` of nothing.
pub(in crate::rest) fn ratio(sum: f64, count: usize, digits: i32) -> Option<f64> {
    let scale = 10_f64.powi(digits);
    (count > 0).then(|| (sum / as_float(count) * scale).round() / scale)
}
