//! Reading requests of this version.

use std::collections::HashMap;

use facts::event::Sport;

use crate::rest::{
    ApiError, ApiRequest, Param, Spec,
    match_filter::{MatchListParams, MatchParams},
};
use history::query::MatchQuery;
use record::{Status, Vocabulary};

/// Accepted and ignored everywhere: SERVICE section 1.3.
pub(super) const TOLERATED: &[&str] = &["tz", "full", "ordering"];

/// Names of version 1: SERVICE section 1.4. `page` is literally an alias of `offset`.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("league", "league_id"),
    ("season", "season_id"),
    ("team", "team_id"),
    ("page_size", "limit"),
    ("page", "offset"),
];

pub(super) const NAME: &str = "Part of the name";
pub(super) const COUNTRY_CODE: &str = "Country code (ISO 3166-1 alpha-2)";
pub(super) const DATE_FROM: &str = "From this day or timestamp, UTC";
pub(super) const DATE_TO: &str = "Up to the end of this day, or this timestamp, UTC";
pub(super) const MIN_MATCHES: &str = "Minimum number of matches with a result";

/// The parameters of an endpoint without any.
pub(super) const NONE: Spec = spec(&[]);

/// Those of a list without filters.
pub(super) const PAGE: Spec = NONE.paged();

/// Those of an endpoint whose `season` is also one by its years.
pub(super) const fn season_spec(params: &'static [&'static [Param]]) -> Spec {
    const OTHERS: &[(&str, &str)] =
        &[("league", "league_id"), ("team", "team_id"), ("page_size", "limit"), ("page", "offset")];
    Spec { aliases: OTHERS, ..spec(params) }
}

/// The parameters of an endpoint.
pub(in crate::rest) const fn spec(params: &'static [&'static [Param]]) -> Spec {
    Spec { aliases: ALIASES, tolerated: TOLERATED, ..Spec::new(params) }
}

impl ApiRequest {
    /// The requested list of matches, and its page.
    ///
    /// # Errors
    ///
    /// If a value is not valid.
    pub(super) fn match_query(&self, filters: &MatchParams) -> Result<MatchQuery, ApiError> {
        let params = &self.params;
        let mut query = filters.query(params, Some(Sport::Football));
        // `date` is a single day.
        let [from, before] = filters.date;
        query.from = query.from.max(from);
        query.before = query.before.into_iter().chain(before).min();
        let status = filters.status.as_deref();
        query.statuses = params.statuses(status, Vocabulary::FootballV2);
        query.after_extra_time = status.is_some_and(is_after_extra_time);
        // A number, else a name.
        query.round = filters.round.as_deref().and_then(|round| round.parse().ok());
        query.round_name = filters.round.clone().filter(|_| query.round.is_none());
        query.stage.clone_from(&filters.stage);
        query.window = self.window;
        MatchListParams::read(params)?.narrow(self, &filters.ids, query)
    }
}

/// Whether `aet`, decided in extra time or after it, is the only known word of the filter `status=`.
fn is_after_extra_time(status: &str) -> bool {
    let words = status.split(',').map(str::trim);
    let mut valid = words.filter(|word| Vocabulary::FootballV2.parse(word).is_some()).peekable();
    valid.peek().is_some() && valid.all(|word| word.eq_ignore_ascii_case("aet"))
}

/// A filter of football matches.
pub(super) fn football() -> MatchQuery {
    MatchQuery::of_sport(Sport::Football)
}

/// A filter of football matches with a result.
pub(super) fn with_result() -> MatchQuery {
    MatchQuery { statuses: Some(Status::RESULTS.to_vec()), ..football() }
}

/// The most frequent value; among equals the smallest.
pub(in crate::rest) fn most_frequent<T: Copy + Ord + std::hash::Hash>(
    all: impl Iterator<Item = T>,
) -> Option<T> {
    let mut counts: HashMap<T, usize> = HashMap::new();
    all.for_each(|it| *counts.entry(it).or_default() += 1);
    let most = counts.into_iter().max_by_key(|(it, count)| (*count, std::cmp::Reverse(*it)));
    most.map(|(it, _)| it)
}
