//! The filters of lists of matches, as football of version 2, odds and predictions name them.
//!
//! Version 1 and the other sports have names and time zones of their own: `v1::request` and
//! `sports::request` read theirs. All of them make the same `MatchQuery`.

use facts::event::Sport;

use super::{ApiError, Params};
use history::query::MatchQuery;

/// Reads `league_id`, `season_id`, `team_id`, `date_from` and `date_to`. An endpoint that does not accept one
/// of them has refused it before.
///
/// # Errors
///
/// If a value is not valid.
pub(super) fn read(params: &Params, sport: Option<Sport>) -> Result<MatchQuery, ApiError> {
    Ok(MatchQuery {
        sport,
        from: params.from("date_from")?,
        before: params.before("date_to")?,
        competition: params.id("league_id")?,
        season: params.id("season_id")?,
        team: params.id("team_id")?,
        ..MatchQuery::default()
    })
}
