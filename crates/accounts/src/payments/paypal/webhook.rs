//! PayPal's webhooks, and their verification by PayPal.

use hyper::HeaderMap;
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use super::{Amount, Capture, Paypal, with_json};
use crate::{
    accounts::Micros,
    payments::{
        ProviderError, WebhookError,
        order::ProviderStatus,
        provider::{EventContent, WebhookEvent, validate_event},
        store::OrderRef,
    },
};

#[derive(Debug, Deserialize)]
struct PaypalEvent {
    id: String,
    event_type: String,
    #[serde(default)]
    resource: Value,
}

/// The signature's fields, from the headers.
#[derive(Debug, Clone, Copy, Serialize)]
struct TransmissionSignature<'a> {
    auth_algo: &'a str,
    cert_url: &'a str,
    transmission_id: &'a str,
    transmission_sig: &'a str,
    transmission_time: &'a str,
}

/// How long PayPal retries a webhook, plus a day.
const SENT_AGAIN: Micros = 4 * 24 * 60 * 60 * 1_000_000;

impl<'a> TransmissionSignature<'a> {
    fn from_headers(headers: &'a HeaderMap) -> Option<Self> {
        let field = |name| headers.get(name).and_then(|value| value.to_str().ok());
        Some(Self {
            auth_algo: field("paypal-auth-algo")?,
            cert_url: field("paypal-cert-url")?,
            transmission_id: field("paypal-transmission-id")?,
            transmission_sig: field("paypal-transmission-sig")?,
            transmission_time: field("paypal-transmission-time")?,
        })
    }

    /// Checks what can be checked without asking PayPal. `base`: the URL of PayPal's API.
    /// `ahead_max`: how far its clock may be ahead of ours.
    fn check(&self, base: &str, ahead_max: Micros, now: Micros) -> Result<(), &'static str> {
        let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
        let is_signature = (1..=1_024).contains(&self.transmission_sig.len())
            && self.transmission_sig.bytes().all(is_base64);
        let is_id = (1..=100).contains(&self.transmission_id.len());
        if self.auth_algo != "SHA256withRSA" || !is_signature || !is_id {
            return Err("its signature is not of PayPal's kind");
        }
        if !is_of_paypal(self.cert_url, base) {
            return Err("its certificate is not PayPal's");
        }
        let at = self.transmission_time.parse::<jiff::Timestamp>();
        let at = at.map_err(|_| "its signature has no time")?.as_microsecond();
        if at > now.saturating_add(ahead_max) || at < now.saturating_sub(SENT_AGAIN) {
            return Err("its signature is too old");
        }
        Ok(())
    }
}

/// Whether a certificate comes from PayPal: over TLS from its domain, or from the configured API
/// host.
fn is_of_paypal(certificate: &str, base: &str) -> bool {
    let Ok(url) = Url::parse(certificate) else { return false };
    let is_paypal = |host: &str| host == "paypal.com" || host.ends_with(".paypal.com");
    let is_there = url.scheme() == "https" && url.host_str().is_some_and(is_paypal);
    is_there || Url::parse(base).is_ok_and(|base| base.origin() == url.origin())
}

/// The verification request. The event is passed on byte by byte: its signature covers the bytes.
#[derive(Debug, Serialize)]
struct VerifyRequest<'a> {
    #[serde(flatten)]
    signature: TransmissionSignature<'a>,
    webhook_id: &'a str,
    webhook_event: &'a RawValue,
}

#[derive(Debug, Deserialize)]
struct ApprovedOrder {
    id: String,
    #[serde(default)]
    purchase_units: Vec<super::PurchaseUnit>,
}

#[derive(Debug, Deserialize)]
struct RefundedCapture {
    custom_id: Option<String>,
    seller_payable_breakdown: Option<RefundBreakdown>,
    #[serde(default)]
    links: Vec<Link>,
}

#[derive(Debug, Deserialize)]
struct RefundBreakdown {
    total_refunded_amount: Option<Amount>,
}

#[derive(Debug, Deserialize)]
struct Link {
    rel: String,
    href: String,
}

impl Paypal {
    pub(in crate::payments) fn read_webhook(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Micros,
    ) -> Result<WebhookEvent, WebhookError> {
        let forged = |why| WebhookError::Forged { why };
        let event: PaypalEvent =
            serde_json::from_slice(body).map_err(|_| forged("it is no event"))?;
        let read = read(&event.event_type, event.resource);
        let (order_ref, content) = read.ok_or_else(|| forged("it is no event"))?;
        // Events without effect need no signature.
        if content != EventContent::Nothing {
            let signature = TransmissionSignature::from_headers(headers)
                .ok_or_else(|| forged("it is not signed"))?;
            signature.check(self.client.base(), self.age_max, now).map_err(forged)?;
        }
        validate_event(WebhookEvent { id: event.id, kind: event.event_type, order_ref, content })
    }

