//! `/trade/`: the trader's page, all bookmakers of one match side by side.

use askama::Template;
use axum::{
    extract::{Path, Request},
    response::Response,
};
use hyper::HeaderMap;

use super::{
    pages::demo_key,
    site::{SiteError, Visit},
};
use accounts::{Addon, Customer};
use ingest::event::Sport;

/// How a page with live documents connects.
#[derive(Debug)]
pub(super) struct PageLink<'a> {
    pub(super) demo: bool,
    pub(super) signed_in: bool,
    /// The key to connect with, on the page of a demo.
    pub(super) key: Option<&'a str>,
    /// The form token for fetching a ticket, for a customer who connects by session.
    pub(super) session: Option<String>,
    /// The monthly price of the WebSocket add-on, for a customer who lacks it.
    pub(super) addon_price: Option<String>,
}

impl<'a> PageLink<'a> {
    pub(super) fn of(visit: &'a Visit, headers: &HeaderMap) -> Self {
        let parts = &visit.shared.parts;
        let key = demo_key(visit, headers);
        let customer = visit.customer().filter(|_| key.is_none());
        let may_follow = |it: &&Customer| it.addons.has(Addon::Websocket, visit.now);
        let founder = customer.is_some_and(|it| it.founder.is_some());
        Self {
            demo: parts.demo_key.is_some(),
            signed_in: visit.customer().is_some(),
            key,
            session: customer.filter(may_follow).map(|_| visit.shell("/").token),
            addon_price: customer
                .filter(|it| !may_follow(it))
                .map(|_| parts.catalogue.price(Addon::Websocket, founder).to_string()),
        }
    }
}

#[derive(Debug, Template)]
#[template(path = "trade.html")]
struct TradePage<'a> {
    link: PageLink<'a>,
}

/// `/trade/`: the page chooses a match itself.
pub(super) async fn show(visit: Visit, request: Request) -> Result<Response, SiteError> {
    visit.show(&TradePage { link: PageLink::of(&visit, request.headers()) })
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
