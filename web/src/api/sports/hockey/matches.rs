//! `/hockey/api/v2/matches/`.

use axum::extract::Path;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    form::{HeadToHead, Report, TeamForm},
    match_odds::StickOdds,
    matches,
    request::{self, ApiResult, DateParams, PageParams, SportsRequest},
    shape::{self, LeagueBrief, TeamBrief},
    sport_stats::SportStats,
    status, team_prediction,
};
use crate::{
    api::{
        Api, CacheControl, Page, Spec,
        error::{ErrorBody, UnknownParametersBody},
    },
    record::{Key, MatchRecord, MatchSummary},
};

const SPORT: Sport = Sport::Hockey;

const MATCHES: Spec =
    request::spec(&["date_from", "date_to", "league", "limit", "offset", "status", "team"]);

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
    /// What the clock of the match showed when it was told last.
    current_minute: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HockeyH2h {
    match_id: Key,
    head_to_head: HeadToHead,
    home_form: TeamForm,
    away_form: TeamForm,
}

/// Matches: the newest first, unless the request says from when on.
#[utoipa::path(get, path = "/hockey/api/v2/matches/", tag = "hockey",
    params(
        DateParams,
        ("league" = Option<u64>, Query, description = "Filter by league."),
        ("team" = Option<String>, Query, description = "Filter by team: its ID or part of its name."),
        ("status" = Option<String>, Query, description = "One or more statuses, separated by commas: scheduled, live, finished, awarded, postponed, cancelled, unresolved."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<HockeyMatch>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn list(request: SportsRequest) -> ApiResult {
    matches::list(&request, SPORT, MATCHES, HockeyMatch::of).await
}

/// Matches in play.
#[utoipa::path(get, path = "/hockey/api/v2/matches/live/", tag = "hockey",
    params(
        ("league" = Option<u64>, Query, description = "Filter by league."),
        ("team" = Option<String>, Query, description = "Filter by team: its ID or part of its name."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<HockeyMatch>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn live(request: SportsRequest) -> ApiResult {
    matches::live(&request, SPORT, MATCHES, HockeyMatch::of).await
}

/// One match.
#[utoipa::path(get, path = "/hockey/api/v2/matches/{id}/", tag = "hockey",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = HockeyDetail),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn detail(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    matches::one(&request, SPORT, &id, CacheControl::LIST, HockeyDetail::of).await
}

/// What each bookmaker gives. Who may ask sees them by name.
#[utoipa::path(get, path = "/hockey/api/v2/matches/{id}/odds/", tag = "hockey",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = StickOdds),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn odds(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    matches::odds(&request, SPORT, &id).await
}

/// What the two made of each other before, and each of others lately.
#[utoipa::path(get, path = "/hockey/api/v2/matches/{id}/h2h/", tag = "hockey",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = HockeyH2h),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn h2h(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    matches::part(&request, SPORT, &id, CacheControl::REFERENCE, HockeyH2h::of).await
}

/// Whether overtime or a shoot-out decided it.
pub(super) fn had_overtime(brief: &MatchSummary) -> bool {
    brief.parts.len() > PERIODS
}

impl HockeyH2h {
    fn of(api: &Api, record: &MatchRecord) -> Self {
        let Report { head_to_head, forms: [home_form, away_form], .. } = Report::of(api, record);
        Self { match_id: record.brief.id, head_to_head, home_form, away_form }
    }
}

impl HockeyMatch {
    fn of(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let brief = &record.brief;
        let [home_team, away_team] = TeamBrief::both(api, record, sport_stats);
        // A result without periods does not tell how it was decided.
        let is_known = !brief.parts.is_empty() || !brief.status.has_result();
        Self {
            id: brief.id,
            league: LeagueBrief::of(record),
            home_team,
            away_team,
            match_date: shape::start(record),
            status: status::word(SPORT, brief.status),
            home_score: shape::of_pair(brief.score, 0),
            away_score: shape::of_pair(brief.score, 1),
            is_overtime: is_known.then(|| had_overtime(brief)),
            is_shootout: is_known.then_some(brief.parts.len() > PERIODS + 1),
            winner_id: team_prediction::winner_id(record),
        }
    }
}

impl HockeyDetail {
    fn of(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let brief = &record.brief;
        let board = record.play.scoreboard().filter(|_| brief.status.is_live());
        let periods = brief.parts.iter().map(|[home, away]| format!("{home}-{away}"));
        let periods: Vec<_> = periods.collect();
        Self {
            row: HockeyMatch::of(api, record, sport_stats),
            periods_score: (!periods.is_empty()).then(|| periods.join(", ")),
            current_period: board.and_then(|board| shape::text(board.period.as_ref())),
            current_minute: board.and_then(|board| Some(board.clock?.second / 60)),
        }
    }
}
