//! The sandbox as PayPal: tokens, orders, captures, refunds, events and their verification.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode,
        header::{AUTHORIZATION, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    Delivery, RandomError, Sandbox,
    state::{Checkout, CheckoutState, Refusal},
    stripe::header,
};
use crate::{
    clock::wall,
    payments::{PaymentMethod, random_id, stripe::signature},
    products::Price,
};

/// Seconds.
const TOKEN_LASTS: u32 = 9 * 60 * 60;

/// A request to verify a webhook.
#[derive(Debug, Deserialize)]
struct VerifyRequest<'a> {
    transmission_id: &'a str,
    transmission_sig: &'a str,
    transmission_time: &'a str,
    webhook_id: &'a str,
    #[serde(borrow)]
    webhook_event: &'a RawValue,
}

pub(super) async fn token(State(sandbox): State<Sandbox>, headers: HeaderMap) -> Response {
    let secrets = &sandbox.shared.secrets;
    let pair = format!("{}:{}", secrets.paypal_client, secrets.paypal_secret);
    let expected = format!("Basic {}", BASE64_STANDARD.encode(pair));
    if header(&headers, AUTHORIZATION.as_str()) != expected {
        return (StatusCode::UNAUTHORIZED, Json(json!({"error": "invalid_client"})))
            .into_response();
    }
    let token = &secrets.paypal_token;
    Json(json!({"access_token": token, "token_type": "Bearer", "expires_in": TOKEN_LASTS}))
        .into_response()
}

