//! Players, managers and referees. Values that no feed provides are null, or empty where clients read a
//! string or a list.

use std::collections::BTreeMap;

use axum::{
    Extension,
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    event::{TeamBrief, team_brief},
    league::{football_entities, football_entity},
    request::V1Query,
};
use crate::{
    api::{
        Api, ApiError, CacheControl, Page,
        football::{ManagerStats, MatchStatsCache, country, short_name},
    },
    archive::{Entity, EntityKind, Filter, Window},
};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Player)]
pub(super) struct Player {
    id: u64,
    name: String,
    short_name: String,
    /// `G`, `D`, `M`, `F` or nothing.
    position: String,
    specific_position: &'static str,
    positions_detailed: Vec<String>,
    attributes: Option<Attributes>,
    strengths: Vec<String>,
    weaknesses: Vec<String>,
    jersey_number: Option<u64>,
    height: Option<u32>,
    weight: Option<u32>,
    date_of_birth: Option<String>,
    /// The name of a country; empty where no feed tells it.
    nationality: String,
    preferred_foot: &'static str,
    contract_until: Option<String>,
    market_value: Option<u64>,
    /// That it played for last.
    current_team: Option<TeamBrief>,
    national_team: Option<TeamBrief>,
    availability: Option<String>,
    injury_type: Option<String>,
    injury_expected_return: Option<String>,
    transfers: Vec<String>,
}

/// 0 to 100 each. As no feed of ours rates players, never there.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Attributes)]
struct Attributes {
    attacking: u32,
    technical: u32,
    tactical: u32,
    defending: u32,
    creativity: u32,
    position: String,
}

/// The attributes of a player.
fn about<'a>(player: &'a Entity, key: &str) -> Option<&'a str> {
    player.about.get(key).and_then(|value| value.as_str())
}

impl Player {
    fn of(query: &V1Query<'_>, player: &Entity) -> Self {
        Self {
            id: player.id,
            name: player.name.to_string(),
            short_name: short_name(&player.name),
            position: about(player, "position").unwrap_or_default().to_owned(),
            specific_position: "",
            positions_detailed: Vec::new(),
            attributes: None,
            strengths: Vec::new(),
            weaknesses: Vec::new(),
            jersey_number: player.about.get("jersey_number").and_then(|it| it.as_u64()),
            height: None,
            weight: None,
            date_of_birth: None,
            nationality: country::name_or_empty(player.country.as_deref()),
            preferred_foot: "",
            contract_until: None,
            market_value: None,
            current_team: player.parent.and_then(|team| team_brief(query, team)),
            national_team: None,
            availability: None,
            injury_type: None,
            injury_expected_return: None,
            transfers: Vec::new(),
        }
    }
}

/// Players, by their names.
#[utoipa::path(
    get, path = "/api/players/", tag = "football v1",
    params(("team" = Option<u64>, Query), ("nationality" = Option<String>, Query), ("position" = Option<String>, Query), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<Player>), (status = 400, description = "Invalid parameter value"))
)]
pub(super) async fn players(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::pages(&api, &uri, &headers, &["team", "nationality", "position"])?;
    let team = query.params.id("team")?;
    let all = football_entities(&api, EntityKind::Player, |it| {
        team.is_none_or(|team| it.parent == Some(team))
            && query.is_country("nationality", it.country.as_deref())
            && query.says("position", about(it, "position"))
    });
    let window = query.window();
    let page = all.iter().skip(window.offset).take(window.limit);
    let rows = page.map(|player| Player::of(&query, player)).collect();
    CacheControl::REFERENCE.answer(&headers, &query.page(all.len(), rows))
}

/// A player.
#[utoipa::path(
    get, path = "/api/players/{id}/", tag = "football v1", params(("id" = u64, Path)),
    responses((status = 200, body = Player), (status = 404, description = "No such player"))
)]
pub(super) async fn player(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::pages(&api, &uri, &headers, &[])?;
    let player = football_entity(&api, EntityKind::Player, &id)?;
    CacheControl::REFERENCE.answer(&headers, &Player::of(&query, &player))
}

/// A manager, and how the matches ended that we have of them. Shares are percentages; null without a
/// match.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Manager)]
pub(super) struct Manager {
    id: u64,
    name: String,
    short_name: String,
    /// Its name; empty where no feed tells it.
    country: String,
    current_team: Option<TeamBrief>,
    /// The formation of most line-ups that are known.
    preferred_formation: String,
    /// How often each was in a line-up that is known.
    formations_used: BTreeMap<String, u32>,
    /// Of what has no number no feed of ours tells anything.
    profile: &'static str,
    team_style: &'static str,
    pressing_intensity: Option<f64>,
    defensive_line: &'static str,
    tactical_styles: Vec<TacticalStyle>,
    matches_total: usize,
    wins: usize,
    draws: usize,
    losses: usize,
    win_pct: Option<f64>,
    avg_goals_scored: Option<f64>,
    avg_goals_conceded: Option<f64>,
    avg_possession: Option<f64>,
    avg_shots: Option<f64>,
    avg_shots_on_target: Option<f64>,
    avg_xg_for: Option<f64>,
    avg_xg_against: Option<f64>,
    avg_corners: Option<f64>,
    avg_yellow_cards: Option<f64>,
    avg_red_cards: Option<f64>,
    avg_fouls: Option<f64>,
    clean_sheet_pct: Option<f64>,
    btts_pct: Option<f64>,
    over_25_pct: Option<f64>,
    over_15_pct: Option<f64>,
    fail_to_score_pct: Option<f64>,
    avg_goals_scored_1h: Option<f64>,
    avg_goals_conceded_1h: Option<f64>,
}

