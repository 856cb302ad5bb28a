//! Selects the matches of a list of predictions, for all sports.

use std::sync::Arc;

use ingest::event::Sport;
use serde::Serialize;
use utoipa::IntoParams;

use super::{
    request::{self, ApiResult, DAY, SportsQuery, SportsRequest},
    sport_stats::SportStats,
};
use crate::{
    api::{Api, ApiError, CacheControl, Spec, view::View},
    archive::Filter,
    record::{MatchRecord, Status},
};

/// The parameters of lists of predictions.
const SPEC: Spec = request::spec(&[
    "date_from",
    "date_to",
    "days",
    "league",
    "limit",
    "match",
    "offset",
    "player",
    "status",
    "team",
    "tournament",
    "upcoming",
]);

/// Which predictions.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the OpenAPI document names it")]
pub(super) struct Predicted {
    /// `true`: matches that have not started, the default without a match, dates or a status. `false`:
    /// matches with a result.
    upcoming: Option<bool>,
    /// Filter by match.
    r#match: Option<u64>,
    /// Upcoming matches of this many days.
    days: Option<u64>,
    /// Filter by league or tournament.
    league: Option<u64>,
    /// Same as `league`.
    tournament: Option<u64>,
    /// Filter by team: its ID or part of its name.
    team: Option<String>,
    /// Filter by player.
    player: Option<u64>,
    /// One or more match statuses, separated by commas.
    status: Option<String>,
}

/// The requested page of predictions.
pub(super) async fn list<T: Serialize>(
    request: &SportsRequest,
    sport: Sport,
    row: impl Fn(&Api, &MatchRecord, &SportStats) -> T,
) -> ApiResult {
    let query = request.read(SPEC)?;
    let filter = filter(&query, sport)?;
    let sport_stats = request.sport_stats(sport).await?;
    let (count, records) = match query.params.id("match")? {
        Some(id) => {
            let record = query.api.record(id).await?;
            let record = record.filter(|record| record.brief.sport == sport);
            let window = query.params.window()?;
            let page = record.iter().skip(window.offset).map(Arc::clone).collect();
            (usize::from(record.is_some()), page)
        }
        None => {
            let view = View::now(query.api, Some(sport));
            let found = view.find(&filter, query.params.window()?);
            (found.count, view.records(&found.briefs).await?)
        }
    };
    let rows = records.iter().map(|record| row(query.api, record, &sport_stats)).collect();
    query.found(CacheControl::PREDICTIONS, count, rows)
}

fn filter(query: &SportsQuery<'_>, sport: Sport) -> Result<Filter, ApiError> {
    let mut filter = query.filter(sport)?;
    let days = query.params.number("days")?;
    let is_free = filter.from.is_none() && filter.before.is_none() && filter.statuses.is_none();
    match query.params.flag("upcoming")? {
        Some(true) => upcoming(&mut filter, query, days),
        None if is_free || days.is_some() => upcoming(&mut filter, query, days),
        Some(false) if filter.statuses.is_none() => {
            filter.statuses = Some(Status::RESULTS.to_vec());
        }
        Some(false) | None => {}
    }
    Ok(filter)
}

fn upcoming(filter: &mut Filter, query: &SportsQuery<'_>, days: Option<u64>) {
    filter.statuses.get_or_insert_with(|| vec![Status::NotStarted]);
    filter.from = Some(filter.from.map_or(query.now, |from| from.max(query.now)));
    let days = days.and_then(|days| i64::try_from(days).ok());
    let end = days.and_then(|days| query.now.checked_add(days.checked_mul(DAY)?));
    filter.before = filter.before.or(end);
    filter.newest_first = false;
}
