//! `/api/v2/coverage/`: the coverage of each sport, public and without a key.

use std::sync::Arc;

use axum::{extract::State, http::Uri, response::Response};
use fanout::Micros;
use hyper::HeaderMap;
use ingest::event::Sport;
use serde::Serialize;
use utoipa::ToSchema;

use super::request::TOLERATED;
use crate::{
    api::{Api, ApiError, CacheControl, Params, Spec, UnknownParametersBody, time, view::View},
    archive::{Filter, Window},
    clock::now,
    products::Product,
    record::{MatchRecord, MatchSummary, Status},
};

const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;

/// A sport is in season if it has a match within this many days, past or future.
const SEASON_DAYS: Micros = 14;

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Coverage {
    count: usize,
    sports: Vec<SportCoverage>,
}

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct SportCoverage {
    sport: &'static str,
    /// `in_season`: a match within 14 days, back or ahead; `off_season`: only others; `none`: no match.
    season_state: &'static str,
    live_matches: usize,
    matches_next_7_days: usize,
    matches_next_30_days: usize,
    /// Of the matches of the next 30 days those with a price.
    priced_matches: usize,
    /// When the next and the last match begins and began.
    next_match: Option<String>,
    last_match: Option<String>,
}

const SPEC: Spec = Spec { accepted: &["sport"], aliases: &[], tolerated: TOLERATED };

/// What there is of each sport. No key is needed.
#[utoipa::path(
    get,
    path = "/api/v2/coverage/",
    tag = "football v2",
    params(("sport" = Option<String>, Query, description = "Only this sport, by its name in channels")),
    responses(
        (status = 200, body = Coverage),
        (status = 400, body = UnknownParametersBody),
    ),
    security(()),
)]
pub(super) async fn coverage(
    State(api): State<Api>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let params = Params::read(uri.query(), SPEC)?;
    let names: Vec<_> = covered().map(Sport::as_str).collect();
    let expected = format!("one of {}", names.join(", "));
    let named = |name: &str| covered().find(|sport| sport.as_str().eq_ignore_ascii_case(name));
    let wanted = params.parsed("sport", &expected, named)?;
    let sports = covered().filter(|sport| wanted.is_none_or(|it| it == *sport));
    let sports: Vec<_> = sports.map(|sport| of_sport(&api, sport, now())).collect();
    CacheControl::PREDICTIONS.answer(&headers, &Coverage { count: sports.len(), sports })
}

/// The sports that are part of a product.
fn covered() -> impl Iterator<Item = Sport> {
    Sport::ALL.into_iter().filter(|sport| Product::named(sport.as_str()).is_some())
}

fn of_sport(api: &Api, sport: Sport, now: Micros) -> SportCoverage {
    let view = View::now(api, Some(sport));
    let find = |filter: Filter, window: Window| view.find(&filter, window);
    const FIRST: Window = Window { offset: 0, limit: 1 };
    let ahead = |days: Micros, window| {
        let statuses = Some(vec![Status::NotStarted, Status::AtThePost]);
        let before = Some(now.saturating_add(days.saturating_mul(DAY_US)));
        find(Filter { from: Some(now), before, statuses, ..Filter::default() }, window)
    };
    let start = |brief: &Arc<MatchSummary>| brief.start;
    let next = ahead(100 * 365, FIRST).briefs.first().and_then(start);
    let past = Filter { before: Some(now), newest_first: true, ..Filter::default() };
    let last = find(past, FIRST).briefs.first().and_then(start);
    let is_near = |at: Micros| (at - now).abs() <= SEASON_DAYS * DAY_US;
    let season_state = match [next, last].into_iter().flatten().any(is_near) {
        true => "in_season",
        false if next.is_some() || last.is_some() => "off_season",
        false => "none",
    };
    let is_priced = |record: &MatchRecord| {
        let start = record.brief.start.unwrap_or_default();
        (now..now + 30 * DAY_US).contains(&start)
            && record.brief.status == Status::NotStarted
            && record.prices.iter().any(|price| price.price.is_some())
    };
    SportCoverage {
        sport: sport.as_str(),
        season_state,
        live_matches: view.all_fresh().filter(|record| record.brief.status.is_live()).count(),
        matches_next_7_days: ahead(7, FIRST).count,
        matches_next_30_days: ahead(30, FIRST).count,
        priced_matches: view.all_fresh().filter(|record| is_priced(record)).count(),
        next_match: next.and_then(time::offset),
        last_match: last.and_then(time::offset),
    }
}
