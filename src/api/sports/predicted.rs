//! Which matches a list of predictions is of: the same for all sports.

use std::sync::Arc;

use ingest::event::Sport;
use serde::Serialize;
use utoipa::IntoParams;

use super::{
    asked::{self, Answer, Asked, DAY, Request},
    digest::Digest,
};
use crate::{
    api::{Api, ApiError, Kept, Spec, view::View},
    archive::Filter,
    record::{MatchRecord, Status},
};

/// The parameters of lists of predictions.
const SPEC: Spec = asked::spec(&[
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
#[expect(dead_code, reason = "told of in the document alone")]
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

/// The page of predictions that a request asks for.
pub(super) async fn list<T: Serialize>(
    request: &Request,
    sport: Sport,
    row: impl Fn(&Api, &MatchRecord, &Digest) -> T,
) -> Answer {
    let asked = request.read(SPEC)?;
    let filter = filter(&asked, sport)?;
    let digest = request.digest(sport).await?;
    let (count, records) = match asked.params.id("match")? {
        Some(id) => {
            let record = asked.api.record(id).await?;
            let record = record.filter(|record| record.brief.sport == sport);
            let window = asked.params.window()?;
            let shown = record.iter().skip(window.offset).map(Arc::clone).collect();
            (usize::from(record.is_some()), shown)
        }
        None => {
            let view = View::now(asked.api, Some(sport));
            let found = view.find(&filter, asked.params.window()?);
            (found.count, view.records(&found.briefs).await?)
        }
    };
    let rows = records.iter().map(|record| row(asked.api, record, &digest)).collect();
    asked.found(Kept::PREDICTIONS, count, rows)
}

fn filter(asked: &Asked<'_>, sport: Sport) -> Result<Filter, ApiError> {
    let mut filter = asked.filter(sport)?;
    let days = asked.params.number("days")?;
    let is_free = filter.from.is_none() && filter.before.is_none() && filter.statuses.is_none();
    match asked.params.flag("upcoming")? {
        Some(true) => upcoming(&mut filter, asked, days),
        None if is_free || days.is_some() => upcoming(&mut filter, asked, days),
        Some(false) if filter.statuses.is_none() => {
            filter.statuses = Some(Status::RESULTS.to_vec());
        }
        Some(false) | None => {}
    }
    Ok(filter)
}

fn upcoming(filter: &mut Filter, asked: &Asked<'_>, days: Option<u64>) {
    filter.statuses.get_or_insert_with(|| vec![Status::NotStarted]);
    filter.from = Some(filter.from.map_or(asked.now, |from| from.max(asked.now)));
    let days = days.and_then(|days| i64::try_from(days).ok());
    let end = days.and_then(|days| asked.now.checked_add(days.checked_mul(DAY)?));
    filter.before = filter.before.or(end);
    filter.newest_first = false;
}
