//! `/api/v2/events/`: all matches, by any filter.

use super::{
    include::{self, EventRow, INCLUDE},
    request::{DATE_FROM, DATE_TO, TOLERATED},
    snapshot::Matches,
};
use crate::rest::{
    ApiError, ApiRequest, ApiResult, Page, Param, Spec,
    match_filter::{H2H, IDS, LAST, NEXT, SORT, UPDATED_SINCE},
};
use base::names::NamePart;
use history::query::EntityKind;
use record::Key;

/// SERVICE section 1.4: `date` is accepted as a filter, but is not listed.
const SPEC: Spec = Spec {
    aliases: &[
        ("league", "league_id"),
        ("season", "season_id"),
        ("team", "team_name"),
        ("page_size", "limit"),
        ("page", "offset"),
    ],
    tolerated: &["date", TOLERATED[0], TOLERATED[1], TOLERATED[2]],
    ..Spec::new(&[
        DATE_FROM,
        DATE_TO,
        Param::text("date", "Filter by day"),
        IDS,
        Param::ids("league_id", "One or more leagues; also `league`"),
        Param::ids("season_id", "One or more seasons; also `season`"),
        Param::ids("team_id", "One or more teams, home or away"),
        H2H,
        LAST,
        NEXT,
        SORT,
        UPDATED_SINCE,
        INCLUDE,
        Param::text("team_name", "Part of a team's name, home or away; also `team`"),
        Param::text("status", "Match status; separate several with commas"),
        Param::text("round", "Round number or name"),
        Param::text("stage", "`group`, or the name of a group or a round"),
        Param::number("limit", "Page size (default 50, max 200); also `page_size`"),
        Param::number("offset", "Number of rows to skip; also `page`"),
    ])
    .paged()
    .with_cursor()
};

endpoints! {
    /// Matches, the earliest first unless `last` or `sort` says otherwise.
    "/api/v2/events/", params(SPEC), answers(Page<EventRow>), |request| list(&request).await;
}

async fn list(request: &ApiRequest) -> ApiResult {
    let matches = Matches::now(&request.api);
    let mut list = request.match_query()?;
    if let Some(part) = request.params.text("team_name") {
        if list.teams.is_some() {
            let detail = "team_name goes with one team_id, not with several.".to_owned();
            return Err(ApiError::BadParameter(detail));
        }
        list.teams = Some(named(&matches, part));
    }
    let (list, found) = request.find_page(&matches, list)?;
    include::page(request, &matches, &list, &found).await
}

/// Teams with this in their names.
fn named(matches: &Matches<'_>, part: &str) -> Vec<Key> {
    let part = NamePart::new(part);
    let teams = matches.entities(EntityKind::Team, |team| part.is_in(&team.name));
    teams.iter().map(|team| team.id).collect()
}
