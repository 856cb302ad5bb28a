//! Selects the matches of a list of predictions, for all sports.

use facts::event::Sport;
use serde::Serialize;

use super::{
    request::{self, DATE, DATE_FROM, DATE_TO, DAY, PLAYER, TEAM},
    sport_stats::SportStats,
};
use crate::{
    clock::now,
    rest::{
        Api, ApiError, ApiRequest, ApiResult, CacheControl, Param, Spec, match_filter::IDS_MAX,
        view::View,
    },
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
    Param::ids("match", "One or more matches, at most 50, whatever the other filters are."),
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
    let mut query = filter(request, sport)?;
    if let Some(ids) = request.params.ids_up_to("match", IDS_MAX)? {
        let window = request.window;
        query = MatchQuery { ids: Some(ids), window, ..MatchQuery::of_sport(sport) };
    }
    let sport_stats = request.sport_stats(sport).await?;
    let view = View::now(&request.api.history, Some(sport));
    let found = view.find(&query);
    let records = view.records(&query, &found.summaries).await?;
    let rows = records.iter().map(|record| row(&request.api, record, &sport_stats)).collect();
    request.page(CacheControl::PREDICTIONS, found.count, rows)
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
