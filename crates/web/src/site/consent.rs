//! `/oauth/authorize/`: a customer connects an application, or refuses to.
//!
//! Until the redirect URI of the request is verified, its errors are shown here and never redirected: the
//! page must not send anybody to an address that a stranger has put into a link. Later errors go back to the
//! client, to a website only by a click.

use std::sync::{Arc, LazyLock};

use askama::Template;
use axum::{Extension, http::HeaderMap, response::Response};
use hyper::{
    StatusCode,
    header::{CONTENT_SECURITY_POLICY, HeaderValue},
};

use super::{
    error::{SiteError, see_other},
    form::SignedForm,
    page::{POLICY, Shell},
    visit::SignedIn,
};
use crate::{
    http::{
        Peer,
        form::Fields,
        oauth::{AuthorizationError, AuthorizationRequest, UnverifiedRequest},
    },
    products::Product,
};
use accounts::{
    Addon, Consent, Scope,
    clients::{Client, ClientError},
};

/// The parameters of a request, which the form sends again.
const PARAMETERS: [&str; 8] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
    "scope",
];

#[derive(Debug, Template)]
#[template(path = "oauth_consent.html")]
struct ConsentPage<'a> {
    shell: Shell<'a>,
    name: &'a str,
    host: String,
    destination: String,
    server: &'static str,
    email: &'a str,
    scopes: Vec<ScopeRow>,
    parameters: Vec<(&'static str, &'a str)>,
}

/// What a scope gives access to.
#[derive(Debug)]
struct ScopeRow {
    words: &'static str,
    /// The add-on that the account lacks for it.
    lacks: Option<&'static str>,
}

#[derive(Debug, Template)]
#[template(path = "oauth_error.html")]
struct RefusalPage<'a> {
    shell: Shell<'a>,
    why: String,
    /// The way back to the client, if the redirect URI was verified.
    back: Option<BackLink>,
}

/// A link that reports the error to the client.
#[derive(Debug)]
struct BackLink {
    url: String,
    destination: String,
}

/// The outcome of reading a request.
enum Examination {
    Valid(Arc<Client>, AuthorizationRequest),
    /// The answer: a page, or a redirect to the client.
    Refused(Response),
}

/// `GET /oauth/authorize/`: asks the customer.
pub(super) async fn show(
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    signed_in: SignedIn,
) -> Result<Response, SiteError> {
    let SignedIn { visit, customer } = &signed_in;
    let fields = &visit.query;
    let (client, request) = match examine(&signed_in, peer, &headers, fields).await? {
        Examination::Valid(client, request) => (client, request),
        Examination::Refused(response) => return Ok(response),
    };
    let row = |scope| {
        let (words, addon) = words(scope);
        let prices = visit.shared.parts.customers.prices.now();
        let has = |addon| prices.is_free(addon, visit.now) || customer.addons.has(addon, visit.now);
        let lacks = addon.filter(|(addon, _)| !has(*addon));
        ScopeRow { words, lacks: lacks.map(|(_, name)| name) }
    };
    let mut response = visit.show(&ConsentPage {
        shell: visit.shell(""),
        name: &client.name,
        host: client.id.host(),
        destination: request.redirect.uri.destination(),
        server: request.audience.title(),
        email: customer.email.as_deref().unwrap_or_default(),
        scopes: request.scopes.iter().map(row).collect(),
        parameters: PARAMETERS
            .into_iter()
            .filter(|name| fields.has(name))
            .map(|name| (name, fields.raw(name)))
            .collect(),
    })?;
    // Browsers apply the policy of forms to the redirect that answers them, too.
    let policy = POLICY.replace(
        "form-action 'self'",
        &format!("form-action 'self' {}", request.redirect.uri.csp_source()),
    );
    if let Ok(policy) = HeaderValue::try_from(policy) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    Ok(response)
}

