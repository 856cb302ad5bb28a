//! What is asked of a payment provider, whichever it is.

use hyper::HeaderMap;
use rust_decimal::Decimal;

use super::{
    Order, PaymentMethod, ProviderError, WebhookError, order::ProviderStatus, paypal::Paypal,
    store::OrderRef, stripe::Stripe,
};
use crate::accounts::Micros;

#[derive(Debug)]
pub(super) enum Provider {
    Stripe(Stripe),
    Paypal(Paypal),
}

/// A checkout at the provider, where the customer goes to pay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewCheckout {
    /// The provider's name for it.
    pub(super) checkout: String,
    pub(super) url: String,
}

/// Where the customer comes back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReturnUrls {
    pub(super) back: String,
    pub(super) cancel: String,
}

/// A webhook that does come from the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WebhookEvent {
    /// The provider's name for the event; the same when it is told again.
    pub(super) id: String,
    pub(super) kind: String,
    /// Which order it is about.
    pub(super) order_ref: OrderRef,
    pub(super) content: EventContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EventContent {
    Status(ProviderStatus),
    /// It does not say how things stand: the provider is to be asked.
    FetchStatus,
    /// It is about nothing that matters here.
    Nothing,
}

impl Provider {
    pub(super) fn method(&self) -> PaymentMethod {
        match self {
            Self::Stripe(_) => PaymentMethod::Card,
            Self::Paypal(_) => PaymentMethod::Paypal,
        }
    }

    /// Opens a checkout. The same one when it is asked again for the same order.
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

    /// How things stand. What the customer has approved and is not paid yet becomes paid by it.
    pub(super) async fn fetch_status(
        &self,
        order: &Order,
    ) -> Result<ProviderStatus, ProviderError> {
        match self {
            Self::Stripe(stripe) => stripe.fetch_status(order).await,
            Self::Paypal(paypal) => paypal.fetch_status(order).await,
        }
    }

    /// Sees to it that the checkout cannot be paid any more, where the provider lets us.
    pub(super) async fn cancel(&self, order: &Order) -> Result<ProviderStatus, ProviderError> {
        match self {
            Self::Stripe(stripe) => stripe.cancel(order).await,
            // There is no way to; what is never approved lapses by itself.
            Self::Paypal(_) => Ok(ProviderStatus::default()),
        }
    }

    /// Gives money back. Nothing more when it is asked again before we have heard of it.
    pub(super) async fn refund(&self, order: &Order, amount: Decimal) -> Result<(), ProviderError> {
        match self {
            Self::Stripe(stripe) => stripe.refund(order, amount).await,
            Self::Paypal(paypal) => paypal.refund(order, amount).await,
        }
    }

    /// Reads a webhook, as far as can be told here that it comes from the provider. Where the provider
    /// [`Self::checks_signatures`] it may still be forged.
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

    /// Whether only the provider knows which webhooks are its own.
    pub(super) fn checks_signatures(&self) -> bool {
        matches!(self, Self::Paypal(_))
    }

    /// Asks the provider whether a webhook is its own.
    ///
    /// # Errors
    ///
    /// If it is not, or if the provider does not say.
    pub(super) async fn check(&self, headers: &HeaderMap, body: &[u8]) -> Result<(), WebhookError> {
        match self {
            Self::Stripe(_) => Ok(()),
            Self::Paypal(paypal) => paypal.check(headers, body).await,
        }
    }
}

/// The most characters of a provider's name for anything.
const NAME_MAX: usize = 255;

/// A checkout, provided that its name can stand in a path and its address leads to a page.
pub(super) fn new_checkout(id: &str, url: &str) -> Result<NewCheckout, ProviderError> {
    let is_page = reqwest::Url::parse(url).is_ok_and(|it| matches!(it.scheme(), "https" | "http"));
    if !is_name(id) || !is_page {
        return Err(ProviderError::Unusable { why: "it names no checkout" });
    }
    Ok(NewCheckout { checkout: id.to_owned(), url: url.to_owned() })
}

/// A webhook whose own names can be kept. Names of orders that cannot be ours are left out.
pub(super) fn validate_event(mut event: WebhookEvent) -> Result<WebhookEvent, WebhookError> {
    let kept = |name: &str| !name.is_empty() && name.len() <= NAME_MAX && !name.contains('\0');
    if !kept(&event.id) || !kept(&event.kind) {
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
