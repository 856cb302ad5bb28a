//! All HTTP errors and their responses, in one place.

use std::sync::Arc;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use hyper::{
    Method, StatusCode,
    header::{CACHE_CONTROL, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE},
};
use serde::Serialize;
use tracing::error;

use super::handshake::HandshakeError;
use crate::{
    limits::{QuotaStatus, RetryAfter},
    products::{Catalogue, Price, Product},
    usage::UsageError,
};
use accounts::{AccountsError, Addon, access::Denial};
use base::log_rate_limit::LogRateLimit;

#[derive(Debug)]
pub(crate) enum HttpError {
    /// The caller has no access. The answer has a price and a link.
    Denied { denial: Denial, prices: Arc<Catalogue>, public_url: String },
    /// Too many requests at once. `Retry-After` has the seconds to wait.
    RateLimited(RetryAfter),
    /// The day's free requests are used up, until 00:00 UTC.
    Exhausted(QuotaStatus),
    /// There is no such path.
    NotFound,
    /// The request is not valid.
    BadRequest(&'static str),
    /// Only a WebSocket upgrade is accepted here, and this is none.
    Handshake(HandshakeError),
    /// The path does not have this method. `Allow` has those that it has.
    MethodNotAllowed,
    /// Any other error that the caller can fix.
    Refused(StatusCode, &'static str),
    /// Too many bytes of answers are waiting for their readers.
    TooMuchUnread,
    /// The hub is stopping.
    Unavailable,
    /// A service that this needs does not answer.
    TryLater,
    /// The database does not answer, so it is unknown whether the key is valid.
    NoDatabase,
    /// The hub failed.
    Internal,
}

/// SPEC section 7, status 401.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct AuthenticationRequired {
    error: &'static str,
    code: &'static str,
    detail: &'static str,
    register: String,
}

/// SPEC section 7, status 402.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct AddonRequired {
    error: &'static str,
    code: &'static str,
    detail: String,
    pricing_url: String,
}

/// The shape of all other errors.
#[derive(Debug, Serialize)]
struct ErrorEnvelope<'a> {
    error: bool,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    detail: &'a str,
}

impl HttpError {
    /// The label of the metric that counts refusals.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Denied { denial, .. } => denial.code(),
            Self::RateLimited(_) => "rate_limited",
            Self::Exhausted(_) => "taster_exhausted",
            Self::NotFound
            | Self::BadRequest(_)
            | Self::Handshake(_)
            | Self::MethodNotAllowed
            | Self::Refused(..) => "other",
            Self::TooMuchUnread
            | Self::Unavailable
            | Self::TryLater
            | Self::NoDatabase
            | Self::Internal => "failed",
        }
    }
}

/// Says that the accounts could not be read or changed. A database that is away fails every request, so that is said once in a
/// while.
pub(crate) fn log_failure(error: &AccountsError) {
    static AWAY: LogRateLimit = LogRateLimit::new();
    let left_out = if error.is_away() { AWAY.admit() } else { Some(0) };
    if let Some(left_out) = left_out {
        error!(error = error as &dyn std::error::Error, left_out, "the account store failed");
    }
}

impl From<AccountsError> for HttpError {
    fn from(error: AccountsError) -> Self {
        log_failure(&error);
        if error.is_away() { Self::NoDatabase } else { Self::Internal }
    }
}

