//! Reading requests of these sports, and responses that they share.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{Uri, request::Parts},
    response::Response,
};
use fanout::Micros;
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::IntoParams;

use super::{
    sport_stats::{SportStats, SportStatsCache},
    status,
};
use crate::{
    api::{Api, ApiError, CacheControl, Page, PageUrl, Params, Spec, view::View},
    archive::{Entity, EntityKind, Filter, Window},
    clock,
    record::{Key, MatchRecord},
};

/// Aliases of parameters, from clients of older interfaces.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("event", "match"),
    ("event_id", "match"),
    ("league_id", "league"),
    ("match_id", "match"),
    ("page", "offset"),
    ("page_size", "limit"),
    ("player_name", "search"),
    ("race_id", "race"),
    ("team_id", "team"),
    ("team_name", "team"),
    ("tournament_id", "tournament"),
];

/// Accepted everywhere; `date` is a single day, the others are ignored.
pub(super) const TOLERATED: &[&str] = &["date", "full", "ordering", "tz"];

/// The parameters of an endpoint.
pub(super) const fn spec(accepted: &'static [&'static str]) -> Spec {
    Spec { accepted, aliases: ALIASES, tolerated: TOLERATED }
}

/// The parameters of an endpoint without any of its own.
pub(super) const NONE: Spec = spec(&[]);

/// Of a page.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the OpenAPI document names it")]
pub(super) struct PageParams {
    /// Page size (default 50, max 200).
    limit: Option<u64>,
    /// Number of rows to skip.
    offset: Option<u64>,
}

/// Of a span of days.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the OpenAPI document names it")]
pub(super) struct DateParams {
    /// From this day or timestamp, UTC.
    date_from: Option<String>,
    /// Up to the end of this day, or this timestamp, UTC.
    date_to: Option<String>,
    /// Only this day, UTC.
    date: Option<String>,
}

/// One day, in microseconds.
pub(super) const DAY: Micros = 24 * 60 * 60 * 1_000_000;

/// The result of a handler.
pub(super) type ApiResult = Result<Response, ApiError>;

/// A request, with everything that handlers need.
pub(super) struct SportsRequest {
    pub(super) api: Api,
    sport_stats_cache: SportStatsCache,
    uri: Uri,
    headers: HeaderMap,
}

impl FromRequestParts<Api> for SportsRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, ApiError> {
        // The router adds it to every route of these sports.
        let sport_stats_cache =
            parts.extensions.get::<SportStatsCache>().ok_or(ApiError::Internal)?.clone();
        let (uri, headers) = (parts.uri.clone(), parts.headers.clone());
        Ok(Self { api: api.clone(), sport_stats_cache, uri, headers })
    }
}

impl SportsRequest {
    /// Reads the parameters that an endpoint accepts.
    pub(super) fn read(&self, spec: Spec) -> Result<SportsQuery<'_>, ApiError> {
        let params = Params::read(self.uri.query(), spec)?;
        Ok(SportsQuery { request: self, api: &self.api, params, now: clock::now() })
    }

    /// The statistics over all matches of a sport.
    pub(super) async fn sport_stats(&self, sport: Sport) -> Result<Arc<SportStats>, ApiError> {
        self.sport_stats_cache.of(&self.api, sport).await
    }

    pub(super) fn answer(&self, cache: CacheControl, value: &impl Serialize) -> ApiResult {
        cache.answer(&self.headers, value)
    }
}

/// A request with its parameters.
pub(super) struct SportsQuery<'a> {
    request: &'a SportsRequest,
    pub(super) api: &'a Api,
    pub(super) params: Params,
    pub(super) now: Micros,
}

