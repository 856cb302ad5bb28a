//! HTML pages and the files that they need, all compiled into the program.

use std::sync::{Arc, LazyLock};

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
use tracing::error;

use super::{
    Shared,
    asset::Asset,
    error::HttpError,
    pricing::{self, AddonOffer},
    rest,
    site::{Shell, SignedForm, SignedIn, SiteError, Visit},
};
use crate::images;
use accounts::{Addon, Customer};

/// Scripts, styles and sockets from this host only.
pub(super) const POLICY: &str = "default-src 'self'; connect-src 'self' ws: wss:; base-uri 'none'; \
                      form-action 'self'; frame-ancestors 'none'";

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
            demo: parts.demo_key.is_some(),
            signed_in: visit.customer().is_some(),
            key,
            session: customer.filter(may_follow).map(|_| visit.shell("/").token),
            addon_price: customer.filter(|it| !may_follow(it)).map(|customer| {
                let catalogue = parts.prices.now();
                let prices = catalogue.of_country(customer.country);
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
    if parts.demo_key.is_some() || visit.customer().is_some() {
        return live(&visit, &request);
    }
    visit.show(&LandingPage {
        shell: visit.shell("/"),
        boards: parts.server.public_boards,
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
    let Some(caller) = parts.accounts.caller_of(customer.account).await? else {
        return Ok(HttpError::Unauthorised { public_url: parts.public_url.clone() }.into_response());
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
    if !shared.parts.server.public_boards || !["football", "tennis"].contains(&&*sport) {
        return Err(HttpError::NotFound);
    }
    let body = match rest::image(&shared, &sport, 0).await {
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
    let key = visit.shared.parts.demo_key.as_deref();
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

macro_rules! files {
    ($($name:literal: $kind:literal),* $(,)?) => {
        vec![$(Asset::new(
            $name,
            $kind,
            include_str!(concat!("../../assets/", $name)).as_bytes(),
        )),*]
    };
}

static FILES: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    files![
        "admin-refresh.js": "text/javascript; charset=utf-8",
        "admin.css": "text/css; charset=utf-8",
        "admin.js": "text/javascript; charset=utf-8",
        "boards.js": "text/javascript; charset=utf-8",
        "charts.js": "text/javascript; charset=utf-8",
        "connection.js": "text/javascript; charset=utf-8",
        "desk.css": "text/css; charset=utf-8",
        "desk.js": "text/javascript; charset=utf-8",
        "docs.css": "text/css; charset=utf-8",
        "docs.js": "text/javascript; charset=utf-8",
        "football-parts.js": "text/javascript; charset=utf-8",
        "football.js": "text/javascript; charset=utf-8",
        "icon.svg": "image/svg+xml",
        "landing.css": "text/css; charset=utf-8",
        "landing.js": "text/javascript; charset=utf-8",
        "live-board.css": "text/css; charset=utf-8",
        "live-board.js": "text/javascript; charset=utf-8",
        "live-rows.js": "text/javascript; charset=utf-8",
        "match.css": "text/css; charset=utf-8",
        "match.js": "text/javascript; charset=utf-8",
        "odds-chart.js": "text/javascript; charset=utf-8",
        "odds.js": "text/javascript; charset=utf-8",
        "page.css": "text/css; charset=utf-8",
        "page.js": "text/javascript; charset=utf-8",
        "palette.css": "text/css; charset=utf-8",
        "panel.js": "text/javascript; charset=utf-8",
        "pricing.css": "text/css; charset=utf-8",
        "replay.js": "text/javascript; charset=utf-8",
        "scoreboard.js": "text/javascript; charset=utf-8",
        "site.css": "text/css; charset=utf-8",
        "site.js": "text/javascript; charset=utf-8",
        "sports.js": "text/javascript; charset=utf-8",
        "tennis-parts.js": "text/javascript; charset=utf-8",
        "tennis.js": "text/javascript; charset=utf-8",
        "trade-model.js": "text/javascript; charset=utf-8",
        "trade.css": "text/css; charset=utf-8",
        "trade.js": "text/javascript; charset=utf-8",
        "truth-audit.js": "text/javascript; charset=utf-8",
        "truth-reader.js": "text/javascript; charset=utf-8",
        "truth.css": "text/css; charset=utf-8",
        "truth.js": "text/javascript; charset=utf-8",
        "view.js": "text/javascript; charset=utf-8",
        "wait.js": "text/javascript; charset=utf-8",
    ]
});

/// `/static/{file}`.
pub(super) async fn file(
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, HttpError> {
    let file = FILES.iter().find(|file| file.name == name).ok_or(HttpError::NotFound)?;
    Ok(file.answer(&request, "no-cache"))
}

/// The icon for programs that request it without reading a page.
static FAVICON: LazyLock<Option<Asset>> = LazyLock::new(|| {
    const SIDE: u8 = 48;
    let png = images::icon(include_str!("../../assets/icon.svg"), SIDE.into());
    let png = png.inspect_err(|error| error!(%error, "the icon could not be rendered")).ok()?;
    let length = u32::try_from(png.len()).ok()?.to_le_bytes();
    // One image in the container: width, height, no palette, one plane, 32 bits, its length and its offset.
    let head: &[&[u8]] =
        &[&[0, 0, 1, 0, 1, 0, SIDE, SIDE, 0, 0, 1, 0, 32, 0], &length, &[22, 0, 0, 0], &png];
    Some(Asset::new("favicon.ico", "image/x-icon", head.concat()))
});

/// `/favicon.ico`.
pub(super) async fn favicon(request: Request) -> Result<Response, HttpError> {
    let icon = FAVICON.as_ref().ok_or(HttpError::NotFound)?;
    Ok(icon.answer(&request, "public, max-age=86400"))
}

static ROBOTS: LazyLock<Asset> = LazyLock::new(|| {
    let text = "User-agent: *\nDisallow: /api/\nDisallow: /admin/\nDisallow: /dashboard/\n\
                Disallow: /stream/\nAllow: /api/docs/\n";
    Asset::new("robots.txt", "text/plain; charset=utf-8", text.as_bytes())
});

/// `/robots.txt`: search engines may index pages, and skip what needs a key.
pub(super) async fn robots(request: Request) -> Response {
    ROBOTS.answer(&request, "public, max-age=86400")
}
