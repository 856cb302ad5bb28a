//! Leagues and their seasons.

use std::{collections::HashMap, sync::Arc};

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use fanout::Micros;
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::request::V1Query;
use crate::{
    api::{
        Api, ApiError, CacheControl, Page,
        football::{country, season_name, season_year},
        odds::id_of,
        time,
    },
    archive::{Entity, EntityKind, Filter, Window},
    record::{Key, MatchSummary},
};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1LeagueRow)]
pub(super) struct LeagueRow {
    id: u64,
    /// An id of the feed's, which is not told.
    api_id: Option<u64>,
    name: String,
    /// Its name; empty where no feed tells it.
    country: String,
    pub(super) season_id: Option<u64>,
    /// No feed of ours tells it.
    is_women: Option<bool>,
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

/// The seasons of football, and the current one of each league: that of its last match.
#[derive(Debug, Default)]
pub(super) struct Seasons {
    /// The start of the first and the last match of each season.
    spans: HashMap<Key, [Micros; 2]>,
    current: HashMap<Key, Key>,
}

impl Seasons {
    pub(super) fn of(api: &Api, league: Option<Key>) -> Self {
        let filter =
            Filter { sport: Some(Sport::Football), competition: league, ..Filter::default() };
        let mut seasons = Self::default();
        // In order of start, so the last match sets the final value.
        for brief in &api.archive.find(&filter, Window::ALL).briefs {
            seasons.add(brief);
        }
        seasons
    }

    fn add(&mut self, brief: &MatchSummary) {
        let (Some(season), Some(league), Some(start)) =
            (brief.season, brief.competition, brief.start)
        else {
            return;
        };
        self.current.insert(league, season);
        self.spans.entry(season).or_insert([start, start])[1] = start;
    }

    pub(super) fn league(&self, api: &Api, league: &Entity) -> LeagueRow {
        let season = self.current.get(&league.id).copied();
        let entity = season.and_then(|id| api.archive.entity(EntityKind::Season, id));
        LeagueRow {
            id: league.id,
            api_id: None,
            name: league.name.to_string(),
            country: country::name_or_empty(league.country.as_deref()),
            season_id: season,
            is_women: None,
            current_season: entity.map(|entity| self.season(api, &entity)),
        }
    }

    fn season(&self, api: &Api, season: &Entity) -> SeasonRow {
        let day = |at: Micros| Some(time::zulu(at)?.get(..10)?.to_owned());
        let span = self.spans.get(&season.id);
        let of_league = season.parent.and_then(|league| self.current.get(&league));
        let league = season.parent.and_then(|id| api.archive.entity(EntityKind::Competition, id));
        let league = league.map(|league| league.name.to_string()).unwrap_or_default();
        let start_date = span.and_then(|span| day(span[0]));
        SeasonRow {
            id: season.id,
            league_id: season.parent,
            name: season_name(&league, &season.name),
            year: season_year(&season.name, start_date.as_deref()),
            start_date,
            end_date: span.and_then(|span| day(span[1])),
            is_current: of_league == Some(&season.id),
        }
    }
}

/// A football entity of this kind.
pub(super) fn football_entity(
    api: &Api,
    kind: EntityKind,
    id: &str,
) -> Result<Arc<Entity>, ApiError> {
    let entity = api.archive.entity(kind, id_of(id)?);
    entity.filter(|entity| entity.sport == Sport::Football).ok_or(ApiError::NotFound)
}

/// All football entities of this kind.
pub(super) fn football_entities(
    api: &Api,
    kind: EntityKind,
    condition: impl Fn(&Entity) -> bool,
) -> Vec<Arc<Entity>> {
    api.archive.entities(kind, |it| it.sport == Sport::Football && condition(it))
}

/// Leagues, by their names.
#[utoipa::path(
    get, path = "/api/leagues/", tag = "football v1",
    params(("country" = Option<String>, Query), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<LeagueRow>), (status = 400, description = "Invalid parameter value"))
)]
pub(super) async fn leagues(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::pages(&api, &uri, &headers, &["country"])?;
    let all = football_entities(&api, EntityKind::Competition, |it| {
        query.is_country("country", it.country.as_deref())
    });
    let window = query.window();
    let page = all.iter().skip(window.offset).take(window.limit);
    let rows = page.map(|league| Seasons::of(&api, Some(league.id)).league(&api, league));
    CacheControl::REFERENCE.answer(&headers, &query.page(all.len(), rows.collect()))
}

/// A league.
#[utoipa::path(
    get, path = "/api/leagues/{id}/", tag = "football v1", params(("id" = u64, Path)),
    responses((status = 200, body = LeagueRow), (status = 404, description = "No such league"))
)]
pub(super) async fn league(
    State(api): State<Api>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let league = football_entity(&api, EntityKind::Competition, &id)?;
    let row = Seasons::of(&api, Some(league.id)).league(&api, &league);
    CacheControl::REFERENCE.answer(&headers, &row)
}

/// Seasons, by their names.
#[utoipa::path(
    get, path = "/api/seasons/", tag = "football v1",
    params(("league" = Option<u64>, Query), ("current" = Option<bool>, Query), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<SeasonRow>), (status = 400, description = "Invalid parameter value"))
)]
pub(super) async fn seasons(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::pages(&api, &uri, &headers, &["league", "current"])?;
    let (league, current) = (query.params.id("league")?, query.params.flag("current")?);
    let known = Seasons::of(&api, league);
    let all = football_entities(&api, EntityKind::Season, |it| {
        league.is_none_or(|league| it.parent == Some(league))
    });
    let rows = all.iter().map(|season| known.season(&api, season));
    let rows = rows.filter(|row| current.is_none_or(|current| row.is_current == current));
    CacheControl::REFERENCE.answer(&headers, &query.page_of(rows.collect()))
}

/// A season.
#[utoipa::path(
    get, path = "/api/seasons/{id}/", tag = "football v1", params(("id" = u64, Path)),
    responses((status = 200, body = SeasonRow), (status = 404, description = "No such season"))
)]
pub(super) async fn season(
    State(api): State<Api>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let season = football_entity(&api, EntityKind::Season, &id)?;
    CacheControl::REFERENCE
        .answer(&headers, &Seasons::of(&api, season.parent).season(&api, &season))
}
