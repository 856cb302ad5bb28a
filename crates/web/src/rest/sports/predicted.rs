//! Selects the matches of a list of predictions, for all sports.

use facts::event::Sport;
use serde::Serialize;

use super::{
    request::{self, DAY, DateParams, PlayerParams, TeamParams},
    sport_stats::SportStats,
};
use crate::{
    clock::now,
    rest::{
        Api, ApiError, ApiRequest, ApiResult, CacheControl, Param, Spec,
        kind::{Ids, Text},
        params::STATUS,
        view::View,
    },
};
use history::query::MatchQuery;
use record::{MatchRecord, Status};

params! {
    struct PredictionParams {
        upcoming: Flag = "`true`: matches that have not started, the default without a match, dates or a status. `false`:\nmatches with a result.",
        matches as "match": Ids = "One or more matches, at most 50, whatever the other filters are.",
        days: Number = "Upcoming matches of this many days.",
    }
}

/// The parameters of lists of predictions.
pub(super) const PREDICTIONS: Spec = request::spec(&[
    PredictionParams::PARAMS,
    &[
        Param::new::<Ids>("league", "One or more leagues or tournaments."),
        Param::new::<Ids>("tournament", "Same as `league`."),
    ],
    TeamParams::PARAMS,
    PlayerParams::PARAMS,
    &[Param::new::<Text>(STATUS, "One or more match statuses, separated by commas.")],
    DateParams::PARAMS,
])
.paged();

/// The requested page of predictions.
pub(super) async fn list<T: Serialize>(
    request: &ApiRequest,
    sport: Sport,
    row: impl Fn(&Api, &MatchRecord, &SportStats) -> T,
) -> ApiResult {
    let wanted = PredictionParams::read(&request.params)?;
    let mut query = filter(request, sport, &wanted)?;
    if wanted.matches.is_set() {
        let (ids, window) = (wanted.matches.ids(), request.window);
        query = MatchQuery { ids, window, ..MatchQuery::of_sport(sport) };
    }
    let sport_stats = request.sport_stats(sport).await?;
    let view = View::now(&request.api.history, Some(sport));
    let found = view.find(&query);
    let records = view.records(&query, &found.summaries).await?;
    let rows = records.iter().map(|record| row(&request.api, record, &sport_stats)).collect();
    request.page(CacheControl::PREDICTIONS, found.count, rows)
}

fn filter(
    request: &ApiRequest,
    sport: Sport,
    wanted: &PredictionParams,
) -> Result<MatchQuery, ApiError> {
    let mut filter = request.filter(sport)?;
    let days = wanted.days;
    let is_free = filter.from.is_none() && filter.before.is_none() && filter.statuses.is_none();
    match wanted.upcoming {
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
