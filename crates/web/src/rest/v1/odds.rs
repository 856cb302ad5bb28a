//! Prices: the rows of version 2 with the names and paging of version 1.

use facts::event::Sport;

use super::request::{self, LEAGUE, NONE, V1Query};
use crate::{
    clock::now,
    rest::{
        ApiError, ApiRequest, ApiResult, CacheControl, Page, Param, Spec,
        match_filter::IDS_MAX,
        odds::{
            best::{self, BestOdds},
            bookmaker::Bookmaker,
            comparison::{Comparison, compare},
            list::{self, Odds},
            market::Market,
            needs_bookmakers,
        },
    },
};
use history::query::MatchQuery;
use record::Status;

/// The parameters of version 2 under the names of this version, or under their own.
const LIST: Spec = Spec {
    aliases: &[
        ("event", "event_id"),
        ("league", "league_id"),
        ("season", "season_id"),
        ("team", "team_id"),
        ("bookmaker", "bookmaker_slug"),
    ],
    ..request::spec(&[
        Param::ids("event", "One or more, at most 50"),
        Param::ids("league", "One or more"),
        Param::ids("team", "One or more"),
        Param::text("bookmaker", ""),
        Param::text("market", ""),
        Param::text("outcome", ""),
        Param::undocumented("bookmaker_slug"),
        Param::undocumented("event_id"),
        Param::undocumented("is_max_quote"),
        Param::undocumented("league_id"),
        Param::undocumented("max_decimal_odds"),
        Param::undocumented("min_decimal_odds"),
        Param::undocumented("movement"),
        Param::undocumented("season_id"),
        Param::undocumented("team_id"),
        Param::undocumented("updated_after"),
    ])
};

const BEST_ODDS: Spec = request::spec(&[
    Param::ids("event", "One or more"),
    LEAGUE,
    Param::text("market", "The market (default: 1x2)"),
]);

const COMPARED: Spec = request::spec(&[Param::id("event", "").required()]);

endpoints! {
    /// Prices. `event`, `league`, `team` and `bookmaker` are taken for `event_id` and so on.
    "/api/odds/", params(LIST), answers(Page<Odds>),
        or(status = 403, description = "The account does not include prices by bookmaker"),
        |request| list(&request).await;

    /// One price.
    "/api/odds/{id}/", params(NONE), answers(Odds),
        or(status = 403, description = "The account does not include prices by bookmaker"),
        or(status = 404, description = "No such price"),
        |request| detail(&request).await;

    /// The highest price of each outcome of a market: of one event, else of those that have not begun.
    "/api/odds/best/", params(BEST_ODDS), answers(Page<BestOdds>),
        or(status = 403, description = "The account does not include prices by bookmaker"),
        |request| best_odds(&request).await;

    /// Every bookmaker with a price, and the consensus.
    "/api/odds/bookmakers/", params(NONE), answers(Page<Bookmaker>), |request| bookmakers(&request);

    /// Every bookmaker's price of every outcome of a match, side by side.
    "/api/odds/compare/", params(COMPARED), answers(Comparison),
        or(status = 400, description = "No event given"),
        or(status = 403, description = "The account does not include prices by bookmaker"),
        or(status = 404, description = "No such event"),
        |request| compared(&request).await;
}

async fn list(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let odds_query = list::OddsQuery::read(&request.api, request.caller()?, query.params, now())?;
    let (count, rows) = odds_query.rows(&request.api, query.window()).await?;
    query.page(CacheControl::ODDS, count, rows)
}

async fn detail(request: &ApiRequest) -> ApiResult {
    request.answer(
        CacheControl::ODDS,
        &list::one(&request.api, request.caller()?, request.id()?).await?,
    )
}

async fn best_odds(request: &ApiRequest) -> ApiResult {
    needs_bookmakers(&request.api, request.caller()?)?;
    let query = V1Query::pages(request)?;
    let ids = query.params.ids_up_to("event", IDS_MAX)?;
    let market = query.params.choice("market", facts::market::names(), Market::named)?;
    let filter = MatchQuery {
        competitions: query.params.ids_up_to("league", IDS_MAX)?,
        from: ids.is_none().then(now),
        statuses: ids.is_none().then(|| Status::UPCOMING.to_vec()),
        ids,
        ..MatchQuery::of_sport(Sport::Football)
    };
    let rows = best::rows(&request.api, &filter, market.unwrap_or(Market::RESULT)).await?;
    query.page_of(CacheControl::ODDS, rows, |row| row)
}

fn bookmakers(request: &ApiRequest) -> ApiResult {
    let query = V1Query::pages(request)?;
    let bookmakers = request.api.history.bookmakers();
    query.page_of(CacheControl::REFERENCE, &bookmakers, |slug| Bookmaker::from_slug(slug))
}

async fn compared(request: &ApiRequest) -> ApiResult {
    needs_bookmakers(&request.api, request.caller()?)?;
    let query = V1Query::pages(request)?;
    let missing = || ApiError::BadParameter("event is to be the id of an event.".to_owned());
    let event = query.params.id("event")?.ok_or_else(missing)?;
    request.answer(CacheControl::ODDS, &compare(&request.api, event, None).await?)
}
