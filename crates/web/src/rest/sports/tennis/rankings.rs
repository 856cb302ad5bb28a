//! `/tennis/api/v2/rankings/`: the hub's own rankings, since no feed provides the circuits'.

use facts::event::Sport;
use fanout::Micros;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        request::{self, DAY, NONE},
        sport_stats::{self, SportStats},
    },
    people::TennisPlayer,
};
use crate::{
    rating::Rating,
    rest::{
        Api, ApiError, ApiRequest, ApiResult, CacheControl, Page, PageSize, Param, Spec,
        kind::Number, time,
    },
};
use history::query::EntityKind;
use record::Key;

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

params! {
    struct RankingsParams {
        kind as "type": Word = "`ATP`, `WTA`, or `results` for players whose tour is not known; case-insensitive.",
        date: End = "Ranking at the end of this day, UTC.",
    }
}

const RANKINGS: Spec = Spec {
    tolerated: &["full", "ordering", "tz"],
    ..request::spec(&[
        RankingsParams::PARAMS,
        &[Param::new::<Number>("limit", "Page size (default 50, max 500).")],
    ])
    .paged_by(PageSize { max: LIMIT_MAX, ..PageSize::USUAL })
};

endpoints! {
    /// The rankings of all players who have a result: those of ATP, of WTA, and of no known circuit, each
    /// with the strongest first. A ranking of another type is empty.
    "/tennis/api/v2/rankings/", params(RANKINGS), answers(Page<TennisRanking>),
        |request| list(&request).await;

    /// One row of a ranking as it is now, by its id or by that of the player.
    "/tennis/api/v2/rankings/{id}/", params(NONE), answers(TennisRanking),
        |request| detail(&request).await;
}

async fn list(request: &ApiRequest) -> ApiResult {
    let RankingsParams { kind, date } = RankingsParams::read(&request.params)?;
    let mut ranking = Ranking::at(request, date, crate::clock::now()).await?;
    ranking.rows.retain(|row| kind.passes(Some(row.kind)));
    request.page_of(CacheControl::REFERENCE, &ranking.rows, |row| ranking.row(&request.api, row))
}

async fn detail(request: &ApiRequest) -> ApiResult {
    let id = request.id()?;
    let ranking = Ranking::at(request, None, crate::clock::now()).await?;
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
    async fn at(request: &ApiRequest, date: Option<Micros>, now: Micros) -> Result<Self, ApiError> {
        let sport_stats = match date {
            Some(date) => {
                SportStats::before(&request.api.history, Sport::Tennis, Some(date)).await?
            }
            None => request.sport_stats(Sport::Tennis).await?,
        };
        let end = date.unwrap_or(now);
        let week =
            SportStats::before(&request.api.history, Sport::Tennis, Some(end - 7 * DAY)).await?;
        let row = |(player, rated): (Key, Rating)| {
            let position = sport_stats.position(player)?;
            Some(RankedPlayer { kind: kind(player, &sport_stats), position, player, rated })
        };
        let mut rows: Vec<_> = sport_stats.table.ranked().into_iter().filter_map(row).collect();
        let index = |kind: &str| TYPES.iter().position(|it| *it == kind);
        rows.sort_by_key(|row| (index(row.kind), row.position));
        Ok(Self {
            rows,
            before: week,
            sport_stats,
            date: time::zulu(end - 1).map(|at| at.chars().take(10).collect()),
        })
    }

    fn row(&self, api: &Api, row: &RankedPlayer) -> TennisRanking {
        let entity = api.history.entity(EntityKind::Player, row.player);
        TennisRanking {
            id: id(row.player),
            position: row.position,
            player: entity.map(|entity| TennisPlayer::new(api, &entity, &self.sport_stats)),
            points: sport_stats::rounded(row.rated.rating),
            previous_position: self.before.position(row.player),
            previous_points: self.before.elo(row.player),
            best_position: None,
            kind: row.kind,
            date: self.date.clone(),
        }
    }
}
