//! `/odds/api/events/{event_id}/history/`: what the prices of a match have been.

use std::collections::HashMap;

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use fanout::Micros;
use hyper::HeaderMap;
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::event::choose;
use crate::{
    api::{
        Api, ApiError, CacheControl, Number, Page, PageUrl, Params, Spec,
        odds::{id_of, quotes},
    },
    archive::{OddsRow, Tick},
    record::Key,
};

/// Prices of which the history is told at once; in play, each may have thousands of changes.
const PRICES_MAX: usize = 500;

/// A change of a price.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct TickRow {
    /// By the clock of its source, where that has one.
    source_at: Option<String>,
    received_at: Option<String>,
    /// Null: it was withdrawn.
    price: Option<Number>,
}

impl TickRow {
    pub(super) fn of(tick: &Tick) -> Self {
        Self {
            source_at: exact(tick.at_us),
            received_at: exact(tick.received_us),
            price: tick.price.map(Number),
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
    fn new(row: &OddsRow, tick: &Tick) -> Self {
        Self {
            id: row.public_id(),
            bookmaker_slug: row.bookmaker.to_string(),
            market: row.market.to_string(),
            period: row.period.as_ref().map(|it| it.to_string()),
            line: row.line.map(|line| Number(line.normalize())),
            outcome: row.outcome.to_string(),
            tick: TickRow::of(tick),
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

const LIST: Spec = Spec {
    accepted: &[
        "bookmaker",
        "date_from",
        "date_to",
        "limit",
        "line",
        "market",
        "offset",
        "outcome",
        "period",
    ],
    aliases: &[("bookmaker_slug", "bookmaker"), ("page_size", "limit")],
    tolerated: &["tz"],
};

/// Changes of prices, the oldest first.
#[utoipa::path(
    get, path = "/odds/api/events/{event_id}/history/", tag = "odds",
    params(
        ("event_id" = u64, Path),
        ("bookmaker" = Option<String>, Query, description = "One or more slugs, separated by commas"),
        ("market" = Option<String>, Query, description = "match_winner, over_under, .."),
        ("outcome" = Option<String>, Query),
        ("period" = Option<String>, Query, description = "Period of the match"),
        ("line" = Option<f64>, Query),
        ("date_from" = Option<String>, Query, description = "A day or a timestamp, by the source's clock"),
        ("date_to" = Option<String>, Query, description = "A day (inclusive) or a timestamp"),
        ("limit" = Option<u64>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<u64>, Query),
    ),
    responses((status = 200, body = Page<HistoryRow>), (status = 400, description = "Unknown parameter, invalid value, or the history of too many prices"), (status = 404, description = "No such event"))
)]
pub(super) async fn history(
    State(api): State<Api>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let params = Params::read(uri.query(), LIST)?;
    let (from, before) = (params.from("date_from")?, params.before("date_to")?);
    let window = params.window()?;
    let record = api.record(id_of(&id)?).await?.ok_or(ApiError::NotFound)?;
    let mut rows = quotes(&api, &record).await?;
    choose(&params, &mut rows)?;
    let mut ticks = api.archive.ticks(&ids_of(&rows)?).await?;
    ticks.retain(|tick| {
        from.is_none_or(|from| tick.at_us >= from)
            && before.is_none_or(|before| tick.at_us < before)
    });
    ticks.sort_by_key(|tick| (tick.at_us, tick.odds));
    let rows: HashMap<Key, &OddsRow> = rows.iter().map(|row| (row.id, row)).collect();
    let page = ticks.iter().skip(window.offset).take(window.limit);
    let page = page.filter_map(|tick| Some(HistoryRow::new(rows.get(&tick.odds)?, tick))).collect();
    let page_url = PageUrl { api: &api, headers: &headers, path: uri.path(), params: &params };
    CacheControl::ODDS.answer(&headers, &Page::new(&page_url, window, ticks.len(), page))
}
