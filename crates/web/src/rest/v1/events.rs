//! Events, also under the names `fixtures` and `matches`; and live events.

use std::{collections::HashMap, sync::Arc};

use facts::event::Sport;
use tokio::time::Instant;

use super::{
    event::{Event, EventRow, EventSource},
    event_detail::EventDetail,
    league::{FootballSeasons, LeagueRow},
    request::{
        self, CompetitionParams, DateParams, ONE, RoundParams, StatusParams, TZ, TeamParams,
        V1Query,
    },
};
use crate::{
    clock::now,
    http::SharedBody,
    rest::{
        ApiError, ApiRequest, ApiResult, CacheControl, Page, Param, Spec,
        football::{
            live_cache::{DetailKey, ResponseCache, ResponseSource},
            snapshot::Matches,
        },
        kind::{Number, Text},
        odds::{consensus::MainOdds, football_record, quote},
    },
};
use history::query::{EntityKind, MatchQuery, OddsFilter, OddsRow, View, Window};
use record::{CONSENSUS, Key, MatchRecord, MatchSummary};

/// The rows of these matches.
pub(super) async fn rows(
    query: &V1Query<'_>,
    view: &View<'_>,
    records: &[Arc<MatchRecord>],
) -> Result<Vec<EventRow>, ApiError> {
    let events = events(query, view, records).await?.into_iter().zip(records);
    Ok(events.map(|(event, record)| EventRow::new(query.api, event, record)).collect())
}

/// What rows and details of these matches have in common.
async fn events(
    query: &V1Query<'_>,
    view: &View<'_>,
    records: &[Arc<MatchRecord>],
) -> Result<Vec<Event>, ApiError> {
    let (api, now) = (query.api, now());
    let filter = OddsFilter {
        matches: Some(records.iter().map(|record| record.summary.id).collect()),
        bookmakers: Some(vec![CONSENSUS.to_owned()]),
        ..OddsFilter::default()
    };
    let mut prices: HashMap<Key, Vec<OddsRow>> = HashMap::new();
    for row in api.history.odds(&filter, Window::ALL).await?.1 {
        prices.entry(row.match_id).or_default().push(row);
    }
    let mut leagues: HashMap<Key, Option<League>> = HashMap::new();
    let events = records.iter().map(|record| {
        let summary = &record.summary;
        let archived = prices.remove(&summary.id).unwrap_or_default();
        let league = summary.competition.and_then(|id| {
            let league = leagues.entry(id).or_insert_with(|| {
                let league = api.history.entity(EntityKind::Competition, id)?;
                let seasons = FootballSeasons::in_view(view, Some(id));
                Some(League { row: seasons.league(api, &league), seasons })
            });
            league.as_ref()
        });
        let season = summary.season.and_then(|id| api.history.entity(EntityKind::Season, id));
        let source = EventSource {
            record,
            odds: MainOdds::new(record, &quote::consensus(record, archived)),
            league: league.map(|league| league.row.clone()),
            season: league.zip(season).map(|(league, it)| league.seasons.season(api, &it)),
            is_fresh: view.fresh(summary.id).is_some(),
            now,
        };
        Event::new(query, source)
    });
    Ok(events.collect())
}

/// A league and its seasons, for all events of a list.
struct League {
    row: LeagueRow,
    seasons: FootballSeasons,
}

/// The requested page of matches.
pub(super) async fn page(query: &V1Query<'_>, list: &MatchQuery) -> ApiResult {
    let view = View::now(&query.api.history, Some(Sport::Football));
    let found = view.find(list);
    let ids: Vec<_> = found.summaries.iter().map(|summary| summary.id).collect();
    let records = view.records_without_detail(list, &ids).await?;
    query.page(CacheControl::LIST, found.count, rows(query, &view, &records).await?)
}

const LIMIT: &[Param] = &[Param::new::<Number>("limit", "Page size (default 50, max 200)")];

/// SERVICE section 1.6.
const EVENTS: Spec = request::spec(&[
    DateParams::PARAMS,
    CompetitionParams::PARAMS,
    TeamParams::PARAMS,
    RoundParams::PARAMS,
    StatusParams::PARAMS,
    &[Param::new::<Text>("tz", "IANA time zone (default: Asia/Dubai)")],
    LIMIT,
]);

