//! Lists of matches, one match, and endpoints below one match, shared by several sports.

use facts::event::Sport;
use serde::Serialize;

use super::{match_odds::StickOdds, price, sport_stats::SportStats};
use crate::rest::{Api, ApiRequest, ApiResult, CacheControl};
use history::query::MatchQuery;
use record::MatchRecord;

/// Matches: the newest first, unless the request has a start date.
pub(super) async fn list<T: Serialize>(
    request: &ApiRequest,
    sport: Sport,
    row: impl Fn(&Api, &MatchRecord, &SportStats) -> T,
) -> ApiResult {
    let filter = request.filter(sport)?;
    let sport_stats = request.sport_stats(sport).await?;
    request.matches(&filter, |record| row(&request.api, record, &sport_stats)).await
}

/// Matches in play.
pub(super) async fn live<T: Serialize>(
    request: &ApiRequest,
    sport: Sport,
    row: impl Fn(&Api, &MatchRecord, &SportStats) -> T,
) -> ApiResult {
    let sport_stats = request.sport_stats(sport).await?;
    // Dates and statuses do not apply to what is in play now.
    let filter = MatchQuery { from: None, before: None, statuses: None, ..request.filter(sport)? };
    let mut live = request.api.history.live(sport);
    live.retain(|record| filter.selects(&record.summary));
    request.page_of(CacheControl::LIVE, &live, |record| row(&request.api, record, &sport_stats))
}

/// One match or its prediction, computed with the statistics of its sport.
pub(super) async fn one<T: Serialize>(
    request: &ApiRequest,
    sport: Sport,
    cache: CacheControl,
    row: impl Fn(&Api, &MatchRecord, &SportStats) -> T,
) -> ApiResult {
    let record = request.record(sport).await?;
    let sport_stats = request.sport_stats(sport).await?;
    request.answer(cache, &row(&request.api, &record, &sport_stats))
}

/// One part of a match.
pub(super) async fn part<T: Serialize>(
    request: &ApiRequest,
    sport: Sport,
    cache: CacheControl,
    to_part: impl Fn(&Api, &MatchRecord) -> T,
) -> ApiResult {
    let record = request.record(sport).await?;
    request.answer(cache, &to_part(&request.api, &record))
}

/// The odds of one match, in the shape of all sports except tennis and racing.
pub(super) async fn odds(request: &ApiRequest, sport: Sport) -> ApiResult {
    let record = request.record(sport).await?;
    let movements = price::movements(&request.api, record.summary.id).await?;
    request.answer(CacheControl::ODDS, &StickOdds::new(&record, &movements))
}
