//! `GET /img/{type}/{id}/`: images, for every client and origin (SERVICE section 4.1).

use std::sync::Arc;

use axum::{
    extract::{Path, Request, State},
    response::{IntoResponse, Response},
};
use hyper::{
    StatusCode,
    header::{
        ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderValue,
        RETRY_AFTER, VARY,
    },
};

use crate::{
    etag,
    http::{Shared, error::HttpError},
    images::{ImageError, ImageKind, ImageLookup, ImageOptions, Subject},
};

/// A year: an image changes only with a name or an operator's file.
const CACHE_FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000");
/// A missing image may appear soon.
const CACHE_MISSING: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// The content of an image.
#[derive(Debug, utoipa::ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "it describes what is written elsewhere")]
struct ImageBytes(Vec<u8>);

/// An image of a team, a league, a player, a manager or a venue.
///
/// A drawing that is the same for ever, unless the operator has a picture. Types: `team`, `league`, `player`, `manager`,
/// `venue`, `tennis-player`, `csgo-team`, `csgo-tournament`, `basketball/team`, `hockey/team`, `csgo/team`.
#[utoipa::path(
    get, path = "/img/{type}/{id}/",
    params(
        ("type" = String, Path, description = "Type of the image. A type of one sport has the sport as a prefix, as in `basketball/team`", example = "team"),
        ("id" = u64, Path, description = "The ID"),
        ("size" = Option<u32>, Query, description = "Width and height in pixels (default 128), rounded up to 16, 24, 32, 48, 64, 96, 128, 192, 256, 384 or 512"),
        ("format" = Option<String>, Query, description = "`png` or `webp` (default: by `Accept`)"),
        ("bg" = Option<String>, Query, description = "`transparent`: transparent background"),
        ("sor" = Option<String>, Query, description = "`true`: cut-out portraits of people"),
    ),
    responses(
        (status = 200, description = "The image", content((ImageBytes = "image/png"), (ImageBytes = "image/webp"))),
        (status = 204, description = "The ID is known, but has no image"),
        (status = 503, description = "Too many images are being rendered"),
    )
)]
pub(crate) async fn show(
    State(shared): State<Arc<Shared>>,
    Path(path): Path<String>,
    request: Request,
) -> Result<Response, HttpError> {
    let subject = subject(&shared, &path).ok_or(HttpError::NotFound)?;
    let headers = request.headers();
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let options =
        ImageOptions::read(request.uri().query(), accept).map_err(HttpError::BadRequest)?;
    let found = shared
        .parts
        .matches
        .images
        .find(subject, options, |tag| etag::is_known(headers, tag))
        .await;
    match found {
        Ok(ImageLookup::Image { tag, bytes }) => {
            let mut response = match bytes {
                Some(bytes) => bytes.into_response(),
                None => StatusCode::NOT_MODIFIED.into_response(),
            };
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(options.format.mime()));
            headers.insert(CACHE_CONTROL, CACHE_FOREVER);
            headers.insert(VARY, HeaderValue::from_static("accept"));
            // No script in it may run, in any context.
            let policy = HeaderValue::from_static("default-src 'none'");
            headers.insert(CONTENT_SECURITY_POLICY, policy);
            if let Ok(tag) = HeaderValue::try_from(tag) {
                headers.insert(ETAG, tag);
            }
            Ok(response)
        }
        Ok(ImageLookup::Missing) => {
            let mut response = StatusCode::NO_CONTENT.into_response();
            response.headers_mut().insert(CACHE_CONTROL, CACHE_MISSING);
            Ok(response)
        }
        Ok(ImageLookup::Unknown) => Err(HttpError::NotFound),
        Err(ImageError::Busy) => {
            let busy = "too many images are being rendered: try again";
            let refused = HttpError::Refused(StatusCode::SERVICE_UNAVAILABLE, busy);
            let mut response = refused.into_response();
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
            Ok(response)
        }
        Err(error @ ImageError::Failed(_)) => {
            base::log_limited!(warn, error, "an image could not be rendered");
            Err(HttpError::Internal)
        }
    }
}

/// `team/5/`, `basketball/team/5`: a type, and an id in canonical form.
fn subject(shared: &Shared, path: &str) -> Option<Subject> {
    let (kind, id) = path.strip_suffix('/').unwrap_or(path).rsplit_once('/')?;
    let kind = ImageKind::named(kind)?;
    let written = id;
    let id = written.parse().ok().filter(|id: &u64| id.to_string() == written)?;
    let entity = shared.parts.matches.history.entity(kind.entity(), id);
    let entity = entity.filter(|it| kind.sport().is_none_or(|sport| it.sport == sport));
    Some(Subject { kind, id, name: entity.map(|it| Arc::clone(&it.name)) })
}
