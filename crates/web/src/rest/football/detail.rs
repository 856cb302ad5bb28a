//! Endpoints below one match: `h2h`, `incidents`, `lineups`, `metadata`, `player-stats`, `stats`.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    head_to_head::HeadToHead,
    incidents::Incidents,
    line_ups::LineUps,
    player_stats::MatchPlayerStats,
    request::NONE,
    snapshot::{Matches, date},
    stats::Stats,
};
use crate::rest::{ApiError, ApiRequest, ApiResult, CacheControl};
use record::{Key, MatchRecord};

endpoints! {
    /// Earlier matches between the two sides.
    "/api/v2/events/{id}/h2h/", params(NONE), answers(HeadToHead), |request| {
            let summary = Arc::clone(&record(&request).await?.summary);
            request.answer(CacheControl::LIST, &Matches::now(&request.api).head_to_head(&summary, date))
        };

    /// What happened in it, the newest first.
    "/api/v2/events/{id}/incidents/", params(NONE), answers(Incidents),
        |request| part(&request, Incidents::new).await;

    /// Who starts and who sits on the bench.
    "/api/v2/events/{id}/lineups/", params(NONE), answers(LineUps),
        |request| part(&request, LineUps::new).await;

    /// What each player did in it.
    "/api/v2/events/{id}/player-stats/", params(NONE), answers(MatchPlayerStats),
        |request| part(&request, MatchPlayerStats::new).await;

    /// What was counted of each side.
    "/api/v2/events/{id}/stats/", params(NONE), answers(Stats),
        |request| part(&request, Stats::new).await;

    /// Colours and texts about it.
    "/api/v2/events/{id}/metadata/", params(NONE), answers(Metadata), |request| {
            let event_id = record(&request).await?.summary.id;
            request.answer(CacheControl::REFERENCE, &Metadata::new(event_id))
        };
}

/// The match in the path.
async fn record(request: &ApiRequest) -> Result<Arc<MatchRecord>, ApiError> {
    Matches::now(&request.api).record(request.id()?).await?.ok_or(ApiError::NotFound)
}

/// One part of a match, which changes while the match is in play.
async fn part<T: Serialize>(request: &ApiRequest, to_part: fn(&MatchRecord) -> T) -> ApiResult {
    let record = record(request).await?;
    let is_live = record.summary.status.is_live();
    request.answer(if is_live { CacheControl::LIVE } else { CacheControl::LIST }, &to_part(&record))
}

/// What no feed provides is `null`, and the facts are empty without a source for them.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Metadata {
    event_id: Key,
    jerseys: Option<Jerseys>,
    facts: Vec<String>,
    preview: Option<String>,
}

/// Colours as six hexadecimal digits.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Jerseys {
    home: Option<String>,
    away: Option<String>,
}

impl Metadata {
    fn new(event_id: Key) -> Self {
        Self { event_id, jerseys: None, facts: Vec::new(), preview: None }
    }
}
