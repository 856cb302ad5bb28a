//! The ways to pay.

use std::{fmt, str::FromStr};

/// A way to pay, and who provides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PaymentMethod {
    /// By card, with Stripe Checkout.
    Card,
    /// With PayPal's Orders.
    Paypal,
}

impl PaymentMethod {
    /// Every way, in the order in which they are shown.
    pub const ALL: [Self; 2] = [Self::Card, Self::Paypal];

    /// The name in forms, in commands and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Paypal => "paypal",
        }
    }

    /// The name for people.
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

/// A name that is no way to pay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown way to pay, expected card or paypal")]
pub struct UnknownPaymentMethod;
