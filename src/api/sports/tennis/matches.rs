//! `/tennis/api/v2/matches/`: the list, matches in play, and one match.

use axum::extract::Path;
use ingest::event::Sport;

use super::{
    super::{
        matches,
        request::{self, ApiResult, DAY, DateParams, PageParams, SportsRequest},
    },
    row::TennisMatch,
};
use crate::api::{
    CacheControl, Page, Spec,
    error::{ErrorBody, UnknownParametersBody},
};

const LIST: Spec = Spec {
    accepted: &["date_from", "date_to", "limit", "offset", "player", "status", "tournament"],
    aliases: request::ALIASES,
    // Old clients send `player_id`, which never had an effect.
    tolerated: &["date", "full", "ordering", "player_id", "tz"],
};

/// Matches. From today to seven days from now, unless dates, a tournament, a player or a status of
/// what is over are asked for.
#[utoipa::path(get, path = "/tennis/api/v2/matches/", tag = "tennis",
    params(
        DateParams,
        ("tournament" = Option<u64>, Query, description = "Filter by tournament."),
        ("player" = Option<u64>, Query, description = "Filter by player."),
        ("status" = Option<String>, Query, description = "One or more statuses, separated by commas: scheduled, \
            live, interrupted, finished, walkover, retired, postponed, cancelled, unresolved."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<TennisMatch>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn list(request: SportsRequest) -> ApiResult {
    let query = request.read(LIST)?;
    let mut filter = query.filter(Sport::Tennis)?;
    let wants_over =
        filter.statuses.as_ref().is_some_and(|statuses| statuses.iter().all(|it| it.is_over()));
    let is_narrow = filter.competition.is_some() || filter.team.is_some() || wants_over;
    if filter.from.is_none() && filter.before.is_none() && !is_narrow {
        filter.from = Some(query.now - query.now.rem_euclid(DAY));
        filter.before = Some(query.now + 7 * DAY);
        filter.newest_first = false;
    }
    let sport_stats = request.sport_stats(Sport::Tennis).await?;
    query.matches(&filter, |record| TennisMatch::of(&request.api, record, &sport_stats)).await
}

/// Matches in play, without an envelope.
#[utoipa::path(get, path = "/tennis/api/v2/matches/live/", tag = "tennis",
    params(
        ("tournament" = Option<u64>, Query, description = "Filter by tournament."),
        ("player" = Option<u64>, Query, description = "Filter by player."),
    ),
    responses(
        (status = 200, body = Vec<TennisMatch>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn live(request: SportsRequest) -> ApiResult {
    const LIVE: Spec = Spec {
        accepted: &["player", "tournament"],
        aliases: request::ALIASES,
        tolerated: &["date", "full", "limit", "offset", "ordering", "player_id", "tz"],
    };
    let params = request.read(LIVE)?.params;
    let (player, tournament) = (params.id("player")?, params.id("tournament")?);
    let sport_stats = request.sport_stats(Sport::Tennis).await?;
    let live = request.api.reader.live(Sport::Tennis);
    let wanted = live.iter().filter(|record| {
        let sides = record.brief.sides.unwrap_or_default();
        player.is_none_or(|player| sides.contains(&player))
            && (tournament.is_none() || record.brief.competition == tournament)
    });
    let rows: Vec<_> =
        wanted.map(|record| TennisMatch::of(&request.api, record, &sport_stats)).collect();
    request.answer(CacheControl::LIVE, &rows)
}

/// One match.
#[utoipa::path(get, path = "/tennis/api/v2/matches/{id}/", tag = "tennis",
    params(("id" = u64, Path)),
    responses((status = 200, body = TennisMatch), (status = 404, body = ErrorBody))
)]
pub(super) async fn detail(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    matches::one(&request, Sport::Tennis, &id, CacheControl::LIST, TennisMatch::of).await
}
