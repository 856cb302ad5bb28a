//! Events, also under the names `fixtures` and `matches`; and live events.

use std::{collections::HashMap, sync::Arc};

use facts::event::Sport;

use super::{
    event::Event,
    league::{FootballSeasons, LeagueRow},
    request::{self, LEAGUE, ONE, TZ, V1Query},
};
use crate::{
    api::{
        ApiError, ApiRequest, ApiResult, CacheControl, Page, Param, Spec,
        odds::{consensus::MainOdds, football_record},
    },
    clock::now,
};
use history::query::{EntityKind, MatchQuery, OddsFilter, OddsRow, View, Window};
use record::{CONSENSUS, Key, MatchRecord};

/// The rows of these matches.
async fn rows(query: &V1Query<'_>, records: &[Arc<MatchRecord>]) -> Result<Vec<Event>, ApiError> {
    let (api, now) = (query.api, now());
    let filter = OddsFilter {
        matches: Some(records.iter().map(|record| record.brief.id).collect()),
        bookmakers: Some(vec![CONSENSUS.to_owned()]),
        ..OddsFilter::default()
    };
    let mut prices: HashMap<Key, Vec<OddsRow>> = HashMap::new();
    for row in api.history.odds(&filter, Window::ALL).await?.1 {
        prices.entry(row.match_id).or_default().push(row);
    }
    let view = View::now(&api.history, Some(Sport::Football));
    let mut leagues: HashMap<Key, Option<LeagueRow>> = HashMap::new();
    let rows = records.iter().map(|record| {
        let odds = prices.get(&record.brief.id).map(Vec::as_slice).unwrap_or_default();
        let league = record.brief.competition.and_then(|id| {
            let known = leagues.entry(id).or_insert_with(|| {
                let league = api.history.entity(EntityKind::Competition, id)?;
                Some(FootballSeasons::in_view(&view, Some(id)).league(api, &league))
            });
            known.clone()
        });
        Event::new(query, record, &MainOdds::of(record, odds), league, now)
    });
    Ok(rows.collect())
}

/// The requested page of matches.
pub(super) async fn page(query: &V1Query<'_>, list: &MatchQuery) -> ApiResult {
    let view = View::now(&query.api.history, Some(Sport::Football));
    let found = view.find(list);
    let ids: Vec<_> = found.briefs.iter().map(|brief| brief.id).collect();
    let records = view.records_without_detail(&ids).await?;
    query.page(CacheControl::LIST, found.count, rows(query, &records).await?)
}

/// SERVICE section 1.6.
const EVENTS: Spec = request::spec(&[
    Param::text("date_from", "A day in the time zone, or a timestamp"),
    Param::text("date_to", "A day (inclusive) in the time zone, or a timestamp"),
    LEAGUE,
    Param::id("season", ""),
    Param::id("team", ""),
    Param::text("status", ""),
    Param::text("tz", "IANA time zone (default: Asia/Dubai)"),
    Param::number("limit", "Page size (default 50, max 200)"),
]);

/// The same in numbered pages.
const FIXTURES: Spec = request::spec(&[
    Param::text("date_from", ""),
    Param::text("date_to", ""),
    LEAGUE,
    Param::id("season", ""),
    Param::id("team", ""),
    Param::text("status", ""),
    TZ,
]);

const LIVE: Spec = request::spec(&[TZ, Param::number("limit", "Page size (default 50, max 200)")]);

endpoints! {
    /// Events, by their start.
    "/api/events/", params(EVENTS), answers(Page<Event>),
        |request| list(&V1Query::windows(&request)?).await;

    /// Events in numbered pages.
    "/api/fixtures/", params(FIXTURES), answers(Page<Event>),
        |request| list(&V1Query::pages(&request)?).await;

    /// Events in numbered pages.
    "/api/matches/", params(FIXTURES), answers(Page<Event>),
        |request| list(&V1Query::pages(&request)?).await;

    /// Events in play.
    "/api/live/", params(LIVE), answers(Page<Event>), |request| live(&request).await;

    /// An event.
    "/api/events/{id}/", params(ONE), answers(Event),
        or(status = 404, description = "No such event"),
        |request| one(&request).await;

    /// An event.
    "/api/fixtures/{id}/", params(ONE), answers(Event),
        or(status = 404, description = "No such event"),
        |request| one(&request).await;

    /// An event.
    "/api/matches/{id}/", params(ONE), answers(Event),
        or(status = 404, description = "No such event"),
        |request| one(&request).await;

    /// An event.
    "/api/live/{id}/", params(ONE), answers(Event),
        or(status = 404, description = "No such event"),
        |request| one(&request).await;
}

async fn list(query: &V1Query<'_>) -> ApiResult {
    page(query, &query.matches()?).await
}

async fn live(request: &ApiRequest) -> ApiResult {
    let query = V1Query::windows(request)?;
    let all = request.api.history.live(Sport::Football);
    let window = query.window();
    let page_records: Vec<_> = all.iter().skip(window.offset).take(window.limit).cloned().collect();
    let rows = rows(&query, &page_records).await?;
    query.page(CacheControl::LIVE, all.len(), rows)
}

async fn one(request: &ApiRequest) -> ApiResult {
    let query = V1Query::windows(request)?;
    let record = football_record(&request.api, request.id()?).await?;
    let row = rows(&query, &[record]).await?.pop().ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::LIST, &row)
}
