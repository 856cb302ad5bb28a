//! `/api/v2/events/`: all matches, by any filter.

use axum::{extract::State, http::Uri, response::Response};
use hyper::HeaderMap;

use super::{
    event::{self, Event},
    matches::Matches,
    request::{ListQuery, TOLERATED, football, holds},
    vocabulary::StatusFilter,
};
use crate::{
    api::{Api, ApiError, CacheControl, ErrorBody, Page, Spec, UnknownParametersBody},
    archive::{Condition, EntityKind},
    record::{Key, MatchSummary},
};

/// SERVICE section 1.4: `date` filters, and is not among the names that are told.
const SPEC: Spec = Spec {
    accepted: &[
        "date_from",
        "date_to",
        "league_id",
        "limit",
        "offset",
        "round",
        "season_id",
        "stage",
        "status",
        "team_id",
        "team_name",
    ],
    aliases: &[
        ("league", "league_id"),
        ("season", "season_id"),
        ("team", "team_name"),
        ("page_size", "limit"),
        ("page", "offset"),
    ],
    tolerated: &["date", TOLERATED[0], TOLERATED[1], TOLERATED[2]],
};

/// Matches, the earliest first.
#[utoipa::path(
    get,
    path = "/api/v2/events/",
    tag = "football v2",
    params(
        ("date_from" = Option<String>, Query, description = "From this day or timestamp, UTC"),
        ("date_to" = Option<String>, Query, description = "Up to the end of this day, or this timestamp, UTC"),
        ("date" = Option<String>, Query, description = "Filter by day, UTC"),
        ("league_id" = Option<u64>, Query, description = "Filter by league; also `league`"),
        ("season_id" = Option<u64>, Query, description = "Filter by season; also `season`"),
        ("team_id" = Option<u64>, Query, description = "Team, home or away"),
        ("team_name" = Option<String>, Query, description = "Part of a team's name, home or away; also `team`"),
        ("status" = Option<String>, Query, description = "Match status; separate several with commas"),
        ("round" = Option<String>, Query, description = "Round number or name"),
        ("stage" = Option<String>, Query, description = "`group`, or the name of a group or a round"),
        ("limit" = Option<usize>, Query, description = "Page size (default 50, max 200); also `page_size`"),
        ("offset" = Option<usize>, Query, description = "Number of rows to skip; also `page`"),
    ),
    responses(
        (status = 200, body = Page<Event>),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
    ),
)]
pub(super) async fn list(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = ListQuery::read(&api, &uri, &headers, SPEC)?;
    let params = &query.params;
    let mut filter = football();
    query.days(&mut filter)?;
    filter.competition = params.id("league_id")?;
    filter.season = params.id("season_id")?;
    filter.team = params.id("team_id")?;
    let matches = Matches::now(&api);
    filter.teams = params.text("team_name").map(|part| named(&matches, part));
    let wanted = query.status();
    filter.statuses = wanted.as_ref().map(|wanted| wanted.statuses.clone());
    let (round, stage) = (params.text("round"), params.text("stage"));
    // A number needs no look at the brief.
    filter.round = round.and_then(|round| round.parse().ok());
    let round_name = round.filter(|_| filter.round.is_none());
    let also = |brief: &MatchSummary| {
        wanted.as_ref().is_none_or(|wanted: &StatusFilter| wanted.lets_through(brief))
            && round_name.is_none_or(|name| is_round(brief, name))
            && stage.is_none_or(|stage| is_stage(brief, stage))
    };
    // A list of which rows alone decide need not be walked.
    let is_plain = round_name.is_none()
        && stage.is_none()
        && wanted.as_ref().is_none_or(StatusFilter::is_of_statuses_alone);
    let also = (!is_plain).then_some(&also as Condition<'_>);
    let found = matches.find_with(&filter, query.window, also);
    CacheControl::LIST.answer(&headers, &query.page(found.count, matches.rows(&found.briefs)))
}

/// Teams with this in their names.
fn named(matches: &Matches<'_>, part: &str) -> Vec<Key> {
    let teams = matches.entities(EntityKind::Team, |team| holds(&team.name, part));
    teams.iter().map(|team| team.id).collect()
}

fn is_round(brief: &MatchSummary, name: &str) -> bool {
    brief.round_name.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(name))
}

fn is_stage(brief: &MatchSummary, stage: &str) -> bool {
    let is_groups = brief.group.is_some() && stage.eq_ignore_ascii_case(event::GROUP_STAGE);
    let names = [brief.group.as_deref(), brief.round_name.as_deref()];
    is_groups || names.into_iter().flatten().any(|name| name.eq_ignore_ascii_case(stage))
}
