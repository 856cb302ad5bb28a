//! `/api/v2/events/live/` and `/api/v2/events/{id}/`, answered from memory.

use std::sync::Arc;

use facts::event::Sport;
use fanout::Micros;
use hyper::header::{HeaderName, HeaderValue};
use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::{
    event::{Event, LiveEvent},
    include::{EventRow, IncludeParams},
    live_cache::{ResponseCache, ResponseSource},
    request,
    snapshot::Matches,
};
use crate::http::SharedBody;
use crate::rest::{
    Api, ApiError, ApiRequest, ApiResult, CacheControl, Param, Spec, kind::Number,
    match_filter::MatchParams,
};
use history::query::{MatchQuery, Window};
use record::{MatchRecord, MatchSummary, Status};

/// The position of the match's channel when the response was made, as `EPOCH:SEQ`.
const POSITION: HeaderName = HeaderName::from_static("x-matchwire-seq");

/// How long before kick-off a match is listed, in microseconds.
const AHEAD_US: Micros = 5 * MINUTE_US;
/// How long after its scheduled kick-off a match without one stays listed.
const LATE_US: Micros = 60 * MINUTE_US;
/// How long a match stays listed after its end.
const OVER_US: Micros = 10 * MINUTE_US;
/// No match takes longer from kick-off to end.
const LENGTH_US_MAX: Micros = 6 * 60 * MINUTE_US;

const MINUTE_US: Micros = 60 * 1_000_000;

/// SERVICE section 1.2: no envelope of pages.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Live {
    /// Matches that the filters let through, on whichever page.
    count: usize,
    #[schema(value_type = Vec<LiveEvent>)]
    events: Arc<[LiveEvent]>,
    /// The same rows, where clients of other lists expect them.
    #[schema(value_type = Vec<LiveEvent>, required = false)]
    results: Arc<[LiveEvent]>,
}

/// The filters and the window of a request.
fn query(request: &ApiRequest) -> Result<MatchQuery, ApiError> {
    let params = &request.params;
    let is_page = ["limit", "offset"].iter().any(|name| params.text(name).is_some());
    let window = if is_page { request.window } else { Window::ALL };
    let query = LiveParams::read(params)?.query(params, Some(Sport::Football));
    Ok(MatchQuery { window, ..query })
}

params! {
    struct LiveParams for MatchParams {
        league_id: Ids = "One or more leagues; also `league`",
        season_id: Ids = "One or more seasons; also `season`",
        team_id: Ids = "One or more teams, home or away; also `team`",
    }
}

const PAGING: &[Param] = &[
    Param::new::<Number>("limit", "Page size (max 200); without `limit` and `offset`, all rows"),
    Param::new::<Number>("offset", "Number of rows to skip"),
];

const LIVE: Spec = request::spec(&[LiveParams::PARAMS, PAGING]).paged();

endpoints! {
    /// Matches in play, those that kick off within five minutes, and those that ended less than ten minutes
    /// ago: in this order, and each of them the earliest first.
    "/api/v2/events/live/", params(LIVE),
        answers(Live, headers(("X-Cache-Status" = String, description = "HIT or MISS"))),
        |request| live(&request).await;

    /// A match.
    "/api/v2/events/{id}/", params(request::spec(&[IncludeParams::PARAMS])),
        answers(EventRow, headers(
            ("X-Cache-Status" = String, description = "HIT or MISS"),
            ("X-Matchwire-Seq" = String, description = "EPOCH:SEQ of the match's channel, while it has one"),
        )),
        |request| detail(&request).await;
}

async fn live(request: &ApiRequest) -> ApiResult {
    let query = query(request)?;
    if query != request::football() || request.params.zone().is_some() {
        return request.answer(CacheControl::LIVE, &listed(&request.api, &query));
    }
    let api = request.api.clone();
    let history = request.api.history.clone();
    let version = move || history.version();
    let make = move || SharedBody::json(&listed(&api, &query));
    let cache: &ResponseCache = request.extension()?;
    let lookup = cache.live(version, make).await?;
    Ok(request.name_ignored(lookup.answer(CacheControl::LIVE, request.headers())))
}