impl From<UsageError> for HttpError {
    fn from(error: UsageError) -> Self {
        match error {
            UsageError::Store(source) => AccountsError::from(source).into(),
            UsageError::Unavailable => Self::NoDatabase,
            UsageError::Full => Self::Internal,
        }
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let mut response = match self {
            Self::Denied { denial, prices, public_url } => denied(denial, &prices, &public_url),
            Self::RateLimited(wait) => rate_limited(wait),
            Self::Exhausted(standing) => exhausted(standing),
            Self::NotFound => uniform(StatusCode::NOT_FOUND, "Not found"),
            Self::BadRequest(detail) => uniform(StatusCode::BAD_REQUEST, detail),
            Self::Handshake(error) => error.into_response(),
            Self::MethodNotAllowed => uniform(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed"),
            Self::Refused(status, detail) => uniform(status, detail),
            Self::TooMuchUnread => too_much_unread(),
            Self::Unavailable => uniform(StatusCode::SERVICE_UNAVAILABLE, "the hub is stopping"),
            Self::TryLater => try_later("try again later"),
            Self::NoDatabase => try_later("the account database is not responding: try again"),
            Self::Internal => uniform(StatusCode::INTERNAL_SERVER_ERROR, "internal error"),
        };
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

const SEND_THE_HEADER: &str =
    "Send the header \"Authorization: Token <API_KEY>\" with your token on every request.";

const SEND_ONE_TOKEN: &str = "the request carries two different tokens: send one, in the header \
                              \"Authorization: Token <API_KEY>\" on every request.";
const SEND_NO_TOKEN_IN_URLS: &str = "An MCP address does not take the token in the URL, since URLs end up in logs. Send \
                                     the header `Authorization: Bearer <API_KEY>` with every request.";

fn denied(denial: Denial, prices: &Catalogue, public_url: &str) -> Response {
    match denial {
        Denial::NoKey | Denial::WrongKey => unauthorised(denial, public_url, SEND_THE_HEADER),
        Denial::DifferentKeys => unauthorised(denial, public_url, SEND_ONE_TOKEN),
        Denial::KeyInUrl => unauthorised(denial, public_url, SEND_NO_TOKEN_IN_URLS),
        Denial::WrongAddress(address) => {
            let address = address.to_canonical();
            forbidden(denial, &format!("This key does not work from {address}."))
        }
        Denial::Scope(scope) => {
            let detail = format!("The key or access token does not have the scope {scope}.");
            forbidden(denial, &detail)
        }
        Denial::Addon(addon) => addon_required(addon, &prices.price(addon, false), public_url),
        // The endpoints that ask for this say it in their own words.
        Denial::OtherSource | Denial::Bookmakers => forbidden(denial, "no access"),
    }
}

fn unauthorised(denial: Denial, public_url: &str, detail: &'static str) -> Response {
    let body = AuthenticationRequired {
        error: "Authentication required",
        code: denial.code(),
        detail,
        register: format!("{public_url}/register/"),
    };
    let mut response = (denial.status(), Json(body)).into_response();
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Token"));
    response
}

fn forbidden(denial: Denial, detail: &str) -> Response {
    let (status, code) = (denial.status(), Some(denial.code()));
    let body = ErrorEnvelope { error: true, status: status.as_u16(), code, detail };
    (status, Json(body)).into_response()
}

fn addon_required(addon: Addon, price: &Price, public_url: &str) -> Response {
    let (error, detail) = match addon {
        Addon::Sports => (
            "Sports Addon required",
            format!("The {} APIs need the sports add-on at {price}/mo.", Product::sports_text()),
        ),
        Addon::Websocket => (
            "WebSocket Addon required",
            format!(
                "Live channels for football and tennis need the WebSocket add-on at {price}/mo."
            ),
        ),
        Addon::Odds => (
            "Odds Addon required",
            format!("The odds of all bookmakers need the Odds API add-on at {price}/mo."),
        ),
    };
    let pricing_url = format!("{public_url}/pricing/");
    let denial = Denial::Addon(addon);
    let body = AddonRequired { error, code: denial.code(), detail, pricing_url };
    (denial.status(), Json(body)).into_response()
}

/// `Retry-After` when a dependency does not answer.
pub(crate) const RETRY_AFTER_S: &str = "5";

fn try_later(detail: &str) -> Response {
    let mut response = uniform(StatusCode::SERVICE_UNAVAILABLE, detail);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_S));
    response
}

fn too_much_unread() -> Response {
    let detail = "too many responses are waiting to be read: try again";
    let mut response = uniform(StatusCode::SERVICE_UNAVAILABLE, detail);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn rate_limited(RetryAfter { seconds }: RetryAfter) -> Response {
    let detail = format!("Too many requests: try again in {seconds} s.");
    too_many("rate_limited", &detail, seconds)
}

fn exhausted(standing: QuotaStatus) -> Response {
    let QuotaStatus { quota, reset_s, .. } = standing;
    let detail = format!(
        "The free daily allowance of {} {} requests is used up. It resets at 00:00 UTC.",
        quota.per_day,
        quota.allowance.as_str(),
    );
    let mut response = too_many("taster_exhausted", &detail, reset_s);
    super::authorize::add_rate_limit_headers(response.headers_mut(), Some(standing));
    response
}

fn too_many(code: &'static str, detail: &str, retry_after_s: u64) -> Response {
    let status = StatusCode::TOO_MANY_REQUESTS;
    let body = ErrorEnvelope { error: true, status: status.as_u16(), code: Some(code), detail };
    let mut response = (status, Json(body)).into_response();
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(retry_after_s));
    response
}

/// A response in the shape of all other errors.
pub(crate) fn uniform(status: StatusCode, detail: &str) -> Response {
    let body = ErrorEnvelope { error: true, status: status.as_u16(), code: None, detail };
    (status, Json(body)).into_response()
}

/// RFC 9110, 9.1: a method that nothing here knows is another error than one that a path does not have.
pub(crate) async fn method_not_allowed(method: Method) -> HttpError {
    let standard = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE"];
    match standard.contains(&method.as_str()) {
        true => HttpError::MethodNotAllowed,
        false => HttpError::Refused(StatusCode::NOT_IMPLEMENTED, "unknown method"),
    }
}
