//! The sandbox as Stripe: checkout sessions, refunds, signed events.

use std::collections::HashMap;

use axum::{
    Form, Json,
    extract::{Path, Query, State},
    http::{HeaderMap, HeaderValue, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse, Response},
};
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::{
    Delivery, RandomError, Sandbox,
    state::{Checkout, CheckoutState, Refusal},
};
use crate::{
    clock::wall,
    payments::{PaymentMethod, random_id, stripe::signature},
    products::Price,
};

type Fields = HashMap<String, String>;

pub(super) async fn open(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    Form(fields): Form<Fields>,
) -> Result<Response, RandomError> {
    if let Some(refused) = refused(&sandbox, &headers) {
        return Ok(refused);
    }
    let key = header(&headers, "idempotency-key");
    if let Some(answer) = sandbox.state().answers.get(&key) {
        return Ok(Json(answer.clone()).into_response());
    }
    let Some(checkout) = checkout(&fields, format!("cs_test_{}", random_id()?)) else {
        return Ok(error(StatusCode::BAD_REQUEST, "parameter_missing"));
    };
    let answer = session(&sandbox, &checkout, false);
    let mut state = sandbox.state();
    state.checkouts.insert(&checkout.id.clone(), checkout);
    state.answers.insert(&key, answer.clone());
    Ok(Json(answer).into_response())
}

pub(super) async fn show(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    Path(id): Path<String>,
    Query(query): Query<Fields>,
) -> Response {
    if let Some(refused) = refused(&sandbox, &headers) {
        return refused;
    }
    let expand = query.contains_key("expand[]");
    match sandbox.state().checkouts.get(&id).filter(|it| it.method == PaymentMethod::Card) {
        Some(checkout) => Json(session(&sandbox, checkout, expand)).into_response(),
        None => error(StatusCode::NOT_FOUND, "resource_missing"),
    }
}

