//! `/csgo/api/v2/matches/`.

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    asked::{self, Asked, Days, Paging},
    digest::{Digest, Shared},
    form::{self, HeadToHead, Report},
    lists,
    meetings::Seen,
    price,
    shape::{self, NamedRow, TeamBrief},
    status,
    stick::{IdName, StickOdds},
};
use crate::{
    api::{
        Api, ApiError, Kept, Page, Params, Spec,
        error::{ErrorBody, UnknownParametersBody},
    },
    record::{Key, MatchRecord},
};

const SPORT: Sport = Sport::Cs2;

const MATCHES: Spec =
    asked::spec(&["date_from", "date_to", "limit", "offset", "status", "team", "tournament"]);

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CsgoMatch {
    id: Key,
    tournament: Option<NamedRow>,
    stage: Option<String>,
    home_team: Option<TeamBrief>,
    away_team: Option<TeamBrief>,
    start_time: Option<String>,
    status: &'static str,
    best_of: Option<u8>,
    /// Maps won.
    home_score: Option<u32>,
    away_score: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CsgoDetail {
    #[serde(flatten)]
    row: CsgoMatch,
    maps: Vec<CsgoMap>,
}

#[derive(Debug, Serialize, ToSchema)]
struct CsgoMap {
    /// By its number, `map 1`: no feed of ours tells what a map is called.
    map: String,
    map_name: Option<String>,
    home_rounds: u32,
    away_rounds: u32,
}

/// Counted from the results of both teams before the match.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CsgoStats {
    match_id: Key,
    teams: Vec<CsgoTeamStats>,
    head_to_head: HeadToHead,
}

#[derive(Debug, Serialize, ToSchema)]
struct CsgoTeamStats {
    team: NamedRow,
    /// 0 to 1.
    map_winrate: Option<f64>,
    round_winrate_all: Option<f64>,
    /// What no feed of ours tells.
    round_winrate_t: Option<f64>,
    round_winrate_ct: Option<f64>,
    pistol_winrate: Option<f64>,
    kd_ratio: Option<f64>,
    avg_damage: Option<f64>,
    /// The last five, `W`, `D`, `L`, the latest first.
    form_results: Vec<String>,
}

/// No feed of ours tells what players do: the list is empty.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CsgoPlayerStats {
    match_id: Key,
    count: usize,
    player_stats: Vec<NamedRow>,
}

/// Matches: the newest first, unless the request says from when on.
#[utoipa::path(get, path = "/csgo/api/v2/matches/", tag = "csgo",
    params(
        Days,
        ("tournament" = Option<u64>, Query, description = "Of this tournament."),
        ("team" = Option<String>, Query, description = "Of this team, by its id or a part of its name."),
        ("status" = Option<String>, Query, description = "Of these statuses, with commas: notstarted, inprogress, finished, postponed, cancelled, unresolved."),
        Paging,
    ),
    responses(
        (status = 200, body = Page<CsgoMatch>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn list(
    State(api): State<Api>,
    digests: Shared,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::read(&api, &uri, &headers, MATCHES)?;
    let filter = asked.filter(Sport::Cs2)?;
    let digest = digests.of(&api, Sport::Cs2).await?;
    asked.matches(&filter, |record| CsgoMatch::of(&api, record, &digest)).await
}

/// Matches in play.
#[utoipa::path(get, path = "/csgo/api/v2/matches/live/", tag = "csgo",
    params(
        ("tournament" = Option<u64>, Query, description = "Of this tournament."),
        ("team" = Option<String>, Query, description = "Of this team, by its id or a part of its name."),
        Paging,
    ),
    responses(
        (status = 200, body = Page<CsgoMatch>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn live(
    State(api): State<Api>,
    digests: Shared,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let asked = Asked::read(&api, &uri, &headers, MATCHES)?;
    let digest = digests.of(&api, Sport::Cs2).await?;
    lists::live(&asked, Sport::Cs2, |record| CsgoMatch::of(&api, record, &digest))
}

/// One match.
#[utoipa::path(get, path = "/csgo/api/v2/matches/{id}/", tag = "csgo",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = CsgoDetail),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn detail(
    State(api): State<Api>,
    digests: Shared,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), asked::spec(&[]))?;
    let record = asked::record(&api, SPORT, &id).await?;
    let digest = digests.of(&api, SPORT).await?;
    let maps = record.brief.parts.iter().zip(1..).map(|([home, away], number)| CsgoMap {
        map: format!("map {number}"),
        map_name: None,
        home_rounds: *home,
        away_rounds: *away,
    });
    let maps = maps.collect();
    let row = CsgoMatch::of(&api, &record, &digest);
    Kept::LIST.answer(&headers, &CsgoDetail { row, maps })
}

/// What each bookmaker gives. Who may ask sees them by name.
#[utoipa::path(get, path = "/csgo/api/v2/matches/{id}/odds/", tag = "csgo",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = StickOdds),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn odds(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), asked::spec(&[]))?;
    let record = asked::record(&api, SPORT, &id).await?;
    let movements = price::movements(&api, record.brief.id).await?;
    Kept::ODDS.answer(&headers, &StickOdds::of(&record, &movements, IdName::Match))
}

