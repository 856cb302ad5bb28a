//! `/tennis/api/v2/matches/{id}/odds/` and `/tennis/api/v2/odds/best/`.

use axum::extract::Path;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        price::{self, Movement, Movements, Source},
        request::{self, ApiResult, DAY, DateParams, PageParams, SportsRequest},
        shape,
    },
    row::TournamentBrief,
};
use crate::{
    api::{
        CacheControl, Page, Spec,
        error::{ErrorBody, UnknownParametersBody},
        number::Number,
        view::View,
    },
    archive::Filter,
    record::{Key, MatchRecord, PriceRecord, Status},
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
pub(super) async fn odds(Path(id): Path<String>, request: SportsRequest) -> ApiResult {
    request.read(request::NONE)?;
    let record = request::record(&request.api, Sport::Tennis, &id).await?;
    let movements = price::movements(&request.api, record.brief.id).await?;
    request.answer(CacheControl::ODDS, &TennisOdds::of(&record, &movements))
}

/// The highest price of each player. No interface that we know says what a row has: ours is named as
/// in `matches/{id}/odds/`.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TennisBestOdds {
    match_id: Key,
    match_date: Option<String>,
    tournament: Option<TournamentBrief>,
    player1_name: Option<String>,
    player2_name: Option<String>,
    odds_player1: Option<Number>,
    bookmaker_player1: Option<String>,
    bookmaker_slug_player1: Option<String>,
    odds_player2: Option<Number>,
    bookmaker_player2: Option<String>,
    bookmaker_slug_player2: Option<String>,
    bookmakers_count: usize,
}

const BEST: Spec =
    request::spec(&["date_from", "date_to", "limit", "match", "offset", "player", "tournament"]);

/// The highest prices for the winners of matches that are still to begin: of the next seven days,
/// unless dates are asked for. Who may ask sees the bookmakers by name.
#[utoipa::path(get, path = "/tennis/api/v2/odds/best/", tag = "tennis",
    params(
        DateParams,
        ("match" = Option<u64>, Query, description = "Filter by match."),
        ("tournament" = Option<u64>, Query, description = "Filter by tournament."),
        ("player" = Option<u64>, Query, description = "Filter by player."),
        PageParams,
    ),
    responses(
        (status = 200, body = Page<TennisBestOdds>),
        (status = 400, body = UnknownParametersBody),
    )
)]
pub(super) async fn best(request: SportsRequest) -> ApiResult {
    let query = request.read(BEST)?;
    let (from, before) = query.days()?;
    let from = from.unwrap_or(query.now);
    let filter = Filter {
        from: Some(from),
        before: Some(before.unwrap_or_else(|| from.saturating_add(7 * DAY))),
        competition: query.params.id("tournament")?,
        team: query.params.id("player")?,
        statuses: Some(vec![Status::NotStarted]),
        ..Filter::default()
    };
    let of_match = query.params.id("match")?;
    let view = View::now(&request.api, Some(Sport::Tennis));
    let mut briefs = view.all(&filter);
    briefs.retain(|brief| of_match.is_none_or(|of_match| of_match == brief.id));
    let records = view.records(&briefs).await?;
    let rows: Vec<_> = records.iter().filter_map(|it| TennisBestOdds::of(it)).collect();
    let (window, count) = (query.params.window()?, rows.len());
    let page = rows.into_iter().skip(window.offset).take(window.limit);
    query.found(CacheControl::ODDS, count, page.collect())
}

impl TennisBestOdds {
    /// `None` without a price of either player.
    fn of(record: &MatchRecord) -> Option<Self> {
        let (_, books) = price::offered(price::winner(record).filter(|price| price.open));
        let name = |side: usize| {
            let named = record.names.sides.as_ref().and_then(|sides| sides.get(side));
            named.map(|named| named.name.to_string())
        };
        let highest = |outcomes| {
            let own = books.values().filter_map(|book| price::of(book.iter().copied(), outcomes));
            own.max_by_key(|price| price.price)
        };
        let [first, second] = [price::FIRST, price::SECOND].map(highest);
        let slug = |price: Option<&PriceRecord>| Some(price?.bookmaker.to_string());
        let odds = |price: Option<&PriceRecord>| price?.price.map(Number);
        (!books.is_empty()).then(|| Self {
            match_id: record.brief.id,
            match_date: shape::start(record),
            tournament: TournamentBrief::of(record),
            player1_name: name(0),
            player2_name: name(1),
            odds_player1: odds(first),
            bookmaker_player1: slug(first).map(|slug| price::book_name(&slug)),
            bookmaker_slug_player1: slug(first),
            odds_player2: odds(second),
            bookmaker_player2: slug(second).map(|slug| price::book_name(&slug)),
            bookmaker_slug_player2: slug(second),
            bookmakers_count: books.len(),
        })
    }
}

impl TennisOdds {
    fn of(record: &MatchRecord, movements: &Movements) -> Self {
        let (source, books) = price::offered(price::winner(record));
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
