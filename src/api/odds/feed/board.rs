//! `/odds/api/`: the matches that can be bet on, each with every price.

use std::collections::HashMap;

use axum::{extract::State, http::Uri, response::Response};
use hyper::HeaderMap;

use super::{
    event::{EventOdds, choose},
    events,
};
use crate::{
    api::{
        Api, ApiError, CacheControl, Page, PageUrl, Params, Spec,
        odds::{quote, status},
        view::View,
    },
    archive::{OddsFilter, OddsRow, Period, Window},
    record::Key,
};

/// Matches of a page: each may have some hundred prices.
const LIMIT_DEFAULT: usize = 10;
const LIMIT_MAX: usize = 50;

const BOARD: Spec = Spec {
    accepted: &[
        "bookmaker",
        "date_from",
        "date_to",
        "league_id",
        "limit",
        "line",
        "market",
        "offset",
        "outcome",
        "period",
        "sport",
        "status",
        "team_id",
    ],
    aliases: &[
        ("bookmaker_slug", "bookmaker"),
        ("league", "league_id"),
        ("team", "team_id"),
        ("page_size", "limit"),
    ],
    tolerated: &["tz", "ordering"],
};

/// Matches of all sports with every price of every bookmaker, by their start. Without `status`, those
/// that are not over.
#[utoipa::path(
    get, path = "/odds/api/", tag = "odds",
    params(
        ("sport" = Option<String>, Query, description = "football, tennis, csgo, darts, hockey, basketball, horseracing, cricket, other"),
        ("league_id" = Option<u64>, Query),
        ("team_id" = Option<u64>, Query, description = "Team or player, on either side"),
        ("date_from" = Option<String>, Query, description = "A day or a timestamp"),
        ("date_to" = Option<String>, Query, description = "A day (inclusive) or a timestamp"),
        ("status" = Option<String>, Query, description = "notstarted, inprogress, finished, ..; separate several with commas"),
        ("bookmaker" = Option<String>, Query, description = "One or more slugs, separated by commas"),
        ("market" = Option<String>, Query, description = "match_winner, over_under, .."),
        ("outcome" = Option<String>, Query),
        ("period" = Option<String>, Query, description = "Period of the match"),
        ("line" = Option<f64>, Query),
        ("limit" = Option<u64>, Query, description = "Number of rows (default 10, max 50)"),
        ("offset" = Option<u64>, Query),
    ),
    responses((status = 200, body = Page<EventOdds>), (status = 400, description = "Unknown parameter or invalid value"))
)]
pub(super) async fn board(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let params = Params::read(uri.query(), BOARD)?;
    let window = params.window_of(LIMIT_DEFAULT, LIMIT_MAX)?;
    let mut filter = events::filter(&params)?;
    filter.statuses.get_or_insert_with(status::not_over);
    let view = View::now(&api, None);
    let found = view.find(&filter, window);
    let records = view.records(&found.briefs).await?;
    let odds_filter = OddsFilter {
        matches: Some(records.iter().map(|record| record.brief.id).collect()),
        period: Period::Any,
        ..OddsFilter::default()
    };
    let mut kept: HashMap<Key, Vec<OddsRow>> = HashMap::new();
    for row in api.archive.odds(&odds_filter, Window::ALL).await?.1 {
        kept.entry(row.match_id).or_default().push(row);
    }
    let mut rows = Vec::with_capacity(records.len());
    for record in &records {
        let kept = kept.remove(&record.brief.id).unwrap_or_default();
        let mut prices = quote::up_to_date(record, kept);
        let highest = quote::highest(&prices);
        choose(&params, &mut prices)?;
        rows.push(EventOdds::new(record, &prices, &highest, None));
    }
    let page_url = PageUrl { api: &api, headers: &headers, path: uri.path(), params: &params };
    CacheControl::ODDS.answer(&headers, &Page::new(&page_url, window, found.count, rows))
}
