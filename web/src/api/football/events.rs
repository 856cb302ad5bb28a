//! `/api/v2/events/`: all matches, by any filter.

use super::{
    event::Event,
    matches::Matches,
    request::{DATE_FROM, DATE_TO, TOLERATED},
};
use crate::api::{ApiRequest, ApiResult, Page, Param, Spec};
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
    ..Spec::of(&[
        DATE_FROM,
        DATE_TO,
        Param::text("date", "Filter by day, UTC"),
        Param::id("league_id", "Filter by league; also `league`"),
        Param::id("season_id", "Filter by season; also `season`"),
        Param::id("team_id", "Team, home or away"),
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
    /// Matches, the earliest first.
    "/api/v2/events/", params(SPEC), answers(Page<Event>), |request| list(&request);
}

fn list(request: &ApiRequest) -> ApiResult {
    let matches = Matches::now(&request.api);
    let mut list = request.match_query()?;
    list.teams = request.params.text("team_name").map(|part| named(&matches, part));
    let list = request.behind_cursor(&matches, list)?;
    let found = matches.find(&list);
    request.match_page(&list, &found, matches.rows(&found.briefs))
}

/// Teams with this in their names.
fn named(matches: &Matches<'_>, part: &str) -> Vec<Key> {
    let part = NamePart::new(part);
    let teams = matches.entities(EntityKind::Team, |team| part.is_in(&team.name));
    teams.iter().map(|team| team.id).collect()
}
