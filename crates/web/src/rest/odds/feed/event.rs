//! `/odds/api/events/{event_id}/`: all prices of one match.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use facts::market::{self, Market};
use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    events::OddsEvent,
    history::{TickRow, exact, ids_of},
};
use crate::rest::{
    Api, ApiError, ApiRequest, ApiResult, CacheControl, Number, Spec,
    odds::{
        bookmaker,
        format::{ODDS_FORMAT, OddsFormat},
        quote::{self, OutcomeKey},
        quotes,
    },
};
use history::query::OddsRow;
use record::{Key, MatchRecord};

/// Ticks of each price that are shown beside it, the last ones; all are in the history.
const TICKS_SHOWN: usize = 100;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EventOdds {
    #[serde(flatten)]
    #[schema(inline)]
    event: OddsEvent,
    /// Without the consensus.
    bookmakers_count: usize,
    prices_count: usize,
    markets: Vec<MarketRow>,
}

#[derive(Debug, Serialize, ToSchema)]
struct MarketRow {
    /// `match_winner`, `over_under`, `both_teams_to_score`, `asian_handicap`, ..
    market: String,
    /// The part of the match, `1h`, `set1`; null for all of it.
    period: Option<String>,
    line: Option<Number>,
    outcomes: Vec<OutcomeRow>,
}

#[derive(Debug, Serialize, ToSchema)]
struct OutcomeRow {
    /// `home`, `draw`, `away`, `p1`, `p2`, `over`, `under`, `yes`, `no`, `1x`, `12`, `x2`; else what the
    /// bookmaker calls it, or its id.
    outcome: String,
    outcome_name: String,
    bookmakers: Vec<PriceRow>,
}

/// One bookmaker's price.
#[derive(Debug, Serialize, ToSchema)]
struct PriceRow {
    /// The same here and at /api/v2/odds/{id}/.
    id: u64,
    bookmaker_slug: String,
    bookmaker_name: String,
    /// The last that was on offer.
    price: Number,
    /// With `odds_format`, the price in that format.
    #[serde(skip_serializing_if = "Option::is_none")]
    odds: Option<String>,
    /// The one before it.
    previous: Option<Number>,
    /// The first reported price.
    opening: Number,
    opening_at: Option<String>,
    /// `SHORTENING`, `DRIFTING` or nothing.
    movement: &'static str,
    /// 1/price, to four decimal places.
    implied_probability: Option<Number>,
    /// Whether no bookmaker pays more.
    is_max: bool,
    /// Whether it cannot be taken now.
    suspended: bool,
    in_play: bool,
    /// Since when it is the price, by the clock of its source where that has one.
    source_at: Option<String>,
    /// When we knew it.
    received_at: Option<String>,
    /// With `history=true`: the last 100 changes, the oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<TickRow>>,
}

params! {
    /// Which prices a request wants, and how it has them written.
    pub(super) struct PriceParams {
        #[alias("bookmaker_slug")] bookmaker: Slugs = "One or more slugs, separated by commas",
        market: Text = "match_winner, over_under, ..; also 1x2, over_under_25, over_under@2.5",
        outcome: Text = "home, draw, over, ..; also 1, X, 2",
        period: Text = "Period of the match",
        line: Decimal = "",
        odds_format: PriceFormat = ODDS_FORMAT,
    }
}

/// Which prices a request wants. Markets and outcomes are those of [`facts::market`], and what the prices themselves have.
#[derive(Debug)]
pub(super) struct PriceFilter<'a> {
    bookmakers: Option<Vec<String>>,
    market: Option<&'a str>,
    outcome: Option<&'a str>,
    period: Option<&'a str>,
    line: Option<Decimal>,
    /// What the words for the market mean, if they are not a bookmaker's own, and the part of the match that they name.
    named: Option<(Market, Option<&'a str>)>,
}

impl<'a> PriceFilter<'a> {
    /// # Errors
    ///
    /// If there is no such bookmaker.
    pub(super) fn new(api: &Api, params: &'a PriceParams) -> Result<Self, ApiError> {
        let market = params.market.as_deref();
        Ok(Self {
            bookmakers: bookmaker::slugs(api, "bookmaker", params.bookmaker.as_deref())?,
            market,
            outcome: params.outcome.as_deref(),
            period: params.period.as_deref(),
            line: params.line,
            named: market.and_then(Market::with_period),
        })
    }

