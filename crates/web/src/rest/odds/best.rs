//! `/api/v2/odds/best/`: the highest price of each outcome. SERVICE section 3.4, which does not say what
//! a row has: ours is named as in the comparison.

use facts::event::Sport;
use fanout::Micros;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    bookmaker,
    format::FormatParams,
    list::OddsMatchParams,
    market::{self, Market},
    needs_bookmakers,
    quote::{self, OutcomeKey},
};
use crate::{
    clock::now,
    rest::{Api, ApiError, ApiRequest, ApiResult, CacheControl, Number, Page, Params, Spec, time},
};
use history::query::{EntityKind, MatchQuery, OddsFilter, OddsRow, Period, Window};
use record::{Key, MatchSummary, Status};

/// How far it looks ahead by default.
const AHEAD_US: Micros = 7 * 24 * 3600 * 1_000_000;

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(in crate::rest) struct BestOdds {
    event_id: u64,
    event_date: Option<String>,
    league_id: Option<u64>,
    league_name: Option<String>,
    home_team_id: Option<u64>,
    home_team: Option<String>,
    away_team_id: Option<u64>,
    away_team: Option<String>,
    market: String,
    outcome: String,
    line: Option<Number>,
    outcome_name: String,
    best_odds: Number,
    /// With `odds_format`, the price in that format.
    #[serde(skip_serializing_if = "Option::is_none")]
    odds: Option<String>,
    best_bookmaker_slug: String,
    best_bookmaker_name: String,
    updated_at: Option<String>,
}

impl BestOdds {
    fn new(api: &Api, summary: &MatchSummary, row: &OddsRow) -> Self {
        let (market, outcome) = quote::football(row);
        let name = |kind, id: Option<Key>| {
            api.history.entity(kind, id?).map(|entity| entity.name.to_string())
        };
        let side = |index: usize| summary.sides.map(|sides| sides[index]);
        Self {
            event_id: summary.id,
            event_date: summary.start_text(time::zulu),
            league_id: summary.competition,
            league_name: name(EntityKind::Competition, summary.competition),
            home_team_id: side(0),
            home_team: name(EntityKind::Team, side(0)),
            away_team_id: side(1),
            away_team: name(EntityKind::Team, side(1)),
            market: market.into_owned(),
            outcome: outcome.into_owned(),
            line: row.line.map(|line| Number(line.normalize())),
            outcome_name: quote::outcome_name(row),
            best_odds: Number(row.price),
            odds: None,
            best_bookmaker_slug: row.bookmaker.to_string(),
            best_bookmaker_name: bookmaker::name(&row.bookmaker).into_owned(),
            updated_at: time::zulu(row.updated_us),
        }
    }
}

/// The highest price on offer of each outcome of a market, by the start of the matches.
pub(in crate::rest) async fn rows(
    api: &Api,
    filter: &MatchQuery,
    market: Market,
) -> Result<Vec<BestOdds>, ApiError> {
    let matches = api.history.find(filter).summaries;
    let odds_filter = OddsFilter {
        matches: Some(matches.iter().map(|summary| summary.id).collect()),
        market: Some(market.kind.to_owned()),
        line: market.line,
        outcome: market.selection.map(ToOwned::to_owned),
        period: Period::WholeMatch,
        ..OddsFilter::default()
    };
    let (_, prices) = api.history.odds(&odds_filter, Window::ALL).await?;
    let best = quote::best(prices.iter().filter(|row| row.is_open));
    let mut best: Vec<(OutcomeKey, &OddsRow)> = best.into_iter().collect();
    best.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut rows = Vec::with_capacity(best.len());
    for summary in &matches {
        let first = best.partition_point(|(thing, _)| thing.match_id < summary.id);
        let of_match = best[first..].iter().take_while(|(thing, _)| thing.match_id == summary.id);
        let mut of_match: Vec<_> = of_match.map(|(_, row)| *row).collect();
        of_match.sort_by_key(|row| (row.line, market::rank(&row.outcome)));
        rows.extend(of_match.into_iter().map(|row| BestOdds::new(api, summary, row)));
    }
    Ok(rows)
}

/// Matches that have not started; by default those of the next week.
fn filter(params: &Params) -> Result<MatchQuery, ApiError> {
    let now = now();
    let DateParams { date_from, date_to } = DateParams::read(params)?;
    let from = date_from.unwrap_or(now);
    let ahead = from.max(now).saturating_add(AHEAD_US);
    Ok(MatchQuery {
        from: Some(from),
        before: Some(date_to.unwrap_or(ahead)),
        statuses: Some(Status::UPCOMING.to_vec()),
        ..OddsMatchParams::read(params)?.query(params, Some(Sport::Football))
    })
}

params! {
    pub(in crate::rest) struct MarketParams { market: MarketName = "The market (default: 1x2)" }
    struct DateParams {
        date_from: Begin = "A day or a timestamp (default: now)",
        date_to: End = "A day (inclusive) or a timestamp (default: seven days later)",
    }
}

const LIST: Spec = Spec {
    aliases: &[("page_size", "limit"), ("page", "offset")],
    tolerated: &["tz", "full", "ordering"],
    ..Spec::new(&[
        MarketParams::PARAMS,
        DateParams::PARAMS,
        OddsMatchParams::PARAMS,
        FormatParams::PARAMS,
    ])
    .paged()
};

endpoints! {
    /// The highest price of each outcome of a market, over the matches of the next days.
    "/api/v2/odds/best/", params(LIST), answers(Page<BestOdds>),
        or(status = 403, description = "The account does not include prices by bookmaker"),
        |request| best(&request).await;
}

async fn best(request: &ApiRequest) -> ApiResult {
    let params = &request.params;
    needs_bookmakers(&request.api, request.caller()?)?;
    let market = MarketParams::read(params)?.market.unwrap_or(Market::RESULT);
    let rows = rows(&request.api, &filter(params)?, market).await?;
    let format = FormatParams::read(params)?.odds_format;
    request.page_of(CacheControl::ODDS, rows, |row| {
        let odds = format.and_then(|format| format.write(row.best_odds.0));
        BestOdds { odds, ..row }
    })
}
