//! `/checkout/{order}/`: one order, the link to pay it, and the return from the provider. Another customer's
//! order looks like one that does not exist.

use askama::Template;
use axum::{
    extract::{FromRequestParts, Path},
    response::{IntoResponse, Response},
};
use hyper::{
    header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue},
    http::request::Parts,
};
use std::sync::Arc;

use super::{
    addons::{OrderRow, exact},
    error::{SiteError, see_other},
    form::SignedForm,
    moment::Moment,
    offer,
    page::Shell,
    visit::SignedIn,
};
use crate::{
    http::Shared,
    payments::{Order, OrderState, PaymentError, PaymentMethod, Receipt},
    products::Price,
};

#[derive(Debug, Template)]
#[template(path = "checkout.html")]
struct CheckoutPage<'a> {
    shell: Shell<'a>,
    title: &'static str,
    note: Option<&'static str>,
    tone: &'static str,
    order: OrderRow,
    days: u32,
    founder: bool,
    addon: &'static str,
    refunded: Option<String>,
    paid: Option<Moment>,
    /// Whether the receipt can be downloaded.
    has_receipt: bool,
    /// When the add-on currently ends.
    expiry: Option<Moment>,
    /// The provider's page, while the order is open.
    pay_url: Option<&'a str>,
    pay_words: &'static str,
}

/// The order's id in the path.
#[derive(Debug)]
pub(super) struct OrderId(String);

impl FromRequestParts<Arc<Shared>> for OrderId {
    type Rejection = SiteError;

    async fn from_request_parts(
        parts: &mut Parts,
        shared: &Arc<Shared>,
    ) -> Result<Self, SiteError> {
        let path = Path::<String>::from_request_parts(parts, shared).await;
        path.map(|Path(id)| Self(id)).map_err(|_| SiteError::NotFound)
    }
}

/// `/checkout/{order}/`
pub(super) async fn show(OrderId(id): OrderId, signed_in: SignedIn) -> Result<Response, SiteError> {
    let payments = &signed_in.visit.shared.parts.customers.payments;
    let order = payments.order(&id, signed_in.customer.account).await?;
    let (title, note) = match order.state() {
        OrderState::Open => ("Review your order", None),
        OrderState::Closed => {
            ("Order closed", Some(("warn", "This order was not paid and is closed.")))
        }
        OrderState::Paid => {
            ("Paid", Some(("good", "Thank you. The days have been added to your account.")))
        }
        OrderState::PartlyRefunded => ("Partly refunded", None),
        OrderState::Refunded => ("Refunded", None),
    };
    page(signed_in, &order, title, note).await
}

/// `/checkout/{order}/receipt.pdf`, for an order that is paid; with the feature `receipts`.
pub(super) async fn receipt(
    OrderId(id): OrderId,
    signed_in: SignedIn,
) -> Result<Response, SiteError> {
    let payments = &signed_in.visit.shared.parts.customers.payments;
    let receipt = payments.receipt(&id, signed_in.customer.account).await?;
    let receipt = receipt.ok_or(SiteError::NotFound)?;
    let disposition = format!("attachment; filename=\"{}\"", receipt.file_name());
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/pdf")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (CONTENT_DISPOSITION, HeaderValue::try_from(disposition).map_err(|_| SiteError::NotFound)?),
    ];
    let pdf = receipt.pdf().ok_or(SiteError::NotFound)?;
    Ok((headers, pdf).into_response())
}

/// `/checkout/{order}/return/`: the customer returns from the provider, whose state of the order is fetched
/// at once. The provider's webhook may arrive earlier or later.
pub(super) async fn returned(
    OrderId(id): OrderId,
    signed_in: SignedIn,
) -> Result<Response, SiteError> {
    let (payments, account) =
        (&signed_in.visit.shared.parts.customers.payments, signed_in.customer.account);
    let order = match payments.returned(&id, account, signed_in.visit.now).await {
        Err(PaymentError::Provider(error)) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the state of an order could not be fetched"
            );
            payments.order(&id, account).await?
        }
        result => result?,
    };
    let (title, note) = match order.state() {
        OrderState::Open => (
            "Not paid yet",
            (
                "warn",
                "We have not received your payment yet. If you paid, reload this page in a minute. \
                      You do not need to pay again.",
            ),
        ),
        OrderState::Closed => ("Order closed", ("warn", "This order was not paid and is closed.")),
        OrderState::Paid | OrderState::PartlyRefunded | OrderState::Refunded => {
            ("Paid", ("good", "Thank you. The days have been added to your account."))
        }
    };
    page(signed_in, &order, title, Some(note)).await
}

/// `/checkout/{order}/cancel/`: the customer cancelled at the provider. The order is unchanged: it can still
/// be paid, or be cancelled by the form.
pub(super) async fn turned_back(
    OrderId(id): OrderId,
    signed_in: SignedIn,
) -> Result<Response, SiteError> {
    let payments = &signed_in.visit.shared.parts.customers.payments;
    let order = payments.order(&id, signed_in.customer.account).await?;
    match order.state() {
        OrderState::Open => {
            let note = ("warn", "Nothing was charged. You can still pay this order, or cancel it.");
            page(signed_in, &order, "Not paid", Some(note)).await
        }
        _ => Ok(see_other(&format!("/checkout/{}/", order.id))),
    }
}

/// The form that cancels an order.
pub(super) async fn cancel(OrderId(id): OrderId, form: SignedForm) -> Result<Response, SiteError> {
    let SignedIn { visit, customer } = &form.signed_in;
    let payments = &visit.shared.parts.customers.payments;
    let order = payments.cancelled(&id, customer.account, visit.now).await?;
    Ok(see_other(&format!("/checkout/{}/", order.id)))
}

async fn page(
    signed_in: SignedIn,
    order: &Order,
    title: &'static str,
    note: Option<(&'static str, &'static str)>,
) -> Result<Response, SiteError> {
    let SignedIn { visit, customer } = &signed_in;
    // Read again: the payment may have just extended the add-on.
    let accounts = &visit.shared.parts.customers.accounts;
    let addons = accounts.customer(customer.account).await?.map(|it| it.addons);
    let expiry = addons.and_then(|addons| addons.expiry(order.addon));
    let refunded = Price { amount: order.refunded, currency: order.price.currency.clone() };
    let (tone, note) = note.unzip();
    visit.show(&CheckoutPage {
        shell: visit.shell("/addons/"),
        title,
        note,
        tone: tone.unwrap_or_default(),
        days: order.days,
        founder: order.founder,
        addon: offer::title(order.addon),
        refunded: (!order.refunded.is_zero()).then(|| exact(&refunded)),
        paid: order.paid.map(Moment::minute),
        has_receipt: Receipt::HAS_PDF,
        expiry: order.paid.and(expiry).map(Moment::day),
        pay_url: pay_url(order),
        pay_words: match order.method {
            PaymentMethod::Card => "Pay by card",
            PaymentMethod::Paypal => "Pay with PayPal",
        },
        order: order.into(),
    })
}

/// The payment link, if the order can be paid and the provider returned an HTTP URL.
fn pay_url(order: &Order) -> Option<&str> {
    let url = order.checkout_url.as_deref().filter(|_| order.state() == OrderState::Open)?;
    ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme)).then_some(url)
}
