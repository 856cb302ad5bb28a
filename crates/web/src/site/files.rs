//! The files that pages need, compiled into the program.

use std::sync::LazyLock;

use axum::{
    extract::{Path, Request},
    response::Response,
};
use tracing::error;

use crate::{
    http::{asset::Asset, error::HttpError},
    images,
};

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
