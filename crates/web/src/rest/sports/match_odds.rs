//! The odds of one match of basketball, hockey, darts and CS2: SERVICE section 2.2.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    price::{self, Movement, Movements, Price, Source, WinnerPrices},
    shape,
};
use crate::rest::number::Number;
use record::{Key, MatchRecord, PriceRecord};

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct StickOdds {
    /// The match, under the name that basketball has for its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    event_id: Option<Key>,
    /// The match, under the name that the other sports have for its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    match_id: Option<Key>,
    event_date: Option<String>,
    home_team_name: Option<String>,
    away_team_name: Option<String>,
    #[serde(flatten)]
    players: Option<PlayerNames>,
    /// Those with a price of who wins.
    bookmakers_count: usize,
    source: Source,
    bookmakers: Vec<StickBook>,
    markets: Vec<StickMarket>,
}

/// What one bookmaker says of who wins.
#[derive(Debug, Serialize, ToSchema)]
struct StickBook {
    bookmaker: String,
    bookmaker_slug: String,
    odds_home: Option<Number>,
    odds_draw: Option<Number>,
    odds_away: Option<Number>,
    movement_home: Option<Movement>,
    movement_draw: Option<Movement>,
    movement_away: Option<Movement>,
    #[serde(flatten)]
    players: Option<PlayerOdds>,
    updated_at: Option<String>,
}

/// In darts, the two sides once more under the names that clients know from tennis.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DartsPlayerNames)]
struct PlayerNames {
    player1_name: Option<String>,
    player2_name: Option<String>,
}

/// In darts, the prices of the two sides once more under the names that clients know from tennis.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DartsPlayerOdds)]
struct PlayerOdds {
    odds_player1: Option<Number>,
    odds_player2: Option<Number>,
    movement_player1: Option<Movement>,
    movement_player2: Option<Movement>,
}

#[derive(Debug, Serialize, ToSchema)]
struct StickMarket {
    /// `WINNER`, `1X2`, `AH`, `OU`, `DNB`, or our own name in capitals.
    market_kind: String,
    /// `RESULT`, `HANDICAP`, `TOTALS`, or null.
    market_family: Option<&'static str>,
    market_line: Option<Number>,
    /// `FT` for the whole match, else the part: `1H`.
    market_period: String,
    /// `HOME`, `DRAW`, `AWAY`; `P1`, `P2`; `OVER`, `UNDER`; `YES`, `NO`.
    selections: Vec<String>,
    bookmakers: Vec<StickPrices>,
}

/// What one bookmaker says of one market.
#[derive(Debug, Serialize, ToSchema)]
struct StickPrices {
    bookmaker: String,
    bookmaker_slug: String,
    /// By selection.
    prices: BTreeMap<String, Price>,
    updated_at: Option<String>,
}

/// The id of a match under the two names that sports have for it, of which one is absent: `event_id` where its
/// matches are `events`, else `match_id`.
pub(super) fn id_by_name(record: &MatchRecord) -> [Option<Key>; 2] {
    let (id, sport) = (record.summary.id, record.summary.sport);
    if sport.profile().matches == "events" { [Some(id), None] } else { [None, Some(id)] }
}

impl StickOdds {
    pub(super) fn new(record: &MatchRecord, movements: &Movements) -> Self {
        let (source, books) = price::offered(price::winner(record));
        let [home, away] = shape::side_names(record);
        let [event_id, match_id] = id_by_name(record);
        let bookmakers: Vec<_> =
            books.iter().map(|(slug, prices)| book(record, slug, prices, movements)).collect();
        Self {
            event_id,
            match_id,
            event_date: shape::start(record),
            players: record
                .summary
                .sport
                .is_of_players()
                .then(|| PlayerNames { player1_name: home.clone(), player2_name: away.clone() }),
            home_team_name: home,
            away_team_name: away,
            bookmakers_count: bookmakers.len(),
            source,
            bookmakers,
            markets: markets(record, movements),
        }
    }
}

