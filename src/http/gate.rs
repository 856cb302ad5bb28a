//! In front of every product: who asks, whether the account may, and how much.
//!
//! It holds for all paths below a product, known or not, so that nobody learns without a key what
//! there is. A handler behind it finds the [`Caller`] among the extensions of its request, and need
//! not ask again. The usual way through is a look into two tables in memory.

use std::error::Error;

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue},
};
use metrics::counter;
use tracing::warn;

use super::{
    Peer, Shared,
    credential::{self, Credential, Shown},
    error::{HttpError, Needed},
};
use crate::{
    accounts::{AccountId, Caller, Micros},
    clock,
    limits::{CpuPermit, Quota, QuotaStatus},
    products::Product,
    usage::{Call, Meter},
};

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// How a request was let through: where its account stands, and the permit that its CPU time is charged to.
pub(super) struct Admitted {
    pub standing: Option<QuotaStatus>,
    pub permit: Option<CpuPermit>,
}

/// Lets a request through to a product, with who asks among its extensions; else gives the answer.
pub(super) async fn admit(
    shared: &Shared,
    peer: Peer,
    product: Product,
    request: &mut Request,
) -> Result<Admitted, Response> {
    let shown = credential::of_rest(request.headers(), request.extensions().get());
    let path = request.uri().path();
    let call = call(path).filter(|_| shared.paths.contains(path));
    match pass(shared, Asked { product, peer, shown, call }).await {
        Ok((caller, admitted)) => {
            request.extensions_mut().insert(caller);
            Ok(admitted)
        }
        Err(error) => {
            counter!("matchwire_requests_refused_total", "reason" => error.reason()).increment(1);
            Err(error.into_response())
        }
    }
}

/// What the gate has to know of a request.
struct Asked {
    product: Product,
    peer: Peer,
    shown: Shown,
    call: Option<Call>,
}

/// The order decides what somebody is told to whom several things apply: 429 for the address, 401,
/// 402, 429 for the account's work, 429 for the day.
async fn pass(
    shared: &Shared,
    Asked { product, peer, shown, call }: Asked,
) -> Result<(Caller, Admitted), HttpError> {
    let limits = &shared.parts.limits;
    if product == Product::Football {
        limits.request(peer.0).map_err(HttpError::RateLimited)?;
    }
    let now = clock::wall();
    let caller = authenticate(shared, &shown, peer, now).await?;
    let quota = limits.quota(&caller, product, now);
    check_addon(shared, &caller, (product, quota), now)?;
    let permit = limits.cpu_permit(caller.account).await.map_err(HttpError::RateLimited)?;
    let standing = match call {
        Some(call) => count(shared, caller.account, (product, call), quota, now).await?,
        None => None,
    };
    Ok((caller, Admitted { standing, permit }))
}

/// SPEC section 5, rule 1.
async fn authenticate(
    shared: &Shared,
    shown: &Shown,
    Peer(address): Peer,
    now: Micros,
) -> Result<Caller, HttpError> {
    let public_url = || shared.parts.public_url.clone();
    match shown {
        Shown::One(Credential::Key(key)) => {
            if let Some(caller) = shared.parts.accounts.authenticate(key, now).await? {
                return Ok(caller);
            }
            shared.parts.limits.wrong_key(address).map_err(HttpError::RateLimited)?;
            Err(HttpError::Unauthorised { public_url: public_url() })
        }
        Shown::One(Credential::Ticket(_)) | Shown::Nothing => {
            Err(HttpError::Unauthorised { public_url: public_url() })
        }
        Shown::Different => Err(HttpError::DifferentTokens { public_url: public_url() }),
    }
}

/// SPEC section 5, rule 2: 402, not 403. A quota for those without the add-on is as good as it, for
/// as long as it lasts.
fn check_addon(
    shared: &Shared,
    caller: &Caller,
    (product, quota): (Product, Option<Quota>),
    now: Micros,
) -> Result<(), HttpError> {
    let catalogue = &shared.parts.catalogue;
    match catalogue.needs(product, now) {
        Some(addon) if !caller.has(addon, now) && quota.is_none() => {
            let price = catalogue.price(addon, false);
            let public_url = shared.parts.public_url.clone();
            Err(HttpError::AddonRequired(Needed { addon, price, public_url }))
        }
        _ => Ok(()),
    }
}

/// Counts the request, and takes it off the day's quota where there is one.
async fn count(
    shared: &Shared,
    account: AccountId,
    (product, call): (Product, Call),
    quota: Option<Quota>,
    now: Micros,
) -> Result<Option<QuotaStatus>, HttpError> {
    let meter = &shared.parts.meter;
    let Some(quota) = quota else {
        count_freely(meter, account, (product, call), now);
        return Ok(None);
    };
    match meter.reserve(account, product, call, quota.per_day, now).await {
        Ok(Some(left)) => Ok(Some(quota.status(left, now))),
        Ok(None) => Err(HttpError::Exhausted(quota.status(0, now))),
        // What cannot be counted is given away: that is ours to mend.
        Err(error) => {
            warn!(error = &error as &dyn Error, "a request was not held against its quota");
            count_freely(meter, account, (product, call), now);
            Ok(None)
        }
    }
}

fn count_freely(meter: &Meter, account: AccountId, (product, call): (Product, Call), now: Micros) {
    match call {
        Call::Rest => meter.call(account, product, now),
        Call::Mcp => meter.mcp_call(account, product, now),
    }
}

/// What a request to a path that exists counts as; `None` for what customers ask about their own account,
/// for tickets, of which a socket may need one after the quota is used up, and for the paths of MCP, where
/// there is no server yet.
fn call(path: &str) -> Option<Call> {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let parts = [parts.next(), parts.next(), parts.next()].map(Option::unwrap_or_default);
    match parts {
        ["api", "v2", "account" | "stream"] => None,
        ["mcp", ..] | [_, "mcp", _] => None,
        _ => Some(Call::Rest),
    }
}

/// SERVICE section 6: absent means that there is no quota.
pub(super) fn tell(headers: &mut HeaderMap, standing: Option<QuotaStatus>) {
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
    fn requests_count_by_what_they_ask() {
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
    }
}
