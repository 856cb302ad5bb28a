//! Prices: those of football version 2, and the Odds API of all sports. SERVICE section 3.
//!
//! A price is an [`OddsRow`]: what the archive has of it (how it opened, what it was before), and
//! how it stands now. Prices of bookmakers by name are for those who have them; the consensus is for
//! everybody.

pub(in crate::api) mod best;
pub(in crate::api) mod bookmaker;
pub(in crate::api) mod comparison;
pub(in crate::api) mod consensus;
mod feed;
pub(in crate::api) mod list;
pub(crate) mod market;
pub(in crate::api) mod quote;
pub(in crate::api) mod status;

use std::sync::Arc;

use ingest::event::Sport;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{Api, ApiError, Spec};
use crate::{
    accounts::Caller,
    archive::{OddsFilter, OddsRow, Period, Window},
    clock::wall,
    record::{Key, MatchRecord},
};

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(consensus::odds))
        .routes(routes!(comparison::comparison))
        .routes(routes!(list::list))
        .routes(routes!(list::detail))
        .routes(routes!(best::best))
        .routes(routes!(bookmaker::bookmakers))
        .merge(feed::routes())
}

/// The parameters of what is asked of one event: none that do anything.
const OF_EVENT: Spec = Spec { accepted: &[], aliases: &[], tolerated: &["tz", "full"] };

/// An id in a path; what is none is not found.
pub(in crate::api) fn id_of(text: &str) -> Result<Key, ApiError> {
    text.parse().map_err(|_| ApiError::NotFound)
}

/// A football match.
pub(in crate::api) async fn football_record(
    api: &Api,
    id: Key,
) -> Result<Arc<MatchRecord>, ApiError> {
    let record = api.record(id).await?;
    record.filter(|record| record.brief.sport == Sport::Football).ok_or(ApiError::NotFound)
}

/// All prices of a match: by market, line, outcome and bookmaker, the consensus first.
pub(in crate::api) async fn quotes(
    api: &Api,
    record: &MatchRecord,
) -> Result<Vec<OddsRow>, ApiError> {
    let filter = OddsFilter {
        matches: Some(vec![record.brief.id]),
        period: Period::Any,
        ..OddsFilter::default()
    };
    let (_, kept) = api.archive.odds(&filter, Window::ALL).await?;
    Ok(quote::up_to_date(record, kept))
}

/// Refuses who has not prices of bookmakers by name.
pub(in crate::api) fn needs_bookmakers(api: &Api, caller: &Caller) -> Result<(), ApiError> {
    if api.sees_bookmakers(caller, wall()) {
        return Ok(());
    }
    Err(ApiError::NotEntitled {
        code: "bookmakers_not_entitled",
        detail: "Prices of bookmakers by name need the Odds API add-on; \
                 those of the slug consensus are for every account.",
    })
}
