//! What PayPal's webhooks say, and whether PayPal says that they are its own.

use hyper::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{Amount, Capture, Paypal, with_json};
use crate::payments::{
    ProviderError, WebhookError,
    order::Told,
    provider::{Notice, Says, identified},
    store::Name,
};

#[derive(Debug, Deserialize)]
struct Event {
    id: String,
    event_type: String,
    #[serde(default)]
    resource: Value,
}

/// What PayPal is asked. The event is passed on byte by byte: its signature is over the bytes.
#[derive(Debug, Serialize)]
struct Question<'a> {
    auth_algo: &'a str,
    cert_url: &'a str,
    transmission_id: &'a str,
    transmission_sig: &'a str,
    transmission_time: &'a str,
    webhook_id: &'a str,
    webhook_event: &'a RawValue,
}

#[derive(Debug, Deserialize)]
struct Approved {
    id: String,
    #[serde(default)]
    purchase_units: Vec<super::Unit>,
}

#[derive(Debug, Deserialize)]
struct Refunded {
    custom_id: Option<String>,
    seller_payable_breakdown: Option<Breakdown>,
    #[serde(default)]
    links: Vec<Link>,
}

#[derive(Debug, Deserialize)]
struct Breakdown {
    total_refunded_amount: Option<Amount>,
}

#[derive(Debug, Deserialize)]
struct Link {
    rel: String,
    href: String,
}

impl Paypal {
    pub(in crate::payments) async fn notice(
        &self,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Notice, WebhookError> {
        let forged = |why| WebhookError::Forged { why };
        let event: Event = serde_json::from_slice(body).map_err(|_| forged("it is no event"))?;
        let read = read(&event.event_type, event.resource);
        let (about, says) = read.ok_or_else(|| forged("it is no event"))?;
        // What would change nothing need not be asked about.
        if says != Says::Nothing {
            self.check(headers, body).await?;
        }
        identified(Notice { id: event.id, kind: event.event_type, about, says })
    }

    async fn check(&self, headers: &HeaderMap, body: &[u8]) -> Result<(), WebhookError> {
        let forged = |why| WebhookError::Forged { why };
        let field = |name| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.ok_or_else(|| forged("it is not signed"))
        };
        let question = Question {
            auth_algo: field("paypal-auth-algo")?,
            cert_url: field("paypal-cert-url")?,
            transmission_id: field("paypal-transmission-id")?,
            transmission_sig: field("paypal-transmission-sig")?,
            transmission_time: field("paypal-transmission-time")?,
            webhook_id: &self.webhook,
            webhook_event: serde_json::from_slice(body).map_err(|_| forged("it is no event"))?,
        };
        let question = serde_json::to_string(&question).expect("text is JSON");
        if self.is_own(question).await? {
            return Ok(());
        }
        Err(forged("its signature is not PayPal's"))
    }

    async fn is_own(&self, question: String) -> Result<bool, ProviderError> {
        let _turn = self.checks.acquire().await;
        let request = self.peer.post("/v1/notifications/verify-webhook-signature");
        let answer = self.ask(with_json(request, question)).await?;
        // It is refused where the question makes no sense, which is the fault of what was sent to us.
        if matches!(answer.status.as_u16(), 400 | 422) {
            return Ok(false);
        }
        Ok(answer.done(super::CODE)?["verification_status"] == "SUCCESS")
    }
}

/// Which order it is about, and what it says of it; `None` if its parts do not fit its kind.
fn read(kind: &str, resource: Value) -> Option<(Name, Says)> {
    match kind {
        "CHECKOUT.ORDER.APPROVED" => approved(resource),
        "PAYMENT.CAPTURE.COMPLETED" | "PAYMENT.CAPTURE.DENIED" | "PAYMENT.CAPTURE.DECLINED" => {
            captured(resource)
        }
        "PAYMENT.CAPTURE.REFUNDED" | "PAYMENT.CAPTURE.REVERSED" => refunded(resource),
        _ => Some((Name::default(), Says::Nothing)),
    }
}

fn approved(resource: Value) -> Option<(Name, Says)> {
    let Approved { id, purchase_units } = serde_json::from_value(resource).ok()?;
    let order = purchase_units.into_iter().find_map(|unit| unit.custom_id);
    Some((Name { order, checkout: Some(id), payment: None }, Says::Ask))
}

fn captured(resource: Value) -> Option<(Name, Says)> {
    let capture: Capture = serde_json::from_value(resource).ok()?;
    let told = capture.told().ok()?;
    let related = capture.supplementary_data.and_then(|it| it.related_ids);
    let about = Name {
        order: capture.custom_id,
        checkout: related.and_then(|it| it.order_id),
        payment: Some(capture.id),
    };
    Some((about, Says::Told(told)))
}

/// A refund says of itself how much it is, and only at times how much there was in all.
fn refunded(resource: Value) -> Option<(Name, Says)> {
    let Refunded { custom_id, seller_payable_breakdown, links } =
        serde_json::from_value(resource).ok()?;
    let up = links.into_iter().find(|link| link.rel == "up");
    let payment = up.and_then(|link| Some(link.href.rsplit('/').next()?.to_owned()));
    let about = Name { order: custom_id, checkout: None, payment: payment.clone() };
    let all = seller_payable_breakdown.and_then(|it| it.total_refunded_amount);
    Some(match all {
        Some(all) => {
            let refunded = Some(all.into());
            (about, Says::Told(Told { payment, refunded, ..Told::default() }))
        }
        None => (about, Says::Ask),
    })
}