impl SportsQuery<'_> {
    /// The filters that lists of matches share. The newest come first, unless the request has a start date.
    pub(super) fn filter(&self, sport: Sport) -> Result<Filter, ApiError> {
        let params = &self.params;
        let statuses = params.text("status").and_then(|text| status::read(sport, text));
        let (from, before) = self.days()?;
        let league = params.id("league")?;
        let mut filter = Filter {
            sport: Some(sport),
            from,
            before,
            competition: params.id("tournament")?.or(league),
            team: params.id("player")?,
            statuses,
            newest_first: from.is_none(),
            ..Filter::default()
        };
        if let Some(team) = params.text("team") {
            match team.parse() {
                Ok(id) => filter.team = Some(id),
                Err(_) => filter.teams = Some(self.teams_like(sport, team)),
            }
        }
        Ok(filter)
    }

    /// `date_from` and `date_to`, or `date`.
    pub(super) fn days(&self) -> Result<(Option<Micros>, Option<Micros>), ApiError> {
        let (day, end) = (self.params.from("date")?, self.params.before("date")?);
        Ok((self.params.from("date_from")?.or(day), self.params.before("date_to")?.or(end)))
    }

    fn teams_like(&self, sport: Sport, name: &str) -> Vec<Key> {
        let is_like = search(name);
        let teams = [EntityKind::Team, EntityKind::Player].into_iter().flat_map(|kind| {
            self.api.archive.entities(kind, |it| it.sport == sport && is_like(&it.name))
        });
        teams.map(|team| team.id).collect()
    }

    /// The page of the matches that pass a filter.
    pub(super) async fn matches<T: Serialize>(
        &self,
        filter: &Filter,
        row: impl Fn(&MatchRecord) -> T,
    ) -> ApiResult {
        let window = self.params.window()?;
        let view = View::now(self.api, filter.sport);
        let found = view.find(filter, window);
        let records = view.records(&found.briefs).await?;
        let rows = records.iter().map(|record| row(record)).collect();
        let page = Page::new(&self.page_url(), window, found.count, rows);
        self.request.answer(CacheControl::LIST, &page)
    }

    /// The page of a complete list, whose rows are converted to their public shape.
    pub(super) fn page<S, T: Serialize>(
        &self,
        cache: CacheControl,
        all: &[S],
        row: impl Fn(&S) -> T,
    ) -> ApiResult {
        self.page_of(cache, self.params.window()?, all, row)
    }

    pub(super) fn page_of<S, T: Serialize>(
        &self,
        cache: CacheControl,
        window: Window,
        all: &[S],
        row: impl Fn(&S) -> T,
    ) -> ApiResult {
        let rows = all.iter().skip(window.offset).take(window.limit).map(row).collect();
        let page = Page::new(&self.page_url(), window, all.len(), rows);
        self.request.answer(cache, &page)
    }

    /// The page of these rows out of a list of `count`.
    pub(super) fn found<T: Serialize>(
        &self,
        cache: CacheControl,
        count: usize,
        rows: Vec<T>,
    ) -> ApiResult {
        let page = Page::new(&self.page_url(), self.params.window()?, count, rows);
        self.request.answer(cache, &page)
    }

    fn page_url(&self) -> PageUrl<'_> {
        let SportsRequest { api, uri, headers, .. } = self.request;
        PageUrl { api, headers, path: uri.path(), params: &self.params }
    }
}

/// The match in a path, which must be of this sport.
pub(super) async fn record(
    api: &Api,
    sport: Sport,
    id: &str,
) -> Result<Arc<MatchRecord>, ApiError> {
    let record = api.record(key(id)?).await?;
    record.filter(|record| record.brief.sport == sport).ok_or(ApiError::NotFound)
}

/// The entity in a path, which must be of this sport.
pub(super) fn entity(
    api: &Api,
    kind: EntityKind,
    sport: Sport,
    id: &str,
) -> Result<Arc<Entity>, ApiError> {
    let entity = api.archive.entity(kind, key(id)?);
    entity.filter(|entity| entity.sport == sport).ok_or(ApiError::NotFound)
}

/// An id in a path; an invalid one is not found.
pub(super) fn key(id: &str) -> Result<Key, ApiError> {
    id.parse().map_err(|_| ApiError::NotFound)
}

/// Whether a name contains a text, ignoring case.
pub(super) fn search(part: &str) -> impl Fn(&str) -> bool {
    let part = part.to_lowercase();
    move |name| name.to_lowercase().contains(&part)
}
