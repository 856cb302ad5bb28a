//! Lists of leagues, teams and people, shared by several sports.

use std::{cmp::Reverse, sync::Arc};

use ingest::event::Sport;
use serde::Serialize;
use utoipa::IntoParams;

use super::{
    request::{self, ApiResult, SportsQuery, SportsRequest},
    shape::{self, LeagueRow, NamedRow, PersonRow, TeamRow, side_kind},
    sport_stats::SportStats,
};
use crate::{
    api::{CacheControl, Spec},
    archive::{Entity, EntityKind},
};

/// The parameters of lists of named entities.
pub(super) const NAMED: Spec =
    request::spec(&["country", "league", "limit", "offset", "search", "team"]);

/// The parameters of lists of leagues and tournaments.
pub(super) const LEAGUES: Spec =
    request::spec(&["country", "include_inactive", "limit", "offset", "search"]);

/// Of what has a name.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the OpenAPI document names it")]
pub(super) struct Named {
    /// Part of the name, case-insensitive.
    search: Option<String>,
    /// Country code (ISO 3166-1 alpha-2), or the country as the feed names it.
    country: Option<String>,
}

/// Whether those that are over are wanted too.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the OpenAPI document names it")]
pub(super) struct Inactive {
    /// Include those without a match in the last year.
    include_inactive: Option<bool>,
}

/// Whether an entity passes the request's filters.
fn passes_filter(query: &SportsQuery<'_>) -> impl Fn(&Entity) -> bool {
    let is_like = request::search(query.params.text("search").unwrap_or_default());
    let country = query.params.text("country").map(str::to_owned);
    move |entity| {
        let own = entity.country.as_deref();
        let is_from = |country: &String| shape::is_country(own, country);
        is_like(&entity.name) && country.as_ref().is_none_or(is_from)
    }
}

/// Leagues or tournaments: those with the most matches first, since no feed says which ones matter.
pub(super) async fn leagues(request: &SportsRequest, sport: Sport) -> ApiResult {
    let query = request.read(LEAGUES)?;
    let sport_stats = request.sport_stats(sport).await?;
    let all = query.params.flag("include_inactive")?.unwrap_or(false);
    let edition = |league: &Entity| sport_stats.edition(league.id);
    let is_active = |league: &Entity| edition(league).is_none_or(|it| it.is_active(query.now));
    let mut leagues = of_kind(&query, sport, EntityKind::Competition);
    leagues.retain(|league| all || is_active(league));
    leagues.sort_by_key(|it| Reverse(edition(it).map(|edition| edition.matches)));
    query.page(CacheControl::LIST, &leagues, |it| LeagueRow::of(it, is_active(it)))
}

/// One league or tournament.
pub(super) async fn league(request: &SportsRequest, sport: Sport, id: &str) -> ApiResult {
    let query = request.read(request::NONE)?;
    let sport_stats = request.sport_stats(sport).await?;
    let league = request::entity(query.api, EntityKind::Competition, sport, id)?;
    let active = sport_stats.edition(league.id).is_none_or(|it| it.is_active(query.now));
    request.answer(CacheControl::REFERENCE, &LeagueRow::of(&league, active))
}

/// Teams, the strongest first; those without a result last, by name.
pub(super) async fn teams(request: &SportsRequest, sport: Sport) -> ApiResult {
    let query = request.read(NAMED)?;
    let sport_stats = request.sport_stats(sport).await?;
    let mut teams = of_kind(&query, sport, side_kind(sport));
    teams.sort_by_key(|team| sport_stats.position(team.id).unwrap_or(usize::MAX));
    query.page(CacheControl::LIST, &teams, |team| TeamRow::of(team, &sport_stats))
}

/// The teams or players of a sport, by name, in the sport's own shape.
pub(super) async fn sides<T: Serialize>(
    request: &SportsRequest,
    sport: Sport,
    row: impl Fn(&Entity, &SportStats) -> T,
) -> ApiResult {
    let query = request.read(NAMED)?;
    let sport_stats = request.sport_stats(sport).await?;
    let sides = of_kind(&query, sport, side_kind(sport));
    query.page(CacheControl::REFERENCE, &sides, |side| row(side, &sport_stats))
}

/// One team or player.
pub(super) async fn side<T: Serialize>(
    request: &SportsRequest,
    sport: Sport,
    id: &str,
    row: impl Fn(&Entity, &SportStats) -> T,
) -> ApiResult {
    request.read(request::NONE)?;
    let side = request::entity(&request.api, side_kind(sport), sport, id)?;
    let sport_stats = request.sport_stats(sport).await?;
    request.answer(CacheControl::REFERENCE, &row(&side, &sport_stats))
}

/// People who are not a side of a match: players of teams, managers.
pub(super) fn people(request: &SportsRequest, sport: Sport, kind: EntityKind) -> ApiResult {
    let query = request.read(NAMED)?;
    let team = query.params.id("team")?;
    let mut people = of_kind(&query, sport, kind);
    people.retain(|it| team.is_none() || it.parent == team);
    query.page(CacheControl::REFERENCE, &people, |it| PersonRow::of(query.api, it))
}

/// One person.
pub(super) fn person(
    request: &SportsRequest,
    sport: Sport,
    kind: EntityKind,
    id: &str,
) -> ApiResult {
    request.read(request::NONE)?;
    let person = request::entity(&request.api, kind, sport, id)?;
    request.answer(CacheControl::REFERENCE, &PersonRow::of(&request.api, &person))
}

/// Entities that have only a name.
pub(super) fn named(request: &SportsRequest, sport: Sport, kind: EntityKind) -> ApiResult {
    let query = request.read(NAMED)?;
    query.page(CacheControl::REFERENCE, &of_kind(&query, sport, kind), |it| NamedRow::of_entity(it))
}

/// One of them.
pub(super) fn name(request: &SportsRequest, sport: Sport, kind: EntityKind, id: &str) -> ApiResult {
    request.read(request::NONE)?;
    let named = request::entity(&request.api, kind, sport, id)?;
    request.answer(CacheControl::REFERENCE, &NamedRow::of_entity(&named))
}

/// All entities of a kind that pass the request's filters, by name.
fn of_kind(query: &SportsQuery<'_>, sport: Sport, kind: EntityKind) -> Vec<Arc<Entity>> {
    let passes_filter = passes_filter(query);
    query.api.archive.entities(kind, |it| it.sport == sport && passes_filter(it))
}
