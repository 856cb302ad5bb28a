//! Every error of the HTTP side as an answer, in one place.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use hyper::{
    StatusCode,
    header::{CACHE_CONTROL, HeaderValue, WWW_AUTHENTICATE},
};
use serde::Serialize;
use tracing::error;

use crate::accounts::AccountsError;

#[derive(Debug)]
pub(super) enum HttpError {
    /// The key is missing or not valid. `public_url` leads to the registration page.
    Unauthorised {
        public_url: String,
    },
    /// The key is valid, the account lacks the add-on.
    AddonRequired {
        public_url: String,
    },
    NotFound,
    BadRequest(&'static str),
    /// Only a WebSocket upgrade is answered here.
    UpgradeRequired,
    MethodNotAllowed,
    /// Anything else that the caller can mend.
    Refused(StatusCode, &'static str),
    /// The hub is stopping.
    Unavailable,
    Internal,
}

/// SPEC section 7, status 401.
#[derive(Debug, Serialize)]
struct AuthenticationRequired {
    error: &'static str,
    code: &'static str,
    detail: &'static str,
    register: String,
}

/// SPEC section 7, status 402.
#[derive(Debug, Serialize)]
struct AddonRequired {
    error: &'static str,
    code: &'static str,
    detail: &'static str,
    pricing_url: String,
}

/// The uniform shape of all others.
#[derive(Debug, Serialize)]
struct Uniform {
    error: bool,
    status: u16,
    detail: &'static str,
}

impl From<AccountsError> for HttpError {
    fn from(error: AccountsError) -> Self {
        error!(error = &error as &dyn std::error::Error, "the account store failed");
        Self::Internal
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let mut response = match self {
            Self::Unauthorised { public_url } => unauthorised(&public_url),
            Self::AddonRequired { public_url } => addon_required(&public_url),
            Self::NotFound => uniform(StatusCode::NOT_FOUND, "Not found"),
            Self::BadRequest(detail) => uniform(StatusCode::BAD_REQUEST, detail),
            Self::UpgradeRequired => {
                uniform(StatusCode::UPGRADE_REQUIRED, "this address takes WebSocket upgrades only")
            }
            Self::MethodNotAllowed => uniform(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed"),
            Self::Refused(status, detail) => uniform(status, detail),
            Self::Unavailable => uniform(StatusCode::SERVICE_UNAVAILABLE, "the hub is stopping"),
            Self::Internal => uniform(StatusCode::INTERNAL_SERVER_ERROR, "internal error"),
        };
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

fn unauthorised(public_url: &str) -> Response {
    let body = AuthenticationRequired {
        error: "Authentication required",
        code: "authentication_required",
        detail: "Send the header \"Authorization: Token <API_KEY>\" with your token on every request.",
        register: format!("{public_url}/register/"),
    };
    let mut response = (StatusCode::UNAUTHORIZED, Json(body)).into_response();
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Token"));
    response
}

fn addon_required(public_url: &str) -> Response {
    let body = AddonRequired {
        error: "WebSocket add-on required",
        code: "addon_required",
        detail: "Live channels for football and tennis need the WebSocket add-on at $3/mo.",
        pricing_url: format!("{public_url}/pricing/"),
    };
    (StatusCode::PAYMENT_REQUIRED, Json(body)).into_response()
}

fn uniform(status: StatusCode, detail: &'static str) -> Response {
    (status, Json(Uniform { error: true, status: status.as_u16(), detail })).into_response()
}

pub(super) async fn method_not_allowed() -> HttpError {
    HttpError::MethodNotAllowed
}
