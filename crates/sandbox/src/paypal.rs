//! The sandbox as PayPal: tokens, orders, captures, refunds, events and their verification.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, Request, State},
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    middleware::Next,
    response::{IntoResponse, Response},
};
use base::clock::wall;
use base64::{Engine, prelude::BASE64_STANDARD};
use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    Delivery, Provider, Sandbox, SandboxAccess, has_bearer_token, header, new_id, signature,
    state::{Checkout, CheckoutState, Price, Refusal},
};

/// The header with the idempotency key of a request.
const KEY: &str = "paypal-request-id";
/// Seconds.
const TOKEN_LASTS: u32 = 9 * 60 * 60;

/// A request to verify a webhook.
#[derive(Debug, Deserialize)]
struct SandboxVerifyRequest<'a> {
    transmission_id: &'a str,
    transmission_sig: &'a str,
    transmission_time: &'a str,
    webhook_id: &'a str,
    #[serde(borrow)]
    webhook_event: &'a RawValue,
}

/// An error as PayPal reports it.
#[derive(Debug)]
pub(super) struct PaypalError {
    status: StatusCode,
    issue: &'static str,
}

pub(super) async fn token(State(sandbox): State<Sandbox>, headers: HeaderMap) -> Response {
    let SandboxAccess { paypal_client, paypal_secret, paypal_token, .. } = sandbox.access();
    let pair = format!("{paypal_client}:{paypal_secret}");
    let expected = format!("Basic {}", BASE64_STANDARD.encode(pair));
    if header(&headers, AUTHORIZATION.as_str()) != expected {
        return (StatusCode::UNAUTHORIZED, Json(json!({"error": "invalid_client"})))
            .into_response();
    }
    Json(json!({"access_token": paypal_token, "token_type": "Bearer", "expires_in": TOKEN_LASTS}))
        .into_response()
}

/// Refuses requests without a token.
pub(super) async fn authorize(
    State(sandbox): State<Sandbox>,
    request: Request,
    next: Next,
) -> Result<Response, PaypalError> {
    if has_bearer_token(request.headers(), &sandbox.access().paypal_token) {
        return Ok(next.run(request).await);
    }
    Err(PaypalError { status: StatusCode::UNAUTHORIZED, issue: "INVALID_TOKEN" })
}

