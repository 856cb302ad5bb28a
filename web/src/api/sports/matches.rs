//! Lists of matches, one match, and endpoints below one match, shared by several sports.

use ingest::event::Sport;
use serde::Serialize;

use super::{
    match_odds::StickOdds,
    price,
    request::{self, ApiResult, SportsRequest},
    sport_stats::SportStats,
};
use crate::{
    api::{Api, CacheControl, Spec},
    record::MatchRecord,
};

/// Matches: the newest first, unless the request has a start date.
pub(super) async fn list<T: Serialize>(
    request: &SportsRequest,
    sport: Sport,
    spec: Spec,
    row: impl Fn(&Api, &MatchRecord, &SportStats) -> T,
) -> ApiResult {
    let query = request.read(spec)?;
    let filter = query.filter(sport)?;
    let sport_stats = request.sport_stats(sport).await?;
    query.matches(&filter, |record| row(query.api, record, &sport_stats)).await
}

/// Matches in play.
pub(super) async fn live<T: Serialize>(
    request: &SportsRequest,
    sport: Sport,
    spec: Spec,
    row: impl Fn(&Api, &MatchRecord, &SportStats) -> T,
) -> ApiResult {
    let query = request.read(spec)?;
    let sport_stats = request.sport_stats(sport).await?;
    let filter = query.filter(sport)?;
    let mut live = query.api.reader.live(sport);
    live.retain(|record| {
        let sides = record.brief.sides.unwrap_or_default();
        filter.team.is_none_or(|team| sides.contains(&team))
            && (filter.competition.is_none() || record.brief.competition == filter.competition)
            && filter
                .teams
                .as_ref()
                .is_none_or(|teams| teams.iter().any(|team| sides.contains(team)))
    });
    query.page(CacheControl::LIVE, &live, |record| row(query.api, record, &sport_stats))
}

/// One match or its prediction, computed with the statistics of its sport.
pub(super) async fn one<T: Serialize>(
    request: &SportsRequest,
    sport: Sport,
    id: &str,
    cache: CacheControl,
    row: impl Fn(&Api, &MatchRecord, &SportStats) -> T,
) -> ApiResult {
    request.read(request::NONE)?;
    let record = request::record(&request.api, sport, id).await?;
    let sport_stats = request.sport_stats(sport).await?;
    request.answer(cache, &row(&request.api, &record, &sport_stats))
}

/// One part of a match.
pub(super) async fn part<T: Serialize>(
    request: &SportsRequest,
    sport: Sport,
    id: &str,
    cache: CacheControl,
    of: impl Fn(&Api, &MatchRecord) -> T,
) -> ApiResult {
    request.read(request::NONE)?;
    let record = request::record(&request.api, sport, id).await?;
    request.answer(cache, &of(&request.api, &record))
}

/// The odds of one match, in the shape of all sports except tennis and racing.
pub(super) async fn odds(request: &SportsRequest, sport: Sport, id: &str) -> ApiResult {
    request.read(request::NONE)?;
    let record = request::record(&request.api, sport, id).await?;
    let movements = price::movements(&request.api, record.brief.id).await?;
    request.answer(CacheControl::ODDS, &StickOdds::of(&record, &movements))
}
