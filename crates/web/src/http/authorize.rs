//! Access to products: authenticates the request, checks the add-on and applies the limits.
//!
//! It covers all paths below a product, existing or not, so that nothing about them is revealed without a
//! key. A handler behind it finds the [`Caller`] in the extensions of its request and does not authenticate
//! again. The usual case takes two look-ups in memory.

use ::mcp::BaseUrl;
use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue},
};
use metrics::counter;

use super::{
    Peer, Shared,
    credential::{self, Credential, PresentedCredential, QueryCredentials},
    error::HttpError,
    holders, mcp,
    oauth::McpResource,
};
use crate::{
    clock,
    limits::{QuotaStatus, RequestPermit},
    products::Product,
    usage::Call,
};
use accounts::{
    AccountsError, Caller,
    access::{self, Denial, Resource},
};
use base::work::{Permit, Pool};
use cluster::Unready;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The result of a successful check: where the account stands, the permit that the CPU time is charged to, and that of the
/// address, which is held while the request is answered.
pub(super) struct Admission {
    pub standing: Option<QuotaStatus>,
    pub permit: Permit,
    pub of_address: Option<RequestPermit>,
}

/// Admits a request to a product and adds the caller to its extensions; otherwise returns the response.
pub(super) async fn authorize(
    shared: &Shared,
    peer: Peer,
    product: Product,
    request: &mut Request,
) -> Result<Admission, Response> {
    let presented = credential::of_rest(request.headers(), request.extensions().get());
    let in_query = request.extensions().get::<QueryCredentials>().is_some();
    let is_mcp = request.extensions().get::<McpResource>().is_some();
    let path = request.uri().path();
    let has_credential = presented != PresentedCredential::Nothing;
    let checked = if is_mcp && in_query {
        // It could end up in a log.
        Err(shared.denied(Denial::KeyInUrl))
    } else {
        check_access(shared, peer, (product, path), &presented, is_mcp).await
    };
    match checked {
        Ok((caller, admission)) => {
            holders::set_payer(request, caller.account.payer());
            request.extensions_mut().insert(caller);
            if is_mcp {
                let base_url = shared.base_url(request.headers());
                request.extensions_mut().insert(BaseUrl(base_url.into()));
            }
            Ok(admission)
        }
        Err(error) => {
            counter!("matchwire_requests_refused_total", "reason" => error.reason()).increment(1);
            // Another authorization does not help a key that is used from elsewhere.
            let is_final =
                matches!(error, HttpError::Denied { denial: Denial::WrongAddress(_), .. });
            let mut response = error.into_response();
            let resource = request.extensions().get::<McpResource>();
            if let Some(resource) = resource.filter(|_| !is_final) {
                let base = shared.base_url(request.headers());
                resource.challenge(&base, has_credential, &mut response);
            }
            if is_mcp {
                response = mcp::for_the_model(request, response).await;
            }
            Err(response)
        }
    }
}

/// The order decides which answer a request gets when several apply: 429 for the address, 401, 403 for the
/// address and the scopes of the key, 402, 429 for the account's work, 429 for the day. On paths of MCP access tokens are accepted
/// besides keys.
async fn check_access(
    shared: &Shared,
    peer: Peer,
    (product, path): (Product, &str),
    presented: &PresentedCredential,
    is_mcp: bool,
) -> Result<(Caller, Admission), HttpError> {
    let limits = &shared.parts.admission.limits;
    let of_address = match is_limited_by_address(path) {
        true => Some(limits.request(peer.0).await.map_err(HttpError::RateLimited)?),
        false => None,
    };
    // It may be revoked.
    let is_key = matches!(presented, PresentedCredential::One(_));
    if is_key && shared.parts.hub.health.has(Unready::Alone) {
        return Err(HttpError::NoDatabase);
    }
    let now = clock::wall();
    let caller = identify(shared, presented, is_mcp.then_some(product), peer).await?;
    let caller = caller.map_err(|denial| shared.denied(denial))?;
    let quota = limits.quota(&caller, product, now);
    let (resource, customers) = (Resource::from_path(product, path), &shared.parts.customers);
    let decided = access::decide(&caller, quota, resource, &customers.prices.now(), now);
    decided.map_err(|denial| shared.denied(denial))?;
    let pool = if is_mcp { Pool::Mcp } else { Pool::Rest };
    let permit = limits.cpu_permit(caller.account.payer(), pool).await;
    let permit = permit.map_err(HttpError::RateLimited)?;
    let standing = match call(resource, path).filter(|_| shared.paths.contains(path)) {
        Some(call) => {
            let charged = customers.meter.charge(caller.account, (product, call), quota, now).await;
            charged.map_err(HttpError::Exhausted)?
        }
        None => None,
    };
    Ok((caller, Admission { standing, permit, of_address }))
}