    /// Whether a price is wanted.
    pub(super) fn selects(&self, row: &OddsRow) -> bool {
        let is = |wanted: Option<&str>, value: Option<&str>| {
            wanted.is_none_or(|it| value.is_some_and(|value| value.eq_ignore_ascii_case(it)))
        };
        self.bookmakers.as_ref().is_none_or(|slugs| slugs.iter().any(|it| **it == *row.bookmaker))
            && self.is_market(row)
            && self.is_outcome(row)
            && is(self.period, row.period.as_deref())
            && self.line.is_none_or(|line| row.line == Some(line))
    }

    fn is_market(&self, row: &OddsRow) -> bool {
        let is_named = |(market, period): (Market, Option<&str>)| {
            *row.market == *market.kind
                && market.line.is_none_or(|line| row.line == Some(line))
                && period.is_none_or(|period| row.period.as_deref() == Some(period))
        };
        self.market.is_none_or(|text| row.market.eq_ignore_ascii_case(text))
            || self.named.is_some_and(is_named)
    }

    fn is_outcome(&self, row: &OddsRow) -> bool {
        let selection = || self.named.and_then(|(market, _)| market.selection);
        let Some(text) = self.outcome.or_else(selection) else { return true };
        // Players have no home and away.
        let is_player =
            |named: &str| matches!((named, &*row.outcome), ("home", "p1") | ("away", "p2"));
        let is_named = |named: &str| named == &*row.outcome || is_player(named);
        row.outcome.eq_ignore_ascii_case(text) || market::outcome_named(text).is_some_and(is_named)
    }

    /// Refuses a market or an outcome that neither the vocabulary nor one of these prices has.
    ///
    /// # Errors
    ///
    /// If there is one; with those that there are.
    pub(super) fn check<'b>(
        &self,
        rows: impl Iterator<Item = &'b OddsRow> + Clone,
    ) -> Result<(), ApiError> {
        let in_market = rows.clone().filter(|row| self.is_market(row));
        if self.market.is_some() && self.named.is_none() && in_market.clone().next().is_none() {
            let kinds: BTreeSet<&str> = rows.map(|row| &*row.market).collect();
            let kinds = kinds.into_iter().map(ToOwned::to_owned);
            let accepted = kinds.chain(market::names().map(ToOwned::to_owned));
            return Err(ApiError::unknown_value("market", accepted));
        }
        let Some(text) = self.outcome else { return Ok(()) };
        if self.has_outcome(text) || in_market.clone().any(|row| self.is_outcome(row)) {
            return Ok(());
        }
        let outcomes: BTreeSet<&str> = in_market.map(|row| &*row.outcome).collect();
        Err(match self.named {
            _ if !outcomes.is_empty() => ApiError::unknown_value("outcome", outcomes),
            Some((market, _)) => ApiError::unknown_value("outcome", market.outcome_names()),
            None => ApiError::unknown_value("outcome", market::all_outcome_names()),
        })
    }

    /// Whether the requested market, or without one any market, has an outcome of this name, whatever there are prices of.
    fn has_outcome(&self, text: &str) -> bool {
        // Players have no home and away.
        let text = match market::outcome_named(text) {
            Some("p1") => "home",
            Some("p2") => "away",
            _ => text,
        };
        match self.named {
            Some((market, _)) => market.outcome_named(text).is_some(),
            None => self.market.is_none() && market::outcome_named(text).is_some(),
        }
    }
}

impl EventOdds {
    /// `highest`: of each thing the highest price. `history`: what is to be shown of each row.
    pub(super) fn new(
        record: &MatchRecord,
        rows: &[OddsRow],
        highest: &HashMap<OutcomeKey, Decimal>,
        mut history: Option<HashMap<Key, Vec<TickRow>>>,
        format: Option<OddsFormat>,
    ) -> Self {
        let bookmakers: BTreeSet<_> =
            rows.iter().filter(|row| !quote::is_consensus(row)).map(|row| &row.bookmaker).collect();
        let mut markets: Vec<MarketRow> = Vec::new();
        let mut last = None;
        for row in rows {
            let market_key = (Arc::clone(&row.market), row.period.clone(), row.line);
            if last.as_ref() != Some(&market_key) {
                markets.push(MarketRow {
                    market: row.market.to_string(),
                    period: row.period.as_ref().map(|it| it.to_string()),
                    line: row.line.map(|line| Number(line.normalize())),
                    outcomes: Vec::new(),
                });
                last = Some(market_key);
            }
            let ticks = history.as_mut().map(|history| history.remove(&row.id).unwrap_or_default());
            let is_max =
                !quote::is_consensus(row) && highest.get(&OutcomeKey::new(row)) == Some(&row.price);
            if let Some(market) = markets.last_mut() {
                market.add(row, PriceRow::new(row, is_max, ticks, format));
            }
        }
        Self {
            event: OddsEvent::from_record(record),
            bookmakers_count: bookmakers.len(),
            prices_count: rows.len(),
            markets,
        }
    }
}

