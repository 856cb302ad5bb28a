//! `/api/v2/teams/` and the endpoints below one team.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use fanout::Micros;
use hyper::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    country,
    event::Event,
    leagues::is_women,
    matches::Matches,
    players::SquadPlayer,
    request::{self, ListQuery, football, key, most_frequent},
    seasons::Calendar,
};
use crate::{
    api::{Api, ApiError, CacheControl, ErrorBody, Page, Params, Spec, UnknownParametersBody},
    archive::{Entity, EntityKind, Filter, Window},
    record::{Key, MatchSummary},
};

const HOUR_US: Micros = 60 * 60 * 1_000_000;

/// The default range of fixtures, before and after now: SERVICE section 1.8.
const FIXTURES_BACK_US: Micros = 3 * HOUR_US;
const FIXTURES_AHEAD_US: Micros = 7 * 24 * HOUR_US;

/// SERVICE section 1.9.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Team {
    id: Key,
    name: String,
    short_name: String,
    country: String,
    /// Where it is most often at home.
    venue_id: Option<Key>,
}

impl Team {
    fn of(team: &Entity, home_matches: &[Arc<MatchSummary>]) -> Self {
        let own = home_matches.iter().filter(|brief| brief.neutral != Some(true));
        Self {
            id: team.id,
            name: team.name.to_string(),
            short_name: short_name(team),
            country: country::name_or_empty(team.country.as_deref()),
            venue_id: most_frequent(own.filter_map(|brief| brief.venue)),
        }
    }
}

/// Most feeds give a single name, which is the short one as well.
pub(super) fn short_name(team: &Entity) -> String {
    let abbreviation = team.about.get("short_name").and_then(|name| name.as_str());
    abbreviation.unwrap_or(&team.name).to_owned()
}

const LIST: Spec = request::spec(&[
    "country_code",
    "in_competition",
    "is_women",
    "league_id",
    "limit",
    "name",
    "offset",
    "season_id",
]);

/// Teams, by name.
#[utoipa::path(
    get,
    path = "/api/v2/teams/",
    tag = "football v2",
    params(
        ("name" = Option<String>, Query, description = "Part of the name"),
        ("country_code" = Option<String>, Query, description = "Country code (ISO 3166-1 alpha-2); an unknown code matches no team"),
        ("league_id" = Option<u64>, Query, description = "Has a match in this league"),
        ("season_id" = Option<u64>, Query, description = "Has a match in this season"),
        ("in_competition" = Option<bool>, Query, description = "Whether the team has a match in the current season of `league_id`"),
        ("is_women" = Option<bool>, Query, description = "Requires `league_id` or `season_id`"),
        ("limit" = Option<usize>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<usize>, Query, description = "Number of rows to skip"),
    ),
    responses(
        (status = 200, body = Page<Team>),
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
    let code = query.params.text("country_code");
    let matches = Matches::now(&api);
    let members = members(&query, &matches)?;
    let teams = matches.entities(EntityKind::Team, |team| {
        query.has_part("name", &team.name)
            && code.is_none_or(|code| country::has_code(team.country.as_deref(), code))
            && members.as_ref().is_none_or(|members| members.contains(&team.id))
    });
    let Window { offset, limit } = query.window;
    let page: Vec<_> = teams.iter().skip(offset).take(limit).collect();
    let home = home_matches(&matches, page.iter().map(|team| team.id).collect());
    let row = |team: &Arc<Entity>| {
        Team::of(team, home.get(&team.id).map(Vec::as_slice).unwrap_or_default())
    };
    let rows = page.into_iter().map(row).collect();
    CacheControl::LIST.answer(&headers, &query.page(teams.len(), rows))
}

/// For at least these teams.
fn home_matches(matches: &Matches<'_>, teams: Vec<Key>) -> HashMap<Key, Vec<Arc<MatchSummary>>> {
    let mut home: HashMap<Key, Vec<_>> = HashMap::new();
    for brief in matches.all(&Filter { teams: Some(teams), ..football() }) {
        if let (Some([team, _]), Some(_)) = (brief.sides, brief.venue) {
            home.entry(team).or_default().push(brief);
        }
    }
    home
}

