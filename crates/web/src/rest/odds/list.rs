//! `/api/v2/odds/`: one row for each price of each bookmaker. SERVICE section 3.2.

use std::collections::{HashMap, HashSet};

use facts::{event::Sport, market::Market};
use fanout::Micros;
use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    bookmaker,
    format::{FormatParams, OddsFormat},
    market, needs_bookmakers,
    quote::{self, OutcomeKey},
};
use crate::{
    clock::{now, wall},
    rest::{
        Api, ApiError, ApiRequest, ApiResult, CacheControl, Number, Page, Param, Params, Spec,
        kind::Id, match_filter::MatchParams, time,
    },
};
use accounts::Caller;
use history::query::{MatchQuery, Movement, OddsFilter, OddsRow, Period, Window};
use record::{CONSENSUS, Key};

/// Without a filter for matches, prices that were reported within this time.
const RECENT_US: Micros = 48 * 3600 * 1_000_000;

/// A change of a match is in the archive by then.
const WRITTEN_WITHIN_US: Micros = 3600 * 1_000_000;

/// How many prices a request for the highest ones may compare.
const COMPARED_MAX: usize = 200_000;
/// Matches whose prices are compared at a time: a few thousand prices.
const MATCHES_AT_A_TIME: usize = 100;

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(in crate::rest) struct Odds {
    id: u64,
    event_id: Option<u64>,
    market: String,
    outcome: String,
    /// Of a handicap, the goals that the home side is given.
    line: Option<Number>,
    /// Whether a stake may come back: `none`, `half`, `full`; null where there is no line.
    push: Option<&'static str>,
    outcome_name: Option<String>,
    bookmaker_slug: String,
    bookmaker_name: String,
    decimal_odds: Number,
    /// With `odds_format`, the price in that format.
    #[serde(skip_serializing_if = "Option::is_none")]
    odds: Option<String>,
    previous_decimal_odds: Option<Number>,
    opening_decimal_odds: Number,
    opening_at: Option<String>,
    /// 1/price, to four decimal places.
    implied_probability: Option<Number>,
    /// `SHORTENING`, `DRIFTING` or nothing.
    movement: &'static str,
    /// Whether no bookmaker pays more for the same.
    is_max_quote: bool,
    updated_at: Option<String>,
}

impl Odds {
    fn new(row: &OddsRow, is_max_quote: bool) -> Self {
        let (market, outcome) = quote::football(row);
        Self {
            id: row.public_id(),
            event_id: Some(row.match_id),
            market: market.into_owned(),
            outcome: outcome.into_owned(),
            line: row.line.map(|line| Number(line.normalize())),
            push: market::push(row.line),
            outcome_name: Some(quote::outcome_name(row)),
            bookmaker_slug: row.bookmaker.to_string(),
            bookmaker_name: bookmaker::name(&row.bookmaker).into_owned(),
            decimal_odds: Number(row.price),
            odds: None,
            previous_decimal_odds: row.previous.map(Number),
            opening_decimal_odds: Number(row.opening),
            opening_at: time::zulu(row.opening_us),
            implied_probability: quote::implied(row.price),
            movement: quote::movement(row),
            is_max_quote,
            updated_at: time::zulu(row.updated_us),
        }
    }
}

impl Odds {
    /// The same with its price in a format.
    fn formatted(self, format: Option<OddsFormat>) -> Self {
        Self { odds: format.and_then(|format| format.write(self.decimal_odds.0)), ..self }
    }
}

/// The requested prices.
#[derive(Debug)]
pub(in crate::rest) struct OddsQuery {
    pub(in crate::rest) filter: OddsFilter,
    is_max_quote: Option<bool>,
}

impl OddsQuery {
    /// Reads the filters of a request.
    ///
    /// # Errors
    ///
    /// If a value cannot be used, if market and outcome do not go together, or if a bookmaker is named
    /// whose prices the caller does not have.
    pub(in crate::rest) fn read(
        api: &Api,
        caller: &Caller,
        params: &Params,
        now: Micros,
    ) -> Result<Self, ApiError> {
        let OutcomeParams { market, outcome } = OutcomeParams::read(params)?;
        let (market, line, outcome) = market_of(market, outcome.as_deref())?;
        let slugs = BookmakerParams::read(params)?.bookmaker_slug;
        // A caller without access is refused before other values are read.
        let bookmakers = bookmakers(api, caller, slugs.as_deref())?;
        let wanted = OddsParams::read(params)?;
        let mut filter = OddsFilter {
            bookmakers,
            market,
            line,
            outcome,
            period: Period::WholeMatch,
            min_price: wanted.min_decimal_odds,
            max_price: wanted.max_decimal_odds,
            movement: wanted.movement,
            updated_after: wanted.updated_after,
            ..OddsFilter::default()
        };
        let query = OddsMatchParams::read(params)?.query(params, Some(Sport::Football));
        filter.matches = Some(match_ids(api, query, &mut filter.updated_after, now));
        Ok(Self { filter, is_max_quote: wanted.is_max_quote })
    }

