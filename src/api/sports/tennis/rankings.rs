//! `/tennis/api/v2/rankings/`: ours, since no feed tells those of the circuits.

use std::collections::HashMap;

use axum::extract::Path;
use fanout::Micros;
use ingest::event::{Id, Sport};
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
    rating::Rated,
    record::Key,
};

/// The type of ranking that we have: Elo over the results that are kept.
pub(super) const RESULTS: &str = "results";

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
    #[serde(rename = "type")]
    kind: &'static str,
    date: Option<String>,
}

/// The ranking of all players who have a result, the strongest first. Rankings of other types are
/// empty.
#[utoipa::path(get, path = "/tennis/api/v2/rankings/", tag = "tennis",
    params(
        ("type" = Option<String>, Query, description = "`results`; there is no other."),
        ("date" = Option<String>, Query, description = "As it was at the end of this day, UTC."),
        ("limit" = Option<u64>, Query, description = "Rows of the page: 50 unless said, 500 at most."),
        ("offset" = Option<u64>, Query, description = "Rows before the page."),
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
    let is_ours = asked.params.text("type").is_none_or(|kind| kind.eq_ignore_ascii_case(RESULTS));
    let ranking = match is_ours {
        true => Ranking::at(&request, date, asked.now).await?,
        false => Ranking::default(),
    };
    asked.page_of(Kept::REFERENCE, window, &ranking.rows, |row| ranking.row(&request.api, row))
}

/// One row of the ranking as it is now.
#[utoipa::path(get, path = "/tennis/api/v2/rankings/{id}/", tag = "tennis",
    params(("id" = u64, Path)),
    responses((status = 200, body = TennisRanking), (status = 404, body = ErrorBody))
)]
pub(super) async fn detail(Path(id): Path<String>, request: Request) -> Answer {
    request.read(asked::NONE)?;
    let id = asked::key(&id)?;
    let ranking = Ranking::at(&request, None, crate::clock::now()).await?;
    let row = ranking.rows.iter().find(|(_, player, _)| self::id(*player) == id);
    let row = row.ok_or(ApiError::NotFound)?;
    request.answer(Kept::REFERENCE, &ranking.row(&request.api, row))
}

/// A player's row, whatever the day.
fn id(player: Key) -> Key {
    Id::derive("matchwire", "ranking", &format!("tennis|{RESULTS}|{player}")).0
}

/// All rows, and what was a week before.
#[derive(Debug, Default)]
struct Ranking {
    rows: Vec<(usize, Key, Rated)>,
    before: HashMap<Key, (usize, i64)>,
    digest: std::sync::Arc<Digest>,
    date: Option<String>,
}

impl Ranking {
    async fn at(request: &Request, date: Option<Micros>, now: Micros) -> Result<Self, ApiError> {
        let digest = match date {
            Some(date) => Digest::before(&request.api.archive, Sport::Tennis, Some(date)).await?,
            None => request.digest(Sport::Tennis).await?,
        };
        let end = date.unwrap_or(now);
        let week = Digest::before(&request.api.archive, Sport::Tennis, Some(end - 7 * DAY)).await?;
        let rows = digest.table.ranked().into_iter().zip(1..);
        let before = week.table.ranked().into_iter().zip(1..);
        Ok(Self {
            rows: rows.map(|((player, rated), position)| (position, player, rated)).collect(),
            before: before
                .map(|((player, rated), position)| {
                    (player, (position, digest::whole(rated.rating)))
                })
                .collect(),
            digest,
            date: time::zulu(end - 1).map(|at| at.chars().take(10).collect()),
        })
    }

    fn row(&self, api: &Api, (position, player, rated): &(usize, Key, Rated)) -> TennisRanking {
        let before = self.before.get(player);
        let entity = api.archive.entity(EntityKind::Player, *player);
        TennisRanking {
            id: id(*player),
            position: *position,
            player: entity.map(|entity| TennisPlayer::of(api, &entity, &self.digest)),
            points: digest::whole(rated.rating),
            previous_position: before.map(|(position, _)| *position),
            previous_points: before.map(|(_, points)| *points),
            best_position: None,
            kind: RESULTS,
            date: self.date.clone(),
        }
    }
}
