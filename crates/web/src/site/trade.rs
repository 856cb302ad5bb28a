//! `/trade/`: the trader's page, all bookmakers of one match side by side.

use askama::Template;
use axum::{
    extract::{Path, Request},
    response::Response,
};

use super::{error::SiteError, live::LiveShell, visit::Visit};
use facts::event::Sport;

#[derive(Debug, Template)]
#[template(path = "trade.html")]
struct TradePage<'a> {
    live: LiveShell<'a>,
}

/// `/trade/`: the page chooses a match itself.
pub(super) async fn show(visit: Visit, request: Request) -> Result<Response, SiteError> {
    visit.show(&TradePage { live: LiveShell::new("/trade/", &visit, &request) })
}

/// `/trade/{sport}/{id}/`. Whether there is such a match is known to the stream, not to the page.
pub(super) async fn show_match(
    Path((sport, id)): Path<(String, String)>,
    visit: Visit,
    request: Request,
) -> Result<Response, SiteError> {
    let is_sport = Sport::from_word(&sport).is_some();
    let is_id = id.parse::<i32>().is_ok_and(|it| it > 0);
    if is_sport && is_id { show(visit, request).await } else { Err(SiteError::NotFound) }
}
