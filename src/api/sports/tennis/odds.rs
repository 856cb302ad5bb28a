//! `/tennis/api/v2/matches/{id}/odds/`.

use axum::extract::Path;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::super::{
    asked::{self, Answer, Request},
    price::{self, Movement, Movements, Source},
    shape,
};
use crate::{
    api::{Kept, error::ErrorBody, number::Number},
    record::{Key, MatchRecord, PriceRecord},
};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TennisOdds {
    match_id: Key,
    match_date: Option<String>,
    player1_name: Option<String>,
    player2_name: Option<String>,
    bookmakers_count: usize,
    source: Source,
    bookmakers: Vec<TennisBook>,
}

#[derive(Debug, Serialize, ToSchema)]
struct TennisBook {
    bookmaker: String,
    bookmaker_slug: String,
    odds_player1: Option<Number>,
    odds_player2: Option<Number>,
    movement_player1: Option<Movement>,
    movement_player2: Option<Movement>,
    updated_at: Option<String>,
}

/// What each bookmaker gives for the winner. Who may ask sees them by name.
#[utoipa::path(get, path = "/tennis/api/v2/matches/{id}/odds/", tag = "tennis",
    params(("id" = u64, Path)),
    responses((status = 200, body = TennisOdds), (status = 404, body = ErrorBody))
)]
pub(super) async fn odds(Path(id): Path<String>, request: Request) -> Answer {
    request.read(asked::NONE)?;
    let record = asked::record(&request.api, Sport::Tennis, &id).await?;
    let movements = price::movements(&request.api, record.brief.id).await?;
    request.answer(Kept::ODDS, &TennisOdds::of(&record, &movements))
}

impl TennisOdds {
    fn of(record: &MatchRecord, movements: &Movements) -> Self {
        let (source, books) = price::shown(price::winner(record));
        let name = |side: usize| {
            let named = record.names.sides.as_ref().and_then(|sides| sides.get(side));
            named.map(|named| named.name.to_string())
        };
        let books = books.iter().map(|(slug, prices)| book(record, slug, prices, movements));
        let bookmakers: Vec<_> = books.collect();
        Self {
            match_id: record.brief.id,
            match_date: shape::start(record),
            player1_name: name(0),
            player2_name: name(1),
            bookmakers_count: bookmakers.len(),
            source,
            bookmakers,
        }
    }
}

fn book(
    record: &MatchRecord,
    slug: &str,
    prices: &[&PriceRecord],
    movements: &Movements,
) -> TennisBook {
    let own = |outcomes| price::of(prices.iter().copied(), outcomes);
    let odds = |outcomes| own(outcomes).and_then(|it| it.price).map(Number);
    let movement = |outcomes| movements.get(&own(outcomes)?.id(record.brief.id)).copied();
    TennisBook {
        bookmaker: price::book_name(slug),
        bookmaker_slug: slug.to_owned(),
        odds_player1: odds(price::FIRST),
        odds_player2: odds(price::SECOND),
        movement_player1: movement(price::FIRST),
        movement_player2: movement(price::SECOND),
        updated_at: price::updated(prices),
    }
}
