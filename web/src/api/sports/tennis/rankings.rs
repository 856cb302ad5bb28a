//! `/tennis/api/v2/rankings/`: the hub's own rankings, since no feed provides the circuits'.

use axum::extract::Path;
use fanout::Micros;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        request::{self, ApiResult, DAY, SportsRequest},
        sport_stats::{self, SportStats},
    },
    people::TennisPlayer,
};
use crate::{
    api::{
        Api, ApiError, CacheControl, Page,
        error::{ErrorBody, UnknownParametersBody},
        time,
    },
    archive::EntityKind,
    rating::Rating,
    record::Key,
};

/// The types of rankings, in the order of their rows: Elo over archived results, of the players of each
/// circuit, and of those with an unknown circuit.
const TYPES: [&str; 3] = ["ATP", "WTA", RESULTS];
const RESULTS: &str = "results";

/// The type of a player's ranking.
pub(super) fn kind(player: Key, sport_stats: &SportStats) -> &'static str {
    sport_stats.circuit(player).unwrap_or(RESULTS)
}

/// The maximum rows per page: SERVICE section 1.2.
const LIMIT_MAX: usize = 500;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TennisRanking {
    id: Key,
    position: usize,
    player: Option<TennisPlayer>,
    /// The rating, rounded.
    points: i64,
    /// A week before.
    previous_position: Option<usize>,
    previous_points: Option<i64>,
    /// Not kept.
    best_position: Option<usize>,
    /// `ATP`, `WTA` or `results`.
    #[serde(rename = "type")]
    kind: &'static str,
    date: Option<String>,
}

/// The rankings of all players who have a result: those of ATP, of WTA, and of no known circuit, each
/// with the strongest first. A ranking of another type is empty.
#[utoipa::path(get, path = "/tennis/api/v2/rankings/", tag = "tennis",
    params(
        ("type" = Option<String>, Query, description = "`ATP`, `WTA`, or `results` for players whose tour is not known; case-insensitive."),
        ("date" = Option<String>, Query, description = "Ranking at the end of this day, UTC."),
        ("limit" = Option<u64>, Query, description = "Page size (default 50, max 500)."),
        ("offset" = Option<u64>, Query, description = "Number of rows to skip."),
    ),
    responses(
        (status = 200, body = Page<TennisRanking>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn list(request: SportsRequest) -> ApiResult {
    let spec = request::spec(&["date", "limit", "offset", "type"]);
    let query = request.read(spec)?;
    let window = query.params.window_of(crate::api::params::LIMIT_DEFAULT, LIMIT_MAX)?;
    let date = query.params.before("date")?;
    let mut ranking = Ranking::at(&request, date, query.now).await?;
    if let Some(wanted) = query.params.text("type") {
        ranking.rows.retain(|row| row.kind.eq_ignore_ascii_case(wanted));
    }
    query.page_of(CacheControl::REFERENCE, window, &ranking.rows, |row| {
        ranking.row(&request.api, row)
    })
}

/// One row of a ranking as it is now, by its id or by that of the player.
#[utoipa::path(get, path = "/tennis/api/v2/rankings/{id}/", tag = "tennis",
    params(("id" = u64, Path)),
    responses((status = 200, body = TennisRanking), (status = 404, body = ErrorBody))
)]
pub(super) async fn detail(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    request.read(request::NONE)?;
    let id = request::key(&id)?;
    let ranking = Ranking::at(&request, None, crate::clock::now()).await?;
    let row = ranking.rows.iter().find(|row| [self::id(row.player), row.player].contains(&id));
    let row = row.ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::REFERENCE, &ranking.row(&request.api, row))
}

/// A player's row on any day: each player has one, so the row's id is the player's.
fn id(player: Key) -> Key {
    player
}

/// All rows, and the statistics a week earlier.
#[derive(Debug, Default)]
struct Ranking {
    rows: Vec<RankedPlayer>,
    before: std::sync::Arc<SportStats>,
    sport_stats: std::sync::Arc<SportStats>,
    date: Option<String>,
}

/// A player's rank.
#[derive(Debug, Clone, Copy)]
struct RankedPlayer {
    kind: &'static str,
    position: usize,
    player: Key,
    rated: Rating,
}

impl Ranking {
    async fn at(
        request: &SportsRequest,
        date: Option<Micros>,
        now: Micros,
    ) -> Result<Self, ApiError> {
        let sport_stats = match date {
            Some(date) => {
                SportStats::before(&request.api.archive, Sport::Tennis, Some(date)).await?
            }
            None => request.sport_stats(Sport::Tennis).await?,
        };
        let end = date.unwrap_or(now);
        let week =
            SportStats::before(&request.api.archive, Sport::Tennis, Some(end - 7 * DAY)).await?;
        let row = |(player, rated): (Key, Rating)| {
            let position = sport_stats.position(player)?;
            Some(RankedPlayer { kind: kind(player, &sport_stats), position, player, rated })
        };
        let mut rows: Vec<_> = sport_stats.table.ranked().into_iter().filter_map(row).collect();
        let place = |kind: &str| TYPES.iter().position(|own| *own == kind);
        rows.sort_by_key(|row| (place(row.kind), row.position));
        Ok(Self {
            rows,
            before: week,
            sport_stats,
            date: time::zulu(end - 1).map(|at| at.chars().take(10).collect()),
        })
    }

    fn row(&self, api: &Api, row: &RankedPlayer) -> TennisRanking {
        let entity = api.archive.entity(EntityKind::Player, row.player);
        TennisRanking {
            id: id(row.player),
            position: row.position,
            player: entity.map(|entity| TennisPlayer::of(api, &entity, &self.sport_stats)),
            points: sport_stats::whole(row.rated.rating),
            previous_position: self.before.position(row.player),
            previous_points: self.before.elo(row.player),
            best_position: None,
            kind: row.kind,
            date: self.date.clone(),
        }
    }
}