fn listed(api: &Api, query: &MatchQuery) -> Live {
    let matches = Matches::now(api);
    let fresh = matches.all_fresh().filter(|record| query.selects(&record.summary));
    let fresh = fresh.filter(|record| rank(&record.summary, matches.now).is_some());
    let mut summaries: Vec<_> = fresh.map(|record| Arc::clone(&record.summary)).collect();
    // The hub may no longer know a match that has just ended, especially after a restart.
    let ended = MatchQuery {
        from: Some(matches.now - LENGTH_US_MAX),
        before: Some(matches.now),
        statuses: Some(Status::RESULTS.to_vec()),
        ..query.clone()
    };
    let is_listed = |summary: &Arc<MatchSummary>| rank(summary, matches.now).is_some();
    summaries.extend(matches.archived(&ended).into_iter().filter(is_listed));
    summaries.sort_by_key(|summary| {
        (rank(summary, matches.now), summary.start.is_none(), summary.start, summary.id)
    });
    let count = summaries.len();
    let Window { offset, limit } = query.window;
    let summaries: Vec<_> = summaries.into_iter().skip(offset).take(limit).collect();
    let rows = matches.rows(&summaries).into_iter().zip(&summaries);
    let events = rows.map(|(event, summary)| LiveEvent::new(&matches, summary, event));
    let events: Arc<[LiveEvent]> = events.collect();
    Live { count, results: Arc::clone(&events), events }
}

/// The rank of a match in the list: in play, about to kick off, just ended; `None` if it is not listed.
fn rank(summary: &MatchSummary, now: Micros) -> Option<u8> {
    let starts_now = || {
        summary
            .start
            .filter(|_| !summary.day_only)
            .is_some_and(|start| start <= now + AHEAD_US && now.saturating_sub(start) < LATE_US)
    };
    let just_ended =
        || summary.ended.is_some_and(|ended| now.saturating_sub(ended).saturating_abs() < OVER_US);
    match summary.status {
        Status::NotStarted | Status::AtThePost => starts_now().then_some(1),
        Status::Finished | Status::Retired | Status::Walkover => just_ended().then_some(2),
        status => status.is_live().then_some(0),
    }
}

async fn detail(request: &ApiRequest) -> ApiResult {
    let id = request.id()?;
    let found = match request.api.history.current(id) {
        Some(record) => MatchLookup::Fresh(record),
        None => MatchLookup::Archived(request.api.history.summary(id).ok_or(ApiError::NotFound)?),
    };
    let summary = found.summary();
    if summary.sport != Sport::Football {
        return Err(ApiError::NotFound);
    }
    let cache_control =
        if summary.status.is_live() { CacheControl::LIVE } else { CacheControl::LIST };
    let parts = IncludeParams::read(&request.params)?.include;
    let mut response = if parts.is_empty() && request.params.zone().is_none() {
        let make = || SharedBody::json(&found.event(&request.api));
        let cache: &ResponseCache = request.extension()?;
        let lookup = cache.detail(id.into(), found.source(), Instant::now(), make)?;
        request.name_ignored(lookup.answer(cache_control, request.headers()))
    } else {
        let event = found.event(&request.api);
        let record = match &found {
            _ if parts.is_empty() => None,
            MatchLookup::Fresh(record) => Some(Arc::clone(record)),
            MatchLookup::Archived(_) => request.api.record(id).await?,
        };
        let row = EventRow::new(&request.api, event, record.as_deref(), &parts).await?;
        request.answer(cache_control, &row)?
    };
    if let Some(position) = found.position() {
        response.headers_mut().insert(POSITION, position);
    }
    Ok(response)
}

/// Where a match was found.
enum MatchLookup {
    /// In the hub, with its current state.
    Fresh(Arc<MatchRecord>),
    /// In the archive.
    Archived(Arc<MatchSummary>),
}

impl MatchLookup {
    fn summary(&self) -> &MatchSummary {
        match self {
            Self::Fresh(record) => &record.summary,
            Self::Archived(summary) => summary,
        }
    }

    fn source(&self) -> ResponseSource {
        match self {
            Self::Fresh(record) => ResponseSource::Fresh(Arc::clone(record)),
            Self::Archived(summary) => ResponseSource::Archived(Arc::clone(summary)),
        }
    }

    fn event(&self, api: &Api) -> Event {
        let (fresh, summary) = match self {
            Self::Fresh(record) => (Some(Arc::clone(record)), &Arc::clone(&record.summary)),
            Self::Archived(summary) => (None, summary),
        };
        Matches::with(api, fresh).row(summary)
    }

    fn position(&self) -> Option<HeaderValue> {
        match self {
            Self::Fresh(record) => position(record),
            Self::Archived(_) => None,
        }
    }
}

fn position(record: &MatchRecord) -> Option<HeaderValue> {
    let position = record.freshness?.position;
    HeaderValue::try_from(format!("{}:{}", fanout::Epoch(position.epoch), position.seq)).ok()
}
