//! `/odds/api/`: the matches that can be bet on, each with every price.

use std::collections::HashMap;

use super::{
    event::{EventOdds, PriceFilter, PriceParams},
    events::{self, EventParams},
};
use crate::rest::{
    ApiRequest, ApiResult, CacheControl, Page, PageSize, Param, Spec,
    kind::Number,
    odds::{quote, up_to_date},
    view::View,
};
use history::query::{OddsFilter, OddsRow, Period, Window};
use record::{Key, Status};

/// Matches of a page: each may have some hundred prices.
const EVENTS: PageSize = PageSize { default: 10, max: 50 };

const BOARD: Spec = Spec {
    aliases: &[("page_size", "limit")],
    tolerated: &["tz", "ordering"],
    ..Spec::new(&[
        EventParams::PARAMS,
        PriceParams::PARAMS,
        &[Param::new::<Number>("limit", "Number of rows (default 10, max 50)")],
    ])
    .paged_by(EVENTS)
};

endpoints! {
    /// Matches of all sports with every price of every bookmaker, by their start. Without `status`, those
    /// that are not over.
    "/odds/api/", params(BOARD), answers(Page<EventOdds>), |request| board(&request).await;
}

async fn board(request: &ApiRequest) -> ApiResult {
    let params = PriceParams::read(&request.params)?;
    let mut query = events::filter(&request.params)?;
    query.statuses.get_or_insert_with(Status::not_over);
    query.window = request.window;
    let view = View::now(&request.api.history, None);
    let found = view.find(&query);
    let records = view.records(&query, &found.summaries).await?;
    let odds_filter = OddsFilter {
        matches: Some(records.iter().map(|record| record.summary.id).collect()),
        period: Period::Any,
        ..OddsFilter::default()
    };
    let mut archived: HashMap<Key, Vec<OddsRow>> = HashMap::new();
    for row in request.api.history.odds(&odds_filter, Window::ALL).await?.1 {
        archived.entry(row.match_id).or_default().push(row);
    }
    let filter = PriceFilter::new(&request.api, &params)?;
    let prices = records.iter().map(|record| {
        let archived = archived.remove(&record.summary.id).unwrap_or_default();
        up_to_date(&request.api, record.summary.id, archived)
    });
    let prices: Vec<Vec<OddsRow>> = prices.collect();
    filter.check(prices.iter().flatten())?;
    let rows = records.iter().zip(prices).map(|(record, mut prices)| {
        let highest = quote::highest(&prices);
        prices.retain(|row| filter.selects(row));
        EventOdds::new(record, &prices, &highest, None, params.odds_format)
    });
    let rows = rows.collect();
    request.page(CacheControl::ODDS, found.count, rows)
}