pub(super) async fn expire(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Response, RandomError> {
    if let Some(refused) = refused(&sandbox, &headers) {
        return Ok(refused);
    }
    let closed = {
        let mut state = sandbox.state();
        let checkout = state.checkout(&id);
        checkout.and_then(|checkout| checkout.close().map(|()| checkout.clone()))
    };
    Ok(match closed {
        Ok(checkout) => {
            let session = session(&sandbox, &checkout, false);
            sandbox.deliver(event(&sandbox, "checkout.session.expired", &session)?);
            Json(session).into_response()
        }
        Err(Refusal::Unknown) => error(StatusCode::NOT_FOUND, "resource_missing"),
        Err(_) => error(StatusCode::BAD_REQUEST, "resource_ended"),
    })
}

pub(super) async fn refund(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    Form(fields): Form<Fields>,
) -> Result<Response, RandomError> {
    if let Some(refused) = refused(&sandbox, &headers) {
        return Ok(refused);
    }
    let key = header(&headers, "idempotency-key");
    if let Some(answer) = sandbox.state().answers.get(&key) {
        return Ok(Json(answer.clone()).into_response());
    }
    let field = |name| fields.get(name).map(String::as_str).unwrap_or_default();
    let amount = Decimal::new(field("amount").parse().unwrap_or_default(), 2);
    Ok(match refund_of(&sandbox, field("payment_intent"), amount)? {
        Ok(id) => {
            let amount = cents(amount);
            let answer =
                json!({"id": id, "object": "refund", "amount": amount, "status": "succeeded"});
            sandbox.state().answers.insert(&key, answer.clone());
            Json(answer).into_response()
        }
        Err(Refusal::Unknown) => error(StatusCode::NOT_FOUND, "resource_missing"),
        Err(_) => error(StatusCode::BAD_REQUEST, "charge_already_refunded"),
    })
}

/// Refunds part of a payment, and notifies the hub.
pub(super) fn refund_of(
    sandbox: &Sandbox,
    payment: &str,
    amount: Decimal,
) -> Result<Result<String, Refusal>, RandomError> {
    let id = format!("re_{}", random_id()?);
    let refunded = {
        let mut state = sandbox.state();
        let checkout = state.paid_as(payment);
        checkout.and_then(|it| it.refund(id.clone(), amount).map(|()| it.clone()))
    };
    Ok(match refunded {
        Ok(checkout) => {
            sandbox.deliver(event(sandbox, "charge.refunded", &charge(&checkout))?);
            Ok(id)
        }
        Err(refusal) => Err(refusal),
    })
}

/// The customer pays.
pub(super) fn pay(sandbox: &Sandbox, id: &str) -> Result<Result<(), Refusal>, RandomError> {
    let payment = format!("pi_{}", random_id()?);
    let paid = {
        let mut state = sandbox.state();
        state.checkout(id).and_then(|it| it.agree(payment).map(|()| it.clone()))
    };
    Ok(match paid {
        Ok(checkout) => {
            let session = session(sandbox, &checkout, false);
            sandbox.deliver(event(sandbox, "checkout.session.completed", &session)?);
            Ok(())
        }
        Err(refusal) => Err(refusal),
    })
}

fn checkout(fields: &Fields, id: String) -> Option<Checkout> {
    let number = |name: &str| fields.get(name)?.parse::<i64>().ok();
    let unit = number("line_items[0][price_data][unit_amount]")?;
    let amount = unit.checked_mul(number("line_items[0][quantity]")?)?;
    let currency = fields.get("line_items[0][price_data][currency]")?.to_ascii_uppercase();
    Some(Checkout {
        id,
        method: PaymentMethod::Card,
        order: fields.get("client_reference_id")?.clone(),
        title: format!(
            "{} × {}",
            fields.get("line_items[0][price_data][product_data][name]")?,
            fields.get("line_items[0][quantity]")?
        ),
        price: Price { amount: Decimal::new(amount, 2), currency },
        back: fields.get("success_url")?.clone(),
        cancel: fields.get("cancel_url")?.clone(),
        state: CheckoutState::Open,
        payment: None,
        refunds: Vec::new(),
    })
}

fn session(sandbox: &Sandbox, of: &Checkout, expand: bool) -> Value {
    let (status, payment_status) = match of.state {
        CheckoutState::Open | CheckoutState::Approved => ("open", "unpaid"),
        CheckoutState::Paid => ("complete", "paid"),
        CheckoutState::Closed => ("expired", "unpaid"),
    };
    let payment = match &of.payment {
        Some(payment) if expand => json!({"id": payment, "latest_charge": charge(of)}),
        payment => json!(payment),
    };
    json!({
        "id": of.id,
        "object": "checkout.session",
        "url": format!("{}/pay/{}", sandbox.shared.url, of.id),
        "mode": "payment",
        "status": status,
        "payment_status": payment_status,
        "amount_total": cents(of.price.amount),
        "currency": of.price.currency.to_ascii_lowercase(),
        "client_reference_id": of.order,
        "metadata": {"order": of.order},
        "payment_intent": payment,
    })
}

fn charge(of: &Checkout) -> Value {
    json!({
        "id": of.payment.as_deref().unwrap_or_default().replacen("pi_", "ch_", 1),
        "object": "charge",
        "amount": cents(of.price.amount),
        "amount_refunded": cents(of.refunded()),
        "currency": of.price.currency.to_ascii_lowercase(),
        "payment_intent": of.payment,
        "metadata": {"order": of.order},
    })
}

fn event(sandbox: &Sandbox, kind: &str, object: &Value) -> Result<Delivery, RandomError> {
    let seconds = wall() / 1_000_000;
    let id = format!("evt_{}", random_id()?);
    let body = json!({
        "id": id, "object": "event", "type": kind, "created": seconds, "data": {"object": object},
    });
    let body = body.to_string().into_bytes();
    let secret = sandbox.shared.secrets.stripe_signing.as_bytes();
    let signature = HeaderValue::try_from(signature::header(seconds, &body, secret));
    let signature = signature.expect("digits can stand in a header");
    let headers = HeaderMap::from_iter([
        ("stripe-signature".parse().expect("a name of a header"), signature),
        (axum::http::header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
    ]);
    Ok(Delivery { method: PaymentMethod::Card, headers, body })
}

fn refused(sandbox: &Sandbox, headers: &HeaderMap) -> Option<Response> {
    let key = header(headers, AUTHORIZATION.as_str());
    let known = key.strip_prefix("Bearer ") == Some(&sandbox.shared.secrets.stripe_key);
    (!known).then(|| error(StatusCode::UNAUTHORIZED, "api_key_invalid"))
}

fn error(status: StatusCode, code: &str) -> Response {
    (status, Json(json!({"error": {"type": "invalid_request_error", "code": code}})))
        .into_response()
}

pub(super) fn header(headers: &HeaderMap, name: &str) -> String {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

fn cents(amount: Decimal) -> i64 {
    super::super::stripe::hundredths(amount)
}
