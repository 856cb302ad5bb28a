//! `/hockey/api/v2/matches/`.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    form::{HeadToHead, Report, TeamForm},
    match_odds::StickOdds,
    matches,
    request::NONE,
    shape::{self, LeagueBrief, TeamBrief},
    sport_stats::SportStats,
    team_prediction,
};
use crate::rest::{Api, CacheControl, Page};
use record::{Key, MatchRecord, MatchSummary, Vocabulary};

const SPORT: Sport = Sport::Hockey;

match_lists!(LeagueParams, TeamParams, "scheduled, live, finished, awarded");

/// Periods of regular time; a fourth is overtime, a fifth the shoot-out.
const PERIODS: usize = 3;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HockeyMatch {
    id: Key,
    league: Option<LeagueBrief>,
    home_team: Option<TeamBrief>,
    away_team: Option<TeamBrief>,
    match_date: Option<String>,
    status: &'static str,
    home_score: Option<u32>,
    away_score: Option<u32>,
    /// Null where the result alone is known.
    is_overtime: Option<bool>,
    is_shootout: Option<bool>,
    winner_id: Option<Key>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HockeyDetail {
    #[serde(flatten)]
    row: HockeyMatch,
    /// `1-0, 1-1, 0-2`.
    periods_score: Option<String>,
    /// As the feed names it: `p2`.
    current_period: Option<String>,
    /// The match clock as last reported.
    current_minute: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HockeyH2h {
    match_id: Key,
    head_to_head: HeadToHead,
    home_form: TeamForm,
    away_form: TeamForm,
}

endpoints! {
    /// Matches, the newest first; with a start date, the earliest first.
    "/hockey/api/v2/matches/", params(MATCHES), answers(Page<HockeyMatch>),
        |request| matches::list(&request, SPORT, HockeyMatch::new).await;

    /// Matches in play.
    "/hockey/api/v2/matches/live/", params(LIVE), answers(Page<HockeyMatch>),
        |request| matches::live(&request, SPORT, HockeyMatch::new).await;

    /// One match.
    "/hockey/api/v2/matches/{id}/", params(NONE), answers(HockeyDetail),
        |request| matches::one(&request, SPORT, CacheControl::LIST, HockeyDetail::new).await;

    /// The prices of each bookmaker.
    "/hockey/api/v2/matches/{id}/odds/", params(NONE), answers(StickOdds),
        |request| matches::odds(&request, SPORT).await;

    /// Their earlier meetings, and the recent form of both.
    "/hockey/api/v2/matches/{id}/h2h/", params(NONE), answers(HockeyH2h),
        |request| matches::part(&request, SPORT, CacheControl::REFERENCE, HockeyH2h::new).await;
}

/// Whether overtime or a shoot-out decided it.
pub(super) fn had_overtime(summary: &MatchSummary) -> bool {
    summary.parts.len() > PERIODS
}

impl HockeyH2h {
    fn new(api: &Api, record: &MatchRecord) -> Self {
        let Report { head_to_head, forms: [home_form, away_form], .. } = Report::new(api, record);
        Self { match_id: record.summary.id, head_to_head, home_form, away_form }
    }
}

impl HockeyMatch {
    fn new(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let summary = &record.summary;
        let [home_team, away_team] = TeamBrief::both(api, record, sport_stats);
        // A result without periods does not show how it was decided.
        let is_known = !summary.parts.is_empty() || !summary.status.has_result();
        Self {
            id: summary.id,
            league: LeagueBrief::new(record),
            home_team,
            away_team,
            match_date: shape::start(record),
            status: summary.status.word(Vocabulary::Sport(SPORT)),
            home_score: shape::side_value(summary.score, 0),
            away_score: shape::side_value(summary.score, 1),
            is_overtime: is_known.then(|| had_overtime(summary)),
            is_shootout: is_known.then_some(summary.parts.len() > PERIODS + 1),
            winner_id: team_prediction::winner_id(record),
        }
    }
}

impl HockeyDetail {
    fn new(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let summary = &record.summary;
        let board = record.play.scoreboard().filter(|_| summary.status.is_live());
        let periods = summary.parts.iter().map(|[home, away]| format!("{home}-{away}"));
        let periods: Vec<_> = periods.collect();
        Self {
            row: HockeyMatch::new(api, record, sport_stats),
            periods_score: (!periods.is_empty()).then(|| periods.join(", ")),
            current_period: board.and_then(|board| shape::text(board.period.as_ref())),
            current_minute: board.and_then(|board| Some(board.clock?.second / 60)),
        }
    }
}