pub(super) async fn open(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Result<Json<Value>, PaypalError> {
    let key = header(&headers, KEY);
    if let Some(answer) = sandbox.state().earlier_answer(key) {
        return Ok(Json(answer));
    }
    let checkout = checkout(&body, resource_id()?).ok_or(Refusal::Malformed)?;
    let answer = order(&sandbox, &checkout);
    sandbox.state().open(checkout, key, &answer);
    Ok(Json(answer))
}

pub(super) async fn show(
    State(sandbox): State<Sandbox>,
    Path(id): Path<String>,
) -> Result<Json<Value>, PaypalError> {
    let state = sandbox.state();
    let found = state.checkout(&id).filter(|it| it.provider == Provider::Paypal);
    Ok(Json(order(&sandbox, found.ok_or(Refusal::Unknown)?)))
}

/// Returns the same response for the same key, and a refusal for another one.
pub(super) async fn capture(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Response, PaypalError> {
    let key = header(&headers, KEY);
    let payment = resource_id()?;
    let checkout = {
        // Both under one lock, so that concurrent requests with the same key get the same response.
        let mut state = sandbox.state();
        if let Some(answer) = state.earlier_answer(key) {
            return Ok(Json(answer).into_response());
        }
        let checkout = state.change(&id, |it| it.capture(payment))?;
        state.remember(key, order(&sandbox, &checkout));
        checkout
    };
    let resource = captured_part(&checkout);
    sandbox.deliver(event(&sandbox, "PAYMENT.CAPTURE.COMPLETED", &resource)?);
    Ok((StatusCode::CREATED, Json(order(&sandbox, &checkout))).into_response())
}

pub(super) async fn refund(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    Path(payment): Path<String>,
    Json(body): Json<Value>,
) -> Result<Response, PaypalError> {
    let key = header(&headers, KEY);
    if let Some(answer) = sandbox.state().earlier_answer(key) {
        return Ok(Json(answer).into_response());
    }
    let amount = body["amount"]["value"].as_str().and_then(|value| value.parse().ok());
    let id = refund_of(&sandbox, &payment, amount.unwrap_or_default())?;
    let answer = json!({"id": id, "status": "COMPLETED"});
    sandbox.state().remember(key, answer.clone());
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}

/// Refunds part of a payment, and notifies the hub.
pub(super) fn refund_of(
    sandbox: &Sandbox,
    payment: &str,
    amount: Decimal,
) -> Result<String, Refusal> {
    let id = resource_id()?;
    let checkout = sandbox.state().refund(payment, &id, amount)?;
    let resource = refunded_part(sandbox, &checkout, &id, amount);
    sandbox.deliver(event(sandbox, "PAYMENT.CAPTURE.REFUNDED", &resource)?);
    Ok(id)
}

/// The customer approves.
pub(super) fn approve(sandbox: &Sandbox, id: &str) -> Result<(), Refusal> {
    let checkout = sandbox.state().change(id, |it| it.agree(String::new()))?;
    let resource = order(sandbox, &checkout);
    sandbox.deliver(event(sandbox, "CHECKOUT.ORDER.APPROVED", &resource)?);
    Ok(())
}

pub(super) async fn verify(
    State(sandbox): State<Sandbox>,
    body: Bytes,
) -> Result<Json<Value>, PaypalError> {
    let request: SandboxVerifyRequest<'_> = serde_json::from_slice(&body)
        .map_err(|_| PaypalError { status: StatusCode::BAD_REQUEST, issue: "VALIDATION_ERROR" })?;
    let SandboxVerifyRequest { transmission_id, transmission_time, webhook_id, .. } = request;
    let text = format!("{transmission_id}|{transmission_time}|{webhook_id}");
    let secret = sandbox.access().paypal_signing.as_bytes();
    let expected = signature::sum(secret, &text, request.webhook_event.get().as_bytes());
    let is_own =
        expected == request.transmission_sig && webhook_id == sandbox.access().paypal_webhook;
    let status = if is_own { "SUCCESS" } else { "FAILURE" };
    Ok(Json(json!({"verification_status": status})))
}

fn checkout(body: &Value, id: String) -> Option<Checkout> {
    let unit = &body["purchase_units"][0];
    let return_urls = &body["payment_source"]["paypal"]["experience_context"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(Checkout {
        id,
        provider: Provider::Paypal,
        order: text(&unit["custom_id"])?,
        title: text(&unit["description"])?,
        price: Price {
            amount: unit["amount"]["value"].as_str()?.parse().ok()?,
            currency: text(&unit["amount"]["currency_code"])?,
        },
        back: text(&return_urls["return_url"])?,
        cancel: text(&return_urls["cancel_url"])?,
        state: CheckoutState::Open,
        payment: None,
        refunds: Vec::new(),
        lost: Decimal::ZERO,
    })
}

fn order(sandbox: &Sandbox, checkout: &Checkout) -> Value {
    let status = match checkout.state {
        CheckoutState::Open => "PAYER_ACTION_REQUIRED",
        CheckoutState::Approved => "APPROVED",
        CheckoutState::Paid => "COMPLETED",
        CheckoutState::Closed => "VOIDED",
    };
    let captures = checkout.payment.iter().map(|_| captured_part(checkout));
    let refunds = checkout.refunds.iter().map(
        |(id, amount)| json!({"id": id, "status": "COMPLETED", "amount": money(*amount, checkout)}),
    );
    json!({
        "id": checkout.id,
        "status": status,
        "purchase_units": [{
            "reference_id": "default",
            "custom_id": checkout.order,
            "amount": money(checkout.price.amount, checkout),
            "payments": {
                "captures": captures.collect::<Vec<_>>(),
                "refunds": refunds.collect::<Vec<_>>(),
            },
        }],
        "links": [
            {"rel": "payer-action", "href": format!("{}/pay/{}", sandbox.access().url, checkout.id)},
        ],
    })
}

fn captured_part(checkout: &Checkout) -> Value {
    let status = match checkout.refunded() {
        none if none.is_zero() => "COMPLETED",
        all if all == checkout.price.amount => "REFUNDED",
        _ => "PARTIALLY_REFUNDED",
    };
    json!({
        "id": checkout.payment,
        "status": status,
        "amount": money(checkout.price.amount, checkout),
        "custom_id": checkout.order,
        "supplementary_data": {"related_ids": {"order_id": checkout.id}},
    })
}

fn refunded_part(sandbox: &Sandbox, checkout: &Checkout, id: &str, amount: Decimal) -> Value {
    let payment = checkout.payment.as_deref().unwrap_or_default();
    json!({
        "id": id,
        "status": "COMPLETED",
        "amount": money(amount, checkout),
        "custom_id": checkout.order,
        "seller_payable_breakdown": {"total_refunded_amount": money(checkout.refunded(), checkout)},
        "links": [{
            "rel": "up",
            "href": format!("{}/v2/payments/captures/{payment}", sandbox.access().url),
        }],
    })
}

fn money(amount: Decimal, checkout: &Checkout) -> Value {
    json!({"value": format!("{amount:.2}"), "currency_code": checkout.price.currency})
}

fn event(sandbox: &Sandbox, kind: &str, resource: &Value) -> Result<Delivery, Refusal> {
    let access = sandbox.access();
    let body = json!({"id": format!("WH-{}", new_id()?), "event_type": kind, "resource": resource});
    let (body, id) = (body.to_string(), new_id()?);
    let time = jiff::Timestamp::from_microsecond(wall()).unwrap_or_default().to_string();
    let text = format!("{id}|{time}|{}", access.paypal_webhook);
    let sum = signature::sum(access.paypal_signing.as_bytes(), &text, body.as_bytes());
    let headers = [
        ("paypal-auth-algo", "SHA256withRSA"),
        ("paypal-cert-url", &access.url),
        ("paypal-transmission-id", &id),
        ("paypal-transmission-sig", &sum),
        ("paypal-transmission-time", &time),
    ];
    Ok(Delivery::new(Provider::Paypal, &headers, body))
}

/// An id in the form of PayPal's orders, captures and refunds.
fn resource_id() -> Result<String, Refusal> {
    Ok(new_id()?.to_ascii_uppercase())
}

impl From<Refusal> for PaypalError {
    fn from(refusal: Refusal) -> Self {
        let (status, issue) = match refusal {
            Refusal::Malformed => (StatusCode::BAD_REQUEST, "MISSING_REQUIRED_PARAMETER"),
            Refusal::Unknown => (StatusCode::NOT_FOUND, "INVALID_RESOURCE_ID"),
            Refusal::NotApproved | Refusal::Ended => {
                (StatusCode::UNPROCESSABLE_ENTITY, "ORDER_NOT_APPROVED")
            }
            Refusal::AlreadyCaptured => {
                (StatusCode::UNPROCESSABLE_ENTITY, "ORDER_ALREADY_CAPTURED")
            }
            Refusal::TooMuch => (StatusCode::UNPROCESSABLE_ENTITY, "REFUND_AMOUNT_EXCEEDED"),
            Refusal::NoRandomBytes => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_SERVER_ERROR"),
        };
        Self { status, issue }
    }
}

impl IntoResponse for PaypalError {
    fn into_response(self) -> Response {
        (self.status, Json(json!({"details": [{"issue": self.issue}]}))).into_response()
    }
}
