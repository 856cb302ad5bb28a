//! Players, managers and referees. Values that no feed provides are null, or empty where clients read a
//! string or a list.

use std::collections::BTreeMap;

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    event::TeamBrief,
    league::{football_entities, football_entity},
    request::{self, EntityParams, NAME, NONE, V1Query},
};
use crate::rest::{
    ApiRequest, ApiResult, CacheControl, Page, Spec,
    football::{ManagerStats, country, short_name},
};
use history::query::{Entity, EntityKind, MatchQuery, View};
use record::Key;

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
    /// The name of a country; empty if no feed reports it.
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

/// 0 to 100 each. Never present, since no feed rates players.
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
    fn new(query: &V1Query<'_>, player: &Entity) -> Self {
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
            current_team: player.parent.and_then(|team| TeamBrief::new(query.api, team)),
            national_team: None,
            availability: None,
            injury_type: None,
            injury_expected_return: None,
            transfers: Vec::new(),
        }
    }
}

params! {
    struct PlayersParams {
        team: Ids = "One or more current teams",
        national_team: Id = "No feed reports it: an ID matches no player",
        nationality: Country = "",
        position: Word = "",
        name: Name = NAME,
    }
    struct ManagersParams {
        team: Ids = "One or more current teams",
        country: Country = "",
        name: Name = NAME,
    }
}

const PLAYERS: Spec = Spec { aliases: CURRENT_TEAM, ..request::spec(&[PlayersParams::PARAMS]) };

const MANAGERS: Spec = Spec { aliases: CURRENT_TEAM, ..request::spec(&[ManagersParams::PARAMS]) };

const REFEREES: Spec = request::spec(&[EntityParams::PARAMS]);

/// The member of rows is accepted as well.
const CURRENT_TEAM: &[(&str, &str)] = &[("current_team", "team")];

endpoints! {
    /// Players, by their names.
    "/api/players/", params(PLAYERS), answers(Page<Player>), |request| players(&request);

    /// A player.
    "/api/players/{id}/", params(NONE), answers(Player),
        or(status = 404, description = "No such player"),
        |request| player(&request);

    /// Managers, by their names.
    "/api/managers/", params(MANAGERS), answers(Page<Manager>), |request| managers(&request).await;

    /// A manager.
    "/api/managers/{id}/", params(NONE), answers(Manager),
        or(status = 404, description = "No such manager"),
        |request| manager(&request).await;

    /// Referees, by their names.
    "/api/referees/", params(REFEREES), answers(Page<Referee>), |request| referees(&request);
}

fn players(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let filters = PlayersParams::read(query.params)?;
    let all = football_entities(&request.api, EntityKind::Player, |entity| {
        filters.national_team.is_none()
            && filters.team.passes(entity.parent)
            && filters.name.is_in(&entity.name)
            && filters.nationality.passes(entity.country.as_deref())
            && filters.position.passes(about(entity, "position"))
    });
    query.page_of(CacheControl::REFERENCE, &all, |player| Player::new(&query, player))
}

fn player(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let player = football_entity(request, EntityKind::Player)?;
    request.answer(CacheControl::REFERENCE, &Player::new(&query, &player))
}

/// A manager, and how the matches ended that we have of them. Shares are percentages; null without a
/// match.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Manager)]
pub(super) struct Manager {
    id: u64,
    name: String,
    short_name: String,
    /// Its name; empty if no feed reports it.
    country: String,
    current_team: Option<TeamBrief>,
    /// The formation of most line-ups that are known.
    preferred_formation: String,
    /// How often each was in a line-up that is known.
    formations_used: BTreeMap<String, u32>,
    /// No feed provides anything that has no number.
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

/// No feed provides one.
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
    fn new(query: &V1Query<'_>, manager: &Entity, stats: ManagerStats) -> Self {
        Self {
            id: manager.id,
            name: manager.name.to_string(),
            short_name: short_name(&manager.name),
            country: country::name_or_empty(manager.country.as_deref()),
            current_team: manager.parent.and_then(|team| TeamBrief::new(query.api, team)),
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
            avg_xg_for: stats.expected_goals,
            avg_xg_against: stats.expected_goals_conceded,
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

async fn managers(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let ManagersParams { team, country, name } = ManagersParams::read(query.params)?;
    let all = football_entities(&request.api, EntityKind::Manager, |entity| {
        team.passes(entity.parent)
            && country.passes(entity.country.as_deref())
            && name.is_in(&entity.name)
    });
    let window = query.window();
    let page: Vec<_> = all.iter().skip(window.offset).take(window.limit).collect();
    let ids: Vec<_> = page.iter().map(|manager| manager.id).collect();
    let mut stats = ManagerStats::for_managers(&request.api, request.extension()?, &ids).await?;
    let rows = page.into_iter().map(|entity| {
        let stats = stats.remove(&entity.id).unwrap_or_default();
        Manager::new(&query, entity, stats)
    });
    query.page(CacheControl::REFERENCE, all.len(), rows.collect())
}

async fn manager(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let manager = football_entity(request, EntityKind::Manager)?;
    let mut stats =
        ManagerStats::for_managers(&request.api, request.extension()?, &[manager.id]).await?;
    let stats = stats.remove(&manager.id).unwrap_or_default();
    request.answer(CacheControl::REFERENCE, &Manager::new(&query, &manager, stats))
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1Referee)]
pub(super) struct Referee {
    id: u64,
    name: String,
    /// Its name; empty if no feed reports it.
    country: String,
    /// That we have.
    matches: usize,
}

fn referees(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let EntityParams { country, name } = EntityParams::read(query.params)?;
    let all = football_entities(&request.api, EntityKind::Referee, |entity| {
        country.passes(entity.country.as_deref()) && name.is_in(&entity.name)
    });
    let view = View::now(&request.api.history, Some(Sport::Football));
    let refereed_by = |referee: Key| MatchQuery { referee: Some(referee), ..MatchQuery::default() };
    let row = |referee: &std::sync::Arc<Entity>| Referee {
        id: referee.id,
        name: referee.name.to_string(),
        country: country::name_or_empty(referee.country.as_deref()),
        matches: view.count(&refereed_by(referee.id)),
    };
    query.page_of(CacheControl::REFERENCE, &all, row)
}