pub(super) async fn open(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Result<Response, RandomError> {
    if let Some(refused) = refused(&sandbox, &headers) {
        return Ok(refused);
    }
    let key = header(&headers, "paypal-request-id");
    if let Some(answer) = sandbox.state().answers.get(&key) {
        return Ok(Json(answer.clone()).into_response());
    }
    let Some(checkout) = checkout(&body, random_id()?.to_ascii_uppercase()) else {
        return Ok(error(StatusCode::BAD_REQUEST, "MISSING_REQUIRED_PARAMETER"));
    };
    let answer = order(&sandbox, &checkout);
    let mut state = sandbox.state();
    state.checkouts.insert(&checkout.id.clone(), checkout);
    state.answers.insert(&key, answer.clone());
    Ok(Json(answer).into_response())
}

pub(super) async fn show(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Response {
    if let Some(refused) = refused(&sandbox, &headers) {
        return refused;
    }
    match sandbox.state().checkouts.get(&id).filter(|it| it.method == PaymentMethod::Paypal) {
        Some(checkout) => Json(order(&sandbox, checkout)).into_response(),
        None => error(StatusCode::NOT_FOUND, "INVALID_RESOURCE_ID"),
    }
}

/// Returns the same response for the same key, and a refusal for another one.
pub(super) async fn capture(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Response, RandomError> {
    if let Some(refused) = refused(&sandbox, &headers) {
        return Ok(refused);
    }
    let key = header(&headers, "paypal-request-id");
    let payment = random_id()?.to_ascii_uppercase();
    let captured = {
        let mut state = sandbox.state();
        if let Some(answer) = state.answers.get(&key) {
            return Ok(Json(answer.clone()).into_response());
        }
        let captured = state.checkout(&id).and_then(|it| it.capture(payment).map(|()| it.clone()));
        if let Ok(checkout) = &captured {
            state.answers.insert(&key, order(&sandbox, checkout));
        }
        captured
    };
    Ok(match captured {
        Ok(checkout) => {
            let resource = captured_part(&checkout);
            sandbox.deliver(event(&sandbox, "PAYMENT.CAPTURE.COMPLETED", &resource)?);
            (StatusCode::CREATED, Json(order(&sandbox, &checkout))).into_response()
        }
        Err(Refusal::Unknown) => error(StatusCode::NOT_FOUND, "INVALID_RESOURCE_ID"),
        Err(Refusal::AlreadyCaptured) => {
            error(StatusCode::UNPROCESSABLE_ENTITY, "ORDER_ALREADY_CAPTURED")
        }
        Err(_) => error(StatusCode::UNPROCESSABLE_ENTITY, "ORDER_NOT_APPROVED"),
    })
}

pub(super) async fn refund(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    Path(payment): Path<String>,
    Json(body): Json<Value>,
) -> Result<Response, RandomError> {
    if let Some(refused) = refused(&sandbox, &headers) {
        return Ok(refused);
    }
    let key = header(&headers, "paypal-request-id");
    if let Some(answer) = sandbox.state().answers.get(&key) {
        return Ok(Json(answer.clone()).into_response());
    }
    let amount = body["amount"]["value"].as_str().and_then(|value| value.parse().ok());
    Ok(match refund_of(&sandbox, &payment, amount.unwrap_or_default())? {
        Ok(id) => {
            let answer = json!({"id": id, "status": "COMPLETED"});
            sandbox.state().answers.insert(&key, answer.clone());
            (StatusCode::CREATED, Json(answer)).into_response()
        }
        Err(Refusal::Unknown) => error(StatusCode::NOT_FOUND, "INVALID_RESOURCE_ID"),
        Err(_) => error(StatusCode::UNPROCESSABLE_ENTITY, "REFUND_AMOUNT_EXCEEDED"),
    })
}

/// Refunds part of a payment, and notifies the hub.
pub(super) fn refund_of(
    sandbox: &Sandbox,
    payment: &str,
    amount: Decimal,
) -> Result<Result<String, Refusal>, RandomError> {
    let id = random_id()?.to_ascii_uppercase();
    let refunded = {
        let mut state = sandbox.state();
        let checkout = state.paid_as(payment);
        checkout.and_then(|it| it.refund(id.clone(), amount).map(|()| it.clone()))
    };
    Ok(match refunded {
        Ok(checkout) => {
            let resource = refunded_part(sandbox, &checkout, &id, amount);
            sandbox.deliver(event(sandbox, "PAYMENT.CAPTURE.REFUNDED", &resource)?);
            Ok(id)
        }
        Err(refusal) => Err(refusal),
    })
}

/// The customer approves.
pub(super) fn approve(sandbox: &Sandbox, id: &str) -> Result<Result<(), Refusal>, RandomError> {
    let approved = {
        let mut state = sandbox.state();
        state.checkout(id).and_then(|it| it.agree(String::new()).map(|()| it.clone()))
    };
    Ok(match approved {
        Ok(checkout) => {
            let resource = order(sandbox, &checkout);
            sandbox.deliver(event(sandbox, "CHECKOUT.ORDER.APPROVED", &resource)?);
            Ok(())
        }
        Err(refusal) => Err(refusal),
    })
}

pub(super) async fn verify(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Some(refused) = refused(&sandbox, &headers) {
        return refused;
    }
    let Ok(verify_request) = serde_json::from_slice::<VerifyRequest<'_>>(&body) else {
        return error(StatusCode::BAD_REQUEST, "VALIDATION_ERROR");
    };
    let text = signed_text(&verify_request);
    let secret = sandbox.shared.secrets.paypal_signing.as_bytes();
    let own = signature::sum(secret, &text, verify_request.webhook_event.get().as_bytes());
    let is_own = own == verify_request.transmission_sig
        && verify_request.webhook_id == sandbox.shared.secrets.paypal_webhook;
    let status = if is_own { "SUCCESS" } else { "FAILURE" };
    Json(json!({"verification_status": status})).into_response()
}

fn signed_text(of: &VerifyRequest<'_>) -> String {
    format!("{}|{}|{}", of.transmission_id, of.transmission_time, of.webhook_id)
}

fn checkout(body: &Value, id: String) -> Option<Checkout> {
    let unit = &body["purchase_units"][0];
    let return_urls = &body["payment_source"]["paypal"]["experience_context"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(Checkout {
        id,
        method: PaymentMethod::Paypal,
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
    })
}

fn order(sandbox: &Sandbox, of: &Checkout) -> Value {
    let status = match of.state {
        CheckoutState::Open => "PAYER_ACTION_REQUIRED",
        CheckoutState::Approved => "APPROVED",
        CheckoutState::Paid => "COMPLETED",
        CheckoutState::Closed => "VOIDED",
    };
    let captures = of.payment.iter().map(|_| captured_part(of));
    let refunds = of
        .refunds
        .iter()
        .map(|(id, amount)| json!({"id": id, "status": "COMPLETED", "amount": money(*amount, of)}));
    json!({
        "id": of.id,
        "status": status,
        "purchase_units": [{
            "reference_id": "default",
            "custom_id": of.order,
            "amount": money(of.price.amount, of),
            "payments": {
                "captures": captures.collect::<Vec<_>>(),
                "refunds": refunds.collect::<Vec<_>>(),
            },
        }],
        "links": [
            {"rel": "payer-action", "href": format!("{}/pay/{}", sandbox.shared.url, of.id)},
        ],
    })
}

fn captured_part(of: &Checkout) -> Value {
    let status = match of.refunded() {
        none if none.is_zero() => "COMPLETED",
        all if all == of.price.amount => "REFUNDED",
        _ => "PARTIALLY_REFUNDED",
    };
    json!({
        "id": of.payment,
        "status": status,
        "amount": money(of.price.amount, of),
        "custom_id": of.order,
        "supplementary_data": {"related_ids": {"order_id": of.id}},
    })
}

fn refunded_part(sandbox: &Sandbox, of: &Checkout, id: &str, amount: Decimal) -> Value {
    let payment = of.payment.as_deref().unwrap_or_default();
    json!({
        "id": id,
        "status": "COMPLETED",
        "amount": money(amount, of),
        "custom_id": of.order,
        "seller_payable_breakdown": {"total_refunded_amount": money(of.refunded(), of)},
        "links": [{
            "rel": "up",
            "href": format!("{}/v2/payments/captures/{payment}", sandbox.shared.url),
        }],
    })
}

fn money(amount: Decimal, of: &Checkout) -> Value {
    json!({"value": format!("{amount:.2}"), "currency_code": of.price.currency})
}

fn event(sandbox: &Sandbox, kind: &str, resource: &Value) -> Result<Delivery, RandomError> {
    let secrets = &sandbox.shared.secrets;
    let body =
        json!({"id": format!("WH-{}", random_id()?), "event_type": kind, "resource": resource});
    let (body, id) = (body.to_string(), random_id()?);
    let time = jiff::Timestamp::from_microsecond(wall()).unwrap_or_default().to_string();
    let text = format!("{id}|{time}|{}", secrets.paypal_webhook);
    let sum = signature::sum(secrets.paypal_signing.as_bytes(), &text, body.as_bytes());
    let fields = [
        ("paypal-auth-algo", "SHA256withRSA"),
        ("paypal-cert-url", &sandbox.shared.url),
        ("paypal-transmission-id", &id),
        ("paypal-transmission-sig", &sum),
        ("paypal-transmission-time", &time),
        (CONTENT_TYPE.as_str(), "application/json"),
    ];
    let headers = fields.map(|(name, value)| {
        let name: HeaderName = name.parse().expect("a name of a header");
        (name, HeaderValue::try_from(value).expect("plain text can stand in a header"))
    });
    let headers = HeaderMap::from_iter(headers);
    Ok(Delivery { method: PaymentMethod::Paypal, headers, body: body.into_bytes() })
}

fn refused(sandbox: &Sandbox, headers: &HeaderMap) -> Option<Response> {
    let token = header(headers, AUTHORIZATION.as_str());
    let known = token.strip_prefix("Bearer ") == Some(&sandbox.shared.secrets.paypal_token);
    (!known).then(|| error(StatusCode::UNAUTHORIZED, "INVALID_TOKEN"))
}

fn error(status: StatusCode, issue: &str) -> Response {
    (status, Json(json!({"details": [{"issue": issue}]}))).into_response()
}
