//! Lists of leagues, teams and people, shared by several sports.

use std::{cmp::Reverse, sync::Arc};

use facts::event::Sport;
use serde::Serialize;

use super::{
    request::{self, LeagueParams, SearchParams},
    shape::{LeagueRow, NamedRow, PersonRow, TeamRow, side_kind},
    sport_stats::SportStats,
};
use crate::{
    clock,
    rest::{ApiError, ApiRequest, ApiResult, CacheControl, Spec},
};
use history::query::{Entity, EntityKind};

params! {
    struct CountryParams { country: Country = "Country code (ISO 3166-1 alpha-2), or the country as the feed names it." }
    struct CurrentTeamParams { team: Ids = "One or more teams." }
    struct InactiveParams { include_inactive: Flag = "Include those without a match in the last year." }
}

/// The parameters of lists of named entities.
pub(super) const NAMED: Spec = request::spec(&[SearchParams::PARAMS, CountryParams::PARAMS])
    .hiding(&[LeagueParams::PARAMS, CurrentTeamParams::PARAMS])
    .paged();

/// The parameters of lists of people in teams.
pub(super) const PEOPLE: Spec =
    request::spec(&[SearchParams::PARAMS, CountryParams::PARAMS, CurrentTeamParams::PARAMS])
        .hiding(&[LeagueParams::PARAMS])
        .paged();

/// The parameters of lists of leagues and tournaments.
pub(super) const LEAGUES: Spec =
    request::spec(&[SearchParams::PARAMS, CountryParams::PARAMS, InactiveParams::PARAMS]).paged();

/// Leagues or tournaments: those with the most matches first, since no feed says which ones matter.
pub(super) async fn leagues(request: &ApiRequest, sport: Sport) -> ApiResult {
    let sport_stats = request.sport_stats(sport).await?;
    let all = InactiveParams::read(&request.params)?.include_inactive.unwrap_or(false);
    let now = clock::now();
    let edition = |league: &Entity| sport_stats.edition(league.id);
    let is_active = |league: &Entity| edition(league).is_none_or(|it| it.is_active(now));
    let mut leagues = filtered_entities(request, sport, EntityKind::Competition)?;
    leagues.retain(|league| all || is_active(league));
    leagues.sort_by_key(|it| Reverse(edition(it).map(|edition| edition.matches)));
    request.page_of(CacheControl::LIST, &leagues, |it| LeagueRow::new(it, is_active(it)))
}

/// One league or tournament.
pub(super) async fn league(request: &ApiRequest, sport: Sport) -> ApiResult {
    let sport_stats = request.sport_stats(sport).await?;
    let league = request.entity(EntityKind::Competition, sport)?;
    let active = sport_stats.edition(league.id).is_none_or(|it| it.is_active(clock::now()));
    request.answer(CacheControl::REFERENCE, &LeagueRow::new(&league, active))
}

/// Teams, the strongest first; those without a result last, by name.
pub(super) async fn teams(request: &ApiRequest, sport: Sport) -> ApiResult {
    let sport_stats = request.sport_stats(sport).await?;
    let mut teams = filtered_entities(request, sport, side_kind(sport))?;
    teams.sort_by_key(|team| sport_stats.position(team.id).unwrap_or(usize::MAX));
    request.page_of(CacheControl::LIST, &teams, |team| TeamRow::new(team, &sport_stats))
}

/// The teams or players of a sport, by name, in the sport's own shape.
pub(super) async fn sides<T: Serialize>(
    request: &ApiRequest,
    sport: Sport,
    row: impl Fn(&Entity, &SportStats) -> T,
) -> ApiResult {
    let sport_stats = request.sport_stats(sport).await?;
    let sides = filtered_entities(request, sport, side_kind(sport))?;
    request.page_of(CacheControl::REFERENCE, &sides, |side| row(side, &sport_stats))
}

/// One team or player.
pub(super) async fn side<T: Serialize>(
    request: &ApiRequest,
    sport: Sport,
    row: impl Fn(&Entity, &SportStats) -> T,
) -> ApiResult {
    let side = request.entity(side_kind(sport), sport)?;
    let sport_stats = request.sport_stats(sport).await?;
    request.answer(CacheControl::REFERENCE, &row(&side, &sport_stats))
}

/// People who are not a side of a match: players of teams, managers.
pub(super) fn people(request: &ApiRequest, sport: Sport, kind: EntityKind) -> ApiResult {
    let CurrentTeamParams { team } = CurrentTeamParams::read(&request.params)?;
    let mut people = filtered_entities(request, sport, kind)?;
    people.retain(|person| team.passes(person.parent));
    request.page_of(CacheControl::REFERENCE, &people, |it| PersonRow::new(&request.api, it))
}

/// One person.
pub(super) fn person(request: &ApiRequest, sport: Sport, kind: EntityKind) -> ApiResult {
    let person = request.entity(kind, sport)?;
    request.answer(CacheControl::REFERENCE, &PersonRow::new(&request.api, &person))
}

/// Entities that have only a name.
pub(super) fn named_entities(request: &ApiRequest, sport: Sport, kind: EntityKind) -> ApiResult {
    request.page_of(CacheControl::REFERENCE, &filtered_entities(request, sport, kind)?, |entity| {
        NamedRow::from_entity(entity)
    })
}

/// One of them.
pub(super) fn named_entity(request: &ApiRequest, sport: Sport, kind: EntityKind) -> ApiResult {
    let named = request.entity(kind, sport)?;
    request.answer(CacheControl::REFERENCE, &NamedRow::from_entity(&named))
}

/// All entities of a kind that pass the request's filters, by name.
fn filtered_entities(
    request: &ApiRequest,
    sport: Sport,
    kind: EntityKind,
) -> Result<Vec<Arc<Entity>>, ApiError> {
    let SearchParams { search } = SearchParams::read(&request.params)?;
    let CountryParams { country } = CountryParams::read(&request.params)?;
    Ok(request.api.history.entities(kind, |entity| {
        entity.sport == sport
            && search.is_in(&entity.name)
            && country.passes(entity.country.as_deref())
    }))
}
