//! The table of a league, computed from its results.

use facts::event::Sport;
use serde::Serialize;

use super::request;
use crate::rest::{Api, ApiError, ApiRequest, ApiResult, CacheControl, Spec};
use history::query::{
    EntityKind, MatchQuery, StandingsRow, StandingsRule, View, latest_season, league_table,
};
use record::{Key, MatchSummary, Status};

params! {
    struct RequiredLeagueParams {
        #[required]
        league: Id = "The league.",
    }
    struct SeasonParams { season: Id = "A season of the league (default: the latest)." }
}

/// The parameters of the table of a league.
pub(super) const TABLE: Spec = request::spec(&[RequiredLeagueParams::PARAMS, SeasonParams::PARAMS]);

/// The parameters of the table of the league in the path.
pub(super) const TABLE_OF_LEAGUE: Spec =
    request::spec(&[SeasonParams::PARAMS]).hiding(&[RequiredLeagueParams::PARAMS]);

/// The table of the league in the path, or else in the request.
pub(super) fn table<T: Serialize>(
    request: &ApiRequest,
    sport: Sport,
    league: Option<Key>,
    had_overtime: fn(&MatchSummary) -> bool,
    table: impl Fn(&Api, Key, Vec<StandingsRow>) -> T,
) -> ApiResult {
    let (league, lines) = league_standings(request, sport, league, had_overtime)?;
    request.answer(CacheControl::LIST, &table(&request.api, league, lines))
}

/// The requested league and its rows, unordered: of the latest season, or of the requested one.
fn league_standings(
    request: &ApiRequest,
    sport: Sport,
    league: Option<Key>,
    had_overtime: fn(&MatchSummary) -> bool,
) -> Result<(Key, Vec<StandingsRow>), ApiError> {
    let missing =
        || ApiError::BadParameter("league is to be given: the id of a league.".to_owned());
    let league =
        league.or(RequiredLeagueParams::read(&request.params)?.league).ok_or_else(missing)?;
    let league_entity = request.api.history.entity(EntityKind::Competition, league);
    league_entity.filter(|league_entity| league_entity.sport == sport).ok_or(ApiError::NotFound)?;
    let filter = MatchQuery {
        competition: Some(league),
        season: SeasonParams::read(&request.params)?.season,
        statuses: Some(Status::RESULTS.to_vec()),
        newest_first: true,
        ..MatchQuery::default()
    };
    let found = View::now(&request.api.history, Some(sport)).all(&filter);
    let mut season: Vec<_> = latest_season(found.iter().map(AsRef::as_ref)).collect();
    season.reverse();
    Ok((league, league_table(season, StandingsRule::Winner { had_overtime })))
}
