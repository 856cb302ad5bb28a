//! `/truth/`: a page that breaks the stream on purpose, and shows that its promises hold.

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{
    Json,
    extract::{FromRequest, Request, State},
    response::{IntoResponse, Response},
};
use hyper::{
    HeaderMap, StatusCode,
    header::{CACHE_CONTROL, HeaderValue},
};
use serde::Serialize;
use tracing::info;

use super::{
    error::SiteError,
    form::FormSubmission,
    live::{LiveShell, demo_key},
    visit::Visit,
};
use crate::http::{Shared, error::HttpError};
use hub::sources::{InterruptError, Interruption, InterruptionKind, PlaybackControl};

#[derive(Debug, Template)]
#[template(path = "truth.html")]
struct TruthPage<'a> {
    live: LiveShell<'a>,
    /// The form token for interrupting the source, on the page of a demo.
    feed_token: Option<String>,
}

/// `/truth/`
pub(super) async fn show(visit: Visit, request: Request) -> Result<Response, SiteError> {
    let live = LiveShell::new("/truth/", &visit, &request);
    let feed_token = demo_feed(&visit, request.headers()).map(|_| visit.shell("/").token);
    visit.show(&TruthPage { live, feed_token })
}

/// The demo's source, for a page on this machine: a page that gets the demo's key may also interrupt it.
fn demo_feed<'a>(visit: &'a Visit, headers: &HeaderMap) -> Option<&'a PlaybackControl> {
    demo_key(visit, headers).and(visit.shared.parts.demo.feed.as_ref())
}

/// An interruption that has begun.
#[derive(Debug, Serialize)]
struct InterruptionBegun {
    seconds: u64,
}

/// `/truth/feed/`: stalls or kills the source of the demo, for a time. The form has `order` (`stall`, `kill`) and
/// `seconds`.
pub(super) async fn interrupt(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, SiteError> {
    let headers = request.headers().clone();
    let form = FormSubmission::from_request(request, &shared).await?;
    let Some(feed) = demo_feed(&form.visit, &headers) else { return Err(SiteError::NotFound) };
    let kind = match form.fields.text("order") {
        "stall" => InterruptionKind::Stall,
        "kill" => InterruptionKind::Kill,
        _ => return Ok(HttpError::BadRequest("order must be stall or kill").into_response()),
    };
    let longest = Interruption::LENGTH_MAX.as_secs();
    let seconds = form.fields.text("seconds").parse::<u64>();
    let Some(seconds) = seconds.ok().filter(|it| (1..=longest).contains(it)) else {
        return Ok(HttpError::BadRequest("seconds must be from 1 to 60").into_response());
    };
    let interruption = Interruption { kind, length: Duration::from_secs(seconds) };
    match feed.interrupt(interruption) {
        Ok(()) => {
            info!(?kind, seconds, "the source of the demo is interrupted on request");
            let begun = Json(InterruptionBegun { seconds });
            let mut response = (StatusCode::ACCEPTED, begun).into_response();
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            Ok(response)
        }
        Err(InterruptError::Busy) => {
            let why = "the source is interrupted already, or catching up";
            Ok(HttpError::Refused(StatusCode::CONFLICT, why).into_response())
        }
        Err(InterruptError::Ended) => Ok(HttpError::Unavailable.into_response()),
    }
}
