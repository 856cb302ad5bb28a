//! The sandbox's pages: what is to be paid, and two buttons.

use askama::Template;
use axum::{
    Form,
    extract::{Path, State as From},
    http::{
        HeaderValue, StatusCode,
        header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
    },
    response::{Html, IntoResponse, Redirect, Response},
};
use serde::Deserialize;
use tracing::error;

use super::{
    NoRandom, Sandbox,
    book::{Checkout, Refusal, State},
    paypal, stripe,
};
use crate::{payments::Rail, products::Price};

/// Nothing but its own style. Forms are not bound to this place: what they are answered with leads back
/// to the hub.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";
/// Checkouts that are listed.
const LISTED_MAX: usize = 100;

#[derive(Debug, Template)]
#[template(path = "sandbox_pay.html")]
struct Page {
    id: String,
    rail: &'static str,
    title: String,
    price: String,
    state: &'static str,
    open: bool,
    /// What can be given back, if anything.
    left: Option<String>,
    back: String,
}

#[derive(Debug, Template)]
#[template(path = "sandbox_list.html")]
struct List {
    pages: Vec<Page>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Decision {
    action: String,
}

pub(super) async fn list(From(sandbox): From<Sandbox>) -> Response {
    let pages = sandbox.book().checkouts.latest(LISTED_MAX).map(page).collect();
    render(&List { pages })
}

pub(super) async fn show(From(sandbox): From<Sandbox>, Path(id): Path<String>) -> Response {
    let found = sandbox.book().checkouts.get(&id).map(page);
    found.map_or_else(not_found, |page| render(&page))
}

/// Pay, cancel or refund.
pub(super) async fn decide(
    From(sandbox): From<Sandbox>,
    Path(id): Path<String>,
    Form(Decision { action }): Form<Decision>,
) -> Result<Response, NoRandom> {
    let Some(checkout) = sandbox.book().checkouts.get(&id).cloned() else {
        return Ok(not_found());
    };
    Ok(match &*action {
        "pay" => match agree(&sandbox, &checkout)? {
            Ok(()) => Redirect::to(&back(&checkout)).into_response(),
            Err(_) => Redirect::to(&format!("/pay/{id}")).into_response(),
        },
        "cancel" => Redirect::to(&checkout.cancel).into_response(),
        "refund" => {
            // Two clicks give back once.
            refund(&sandbox, &checkout)?.ok();
            Redirect::to(&format!("/pay/{id}")).into_response()
        }
        _ => StatusCode::BAD_REQUEST.into_response(),
    })
}

pub(super) async fn style() -> impl IntoResponse {
    let css = HeaderValue::from_static("text/css; charset=utf-8");
    ([(CONTENT_TYPE, css)], include_str!("../../../web/sandbox.css"))
}

fn agree(sandbox: &Sandbox, checkout: &Checkout) -> Result<Result<(), Refusal>, NoRandom> {
    match checkout.rail {
        Rail::Card => stripe::pay(sandbox, &checkout.id),
        Rail::Paypal => paypal::approve(sandbox, &checkout.id),
    }
}

fn refund(sandbox: &Sandbox, checkout: &Checkout) -> Result<Result<String, Refusal>, NoRandom> {
    let payment = checkout.payment.as_deref().unwrap_or_default();
    match checkout.rail {
        Rail::Card => stripe::refund_of(sandbox, payment, checkout.left()),
        Rail::Paypal => paypal::refund_of(sandbox, payment, checkout.left()),
    }
}

/// As PayPal does, it says which order it was.
fn back(checkout: &Checkout) -> String {
    match checkout.rail {
        Rail::Card => checkout.back.clone(),
        Rail::Paypal => format!("{}?token={}&PayerID=SANDBOX", checkout.back, checkout.id),
    }
}

fn page(of: &Checkout) -> Page {
    let left = Price { amount: of.left(), currency: of.price.currency.clone() };
    Page {
        id: of.id.clone(),
        rail: of.rail.title(),
        title: of.title.clone(),
        price: of.price.to_string(),
        state: match of.state {
            State::Open => "open",
            State::Approved => "approved",
            State::Paid if left.amount.is_zero() => "refunded",
            State::Paid => "paid",
            State::Closed => "closed",
        },
        open: of.state == State::Open,
        left: (!left.amount.is_zero()).then(|| left.to_string()),
        back: back(of),
    }
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "There is no such checkout; the sandbox may have been started anew.")
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
            error!(%error, "a page of the sandbox could not be made");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