impl MarketRow {
    /// Rows come outcome by outcome.
    fn add(&mut self, row: &OddsRow, price: PriceRow) {
        if self.outcomes.last().is_none_or(|last| *last.outcome != *row.outcome) {
            self.outcomes.push(OutcomeRow {
                outcome: row.outcome.to_string(),
                outcome_name: quote::outcome_name(row),
                bookmakers: Vec::new(),
            });
        }
        if let Some(last) = self.outcomes.last_mut() {
            last.bookmakers.push(price);
        }
    }
}

impl PriceRow {
    fn new(
        row: &OddsRow,
        is_max: bool,
        history: Option<Vec<TickRow>>,
        format: Option<OddsFormat>,
    ) -> Self {
        Self {
            id: row.public_id(),
            bookmaker_slug: row.bookmaker.to_string(),
            bookmaker_name: bookmaker::name(&row.bookmaker).into_owned(),
            price: Number(row.price),
            odds: format.and_then(|format| format.write(row.price)),
            previous: row.previous.map(Number),
            opening: Number(row.opening),
            opening_at: exact(row.opening_us),
            movement: quote::movement(row),
            implied_probability: quote::implied(row.price),
            is_max,
            suspended: !row.is_open,
            in_play: row.in_play,
            source_at: exact(row.price_us),
            received_at: exact(row.received_us),
            history,
        }
    }
}

params! {
    struct HistoryParams { history: Flag = "Include the last 100 changes of each price, for at most 500 prices" }
}

const ONE: Spec =
    Spec { tolerated: &["tz"], ..Spec::new(&[PriceParams::PARAMS, HistoryParams::PARAMS]) };

endpoints! {
    /// Every price of every bookmaker of a match, with the consensus.
    "/odds/api/events/{event_id}/", params(ONE), answers(EventOdds),
        or(status = 400, description = "Unknown parameter, invalid value, or the history of too many prices"),
        or(status = 404, description = "No such event"),
        |request| event(&request).await;
}

async fn event(request: &ApiRequest) -> ApiResult {
    let record = request.api.record(request.key("event_id")?).await?.ok_or(ApiError::NotFound)?;
    let params = PriceParams::read(&request.params)?;
    let with_history = HistoryParams::read(&request.params)?.history;
    let mut rows = quotes(&request.api, &record).await?;
    let highest = quote::highest(&rows);
    let filter = PriceFilter::new(&request.api, &params)?;
    filter.check(rows.iter())?;
    rows.retain(|row| filter.selects(row));
    let format = params.odds_format;
    let history = if with_history == Some(true) {
        Some(last_ticks(&request.api, record.summary.id, &rows, format).await?)
    } else {
        None
    };
    request.answer(CacheControl::ODDS, &EventOdds::new(&record, &rows, &highest, history, format))
}

async fn last_ticks(
    api: &Api,
    match_id: Key,
    rows: &[OddsRow],
    format: Option<OddsFormat>,
) -> Result<HashMap<Key, Vec<TickRow>>, ApiError> {
    let ids = ids_of(rows)?;
    let mut all: HashMap<Key, Vec<TickRow>> = HashMap::new();
    for tick in api.history.ticks(match_id, &ids).await? {
        all.entry(tick.odds).or_default().push(TickRow::new(&tick, format));
    }
    for ticks in all.values_mut() {
        ticks.drain(..ticks.len().saturating_sub(TICKS_SHOWN));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;

    /// Prices come and go: what is refused depends on the vocabulary.
    #[test]
    fn words_of_the_vocabulary_are_accepted_without_prices() {
        for (market, outcome, is_accepted) in [
            (None, Some("over"), true),
            (None, Some("p1"), true),
            (None, Some("maybe"), false),
            (Some("1x2"), Some("2"), true),
            (Some("match_winner"), Some("p2"), true),
            (Some("match_winner:1h"), Some("draw"), true),
            (Some("1x2"), Some("over"), false),
            (Some("over_under_25"), Some("yes"), false),
            (Some("over_under_25"), Some("p1"), false),
            (Some("nonsense"), None, false),
        ] {
            let named = market.and_then(Market::with_period);
            let filter =
                PriceFilter { bookmakers: None, market, outcome, period: None, line: None, named };
            let checked = filter.check(iter::empty());
            assert_eq!(checked.is_ok(), is_accepted, "{market:?} {outcome:?}: {checked:?}");
        }
    }
}
