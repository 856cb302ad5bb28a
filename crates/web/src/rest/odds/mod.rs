//! Prices: those of football version 2, and the Odds API of all sports. SERVICE section 3.
//!
//! A price is an [`OddsRow`]: what the archive has of it (how it opened, what it was before), and
//! how it stands now. Prices by bookmaker require the add-on; every account has the
//! consensus.

pub(in crate::rest) mod best;
pub(in crate::rest) mod bookmaker;
pub(in crate::rest) mod comparison;
pub(in crate::rest) mod consensus;
mod feed;
pub(crate) mod format;
pub(in crate::rest) mod list;
pub(in crate::rest) mod market;
pub(in crate::rest) mod quote;

use std::sync::Arc;

use facts::event::Sport;
use utoipa_axum::router::OpenApiRouter;

use super::{Api, ApiError, Param, Spec, kind::Id};
use crate::clock::wall;
use accounts::Caller;
use history::query::{OddsFilter, OddsRow, Period, Window};
use record::{Key, MatchRecord};

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .merge(best::routes())
        .merge(bookmaker::routes())
        .merge(comparison::routes())
        .merge(consensus::routes())
        .merge(feed::routes())
        .merge(list::routes())
}

const EVENT_ID: Param = Param::new::<Id>("id", "The event's ID").in_path();

/// The parameters of an endpoint of one event: none that have an effect.
pub(in crate::rest) const OF_EVENT: Spec = one(&[&[EVENT_ID]]);

/// The same of one whose response has prices.
const PRICES_OF_EVENT: Spec = one(&[&[EVENT_ID], format::FormatParams::PARAMS]);

/// The parameters of an endpoint of one event, price or prediction.
pub(in crate::rest) const fn one(params: &'static [&'static [Param]]) -> Spec {
    Spec { tolerated: &["tz", "full"], ..Spec::new(params) }
}

/// A football match.
pub(in crate::rest) async fn football_record(
    api: &Api,
    id: Key,
) -> Result<Arc<MatchRecord>, ApiError> {
    let record = api.record(id).await?;
    record.filter(|record| record.summary.sport == Sport::Football).ok_or(ApiError::NotFound)
}

/// All prices of a match: by market, line, outcome and bookmaker, the consensus first.
pub(in crate::rest) async fn quotes(
    api: &Api,
    record: &MatchRecord,
) -> Result<Vec<OddsRow>, ApiError> {
    let filter = OddsFilter {
        matches: Some(vec![record.summary.id]),
        period: Period::Any,
        ..OddsFilter::default()
    };
    let (_, archived) = api.history.odds(&filter, Window::ALL).await?;
    Ok(up_to_date(api, record.summary.id, archived))
}

/// These prices with those that the archive does not have yet, as the match is now: prices can be withdrawn while
/// the archive is read.
fn up_to_date(api: &Api, id: Key, archived: Vec<OddsRow>) -> Vec<OddsRow> {
    match api.history.current(id) {
        Some(record) => quote::up_to_date(&record, archived),
        None => quote::in_order(archived),
    }
}

/// Refuses who has not prices of bookmakers by name.
pub(in crate::rest) fn needs_bookmakers(api: &Api, caller: &Caller) -> Result<(), ApiError> {
    api.check_bookmakers(caller, wall())
}
