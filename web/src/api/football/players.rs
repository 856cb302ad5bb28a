//! `/api/v2/players/` and the endpoints below one player.

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    country, line_ups,
    matches::Matches,
    player_stats::PlayerStats,
    request::{self, ListQuery, key},
    teams,
};
use crate::{
    api::{Api, ApiError, CacheControl, ErrorBody, Page, Params, Spec, UnknownParametersBody},
    archive::{Appearance, AppearanceFilter, Entity, EntityKind, Window},
    clock::now,
    record::Key,
};

/// SERVICE section 1.9. What no feed of ours tells is `null`, or an empty text where that page has
/// one.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Player {
    id: Key,
    name: String,
    short_name: String,
    /// `G`, `D`, `M`, `F` or empty.
    position: String,
    specific_position: String,
    jersey_number: Option<u64>,
    date_of_birth: Option<String>,
    height_cm: Option<u32>,
    weight_kg: Option<u32>,
    preferred_foot: String,
    nationality: String,
    /// The team that the last match was for.
    current_team_id: Option<Key>,
    national_team_id: Option<Key>,
    current_team: Option<TeamOfPlayer>,
    national_team: Option<TeamOfPlayer>,
    market_value_eur: Option<u64>,
    contract_until: Option<String>,
    availability: Option<String>,
    attributes: Option<Attributes>,
    strengths: Vec<String>,
    weaknesses: Vec<String>,
    rating: Option<u32>,
    potential: Option<u32>,
    injury_risk: Option<f64>,
    wage_eur_annual: Option<u64>,
}

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct TeamOfPlayer {
    id: Key,
    name: String,
    short_name: String,
}

/// As no feed of ours rates players, never there.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Attributes {
    attacking: u32,
    technical: u32,
    tactical: u32,
    defending: u32,
    creativity: u32,
    position: String,
}

/// A player in a squad: SERVICE section 1.9.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct SquadPlayer {
    id: Key,
    name: String,
    short_name: String,
    position: String,
    jersey_number: Option<u64>,
    nationality: String,
    date_of_birth: Option<String>,
}

fn text(entity: &Entity, key: &str) -> Option<String> {
    entity.about.get(key).and_then(|value| value.as_str()).map(ToOwned::to_owned)
}

fn number(entity: &Entity, key: &str) -> Option<u64> {
    entity.about.get(key).and_then(serde_json::Value::as_u64)
}

/// The letter of a player's position, or an empty string.
pub(super) fn position(matches: &Matches<'_>, player: Key) -> String {
    let player = matches.entity(EntityKind::Player, player).ok();
    player.and_then(|player| text(&player, "position")).unwrap_or_default()
}

impl SquadPlayer {
    pub(super) fn of(player: &Entity) -> Self {
        Self {
            id: player.id,
            name: player.name.to_string(),
            short_name: line_ups::short_name(&player.name),
            position: text(player, "position").unwrap_or_default(),
            jersey_number: number(player, "jersey_number"),
            nationality: country::name_or_empty(player.country.as_deref()),
            date_of_birth: text(player, "date_of_birth"),
        }
    }
}

impl Player {
    fn of(matches: &Matches<'_>, player: &Entity) -> Self {
        let team = player.parent.and_then(|team| matches.entity(EntityKind::Team, team).ok());
        let SquadPlayer {
            id,
            name,
            short_name,
            position,
            jersey_number,
            nationality,
            date_of_birth,
        } = SquadPlayer::of(player);
        Self {
            id,
            name,
            short_name,
            position,
            specific_position: String::new(),
            jersey_number,
            date_of_birth,
            height_cm: None,
            weight_kg: None,
            preferred_foot: String::new(),
            nationality,
            current_team_id: team.as_ref().map(|team| team.id),
            national_team_id: None,
            current_team: team.map(|team| TeamOfPlayer {
                id: team.id,
                name: team.name.to_string(),
                short_name: teams::short_name(&team),
            }),
            national_team: None,
            market_value_eur: None,
            contract_until: None,
            availability: None,
            attributes: None,
            strengths: Vec::new(),
            weaknesses: Vec::new(),
            rating: None,
            potential: None,
            injury_risk: None,
            wage_eur_annual: None,
        }
    }
}

