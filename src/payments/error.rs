//! What can go wrong with payments, and whose it is to mend.
//!
//! Nothing here repeats what a provider said in its own words: that may hold a part of a key.

use rust_decimal::Decimal;

use super::Rail;
use crate::accounts::AccountsError;

/// Why a wish of a customer or of the operator was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    #[error("{rail} is not offered")]
    NoRail { rail: Rail },
    #[error("{months} months cannot be bought at once")]
    Term { months: u32 },
    /// There is none, or it may not buy: it is not confirmed, or blocked, or deleted.
    #[error("there is no such account that may buy")]
    NoAccount,
    #[error("there is no such order")]
    NoOrder,
    #[error("{limit} orders are open, pay or cancel one of them first")]
    TooManyOpen { limit: usize },
    #[error("the order is not paid")]
    NotPaid,
    #[error("{wish} cannot be given back, of this order there is {left}")]
    Refund { wish: Decimal, left: Decimal },
    #[error("the payment provider did not do it")]
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
    pub fn is_passing(&self) -> bool {
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
    #[error("{rail} is not offered")]
    NoRail { rail: Rail },
    /// The provider had to be asked and did not answer: it is to come again.
    #[error("the payment provider did not answer")]
    Provider(#[from] ProviderError),
    #[error("the store of orders failed")]
    Store(#[from] sqlx::Error),
}
