//! The operations that every payment provider supports.

use hyper::HeaderMap;
use rust_decimal::Decimal;

use super::{
    Order, PaymentMethod, ProviderError, WebhookError, order::ProviderStatus, paypal::Paypal,
    store::OrderRef, stripe::Stripe,
};
use crate::{accounts::Micros, products::Price};

#[derive(Debug)]
pub(super) enum Provider {
    Stripe(Stripe),
    Paypal(Paypal),
}

/// A checkout at the provider, where the customer goes to pay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewCheckout {
    /// The provider's id.
    pub(super) checkout: String,
    pub(super) url: String,
}

/// Where the provider sends the customer afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReturnUrls {
    pub(super) back: String,
    pub(super) cancel: String,
}

/// A webhook that comes from the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WebhookEvent {
    /// The provider's id of the event; the same when it is sent again.
    pub(super) id: String,
    pub(super) kind: String,
    /// The order it is about.
    pub(super) order_ref: OrderRef,
    pub(super) content: EventContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EventContent {
    Status(ProviderStatus),
    /// A dispute is lost: this amount went back to the customer, besides what was refunded.
    Lost(Price),
    /// It does not contain the status: fetch it from the provider.
    FetchStatus,
    /// It concerns nothing that matters here.
    Nothing,
}

impl Provider {
    pub(super) fn method(&self) -> PaymentMethod {
        match self {
            Self::Stripe(_) => PaymentMethod::Card,
            Self::Paypal(_) => PaymentMethod::Paypal,
        }
    }

    /// Opens a checkout. Returns the same one when called again for the same order.
    pub(super) async fn open(
        &self,
        order: &Order,
        return_urls: &ReturnUrls,
    ) -> Result<NewCheckout, ProviderError> {
        match self {
            Self::Stripe(stripe) => stripe.open(order, return_urls).await,
            Self::Paypal(paypal) => paypal.open(order, return_urls).await,
        }
    }

    /// Fetches the status. Captures a payment that the customer has approved.
    pub(super) async fn fetch_status(
        &self,
        order: &Order,
    ) -> Result<ProviderStatus, ProviderError> {
        match self {
            Self::Stripe(stripe) => stripe.fetch_status(order).await,
            Self::Paypal(paypal) => paypal.fetch_status(order).await,
        }
    }

    /// Makes sure that the checkout can no longer be paid, where the provider supports this.
    pub(super) async fn cancel(&self, order: &Order) -> Result<ProviderStatus, ProviderError> {
        match self {
            Self::Stripe(stripe) => stripe.cancel(order).await,
            // PayPal cannot cancel; an unapproved order expires.
            Self::Paypal(_) => Ok(ProviderStatus::default()),
        }
    }

    /// Refunds an amount. A retry before the refund is recorded refunds nothing more.
    pub(super) async fn refund(&self, order: &Order, amount: Decimal) -> Result<(), ProviderError> {
        match self {
            Self::Stripe(stripe) => stripe.refund(order, amount).await,
            Self::Paypal(paypal) => paypal.refund(order, amount).await,
        }
    }

    /// Reads a webhook, and verifies its origin as far as possible here. Where the provider
    /// [`Self::checks_signatures`], it may still be forged.
    pub(super) fn read_webhook(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Micros,
    ) -> Result<WebhookEvent, WebhookError> {
        match self {
            Self::Stripe(stripe) => stripe.read_webhook(headers, body, now),
            Self::Paypal(paypal) => paypal.read_webhook(headers, body, now),
        }
    }

    /// Whether only the provider can verify its webhooks.
    pub(super) fn checks_signatures(&self) -> bool {
        matches!(self, Self::Paypal(_))
    }

    /// Asks the provider whether a webhook is genuine.
    ///
    /// # Errors
    ///
    /// If it is not, or if the provider does not answer.
    pub(super) async fn check(&self, headers: &HeaderMap, body: &[u8]) -> Result<(), WebhookError> {
        match self {
            Self::Stripe(_) => Ok(()),
            Self::Paypal(paypal) => paypal.check(headers, body).await,
        }
    }
}

/// Maximum characters of a provider's id.
const NAME_MAX: usize = 255;

/// A checkout, provided that its id is safe in a path and its URL leads to a page.
pub(super) fn new_checkout(id: &str, url: &str) -> Result<NewCheckout, ProviderError> {
    let is_page = reqwest::Url::parse(url).is_ok_and(|it| matches!(it.scheme(), "https" | "http"));
    if !is_name(id) || !is_page {
        return Err(ProviderError::Unusable { why: "it names no checkout" });
    }
    Ok(NewCheckout { checkout: id.to_owned(), url: url.to_owned() })
}

/// An id that the provider must have reported before it can be used in a request.
pub(super) fn reported_id(id: Option<&str>) -> Result<&str, ProviderError> {
    id.ok_or(ProviderError::Unusable { why: "it has not reported its id" })
}

/// A webhook whose id and kind can be stored. Ids of orders that cannot be valid are dropped.
pub(super) fn validate_event(mut event: WebhookEvent) -> Result<WebhookEvent, WebhookError> {
    let is_storable =
        |name: &str| !name.is_empty() && name.len() <= NAME_MAX && !name.contains('\0');
    if !is_storable(&event.id) || !is_storable(&event.kind) {
        return Err(WebhookError::Forged { why: "it has no name" });
    }
    let OrderRef { order, checkout, payment } = &mut event.order_ref;
    for name in [order, checkout, payment] {
        *name = name.take().filter(|name| is_name(name));
    }
    Ok(event)
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    !name.is_empty() && name.len() <= NAME_MAX && name.bytes().all(is_plain)
}