const LIST: Spec = request::spec(&[
    "limit",
    "name",
    "national_team_id",
    "nationality_code",
    "offset",
    "position",
    "team_id",
]);

/// Players, by name.
#[utoipa::path(
    get,
    path = "/api/v2/players/",
    tag = "football v2",
    params(
        ("name" = Option<String>, Query, description = "Part of the name"),
        ("team_id" = Option<u64>, Query, description = "Current team, by the player's last match"),
        ("national_team_id" = Option<u64>, Query, description = "Not provided by any feed: always empty"),
        ("nationality_code" = Option<String>, Query, description = "Country code (ISO 3166-1 alpha-2)"),
        ("position" = Option<String>, Query, description = "G, D, M or F"),
        ("limit" = Option<usize>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<usize>, Query, description = "Number of rows to skip"),
    ),
    responses(
        (status = 200, body = Page<Player>),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
    ),
)]
pub(super) async fn list(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = ListQuery::read(&api, &uri, &headers, LIST)?;
    let params = &query.params;
    let (team, national) = (params.id("team_id")?, params.id("national_team_id")?);
    let (code, position) = (params.text("nationality_code"), params.text("position"));
    let matches = Matches::now(&api);
    let players = matches.entities(EntityKind::Player, |player| {
        national.is_none()
            && query.has_part("name", &player.name)
            && team.is_none_or(|team| player.parent == Some(team))
            && code.is_none_or(|code| country::has_code(player.country.as_deref(), code))
            && position.is_none_or(|wanted| {
                text(player, "position").is_some_and(|own| own.eq_ignore_ascii_case(wanted))
            })
    });
    let Window { offset, limit } = query.window;
    let rows = players.iter().skip(offset).take(limit).map(|it| Player::of(&matches, it));
    CacheControl::REFERENCE.answer(&headers, &query.page(players.len(), rows.collect()))
}

/// A player.
#[utoipa::path(
    get,
    path = "/api/v2/players/{id}/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The player")),
    responses(
        (status = 200, body = Player),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn detail(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), request::NONE)?;
    let matches = Matches::now(&api);
    let player = matches.entity(EntityKind::Player, key(&id)?)?;
    CacheControl::REFERENCE.answer(&headers, &Player::of(&matches, &player))
}

const STATS: Spec = request::spec(&[
    "date_from",
    "date_to",
    "league_id",
    "limit",
    "offset",
    "season_id",
    "team_id",
]);

/// What the player did, match by match, the latest first.
#[utoipa::path(
    get,
    path = "/api/v2/players/{id}/stats/",
    tag = "football v2",
    params(
        ("id" = u64, Path, description = "The player"),
        ("season_id" = Option<u64>, Query, description = "Filter by season"),
        ("team_id" = Option<u64>, Query, description = "Filter by team"),
        ("league_id" = Option<u64>, Query, description = "Filter by league"),
        ("date_from" = Option<String>, Query, description = "From this day or timestamp, UTC"),
        ("date_to" = Option<String>, Query, description = "Up to the end of this day, or this timestamp, UTC"),
        ("limit" = Option<usize>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<usize>, Query, description = "Number of rows to skip"),
    ),
    responses(
        (status = 200, body = Page<PlayerStats>),
        (status = 400, body = UnknownParametersBody, description = "`event_id` is not supported here; use `events/{id}/player-stats/`"),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn stats(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = ListQuery::read(&api, &uri, &headers, STATS)?;
    let params = &query.params;
    let league = params.id("league_id")?;
    let matches = Matches::now(&api);
    let player = matches.entity(EntityKind::Player, key(&id)?)?;
    let filter = AppearanceFilter {
        player: Some(player.id),
        team: params.id("team_id")?,
        season: params.id("season_id")?,
        from: params.from("date_from")?,
        before: params.before("date_to")?,
        ..AppearanceFilter::default()
    };
    let is_of_league =
        |it: &Appearance| league.is_none_or(|league| competition(&matches, it) == Some(league));
    let played = appearances(&api, filter).await?;
    let played = played.iter().filter(|it| is_of_league(it));
    CacheControl::LIST.answer(&headers, &query.page_of(played.map(PlayerStats::of).collect()))
}

/// The matches in which the player was on the pitch, the latest first.
async fn appearances(api: &Api, filter: AppearanceFilter) -> Result<Vec<Appearance>, ApiError> {
    let filter = AppearanceFilter { played_by: Some(now()), ..filter };
    Ok(api.archive.appearances(&filter, Window::ALL).await?.1)
}

/// The league of an appearance.
fn competition(matches: &Matches<'_>, it: &Appearance) -> Option<Key> {
    matches.api.archive.brief(it.match_id)?.competition
}

/// In the manner of the lists below a team.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = PlayerCareer)]
pub(super) struct Career {
    player_id: Key,
    count: usize,
    career: Vec<Stage>,
}

/// A season for a team.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Stage {
    season_id: Option<Key>,
    season_name: Option<String>,
    league_id: Option<Key>,
    league_name: Option<String>,
    team_id: Key,
    team_name: String,
    matches: u32,
    starts: u32,
    /// Where minutes are counted.
    minutes_played: Option<u32>,
    goals: u32,
    assists: u32,
    yellow_cards: u32,
    red_cards: u32,
}

