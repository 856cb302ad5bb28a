//! `/tennis/api/v2/matches/`: the list, matches in play, and one match.

use facts::event::Sport;

use super::{
    super::{
        matches,
        request::{self, DAY, DateParams, NONE, PlayerParams, TournamentParams},
    },
    row::TennisMatch,
};
use crate::{
    clock::now,
    rest::{
        ApiRequest, ApiResult, CacheControl, Page, Param, Spec,
        kind::Text,
        match_filter::{IdParams, MatchListParams},
        params::STATUS,
    },
};
use history::query::MatchQuery;
use record::Status;

const LIST: Spec = Spec {
    // Old clients send `player_id`, which never had an effect.
    tolerated: &["date", "full", "ordering", "player_id", "tz"],
    ..request::spec(&[
        DateParams::PARAMS,
        TournamentParams::PARAMS,
        PlayerParams::PARAMS,
        IdParams::PARAMS,
        MatchListParams::PARAMS,
        &[Param::new::<Text>(
            STATUS,
            "One or more statuses, separated by commas: scheduled, live, interrupted, finished, \
             walkover, retired, postponed, cancelled, unresolved.",
        )],
    ])
    .paged()
    .with_cursor()
};

const LIVE: Spec = Spec {
    tolerated: &["date", "full", "limit", "offset", "ordering", "player_id", "tz"],
    ..request::spec(&[TournamentParams::PARAMS, PlayerParams::PARAMS])
};

endpoints! {
    /// Matches. The default range is from today to seven days ahead, unless dates, a tournament, a
    /// player or only statuses of matches that have started are requested.
    "/tennis/api/v2/matches/", params(LIST), answers(Page<TennisMatch>),
        |request| list(&request).await;

    /// Matches in play, without an envelope.
    "/tennis/api/v2/matches/live/", params(LIVE), answers(Vec<TennisMatch>),
        |request| live(&request).await;

    /// One match.
    "/tennis/api/v2/matches/{id}/", params(NONE), answers(TennisMatch),
        |request| matches::one(&request, Sport::Tennis, CacheControl::LIST, TennisMatch::new).await;
}

async fn list(request: &ApiRequest) -> ApiResult {
    let mut filter = request.filter(Sport::Tennis)?;
    let list_params = MatchListParams::read(&request.params)?;
    // Matches in play may have started yesterday.
    let has_started =
        |statuses: &Vec<Status>| statuses.iter().all(|it| it.is_over() || it.is_live());
    let is_narrow = filter.is_narrow()
        || list_params.is_set(&IdParams::read(&request.params)?.ids)
        || filter.statuses.as_ref().is_some_and(has_started);
    if filter.from.is_none() && filter.before.is_none() && !is_narrow {
        let now = now();
        filter.from = Some(now - now.rem_euclid(DAY));
        filter.before = Some(now + 7 * DAY);
        filter.newest_first = list_params.sort.is_some() && filter.newest_first;
    }
    let sport_stats = request.sport_stats(Sport::Tennis).await?;
    request.matches(&filter, |record| TennisMatch::new(&request.api, record, &sport_stats)).await
}

async fn live(request: &ApiRequest) -> ApiResult {
    let params = &request.params;
    let (team, teams) = PlayerParams::read(params)?.player.one_or_several();
    let (competition, competitions) = TournamentParams::read(params)?.tournament.one_or_several();
    let filter = MatchQuery {
        team,
        teams,
        competition,
        competitions,
        ..MatchQuery::of_sport(Sport::Tennis)
    };
    let sport_stats = request.sport_stats(Sport::Tennis).await?;
    let live = request.api.history.live(Sport::Tennis);
    let wanted = live.iter().filter(|record| filter.selects(&record.summary));
    let rows: Vec<_> =
        wanted.map(|record| TennisMatch::new(&request.api, record, &sport_stats)).collect();
    request.answer(CacheControl::LIVE, &rows)
}