    /// Asks PayPal whether the webhook is genuine.
    pub(in crate::payments) async fn check(
        &self,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<(), WebhookError> {
        let forged = |why| WebhookError::Forged { why };
        let signature = TransmissionSignature::from_headers(headers)
            .ok_or_else(|| forged("it is not signed"))?;
        let verify_request = VerifyRequest {
            signature,
            webhook_id: &self.webhook,
            webhook_event: serde_json::from_slice(body).map_err(|_| forged("it is no event"))?,
        };
        let verify_request = serde_json::to_string(&verify_request).expect("text is JSON");
        if self.is_own(verify_request).await? {
            return Ok(());
        }
        Err(forged("its signature is not PayPal's"))
    }

    async fn is_own(&self, verify_request: String) -> Result<bool, ProviderError> {
        let _turn = self.checks.acquire().await;
        let request = self.client.post("/v1/notifications/verify-webhook-signature");
        let response = self.send(with_json(request, verify_request)).await?;
        // PayPal refuses a malformed request, which is the sender's fault.
        if matches!(response.status.as_u16(), 400 | 422) {
            return Ok(false);
        }
        Ok(response.done(super::CODE)?["verification_status"] == "SUCCESS")
    }
}

/// The order it is about and its content; `None` if its fields do not fit its kind.
fn read(kind: &str, resource: Value) -> Option<(OrderRef, EventContent)> {
    match kind {
        "CHECKOUT.ORDER.APPROVED" => approved(resource),
        "PAYMENT.CAPTURE.COMPLETED" | "PAYMENT.CAPTURE.DENIED" | "PAYMENT.CAPTURE.DECLINED" => {
            captured(resource)
        }
        "PAYMENT.CAPTURE.REFUNDED" | "PAYMENT.CAPTURE.REVERSED" => refunded(resource),
        _ => Some((OrderRef::default(), EventContent::Nothing)),
    }
}

fn approved(resource: Value) -> Option<(OrderRef, EventContent)> {
    let ApprovedOrder { id, purchase_units } = serde_json::from_value(resource).ok()?;
    let order = purchase_units.into_iter().find_map(|unit| unit.custom_id);
    Some((OrderRef { order, checkout: Some(id), payment: None }, EventContent::FetchStatus))
}

fn captured(resource: Value) -> Option<(OrderRef, EventContent)> {
    let capture: Capture = serde_json::from_value(resource).ok()?;
    let provider_status = capture.provider_status().ok()?;
    let related = capture.supplementary_data.and_then(|it| it.related_ids);
    let order_ref = OrderRef {
        order: capture.custom_id,
        checkout: related.and_then(|it| it.order_id),
        payment: Some(capture.id),
    };
    Some((order_ref, EventContent::Status(provider_status)))
}

/// A refund contains its own amount, and only sometimes the total.
fn refunded(resource: Value) -> Option<(OrderRef, EventContent)> {
    let RefundedCapture { custom_id, seller_payable_breakdown, links } =
        serde_json::from_value(resource).ok()?;
    let up = links.into_iter().find(|link| link.rel == "up");
    let payment = up.and_then(|link| Some(link.href.rsplit('/').next()?.to_owned()));
    let order_ref = OrderRef { order: custom_id, checkout: None, payment: payment.clone() };
    let all = seller_payable_breakdown.and_then(|it| it.total_refunded_amount);
    Some(match all {
        Some(all) => {
            let refunded = Some(all.into());
            (
                order_ref,
                EventContent::Status(ProviderStatus {
                    payment,
                    refunded,
                    ..ProviderStatus::default()
                }),
            )
        }
        None => (order_ref, EventContent::FetchStatus),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = 1_790_000_000_000_000;

    fn check(change: impl FnOnce(&mut TransmissionSignature<'_>), expected: Result<(), &str>) {
        let time = jiff::Timestamp::from_microsecond(NOW).unwrap().to_string();
        let mut signature = TransmissionSignature {
            auth_algo: "SHA256withRSA",
            cert_url: "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-df8cd2d5",
            transmission_id: "505fcad0-acfc-11e6-8e5f-13662a490b19",
            transmission_sig: "ks91bo8HXCMsQBrXKOyOrs46KJkTVZRA7Az2oArXKNNaSxnMHENKIBUv4yOolVplww==",
            transmission_time: &time,
        };
        change(&mut signature);
        let checked = signature.check("http://127.0.0.1:9/", 300_000_000, NOW);
        assert_eq!(checked, expected, "{signature:?}");
    }

    #[test]
    fn implausible_signature_is_refused_without_a_request_to_paypal() {
        check(|_| {}, Ok(()));
        check(|it| it.cert_url = "https://api.sandbox.paypal.com/x", Ok(()));
        check(|it| it.cert_url = "http://127.0.0.1:9/certificate", Ok(()));
        for cert_url in [
            "http://api.paypal.com/x",
            "https://paypal.com.evil.test/x",
            "https://evilpaypal.com/x",
            "http://127.0.0.1:10/x",
            "x",
            "",
        ] {
            check(|it| it.cert_url = cert_url, Err("its certificate is not PayPal's"));
        }
        let kind = Err("its signature is not of PayPal's kind");
        check(|it| it.auth_algo = "none", kind);
        check(|it| it.transmission_sig = "", kind);
        check(|it| it.transmission_sig = "no base64", kind);
        check(|it| it.transmission_id = "", kind);
        check(|it| it.transmission_time = "x", Err("its signature has no time"));
        let day = 24 * 60 * 60 * 1_000_000;
        for (at, expected) in [
            (NOW + 200_000_000, Ok(())),
            (NOW + 400_000_000, Err("its signature is too old")),
            (NOW - 3 * day, Ok(())),
            (NOW - 5 * day, Err("its signature is too old")),
        ] {
            let time = jiff::Timestamp::from_microsecond(at).unwrap().to_string();
            let time: &'static str = time.leak();
            check(|it| it.transmission_time = time, expected);
        }
    }
}
