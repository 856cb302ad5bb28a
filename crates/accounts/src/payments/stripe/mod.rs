//! Card payments through Stripe Checkout: the customer pays on Stripe's page.
//!
//! Stripe's amounts are in hundredths; the settings refuse currencies with other units.

mod signature;
mod webhook;

use base::secret::Secret;
use reqwest::{
    RequestBuilder, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};
use rust_decimal::{Decimal, prelude::ToPrimitive};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Order, ProviderError,
    client::{ProviderClient, ProviderResponse},
    order::ProviderStatus,
    provider::{NewCheckout, ReturnUrls, new_checkout, reported_id},
};
use crate::{accounts::Micros, config::PaymentsConfig, products::Price};

/// The API version of the fields read here. Without it, the account's default would apply.
const VERSION: (&str, &str) = ("stripe-version", "2024-06-20");
/// The JSON pointer to a response's error code.
const CODE: &str = "/error/code";

#[derive(Debug)]
pub(super) struct Stripe {
    client: ProviderClient,
    key: Secret,
    /// The secret that signs webhooks.
    signing: Secret,
    age_max: Micros,
}

/// The fields of a checkout session that matter here.
#[derive(Debug, Deserialize)]
struct CheckoutSession {
    id: String,
    /// `open`, `complete` or `expired`.
    status: Option<String>,
    payment_status: Option<String>,
    amount_total: Option<i64>,
    currency: Option<String>,
    client_reference_id: Option<String>,
    payment_intent: Option<PaymentIntent>,
}