/// `POST /oauth/authorize/`: the customer's decision. The request is checked again.
pub(super) async fn decide(
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    SignedForm { signed_in, fields }: SignedForm,
) -> Result<Response, SiteError> {
    let SignedIn { visit, customer } = &signed_in;
    let (client, request) = match examine(&signed_in, peer, &headers, &fields).await? {
        Examination::Valid(client, request) => (client, request),
        Examination::Refused(response) => return Ok(response),
    };
    if fields.text("decision") != "allow" {
        return Ok(see_other(&request.redirect.with_error(AuthorizationError::AccessDenied)));
    }
    let consent = Consent {
        account: customer.account,
        client_id: client.id.as_str(),
        client_name: &client.name,
        redirect_uri: request.redirect.uri.as_str(),
        audience: request.audience,
        scopes: request.scopes,
        challenge: &request.challenge,
    };
    let code = visit.shared.parts.customers.oauth.grant(&consent, visit.now).await?;
    Ok(see_other(&request.redirect.with_code(code.expose())))
}

/// Identifies the client and checks its request.
async fn examine(
    signed_in: &SignedIn,
    peer: Peer,
    headers: &HeaderMap,
    fields: &Fields,
) -> Result<Examination, SiteError> {
    let client = match client(signed_in, peer, fields.text("client_id")).await? {
        Ok(client) => client,
        Err(error) => return refusal(signed_in, &error),
    };
    let issuer = signed_in.visit.shared.base_url(headers);
    match AuthorizationRequest::parse(&client, fields, &issuer) {
        Ok(Ok(request)) => Ok(Examination::Valid(client, request)),
        Ok(Err((redirect, error))) => {
            let url = redirect.with_error(error);
            if redirect.uri.is_on_loopback() {
                return Ok(Examination::Refused(see_other(&url)));
            }
            // Anybody can publish a document. If every error were redirected, links to this page would take
            // customers to any website or application without their doing (RFC 9700 section 4.11.2).
            let back = BackLink { url, destination: redirect.uri.destination() };
            let why = error.description().to_owned();
            page(signed_in, StatusCode::BAD_REQUEST, why, Some(back))
        }
        Err(UnverifiedRequest(why)) => {
            page(signed_in, StatusCode::BAD_REQUEST, why.to_owned(), None)
        }
    }
}

async fn client(
    SignedIn { visit, .. }: &SignedIn,
    Peer(address): Peer,
    client_id: &str,
) -> Result<Result<Arc<Client>, ClientError>, SiteError> {
    let parts = &visit.shared.parts;
    let id = match parts.customers.clients.parse_id(client_id) {
        Ok(id) => id,
        Err(error) => return Ok(Err(error)),
    };
    if let Some(client) = parts.customers.clients.cached(&id) {
        return Ok(Ok(client));
    }
    parts.admission.limits.client_document(address)?;
    Ok(parts.customers.clients.fetch(&id).await)
}

fn refusal(signed_in: &SignedIn, error: &ClientError) -> Result<Examination, SiteError> {
    let status = match error {
        ClientError::Busy => StatusCode::SERVICE_UNAVAILABLE,
        ClientError::Unreachable | ClientError::Status { .. } => StatusCode::BAD_GATEWAY,
        ClientError::Id
        | ClientError::Private
        | ClientError::TooLong { .. }
        | ClientError::Document { .. } => StatusCode::BAD_REQUEST,
    };
    page(signed_in, status, error.to_string(), None)
}

fn page(
    SignedIn { visit, .. }: &SignedIn,
    status: StatusCode,
    why: String,
    back: Option<BackLink>,
) -> Result<Examination, SiteError> {
    let shown = visit.show_as(status, &RefusalPage { shell: visit.shell(""), why, back });
    shown.map(Examination::Refused)
}

/// A scope in plain words, and the add-on that it is of no use without.
pub(super) fn words(scope: Scope) -> (&'static str, Option<(Addon, &'static str)>) {
    static SPORTS: LazyLock<String> = LazyLock::new(|| format!("Read {}", Product::sports_text()));
    match scope {
        Scope::Football => (
            "Read football matches, statistics, predictions and signals, and what your account has \
             used",
            None,
        ),
        Scope::Sports => (SPORTS.as_str(), Some((Addon::Sports, "Sports"))),
        Scope::Odds => ("Read the odds of individual bookmakers", Some((Addon::Odds, "Odds API"))),
        Scope::Stream => (
            "Follow football, tennis and the state of feeds live over sockets, and what the other \
             scopes add",
            Some((Addon::Websocket, "WebSocket")),
        ),
        Scope::Account => ("Read the account and its usage, and manage its webhooks", None),
    }
}
