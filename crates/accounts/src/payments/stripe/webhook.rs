//! Stripe's webhooks.

use hyper::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use super::{Stripe, price, session, signature};
use crate::{
    accounts::Micros,
    payments::{
        WebhookError,
        order::ProviderStatus,
        provider::{EventContent, WebhookEvent, validate_event},
        store::OrderRef,
    },
};

#[derive(Debug, Deserialize)]
struct StripeEvent {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    data: EventData,
}

#[derive(Debug, Deserialize)]
struct EventData {
    object: Value,
}

/// A refunded payment.
#[derive(Debug, Deserialize)]
struct RefundedCharge {
    amount_refunded: i64,
    currency: String,
    payment_intent: Option<String>,
    #[serde(default)]
    metadata: Metadata,
}

/// A payment that the customer disputes at the bank.
#[derive(Debug, Deserialize)]
struct Dispute {
    amount: i64,
    currency: String,
    /// `lost` if the amount stays with the customer; `won`, `warning_closed` and others if not.
    status: String,
    payment_intent: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    order: Option<String>,
}

impl Stripe {
    pub(in crate::payments) fn read_webhook(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Micros,
    ) -> Result<WebhookEvent, WebhookError> {
        let forged = |why| WebhookError::Forged { why };
        let header = headers.get("stripe-signature").and_then(|value| value.to_str().ok());
        let header = header.ok_or_else(|| forged("it is not signed"))?;
        let secret = self.signing.expose().as_bytes();
        signature::check(header, body, secret, self.age_max, now).map_err(forged)?;
        let event: StripeEvent =
            serde_json::from_slice(body).map_err(|_| forged("it is no event"))?;
        let (order_ref, content) =
            read(&event.kind, event.data.object).ok_or_else(|| forged("it is no event"))?;
        validate_event(WebhookEvent { id: event.id, kind: event.kind, order_ref, content })
    }
}

/// The order it is about and its content; `None` if its fields do not fit its kind.
fn read(kind: &str, object: Value) -> Option<(OrderRef, EventContent)> {
    match kind {
        "checkout.session.completed"
        | "checkout.session.async_payment_succeeded"
        | "checkout.session.async_payment_failed"
        | "checkout.session.expired" => checkout(kind, object),
        "charge.refunded" => refunded(object),
        "charge.dispute.closed" => disputed(object),
        _ => Some((OrderRef::default(), EventContent::Nothing)),
    }
}

fn checkout(kind: &str, object: Value) -> Option<(OrderRef, EventContent)> {
    let session = session(object).ok()?;
    let mut provider_status = session.provider_status().ok()?;
    provider_status.closed |= kind == "checkout.session.async_payment_failed";
    let order_ref = OrderRef {
        order: session.client_reference_id,
        checkout: Some(session.id),
        payment: provider_status.payment.clone(),
    };
    Some((order_ref, EventContent::Status(provider_status)))
}

fn refunded(object: Value) -> Option<(OrderRef, EventContent)> {
    let RefundedCharge { amount_refunded, currency, payment_intent, metadata } =
        serde_json::from_value(object).ok()?;
    let refunded = Some(price(amount_refunded, &currency));
    let provider_status =
        ProviderStatus { payment: payment_intent.clone(), refunded, ..ProviderStatus::default() };
    let order_ref = OrderRef { order: metadata.order, checkout: None, payment: payment_intent };
    Some((order_ref, EventContent::Status(provider_status)))
}

fn disputed(object: Value) -> Option<(OrderRef, EventContent)> {
    let Dispute { amount, currency, status, payment_intent } =
        serde_json::from_value(object).ok()?;
    let content = match &*status {
        "lost" => EventContent::Lost(price(amount, &currency)),
        _ => EventContent::Nothing,
    };
    Some((OrderRef { payment: payment_intent, ..OrderRef::default() }, content))
}
