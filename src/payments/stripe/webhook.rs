//! What Stripe's webhooks say.

use hyper::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use super::{Stripe, price, session, signature};
use crate::{
    accounts::Micros,
    payments::{
        WebhookError,
        order::Told,
        provider::{Notice, Says, identified},
        store::Name,
    },
};

#[derive(Debug, Deserialize)]
struct Event {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    data: Data,
}

#[derive(Debug, Deserialize)]
struct Data {
    object: Value,
}

/// A payment of which something was given back.
#[derive(Debug, Deserialize)]
struct Refunded {
    amount_refunded: i64,
    currency: String,
    payment_intent: Option<String>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    order: Option<String>,
}

impl Stripe {
    pub(in crate::payments) fn notice(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Micros,
    ) -> Result<Notice, WebhookError> {
        let forged = |why| WebhookError::Forged { why };
        let header = headers.get("stripe-signature").and_then(|value| value.to_str().ok());
        let header = header.ok_or_else(|| forged("it is not signed"))?;
        let secret = self.signing.expose().as_bytes();
        signature::check(header, body, secret, self.age_max, now).map_err(forged)?;
        let event: Event = serde_json::from_slice(body).map_err(|_| forged("it is no event"))?;
        let (about, says) =
            read(&event.kind, event.data.object).ok_or_else(|| forged("it is no event"))?;
        identified(Notice { id: event.id, kind: event.kind, about, says })
    }
}

/// Which order it is about, and what it says of it; `None` if its parts do not fit its kind.
fn read(kind: &str, object: Value) -> Option<(Name, Says)> {
    match kind {
        "checkout.session.completed"
        | "checkout.session.async_payment_succeeded"
        | "checkout.session.async_payment_failed"
        | "checkout.session.expired" => checkout(kind, object),
        "charge.refunded" => refunded(object),
        _ => Some((Name::default(), Says::Nothing)),
    }
}

fn checkout(kind: &str, object: Value) -> Option<(Name, Says)> {
    let session = session(object).ok()?;
    let mut told = session.told().ok()?;
    told.closed |= kind == "checkout.session.async_payment_failed";
    let about = Name {
        order: session.client_reference_id,
        checkout: Some(session.id),
        payment: told.payment.clone(),
    };
    Some((about, Says::Told(told)))
}

fn refunded(object: Value) -> Option<(Name, Says)> {
    let Refunded { amount_refunded, currency, payment_intent, metadata } =
        serde_json::from_value(object).ok()?;
    let refunded = Some(price(amount_refunded, &currency));
    let told = Told { payment: payment_intent.clone(), refunded, ..Told::default() };
    let about = Name { order: metadata.order, checkout: None, payment: payment_intent };
    Some((about, Says::Told(told)))
}
