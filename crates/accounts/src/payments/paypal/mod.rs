//! PayPal, through its Orders API: the customer approves on PayPal's page, and the hub captures the
//! payment.

mod token;
mod webhook;

use base::secret::Secret;
use reqwest::{
    RequestBuilder, StatusCode,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};
use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use self::token::{ClientCredentials, Tokens};
use super::{
    Order, ProviderError,
    client::{ProviderClient, ProviderResponse},
    order::ProviderStatus,
    provider::{NewCheckout, ReturnUrls, new_checkout, reported_id},
};
use crate::{accounts::Micros, config::PaymentsConfig, products::Price};

/// The JSON pointer to a response's error code.
const CODE: &str = "/details/0/issue";
/// Concurrent signature checks at PayPal; others wait. Anybody can trigger them.
const CHECKS_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct Paypal {
    client: ProviderClient,
    credentials: ClientCredentials,
    tokens: Tokens,
    /// PayPal's id of the hub's webhook.
    webhook: String,
    checks: Semaphore,
    /// How far the time of a signature may be ahead of our clock.
    age_max: Micros,
}

/// The fields of a PayPal order that matter here.
#[derive(Debug, Deserialize)]
struct PaypalOrder {
    status: Option<String>,
    #[serde(default)]
    purchase_units: Vec<PurchaseUnit>,
}

#[derive(Debug, Deserialize)]
struct PurchaseUnit {
    custom_id: Option<String>,
    payments: Option<UnitPayments>,
}

#[derive(Debug, Deserialize)]
struct UnitPayments {
    #[serde(default)]
    captures: Vec<Capture>,
    #[serde(default)]
    refunds: Vec<PaypalRefund>,
}

/// A captured payment.
#[derive(Debug, Deserialize)]
struct Capture {
    id: String,
    status: Option<String>,
    amount: Option<Amount>,
    custom_id: Option<String>,
    supplementary_data: Option<SupplementaryData>,
}

/// One refund.
#[derive(Debug, Deserialize)]
struct PaypalRefund {
    status: Option<String>,
    amount: Option<Amount>,
}

#[derive(Debug, Clone, Deserialize)]
struct Amount {
    /// An exact decimal, as text.
    #[serde(deserialize_with = "decimal")]
    value: Decimal,
    currency_code: String,
}

#[derive(Debug, Deserialize)]
struct SupplementaryData {
    related_ids: Option<RelatedIds>,
}

#[derive(Debug, Deserialize)]
struct RelatedIds {
    order_id: Option<String>,
}

impl Paypal {
    pub(super) fn new(client: ProviderClient, secret: Secret, config: &PaymentsConfig) -> Self {
        Self {
            client,
            credentials: ClientCredentials { id: config.paypal_client_id.clone(), secret },
            tokens: Tokens::default(),
            webhook: config.paypal_webhook_id.clone(),
            checks: Semaphore::new(CHECKS_MAX),
            age_max: config.webhook_age_max(),
        }
    }

    pub(super) async fn open(
        &self,
        order: &Order,
        return_urls: &ReturnUrls,
    ) -> Result<NewCheckout, ProviderError> {
        let body = json!({
            "intent": "CAPTURE",
            "purchase_units": [{
                "custom_id": order.id,
                "description": order.title(),
                "amount": amount(&order.price),
            }],
            "payment_source": {"paypal": {"experience_context": {
                "return_url": return_urls.back,
                "cancel_url": return_urls.cancel,
                "user_action": "PAY_NOW",
                "shipping_preference": "NO_SHIPPING",
            }}},
        });
        let response = self.post("/v2/checkout/orders", &body, &order.id).await?.done(CODE)?;
        let links = response["links"].as_array().map_or(&[][..], Vec::as_slice);
        let page =
            links.iter().find(|it| matches!(it["rel"].as_str(), Some("payer-action" | "approve")));
        let url = page.and_then(|link| link["href"].as_str());
        new_checkout(response["id"].as_str().unwrap_or_default(), url.unwrap_or_default())
    }

    /// Captures the payment if the customer has approved it.
    pub(super) async fn fetch_status(
        &self,
        order: &Order,
    ) -> Result<ProviderStatus, ProviderError> {
        let id = reported_id(order.checkout.as_deref())?;
        let path = format!("/v2/checkout/orders/{id}");
        let response = self.send(self.client.get(&path)).await?;
        if response.status == StatusCode::NOT_FOUND {
            return Ok(ProviderStatus::closed());
        }
        let checkout = checkout(response.done(CODE)?)?;
        if checkout.status.as_deref() != Some("APPROVED") {
            return checkout.provider_status();
        }
        self.capture(order, &path).await
    }

    async fn capture(&self, order: &Order, path: &str) -> Result<ProviderStatus, ProviderError> {
        let key = format!("{}-capture", order.id);
        let response = self.post(&format!("{path}/capture"), &json!({}), &key).await?;
        match response.done(CODE) {
            Ok(body) => checkout(body)?.provider_status(),
            Err(ProviderError::Refused { code, .. }) if code == "ORDER_ALREADY_CAPTURED" => {
                checkout(self.send(self.client.get(path)).await?.done(CODE)?)?.provider_status()
            }
            // The customer may choose another funding source.
            Err(ProviderError::Refused { code, .. }) if code == "INSTRUMENT_DECLINED" => {
                Ok(ProviderStatus::default())
            }
            Err(error) => Err(error),
        }
    }

