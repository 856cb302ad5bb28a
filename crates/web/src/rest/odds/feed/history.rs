//! `/odds/api/events/{event_id}/history/`: what the prices of a match have been.

use std::collections::HashMap;

use fanout::Micros;
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::event::{PriceFilter, PriceParams};
use crate::rest::{
    ApiError, ApiRequest, ApiResult, CacheControl, Number, Page, Spec,
    odds::{format::OddsFormat, quotes},
};
use history::query::{OddsRow, Tick};
use record::Key;

/// Prices whose history is returned in one response; in play, each may have thousands of changes.
const PRICES_MAX: usize = 500;

/// A change of a price.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct TickRow {
    /// By the clock of its source, where that has one.
    source_at: Option<String>,
    received_at: Option<String>,
    /// Null: it was withdrawn.
    price: Option<Number>,
    /// With `odds_format`, the price in that format.
    #[serde(skip_serializing_if = "Option::is_none")]
    odds: Option<String>,
}

impl TickRow {
    pub(super) fn new(tick: &Tick, format: Option<OddsFormat>) -> Self {
        Self {
            source_at: exact(tick.at_us),
            received_at: exact(tick.received_us),
            price: tick.price.map(Number),
            odds: format.and_then(|format| format.write(tick.price?)),
        }
    }
}

/// The same with what it is a price of.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HistoryRow {
    /// Of the price.
    id: u64,
    bookmaker_slug: String,
    market: String,
    period: Option<String>,
    line: Option<Number>,
    outcome: String,
    #[serde(flatten)]
    #[schema(inline)]
    tick: TickRow,
}

impl HistoryRow {
    fn new(row: &OddsRow, tick: &Tick, format: Option<OddsFormat>) -> Self {
        Self {
            id: row.public_id(),
            bookmaker_slug: row.bookmaker.to_string(),
            market: row.market.to_string(),
            period: row.period.as_ref().map(|it| it.to_string()),
            line: row.line.map(|line| Number(line.normalize())),
            outcome: row.outcome.to_string(),
            tick: TickRow::new(tick, format),
        }
    }
}

/// `2026-08-30T18:00:00.123456Z`: how old a price is matters here.
pub(super) fn exact(at: Micros) -> Option<String> {
    let at = Timestamp::from_microsecond(at).ok()?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string())
}

/// The ids of these prices, if they are not too many.
pub(super) fn ids_of(rows: &[OddsRow]) -> Result<Vec<Key>, ApiError> {
    if rows.len() > PRICES_MAX {
        return Err(ApiError::BadParameter(format!(
            "{} prices are too many for their history, at most {PRICES_MAX}: \
             name a bookmaker or a market.",
            rows.len()
        )));
    }
    Ok(rows.iter().map(|row| row.id).collect())
}

params! {
    struct DateParams {
        date_from: Begin = "A day or a timestamp, by the source's clock",
        date_to: End = "A day (inclusive) or a timestamp",
    }
}

const LIST: Spec = Spec {
    aliases: &[("page_size", "limit")],
    tolerated: &["tz"],
    ..Spec::new(&[PriceParams::PARAMS, DateParams::PARAMS]).paged()
};

endpoints! {
    /// Changes of prices, the oldest first.
    "/odds/api/events/{event_id}/history/", params(LIST), answers(Page<HistoryRow>),
        or(status = 400, description = "Unknown parameter, invalid value, or the history of too many prices"),
        or(status = 404, description = "No such event"),
        |request| history(&request).await;
}

async fn history(request: &ApiRequest) -> ApiResult {
    let DateParams { date_from, date_to } = DateParams::read(&request.params)?;
    let record = request.api.record(request.key("event_id")?).await?.ok_or(ApiError::NotFound)?;
    let params = PriceParams::read(&request.params)?;
    let mut rows = quotes(&request.api, &record).await?;
    let filter = PriceFilter::new(&request.api, &params)?;
    filter.check(rows.iter())?;
    rows.retain(|row| filter.selects(row));
    let format = params.odds_format;
    let mut ticks = request.api.history.ticks(record.summary.id, &ids_of(&rows)?).await?;
    ticks.retain(|tick| {
        date_from.is_none_or(|from| tick.at_us >= from)
            && date_to.is_none_or(|before| tick.at_us < before)
    });
    ticks.sort_by_key(|tick| (tick.at_us, tick.odds));
    let rows: HashMap<Key, &OddsRow> = rows.iter().map(|row| (row.id, row)).collect();
    let page = ticks.iter().skip(request.window.offset).take(request.window.limit);
    let row = |tick: &Tick| Some(HistoryRow::new(rows.get(&tick.odds)?, tick, format));
    let page = page.filter_map(row).collect();
    request.page(CacheControl::ODDS, ticks.len(), page)
}
