//! `/api/v2/leagues/` and the endpoints below one league, except its table and its leaders.

use std::collections::BTreeSet;

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    country,
    matches::Matches,
    request::{self, ListQuery, key},
    seasons::{Calendar, LeagueSeason, Season},
    venues::Venue,
};
use crate::{
    api::{Api, ApiError, CacheControl, ErrorBody, Page, Params, Spec, UnknownParametersBody},
    archive::{Entity, EntityKind, Filter},
    record::Key,
};

/// SERVICE section 1.9.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct League {
    id: Key,
    name: String,
    country: String,
    /// It has a match within a year, back or ahead.
    is_active: bool,
    is_women: bool,
    current_season: Option<Season>,
}

impl League {
    fn of(matches: &Matches<'_>, calendar: &Calendar, league: &Entity) -> Self {
        let seasons = calendar.seasons(matches, league.id);
        let current = seasons.into_iter().find(|season| season.is_current);
        Self {
            id: league.id,
            name: league.name.to_string(),
            country: country::name_or_empty(league.country.as_deref()),
            is_active: calendar.is_active(league.id),
            is_women: is_women(league),
            current_season: current,
        }
    }
}

/// No feed provides it, but many names contain it.
pub(super) fn is_women(league: &Entity) -> bool {
    const WORDS: [&str; 6] = ["women", "womens", "women's", "frauen", "femenina", "féminine"];
    let name = league.name.to_lowercase();
    name.split_whitespace().any(|word| WORDS.contains(&word.trim_matches(['(', ')'])))
}

const LIST: Spec = request::spec(&[
    "country",
    "country_code",
    "include_inactive",
    "is_women",
    "limit",
    "name",
    "offset",
]);

/// Leagues that are active, by name.
#[utoipa::path(
    get,
    path = "/api/v2/leagues/",
    tag = "football v2",
    params(
        ("name" = Option<String>, Query, description = "Part of the name"),
        ("country" = Option<String>, Query, description = "Filter by country name"),
        ("country_code" = Option<String>, Query, description = "Filter by country code (ISO 3166-1 alpha-2)"),
        ("is_women" = Option<bool>, Query, description = "Women's leagues, judged by their name"),
        ("include_inactive" = Option<bool>, Query, description = "Include leagues without a match in the last year"),
        ("limit" = Option<usize>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<usize>, Query, description = "Number of rows to skip"),
    ),
    responses(
        (status = 200, body = Page<League>),
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
    let (women, inactive) = (params.flag("is_women")?, params.flag("include_inactive")?);
    let (of_country, code) = (params.text("country"), params.text("country_code"));
    let matches = Matches::now(&api);
    let calendar = Calendar::of(&matches, None);
    let leagues = matches.entities(EntityKind::Competition, |league| {
        query.has_part("name", &league.name)
            && women.is_none_or(|women| women == is_women(league))
            && (inactive == Some(true) || calendar.is_active(league.id))
            && of_country.is_none_or(|name| country::is_named(league.country.as_deref(), name))
            && code.is_none_or(|code| country::has_code(league.country.as_deref(), code))
    });
    let rows = leagues.iter().map(|league| League::of(&matches, &calendar, league)).collect();
    CacheControl::LIST.answer(&headers, &query.page_of::<League>(rows))
}

/// A league.
#[utoipa::path(
    get,
    path = "/api/v2/leagues/{id}/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The league")),
    responses(
        (status = 200, body = League),
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
    let league = matches.entity(EntityKind::Competition, key(&id)?)?;
    let calendar = Calendar::of(&matches, Some(league.id));
    CacheControl::LIST.answer(&headers, &League::of(&matches, &calendar, &league))
}

/// Its current season.
#[utoipa::path(
    get,
    path = "/api/v2/leagues/{id}/season/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The league")),
    responses(
        (status = 200, body = LeagueSeason),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody, description = "No such league, or it has no known season"),
    ),
)]
pub(super) async fn season(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), request::NONE)?;
    let matches = Matches::now(&api);
    let league = matches.entity(EntityKind::Competition, key(&id)?)?;
    let calendar = Calendar::of(&matches, Some(league.id));
    let season = calendar.season(&matches, league.id, None)?.ok_or(ApiError::NotFound)?;
    CacheControl::LIST.answer(&headers, &LeagueSeason::of(league.id, season))
}

/// SERVICE section 1.2: no envelope of pages.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Seasons {
    league_id: Key,
    count: usize,
    seasons: Vec<Season>,
}

/// Its seasons, the latest first.
#[utoipa::path(
    get,
    path = "/api/v2/leagues/{id}/seasons/",
    tag = "football v2",
    params(("id" = u64, Path, description = "The league")),
    responses(
        (status = 200, body = Seasons),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn seasons(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), request::NONE)?;
    let matches = Matches::now(&api);
    let league = matches.entity(EntityKind::Competition, key(&id)?)?;
    let seasons = Calendar::of(&matches, Some(league.id)).seasons(&matches, league.id);
    let body = Seasons { league_id: league.id, count: seasons.len(), seasons };
    CacheControl::LIST.answer(&headers, &body)
}

const VENUES: Spec = request::spec(&["limit", "offset"]);

/// Where its matches are played.
#[utoipa::path(
    get,
    path = "/api/v2/leagues/{id}/venues/",
    tag = "football v2",
    params(
        ("id" = u64, Path, description = "The league"),
        ("limit" = Option<usize>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<usize>, Query, description = "Number of rows to skip"),
    ),
    responses(
        (status = 200, body = Page<Venue>),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn venues(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = ListQuery::read(&api, &uri, &headers, VENUES)?;
    let matches = Matches::now(&api);
    let league = matches.entity(EntityKind::Competition, key(&id)?)?;
    let filter = Filter { competition: Some(league.id), ..request::football() };
    CacheControl::REFERENCE.answer(&headers, &query.page_of(venues_of(&matches, &filter)))
}

/// Where the matches of one of its seasons are played.
#[utoipa::path(
    get,
    path = "/api/v2/leagues/{id}/seasons/{season_id}/venues/",
    tag = "football v2",
    params(
        ("id" = u64, Path, description = "The league"),
        ("season_id" = u64, Path, description = "The season"),
        ("limit" = Option<usize>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<usize>, Query, description = "Number of rows to skip"),
    ),
    responses(
        (status = 200, body = Page<Venue>),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn season_venues(
    State(api): State<Api>,
    Path((id, season)): Path<(String, String)>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = ListQuery::read(&api, &uri, &headers, VENUES)?;
    let matches = Matches::now(&api);
    let league = matches.entity(EntityKind::Competition, key(&id)?)?;
    let season = matches.entity(EntityKind::Season, key(&season)?)?;
    if season.parent != Some(league.id) {
        return Err(ApiError::NotFound);
    }
    let filter = Filter { season: Some(season.id), ..request::football() };
    CacheControl::REFERENCE.answer(&headers, &query.page_of(venues_of(&matches, &filter)))
}

fn venues_of(matches: &Matches<'_>, filter: &Filter) -> Vec<Venue> {
    let briefs = matches.all(filter);
    let ids: BTreeSet<Key> = briefs.iter().filter_map(|brief| brief.venue).collect();
    Venue::all(matches, |venue| ids.contains(&venue.id))
}
