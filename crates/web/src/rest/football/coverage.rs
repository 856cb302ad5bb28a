//! `/api/v2/coverage/`: the coverage of each sport, public and without a key.

use std::sync::Arc;

use facts::event::Sport;
use fanout::Micros;
use serde::Serialize;
use utoipa::ToSchema;

use super::request::TOLERATED;
use crate::{
    clock::now,
    products::Product,
    rest::{Api, ApiRequest, ApiResult, CacheControl, Spec, time, view::View},
};
use history::query::{MatchQuery, Window};
use record::{MatchRecord, MatchSummary, Status};

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

params! {
    struct CoverageParams { sport: CoveredSport = "Only this sport, by its name in channels" }
}

const SPEC: Spec = Spec { tolerated: TOLERATED, ..Spec::new(&[CoverageParams::PARAMS]) };

endpoints! {
    /// What there is of each sport. No key is needed.
    "/api/v2/coverage/", params(SPEC), answers(Coverage), |request| coverage(&request);
}

fn coverage(request: &ApiRequest) -> ApiResult {
    let wanted = CoverageParams::read(&request.params)?.sport;
    let sports = covered().filter(|sport| wanted.is_none_or(|it| it == *sport));
    let sports: Vec<_> = sports.map(|sport| sport_coverage(&request.api, sport, now())).collect();
    request.answer(CacheControl::PREDICTIONS, &Coverage { count: sports.len(), sports })
}

/// The sports that are part of a product.
pub(in crate::rest) fn covered() -> impl Iterator<Item = Sport> {
    Sport::ALL.into_iter().filter(|sport| Product::named(sport.as_str()).is_some())
}

fn sport_coverage(api: &Api, sport: Sport, now: Micros) -> SportCoverage {
    let view = View::now(&api.history, Some(sport));
    let first = MatchQuery { window: Window::FIRST, ..MatchQuery::default() };
    let ahead = |days: Micros| {
        let statuses = Some(Status::UPCOMING.to_vec());
        let before = Some(now.saturating_add(days.saturating_mul(DAY_US)));
        view.find(&MatchQuery { from: Some(now), before, statuses, ..first.clone() })
    };
    let start = |summary: &Arc<MatchSummary>| summary.start;
    let next = ahead(100 * 365).summaries.first().and_then(start);
    let past = MatchQuery { before: Some(now), newest_first: true, ..first.clone() };
    let last = view.find(&past).summaries.first().and_then(start);
    let is_near = |at: Micros| (at - now).abs() <= SEASON_DAYS * DAY_US;
    let season_state = match [next, last].into_iter().flatten().any(is_near) {
        true => "in_season",
        false if next.is_some() || last.is_some() => "off_season",
        false => "none",
    };
    let is_priced = |record: &MatchRecord| {
        let start = record.summary.start.unwrap_or_default();
        (now..now + 30 * DAY_US).contains(&start)
            && record.summary.status == Status::NotStarted
            && record.prices.iter().any(|price| price.price.is_some())
    };
    SportCoverage {
        sport: sport.as_str(),
        season_state,
        live_matches: view.all_fresh().filter(|record| record.summary.status.is_live()).count(),
        matches_next_7_days: ahead(7).count,
        matches_next_30_days: ahead(30).count,
        priced_matches: view.all_fresh().filter(|record| is_priced(record)).count(),
        next_match: next.and_then(time::offset),
        last_match: last.and_then(time::offset),
    }
}
