//! Statistics of players in single matches.

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::request::V1Query;
use crate::{
    api::{
        Api, ApiError, CacheControl, Page,
        football::{player_stats::PlayerStats as Counters, regulation, short_name},
        odds::id_of,
    },
    archive::{Appearance, AppearanceFilter, EntityKind, Window},
    clock::now,
    record::{Key, MatchRecord},
};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = V1PlayerStats)]
pub(super) struct PlayerStats {
    event: StatsEvent,
    player: StatsPlayer,
    /// The row of version 2, with its id.
    #[serde(flatten)]
    #[schema(inline)]
    counters: Counters,
    /// The same as `total_contest` and `won_contest`.
    dribble_attempted: u32,
    dribble_won: u32,
    /// No feed of ours counts what follows: 0.
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
        let brief = record.map(|record| &*record.brief);
        let sides = record.and_then(|record| record.names.sides.as_ref());
        let side = |place: usize| sides.map(|sides| sides[place].name.to_string());
        let score = brief.and_then(regulation);
        let name = query.name(EntityKind::Player, Some(it.player));
        let counters = Counters::of(it);
        Self {
            event: StatsEvent {
                id: it.match_id,
                home_team: side(0),
                away_team: side(1),
                event_date: it.start.and_then(|at| query.date(at)),
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

/// What players did, the latest match first.
#[utoipa::path(
    get, path = "/api/player-stats/", tag = "football v1",
    params(("player" = Option<u64>, Query), ("event" = Option<u64>, Query), ("team" = Option<u64>, Query), ("date_from" = Option<String>, Query, description = "Matches from this day in the time zone, or this timestamp"), ("date_to" = Option<String>, Query, description = "Up to the end of this day in the time zone, or this timestamp"), ("tz" = Option<String>, Query), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<PlayerStats>), (status = 400, description = "Invalid parameter value"))
)]
pub(super) async fn list(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query =
        V1Query::pages(&api, &uri, &headers, &["player", "event", "team", "date_from", "date_to"])?;
    let filter = AppearanceFilter {
        match_id: query.params.id("event")?,
        player: query.params.id("player")?,
        team: query.params.id("team")?,
        from: query.from()?,
        before: query.before()?,
        played_by: Some(now()),
        ..AppearanceFilter::default()
    };
    let (count, found) = api.archive.appearances(&filter, query.window()).await?;
    let mut ids: Vec<Key> = found.iter().map(|it| it.match_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let records = api.archive.records_without_detail(&ids).await?;
    let record = |id: Key| records.iter().find(|record| record.brief.id == id).map(|it| &**it);
    let rows = found.iter().map(|it| PlayerStats::new(&query, it, record(it.match_id))).collect();
    CacheControl::LIST.answer(&headers, &query.page(count, rows))
}

/// What one player did in one match.
#[utoipa::path(
    get, path = "/api/player-stats/{id}/", tag = "football v1",
    params(("id" = u64, Path, description = "The row's ID, as in lists"), ("tz" = Option<String>, Query)),
    responses((status = 200, body = PlayerStats), (status = 404, description = "No such row"))
)]
pub(super) async fn detail(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::pages(&api, &uri, &headers, &[])?;
    let filter = AppearanceFilter { id: Some(id_of(&id)?), ..AppearanceFilter::default() };
    let (_, found) = api.archive.appearances(&filter, Window { offset: 0, limit: 1 }).await?;
    let own = found.first().ok_or(ApiError::NotFound)?;
    let record = api.archive.record(own.match_id).await?;
    CacheControl::LIST.answer(&headers, &PlayerStats::new(&query, own, record.as_deref()))
}
