//! What is asked of a payment provider, whichever it is.

use hyper::HeaderMap;
use rust_decimal::Decimal;

use super::{
    Order, ProviderError, Rail, WebhookError, order::Told, paypal::Paypal, store::Name,
    stripe::Stripe,
};
use crate::accounts::Micros;

#[derive(Debug)]
pub(super) enum Provider {
    Stripe(Stripe),
    Paypal(Paypal),
}

/// A checkout at the provider, where the customer goes to pay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Opened {
    /// The provider's name for it.
    pub(super) checkout: String,
    pub(super) url: String,
}

/// Where the customer comes back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ways {
    pub(super) back: String,
    pub(super) cancel: String,
}

/// A webhook that does come from the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    /// The provider's name for the event; the same when it is told again.
    pub(super) id: String,
    pub(super) kind: String,
    /// Which order it is about.
    pub(super) about: Name,
    pub(super) says: Says,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Says {
    Told(Told),
    /// It does not say how things stand: the provider is to be asked.
    Ask,
    /// It is about nothing that matters here.
    Nothing,
}

impl Provider {
    pub(super) fn rail(&self) -> Rail {
        match self {
            Self::Stripe(_) => Rail::Card,
            Self::Paypal(_) => Rail::Paypal,
        }
    }

    /// Opens a checkout. The same one when it is asked again for the same order.
    pub(super) async fn open(&self, order: &Order, ways: &Ways) -> Result<Opened, ProviderError> {
        match self {
            Self::Stripe(stripe) => stripe.open(order, ways).await,
            Self::Paypal(paypal) => paypal.open(order, ways).await,
        }
    }

    /// How things stand. What the customer has approved and is not paid yet becomes paid by it.
    pub(super) async fn look(&self, order: &Order) -> Result<Told, ProviderError> {
        match self {
            Self::Stripe(stripe) => stripe.look(order).await,
            Self::Paypal(paypal) => paypal.look(order).await,
        }
    }

    /// Sees to it that the checkout cannot be paid any more, where the provider lets us.
    pub(super) async fn cancel(&self, order: &Order) -> Result<Told, ProviderError> {
        match self {
            Self::Stripe(stripe) => stripe.cancel(order).await,
            // There is no way to; what is never approved lapses by itself.
            Self::Paypal(_) => Ok(Told::default()),
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
    pub(super) fn notice(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Micros,
    ) -> Result<Notice, WebhookError> {
        match self {
            Self::Stripe(stripe) => stripe.notice(headers, body, now),
            Self::Paypal(paypal) => paypal.notice(headers, body, now),
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
pub(super) fn checkout_named(id: &str, url: &str) -> Result<Opened, ProviderError> {
    let is_page = reqwest::Url::parse(url).is_ok_and(|it| matches!(it.scheme(), "https" | "http"));
    if !is_name(id) || !is_page {
        return Err(ProviderError::Unusable { why: "it names no checkout" });
    }
    Ok(Opened { checkout: id.to_owned(), url: url.to_owned() })
}

/// A webhook whose own names can be kept. Names of orders that cannot be ours are left out.
pub(super) fn identified(mut notice: Notice) -> Result<Notice, WebhookError> {
    let kept = |name: &str| !name.is_empty() && name.len() <= NAME_MAX && !name.contains('\0');
    if !kept(&notice.id) || !kept(&notice.kind) {
        return Err(WebhookError::Forged { why: "it has no name" });
    }
    let Name { order, checkout, payment } = &mut notice.about;
    for name in [order, checkout, payment] {
        *name = name.take().filter(|name| is_name(name));
    }
    Ok(notice)
}

fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    !name.is_empty() && name.len() <= NAME_MAX && name.bytes().all(is_plain)
}
