//! Prices: the rows of version 2 with the names and paging of version 1.

use axum::{
    Extension,
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use hyper::HeaderMap;
use ingest::event::Sport;

use super::request::V1Query;
use crate::{
    accounts::Caller,
    api::{
        Api, ApiError, CacheControl, Page,
        odds::{
            best::{self, BestOdds},
            bookmaker::Bookmaker,
            comparison::{Comparison, compare},
            id_of,
            list::{self, Odds},
            market::Market,
            needs_bookmakers, status,
        },
    },
    archive::Filter,
    clock::now,
};

/// Prices. `event`, `league`, `team` and `bookmaker` are taken for `event_id` and so on.
#[utoipa::path(
    get, path = "/api/odds/", tag = "football v1",
    params(("event" = Option<u64>, Query), ("league" = Option<u64>, Query), ("team" = Option<u64>, Query), ("bookmaker" = Option<String>, Query), ("market" = Option<String>, Query), ("outcome" = Option<String>, Query), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<Odds>), (status = 400, description = "Invalid parameter value"), (status = 403, description = "The account does not include prices by bookmaker"))
)]
pub(super) async fn list(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let uri = renamed(&uri)?;
    let query = V1Query::pages(&api, &uri, &headers, list::ACCEPTED)?;
    let odds_query = list::OddsQuery::read(&api, &caller, &query.params, now())?;
    let (count, rows) = odds_query.rows(&api, query.window()).await?;
    CacheControl::ODDS.answer(&headers, &query.page(count, rows))
}

/// The URL with the names of version 2.
fn renamed(uri: &Uri) -> Result<Uri, ApiError> {
    const NAMES: [(&str, &str); 5] = [
        ("event", "event_id"),
        ("league", "league_id"),
        ("season", "season_id"),
        ("team", "team_id"),
        ("bookmaker", "bookmaker_slug"),
    ];
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        let own = NAMES.iter().find(|(own, _)| *own == name).map_or(&*name, |(_, other)| *other);
        query.append_pair(own, &value);
    }
    let address = format!("{}?{}", uri.path(), query.finish());
    address.parse().map_err(|_| ApiError::BadParameter("the address is too long.".to_owned()))
}

/// One price.
#[utoipa::path(
    get, path = "/api/odds/{id}/", tag = "football v1", params(("id" = u64, Path)),
    responses((status = 200, body = Odds), (status = 403, description = "The account does not include prices by bookmaker"), (status = 404, description = "No such price"))
)]
pub(super) async fn detail(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    CacheControl::ODDS.answer(&headers, &list::one(&api, &caller, id_of(&id)?).await?)
}

/// The highest price of each outcome of a market: of one event, else of those that have not begun.
#[utoipa::path(
    get, path = "/api/odds/best/", tag = "football v1",
    params(("event" = Option<u64>, Query), ("league" = Option<String>, Query, pattern = "^([0-9]{1,18}(,[0-9]{1,18})*)?$", description = "One or more IDs, separated by commas"), ("market" = Option<String>, Query, description = "The market (default: 1x2)"), ("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<BestOdds>), (status = 400, description = "Invalid parameter value"), (status = 403, description = "The account does not include prices by bookmaker"))
)]
pub(super) async fn best_odds(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    needs_bookmakers(&api, &caller)?;
    let query = V1Query::pages(&api, &uri, &headers, &["event", "league", "market"])?;
    let event = query.params.id("event")?;
    let market = query.params.parsed("market", "the name of a market, as 1x2", Market::named)?;
    let filter = Filter {
        sport: Some(Sport::Football),
        competitions: query.params.ids("league")?,
        from: event.is_none().then(now),
        statuses: status::parse("upcoming").filter(|_| event.is_none()),
        ..Filter::default()
    };
    let rows = best::rows(&api, &filter, event, market.unwrap_or(Market::RESULT)).await?;
    CacheControl::ODDS.answer(&headers, &query.page_of(rows))
}

/// Every bookmaker of whom there is a price, and the consensus.
#[utoipa::path(
    get, path = "/api/odds/bookmakers/", tag = "football v1",
    params(("page" = Option<u64>, Query), ("page_size" = Option<u64>, Query, description = "Page size (default 100, max 500)")),
    responses((status = 200, body = Page<Bookmaker>), (status = 400, description = "Invalid parameter value"))
)]
pub(super) async fn bookmakers(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = V1Query::pages(&api, &uri, &headers, &[])?;
    let all = api.archive.bookmakers().iter().map(|slug| Bookmaker::of(slug)).collect();
    CacheControl::REFERENCE.answer(&headers, &query.page_of(all))
}

/// Every bookmaker's price of every outcome of a match, side by side.
#[utoipa::path(
    get, path = "/api/odds/compare/", tag = "football v1",
    params(("event" = u64, Query)),
    responses((status = 200, body = Comparison), (status = 400, description = "No event given"), (status = 403, description = "The account does not include prices by bookmaker"), (status = 404, description = "No such event"))
)]
pub(super) async fn compared(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    needs_bookmakers(&api, &caller)?;
    let query = V1Query::pages(&api, &uri, &headers, &["event"])?;
    let missing = || ApiError::BadParameter("event is to be the id of an event.".to_owned());
    let event = query.params.id("event")?.ok_or_else(missing)?;
    CacheControl::ODDS.answer(&headers, &compare(&api, event).await?)
}
