//! Players, managers and referees. What no feed of ours tells is null, or empty where clients read a
//! text or a list.

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    event::{TeamBrief, regular, team_brief},
    league::{football_entities, football_entity},
    request::Asked,
};
use crate::{
    api::{Api, ApiError, Kept, Page, football::short_name},
    archive::{Entity, EntityKind, Filter, Window},
    record::{Brief, Status},
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
    nationality: Option<String>,
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

/// What is known of a player.
fn about<'a>(player: &'a Entity, key: &str) -> Option<&'a str> {
    player.about.get(key).and_then(|value| value.as_str())
}

impl Player {
    fn of(asked: &Asked<'_>, player: &Entity) -> Self {
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
            nationality: player.country.as_ref().map(|it| it.to_string()),
            preferred_foot: "",
            contract_until: None,
            market_value: None,
            current_team: player.parent.and_then(|team| team_brief(asked, team)),
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
    params(("team" = Option<u64>, Query), ("nationality" = Option<String>, Query), ("position" = Option<String>, Query), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "100 unless told, at most 500")),
    responses((status = 200, body = Page<Player>), (status = 400, description = "A value that cannot be used"))
)]
pub(super) async fn players(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::pages(&api, &uri, &headers, &["team", "nationality", "position"])?;
    let team = asked.params.id("team")?;
    let all = football_entities(&api, EntityKind::Player, |it| {
        team.is_none_or(|team| it.parent == Some(team))
            && asked.says("nationality", it.country.as_deref())
            && asked.says("position", about(it, "position"))
    });
    let window = asked.window();
    let page = all.iter().skip(window.offset).take(window.limit);
    let rows = page.map(|player| Player::of(&asked, player)).collect();
    Kept::REFERENCE.answer(&headers, &asked.page(all.len(), rows))
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
    let asked = Asked::pages(&api, &uri, &headers, &[])?;
    let player = football_entity(&api, EntityKind::Player, &id)?;
    Kept::REFERENCE.answer(&headers, &Player::of(&asked, &player))
}

/// A manager, and how the matches ended that we have of them. Shares are percentages; null without a
/// match.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Manager)]
pub(super) struct Manager {
    id: u64,
    name: String,
    short_name: String,
    country: Option<String>,
    current_team: Option<TeamBrief>,
    preferred_formation: &'static str,
    profile: &'static str,
    team_style: &'static str,
    defensive_line: &'static str,
    matches_total: u32,
    wins: u32,
    draws: u32,
    losses: u32,
    win_pct: Option<f64>,
    avg_goals_scored: Option<f64>,
    avg_goals_conceded: Option<f64>,
    clean_sheet_pct: Option<f64>,
    btts_pct: Option<f64>,
    over_25_pct: Option<f64>,
    over_15_pct: Option<f64>,
    fail_to_score_pct: Option<f64>,
}

impl Manager {
    fn of(asked: &Asked<'_>, manager: &Entity) -> Self {
        let filter = Filter {
            sport: Some(Sport::Football),
            manager: Some(manager.id),
            statuses: Some(vec![Status::Finished]),
            ..Filter::default()
        };
        let matches = asked.api.archive.find(&filter, Window::ALL).briefs;
        let goals: Vec<_> = matches.iter().filter_map(|it| goals_of(it, manager.id)).collect();
        let count = |holds: fn(u32, u32) -> bool| {
            let held = goals.iter().filter(|[own, other]| holds(*own, *other)).count();
            u32::try_from(held).unwrap_or(u32::MAX)
        };
        let total = count(|_, _| true);
        let per_match = |sum: u32| {
            (total > 0).then(|| (f64::from(sum) / f64::from(total) * 100.0).round() / 100.0)
        };
        let share = |holds| {
            let share = f64::from(count(holds)) / f64::from(total);
            (total > 0).then(|| (share * 1000.0).round() / 10.0)
        };
        Self {
            id: manager.id,
            name: manager.name.to_string(),
            short_name: manager.name.to_string(),
            country: manager.country.as_ref().map(|it| it.to_string()),
            current_team: manager.parent.and_then(|team| team_brief(asked, team)),
            preferred_formation: "",
            profile: "",
            team_style: "",
            defensive_line: "",
            matches_total: total,
            wins: count(|own, other| own > other),
            draws: count(|own, other| own == other),
            losses: count(|own, other| own < other),
            win_pct: share(|own, other| own > other),
            avg_goals_scored: per_match(goals.iter().map(|goals| goals[0]).sum()),
            avg_goals_conceded: per_match(goals.iter().map(|goals| goals[1]).sum()),
            clean_sheet_pct: share(|_, other| other == 0),
            btts_pct: share(|own, other| own > 0 && other > 0),
            over_25_pct: share(|own, other| own + other > 2),
            over_15_pct: share(|own, other| own + other > 1),
            fail_to_score_pct: share(|own, _| own == 0),
        }
    }
}

/// Own goals and the other side's, without extra time.
fn goals_of(brief: &Brief, manager: u64) -> Option<[u32; 2]> {
    let [home, away] = regular(brief)?;
    Some(if brief.coaches[0] == Some(manager) { [home, away] } else { [away, home] })
}

/// Managers, by their names.
#[utoipa::path(
    get, path = "/api/managers/", tag = "football v1",
    params(("team" = Option<u64>, Query), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "100 unless told, at most 500")),
    responses((status = 200, body = Page<Manager>), (status = 400, description = "A value that cannot be used"))
)]
pub(super) async fn managers(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::pages(&api, &uri, &headers, &["team"])?;
    let team = asked.params.id("team")?;
    let all = football_entities(&api, EntityKind::Manager, |it| {
        team.is_none_or(|team| it.parent == Some(team))
    });
    let window = asked.window();
    let page = all.iter().skip(window.offset).take(window.limit);
    let rows = page.map(|manager| Manager::of(&asked, manager)).collect();
    Kept::REFERENCE.answer(&headers, &asked.page(all.len(), rows))
}

/// A manager.
#[utoipa::path(
    get, path = "/api/managers/{id}/", tag = "football v1", params(("id" = u64, Path)),
    responses((status = 200, body = Manager), (status = 404, description = "No such manager"))
)]
pub(super) async fn manager(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::pages(&api, &uri, &headers, &[])?;
    let manager = football_entity(&api, EntityKind::Manager, &id)?;
    Kept::REFERENCE.answer(&headers, &Manager::of(&asked, &manager))
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Referee)]
pub(super) struct Referee {
    id: u64,
    name: String,
    country: Option<String>,
    /// That we have.
    matches: usize,
}

/// Referees, by their names.
#[utoipa::path(
    get, path = "/api/referees/", tag = "football v1",
    params(("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "100 unless told, at most 500")),
    responses((status = 200, body = Page<Referee>), (status = 400, description = "A value that cannot be used"))
)]
pub(super) async fn referees(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::pages(&api, &uri, &headers, &[])?;
    let all = football_entities(&api, EntityKind::Referee, |_| true);
    let window = asked.window();
    let row = |referee: &std::sync::Arc<Entity>| Referee {
        id: referee.id,
        name: referee.name.to_string(),
        country: referee.country.as_ref().map(|it| it.to_string()),
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
    Kept::REFERENCE.answer(&headers, &asked.page(all.len(), rows))
}
