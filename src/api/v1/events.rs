//! Events, also under the names `fixtures` and `matches`; and live events.

use std::{collections::HashMap, sync::Arc};

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use ingest::event::Sport;

use super::{
    event::Event,
    league::{LeagueRow, Seasons},
    request::V1Query,
};
use crate::{
    api::{
        Api, ApiError, CacheControl, Page,
        odds::{consensus::MainOdds, football_record, id_of},
        view::View,
    },
    archive::{EntityKind, Filter, OddsFilter, OddsRow, Window},
    clock::now,
    record::{CONSENSUS, Key, MatchRecord},
};

/// The rows of these matches.
async fn rows(query: &V1Query<'_>, records: &[Arc<MatchRecord>]) -> Result<Vec<Event>, ApiError> {
    let (api, now) = (query.api, now());
    let filter = OddsFilter {
        matches: Some(records.iter().map(|record| record.brief.id).collect()),
        bookmakers: Some(vec![CONSENSUS.to_owned()]),
        ..OddsFilter::default()
    };
    let mut prices: HashMap<Key, Vec<OddsRow>> = HashMap::new();
    for row in api.archive.odds(&filter, Window::ALL).await?.1 {
        prices.entry(row.match_id).or_default().push(row);
    }
    let mut leagues: HashMap<Key, Option<LeagueRow>> = HashMap::new();
    let rows = records.iter().map(|record| {
        let odds = prices.get(&record.brief.id).map(Vec::as_slice).unwrap_or_default();
        let league = record.brief.competition.and_then(|id| {
            let known = leagues.entry(id).or_insert_with(|| {
                let league = api.archive.entity(EntityKind::Competition, id)?;
                Some(Seasons::of(api, Some(id)).league(api, &league))
            });
            known.clone()
        });
        Event::new(query, record, &MainOdds::of(record, odds), league, now)
    });
    Ok(rows.collect())
}

/// The page of the matches that pass a filter.
pub(super) async fn page(query: &V1Query<'_>, filter: &Filter) -> Result<Page<Event>, ApiError> {
    let view = View::now(query.api, Some(Sport::Football));
    let found = view.find(filter, query.window());
    let records = view.records_without_detail(&found.briefs).await?;
    Ok(query.page(found.count, rows(query, &records).await?))
}

/// The filters of events: SERVICE section 1.6.
const FILTERS: &[&str] = &["date_from", "date_to", "league", "season", "status", "team"];

fn filter(query: &V1Query<'_>) -> Result<Filter, ApiError> {
    Ok(Filter {
        sport: Some(Sport::Football),
        from: query.from()?,
        before: query.before()?,
        competitions: query.params.ids("league")?,
        season: query.params.id("season")?,
        team: query.params.id("team")?,
        statuses: query.statuses(),
        ..Filter::default()
    })
}

/// Events, by their start.
#[utoipa::path(
    get, path = "/api/events/", tag = "football v1",
    params(
        ("date_from" = Option<String>, Query, description = "A day in the time zone, or a timestamp"),
        ("date_to" = Option<String>, Query, description = "A day (inclusive) in the time zone, or a timestamp"),
        ("league" = Option<String>, Query, pattern = "^([0-9]{1,18}(,[0-9]{1,18})*)?$", description = "One or more IDs, separated by commas"), ("season" = Option<u64>, Query), ("team" = Option<u64>, Query),
        ("status" = Option<String>, Query),
        ("tz" = Option<String>, Query, description = "IANA time zone (default: Asia/Dubai)"),
        ("limit" = Option<u64>, Query, description = "Page size (default 50, max 200)"), ("offset" = Option<u64>, Query),
    ),
    responses((status = 200, body = Page<Event>), (status = 400, description = "Invalid parameter value"))
)]
pub(super) async fn events(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::windows(&api, &uri, &headers, FILTERS)?;
    CacheControl::LIST.answer(&headers, &page(&query, &filter(&query)?).await?)
}

/// The same, paged by number.
async fn numbered(api: &Api, uri: &Uri, headers: &HeaderMap) -> Result<Response, ApiError> {
    let query = V1Query::pages(api, uri, headers, FILTERS)?;
    CacheControl::LIST.answer(headers, &page(&query, &filter(&query)?).await?)
}

/// Events in numbered pages.
#[utoipa::path(
    get, path = "/api/fixtures/", tag = "football v1",
    params(("date_from" = Option<String>, Query), ("date_to" = Option<String>, Query), ("league" = Option<String>, Query, pattern = "^([0-9]{1,18}(,[0-9]{1,18})*)?$", description = "One or more IDs, separated by commas"), ("season" = Option<u64>, Query), ("team" = Option<u64>, Query), ("status" = Option<String>, Query), ("tz" = Option<String>, Query), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<Event>), (status = 400, description = "Invalid parameter value"))
)]
pub(super) async fn fixtures(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    numbered(&api, &uri, &headers).await
}

/// Events in numbered pages.
#[utoipa::path(
    get, path = "/api/matches/", tag = "football v1",
    params(("date_from" = Option<String>, Query), ("date_to" = Option<String>, Query), ("league" = Option<String>, Query, pattern = "^([0-9]{1,18}(,[0-9]{1,18})*)?$", description = "One or more IDs, separated by commas"), ("season" = Option<u64>, Query), ("team" = Option<u64>, Query), ("status" = Option<String>, Query), ("tz" = Option<String>, Query), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<Event>), (status = 400, description = "Invalid parameter value"))
)]
pub(super) async fn matches(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    numbered(&api, &uri, &headers).await
}

async fn one(api: &Api, id: &str, uri: &Uri, headers: &HeaderMap) -> Result<Response, ApiError> {
    let query = V1Query::windows(api, uri, headers, &[])?;
    let record = football_record(api, id_of(id)?).await?;
    let row = rows(&query, &[record]).await?.pop().ok_or(ApiError::NotFound)?;
    CacheControl::LIST.answer(headers, &row)
}

macro_rules! detail {
    ($name:ident, $path:literal) => {
        /// An event.
        #[utoipa::path(
            get, path = $path, tag = "football v1",
            params(("id" = u64, Path), ("tz" = Option<String>, Query)),
            responses((status = 200, body = Event), (status = 404, description = "No such event"))
        )]
        pub(super) async fn $name(
            State(api): State<Api>,
            Path(id): Path<String>,
            uri: Uri,
            headers: HeaderMap,
        ) -> Result<Response, ApiError> {
            one(&api, &id, &uri, &headers).await
        }
    };
}

detail!(event, "/api/events/{id}/");
detail!(fixture, "/api/fixtures/{id}/");
detail!(match_, "/api/matches/{id}/");
detail!(live_event, "/api/live/{id}/");

/// Events in play.
#[utoipa::path(
    get, path = "/api/live/", tag = "football v1",
    params(("tz" = Option<String>, Query), ("limit" = Option<u64>, Query, description = "Page size (default 50, max 200)"), ("offset" = Option<u64>, Query)),
    responses((status = 200, body = Page<Event>), (status = 400, description = "Invalid parameter value"))
)]
pub(super) async fn live(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::windows(&api, &uri, &headers, &[])?;
    let all = api.reader.live(Sport::Football);
    let window = query.window();
    let page_records: Vec<_> = all.iter().skip(window.offset).take(window.limit).cloned().collect();
    let rows = rows(&query, &page_records).await?;
    CacheControl::LIVE.answer(&headers, &query.page(all.len(), rows))
}
