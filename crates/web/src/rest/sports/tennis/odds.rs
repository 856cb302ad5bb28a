//! `/tennis/api/v2/matches/{id}/odds/` and `/tennis/api/v2/odds/best/`.

use facts::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    super::{
        price::{self, Movement, Movements, Source, WinnerPrices},
        request::{self, DAY, DateParams, NONE, PlayerParams, TournamentParams},
        shape,
    },
    row::TournamentBrief,
};
use crate::{
    clock::now,
    rest::{ApiRequest, ApiResult, CacheControl, Page, Spec, number::Number, view::View},
};
use history::query::MatchQuery;
use record::{Key, MatchRecord, PriceRecord, Status};

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

params! {
    struct OddsParams { matches as "match": Ids = "One or more matches, at most 50." }
}

const BEST: Spec = request::spec(&[
    DateParams::PARAMS,
    OddsParams::PARAMS,
    TournamentParams::PARAMS,
    PlayerParams::PARAMS,
])
.paged();

endpoints! {
    /// The price of each bookmaker for the winner.
    "/tennis/api/v2/matches/{id}/odds/", params(NONE), answers(TennisOdds),
        |request| odds(&request).await;

    /// The highest prices for the winners of matches that have not started; by default those of the
    /// next seven days.
    "/tennis/api/v2/odds/best/", params(BEST), answers(Page<TennisBestOdds>),
        |request| best(&request).await;
}

async fn odds(request: &ApiRequest) -> ApiResult {
    let record = request.record(Sport::Tennis).await?;
    let movements = price::movements(&request.api, record.summary.id).await?;
    request.answer(CacheControl::ODDS, &TennisOdds::new(&record, &movements))
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

async fn best(request: &ApiRequest) -> ApiResult {
    let (from, before) = request.days()?;
    let from = from.unwrap_or_else(now);
    let params = &request.params;
    let (competition, competitions) = TournamentParams::read(params)?.tournament.one_or_several();
    let (team, teams) = PlayerParams::read(params)?.player.one_or_several();
    let filter = MatchQuery {
        from: Some(from),
        before: Some(before.unwrap_or_else(|| from.saturating_add(7 * DAY))),
        zone: params.zone().cloned(),
        competition,
        competitions,
        team,
        teams,
        statuses: Some(vec![Status::NotStarted]),
        ids: OddsParams::read(params)?.matches.ids(),
        ..MatchQuery::default()
    };
    let view = View::now(&request.api.history, Some(Sport::Tennis));
    let records = view.records(&filter, &view.all(&filter)).await?;
    let rows: Vec<_> = records.iter().filter_map(|it| TennisBestOdds::new(it)).collect();
    request.page_of(CacheControl::ODDS, rows, |row| row)
}

impl TennisBestOdds {
    /// `None` without a price of either player.
    fn new(record: &MatchRecord) -> Option<Self> {
        let (_, books) = price::offered(price::winner(record).filter(|price| price.open));
        let [player1_name, player2_name] = shape::side_names(record);
        let highest = |outcomes| {
            let best = books.values().filter_map(|it| price::find(it.iter().copied(), outcomes));
            best.max_by_key(|price| price.price)
        };
        let [first, second] = [price::FIRST, price::SECOND].map(highest);
        let slug = |price: Option<&PriceRecord>| Some(price?.bookmaker.to_string());
        let odds = |price: Option<&PriceRecord>| price?.price.map(Number);
        (!books.is_empty()).then(|| Self {
            match_id: record.summary.id,
            match_date: shape::start(record),
            tournament: TournamentBrief::new(record),
            player1_name,
            player2_name,
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
    fn new(record: &MatchRecord, movements: &Movements) -> Self {
        let (source, books) = price::offered(price::winner(record));
        let [player1_name, player2_name] = shape::side_names(record);
        let books = books.iter().map(|(slug, prices)| book(record, slug, prices, movements));
        let bookmakers: Vec<_> = books.collect();
        Self {
            match_id: record.summary.id,
            match_date: shape::start(record),
            player1_name,
            player2_name,
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
    let winner_prices = WinnerPrices { match_id: record.summary.id, prices, movements };
    TennisBook {
        bookmaker: price::book_name(slug),
        bookmaker_slug: slug.to_owned(),
        odds_player1: winner_prices.odds(price::FIRST),
        odds_player2: winner_prices.odds(price::SECOND),
        movement_player1: winner_prices.movement(price::FIRST),
        movement_player2: winner_prices.movement(price::SECOND),
        updated_at: price::updated(prices),
    }
}
