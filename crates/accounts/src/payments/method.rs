//! The payment methods.

use std::{fmt, str::FromStr};

base::words! {
    /// A payment method, and its provider, with its name in forms, in commands and in the database. In display order.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum PaymentMethod {
        /// Card, with Stripe Checkout.
        Card = "card",
        /// PayPal, with its Orders API.
        Paypal = "paypal",
    }
}

impl PaymentMethod {
    /// The display name.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Card => "Card",
            Self::Paypal => "PayPal",
        }
    }
}

impl fmt::Display for PaymentMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for PaymentMethod {
    type Err = UnknownPaymentMethod;

    fn from_str(name: &str) -> Result<Self, UnknownPaymentMethod> {
        Self::from_word(name).ok_or(UnknownPaymentMethod)
    }
}

/// The name does not denote a payment method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown payment method, expected card or paypal")]
pub struct UnknownPaymentMethod;