/// What each player did, as far as a feed tells it.
#[utoipa::path(get, path = "/csgo/api/v2/matches/{id}/player-stats/", tag = "csgo",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = CsgoPlayerStats),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn player_stats(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), asked::spec(&[]))?;
    let record = asked::record(&api, SPORT, &id).await?;
    let match_id = record.brief.id;
    let stats = CsgoPlayerStats { match_id, count: 0, player_stats: Vec::new() };
    Kept::LIST.answer(&headers, &stats)
}

/// How both teams did before the match, by the results that are kept.
#[utoipa::path(get, path = "/csgo/api/v2/matches/{id}/stats/", tag = "csgo",
    params(
        ("id" = u64, Path),
    ),
    responses(
        (status = 200, body = CsgoStats),
        (status = 400, body = UnknownParametersBody),
        (status = 404, body = ErrorBody),
    )
)]
pub(super) async fn stats(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    Params::read(uri.query(), asked::spec(&[]))?;
    let record = asked::record(&api, SPORT, &id).await?;
    let Report { head_to_head, results, .. } = Report::of(&api, &record);
    let sides = record.names.sides.iter().flatten().zip(&results);
    let teams = sides.map(|(team, results)| CsgoTeamStats::of(NamedRow::of(team), results));
    let stats = CsgoStats { match_id: record.brief.id, teams: teams.collect(), head_to_head };
    Kept::REFERENCE.answer(&headers, &stats)
}

impl CsgoMatch {
    fn of(api: &Api, record: &MatchRecord, digest: &Digest) -> Self {
        let brief = &record.brief;
        let [home_team, away_team] = TeamBrief::both(api, record, digest);
        Self {
            id: brief.id,
            tournament: record.names.competition.as_ref().map(NamedRow::of),
            stage: shape::text(brief.round_name.as_ref().or(brief.group.as_ref())),
            home_team,
            away_team,
            start_time: shape::start(record),
            status: status::word(SPORT, brief.status),
            best_of: brief.best_of,
            home_score: shape::of_pair(brief.score, 0),
            away_score: shape::of_pair(brief.score, 1),
        }
    }
}

impl CsgoTeamStats {
    fn of(team: NamedRow, results: &[Seen]) -> Self {
        let maps = share(results.iter().filter_map(Seen::score));
        let rounds = share(results.iter().flat_map(Seen::parts));
        let form = results.iter().take(5).map(|seen| form::letter(seen).to_string());
        Self {
            team,
            map_winrate: maps,
            round_winrate_all: rounds,
            round_winrate_t: None,
            round_winrate_ct: None,
            pistol_winrate: None,
            kd_ratio: None,
            avg_damage: None,
            form_results: form.collect(),
        }
    }
}

/// What share of all the first of each pair is.
fn share(pairs: impl Iterator<Item = [u32; 2]>) -> Option<f64> {
    let [own, all] = pairs.fold([0_u32, 0_u32], |[own, all], [won, lost]| {
        [own.saturating_add(won), all.saturating_add(won).saturating_add(lost)]
    });
    form::ratio(f64::from(own), usize::try_from(all).ok()?)
}