/// The same in numbered pages.
const FIXTURES: Spec = request::spec(&[
    DateParams::PARAMS,
    CompetitionParams::PARAMS,
    TeamParams::PARAMS,
    RoundParams::PARAMS,
    StatusParams::PARAMS,
    TZ,
]);

const LIVE: Spec = request::spec(&[
    CompetitionParams::PARAMS,
    TeamParams::PARAMS,
    RoundParams::PARAMS,
    StatusParams::PARAMS,
    TZ,
    LIMIT,
]);

endpoints! {
    /// Events, by their start.
    "/api/events/", params(EVENTS), answers(Page<EventRow>),
        |request| list(&V1Query::windows(&request)?).await;

    /// Events in numbered pages.
    "/api/fixtures/", params(FIXTURES), answers(Page<EventRow>),
        |request| list(&V1Query::pages(&request)?).await;

    /// Events in numbered pages.
    "/api/matches/", params(FIXTURES), answers(Page<EventRow>),
        |request| list(&V1Query::pages(&request)?).await;

    /// Events in play.
    "/api/live/", params(LIVE), answers(Page<EventRow>), |request| live(&request).await;

    /// An event.
    "/api/events/{id}/", params(ONE), answers(EventDetail),
        or(status = 404, description = "No such event"),
        |request| one(&request).await;

    /// An event.
    "/api/fixtures/{id}/", params(ONE), answers(EventDetail),
        or(status = 404, description = "No such event"),
        |request| one(&request).await;

    /// An event.
    "/api/matches/{id}/", params(ONE), answers(EventDetail),
        or(status = 404, description = "No such event"),
        |request| one(&request).await;

    /// An event.
    "/api/live/{id}/", params(ONE), answers(EventDetail),
        or(status = 404, description = "No such event"),
        |request| one(&request).await;
}

async fn list(query: &V1Query<'_>) -> ApiResult {
    page(query, &query.matches()?).await
}

async fn live(request: &ApiRequest) -> ApiResult {
    let query = V1Query::windows(request)?;
    let (list, window) = (query.matches()?, query.window());
    let mut all = request.api.history.live(Sport::Football);
    all.retain(|record| list.selects(&record.summary));
    let page_records: Vec<_> = all.iter().skip(window.offset).take(window.limit).cloned().collect();
    let view = View::now(&request.api.history, Some(Sport::Football));
    let rows = rows(&query, &view, &page_records).await?;
    query.page(CacheControl::LIVE, all.len(), rows)
}

async fn one(request: &ApiRequest) -> ApiResult {
    let query = V1Query::windows(request)?;
    let (id, history) = (request.id()?, &request.api.history);
    let (source, status) = match history.current(id) {
        Some(record) => (ResponseSource::Fresh(Arc::clone(&record)), record.summary.status),
        None => {
            let summary = history.summary(id).ok_or(ApiError::NotFound)?;
            (ResponseSource::Archived(Arc::clone(&summary)), summary.status)
        }
    };
    let cache: &ResponseCache = request.extension()?;
    let (key, now) = (DetailKey { id, zone: query.zone_name() }, Instant::now());
    let lookup = match cache.cached(&key, &source, now) {
        Some(lookup) => lookup,
        None => {
            let body = SharedBody::json(&detail(&query, &source, id).await?)?;
            cache.add(key, source, now, body)
        }
    };
    let cache_control = if status.is_live() { CacheControl::LIVE } else { CacheControl::LIST };
    Ok(request.name_ignored(lookup.answer(cache_control, request.headers())))
}

/// An event, of the state that its response is cached for.
async fn detail(
    query: &V1Query<'_>,
    source: &ResponseSource,
    id: Key,
) -> Result<EventDetail, ApiError> {
    let fresh = match source {
        ResponseSource::Fresh(record) if record.summary.sport == Sport::Football => Some(record),
        ResponseSource::Fresh(_) => return Err(ApiError::NotFound),
        ResponseSource::Archived(_) | ResponseSource::Reader(_) => None,
    };
    let matches = Matches::with(query.api, fresh.map(Arc::clone));
    let record = match fresh {
        Some(record) => Arc::clone(record),
        None => football_record(query.api, id).await?,
    };
    let records = [record];
    let event = events(query, &matches, &records).await?.pop().ok_or(ApiError::NotFound)?;
    let date = |summary: &MatchSummary| query.start(summary);
    EventDetail::new(&matches, query.request.extension()?, event, &records[0], date).await
}