/// No feed of ours tells one.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct TacticalStyle {
    rank: u32,
    code: String,
    name: String,
    category: String,
    emoji: String,
    description: String,
    score: f64,
}

impl Manager {
    fn of(query: &V1Query<'_>, manager: &Entity, stats: ManagerStats) -> Self {
        Self {
            id: manager.id,
            name: manager.name.to_string(),
            short_name: short_name(&manager.name),
            country: country::name_or_empty(manager.country.as_deref()),
            current_team: manager.parent.and_then(|team| team_brief(query, team)),
            preferred_formation: stats.preferred_formation,
            formations_used: stats.formations,
            profile: "",
            team_style: "",
            pressing_intensity: None,
            defensive_line: "",
            tactical_styles: Vec::new(),
            matches_total: stats.matches,
            wins: stats.wins,
            draws: stats.draws,
            losses: stats.losses,
            win_pct: stats.win_pct,
            avg_goals_scored: stats.goals_scored,
            avg_goals_conceded: stats.goals_conceded,
            avg_possession: stats.possession,
            avg_shots: stats.shots,
            avg_shots_on_target: stats.shots_on_target,
            avg_xg_for: None,
            avg_xg_against: None,
            avg_corners: stats.corners,
            avg_yellow_cards: stats.yellow_cards,
            avg_red_cards: stats.red_cards,
            avg_fouls: stats.fouls,
            clean_sheet_pct: stats.clean_sheet_pct,
            btts_pct: stats.both_scored_pct,
            over_25_pct: stats.over_25_pct,
            over_15_pct: stats.over_15_pct,
            fail_to_score_pct: stats.fail_to_score_pct,
            avg_goals_scored_1h: stats.goals_scored_first_half,
            avg_goals_conceded_1h: stats.goals_conceded_first_half,
        }
    }
}

/// Managers, by their names.
#[utoipa::path(
    get, path = "/api/managers/", tag = "football v1",
    params(("team" = Option<u64>, Query), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<Manager>), (status = 400, description = "Invalid parameter value"))
)]
pub(super) async fn managers(
    State(api): State<Api>,
    Extension(match_stats): Extension<MatchStatsCache>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::pages(&api, &uri, &headers, &["team"])?;
    let team = query.params.id("team")?;
    let all = football_entities(&api, EntityKind::Manager, |it| {
        team.is_none_or(|team| it.parent == Some(team))
    });
    let window = query.window();
    let page: Vec<_> = all.iter().skip(window.offset).take(window.limit).collect();
    let ids: Vec<_> = page.iter().map(|manager| manager.id).collect();
    let mut stats = ManagerStats::of_all(&api, &match_stats, &ids).await?;
    let rows = page.into_iter().map(|it| {
        let stats = stats.remove(&it.id).unwrap_or_default();
        Manager::of(&query, it, stats)
    });
    let rows = rows.collect();
    CacheControl::REFERENCE.answer(&headers, &query.page(all.len(), rows))
}

/// A manager.
#[utoipa::path(
    get, path = "/api/managers/{id}/", tag = "football v1", params(("id" = u64, Path)),
    responses((status = 200, body = Manager), (status = 404, description = "No such manager"))
)]
pub(super) async fn manager(
    State(api): State<Api>,
    Extension(match_stats): Extension<MatchStatsCache>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::pages(&api, &uri, &headers, &[])?;
    let manager = football_entity(&api, EntityKind::Manager, &id)?;
    let stats = ManagerStats::of_all(&api, &match_stats, &[manager.id]).await?.remove(&manager.id);
    CacheControl::REFERENCE
        .answer(&headers, &Manager::of(&query, &manager, stats.unwrap_or_default()))
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Referee)]
pub(super) struct Referee {
    id: u64,
    name: String,
    /// Its name; empty where no feed tells it.
    country: String,
    /// That we have.
    matches: usize,
}

/// Referees, by their names.
#[utoipa::path(
    get, path = "/api/referees/", tag = "football v1",
    params(("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<Referee>), (status = 400, description = "Invalid parameter value"))
)]
pub(super) async fn referees(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::pages(&api, &uri, &headers, &[])?;
    let all = football_entities(&api, EntityKind::Referee, |_| true);
    let window = query.window();
    let row = |referee: &std::sync::Arc<Entity>| Referee {
        id: referee.id,
        name: referee.name.to_string(),
        country: country::name_or_empty(referee.country.as_deref()),
        matches: api
            .archive
            .find(
                &Filter {
                    sport: Some(Sport::Football),
                    referee: Some(referee.id),
                    ..Filter::default()
                },
                Window { offset: 0, limit: 0 },
            )
            .count,
    };
    let rows = all.iter().skip(window.offset).take(window.limit).map(row).collect();
    CacheControl::REFERENCE.answer(&headers, &query.page(all.len(), rows))
}
