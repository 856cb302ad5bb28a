//! All HTTP errors and their responses, in one place.

use std::net::IpAddr;

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
    products::{Price, Product},
    usage::UsageError,
};
use accounts::{AccountsError, Addon, Scope};
use base::log_rate_limit::LogRateLimit;

#[derive(Debug)]
pub(crate) enum HttpError {
    /// The key is missing or not valid. `register` leads to the registration page.
    Unauthorised { public_url: String },
    /// Two different keys were sent.
    DifferentTokens { public_url: String },
    /// The URL of an MCP server has the key, which belongs in a header.
    TokenInUrl { public_url: String },
    /// The key does not work from this address.
    WrongAddress { address: IpAddr },
    /// The key or access token lacks the scope that the path needs.
    InsufficientScope { scope: Scope },
    /// The account lacks the add-on that the path needs. `pricing_url` leads to the prices.
    AddonRequired(MissingAddon),
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

/// An add-on that is missing, and what a month of it costs.
#[derive(Debug)]
pub(crate) struct MissingAddon {
    pub(crate) addon: Addon,
    pub(crate) price: Price,
    /// Leads to the pricing page.
    pub(crate) public_url: String,
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
            Self::Unauthorised { .. } | Self::DifferentTokens { .. } | Self::TokenInUrl { .. } => {
                "authentication_required"
            }
            Self::WrongAddress { .. } => "address_not_allowed",
            Self::InsufficientScope { .. } => "insufficient_scope",
            Self::AddonRequired(_) => "addon_required",
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
            Self::Unauthorised { public_url } => unauthorised(&public_url, SEND_THE_HEADER),
            Self::DifferentTokens { public_url } => unauthorised(&public_url, SEND_ONE_TOKEN),
            Self::TokenInUrl { public_url } => unauthorised(&public_url, SEND_NO_TOKEN_IN_URLS),
            Self::WrongAddress { address } => wrong_address(address),
            Self::InsufficientScope { scope } => insufficient_scope(scope),
            Self::AddonRequired(needed) => addon_required(&needed),
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

fn unauthorised(public_url: &str, detail: &'static str) -> Response {
    let body = AuthenticationRequired {
        error: "Authentication required",
        code: "authentication_required",
        detail,
        register: format!("{public_url}/register/"),
    };
    let mut response = (StatusCode::UNAUTHORIZED, Json(body)).into_response();
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Token"));
    response
}

fn wrong_address(address: IpAddr) -> Response {
    let address = address.to_canonical();
    forbidden("address_not_allowed", &format!("This key does not work from {address}."))
}

fn insufficient_scope(scope: Scope) -> Response {
    let detail = format!("The key or access token does not have the scope {scope}.");
    forbidden("insufficient_scope", &detail)
}

fn forbidden(code: &'static str, detail: &str) -> Response {
    let status = StatusCode::FORBIDDEN;
    let body = ErrorEnvelope { error: true, status: status.as_u16(), code: Some(code), detail };
    (status, Json(body)).into_response()
}

fn addon_required(MissingAddon { addon, price, public_url }: &MissingAddon) -> Response {
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
    let body = AddonRequired { error, code: "addon_required", detail, pricing_url };
    (StatusCode::PAYMENT_REQUIRED, Json(body)).into_response()
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
