//! `GET /api/v2/account/`: what the holder of a key may see of the account (SPEC section 2).

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::State,
    response::{IntoResponse, Response},
};
use hyper::header::{CACHE_CONTROL, HeaderValue};
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    clock,
    http::{Shared, error::HttpError},
    usage::{Counts, DAYS_SHOWN, Day, UsageDay},
};
use accounts::{Addon, Caller, Customer, Micros, ZoneName, access::Denial};

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Account {
    email: Option<String>,
    /// The public part of its key; the key itself cannot be shown again.
    key_prefix: Option<String>,
    /// The IANA name of the time zone of days in MCP; `UTC` unless the account has another.
    timezone: &'static str,
    founder: bool,
    founder_since: Option<String>,
    addons: Vec<AccountAddon>,
    usage: Usage,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = HeldAddon)]
struct AccountAddon {
    addon: &'static str,
    active: bool,
    /// `null` if it was never bought.
    expires: Option<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Usage {
    days: u32,
    /// The first and the last of those days, in UTC.
    from: String,
    to: String,
    total: UsageCounts,
    products: Vec<ProductUsage>,
    by_day: Vec<DayUsage>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Used)]
struct UsageCounts {
    calls: u64,
    mcp_calls: u64,
    socket_minutes: f64,
    messages: u64,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = ProductUsed)]
struct ProductUsage {
    product: &'static str,
    #[serde(flatten)]
    usage_counts: UsageCounts,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = DayUsed)]
struct DayUsage {
    day: String,
    product: &'static str,
    #[serde(flatten)]
    usage_counts: UsageCounts,
}

/// The account of the key.
///
/// Accepts the main key and named keys with the scope `account`, with or without add-ons; the request does not count as a call.
#[utoipa::path(
    get, path = "/api/v2/account/",
    responses(
        (status = 200, description = "The account's add-ons and its usage in the last 30 days", body = Account),
    )
)]
pub(crate) async fn show(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, HttpError> {
    let now = clock::wall();
    let parts = &shared.parts;
    // The account was deleted a moment ago, together with its key.
    let customer = parts.customers.accounts.customer(caller.account).await?;
    let customer = customer.ok_or_else(|| shared.denied(Denial::WrongKey))?;
    let days = parts.customers.meter.last_30_days(caller.account, now).await?;
    let mut response = Json(account(customer, &days, now)).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn account(customer: Customer, days: &[UsageDay], now: Micros) -> Account {
    let held = |addon| AccountAddon {
        addon: Addon::as_str(addon),
        active: customer.addons.has(addon, now),
        expires: customer.addons.expiry(addon).and_then(rfc_3339),
    };
    Account {
        addons: Addon::ALL.map(held).into(),
        timezone: customer.zone.map_or("UTC", ZoneName::as_str),
        founder: customer.founder.is_some(),
        founder_since: customer.founder.and_then(rfc_3339),
        email: customer.email,
        key_prefix: customer.key_prefix,
        usage: usage(days, now),
    }
}

fn usage(days: &[UsageDay], now: Micros) -> Usage {
    let today = Day::at(now);
    let products = UsageDay::by_product(days).into_iter();
    Usage {
        days: DAYS_SHOWN,
        from: today.before(DAYS_SHOWN - 1).to_string(),
        to: today.to_string(),
        total: usage_counts(UsageDay::sum(days)),
        products: products
            .map(|(product, counts)| ProductUsage {
                product: product.as_str(),
                usage_counts: usage_counts(counts),
            })
            .collect(),
        by_day: days.iter().map(day_usage).collect(),
    }
}

fn day_usage(day: &UsageDay) -> DayUsage {
    DayUsage {
        day: day.day.to_string(),
        product: day.product.as_str(),
        usage_counts: usage_counts(day.counts),
    }
}

fn usage_counts(counts: Counts) -> UsageCounts {
    let Counts { calls, mcp_calls, messages, .. } = counts;
    UsageCounts { calls, mcp_calls, socket_minutes: counts.socket_minutes(), messages }
}

/// To the second, which is precise enough for a paid day.
fn rfc_3339(at: Micros) -> Option<String> {
    Timestamp::from_second(at.div_euclid(1_000_000)).ok().map(|at| at.to_string())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use serde_json::json;

    use accounts::config::AccountsConfig;

    use super::*;
    use crate::products::Product;
    use accounts::{AccountId, Accounts};
    use database::testing::on_each;

    const NOW: Micros = 1_788_280_000_000_000;
    const DAY_US: Micros = 86_400_000_000;

    /// SPEC section 2: add-on expiry dates, a 30-day usage figure, a Founder badge. SPEC section 3, rule 3:
    /// the badge survives an expired add-on.
    #[tokio::test]
    async fn account_has_its_addons_badge_and_usage() {
        on_each(async |database| {
            let accounts =
                Accounts::new(database.clone(), &AccountsConfig::default()).await.unwrap();
            let addons = [(Addon::Websocket, 30), (Addon::Odds, 1)];
            let key = accounts.create_key(Some("A@example.org"), &addons, NOW).await.unwrap();
            let badge = "UPDATE accounts SET founder_us = 1785715200000000";
            sqlx::query(badge).execute(database.pool()).await.unwrap();
            let later = NOW + 2 * DAY_US;
            let caller = accounts
                .authenticate(key.expose(), Ipv4Addr::LOCALHOST.into(), later)
                .await
                .unwrap()
                .unwrap();
            let account_json = account_json(&accounts, caller.account, later).await;
            assert_eq!(account_json["email"], "a@example.org");
            assert_eq!(account_json["key_prefix"], key.prefix());
            assert_eq!(account_json["founder"], true);
            assert_eq!(account_json["timezone"], "UTC");
            let berlin = ZoneName::parse("Europe/Berlin");
            accounts.set_zone(caller.account, berlin).await.unwrap();
            let moved = self::account_json(&accounts, caller.account, later).await;
            assert_eq!(moved["timezone"], "Europe/Berlin");
            assert_eq!(account_json["founder_since"], "2026-08-03T00:00:00Z");
            assert_eq!(
                account_json["addons"],
                json!([
                    {"addon": "websocket", "active": true, "expires": "2026-10-01T16:26:40Z"},
                    {"addon": "sports", "active": false, "expires": null},
                    {"addon": "odds", "active": false, "expires": "2026-09-02T16:26:40Z"},
                ])
            );
            let total = json!({"calls": 3, "mcp_calls": 0, "socket_minutes": 1.5, "messages": 12});
            assert_eq!(account_json["usage"]["total"], total);
            assert_eq!(
                account_json["usage"]["by_day"],
                json!([
                    {"day": "2026-09-03", "product": "football", "calls": 3, "mcp_calls": 0,
                     "socket_minutes": 0.0, "messages": 0},
                    {"day": "2026-09-03", "product": "websocket", "calls": 0, "mcp_calls": 0,
                     "socket_minutes": 1.5, "messages": 12},
                ])
            );
            assert_eq!(account_json["usage"]["from"], "2026-08-05");
        })
        .await;
    }

    async fn account_json(
        accounts: &Accounts,
        account: AccountId,
        now: Micros,
    ) -> serde_json::Value {
        let customer = accounts.customer(account).await.unwrap().unwrap();
        let usage_counts = |product, counts| UsageDay { day: Day::at(now), product, counts };
        let days = [
            usage_counts(Product::Football, Counts { calls: 3, ..Counts::default() }),
            usage_counts(
                Product::Websocket,
                Counts { socket_ms: 90_000, messages: 12, ..Counts::default() },
            ),
        ];
        serde_json::to_value(super::account(customer, &days, now)).unwrap()
    }
}
