//! Tennis, CS2, darts, hockey, basketball and horse racing: SERVICE section 2.
//!
//! One folder per sport, next to what they share: `sport_stats` has the statistics over all its matches, and
//! `forecast` the win probabilities.

/// Declares `MATCHES` and `LIVE`, the parameters of the lists of a sport's matches: those of a competition and of a side,
/// and the words for the statuses of matches that are not called off.
#[rustfmt::skip]
macro_rules! match_lists {
    ($competition:ident, $side:ident, $statuses:literal) => {
        const MATCHES: $crate::rest::Spec = {
            use $crate::rest::{Param, kind::Text, match_filter::{IdParams, MatchListParams}, params::STATUS, sports::request::*};
            const STATUSES: &str = concat!("One or more statuses, separated by commas: ", $statuses, ", postponed, cancelled, unresolved.");
            const PARAMS: &[&[Param]] = &[
                DateParams::PARAMS, $competition::PARAMS, $side::PARAMS, IdParams::PARAMS, MatchListParams::PARAMS,
                &[Param::new::<Text>(STATUS, STATUSES)],
            ];
            spec(PARAMS).paged().with_cursor()
        };

        const LIVE: $crate::rest::Spec = {
            use $crate::rest::sports::request::*;
            spec(&[$competition::PARAMS, $side::PARAMS]).hiding(&[DateParams::PARAMS, HIDDEN_STATUS]).paged()
        };
    };
}

mod basketball;
mod csgo;
mod darts;
mod forecast;
mod form;
mod hockey;
mod horseracing;
mod lists;
mod match_odds;
mod matches;
mod meetings;
mod predicted;
mod price;
mod request;
mod shape;
mod sport_stats;
mod standings;
mod team_prediction;
mod tennis;

use axum::Extension;
use utoipa_axum::router::OpenApiRouter;

pub(super) use self::price::consensus;
use super::{Api, index};

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .merge(tennis::routes())
        .merge(csgo::routes())
        .merge(darts::routes())
        .merge(hockey::routes())
        .merge(basketball::routes())
        .merge(horseracing::routes())
        .layer(Extension(request::SportsCaches::default()))
}
