//! `/odds/api/`: the matches that can be bet on, each with every price.

use std::collections::HashMap;

use super::{
    event::{BOOKMAKER, EventOdds, LINE, MARKET, OUTCOME, PERIOD, choose},
    events::{self, DATE_FROM, DATE_TO, LEAGUE_ID, SPORT, STATUS, TEAM_ID},
};
use crate::api::{
    ApiRequest, ApiResult, CacheControl, Page, PageSize, Param, Spec,
    odds::{quote, up_to_date},
    view::View,
};
use history::query::{OddsFilter, OddsRow, Period, Window};
use record::{Key, Status};

/// Matches of a page: each may have some hundred prices.
const EVENTS: PageSize = PageSize { default: 10, max: 50 };

const BOARD: Spec = Spec {
    aliases: &[
        ("bookmaker_slug", "bookmaker"),
        ("league", "league_id"),
        ("team", "team_id"),
        ("page_size", "limit"),
    ],
    tolerated: &["tz", "ordering"],
    ..Spec::of(&[
        SPORT,
        LEAGUE_ID,
        TEAM_ID,
        DATE_FROM,
        DATE_TO,
        STATUS,
        BOOKMAKER,
        MARKET,
        OUTCOME,
        PERIOD,
        LINE,
        Param::number("limit", "Number of rows (default 10, max 50)"),
    ])
    .paged_by(EVENTS)
};

endpoints! {
    /// Matches of all sports with every price of every bookmaker, by their start. Without `status`, those
    /// that are not over.
    "/odds/api/", params(BOARD), answers(Page<EventOdds>), |request| board(&request).await;
}

async fn board(request: &ApiRequest) -> ApiResult {
    let params = &request.params;
    let mut filter = events::filter(params)?;
    filter.statuses.get_or_insert_with(Status::not_over);
    filter.window = request.window;
    let view = View::now(&request.api.history, None);
    let found = view.find(&filter);
    let records = view.records(&found.briefs).await?;
    let odds_filter = OddsFilter {
        matches: Some(records.iter().map(|record| record.brief.id).collect()),
        period: Period::Any,
        ..OddsFilter::default()
    };
    let mut archived: HashMap<Key, Vec<OddsRow>> = HashMap::new();
    for row in request.api.history.odds(&odds_filter, Window::ALL).await?.1 {
        archived.entry(row.match_id).or_default().push(row);
    }
    let mut rows = Vec::with_capacity(records.len());
    for record in &records {
        let archived = archived.remove(&record.brief.id).unwrap_or_default();
        let mut prices = up_to_date(&request.api, record.brief.id, archived);
        let highest = quote::highest(&prices);
        choose(params, &mut prices)?;
        rows.push(EventOdds::new(record, &prices, &highest, None));
    }
    request.page(CacheControl::ODDS, found.count, rows)
}
