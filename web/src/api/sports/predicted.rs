//! Selects the matches of a list of predictions, for all sports.

use std::sync::Arc;

use facts::event::Sport;
use serde::Serialize;

use super::{
    request::{self, DATE, DATE_FROM, DATE_TO, DAY, PLAYER, TEAM},
    sport_stats::SportStats,
};
use crate::{
    api::{Api, ApiError, ApiRequest, ApiResult, CacheControl, Param, Spec, view::View},
    clock::now,
};
use history::query::MatchQuery;
use record::{MatchRecord, Status};

/// The parameters of lists of predictions.
pub(super) const PREDICTIONS: Spec = request::spec(&[
    Param::flag(
        "upcoming",
        "`true`: matches that have not started, the default without a match, dates or a status. `false`:\n\
         matches with a result.",
    ),
    Param::id("match", "Filter by match."),
    Param::number("days", "Upcoming matches of this many days."),
    Param::ids("league", "One or more leagues or tournaments."),
    Param::ids("tournament", "Same as `league`."),
    TEAM,
    PLAYER,
    Param::text("status", "One or more match statuses, separated by commas."),
    DATE_FROM,
    DATE_TO,
    DATE,
])
.paged();

/// The requested page of predictions.
pub(super) async fn list<T: Serialize>(
    request: &ApiRequest,
    sport: Sport,
    row: impl Fn(&Api, &MatchRecord, &SportStats) -> T,
) -> ApiResult {
    let filter = filter(request, sport)?;
    let sport_stats = request.sport_stats(sport).await?;
    let (count, records) = match request.params.id("match")? {
        Some(id) => {
            let record = request.api.record(id).await?;
            let record = record.filter(|record| record.brief.sport == sport);
            let page = record.iter().skip(request.window.offset).map(Arc::clone).collect();
            (usize::from(record.is_some()), page)
        }
        None => {
            let view = View::now(&request.api.history, Some(sport));
            let found = view.find(&filter);
            (found.count, view.records(&found.briefs).await?)
        }
    };
    let rows = records.iter().map(|record| row(&request.api, record, &sport_stats)).collect();
    request.page(CacheControl::PREDICTIONS, count, rows)
}

fn filter(request: &ApiRequest, sport: Sport) -> Result<MatchQuery, ApiError> {
    let mut filter = request.filter(sport)?;
    let days = request.params.number("days")?;
    let is_free = filter.from.is_none() && filter.before.is_none() && filter.statuses.is_none();
    match request.params.flag("upcoming")? {
        Some(true) => upcoming(&mut filter, days),
        None if is_free || days.is_some() => upcoming(&mut filter, days),
        Some(false) if filter.statuses.is_none() => {
            filter.statuses = Some(Status::RESULTS.to_vec());
        }
        Some(false) | None => {}
    }
    Ok(filter)
}

fn upcoming(filter: &mut MatchQuery, days: Option<u64>) {
    let now = now();
    filter.statuses.get_or_insert_with(|| vec![Status::NotStarted]);
    filter.from = Some(filter.from.map_or(now, |from| from.max(now)));
    let days = days.and_then(|days| i64::try_from(days).ok());
    let end = days.and_then(|days| now.checked_add(days.checked_mul(DAY)?));
    filter.before = filter.before.or(end);
    filter.newest_first = false;
}
