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
    error::{HttpError, MissingAddon},
    holders, mcp,
    oauth::McpResource,
};
use crate::{
    clock,
    limits::{Quota, QuotaStatus, RequestPermit},
    products::Product,
    usage::Call,
};
use accounts::{AccountId, AccountsError, Caller, Micros, Scope};
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
    let call = call(path).filter(|_| shared.paths.contains(path));
    let scope = scope(product, path);
    let has_credential = presented != PresentedCredential::Nothing;
    let is_limited = is_limited_by_address(path);
    let access =
        AccessRequest { product, scope, peer, presented, accepts_tokens: is_mcp, call, is_limited };
    let checked = if is_mcp && in_query {
        // It could end up in a log.
        Err(HttpError::TokenInUrl { public_url: shared.parts.settings.public_url.clone() })
    } else {
        check_access(shared, access).await
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
            let is_final = matches!(error, HttpError::WrongAddress { .. });
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

/// What the check needs to know about a request.
struct AccessRequest {
    product: Product,
    /// The scope that the path needs.
    scope: Scope,
    peer: Peer,
    presented: PresentedCredential,
    /// Whether access tokens are accepted besides keys.
    accepts_tokens: bool,
    call: Option<Call>,
    /// Whether it counts against the limit of its address.
    is_limited: bool,
}

/// The order decides which answer a request gets when several apply: 429 for the address, 401, 403 for the
/// address and the scopes of the key, 402, 429 for the account's work, 429 for the day.
async fn check_access(
    shared: &Shared,
    AccessRequest { product, scope, peer, presented, accepts_tokens, call, is_limited }: AccessRequest,
) -> Result<(Caller, Admission), HttpError> {
    let limits = &shared.parts.admission.limits;
    let of_address = match is_limited {
        true => Some(limits.request(peer.0).await.map_err(HttpError::RateLimited)?),
        false => None,
    };
    let now = clock::wall();
    let audience = accepts_tokens.then_some(product);
    let caller = authenticate(shared, &presented, audience, peer, now).await?;
    if !caller.has_scope(scope) {
        return Err(HttpError::InsufficientScope { scope });
    }
    let quota = limits.quota(&caller, product, now);
    check_addon(shared, &caller, (product, quota), now)?;
    let pool = if accepts_tokens { Pool::Mcp } else { Pool::Rest };
    let permit = limits.cpu_permit(caller.account.payer(), pool).await;
    let permit = permit.map_err(HttpError::RateLimited)?;
    let standing = match call {
        Some(call) => count(shared, caller.account, (product, call), quota, now).await?,
        None => None,
    };
    Ok((caller, Admission { standing, permit, of_address }))
}

/// SPEC section 5, rule 1. `audience`: the product whose access tokens are accepted besides keys.
async fn authenticate(
    shared: &Shared,
    presented: &PresentedCredential,
    audience: Option<Product>,
    Peer(address): Peer,
    now: Micros,
) -> Result<Caller, HttpError> {
    let public_url = || shared.parts.settings.public_url.clone();
    match presented {
        // It may be revoked.
        PresentedCredential::One(Credential::Key(_))
            if shared.parts.hub.health.has(Unready::Alone) =>
        {
            Err(HttpError::NoDatabase)
        }
        PresentedCredential::One(Credential::Key(key)) => {
            let accounts = &shared.parts.customers.accounts;
            let found = match audience {
                Some(audience) => accounts.authenticate_for_mcp(key, audience, address, now).await,
                None => accounts.authenticate(key, address, now).await,
            };
            let found = match found {
                Err(AccountsError::WrongAddress) => {
                    return Err(HttpError::WrongAddress { address });
                }
                found => found?,
            };
            if let Some(caller) = found {
                return Ok(caller);
            }
            shared.parts.admission.limits.wrong_key(address).map_err(HttpError::RateLimited)?;
            Err(HttpError::Unauthorised { public_url: public_url() })
        }
        PresentedCredential::One(Credential::Ticket(_)) | PresentedCredential::Nothing => {
            Err(HttpError::Unauthorised { public_url: public_url() })
        }
        PresentedCredential::Conflicting => {
            Err(HttpError::DifferentTokens { public_url: public_url() })
        }
    }
}

/// SPEC section 5, rule 2: 402, not 403. While a quota for accounts without the add-on lasts, it replaces the
/// add-on.
fn check_addon(
    shared: &Shared,
    caller: &Caller,
    (product, quota): (Product, Option<Quota>),
    now: Micros,
) -> Result<(), HttpError> {
    let catalogue = shared.parts.customers.prices.now();
    match catalogue.needs(product, now) {
        Some(addon) if !caller.has(addon, now) && quota.is_none() => {
            let price = catalogue.price(addon, false);
            let public_url = shared.parts.settings.public_url.clone();
            Err(HttpError::AddonRequired(MissingAddon { addon, price, public_url }))
        }
        _ => Ok(()),
    }
}

/// Counts the request, against the day's quota if there is one.
async fn count(
    shared: &Shared,
    account: AccountId,
    (product, call): (Product, Call),
    quota: Option<Quota>,
    now: Micros,
) -> Result<Option<QuotaStatus>, HttpError> {
    let meter = &shared.parts.customers.meter;
    let Some(quota) = quota else {
        meter.count_call(account, product, call, now).await;
        return Ok(None);
    };
    match meter.reserve(account, product, call, quota.per_day, now).await {
        Ok(Some(left)) => Ok(Some(quota.status(left, now))),
        Ok(None) => Err(HttpError::Exhausted(quota.status(0, now))),
        // If counting fails, the request is free: the failure is the hub's, not the client's.
        Err(error) => {
            base::log_limited!(warn, error, "a request could not be counted against its quota");
            meter.count_call(account, product, call, now).await;
            Ok(None)
        }
    }
}

/// The scope that a path below a product needs.
fn scope(product: Product, path: &str) -> Scope {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    match [parts.next(), parts.next(), parts.next()].map(Option::unwrap_or_default) {
        ["api", "v2", "account" | "webhooks"] => Scope::Account,
        ["api", "v2", "stream"] => Scope::Stream,
        _ => Scope::of_product(product),
    }
}

/// What a request to an existing path counts as. `None` for requests about the client's own account and its webhooks, for
/// tickets, because a socket may need one after the quota is used up, and for the paths of MCP, whose servers
/// count calls themselves: lists are free.
fn call(path: &str) -> Option<Call> {
    if Product::of_mcp_path(path).is_some() {
        return None;
    }
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let parts = [parts.next(), parts.next(), parts.next()].map(Option::unwrap_or_default);
    match parts {
        ["api", "v2", "account" | "stream" | "webhooks"] => None,
        _ => Some(Call::Rest),
    }
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
        let check = |path: &str, expected: Option<Call>| assert_eq!(call(path), expected, "{path}");
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
