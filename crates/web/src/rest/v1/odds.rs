//! Prices: the rows of version 2 with the names and paging of version 1.

use facts::event::Sport;

use super::request::{self, IDS, NONE, V1Query};
use crate::{
    clock::now,
    rest::{
        ApiError, ApiRequest, ApiResult, CacheControl, Page, Param, Spec,
        kind::{Ids, MarketName, Slugs, Text},
        odds::{
            best::{self, BestOdds, MarketParams},
            bookmaker::Bookmaker,
            comparison::{Comparison, compare},
            list::{self, BookmakerParams, Odds, OddsMatchParams, OddsParams, OutcomeParams},
            market::Market,
            needs_bookmakers,
        },
    },
};
use history::query::MatchQuery;
use record::Status;

/// The parameters of version 2 under the names of this version, or under their own.
const LIST: Spec = request::spec(&[&[
    Param::new::<Ids>("event", "One or more, at most 50"),
    Param::new::<Ids>("league", "One or more"),
    Param::new::<Ids>("team", "One or more"),
    Param::new::<Slugs>("bookmaker", ""),
    Param::new::<MarketName>("market", ""),
    Param::new::<Text>("outcome", ""),
]])
.hiding(&[
    BookmakerParams::PARAMS,
    OddsMatchParams::PARAMS,
    OutcomeParams::PARAMS,
    OddsParams::PARAMS,
]);

params! {
    struct BestOddsParams { event: Ids = "One or more", league: Ids = IDS }
    struct ComparisonParams {
        #[required]
        event: Id = "",
    }
}

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
    "/api/odds/best/", params(request::spec(&[BestOddsParams::PARAMS, MarketParams::PARAMS])), answers(Page<BestOdds>),
        or(status = 403, description = "The account does not include prices by bookmaker"),
        |request| best_odds(&request).await;

    /// Every bookmaker with a price, and the consensus.
    "/api/odds/bookmakers/", params(NONE), answers(Page<Bookmaker>), |request| bookmakers(&request);

    /// Every bookmaker's price of every outcome of a match, side by side.
    "/api/odds/compare/", params(request::spec(&[ComparisonParams::PARAMS])), answers(Comparison),
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
    let BestOddsParams { event, league } = BestOddsParams::read(query.params)?;
    let ids = event.ids();
    let market = MarketParams::read(query.params)?.market;
    let filter = MatchQuery {
        competitions: league.ids(),
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
    let event = ComparisonParams::read(query.params)?.event.ok_or_else(missing)?;
    request.answer(CacheControl::ODDS, &compare(&request.api, event, None).await?)
}
