//! Leagues and their seasons.

use std::sync::Arc;

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::request::{self, NAME, NONE, V1Query};
use crate::{
    clock::now,
    rest::{
        Api, ApiError, ApiRequest, ApiResult, CacheControl, Page, Spec,
        football::{country, event::day, leagues::is_women},
    },
};
use history::query::{Calendar, CurrentSeason, Entity, EntityKind, View, season_name, season_year};
use record::Key;

#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[schema(as = V1LeagueRow)]
pub(super) struct LeagueRow {
    id: u64,
    /// An id of the feed, which is not public.
    api_id: Option<u64>,
    name: String,
    /// Its name; empty if no feed reports it.
    pub(super) country: String,
    pub(super) season_id: Option<u64>,
    /// As its name says.
    is_women: bool,
    current_season: Option<SeasonRow>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct SeasonRow {
    id: u64,
    league_id: Option<u64>,
    /// With that of the league: `Premier League 2025/26`.
    name: String,
    /// The first year of the season.
    year: Option<u16>,
    /// The days of its first and its last match that we know.
    start_date: Option<String>,
    end_date: Option<String>,
    is_current: bool,
}

/// The seasons of football by the rule of this version: the current one is that of the last match.
#[derive(Debug)]
pub(super) struct FootballSeasons {
    calendar: Calendar,
}

impl FootballSeasons {
    /// The seasons of one league, or of all.
    pub(super) fn new(api: &Api, league: Option<Key>) -> Self {
        Self::in_view(&View::now(&api.history, Some(Sport::Football)), league)
    }

    /// The same in a view of football.
    pub(super) fn in_view(view: &View<'_>, league: Option<Key>) -> Self {
        Self { calendar: Calendar::new(view, league, now(), CurrentSeason::OfLastMatch) }
    }

    pub(super) fn league(&self, api: &Api, league: &Entity) -> LeagueRow {
        let season = self.calendar.current(league.id);
        let entity = season.and_then(|id| api.history.entity(EntityKind::Season, id));
        LeagueRow {
            id: league.id,
            api_id: None,
            name: league.name.to_string(),
            country: country::name_or_empty(league.country.as_deref()),
            season_id: season,
            is_women: is_women(league),
            current_season: entity.map(|entity| self.season(api, &entity)),
        }
    }

    pub(super) fn season(&self, api: &Api, season: &Entity) -> SeasonRow {
        let span = self.calendar.season(season.id, season.parent);
        let league = season.parent.and_then(|id| api.history.name(EntityKind::Competition, id));
        let start_date = span.and_then(|span| day(span.first));
        SeasonRow {
            id: season.id,
            league_id: season.parent,
            name: season_name(&league.unwrap_or_default(), &season.name),
            year: season_year(&season.name, start_date.as_deref()),
            start_date,
            end_date: span.and_then(|span| day(span.last)),
            is_current: span.is_some_and(|span| span.is_current),
        }
    }
}

/// The football entity of this kind in the path.
pub(super) fn football_entity(
    request: &ApiRequest,
    kind: EntityKind,
) -> Result<Arc<Entity>, ApiError> {
    let entity = request.api.history.entity(kind, request.id()?);
    entity.filter(|entity| entity.sport == Sport::Football).ok_or(ApiError::NotFound)
}

/// All football entities of this kind.
pub(super) fn football_entities(
    api: &Api,
    kind: EntityKind,
    condition: impl Fn(&Entity) -> bool,
) -> Vec<Arc<Entity>> {
    api.history.entities(kind, |it| it.sport == Sport::Football && condition(it))
}

params! {
    struct LeaguesParams { country: Country = "", is_women: Flag = "", name: Name = NAME }
    struct SeasonsParams { league: ManyIds = "One or more", current: Flag = "", year: Number = "" }
}

const SEASONS: Spec =
    Spec { aliases: &[("is_current", "current")], ..request::spec(&[SeasonsParams::PARAMS]) };

endpoints! {
    /// Leagues, by their names.
    "/api/leagues/", params(request::spec(&[LeaguesParams::PARAMS])), answers(Page<LeagueRow>), |request| leagues(&request);

    /// A league.
    "/api/leagues/{id}/", params(NONE), answers(LeagueRow),
        or(status = 404, description = "No such league"),
        |request| league(&request);

    /// Seasons, by their names.
    "/api/seasons/", params(SEASONS), answers(Page<SeasonRow>), |request| seasons(&request);

    /// A season.
    "/api/seasons/{id}/", params(NONE), answers(SeasonRow),
        or(status = 404, description = "No such season"),
        |request| season(&request);
}

fn leagues(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let LeaguesParams { country, is_women: women, name } = LeaguesParams::read(query.params)?;
    let all = football_entities(&request.api, EntityKind::Competition, |entity| {
        country.passes(entity.country.as_deref())
            && women.is_none_or(|women| is_women(entity) == women)
            && name.is_in(&entity.name)
    });
    let view = View::now(&request.api.history, Some(Sport::Football));
    query.page_of(CacheControl::REFERENCE, &all, |league| {
        FootballSeasons::in_view(&view, Some(league.id)).league(&request.api, league)
    })
}

fn league(request: &ApiRequest) -> ApiResult {
    let league = football_entity(request, EntityKind::Competition)?;
    let row = FootballSeasons::new(&request.api, Some(league.id)).league(&request.api, &league);
    request.answer(CacheControl::REFERENCE, &row)
}

fn seasons(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let SeasonsParams { league: leagues, current, year } = SeasonsParams::read(query.params)?;
    let one = match leagues.as_deref() {
        Some([league]) => Some(*league),
        _ => None,
    };
    let football_seasons = FootballSeasons::new(&request.api, one);
    let all = football_entities(&request.api, EntityKind::Season, |entity| {
        leagues.as_ref().is_none_or(|ids| entity.parent.is_some_and(|league| ids.contains(&league)))
    });
    let rows = all.iter().map(|season| football_seasons.season(&request.api, season));
    let rows = rows.filter(|row| {
        current.is_none_or(|current| row.is_current == current)
            && year.is_none_or(|year| row.year.map(u64::from) == Some(year))
    });
    query.page_of(CacheControl::REFERENCE, rows.collect::<Vec<_>>(), |row| row)
}

fn season(request: &ApiRequest) -> ApiResult {
    let season = football_entity(request, EntityKind::Season)?;
    request.answer(
        CacheControl::REFERENCE,
        &FootballSeasons::new(&request.api, season.parent).season(&request.api, &season),
    )
}