/// The teams of a league or a season; `None` if the request names neither.
fn members(
    query: &ListQuery<'_>,
    matches: &Matches<'_>,
) -> Result<Option<BTreeSet<Key>>, ApiError> {
    let params = &query.params;
    let (league, season) = (params.id("league_id")?, params.id("season_id")?);
    let (inside, women) = (params.flag("in_competition")?, params.flag("is_women")?);
    if inside.is_some() && league.is_none() {
        let detail = "in_competition needs league_id.".to_owned();
        return Err(ApiError::BadParameter(detail));
    }
    if league.is_none() && season.is_none() {
        return match women {
            Some(_) => {
                let detail = "is_women needs league_id or season_id.".to_owned();
                Err(ApiError::BadParameter(detail))
            }
            None => Ok(None),
        };
    }
    let of = |filter: &Filter| -> BTreeSet<Key> {
        matches.all(filter).iter().filter_map(|brief| brief.sides).flatten().collect()
    };
    let mut members = of(&Filter { competition: league, season, ..football() });
    if let (Some(inside), Some(league)) = (inside, league) {
        let current = Calendar::of(matches, Some(league)).current(league);
        let playing = current.map(|season| of(&Filter { season: Some(season), ..football() }));
        let playing = playing.unwrap_or_default();
        members.retain(|team| playing.contains(team) == inside);
    }
    if let Some(women) = women {
        let parent = |season| matches.entity(EntityKind::Season, season).ok()?.parent;
        let league = league.or_else(|| season.and_then(parent));
        let league = league.and_then(|it| matches.entity(EntityKind::Competition, it).ok());
        if league.is_some_and(|league| is_women(&league) != women) {
            members.clear();
        }
    }
    Ok(Some(members))
}

/// A team.
#[utoipa::path(
    get,
    path = "/api/v2/teams/{id}/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The team")),
    responses(
        (status = 200, body = Team),
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
    let team = matches.entity(EntityKind::Team, key(&id)?)?;
    let mut home = matches.all(&Filter { team: Some(team.id), ..football() });
    home.retain(|brief| brief.sides.is_some_and(|sides| sides[0] == team.id));
    CacheControl::REFERENCE.answer(&headers, &Team::of(&team, &home))
}

const FIXTURES: Spec =
    request::spec(&["date_from", "date_to", "league_id", "limit", "offset", "status"]);

/// Its matches, from three hours ago to seven days ahead unless other days are asked for.
#[utoipa::path(
    get,
    path = "/api/v2/teams/{id}/fixtures/",
    tag = "football v2",
    params(
        ("id" = u64, Path, description = "The team"),
        ("date_from" = Option<String>, Query, description = "From this day or timestamp, UTC"),
        ("date_to" = Option<String>, Query, description = "Up to the end of this day, or this timestamp, UTC"),
        ("league_id" = Option<u64>, Query, description = "Filter by league"),
        ("status" = Option<String>, Query, description = "As for matches"),
        ("limit" = Option<usize>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<usize>, Query, description = "Number of rows to skip"),
    ),
    responses(
        (status = 200, body = Page<Event>),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn fixtures(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = ListQuery::read(&api, &uri, &headers, FIXTURES)?;
    let matches = Matches::now(&api);
    let team = matches.entity(EntityKind::Team, key(&id)?)?;
    let wanted = query.status();
    let mut filter = Filter {
        team: Some(team.id),
        competition: query.params.id("league_id")?,
        statuses: wanted.as_ref().map(|wanted| wanted.statuses.clone()),
        ..football()
    };
    query.days(&mut filter)?;
    // A single bound leaves the other side open.
    if filter.from.is_none() && filter.before.is_none() {
        filter.from = Some(matches.now - FIXTURES_BACK_US);
        filter.before = Some(matches.now + FIXTURES_AHEAD_US);
    }
    let also =
        |brief: &MatchSummary| wanted.as_ref().is_none_or(|wanted| wanted.lets_through(brief));
    let found = matches.find_with(&filter, query.window, Some(&also));
    CacheControl::LIST.answer(&headers, &query.page(found.count, matches.rows(&found.briefs)))
}

/// SERVICE section 1.2: no envelope of pages.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Squad {
    team_id: Key,
    count: usize,
    players: Vec<SquadPlayer>,
}

/// The players whose last match was for it.
#[utoipa::path(
    get,
    path = "/api/v2/teams/{id}/squad/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The team")),
    responses(
        (status = 200, body = Squad),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn squad(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), request::NONE)?;
    let matches = Matches::now(&api);
    let team = matches.entity(EntityKind::Team, key(&id)?)?;
    let players = matches.entities(EntityKind::Player, |player| player.parent == Some(team.id));
    let players: Vec<_> = players.iter().map(|player| SquadPlayer::of(player)).collect();
    CacheControl::REFERENCE
        .answer(&headers, &Squad { team_id: team.id, count: players.len(), players })
}
