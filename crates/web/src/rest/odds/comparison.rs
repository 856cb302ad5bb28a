//! `/api/v2/events/{id}/odds/comparison/`: who offers what. SERVICE section 3.3.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    PRICES_OF_EVENT, bookmaker, football_record,
    format::{FormatParams, OddsFormat},
    needs_bookmakers,
    quote::{self, is_consensus, on_offer},
    quotes,
};
use crate::rest::{Api, ApiError, ApiRequest, ApiResult, CacheControl, Number, time};
use history::query::OddsRow;
use record::{EntityRef, Key, MatchRecord};

#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct Comparison {
    event_id: u64,
    event_date: Option<String>,
    league_id: Option<u64>,
    league_name: Option<String>,
    home_team_id: Option<u64>,
    home_team: Option<String>,
    away_team_id: Option<u64>,
    away_team: Option<String>,
    bookmakers_count: usize,
    /// Prices in it.
    total_odds: usize,
    /// By market, then by outcome: `over@2.5`, `HOME@-1.75`, `DRAW`.
    markets: BTreeMap<String, BTreeMap<String, ComparedOutcome>>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct ComparedOutcome {
    outcome: String,
    line: Option<Number>,
    outcome_name: String,
    best_odds: Number,
    best_bookmaker_slug: String,
    best_bookmaker_name: String,
    bookmakers: BTreeMap<String, ComparedPrice>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(in crate::rest) struct ComparedPrice {
    decimal_odds: Number,
    /// With `odds_format`, the price in that format.
    #[serde(skip_serializing_if = "Option::is_none")]
    odds: Option<String>,
    /// `SHORTENING`, `DRIFTING` or nothing.
    movement: &'static str,
    updated_at: Option<String>,
}

impl Comparison {
    fn new(record: &MatchRecord, quotes: &[OddsRow], format: Option<OddsFormat>) -> Self {
        let names = &record.names;
        let side = |index: usize| names.sides.as_ref().map(|sides| &sides[index]);
        let text = |named: Option<&EntityRef>| named.map(|named| named.name.to_string());
        let mut comparison = Self {
            event_id: record.summary.id,
            event_date: record.summary.start_text(time::zulu),
            league_id: record.summary.competition,
            league_name: text(names.competition.as_ref()),
            home_team_id: side(0).map(|side| side.id),
            home_team: text(side(0)),
            away_team_id: side(1).map(|side| side.id),
            away_team: text(side(1)),
            bookmakers_count: 0,
            total_odds: 0,
            markets: BTreeMap::new(),
        };
        let mut bookmakers = BTreeSet::new();
        for quote in on_offer(record, quotes).filter(|quote| !is_consensus(quote)) {
            // Only the Odds API has markets of a part of the match.
            if quote.period.is_none() {
                comparison.add(quote, format);
                bookmakers.insert(&quote.bookmaker);
                comparison.total_odds += 1;
            }
        }
        comparison.bookmakers_count = bookmakers.len();
        comparison
    }

    fn add(&mut self, quote: &OddsRow, format: Option<OddsFormat>) {
        let (market, outcome) = quote::football(quote);
        let key = match quote.line {
            Some(line) => format!("{outcome}@{}", line.normalize()),
            None => outcome.clone().into_owned(),
        };
        let slug = quote.bookmaker.to_string();
        let outcomes = self.markets.entry(market.into_owned()).or_default();
        let row = outcomes.entry(key).or_insert_with(|| ComparedOutcome {
            outcome: outcome.into_owned(),
            line: quote.line.map(|line| Number(line.normalize())),
            outcome_name: quote::outcome_name(quote),
            best_odds: Number(quote.price),
            best_bookmaker_slug: slug.clone(),
            best_bookmaker_name: bookmaker::name(&slug).into_owned(),
            bookmakers: BTreeMap::new(),
        });
        if Number(quote.price) > row.best_odds {
            row.best_odds = Number(quote.price);
            row.best_bookmaker_name = bookmaker::name(&slug).into_owned();
            row.best_bookmaker_slug.clone_from(&slug);
        }
        row.bookmakers.insert(
            slug,
            ComparedPrice {
                decimal_odds: Number(quote.price),
                odds: format.and_then(|format| format.write(quote.price)),
                movement: quote::movement(quote),
                updated_at: time::zulu(quote.updated_us),
            },
        );
    }
}

endpoints! {
    /// Every bookmaker's price of every outcome of a match, side by side.
    "/api/v2/events/{id}/odds/comparison/", params(PRICES_OF_EVENT), answers(Comparison),
        or(status = 400, description = "Unknown parameter"),
        or(status = 403, description = "The account does not include prices by bookmaker"),
        or(status = 404, description = "No such event"),
        |request| comparison(&request).await;
}

async fn comparison(request: &ApiRequest) -> ApiResult {
    needs_bookmakers(&request.api, request.caller()?)?;
    let format = FormatParams::read(&request.params)?.odds_format;
    request.answer(CacheControl::ODDS, &compare(&request.api, request.id()?, format).await?)
}

/// The prices of a match side by side.
pub(in crate::rest) async fn compare(
    api: &Api,
    event: Key,
    format: Option<OddsFormat>,
) -> Result<Comparison, ApiError> {
    let record = football_record(api, event).await?;
    let quotes = quotes(api, &record).await?;
    Ok(Comparison::new(&record, &quotes, format))
}