/// The caller with this credential, or what is wrong with it. `audience`: the product whose access tokens are accepted besides
/// keys.
///
/// # Errors
///
/// If too many keys from this address were wrong, or if the account store fails.
pub(super) async fn identify(
    shared: &Shared,
    presented: &PresentedCredential,
    audience: Option<Product>,
    peer: Peer,
) -> Result<Result<Caller, Denial>, HttpError> {
    let denial = match authenticate(shared, presented, audience, peer).await {
        Ok(Some(caller)) => return Ok(Ok(caller)),
        Ok(None) => presented.denial(),
        Err(AccountsError::WrongAddress) => Denial::WrongAddress(peer.0),
        Err(error) => return Err(error.into()),
    };
    if denial == Denial::WrongKey {
        shared.parts.admission.limits.wrong_key(peer.0).map_err(HttpError::RateLimited)?;
    }
    Ok(Err(denial))
}

/// Resolves a credential to its caller; `None` if it is missing, invalid or ambiguous.
///
/// # Errors
///
/// [`AccountsError::WrongAddress`] if the key does not work from the peer's address. If the account store fails.
pub(super) async fn authenticate(
    shared: &Shared,
    presented: &PresentedCredential,
    audience: Option<Product>,
    Peer(from): Peer,
) -> Result<Option<Caller>, AccountsError> {
    let (accounts, now) = (&shared.parts.customers.accounts, clock::wall());
    match presented {
        PresentedCredential::Nothing | PresentedCredential::Conflicting => Ok(None),
        PresentedCredential::One(Credential::Ticket(ticket)) => {
            shared.tickets.redeem(ticket, accounts).await
        }
        PresentedCredential::One(Credential::Key(key)) => match audience {
            Some(product) => accounts.authenticate_for_mcp(key, product, from, now).await,
            None => accounts.authenticate(key, from, now).await,
        },
    }
}

/// What a request to an existing path counts as. `None` for requests about the client's own account and its webhooks, for
/// tickets, because a socket may need one after the quota is used up, and for the paths of MCP, whose servers
/// count calls themselves: lists are free.
fn call(resource: Resource, path: &str) -> Option<Call> {
    let counts = matches!(resource, Resource::Product(_)) && Product::from_mcp_path(path).is_none();
    counts.then_some(Call::Rest)
}

/// Whether the requests of one address to this path are limited: the cached paths of football, and those of version 1
/// (SERVICE section 6, and section 8, row 17).
fn is_limited_by_address(path: &str) -> bool {
    let Some(path) = path.strip_prefix("/api/") else { return false };
    let path = path.strip_prefix("v2/").unwrap_or(path);
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match (parts.next(), parts.next()) {
        (Some("events" | "live" | "leagues" | "teams" | "tournaments" | "predictions"), _) => true,
        (Some("fixtures" | "matches"), _) => true,
        (Some("referees" | "venues"), id) => id.is_some(),
        _ => false,
    }
}

/// SERVICE section 6: no header means that there is no quota.
pub(super) fn add_rate_limit_headers(headers: &mut HeaderMap, standing: Option<QuotaStatus>) {
    let Some(standing) = standing else { return };
    for (name, value) in [(RATE_LIMIT_POLICY, standing.policy()), (RATE_LIMIT, standing.rate())] {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_football_is_limited_by_address() {
        for path in [
            "/api/v2/events/",
            "/api/v2/events/live/",
            "/api/v2/events/7/odds/",
            "/api/v2/leagues/1/standings/",
            "/api/v2/teams",
            "/api/v2/predictions/3/",
            "/api/v2/referees/3/",
            "/api/venues/3/",
            "/api/events/",
            "/api/live/",
            "/api/predictions/",
        ] {
            assert!(is_limited_by_address(path), "{path}");
        }
        for path in [
            "/api/",
            "/api/v2/players/",
            "/api/v2/referees/",
            "/api/v2/venues/",
            "/api/v2/odds/",
            "/api/v2/account/",
            "/api/v2/stream/ticket/",
            "/mcp/",
            "/api/mcp/",
            "/tennis/api/v2/matches/",
            "/tennis/api/v2/predictions/",
            "/odds/api/events/",
            "/stream/v1/channels/football/",
        ] {
            assert!(!is_limited_by_address(path), "{path}");
        }
    }

    #[test]
    fn requests_are_counted_by_path() {
        let check = |path: &str, expected: Option<Call>| {
            let product = Product::from_path(path).expect("a path of a product");
            assert_eq!(call(Resource::from_path(product, path), path), expected, "{path}");
        };
        check("/api/v2/events/", Some(Call::Rest));
        check("/api/", Some(Call::Rest));
        check("/tennis/api/v2/matches/", Some(Call::Rest));
        check("/stream/v1/channels/mcp/", Some(Call::Rest));
        check("/mcp/", None);
        check("/api/mcp/", None);
        check("/tennis/mcp/", None);
        check("/api/v2/account/", None);
        check("/api/v2/stream/ticket/", None);
        check("/api/v2/webhooks/", None);
        check("/api/v2/webhooks/1/deliveries/", None);
    }
}
