//! The Odds API, `/odds/api/`: every price of every bookmaker, of all sports, and what it was before.
//! SERVICE section 3.5 defines only its paths; this module defines the responses, and
//! docs/ODDS_API.md documents them. Markets and outcomes are named as in the stream protocol.

mod board;
mod event;
mod events;
mod history;
mod sports;

use utoipa_axum::router::OpenApiRouter;

use crate::rest::Api;

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .merge(board::routes())
        .merge(event::routes())
        .merge(events::routes())
        .merge(history::routes())
        .merge(sports::routes())
}