fn book(
    record: &MatchRecord,
    slug: &str,
    prices: &[&PriceRecord],
    movements: &Movements,
) -> StickBook {
    let winner_prices = WinnerPrices { match_id: record.summary.id, prices, movements };
    StickBook {
        bookmaker: price::book_name(slug),
        bookmaker_slug: slug.to_owned(),
        odds_home: winner_prices.odds(price::FIRST),
        odds_draw: winner_prices.odds(price::DRAW),
        odds_away: winner_prices.odds(price::SECOND),
        movement_home: winner_prices.movement(price::FIRST),
        movement_draw: winner_prices.movement(price::DRAW),
        movement_away: winner_prices.movement(price::SECOND),
        players: record.summary.sport.is_of_players().then(|| PlayerOdds {
            odds_player1: winner_prices.odds(price::FIRST),
            odds_player2: winner_prices.odds(price::SECOND),
            movement_player1: winner_prices.movement(price::FIRST),
            movement_player2: winner_prices.movement(price::SECOND),
        }),
        updated_at: price::updated(prices),
    }
}

fn markets(record: &MatchRecord, movements: &Movements) -> Vec<StickMarket> {
    let mut markets: BTreeMap<_, Vec<&PriceRecord>> = BTreeMap::new();
    for price in price::on_offer(record) {
        markets.entry(price::market(price)).or_default().push(price);
    }
    let offered = markets.into_iter().filter_map(|(key, prices)| {
        let (source, books) = price::offered(prices.iter().copied());
        (source != Source::None).then_some((key, books))
    });
    offered.map(|(key, books)| market(record, key, &books, movements)).collect()
}

fn market(
    record: &MatchRecord,
    (kind, period, line): (&str, Option<&str>, Option<Decimal>),
    books: &BTreeMap<&str, Vec<&PriceRecord>>,
    movements: &Movements,
) -> StickMarket {
    let mut selections: Vec<&str> = Vec::new();
    for price in books.values().flatten() {
        if !selections.contains(&&*price.outcome) {
            selections.push(&price.outcome);
        }
    }
    selections.sort_by_key(|outcome| ORDER.iter().position(|listed| listed == outcome));
    let (market_kind, market_family) = kinds(kind, selections.contains(&"draw"));
    let prices = |(slug, prices): (&&str, &Vec<&PriceRecord>)| StickPrices {
        bookmaker: price::book_name(slug),
        bookmaker_slug: (*slug).to_owned(),
        prices: prices.iter().filter_map(|price| selection(record, price, movements)).collect(),
        updated_at: price::updated(prices),
    };
    StickMarket {
        market_kind,
        market_family,
        market_line: line.map(Number),
        market_period: period.map_or_else(|| "FT".to_owned(), str::to_uppercase),
        selections: selections.iter().map(|outcome| outcome.to_uppercase()).collect(),
        bookmakers: books.iter().map(prices).collect(),
    }
}

/// The order of outcomes.
const ORDER: [&str; 9] = ["home", "draw", "away", "p1", "p2", "over", "under", "yes", "no"];

fn kinds(kind: &str, has_draw: bool) -> (String, Option<&'static str>) {
    match kind {
        price::WINNER if has_draw => ("1X2".to_owned(), Some("RESULT")),
        price::WINNER => ("WINNER".to_owned(), Some("RESULT")),
        "draw_no_bet" => ("DNB".to_owned(), Some("RESULT")),
        "asian_handicap" => ("AH".to_owned(), Some("HANDICAP")),
        "over_under" => ("OU".to_owned(), Some("TOTALS")),
        other => (other.to_uppercase(), None),
    }
}

fn selection(
    record: &MatchRecord,
    price: &PriceRecord,
    movements: &Movements,
) -> Option<(String, Price)> {
    let movement = movements.get(&price.id(record.summary.id)).copied();
    Some((price.outcome.to_uppercase(), Price { price: Number(price.price?), movement }))
}
