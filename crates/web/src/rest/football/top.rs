//! `leagues/{id}/top/{stat}/`: the leaders of a season.

use std::borrow::Cow;

use facts::event::PlayerStat;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    players,
    request::{self, football},
    seasons::{Season, SeasonParams, calendar},
    snapshot::Matches,
};
use crate::rest::{
    ApiError, ApiRequest, ApiResult, CacheControl, PageSize, Param, Spec,
    kind::{Number, Text},
};
use history::query::{EntityKind, Leader, LeaderRow, MatchQuery};
use record::Key;

/// SERVICE section 1.8.
const LEADERS: PageSize = PageSize { default: 20, max: 50 };

/// SERVICE section 1.2: no envelope of pages.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Top {
    league_id: Key,
    season: Option<Season>,
    stat: &'static str,
    label: Cow<'static, str>,
    /// The matches with known players, from which the leaders are counted, of those that have begun.
    matches_counted: u64,
    matches_total: u64,
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

/// The words of the interface, their titles, and the statistics. Counters have their names in `player-stats/` too.
const STATS: [(&str, &str, Leader); 5] = [
    ("scorers", "Goals", Leader::Goals),
    ("assists", "Assists", Leader::Assists),
    ("yellowcards", "Yellow cards", Leader::Yellow),
    ("redcards", "Red cards", Leader::Red),
    ("fouls", "Fouls", Leader::Fouls),
];

const SPEC: Spec = request::season_spec(&[
    &[Param::new::<Text>("stat", "scorers, assists, yellowcards, redcards, fouls, or a counter of `player-stats/`, such as key_pass").in_path()],
    SeasonParams::PARAMS,
    &[Param::new::<Number>("limit", "Number of rows (default 20, max 50)")],
]);

endpoints! {
    /// Who leads a season.
    "/api/v2/leagues/{id}/top/{stat}/", params(SPEC), answers(Top), |request| top(&request).await;
}

async fn top(request: &ApiRequest) -> ApiResult {
    let params = &request.params;
    let (stat, label, leader) = statistic(request.path("stat")).ok_or(ApiError::NotFound)?;
    let (matches, league) = Matches::for_entity(request, EntityKind::Competition)?;
    let seasons = Season::all(&matches, &calendar(&matches, Some(league.id)), league.id);
    let season = Season::requested(&seasons, params)?;
    let limit = params.window_of(LEADERS)?.limit;
    let (mut rows, mut matches_counted, mut matches_total) = (Vec::new(), 0, 0);
    if let Some(season) = &season {
        rows = request.api.history.leaders(season.id, leader, limit).await?;
        matches_counted = request.api.history.leader_matches(season.id, leader).await?;
        let all = matches.all(&MatchQuery { season: Some(season.id), ..football() });
        let begun = all.iter().filter(|it| it.status.is_live() || it.status.has_result());
        // The archive may know a match that has begun before the others do.
        matches_total = (begun.count() as u64).max(matches_counted);
    }
    let leaders = ranked(&matches, &rows);
    let league_id = league.id;
    let top = Top { league_id, season, stat, label, matches_counted, matches_total, leaders };
    request.answer(CacheControl::LIST, &top)
}

/// The statistic with this word, and its title.
fn statistic(word: &str) -> Option<(&'static str, Cow<'static, str>, Leader)> {
    if let Some((stat, label, leader)) = STATS.iter().find(|(stat, ..)| *stat == word) {
        return Some((stat, Cow::Borrowed(*label), *leader));
    }
    let counter = PlayerStat::from_word(word)?;
    let mut label = counter.as_str().replace('_', " ");
    if let Some(first) = label.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    Some((counter.as_str(), Cow::Owned(label), Leader::of_counter(counter)))
}

fn ranked(matches: &Matches<'_>, rows: &[LeaderRow]) -> Vec<Leading> {
    let mut leaders: Vec<Leading> = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter().enumerate() {
        let before = leaders.last().filter(|before| before.value == row.value);
        leaders.push(Leading {
            rank: before.map_or(index + 1, |before| before.rank),
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