    pub(super) async fn refund(&self, order: &Order, back: Decimal) -> Result<(), ProviderError> {
        let payment = reported_id(order.payment.as_deref())?;
        let path = format!("/v2/payments/captures/{payment}/refund");
        let price = Price { amount: back, currency: order.price.currency.clone() };
        let key = format!("{}-refund-{}", order.id, order.refunded.normalize());
        let body = json!({"amount": amount(&price), "custom_id": order.id});
        let response = self.post(&path, &body, &key).await?.done(CODE)?;
        match response["status"].as_str() {
            Some("COMPLETED" | "PENDING") => Ok(()),
            _ => Err(ProviderError::Unusable { why: "the refund did not go through" }),
        }
    }

    async fn post(
        &self,
        path: &str,
        body: &Value,
        key: &str,
    ) -> Result<ProviderResponse, ProviderError> {
        const KEY: HeaderName = HeaderName::from_static("paypal-request-id");
        let request =
            self.client.post(path).header(KEY, key).header("prefer", "return=representation");
        self.send(with_json(request, body.to_string())).await
    }

    /// Sends with a token, and again with a new one if the token is refused.
    async fn send(&self, request: RequestBuilder) -> Result<ProviderResponse, ProviderError> {
        let again = request.try_clone().expect("the body is in memory");
        let token = self.tokens.token(&self.client, &self.credentials).await?;
        let response = self.client.send(request.bearer_auth(token.expose())).await?;
        if response.status != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        self.tokens.forget(&token).await;
        let token = self.tokens.token(&self.client, &self.credentials).await?;
        self.client.send(again.bearer_auth(token.expose())).await
    }
}

impl PaypalOrder {
    /// An order has one capture at a time; refused ones may precede the successful one.
    fn provider_status(&self) -> Result<ProviderStatus, ProviderError> {
        let payments = || self.purchase_units.iter().filter_map(|unit| unit.payments.as_ref());
        let mut provider_status = ProviderStatus::default();
        for capture in payments().flat_map(|it| &it.captures) {
            let this = capture.provider_status()?;
            if provider_status.paid.is_none() {
                provider_status = this;
            }
        }
        provider_status.closed |= self.status.as_deref() == Some("VOIDED");
        provider_status.refunded = refunded(payments().flat_map(|it| &it.refunds))?;
        Ok(provider_status)
    }
}

impl Capture {
    fn provider_status(&self) -> Result<ProviderStatus, ProviderError> {
        const WHY: ProviderError = ProviderError::Unusable { why: "it is paid without an amount" };
        let payment = Some(self.id.clone());
        Ok(match self.status.as_deref() {
            Some("COMPLETED" | "PARTIALLY_REFUNDED" | "REFUNDED") => {
                let paid = self.amount.clone().ok_or(WHY)?.into();
                ProviderStatus { payment, paid: Some(paid), ..ProviderStatus::default() }
            }
            Some("DECLINED" | "FAILED") => ProviderStatus::closed(),
            _ => ProviderStatus::default(),
        })
    }
}

/// The total; `None` if nothing was refunded.
fn refunded<'a>(
    refunds: impl Iterator<Item = &'a PaypalRefund>,
) -> Result<Option<Price>, ProviderError> {
    const WHY: ProviderError = ProviderError::Unusable { why: "refunds do not add up" };
    let mut all: Option<Price> = None;
    for refund in refunds {
        if !matches!(refund.status.as_deref(), Some("COMPLETED" | "PENDING")) {
            continue;
        }
        let one = Price::from(refund.amount.clone().ok_or(WHY)?);
        all = Some(match all {
            None => one,
            Some(all) if all.currency == one.currency => {
                let amount = all.amount.checked_add(one.amount).ok_or(WHY)?;
                Price { amount, ..all }
            }
            Some(_) => return Err(WHY),
        });
    }
    Ok(all)
}

impl From<Amount> for Price {
    fn from(amount: Amount) -> Self {
        Self { amount: amount.value, currency: amount.currency_code }
    }
}

fn decimal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

fn amount(price: &Price) -> Value {
    json!({"currency_code": price.currency, "value": format!("{:.2}", price.amount)})
}

fn checkout(value: Value) -> Result<PaypalOrder, ProviderError> {
    serde_json::from_value(value).map_err(|_| ProviderError::Unusable { why: "it is no order" })
}

fn with_json(request: RequestBuilder, body: String) -> RequestBuilder {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    request.header(CONTENT_TYPE, JSON).body(body)
}

#[cfg(test)]
mod tests {
    use rust_decimal::dec;

    use super::*;

    fn provider_status(order: Value) -> ProviderStatus {
        checkout(order).unwrap().provider_status().unwrap()
    }

    fn usd(amount: Decimal) -> Option<Price> {
        Some(Price { amount, currency: "USD".to_owned() })
    }

    #[test]
    fn only_completed_captures_count_as_paid() {
        let with = |status: &str| {
            provider_status(
                json!({"status": "COMPLETED", "purchase_units": [{"payments": {"captures": [
                    {"id": "C1", "status": status, "amount": {"value": "5.00", "currency_code": "USD"}},
                ]}}]}),
            )
        };
        assert_eq!(with("COMPLETED").paid, usd(dec!(5.00)));
        assert_eq!(with("PENDING"), ProviderStatus::default());
        assert!(with("DECLINED").closed);
        let approved = provider_status(json!({"status": "APPROVED", "purchase_units": [{}]}));
        assert_eq!(approved, ProviderStatus::default());
        assert!(provider_status(json!({"status": "VOIDED"})).closed);
    }

    #[test]
    fn pending_and_completed_refunds_are_added_up() {
        let refund = |status: &str, value: &str| json!({"status": status, "amount": {"value": value, "currency_code": "USD"}});
        let all = provider_status(json!({"purchase_units": [{"payments": {"refunds": [
            refund("COMPLETED", "1.10"), refund("FAILED", "9"), refund("PENDING", "0.20"),
        ]}}]}));
        assert_eq!(all.refunded, usd(dec!(1.30)));
    }
}