/// The payment; only its id unless expanded.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum PaymentIntent {
    Id(String),
    Whole { id: String, latest_charge: Option<Charge> },
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Charge {
    Id(#[expect(dead_code, reason = "it is read to be passed over")] String),
    Whole { amount_refunded: i64, currency: String },
}

impl Stripe {
    pub(super) fn new(
        client: ProviderClient,
        key: Secret,
        signing: Secret,
        config: &PaymentsConfig,
    ) -> Self {
        Self { client, key, signing, age_max: config.webhook_age_max() }
    }

    pub(super) async fn open(
        &self,
        order: &Order,
        return_urls: &ReturnUrls,
    ) -> Result<NewCheckout, ProviderError> {
        let total = hundredths(order.price.amount);
        let unit = (total / i64::from(order.months)).to_string();
        let months = order.months.to_string();
        let currency = order.price.currency.to_ascii_lowercase();
        let form = form(&[
            ("mode", "payment"),
            ("client_reference_id", &order.id),
            ("metadata[order]", &order.id),
            ("payment_intent_data[metadata][order]", &order.id),
            ("line_items[0][quantity]", &months),
            ("line_items[0][price_data][currency]", &currency),
            ("line_items[0][price_data][unit_amount]", &unit),
            ("line_items[0][price_data][product_data][name]", &order.unit_title()),
            ("success_url", &return_urls.back),
            ("cancel_url", &return_urls.cancel),
        ]);
        let request = self.post("/v1/checkout/sessions", form, &order.id);
        let body = self.client.send(request).await?.done(CODE)?;
        let (id, url) = (body["id"].as_str(), body["url"].as_str());
        new_checkout(id.unwrap_or_default(), url.unwrap_or_default())
    }

    pub(super) async fn fetch_status(
        &self,
        order: &Order,
    ) -> Result<ProviderStatus, ProviderError> {
        let checkout = reported_id(order.checkout.as_deref())?;
        let path =
            format!("/v1/checkout/sessions/{checkout}?expand%5B%5D=payment_intent.latest_charge");
        let response = self.client.send(self.authorised(self.client.get(&path))).await?;
        read(response)
    }

    pub(super) async fn cancel(&self, order: &Order) -> Result<ProviderStatus, ProviderError> {
        let checkout = reported_id(order.checkout.as_deref())?;
        let path = format!("/v1/checkout/sessions/{checkout}/expire");
        let request = self.post(&path, String::new(), &format!("{}-expire", order.id));
        match self.client.send(request).await.and_then(read) {
            // It was paid or has expired meanwhile.
            Err(ProviderError::Refused { .. }) => self.fetch_status(order).await,
            provider_status => provider_status,
        }
    }

    pub(super) async fn refund(&self, order: &Order, amount: Decimal) -> Result<(), ProviderError> {
        let payment = reported_id(order.payment.as_deref())?;
        let form = form(&[
            ("payment_intent", payment),
            ("amount", &hundredths(amount).to_string()),
            ("metadata[order]", &order.id),
        ]);
        let key = format!("{}-refund-{}", order.id, hundredths(order.refunded));
        let body = self.client.send(self.post("/v1/refunds", form, &key)).await?.done(CODE)?;
        match body["status"].as_str() {
            Some("succeeded" | "pending") => Ok(()),
            _ => Err(ProviderError::Unusable { why: "the refund did not go through" }),
        }
    }

    fn post(&self, path: &str, form: String, idempotency_key: &str) -> RequestBuilder {
        const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");
        const KEY: HeaderName = HeaderName::from_static("idempotency-key");
        let request =
            self.client.post(path).header(CONTENT_TYPE, FORM).header(KEY, idempotency_key);
        self.authorised(request.body(form))
    }

    fn authorised(&self, request: RequestBuilder) -> RequestBuilder {
        request.bearer_auth(self.key.expose()).header(VERSION.0, VERSION.1)
    }
}

impl CheckoutSession {
    fn provider_status(&self) -> Result<ProviderStatus, ProviderError> {
        const WHY: ProviderError = ProviderError::Unusable { why: "it is paid without an amount" };
        let paid = match self.payment_status.as_deref() {
            Some("paid") => {
                let amount = self.amount_total.ok_or(WHY)?;
                Some(price(amount, self.currency.as_deref().ok_or(WHY)?))
            }
            _ => None,
        };
        let refunded = match &self.payment_intent {
            Some(PaymentIntent::Whole {
                latest_charge: Some(Charge::Whole { amount_refunded, currency }),
                ..
            }) => Some(price(*amount_refunded, currency)),
            _ => None,
        };
        let closed = self.status.as_deref() == Some("expired");
        Ok(ProviderStatus { payment: self.payment(), paid, refunded, lost: None, closed })
    }

    fn payment(&self) -> Option<String> {
        match self.payment_intent.as_ref()? {
            PaymentIntent::Id(id) | PaymentIntent::Whole { id, .. } => Some(id.clone()),
        }
    }
}

/// A checkout that Stripe no longer knows has ended.
fn read(response: ProviderResponse) -> Result<ProviderStatus, ProviderError> {
    if response.status == StatusCode::NOT_FOUND {
        return Ok(ProviderStatus::closed());
    }
    session(response.done(CODE)?)?.provider_status()
}

fn session(value: Value) -> Result<CheckoutSession, ProviderError> {
    serde_json::from_value(value)
        .map_err(|_| ProviderError::Unusable { why: "it is no checkout session" })
}

fn price(hundredths: i64, currency: &str) -> Price {
    Price { amount: Decimal::new(hundredths, 2), currency: currency.to_ascii_uppercase() }
}

fn hundredths(amount: Decimal) -> i64 {
    (amount * Decimal::ONE_HUNDRED).to_i64().unwrap_or(i64::MAX)
}

/// Encodes fields as a form body.
fn form(fields: &[(&str, &str)]) -> String {
    let url = Url::parse_with_params("http://form/", fields).expect("the address is one");
    url.query().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use rust_decimal::dec;

    use super::*;

    #[test]
    fn amounts_are_converted_exactly() {
        assert_eq!(hundredths(dec!(0.29)), 29);
        assert_eq!(hundredths(dec!(60)), 6000);
        assert_eq!(price(1999, "usd"), Price { amount: dec!(19.99), currency: "USD".to_owned() });
    }

    #[test]
    fn form_values_are_percent_encoded() {
        assert_eq!(form(&[("a[b]", "1&2=3 é")]), "a%5Bb%5D=1%262%3D3+%C3%A9");
    }

    #[test]
    fn only_paid_sessions_count_as_paid() {
        let provider_status = |status: &str, payment: &str| {
            session(serde_json::json!({
                "id": "cs_1", "status": status, "payment_status": payment,
                "amount_total": 500, "currency": "usd",
                "payment_intent": {"id": "pi_1", "latest_charge": null},
            }))
            .unwrap()
            .provider_status()
            .unwrap()
        };
        assert_eq!(provider_status("complete", "paid").paid, Some(price(500, "USD")));
        assert_eq!(provider_status("complete", "unpaid").paid, None);
        assert_eq!(provider_status("complete", "no_payment_required").paid, None);
        assert!(
            provider_status("expired", "unpaid").closed
                && !provider_status("open", "unpaid").closed
        );
    }
}