    /// How many rows there are, and those in the window.
    pub(in crate::rest) async fn rows(
        &self,
        api: &Api,
        window: Window,
    ) -> Result<(usize, Vec<Odds>), ApiError> {
        if let Some(is_max) = self.is_max_quote {
            return self.compared(api, is_max, window).await;
        }
        let (count, rows) = api.history.odds(&self.filter, window).await?;
        let max = highest(api, &rows).await?;
        let rows = rows.iter().map(|row| Odds::new(row, max.contains(&row.id)));
        Ok((count, rows.collect()))
    }

    /// The rows that have the highest price of all bookmakers, or those that do not. Compares the prices of a few
    /// matches at a time, which bounds the memory; rows are sorted by match first.
    async fn compared(
        &self,
        api: &Api,
        is_max: bool,
        window: Window,
    ) -> Result<(usize, Vec<Odds>), ApiError> {
        let (all, _) = api.history.odds(&self.filter, Window { offset: 0, limit: 0 }).await?;
        if all > COMPARED_MAX {
            return Err(ApiError::BadParameter(format!(
                "is_max_quote is found out of at most {COMPARED_MAX} prices, and there are {all}: \
                 ask for fewer, such as those of an event, a league or a market."
            )));
        }
        let mut matches = self.filter.matches.clone().unwrap_or_default();
        matches.sort_unstable();
        let (mut count, mut page) = (0, Vec::new());
        for some in matches.chunks(MATCHES_AT_A_TIME) {
            let filter = OddsFilter { matches: Some(some.to_vec()), ..self.filter.clone() };
            let (_, rows) = api.history.odds(&filter, Window::ALL).await?;
            let max = highest(api, &rows).await?;
            for row in rows.iter().filter(|row| max.contains(&row.id) == is_max) {
                if count >= window.offset && page.len() < window.limit {
                    page.push(Odds::new(row, is_max));
                }
                count += 1;
            }
        }
        Ok((count, page))
    }
}

/// Which of these rows have the highest price of all bookmakers.
async fn highest(api: &Api, rows: &[OddsRow]) -> Result<HashSet<Key>, ApiError> {
    let matches: HashSet<_> = rows.iter().map(|row| row.match_id).collect();
    if rows.iter().all(quote::is_consensus) {
        return Ok(HashSet::new());
    }
    let filter =
        OddsFilter { matches: Some(matches.into_iter().collect()), ..OddsFilter::default() };
    let (_, all) = api.history.odds(&filter, Window::ALL).await?;
    let best: HashMap<OutcomeKey, Decimal> =
        quote::best(all.iter()).into_iter().map(|(thing, row)| (thing, row.price)).collect();
    let is_highest = |row: &&OddsRow| {
        !quote::is_consensus(row) && best.get(&OutcomeKey::new(row)) == Some(&row.price)
    };
    Ok(rows.iter().filter(is_highest).map(|row| row.id).collect())
}

/// Market, line and outcome by our own names.
type MarketSelection = (Option<String>, Option<Decimal>, Option<String>);

fn market_of(market: Option<Market>, outcome: Option<&str>) -> Result<MarketSelection, ApiError> {
    let outcome_name = match (market, outcome) {
        (market, None) => market.and_then(|market| market.selection).map(ToOwned::to_owned),
        (Some(market), Some(outcome)) => match market.outcome_named(outcome) {
            Some(named) => Some(named.into_owned()),
            None => {
                let what = format!("the outcome of {}", market.name);
                return Err(ApiError::unknown_value(&what, market.outcome_names()));
            }
        },
        (None, Some(outcome)) => match facts::market::outcome_named(outcome) {
            Some(named) => Some(named.to_owned()),
            None => {
                return Err(ApiError::unknown_value("outcome", facts::market::all_outcome_names()));
            }
        },
    };
    let kind = market.map(|market| market.kind.to_owned());
    Ok((kind, market.and_then(|market| market.line), outcome_name))
}

/// Those that the caller asks for and may see; `None` for all.
fn bookmakers(
    api: &Api,
    caller: &Caller,
    text: Option<&str>,
) -> Result<Option<Vec<String>>, ApiError> {
    match bookmaker::slugs(api, "bookmaker_slug", text)? {
        Some(slugs) => {
            if slugs.iter().any(|slug| slug != CONSENSUS) {
                needs_bookmakers(api, caller)?;
            }
            Ok(Some(slugs))
        }
        None if api.check_bookmakers(caller, wall()).is_ok() => Ok(None),
        None => Ok(Some(vec![CONSENSUS.to_owned()])),
    }
}

