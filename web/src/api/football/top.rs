//! `leagues/{id}/top/{stat}/`: the leaders of a season.

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    matches::Matches,
    players,
    request::{self, key},
    seasons::{Calendar, Season},
};
use crate::{
    api::{Api, ApiError, CacheControl, ErrorBody, Params, Spec, UnknownParametersBody},
    archive::{EntityKind, Leader, LeaderRow},
    record::Key,
};

/// SERVICE section 1.8.
const LIMIT_DEFAULT: usize = 20;
const LIMIT_MAX: usize = 50;

/// SERVICE section 1.2: no envelope of pages.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Top {
    league_id: Key,
    season: Option<Season>,
    stat: &'static str,
    label: &'static str,
    leaders: Vec<Leading>,
}

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Leading {
    /// The same for the same value.
    rank: usize,
    player_id: Key,
    player_name: String,
    position: String,
    team_id: Key,
    team_name: String,
    value: u64,
    /// In which the player was on the pitch.
    matches: u64,
}

const SPEC: Spec = request::spec(&["limit", "season_id"]);

/// The word in the path, its title, and the statistic.
const STATS: [(&str, &str, Leader); 5] = [
    ("scorers", "Goals", Leader::Goals),
    ("assists", "Assists", Leader::Assists),
    ("yellowcards", "Yellow cards", Leader::Yellow),
    ("redcards", "Red cards", Leader::Red),
    ("fouls", "Fouls", Leader::Fouls),
];

/// Who leads a season.
#[utoipa::path(
    get,
    path = "/api/v2/leagues/{id}/top/{stat}/",
    tag = "football v2",
    params(
        ("id" = u64, Path, description = "The league"),
        ("stat" = String, Path, description = "scorers, assists, yellowcards, redcards or fouls"),
        ("season_id" = Option<u64>, Query, description = "The season (default: the current one)"),
        ("limit" = Option<usize>, Query, description = "Number of rows (default 20, max 50)"),
    ),
    responses(
        (status = 200, body = Top),
        (status = 400, body = UnknownParametersBody),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody),
    ),
)]
pub(super) async fn top(
    State(api): State<Api>,
    Path((id, stat)): Path<(String, String)>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let params = Params::read(uri.query(), SPEC)?;
    let known = STATS.iter().find(|(word, ..)| *word == stat);
    let (stat, label, leader) = *known.ok_or(ApiError::NotFound)?;
    let matches = Matches::now(&api);
    let league = matches.entity(EntityKind::Competition, key(&id)?)?;
    let calendar = Calendar::of(&matches, Some(league.id));
    let season = calendar.season(&matches, league.id, params.id("season_id")?)?;
    let limit = params.window_of(LIMIT_DEFAULT, LIMIT_MAX)?.limit;
    let rows = match &season {
        Some(season) => api.archive.leaders(season.id, leader, limit).await?,
        None => Vec::new(),
    };
    let leaders = ranked(&matches, &rows);
    CacheControl::LIST.answer(&headers, &Top { league_id: league.id, season, stat, label, leaders })
}

fn ranked(matches: &Matches<'_>, rows: &[LeaderRow]) -> Vec<Leading> {
    let mut leaders: Vec<Leading> = Vec::with_capacity(rows.len());
    for (place, row) in rows.iter().enumerate() {
        let before = leaders.last().filter(|before| before.value == row.value);
        leaders.push(Leading {
            rank: before.map_or(place + 1, |before| before.rank),
            player_id: row.player,
            player_name: matches.name(EntityKind::Player, row.player),
            position: players::position(matches, row.player),
            team_id: row.team,
            team_name: matches.team_name(row.team),
            value: row.value,
            matches: row.matches,
        });
    }
    leaders
}
