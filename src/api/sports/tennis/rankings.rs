//! `/tennis/api/v2/rankings/`: ours, since no feed tells those of the circuits.

use axum::extract::Path;
use fanout::Micros;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        asked::{self, Answer, DAY, Request},
        digest::{self, Digest},
    },
    people::TennisPlayer,
};
use crate::{
    api::{
        Api, ApiError, Kept, Page,
        error::{ErrorBody, UnknownParametersBody},
        time,
    },
    archive::EntityKind,
    rating::Rating,
    record::Key,
};

/// The types of rankings, in the order in which their rows stand: Elo over the results that are kept,
/// of the players of each circuit, and of those whose circuit nobody tells.
const TYPES: [&str; 3] = ["ATP", "WTA", RESULTS];
const RESULTS: &str = "results";

/// In which of them a player stands.
pub(super) fn kind(player: Key, digest: &Digest) -> &'static str {
    digest.circuit(player).unwrap_or(RESULTS)
}

/// Rows of a page at most: SERVICE section 1.2.
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
pub(super) async fn list(request: Request) -> Answer {
    let spec = asked::spec(&["date", "limit", "offset", "type"]);
    let asked = request.read(spec)?;
    let window = asked.params.window_of(crate::api::params::LIMIT_DEFAULT, LIMIT_MAX)?;
    let date = asked.params.before("date")?;
    let mut ranking = Ranking::at(&request, date, asked.now).await?;
    if let Some(wanted) = asked.params.text("type") {
        ranking.rows.retain(|row| row.kind.eq_ignore_ascii_case(wanted));
    }
    asked.page_of(Kept::REFERENCE, window, &ranking.rows, |row| ranking.row(&request.api, row))
}

/// One row of a ranking as it is now, by its id or by that of the player.
#[utoipa::path(get, path = "/tennis/api/v2/rankings/{id}/", tag = "tennis",
    params(("id" = u64, Path)),
    responses((status = 200, body = TennisRanking), (status = 404, body = ErrorBody))
)]
pub(super) async fn detail(Path(id): Path<String>, request: Request) -> Answer {
    request.read(asked::NONE)?;
    let id = asked::key(&id)?;
    let ranking = Ranking::at(&request, None, crate::clock::now()).await?;
    let row = ranking.rows.iter().find(|row| [self::id(row.player), row.player].contains(&id));
    let row = row.ok_or(ApiError::NotFound)?;
    request.answer(Kept::REFERENCE, &ranking.row(&request.api, row))
}

/// A player's row, whatever the day: each player has one, so the player's id is its id.
fn id(player: Key) -> Key {
    player
}

/// All rows, and what was a week before.
#[derive(Debug, Default)]
struct Ranking {
    rows: Vec<Row>,
    before: std::sync::Arc<Digest>,
    digest: std::sync::Arc<Digest>,
    date: Option<String>,
}

/// Where a player stands.
#[derive(Debug, Clone, Copy)]
struct Row {
    kind: &'static str,
    position: usize,
    player: Key,
    rated: Rating,
}

impl Ranking {
    async fn at(request: &Request, date: Option<Micros>, now: Micros) -> Result<Self, ApiError> {
        let digest = match date {
            Some(date) => Digest::before(&request.api.archive, Sport::Tennis, Some(date)).await?,
            None => request.digest(Sport::Tennis).await?,
        };
        let end = date.unwrap_or(now);
        let week = Digest::before(&request.api.archive, Sport::Tennis, Some(end - 7 * DAY)).await?;
        let row = |(player, rated): (Key, Rating)| {
            let position = digest.position(player)?;
            Some(Row { kind: kind(player, &digest), position, player, rated })
        };
        let mut rows: Vec<_> = digest.table.ranked().into_iter().filter_map(row).collect();
        let place = |kind: &str| TYPES.iter().position(|own| *own == kind);
        rows.sort_by_key(|row| (place(row.kind), row.position));
        Ok(Self {
            rows,
            before: week,
            digest,
            date: time::zulu(end - 1).map(|at| at.chars().take(10).collect()),
        })
    }

    fn row(&self, api: &Api, row: &Row) -> TennisRanking {
        let entity = api.archive.entity(EntityKind::Player, row.player);
        TennisRanking {
            id: id(row.player),
            position: row.position,
            player: entity.map(|entity| TennisPlayer::of(api, &entity, &self.digest)),
            points: digest::whole(row.rated.rating),
            previous_position: self.before.position(row.player),
            previous_points: self.before.elo(row.player),
            best_position: None,
            kind: row.kind,
            date: self.date.clone(),
        }
    }
}
