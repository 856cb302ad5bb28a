//! The errors of payments, and who has to fix them.
//!
//! No error repeats a provider's own message, which may contain part of a key.

use rust_decimal::Decimal;

use super::PaymentMethod;
use crate::accounts::AccountsError;

/// Why a request of a customer or the operator failed.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    #[error("{method} payments are not set up: the settings have no key for this provider")]
    NotConfigured { method: PaymentMethod },
    #[error("add-ons are not sold for {months} months")]
    Term { months: u32 },
    /// There is no such account, or it cannot buy: it is unconfirmed, blocked or deleted.
    #[error("this account cannot buy add-ons")]
    NoAccount,
    #[error("there is no such order")]
    NoOrder,
    #[error("you have {limit} open orders; pay or cancel one of them first")]
    TooManyOpen { limit: usize },
    #[error("the order is not paid")]
    NotPaid,
    #[error("cannot refund {requested}: at most {left} of this order can be refunded")]
    Refund { requested: Decimal, left: Decimal },
    #[error("the payment provider refused or did not respond")]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    #[error("the store of orders failed")]
    Store(#[from] sqlx::Error),
    #[error("the system gave no random bytes")]
    Random(#[from] getrandom::Error),
}

/// Why a request to a provider failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The request may have taken effect: retry with the same key.
    #[error("{why}")]
    Unreachable { why: String },
    #[error("the provider returned {status} ({code})")]
    Refused { status: u16, code: String },
    #[error("unexpected response: {why}")]
    Unusable { why: &'static str },
}

/// Why a webhook was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// It does not come from the provider, is too old, or is not an event. Its sender is to blame.
    #[error("{why}")]
    Forged { why: &'static str },
    #[error("{method} payments are not set up")]
    NotConfigured { method: PaymentMethod },
    /// Too many checks are in progress, or were made within a minute: the provider must send it
    /// again.
    #[error("too many webhooks wait to be checked")]
    Busy,
    /// It is about a payment that no order has yet, and one may get it: the provider must send it again.
    #[error("the payment is not known yet")]
    Early,
    /// The provider did not answer the check: it must send the webhook again.
    #[error("the payment provider did not answer")]
    Provider(#[from] ProviderError),
    #[error("the store of orders failed")]
    Store(#[from] sqlx::Error),
}
