//! `/api/v2/odds/best/`: the highest price of each outcome. SERVICE section 3.4, which does not say what
//! a row has: ours is named as in the comparison.

use axum::{Extension, extract::State, http::Uri, response::Response};
use fanout::Micros;
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    bookmaker,
    market::{self, Market},
    needs_bookmakers,
    quote::{self, OutcomeKey},
    status,
};
use crate::{
    accounts::Caller,
    api::{Api, ApiError, CacheControl, Number, Page, PageUrl, Params, Spec, time},
    archive::{EntityKind, Filter, OddsFilter, OddsRow, Period, Window},
    clock::now,
    record::{Key, MatchSummary},
};

/// How far it looks ahead, unless told.
const AHEAD_US: Micros = 7 * 24 * 3600 * 1_000_000;

const LIST: Spec = Spec {
    accepted: &[
        "date_from",
        "date_to",
        "event_id",
        "league_id",
        "limit",
        "market",
        "offset",
        "season_id",
        "team_id",
    ],
    aliases: &[
        ("event", "event_id"),
        ("league", "league_id"),
        ("season", "season_id"),
        ("team", "team_id"),
        ("page_size", "limit"),
        ("page", "offset"),
    ],
    tolerated: &["tz", "full", "ordering"],
};

#[derive(Debug, Clone, Serialize, ToSchema)]
pub(in crate::api) struct BestOdds {
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
    best_bookmaker_slug: String,
    best_bookmaker_name: String,
    updated_at: Option<String>,
}

impl BestOdds {
    fn new(api: &Api, brief: &MatchSummary, row: &OddsRow) -> Self {
        let (market, outcome) = quote::football(row);
        let name = |kind, id: Option<Key>| {
            api.archive.entity(kind, id?).map(|entity| entity.name.to_string())
        };
        let side = |place: usize| brief.sides.map(|sides| sides[place]);
        Self {
            event_id: brief.id,
            event_date: brief.start.and_then(time::zulu),
            league_id: brief.competition,
            league_name: name(EntityKind::Competition, brief.competition),
            home_team_id: side(0),
            home_team: name(EntityKind::Team, side(0)),
            away_team_id: side(1),
            away_team: name(EntityKind::Team, side(1)),
            market: market.into_owned(),
            outcome: outcome.into_owned(),
            line: row.line.map(|line| Number(line.normalize())),
            outcome_name: quote::outcome_name(row),
            best_odds: Number(row.price),
            best_bookmaker_slug: row.bookmaker.to_string(),
            best_bookmaker_name: bookmaker::name(&row.bookmaker).into_owned(),
            updated_at: time::zulu(row.updated_us),
        }
    }
}

/// The highest price on offer of each outcome of a market, by the start of the matches.
pub(in crate::api) async fn rows(
    api: &Api,
    filter: &Filter,
    event: Option<Key>,
    market: Market,
) -> Result<Vec<BestOdds>, ApiError> {
    let mut matches = api.archive.find(filter, Window::ALL).briefs;
    matches.retain(|brief| event.is_none_or(|event| event == brief.id));
    let odds_filter = OddsFilter {
        matches: Some(matches.iter().map(|brief| brief.id).collect()),
        market: Some(market.kind.to_owned()),
        line: market.line,
        period: Period::WholeMatch,
        ..OddsFilter::default()
    };
    let (_, prices) = api.archive.odds(&odds_filter, Window::ALL).await?;
    let best = quote::best(prices.iter().filter(|row| row.is_open));
    let mut best: Vec<(OutcomeKey, &OddsRow)> = best.into_iter().collect();
    best.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut rows = Vec::with_capacity(best.len());
    for brief in &matches {
        let first = best.partition_point(|(thing, _)| thing.match_id < brief.id);
        let own = best[first..].iter().take_while(|(thing, _)| thing.match_id == brief.id);
        let mut own: Vec<_> = own.map(|(_, row)| *row).collect();
        own.sort_by_key(|row| (row.line, market::rank(&row.outcome)));
        rows.extend(own.into_iter().map(|row| BestOdds::new(api, brief, row)));
    }
    Ok(rows)
}

/// Matches that have not begun, a week ahead unless told.
fn filter(params: &Params) -> Result<Filter, ApiError> {
    let now = now();
    let from = params.from("date_from")?.unwrap_or(now);
    let ahead = from.max(now).saturating_add(AHEAD_US);
    Ok(Filter {
        sport: Some(Sport::Football),
        from: Some(from),
        before: Some(params.before("date_to")?.unwrap_or(ahead)),
        competition: params.id("league_id")?,
        season: params.id("season_id")?,
        team: params.id("team_id")?,
        statuses: status::parse("upcoming"),
        ..Filter::default()
    })
}

/// The highest price of each outcome of a market, over the matches of the next days.
#[utoipa::path(
    get, path = "/api/v2/odds/best/", tag = "football v2",
    params(
        ("market" = Option<String>, Query, description = "The market (default: 1x2)"),
        ("date_from" = Option<String>, Query, description = "A day or a timestamp (default: now)"),
        ("date_to" = Option<String>, Query, description = "A day (inclusive) or a timestamp (default: seven days later)"),
        ("event_id" = Option<u64>, Query),
        ("league_id" = Option<u64>, Query),
        ("season_id" = Option<u64>, Query),
        ("team_id" = Option<u64>, Query),
        ("limit" = Option<u64>, Query, description = "Page size (default 50, max 200)"),
        ("offset" = Option<u64>, Query),
    ),
    responses((status = 200, body = Page<BestOdds>), (status = 400, description = "Unknown parameter or invalid value"), (status = 403, description = "The account does not include prices by bookmaker"))
)]
pub(super) async fn best(
    State(api): State<Api>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let params = Params::read(uri.query(), LIST)?;
    needs_bookmakers(&api, &caller)?;
    let market = params.parsed("market", &format!("one of {}", market::names()), Market::named)?;
    let market = market.unwrap_or(Market::RESULT);
    let rows = rows(&api, &filter(&params)?, params.id("event_id")?, market).await?;
    let page_url = PageUrl { api: &api, headers: &headers, path: uri.path(), params: &params };
    CacheControl::ODDS.answer(&headers, &Page::of_all(&page_url, params.window()?, rows))
}
