//! The payment methods.

use std::{fmt, str::FromStr};

/// A payment method, and its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PaymentMethod {
    /// Card, with Stripe Checkout.
    Card,
    /// PayPal, with its Orders API.
    Paypal,
}

impl PaymentMethod {
    /// Every method, in display order.
    pub const ALL: [Self; 2] = [Self::Card, Self::Paypal];

    /// The name in forms, in commands and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Paypal => "paypal",
        }
    }

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
        Self::ALL.into_iter().find(|method| method.as_str() == name).ok_or(UnknownPaymentMethod)
    }
}

/// The name does not denote a payment method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown payment method, expected card or paypal")]
pub struct UnknownPaymentMethod;
