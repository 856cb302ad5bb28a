//! The sandbox as Stripe: checkout sessions, refunds, signed events.

use std::collections::HashMap;

use axum::{
    Form, Json,
    extract::{Path, Query, Request, State},
    http::{HeaderMap, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};
use base::clock::wall;
use rust_decimal::{Decimal, prelude::ToPrimitive};
use serde_json::{Value, json};

use crate::{
    Delivery, Provider, Sandbox, has_bearer_token, header, new_id, signature,
    state::{Checkout, CheckoutState, Price, Refusal},
};

/// The header with the idempotency key of a request.
const KEY: &str = "idempotency-key";

type Fields = HashMap<String, String>;

/// An error as Stripe reports it.
#[derive(Debug)]
pub(super) struct StripeError {
    status: StatusCode,
    code: &'static str,
}

/// Refuses requests without the secret key.
pub(super) async fn authorize(
    State(sandbox): State<Sandbox>,
    request: Request,
    next: Next,
) -> Result<Response, StripeError> {
    if has_bearer_token(request.headers(), &sandbox.access().stripe_key) {
        return Ok(next.run(request).await);
    }
    Err(StripeError { status: StatusCode::UNAUTHORIZED, code: "api_key_invalid" })
}

pub(super) async fn open(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    Form(fields): Form<Fields>,
) -> Result<Json<Value>, StripeError> {
    let key = header(&headers, KEY);
    if let Some(answer) = sandbox.state().earlier_answer(key) {
        return Ok(Json(answer));
    }
    let id = format!("cs_test_{}", new_id()?);
    let checkout = checkout(&fields, id).ok_or(Refusal::Malformed)?;
    let answer = session(&sandbox, &checkout, false);
    sandbox.state().open(checkout, key, &answer);
    Ok(Json(answer))
}

pub(super) async fn show(
    State(sandbox): State<Sandbox>,
    Path(id): Path<String>,
    Query(query): Query<Fields>,
) -> Result<Json<Value>, StripeError> {
    let state = sandbox.state();
    let found = state.checkout(&id).filter(|it| it.provider == Provider::Stripe);
    let checkout = found.ok_or(Refusal::Unknown)?;
    Ok(Json(session(&sandbox, checkout, query.contains_key("expand[]"))))
}

pub(super) async fn expire(
    State(sandbox): State<Sandbox>,
    Path(id): Path<String>,
) -> Result<Json<Value>, StripeError> {
    let checkout = sandbox.state().change(&id, Checkout::close)?;
    let session = session(&sandbox, &checkout, false);
    sandbox.deliver(event(&sandbox, "checkout.session.expired", &session)?);
    Ok(Json(session))
}

pub(super) async fn refund(
    State(sandbox): State<Sandbox>,
    headers: HeaderMap,
    Form(fields): Form<Fields>,
) -> Result<Json<Value>, StripeError> {
    let key = header(&headers, KEY);
    if let Some(answer) = sandbox.state().earlier_answer(key) {
        return Ok(Json(answer));
    }
    let field = |name| fields.get(name).map(String::as_str).unwrap_or_default();
    let cents: i64 = field("amount").parse().unwrap_or_default();
    let id = refund_of(&sandbox, field("payment_intent"), Decimal::new(cents, 2))?;
    let answer = json!({"id": id, "object": "refund", "amount": cents, "status": "succeeded"});
    sandbox.state().remember(key, answer.clone());
    Ok(Json(answer))
}

/// Refunds part of a payment, and notifies the hub.
pub(super) fn refund_of(
    sandbox: &Sandbox,
    payment: &str,
    amount: Decimal,
) -> Result<String, Refusal> {
    let id = format!("re_{}", new_id()?);
    let checkout = sandbox.state().refund(payment, &id, amount)?;
    sandbox.deliver(event(sandbox, "charge.refunded", &charge(&checkout))?);
    Ok(id)
}

/// The customer disputes the payment at the bank, and the hub's side loses.
pub(super) fn lose_dispute(sandbox: &Sandbox, id: &str) -> Result<(), Refusal> {
    let checkout = sandbox.state().change(id, Checkout::lose)?;
    let dispute = json!({
        "id": format!("dp_{}", new_id()?),
        "object": "dispute",
        "amount": hundredths(checkout.lost),
        "currency": checkout.price.currency.to_ascii_lowercase(),
        "status": "lost",
        "payment_intent": checkout.payment,
    });
    sandbox.deliver(event(sandbox, "charge.dispute.closed", &dispute)?);
    Ok(())
}

/// The customer pays.
pub(super) fn pay(sandbox: &Sandbox, id: &str) -> Result<(), Refusal> {
    let payment = format!("pi_{}", new_id()?);
    let checkout = sandbox.state().change(id, |it| it.agree(payment))?;
    let session = session(sandbox, &checkout, false);
    sandbox.deliver(event(sandbox, "checkout.session.completed", &session)?);
    Ok(())
}

fn checkout(fields: &Fields, id: String) -> Option<Checkout> {
    let number = |name: &str| fields.get(name)?.parse::<i64>().ok();
    let unit = number("line_items[0][price_data][unit_amount]")?;
    let amount = unit.checked_mul(number("line_items[0][quantity]")?)?;
    let currency = fields.get("line_items[0][price_data][currency]")?.to_ascii_uppercase();
    Some(Checkout {
        id,
        provider: Provider::Stripe,
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
        lost: Decimal::ZERO,
    })
}

fn session(sandbox: &Sandbox, checkout: &Checkout, expand: bool) -> Value {
    let (status, payment_status) = match checkout.state {
        CheckoutState::Open | CheckoutState::Approved => ("open", "unpaid"),
        CheckoutState::Paid => ("complete", "paid"),
        CheckoutState::Closed => ("expired", "unpaid"),
    };
    let payment = match &checkout.payment {
        Some(payment) if expand => json!({"id": payment, "latest_charge": charge(checkout)}),
        payment => json!(payment),
    };
    json!({
        "id": checkout.id,
        "object": "checkout.session",
        "url": format!("{}/pay/{}", sandbox.access().url, checkout.id),
        "mode": "payment",
        "status": status,
        "payment_status": payment_status,
        "amount_total": hundredths(checkout.price.amount),
        "currency": checkout.price.currency.to_ascii_lowercase(),
        "client_reference_id": checkout.order,
        "metadata": {"order": checkout.order},
        "payment_intent": payment,
    })
}

fn hundredths(amount: Decimal) -> i64 {
    (amount * Decimal::ONE_HUNDRED).to_i64().unwrap_or(i64::MAX)
}

fn charge(checkout: &Checkout) -> Value {
    json!({
        "id": checkout.payment.as_deref().unwrap_or_default().replacen("pi_", "ch_", 1),
        "object": "charge",
        "amount": hundredths(checkout.price.amount),
        "amount_refunded": hundredths(checkout.refunded()),
        "currency": checkout.price.currency.to_ascii_lowercase(),
        "payment_intent": checkout.payment,
        "metadata": {"order": checkout.order},
    })
}

fn event(sandbox: &Sandbox, kind: &str, object: &Value) -> Result<Delivery, Refusal> {
    let seconds = wall() / 1_000_000;
    let id = format!("evt_{}", new_id()?);
    let body = json!({
        "id": id, "object": "event", "type": kind, "created": seconds, "data": {"object": object},
    });
    let body = body.to_string();
    let secret = sandbox.access().stripe_signing.as_bytes();
    let signature = signature::header(seconds, body.as_bytes(), secret);
    Ok(Delivery::new(Provider::Stripe, &[("stripe-signature", &signature)], body))
}

impl From<Refusal> for StripeError {
    fn from(refusal: Refusal) -> Self {
        let (status, code) = match refusal {
            Refusal::Malformed => (StatusCode::BAD_REQUEST, "parameter_missing"),
            Refusal::Unknown => (StatusCode::NOT_FOUND, "resource_missing"),
            Refusal::NotApproved | Refusal::AlreadyCaptured | Refusal::Ended => {
                (StatusCode::BAD_REQUEST, "resource_ended")
            }
            Refusal::TooMuch => (StatusCode::BAD_REQUEST, "charge_already_refunded"),
            Refusal::NoRandomBytes => (StatusCode::INTERNAL_SERVER_ERROR, "api_error"),
        };
        Self { status, code }
    }
}

impl IntoResponse for StripeError {
    fn into_response(self) -> Response {
        let error = json!({"type": "invalid_request_error", "code": self.code});
        (self.status, Json(json!({"error": error}))).into_response()
    }
}