/// The seasons that the player was seen in, the latest first.
#[utoipa::path(
    get,
    path = "/api/v2/players/{id}/career/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The player")),
    responses(
        (status = 200, body = Career),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn career(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), request::NONE)?;
    let matches = Matches::now(&api);
    let player = matches.entity(EntityKind::Player, key(&id)?)?;
    let filter = AppearanceFilter { player: Some(player.id), ..AppearanceFilter::default() };
    let mut stages: Vec<Stage> = Vec::new();
    for it in appearances(&api, filter).await? {
        let league = competition(&matches, &it);
        let key = (it.season, league, it.team);
        let own = stages.iter_mut().find(|own| (own.season_id, own.league_id, own.team_id) == key);
        match own {
            Some(own) => own.add(&it),
            None => {
                let mut stage = Stage::new(&matches, &it, league);
                stage.add(&it);
                stages.push(stage);
            }
        }
    }
    let body = Career { player_id: player.id, count: stages.len(), career: stages };
    CacheControl::REFERENCE.answer(&headers, &body)
}

impl Stage {
    fn new(matches: &Matches<'_>, it: &Appearance, league: Option<Key>) -> Self {
        Self {
            season_id: it.season,
            season_name: it.season.map(|season| matches.name(EntityKind::Season, season)),
            league_id: league,
            league_name: league.map(|league| matches.name(EntityKind::Competition, league)),
            team_id: it.team,
            team_name: matches.team_name(it.team),
            matches: 0,
            starts: 0,
            minutes_played: None,
            goals: 0,
            assists: 0,
            yellow_cards: 0,
            red_cards: 0,
        }
    }

    fn add(&mut self, it: &Appearance) {
        self.matches += 1;
        self.starts += u32::from(it.starter);
        if let Some(minutes) = it.stats.get("minutes_played") {
            *self.minutes_played.get_or_insert_default() += minutes;
        }
        self.goals += it.goals;
        self.assists += it.assists;
        self.yellow_cards += it.yellow;
        self.red_cards += it.red;
    }
}

/// No feed of ours tells which team is a nation's.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct NationalTeam {
    player_id: Key,
    national_team: Option<TeamOfPlayer>,
    caps: Option<u32>,
    goals: Option<u32>,
}

/// The player's national team.
#[utoipa::path(
    get,
    path = "/api/v2/players/{id}/national-team/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The player")),
    responses(
        (status = 200, body = NationalTeam),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn national_team(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), request::NONE)?;
    let player = Matches::now(&api).entity(EntityKind::Player, key(&id)?)?;
    let body = NationalTeam { player_id: player.id, national_team: None, caps: None, goals: None };
    CacheControl::REFERENCE.answer(&headers, &body)
}
