//! The images of channels over HTTP: the whole document, as a socket sends it.

use std::{future, sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{Path, Query, Request, State},
    response::{IntoResponse, Response},
};
use fanout::{Seq, channel::Pattern, encode::payload};
use hyper::{
    HeaderMap, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue},
};
use serde::Deserialize;
use tokio::time::timeout;

use super::{Shared, error::HttpError};
use crate::{catch_up::ChannelImage, clock::wall, etag};
use accounts::Caller;

/// How long `?at_least=` waits for a sequence that is not published yet.
const AT_LEAST_WAIT: Duration = Duration::from_secs(5);

/// Since when the log takes no records, in microseconds, if it does not: nothing newer is shown.
const STALE_SINCE: HeaderName = HeaderName::from_static("x-matchwire-stale-since");

#[derive(Debug, Deserialize)]
pub(crate) struct AtLeast {
    at_least: Option<i64>,
}

/// The image of a channel.
///
/// The same frame that a socket sends: the whole document, its epoch and its sequence.
#[utoipa::path(
    get, path = "/stream/v1/channels/{channel}",
    params(
        ("channel" = String, Path, description = "The name of one channel; do not escape its slashes", example = "football"),
        ("at_least" = Option<u64>, Query, description = "Wait up to 5 seconds for this sequence"),
    ),
    responses((
        status = 200, description = "The `image` frame", body = ImageFrame,
        headers(("X-Matchwire-Stale-Since" = u64, description = "Since when, in microseconds, the hub publishes nothing, if it does not"))
    ))
)]
pub(crate) async fn show(
    State(shared): State<Arc<Shared>>,
    Path(channel): Path<String>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, HttpError> {
    let refused = || HttpError::BadRequest("at_least is a sequence number");
    let Query(AtLeast { at_least }) = Query::try_from_uri(request.uri()).map_err(|_| refused())?;
    let at_least = Seq::try_from(at_least.unwrap_or(0)).map_err(|_| refused())?;
    let channel = channel.trim_end_matches('/');
    if Pattern::parse(channel).is_none_or(|pattern| pattern.is_wildcard()) {
        return Err(HttpError::BadRequest("the path ends in the name of one channel"));
    }
    let decided = shared.parts.admission.entitlement.check_channel(&caller, channel, wall());
    decided.map_err(|denial| shared.denied(denial))?;
    let image = image(&shared, channel, at_least).await?;
    let mut response = answer(request.headers(), &image);
    if let Some(since) = shared.parts.hub.log_state.refused_since() {
        let since = wall() - i64::try_from(since.elapsed().as_micros()).unwrap_or(i64::MAX);
        response.headers_mut().insert(STALE_SINCE, since.into());
    }
    Ok(response)
}

/// The image of a channel, at this sequence or a later one if that is published in time.
///
/// # Errors
///
/// If there is no such channel, or the hub cannot show it now.
pub(crate) async fn image(
    shared: &Shared,
    channel: &str,
    at_least: Seq,
) -> Result<ChannelImage, HttpError> {
    let hub = &shared.parts.hub;
    let is_refused = || hub.log_state.refused_since().is_some();
    let ask = async |at_least| match hub.handle.image_at(channel, at_least).await {
        Ok(image) => image.ok_or(HttpError::NotFound),
        Err(_) if is_refused() => Err(HttpError::TryLater),
        Err(_) => Err(HttpError::Unavailable),
    };
    let reached = async {
        match ask(at_least).await {
            // What was reached is not in the log, and may not be shown.
            Ok(image) if image.seq < at_least && is_refused() => future::pending().await,
            answer => answer,
        }
    };
    if let Ok(answer) = timeout(AT_LEAST_WAIT, reached).await {
        return answer;
    }
    // It was not published in time: return the current image.
    timeout(AT_LEAST_WAIT, ask(0)).await.unwrap_or(Err(HttpError::TryLater))
}

/// The shape of a frame, which is written once for all who follow the channel.
#[derive(Debug, utoipa::ToSchema)]
#[expect(dead_code, reason = "it describes what is written elsewhere")]
struct ImageFrame {
    /// `image`.
    #[schema(rename = "type")]
    kind: String,
    ch: String,
    epoch: String,
    seq: u64,
    /// When the source says it was, when the hub received it, when it was published: microseconds since 1970.
    at: ImageMoments,
    /// The document: see `docs/PROTOCOL.md` for that of each channel.
    #[schema(value_type = Object)]
    data: (),
}

#[derive(Debug, utoipa::ToSchema)]
#[expect(dead_code, reason = "it describes what is written elsewhere")]
struct ImageMoments {
    src: Option<u64>,
    #[schema(rename = "in")]
    heard: Option<u64>,
    #[schema(rename = "pub")]
    published: Option<u64>,
}

fn answer(headers: &HeaderMap, image: &ChannelImage) -> Response {
    let tag = format!("\"{}-{}\"", image.epoch, image.seq);
    let mut response = if etag::is_known(headers, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let json = HeaderValue::from_static("application/json");
        ([(CONTENT_TYPE, json)], payload(&image.frame)).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}
