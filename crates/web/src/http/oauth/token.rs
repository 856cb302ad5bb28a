//! `/oauth/token/` and `/oauth/revoke/`: for clients, without a customer.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use hyper::{
    StatusCode,
    header::{CACHE_CONTROL, HeaderValue, PRAGMA, RETRY_AFTER},
};
use serde::Serialize;

use super::request;
use crate::{
    clock,
    http::{Peer, Shared, error::HttpError, form::Fields},
    limits::RetryAfter,
};
use accounts::{AccountsError, CodeRedemption, IssuedTokens, RefreshRequest, Scopes, TokenRefusal};

/// RFC 6749, section 5.1.
#[derive(Debug, Serialize)]
struct TokenResponse<'a> {
    access_token: &'a str,
    token_type: &'static str,
    expires_in: i64,
    refresh_token: &'a str,
    scope: String,
}

/// RFC 6749, section 5.2.
#[derive(Debug, Serialize)]
struct TokenErrorBody {
    error: &'static str,
    error_description: &'static str,
}

/// Why a client gets no token.
#[derive(Debug)]
pub(super) enum TokenError {
    InvalidRequest(&'static str),
    UnsupportedGrantType,
    Refused(TokenRefusal),
    RateLimited(RetryAfter),
    Failed(AccountsError),
}

impl From<AccountsError> for TokenError {
    fn from(error: AccountsError) -> Self {
        Self::Failed(error)
    }
}

/// `POST /oauth/token/`.
pub(super) async fn exchange(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, TokenError> {
    let base = shared.base_url(request.headers());
    let fields = form(&shared, peer, request).await?;
    let (oauth, now) = (&shared.parts.customers.oauth, clock::wall());
    let client_id = required(&fields, "client_id", "client_id is missing")?;
    let audience = request::audience(&fields, &base)
        .map_err(|_| TokenError::Refused(TokenRefusal::InvalidTarget))?;
    let issued = match fields.text("grant_type") {
        "authorization_code" => {
            let redemption = CodeRedemption {
                code: required(&fields, "code", "code is missing")?,
                client_id,
                redirect_uri: required(&fields, "redirect_uri", "redirect_uri is missing")?,
                verifier: required(&fields, "code_verifier", "code_verifier is missing")?,
                audience,
            };
            oauth.redeem(&redemption, now).await?
        }
        "refresh_token" => {
            let refresh = RefreshRequest {
                token: required(&fields, "refresh_token", "refresh_token is missing")?,
                client_id,
                audience,
                scopes: Some(fields.text("scope"))
                    .filter(|text| !text.is_empty())
                    .map(Scopes::parse_of_app),
            };
            oauth.refresh(&refresh, now).await?
        }
        _ => return Err(TokenError::UnsupportedGrantType),
    };
    Ok(answer(&issued.map_err(TokenError::Refused)?))
}

/// `POST /oauth/revoke/` (RFC 7009). The answer does not reveal whether there was such a token.
pub(super) async fn revoke(
    State(shared): State<Arc<Shared>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, TokenError> {
    let fields = form(&shared, peer, request).await?;
    let token = required(&fields, "token", "token is missing")?;
    let client_id = Some(fields.text("client_id")).filter(|it| !it.is_empty());
    shared.parts.customers.oauth.revoke(token, client_id, clock::wall()).await?;
    Ok(without_storing(StatusCode::OK.into_response()))
}

async fn form(
    shared: &Shared,
    Peer(address): Peer,
    request: Request,
) -> Result<Fields, TokenError> {
    shared.parts.admission.limits.token_request(address).map_err(TokenError::RateLimited)?;
    let fields = Fields::read(request).await;
    let fields = fields.map_err(|_| TokenError::InvalidRequest("the body must be a form"))?;
    match fields.has_repeated() {
        true => Err(TokenError::InvalidRequest("a parameter occurs twice")),
        false => Ok(fields),
    }
}

fn required<'a>(
    fields: &'a Fields,
    name: &str,
    missing: &'static str,
) -> Result<&'a str, TokenError> {
    match fields.text(name) {
        "" => Err(TokenError::InvalidRequest(missing)),
        value => Ok(value),
    }
}

fn answer(issued: &IssuedTokens) -> Response {
    let body = TokenResponse {
        access_token: issued.access.expose(),
        token_type: "Bearer",
        expires_in: issued.access_s,
        refresh_token: issued.refresh.expose(),
        scope: issued.scopes.to_string(),
    };
    without_storing(Json(body).into_response())
}

fn without_storing(mut response: Response) -> Response {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

impl IntoResponse for TokenError {
    fn into_response(self) -> Response {
        let (error, error_description) = match self {
            Self::InvalidRequest(why) => ("invalid_request", why),
            Self::UnsupportedGrantType => {
                ("unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
            }
            Self::Refused(TokenRefusal::InvalidGrant) => (
                "invalid_grant",
                "the code or token is not valid for this client: it may have expired, been used or \
                 been revoked",
            ),
            Self::Refused(TokenRefusal::InvalidTarget) => {
                ("invalid_target", "resource must be the MCP server that the customer agreed to")
            }
            Self::Refused(TokenRefusal::InvalidScope) => {
                ("invalid_scope", "scope must be part of what the customer agreed to")
            }
            Self::RateLimited(wait) => return rate_limited(wait),
            Self::Failed(error) => return HttpError::from(error).into_response(),
        };
        let body = TokenErrorBody { error, error_description };
        without_storing((StatusCode::BAD_REQUEST, Json(body)).into_response())
    }
}

fn rate_limited(RetryAfter { seconds }: RetryAfter) -> Response {
    let body = TokenErrorBody {
        error: "temporarily_unavailable",
        error_description: "too many requests: see Retry-After",
    };
    let mut response = (StatusCode::TOO_MANY_REQUESTS, Json(body)).into_response();
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    without_storing(response)
}
