//! Statistics of players in single matches.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::request::{self, DateParams, TZ, V1Query};
use crate::{
    clock::now,
    rest::{
        ApiError, ApiRequest, ApiResult, CacheControl, Page, Param, Spec,
        football::{player_stats::PlayerStats as PlayerCounters, short_name},
        kind::Id,
    },
};
use history::query::{
    Appearance, AppearanceFilter, EntityKind, MatchQuery, View, Window, regulation,
};
use record::{Key, MatchRecord};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1PlayerStats)]
pub(super) struct PlayerStats {
    event: StatsEvent,
    player: StatsPlayer,
    /// The row of version 2, with its id.
    #[serde(flatten)]
    #[schema(inline)]
    counters: PlayerCounters,
    /// The same as `total_contest` and `won_contest`.
    dribble_attempted: u32,
    dribble_won: u32,
    /// No feed counts the following: 0.
    penalty_won: u32,
    penalty_miss: u32,
    penalty_conceded: u32,
    penalty_save: u32,
    penalty_faced: u32,
    heatmap: Vec<HeatmapPoint>,
}

/// Where the player touched the ball.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Touched)]
struct HeatmapPoint {
    x: f64,
    y: f64,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
struct StatsEvent {
    id: u64,
    home_team: Option<String>,
    away_team: Option<String>,
    event_date: Option<String>,
    /// Only the day of the start is known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    day_only: bool,
    home_score: Option<u32>,
    away_score: Option<u32>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
struct StatsPlayer {
    id: u64,
    name: Option<String>,
    short_name: Option<String>,
    position: String,
    specific_position: &'static str,
    positions_detailed: Vec<String>,
    team: Option<String>,
}

impl PlayerStats {
    fn new(query: &V1Query<'_>, it: &Appearance, record: Option<&MatchRecord>) -> Self {
        let summary = record.map(|record| &*record.summary);
        let sides = record.and_then(|record| record.names.sides.as_ref());
        let side = |index: usize| sides.map(|sides| sides[index].name.to_string());
        let score = summary.and_then(regulation);
        let name = query.name(EntityKind::Player, Some(it.player));
        let counters = PlayerCounters::new(it);
        Self {
            event: StatsEvent {
                id: it.match_id,
                home_team: side(0),
                away_team: side(1),
                // The start of the row alone does not tell a time from a day.
                event_date: summary.and_then(|summary| query.start(summary)),
                day_only: summary.is_some_and(|summary| summary.day_only),
                home_score: score.map(|score| score[0]),
                away_score: score.map(|score| score[1]),
            },
            player: StatsPlayer {
                id: it.player,
                short_name: name.as_deref().map(short_name),
                name,
                position: it.position.as_deref().unwrap_or_default().to_owned(),
                specific_position: "",
                positions_detailed: Vec::new(),
                team: query.name(EntityKind::Team, Some(it.team)),
            },
            dribble_attempted: counters.total_contest,
            dribble_won: counters.won_contest,
            counters,
            penalty_won: 0,
            penalty_miss: 0,
            penalty_conceded: 0,
            penalty_save: 0,
            penalty_faced: 0,
            heatmap: Vec::new(),
        }
    }
}

params! {
    struct ListParams {
        player: Ids = "One or more",
        event: Ids = "One or more",
        team: Ids = "One or more",
    }
}

const LIST: Spec = request::spec(&[ListParams::PARAMS, DateParams::PARAMS, TZ]);

const DETAIL: Spec =
    request::spec(&[&[Param::new::<Id>("id", "The row's ID, as in lists").in_path()], TZ]);

endpoints! {
    /// What players did, the latest match first.
    "/api/player-stats/", params(LIST), answers(Page<PlayerStats>), |request| list(&request).await;

    /// What one player did in one match.
    "/api/player-stats/{id}/", params(DETAIL), answers(PlayerStats),
        or(status = 404, description = "No such row"),
        |request| detail(&request).await;
}

async fn list(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let ListParams { player, event, team } = ListParams::read(query.params)?;
    let DateParams { date_from, date_to } = DateParams::read(query.params)?;
    let filter = AppearanceFilter {
        matches: event.ids(),
        players: player.ids(),
        teams: team.ids(),
        from: date_from,
        before: date_to,
        played_by: Some(now()),
        ..AppearanceFilter::default()
    };
    let (count, found) = request.api.history.appearances(&filter, query.window()).await?;
    let mut ids: Vec<Key> = found.iter().map(|it| it.match_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let view = View::now(&request.api.history, Some(Sport::Football));
    let records = view.records_without_detail(&MatchQuery::default(), &ids).await?;
    let record = |id: Key| records.iter().find(|record| record.summary.id == id).map(|it| &**it);
    let days = MatchQuery {
        from: filter.from,
        before: filter.before,
        zone: Some(query.zone()),
        ..MatchQuery::default()
    };
    let rows = found.iter().filter_map(|appearance| {
        let record = record(appearance.match_id);
        let is_wanted = record.is_none_or(|record| days.selects(&record.summary));
        is_wanted.then(|| PlayerStats::new(&query, appearance, record))
    });
    let rows = rows.collect();
    query.page(CacheControl::LIST, count, rows)
}

async fn detail(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let filter = AppearanceFilter { id: Some(request.id()?), ..AppearanceFilter::default() };
    let (_, found) =
        request.api.history.appearances(&filter, Window { offset: 0, limit: 1 }).await?;
    let appearance = found.first().ok_or(ApiError::NotFound)?;
    let record = request.api.history.record(appearance.match_id).await?;
    request.answer(CacheControl::LIST, &PlayerStats::new(&query, appearance, record.as_deref()))
}
