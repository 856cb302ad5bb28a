//! `/api/v2/players/` and the endpoints below one player.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    country, line_ups,
    player_stats::PlayerStats,
    request::{self, COUNTRY_CODE, DATE_FROM, DATE_TO, NAME, NONE},
    snapshot::Matches,
    teams,
};
use crate::{
    clock::now,
    rest::{
        Api, ApiError, ApiRequest, ApiResult, CacheControl, Page, Spec, match_filter::MatchParams,
    },
};
use history::query::{Appearance, AppearanceFilter, Entity, EntityKind, Window};
use record::Key;

/// SERVICE section 1.9. What no feed provides is `null`, or an empty text where that page has
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

/// Never present, since no feed rates players.
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
    pub(super) fn new(player: &Entity) -> Self {
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
    fn new(matches: &Matches<'_>, player: &Entity) -> Self {
        let team = player.parent.and_then(|team| matches.entity(EntityKind::Team, team).ok());
        let SquadPlayer {
            id,
            name,
            short_name,
            position,
            jersey_number,
            nationality,
            date_of_birth,
        } = SquadPlayer::new(player);
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

params! {
    struct ListParams {
        name: Name = NAME,
        team_id: Ids = "One or more current teams, by the player's last match",
        national_team_id: Ids = "Not provided by any feed: always empty",
        nationality_code: CountryCode = COUNTRY_CODE,
        position: Word = "G, D, M or F",
    }
    struct StatsParams for MatchParams {
        season_id: Ids = "One or more seasons",
        team_id: Ids = "One or more teams",
        league_id: Ids = "One or more leagues",
    }
    /// When the matches of a player were.
    pub(super) struct DateParams { date_from: Begin = DATE_FROM, date_to: End = DATE_TO }
}

const LIST: Spec = request::spec(&[ListParams::PARAMS]).paged();

endpoints! {
    /// Players, by name.
    "/api/v2/players/", params(LIST), answers(Page<Player>), |request| list(&request);

    /// A player.
    "/api/v2/players/{id}/", params(NONE), answers(Player), |request| detail(&request);

    /// What the player did, match by match, the latest first.
    "/api/v2/players/{id}/stats/", params(request::spec(&[StatsParams::PARAMS, DateParams::PARAMS]).paged()), answers(Page<PlayerStats>),
        or(status = 400, description = "`event_id` is not supported here; use `events/{id}/player-stats/`"),
        |request| stats(&request).await;

    /// The seasons that the player was seen in, the latest first.
    "/api/v2/players/{id}/career/", params(NONE), answers(Career), |request| career(&request).await;

    /// The player's national team.
    "/api/v2/players/{id}/national-team/", params(NONE), answers(NationalTeam),
        |request| national_team(&request);
}

fn list(request: &ApiRequest) -> ApiResult {
    let filters = ListParams::read(&request.params)?;
    let matches = Matches::now(&request.api);
    let players = matches.entities(EntityKind::Player, |player| {
        filters.national_team_id.passes(None)
            && filters.name.is_in(&player.name)
            && filters.team_id.passes(player.parent)
            && filters.nationality_code.passes(player.country.as_deref())
            && filters.position.passes(text(player, "position").as_deref())
    });
    request.page_of(CacheControl::REFERENCE, &players, |it| Player::new(&matches, it))
}

fn detail(request: &ApiRequest) -> ApiResult {
    let (matches, player) = Matches::for_entity(request, EntityKind::Player)?;
    request.answer(CacheControl::REFERENCE, &Player::new(&matches, &player))
}

async fn stats(request: &ApiRequest) -> ApiResult {
    let filters = StatsParams::read(&request.params)?;
    request.page_of(CacheControl::LIST, &chosen(request, &filters).await?.1, PlayerStats::new)
}

/// A player, and the rows of it that the request chooses, the latest first.
pub(super) async fn chosen(
    request: &ApiRequest,
    filters: &MatchParams,
) -> Result<(Arc<Entity>, Vec<Appearance>), ApiError> {
    let MatchParams { league_id, team_id, season_id, .. } = filters;
    let (matches, player) = Matches::for_entity(request, EntityKind::Player)?;
    let DateParams { date_from: from, date_to: before } = DateParams::read(&request.params)?;
    let players = Some(vec![player.id]);
    let filter = AppearanceFilter { players, from, before, ..AppearanceFilter::default() };
    let mut played = appearances(&request.api, filter).await?;
    played.retain(|row| {
        team_id.passes(Some(row.team))
            && season_id.passes(row.season)
            && (!league_id.is_set() || league_id.passes(competition(&matches, row)))
    });
    Ok((player, played))
}

/// The matches with a row of the player, the latest first.
async fn appearances(api: &Api, filter: AppearanceFilter) -> Result<Vec<Appearance>, ApiError> {
    let filter = AppearanceFilter { played_by: Some(now()), ..filter };
    Ok(api.history.appearances(&filter, Window::ALL).await?.1)
}

/// The league of an appearance.
fn competition(matches: &Matches<'_>, it: &Appearance) -> Option<Key> {
    matches.api.history.summary(it.match_id)?.competition
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

async fn career(request: &ApiRequest) -> ApiResult {
    let (matches, player) = Matches::for_entity(request, EntityKind::Player)?;
    let filter = AppearanceFilter { players: Some(vec![player.id]), ..AppearanceFilter::default() };
    let mut stages: Vec<Stage> = Vec::new();
    for appearance in appearances(&request.api, filter).await? {
        let league = competition(&matches, &appearance);
        let key = (appearance.season, league, appearance.team);
        let stage = stages.iter_mut().find(|it| (it.season_id, it.league_id, it.team_id) == key);
        match stage {
            Some(stage) => stage.add(&appearance),
            None => {
                let mut stage = Stage::new(&matches, &appearance, league);
                stage.add(&appearance);
                stages.push(stage);
            }
        }
    }
    let body = Career { player_id: player.id, count: stages.len(), career: stages };
    request.answer(CacheControl::REFERENCE, &body)
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
        self.matches += u32::from(it.played);
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

/// No feed reports which team is a nation's.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct NationalTeam {
    player_id: Key,
    national_team: Option<TeamOfPlayer>,
    caps: Option<u32>,
    goals: Option<u32>,
}

fn national_team(request: &ApiRequest) -> ApiResult {
    let (_, player) = Matches::for_entity(request, EntityKind::Player)?;
    let body = NationalTeam { player_id: player.id, national_team: None, caps: None, goals: None };
    request.answer(CacheControl::REFERENCE, &body)
}
