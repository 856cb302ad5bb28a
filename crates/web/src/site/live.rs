//! The pages that follow the stream, the landing page, and how the browser connects.

use std::sync::Arc;

use askama::Template;
use axum::{
    Json,
    extract::{Path, Request, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use facts::event::{PlayKind, Sport};
use fanout::encode::payload;
use hyper::{
    HeaderMap,
    header::{CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue},
};
use serde::Serialize;

use super::{
    error::SiteError,
    form::SignedForm,
    page::Shell,
    pricing::{self, AddonOffer},
    visit::{SignedIn, Visit},
};
use crate::http::{Shared, channel, error::HttpError};
use accounts::{Addon, Customer, access::Denial};

/// What the pages that follow the stream have in common: how the browser connects.
#[derive(Debug)]
pub(super) struct LiveShell<'a> {
    /// The path of the page in the navigation.
    pub(super) here: &'static str,
    pub(super) demo: bool,
    pub(super) signed_in: bool,
    /// The key to connect with, on the page of a demo.
    pub(super) key: Option<&'a str>,
    /// The form token for fetching a ticket, for a customer who connects by session.
    pub(super) session: Option<String>,
    /// The monthly price of the WebSocket add-on, for a customer who lacks it.
    pub(super) addon_price: Option<String>,
}

impl<'a> LiveShell<'a> {
    pub(super) fn new(here: &'static str, visit: &'a Visit, request: &Request) -> Self {
        let parts = &visit.shared.parts;
        let key = demo_key(visit, request.headers());
        let customer = visit.customer().filter(|_| key.is_none());
        let may_follow = |it: &&Customer| it.addons.has(Addon::Websocket, visit.now);
        let founder = customer.is_some_and(|it| it.founder.is_some());
        Self {
            here,
            demo: parts.demo.key.is_some(),
            signed_in: visit.customer().is_some(),
            key,
            session: customer.filter(may_follow).map(|_| visit.shell("/").token),
            addon_price: customer.filter(|it| !may_follow(it)).map(|customer| {
                let catalogue = parts.customers.prices.now();
                let prices = catalogue.for_country(customer.country);
                prices.price(Addon::Websocket, founder).to_string()
            }),
        }
    }
}

/// The live page: one match of each sport, its odds, and the day's boards.
#[derive(Debug, Template)]
#[template(path = "home.html")]
struct LivePage<'a> {
    live: LiveShell<'a>,
    version: &'a str,
}

/// The board of all sports.
#[derive(Debug, Template)]
#[template(path = "board.html")]
struct BoardPage<'a> {
    live: LiveShell<'a>,
}

/// One match: the document, its odds, and what REST knows about it.
#[derive(Debug, Template)]
#[template(path = "match.html")]
struct MatchPage<'a> {
    live: LiveShell<'a>,
    sport: &'a str,
    sport_title: &'a str,
    id: u32,
}

/// The landing page, for visitors of a hub that is not a demo.
#[derive(Debug, Template)]
#[template(path = "landing.html")]
struct LandingPage<'a> {
    shell: Shell<'a>,
    /// Whether the day's boards are shown.
    boards: bool,
    /// The price of a free account, in the currency of all prices.
    offers: Vec<AddonOffer>,
}

/// `/`: the live page, on a demo and for customers who are logged in; for other visitors the landing page.
pub(super) async fn home(visit: Visit, request: Request) -> Result<Response, SiteError> {
    let parts = &visit.shared.parts;
    if parts.demo.key.is_some() || visit.customer().is_some() {
        return live(&visit, &request);
    }
    visit.show(&LandingPage {
        shell: visit.shell("/"),
        boards: parts.settings.server.public_boards,
        offers: pricing::offers(&visit),
    })
}

/// `/watch/`: the live page. It asks for a key if there is no other way to connect.
pub(super) async fn watch(visit: Visit, request: Request) -> Result<Response, SiteError> {
    live(&visit, &request)
}

fn live(visit: &Visit, request: &Request) -> Result<Response, SiteError> {
    let live = LiveShell::new("/watch/", visit, request);
    visit.show(&LivePage { live, version: env!("CARGO_PKG_VERSION") })
}

/// `/board/`: the matches of every sport. It asks for a key if there is no other way to connect.
pub(super) async fn live_board(visit: Visit, request: Request) -> Result<Response, SiteError> {
    visit.show(&BoardPage { live: LiveShell::new("/board/", &visit, &request) })
}

/// `/match/{sport}/{id}/`: one match. Whether there is such a match, the stream tells the page.
pub(super) async fn match_page(
    Path((sport, id)): Path<(String, String)>,
    visit: Visit,
    request: Request,
) -> Result<Response, SiteError> {
    let sport = Sport::from_word(&sport).filter(|sport| sport.play() != PlayKind::None);
    let id = id.parse().ok().filter(|id| (1..=2_147_483_647).contains(id));
    let (Some(sport), Some(id)) = (sport, id) else {
        return Err(SiteError::NotFound);
    };
    let live = LiveShell::new("/match/", &visit, &request);
    let (sport, sport_title) = (sport.as_str(), sport.profile().page_title);
    visit.show(&MatchPage { live, sport, sport_title, id })
}

#[derive(Debug, Serialize)]
struct SessionTicket {
    ticket: String,
}

/// `/watch/ticket/`: a ticket for one socket by the customer's session, so that the page need not hold the
/// key.
pub(super) async fn ticket(form: SignedForm) -> Result<Response, SiteError> {
    let SignedIn { visit, customer } = &form.signed_in;
    let parts = &visit.shared.parts;
    let Some(caller) = parts.customers.accounts.caller_of(customer.account).await? else {
        return Ok(visit.shared.denied(Denial::WrongKey).into_response());
    };
    let Some(ticket) = visit.shared.tickets.sell(caller).await? else {
        return Ok(HttpError::Unavailable.into_response());
    };
    let mut response = Json(SessionTicket { ticket }).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// `/watch/boards/{sport}/`: the day's board for visitors, if the operator allows it.
pub(super) async fn board(
    State(shared): State<Arc<Shared>>,
    Path(sport): Path<String>,
) -> Result<Response, HttpError> {
    if !shared.parts.settings.server.public_boards || !["football", "tennis"].contains(&&*sport) {
        return Err(HttpError::NotFound);
    }
    let body = match channel::image(&shared, &sport, 0).await {
        Ok(image) => payload(&image.frame),
        // The channel exists from the first match of the day on.
        Err(HttpError::NotFound) => Bytes::from_static(br#"{"data":{"matches":{}}}"#),
        Err(error) => return Err(error),
    };
    let json = HeaderValue::from_static("application/json");
    let mut response = ([(CONTENT_TYPE, json)], body).into_response();
    let cache_control = HeaderValue::from_static("public, max-age=5");
    response.headers_mut().insert(CACHE_CONTROL, cache_control);
    Ok(response)
}

/// The key of a demo, for a page on this machine.
pub(super) fn demo_key<'a>(visit: &'a Visit, headers: &HeaderMap) -> Option<&'a str> {
    let key = visit.shared.parts.demo.key.as_deref();
    // A page of another host whose name was rebound to this address must not read the key.
    key.filter(|_| asks_for_loopback(headers))
}

fn asks_for_loopback(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else {
        return false;
    };
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}
