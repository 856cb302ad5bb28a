//! `/api/v2/leagues/` and the endpoints below one league, except its table and its leaders.

use std::collections::BTreeSet;

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    country,
    request::{self, NAME, NONE, PAGE},
    seasons::{LeagueSeason, Season, calendar},
    snapshot::Matches,
    venues::Venue,
};
use crate::rest::{ApiError, ApiRequest, ApiResult, CacheControl, Page, Spec};
use history::query::{Calendar, Entity, EntityKind, MatchQuery};
use record::Key;

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
    fn new(matches: &Matches<'_>, calendar: &Calendar, league: &Entity) -> Self {
        let seasons = Season::all(matches, calendar, league.id);
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
pub(in crate::rest) fn is_women(league: &Entity) -> bool {
    const WORDS: [&str; 6] = ["women", "womens", "women's", "frauen", "femenina", "féminine"];
    let name = league.name.to_lowercase();
    name.split_whitespace().any(|word| WORDS.contains(&word.trim_matches(['(', ')'])))
}

params! {
    struct ListParams {
        name: Name = NAME,
        country: CountryName = "Filter by country name",
        country_code: CountryCode = "Filter by country code (ISO 3166-1 alpha-2)",
        is_women: Flag = "Women's leagues, judged by their name",
        is_active: Flag = "Whether the league has a match within a year (default: true)",
        include_inactive: Flag = "Include leagues without a match in the last year",
    }
}

const LIST: Spec = request::spec(&[ListParams::PARAMS]).paged();

endpoints! {
    /// Leagues that are active, by name.
    "/api/v2/leagues/", params(LIST), answers(Page<League>), |request| list(&request);

    /// A league.
    "/api/v2/leagues/{id}/", params(NONE), answers(League), |request| detail(&request);

    /// Its current season.
    "/api/v2/leagues/{id}/season/", params(NONE), answers(LeagueSeason),
        or(status = 404, description = "No such league, or it has no known season"),
        |request| season(&request);

    /// Its seasons, the latest first.
    "/api/v2/leagues/{id}/seasons/", params(NONE), answers(Seasons), |request| seasons(&request);

    /// Where its matches are played.
    "/api/v2/leagues/{id}/venues/", params(PAGE), answers(Page<Venue>), |request| venues(&request);

    /// Where the matches of one of its seasons are played.
    "/api/v2/leagues/{id}/seasons/{season_id}/venues/", params(PAGE), answers(Page<Venue>),
        |request| season_venues(&request);
}

fn list(request: &ApiRequest) -> ApiResult {
    let filters = ListParams::read(&request.params)?;
    let active = match (filters.is_active, filters.include_inactive) {
        (None, Some(true)) => None,
        (active, _) => active.or(Some(true)),
    };
    let matches = Matches::now(&request.api);
    let calendar = calendar(&matches, None);
    let leagues = matches.entities(EntityKind::Competition, |league| {
        filters.name.is_in(&league.name)
            && filters.is_women.is_none_or(|women| women == is_women(league))
            && active.is_none_or(|active| active == calendar.is_active(league.id))
            && filters.country.passes(league.country.as_deref())
            && filters.country_code.passes(league.country.as_deref())
    });
    request.page_of(CacheControl::LIST, &leagues, |league| League::new(&matches, &calendar, league))
}

fn detail(request: &ApiRequest) -> ApiResult {
    let (matches, league) = Matches::for_entity(request, EntityKind::Competition)?;
    let calendar = calendar(&matches, Some(league.id));
    request.answer(CacheControl::LIST, &League::new(&matches, &calendar, &league))
}

fn season(request: &ApiRequest) -> ApiResult {
    let (matches, league) = Matches::for_entity(request, EntityKind::Competition)?;
    let calendar = calendar(&matches, Some(league.id));
    let mut seasons = Season::all(&matches, &calendar, league.id).into_iter();
    let season = seasons.find(|season| season.is_current).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::LIST, &LeagueSeason::new(league.id, season))
}

/// SERVICE section 1.2: no envelope of pages.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Seasons {
    league_id: Key,
    count: usize,
    seasons: Vec<Season>,
}

fn seasons(request: &ApiRequest) -> ApiResult {
    let (matches, league) = Matches::for_entity(request, EntityKind::Competition)?;
    let calendar = calendar(&matches, Some(league.id));
    let seasons = Season::all(&matches, &calendar, league.id);
    let body = Seasons { league_id: league.id, count: seasons.len(), seasons };
    request.answer(CacheControl::LIST, &body)
}

fn venues(request: &ApiRequest) -> ApiResult {
    let (matches, league) = Matches::for_entity(request, EntityKind::Competition)?;
    let filter = MatchQuery { competition: Some(league.id), ..request::football() };
    request.page_of(CacheControl::REFERENCE, venues_of(&matches, &filter), |row| row)
}

fn season_venues(request: &ApiRequest) -> ApiResult {
    let (matches, league) = Matches::for_entity(request, EntityKind::Competition)?;
    let season = matches.entity(EntityKind::Season, request.key("season_id")?)?;
    if season.parent != Some(league.id) {
        return Err(ApiError::NotFound);
    }
    let filter = MatchQuery { season: Some(season.id), ..request::football() };
    request.page_of(CacheControl::REFERENCE, venues_of(&matches, &filter), |row| row)
}

fn venues_of(matches: &Matches<'_>, filter: &MatchQuery) -> Vec<Venue> {
    let summaries = matches.all(filter);
    let ids: BTreeSet<Key> = summaries.iter().filter_map(|summary| summary.venue).collect();
    Venue::all(matches, |venue| ids.contains(&venue.id))
}
