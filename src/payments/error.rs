//! What can go wrong with payments, and whose it is to mend.
//!
//! Nothing here repeats what a provider said in its own words: that may hold a part of a key.

use rust_decimal::Decimal;

use super::PaymentMethod;
use crate::accounts::AccountsError;

/// Why a wish of a customer or of the operator was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    #[error("{method} payments are not set up: the settings have no key for this provider")]
    NotConfigured { method: PaymentMethod },
    #[error("add-ons are not sold for {months} months")]
    Term { months: u32 },
    /// There is none, or it may not buy: it is not confirmed, or blocked, or deleted.
    #[error("this account cannot buy add-ons")]
    NoAccount,
    #[error("there is no such order")]
    NoOrder,
    #[error("you have {limit} open orders; pay or cancel one of them first")]
    TooManyOpen { limit: usize },
    #[error("the order is not paid")]
    NotPaid,
    #[error("cannot refund {wish}: at most {left} of this order can be refunded")]
    Refund { wish: Decimal, left: Decimal },
    #[error("the payment provider refused or did not respond")]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    #[error("the store of orders failed")]
    Store(#[from] sqlx::Error),
    #[error("the system gave no random bytes")]
    Random(#[from] getrandom::Error),
}

impl PaymentError {
    /// Whether it may go better in a while, without anybody mending anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Provider(ProviderError::Unreachable { .. }))
    }
}

/// Why a provider did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// It may have happened all the same: to be asked again with the same key.
    #[error("{why}")]
    Unreachable { why: String },
    #[error("it answered {status} ({code})")]
    Refused { status: u16, code: String },
    #[error("its answer makes no sense: {why}")]
    Unusable { why: &'static str },
}

/// Why a webhook was not taken.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// It does not come from the provider, or is too old, or is no event. Its sender is to blame.
    #[error("{why}")]
    Forged { why: &'static str },
    #[error("{method} payments are not set up")]
    NotConfigured { method: PaymentMethod },
    /// Too many are being checked, or were within a minute: it is to come again.
    #[error("too many webhooks are to be checked")]
    Busy,
    /// The provider had to be asked and did not answer: it is to come again.
    #[error("the payment provider did not answer")]
    Provider(#[from] ProviderError),
    #[error("the store of orders failed")]
    Store(#[from] sqlx::Error),
}
