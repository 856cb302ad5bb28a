//! `/basketball/api/v2/events/`.

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
    status,
};
use crate::{
    api::{
        Api, CacheControl, Page, Spec,
        error::{ErrorBody, UnknownParametersBody},
    },
    record::{Key, MatchRecord},
};

const SPORT: Sport = Sport::Basketball;

const MATCHES: Spec =
    request::spec(&["date_from", "date_to", "league", "limit", "offset", "status", "team"]);

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BasketballEvent {
    id: Key,
    league: Option<LeagueBrief>,
    home_team: Option<TeamBrief>,
    away_team: Option<TeamBrief>,
    event_date: Option<String>,
    status: &'static str,
    home_score: Option<u32>,
    away_score: Option<u32>,
    /// The points of each quarter, and of each overtime.
    periods: Vec<QuarterPoints>,
    /// The quarter in progress, as the feed names it: `q3`.
    current_period: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
struct QuarterPoints {
    home: u32,
    away: u32,
}

/// What each player did. No feed of ours tells it: the lists are empty.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(super) struct BoxScore {
    home: Vec<BoxLine>,
    away: Vec<BoxLine>,
}

#[derive(Debug, Serialize, ToSchema)]
struct BoxLine {
    name: String,
    minutes: Option<u32>,
    points: Option<u32>,
    rebounds: Option<u32>,
    assists: Option<u32>,
    fg: Option<String>,
    three_pt: Option<String>,
}

/// How the two teams stand before the match, by earlier results.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Pregame {
    event_id: Key,
    head_to_head: HeadToHead,
    home_form: TeamForm,
    away_form: TeamForm,
}

/// What is counted of each team: the points alone.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TeamStats {
    event_id: Key,
    home: TeamPoints,
    away: TeamPoints,
}

#[derive(Debug, Serialize, ToSchema)]
struct TeamPoints {
    points: Option<u32>,
    points_by_period: Vec<u32>,
}

/// Matches: the newest first, unless the request says from when on.
#[utoipa::path(get, path = "/basketball/api/v2/events/", tag = "basketball",
    params(
        DateParams,
        ("league" = Option<u64>, Query, description = "Filter by league."),
        ("team" = Option<String>, Query, description = "Filter by team: its ID or part of its name."),
        ("status" = Option<String>, Query, description = "One or more statuses, separated by commas: scheduled, live, finished, postponed, cancelled, unresolved."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<BasketballEvent>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn list(request: SportsRequest) -> ApiResult {
    matches::list(&request, SPORT, MATCHES, BasketballEvent::of).await
}

/// Matches in play.
#[utoipa::path(get, path = "/basketball/api/v2/events/live/", tag = "basketball",
    params(
        ("league" = Option<u64>, Query, description = "Filter by league."),
        ("team" = Option<String>, Query, description = "Filter by team: its ID or part of its name."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<BasketballEvent>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn live(request: SportsRequest) -> ApiResult {
    matches::live(&request, SPORT, MATCHES, BasketballEvent::of).await
}

/// One match.
#[utoipa::path(get, path = "/basketball/api/v2/events/{id}/", tag = "basketball",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = BasketballEvent),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn detail(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    matches::one(&request, SPORT, &id, CacheControl::LIST, BasketballEvent::of).await
}

/// What each player did, as far as a feed tells it.
#[utoipa::path(get, path = "/basketball/api/v2/events/{id}/box-score/", tag = "basketball",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = BoxScore),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn box_score(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    matches::part(&request, SPORT, &id, CacheControl::LIST, |_, _| BoxScore::default()).await
}

/// What each bookmaker gives. Who may ask sees them by name.
#[utoipa::path(get, path = "/basketball/api/v2/events/{id}/odds/", tag = "basketball",
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

/// How the two teams stand before a match.
#[utoipa::path(get, path = "/basketball/api/v2/events/{id}/pregame/", tag = "basketball",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = Pregame),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn pregame(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    matches::part(&request, SPORT, &id, CacheControl::REFERENCE, Pregame::of).await
}

/// What is counted of each team.
#[utoipa::path(get, path = "/basketball/api/v2/events/{id}/team-stats/", tag = "basketball",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = TeamStats),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn team_stats(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    matches::part(&request, SPORT, &id, CacheControl::LIST, TeamStats::of).await
}

impl Pregame {
    fn of(api: &Api, record: &MatchRecord) -> Self {
        let Report { head_to_head, forms: [home_form, away_form], .. } = Report::of(api, record);
        Self { event_id: record.brief.id, head_to_head, home_form, away_form }
    }
}

impl TeamStats {
    fn of(_: &Api, record: &MatchRecord) -> Self {
        let points = |side: usize| TeamPoints {
            points: shape::of_pair(record.brief.score, side),
            points_by_period: record.brief.parts.iter().map(|part| part[side]).collect(),
        };
        Self { event_id: record.brief.id, home: points(0), away: points(1) }
    }
}

impl BasketballEvent {
    fn of(api: &Api, record: &MatchRecord, sport_stats: &SportStats) -> Self {
        let brief = &record.brief;
        let [home_team, away_team] = TeamBrief::both(api, record, sport_stats);
        let quarters = brief.parts.iter();
        let board = record.play.scoreboard().filter(|_| brief.status.is_live());
        Self {
            id: brief.id,
            league: LeagueBrief::of(record),
            home_team,
            away_team,
            event_date: shape::start(record),
            status: status::word(SPORT, brief.status),
            home_score: shape::of_pair(brief.score, 0),
            away_score: shape::of_pair(brief.score, 1),
            periods: quarters
                .map(|[home, away]| QuarterPoints { home: *home, away: *away })
                .collect(),
            current_period: shape::text(board.and_then(|board| board.period.as_ref())),
        }
    }
}