/// The football matches whose prices are requested.
fn match_ids(
    api: &Api,
    filter: MatchQuery,
    updated_after: &mut Option<Micros>,
    now: Micros,
) -> Vec<Key> {
    if !filter.is_narrow() && updated_after.is_none() {
        *updated_after = Some(now.saturating_sub(RECENT_US));
    }
    // A price that was written is of a match that changed a moment before.
    let updated_since = updated_after.map(|after| after.saturating_sub(WRITTEN_WITHIN_US));
    let found = api.history.find(&MatchQuery { updated_since, ..filter }).summaries;
    found.iter().map(|summary| summary.id).collect()
}

/// The movement of a word, in any case.
pub(in crate::rest) fn movement(text: &str) -> Option<Movement> {
    match text.to_ascii_uppercase().as_str() {
        "SHORTENING" => Some(Movement::Shortening),
        "DRIFTING" => Some(Movement::Drifting),
        _ => None,
    }
}

params! {
    /// Whose prices.
    pub(in crate::rest) struct BookmakerParams {
        #[alias("bookmaker")] bookmaker_slug: Slugs = "One or more slugs, separated by commas; all except consensus need the Odds API add-on",
    }
    /// Of which matches.
    pub(in crate::rest) struct OddsMatchParams for MatchParams {
        #[alias("event")] event_id: Ids = "One or more, at most 50",
        #[alias("league")] league_id: Ids = "One or more",
        #[alias("season")] season_id: Ids = "One or more",
        #[alias("team")] team_id: Ids = "One or more",
    }
    pub(in crate::rest) struct OutcomeParams {
        market: MarketName = "1x2, btts, over_under_25, asian_handicap, ..",
        outcome: Text = "An outcome of the market",
    }
    pub(in crate::rest) struct OddsParams {
        is_max_quote: Flag = "",
        movement: MovementWord = "SHORTENING or DRIFTING",
        min_decimal_odds: Decimal = "",
        max_decimal_odds: Decimal = "",
        updated_after: Begin = "A day or a timestamp. Without it and without a filter by match, the last 48 hours",
    }
}

const LIST: Spec = Spec {
    aliases: &[("page_size", "limit"), ("page", "offset")],
    tolerated: &["tz", "full", "ordering"],
    ..Spec::new(&[
        BookmakerParams::PARAMS,
        OddsMatchParams::PARAMS,
        FormatParams::PARAMS,
        OutcomeParams::PARAMS,
        OddsParams::PARAMS,
    ])
    .paged()
};

const ONE: Spec =
    super::one(&[&[Param::new::<Id>("id", "The price's ID").in_path()], FormatParams::PARAMS]);

endpoints! {
    /// Prices, by match, market, line, outcome and bookmaker.
    "/api/v2/odds/", params(LIST), answers(Page<Odds>),
        or(status = 400, description = "Unknown parameter, invalid value, or an outcome that the market does not have"),
        or(status = 403, description = "The account does not include prices by bookmaker"),
        |request| list(&request).await;

    /// One price.
    "/api/v2/odds/{id}/", params(ONE), answers(Odds),
        or(status = 400, description = "Unknown parameter"),
        or(status = 403, description = "The account does not include prices by bookmaker"),
        or(status = 404, description = "No such price"),
        |request| detail(&request).await;
}

async fn list(request: &ApiRequest) -> ApiResult {
    let query = OddsQuery::read(&request.api, request.caller()?, &request.params, now())?;
    let format = FormatParams::read(&request.params)?.odds_format;
    let (count, rows) = query.rows(&request.api, request.window).await?;
    let rows = rows.into_iter().map(|row| row.formatted(format)).collect();
    request.page(CacheControl::ODDS, count, rows)
}

/// One price of football, as a row.
pub(in crate::rest) async fn one(api: &Api, caller: &Caller, id: Key) -> Result<Odds, ApiError> {
    let row = api.history.odds_row(id).await?.ok_or(ApiError::NotFound)?;
    super::football_record(api, row.match_id).await?;
    if !quote::is_consensus(&row) {
        needs_bookmakers(api, caller)?;
    }
    let max = highest(api, std::slice::from_ref(&row)).await?;
    Ok(Odds::new(&row, max.contains(&row.id)))
}

async fn detail(request: &ApiRequest) -> ApiResult {
    let format = FormatParams::read(&request.params)?.odds_format;
    let row = one(&request.api, request.caller()?, request.id()?).await?;
    request.answer(CacheControl::ODDS, &row.formatted(format))
}
