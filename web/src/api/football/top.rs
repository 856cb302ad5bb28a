//! `leagues/{id}/top/{stat}/`: the leaders of a season.

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    matches::Matches,
    players, request,
    seasons::{Season, calendar},
};
use crate::api::{ApiError, ApiRequest, ApiResult, CacheControl, PageSize, Param, Spec};
use history::query::{EntityKind, Leader, LeaderRow};
use record::Key;

/// SERVICE section 1.8.
const LEADERS: PageSize = PageSize { default: 20, max: 50 };

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

/// The word in the path, its title, and the statistic.
const STATS: [(&str, &str, Leader); 5] = [
    ("scorers", "Goals", Leader::Goals),
    ("assists", "Assists", Leader::Assists),
    ("yellowcards", "Yellow cards", Leader::Yellow),
    ("redcards", "Red cards", Leader::Red),
    ("fouls", "Fouls", Leader::Fouls),
];

const SPEC: Spec = request::spec(&[
    Param::text("stat", "scorers, assists, yellowcards, redcards or fouls").in_path(),
    Param::id("season_id", "The season (default: the current one)"),
    Param::number("limit", "Number of rows (default 20, max 50)"),
]);

endpoints! {
    /// Who leads a season.
    "/api/v2/leagues/{id}/top/{stat}/", params(SPEC), answers(Top), |request| top(&request).await;
}

async fn top(request: &ApiRequest) -> ApiResult {
    let params = &request.params;
    let known = STATS.iter().find(|(word, ..)| *word == request.path("stat"));
    let (stat, label, leader) = *known.ok_or(ApiError::NotFound)?;
    let (matches, league) = Matches::for_entity(request, EntityKind::Competition)?;
    let calendar = calendar(&matches, Some(league.id));
    let season = Season::requested(&matches, &calendar, league.id, params.id("season_id")?)?;
    let limit = params.window_of(LEADERS)?.limit;
    let rows = match &season {
        Some(season) => request.api.history.leaders(season.id, leader, limit).await?,
        None => Vec::new(),
    };
    let leaders = ranked(&matches, &rows);
    request.answer(CacheControl::LIST, &Top { league_id: league.id, season, stat, label, leaders })
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
