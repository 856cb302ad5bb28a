//! `/api/v2/events/`: all matches, by any filter.

use super::{
    include::{self, EventRow, IncludeParams},
    request::{DATE_FROM, DATE_TO, TOLERATED},
    snapshot::Matches,
};
use crate::rest::{
    ApiError, ApiRequest, ApiResult, Page, Param, Spec,
    kind::Number,
    match_filter::{IDS, MatchListParams, MatchParams},
};
use base::names::NamePart;
use history::query::EntityKind;
use record::Key;

params! {
    struct EventParams for MatchParams {
        date_from: Begin = DATE_FROM,
        date_to: End = DATE_TO,
        date: Day = "Filter by day",
        ids: MatchIds = IDS,
        #[alias("league")] league_id: Ids = "One or more leagues; also `league`",
        #[alias("season")] season_id: Ids = "One or more seasons; also `season`",
        team_id: Ids = "One or more teams, home or away",
    }
    struct EventTextParams {
        #[alias("team")] team_name: Text = "Part of a team's name, home or away; also `team`",
        status: Text = "Match status; separate several with commas",
        round: Text = "Round number or name",
        stage: Text = "`group`, or the name of a group or a round",
    }
}

const PAGING: &[Param] = &[
    Param::new::<Number>("limit", "Page size (default 50, max 200); also `page_size`"),
    Param::new::<Number>("offset", "Number of rows to skip; also `page`"),
];

/// SERVICE section 1.4: `date` is accepted as a filter, but is not listed.
const SPEC: Spec = Spec {
    aliases: &[("page_size", "limit"), ("page", "offset")],
    tolerated: &["date", TOLERATED[0], TOLERATED[1], TOLERATED[2]],
    ..Spec::new(&[
        EventParams::PARAMS,
        MatchListParams::PARAMS,
        IncludeParams::PARAMS,
        EventTextParams::PARAMS,
        PAGING,
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
    let EventTextParams { team_name, status, round, stage } =
        EventTextParams::read(&request.params)?;
    let filters = MatchParams { status, round, stage, ..EventParams::read(&request.params)? };
    let mut list = request.match_query(&filters)?;
    if let Some(part) = team_name {
        if list.teams.is_some() {
            let detail = "team_name goes with one team_id, not with several.".to_owned();
            return Err(ApiError::BadParameter(detail));
        }
        list.teams = Some(named(&matches, &part));
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
