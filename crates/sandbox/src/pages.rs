//! The sandbox's pages: an order and two buttons.

use askama::Template;
use axum::{
    Form,
    extract::{Path, State},
    http::{
        HeaderValue, StatusCode,
        header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
    },
    response::{Html, IntoResponse, Redirect, Response},
};
use serde::Deserialize;
use tracing::error;

use crate::{
    Provider, Sandbox, paypal,
    state::{Checkout, CheckoutState, Price, Refusal},
    stripe,
};

/// Allows nothing but its own style. Forms are not restricted: they redirect to the hub.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";
/// Maximum checkouts in the list.
const LIST_MAX: usize = 100;

#[derive(Debug, Template)]
#[template(path = "pay.html")]
struct CheckoutPage {
    id: String,
    method: &'static str,
    title: String,
    price: String,
    state: &'static str,
    open: bool,
    /// The amount that can be refunded, if any.
    left: Option<String>,
    /// Whether the sandbox can play a dispute about it.
    is_disputable: bool,
    back: String,
}

#[derive(Debug, Template)]
#[template(path = "list.html")]
struct CheckoutList {
    pages: Vec<CheckoutPage>,
}

#[derive(Debug, Deserialize)]
pub(super) struct DecisionForm {
    action: String,
}

pub(super) async fn list(State(sandbox): State<Sandbox>) -> Response {
    let pages = sandbox.state().checkouts.iter().rev().take(LIST_MAX).map(page).collect();
    render(&CheckoutList { pages })
}

pub(super) async fn show(State(sandbox): State<Sandbox>, Path(id): Path<String>) -> Response {
    let found = sandbox.state().checkout(&id).map(page);
    found.map_or_else(not_found, |page| render(&page))
}

/// Pay, cancel, refund or dispute.
pub(super) async fn decide(
    State(sandbox): State<Sandbox>,
    Path(id): Path<String>,
    Form(DecisionForm { action }): Form<DecisionForm>,
) -> Response {
    let Some(checkout) = sandbox.state().checkout(&id).cloned() else {
        return not_found();
    };
    match &*action {
        "pay" => match agree(&sandbox, &checkout) {
            Ok(()) => Redirect::to(&back(&checkout)).into_response(),
            Err(_) => Redirect::to(&format!("/pay/{id}")).into_response(),
        },
        "cancel" => Redirect::to(&checkout.cancel).into_response(),
        "refund" => {
            // A second click refunds nothing more.
            refund(&sandbox, &checkout).ok();
            Redirect::to(&format!("/pay/{id}")).into_response()
        }
        "dispute" if checkout.provider == Provider::Stripe => {
            stripe::lose_dispute(&sandbox, &id).ok();
            Redirect::to(&format!("/pay/{id}")).into_response()
        }
        _ => StatusCode::BAD_REQUEST.into_response(),
    }
}

pub(super) async fn style() -> impl IntoResponse {
    let css = HeaderValue::from_static("text/css; charset=utf-8");
    ([(CONTENT_TYPE, css)], include_str!("../templates/sandbox.css"))
}

fn agree(sandbox: &Sandbox, checkout: &Checkout) -> Result<(), Refusal> {
    match checkout.provider {
        Provider::Stripe => stripe::pay(sandbox, &checkout.id),
        Provider::Paypal => paypal::approve(sandbox, &checkout.id),
    }
}

fn refund(sandbox: &Sandbox, checkout: &Checkout) -> Result<String, Refusal> {
    let payment = checkout.payment.as_deref().unwrap_or_default();
    match checkout.provider {
        Provider::Stripe => stripe::refund_of(sandbox, payment, checkout.left()),
        Provider::Paypal => paypal::refund_of(sandbox, payment, checkout.left()),
    }
}

/// Adds the order's id, as PayPal does.
fn back(checkout: &Checkout) -> String {
    match checkout.provider {
        Provider::Stripe => checkout.back.clone(),
        Provider::Paypal => format!("{}?token={}&PayerID=SANDBOX", checkout.back, checkout.id),
    }
}

fn page(checkout: &Checkout) -> CheckoutPage {
    let left = Price { amount: checkout.left(), currency: checkout.price.currency.clone() };
    CheckoutPage {
        id: checkout.id.clone(),
        method: if checkout.provider == Provider::Stripe { "Card" } else { "PayPal" },
        title: checkout.title.clone(),
        price: checkout.price.to_string(),
        state: match checkout.state {
            CheckoutState::Open => "open",
            CheckoutState::Approved => "approved",
            CheckoutState::Paid if left.amount.is_zero() => "refunded",
            CheckoutState::Paid => "paid",
            CheckoutState::Closed => "closed",
        },
        open: checkout.state == CheckoutState::Open,
        left: (!left.amount.is_zero()).then(|| left.to_string()),
        is_disputable: checkout.provider == Provider::Stripe,
        back: back(checkout),
    }
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "There is no such checkout; the sandbox may have been restarted.")
        .into_response()
}

fn render(template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => {
            let policy = [
                (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
                (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            ];
            (policy, Html(html)).into_response()
        }
        Err(error) => {
            error!(%error, "cannot render a page of the sandbox");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
