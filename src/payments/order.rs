//! An order: what a customer wants to buy, and what the provider has said of it since.
//!
//! Pure. Facts only ever grow: an order is paid once, what was given back is the most that was ever
//! told, and a checkout that has closed stays closed. The days that are due follow from the facts
//! alone, so the order and the repetition of what providers tell do not matter.

use rust_decimal::{Decimal, RoundingStrategy, prelude::ToPrimitive};

use super::PaymentMethod;
use crate::{
    accounts::{AccountId, Addon, Micros},
    products::{DAYS_PER_MONTH, Price},
};

/// What a customer wants to buy, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Random, and told to the provider.
    pub id: String,
    pub account: AccountId,
    pub method: PaymentMethod,
    pub addon: Addon,
    pub months: u32,
    /// What it grants when it is paid.
    pub days: u32,
    /// For all months.
    pub price: Price,
    /// Whether it is a Founder's price.
    pub founder: bool,
    pub created: Micros,
    /// The provider's name for the checkout, and its name for the payment.
    pub checkout: Option<String>,
    pub payment: Option<String>,
    /// Where the customer pays.
    pub checkout_url: Option<String>,
    /// When we heard that it was paid.
    pub paid: Option<Micros>,
    /// Given back so far, in all.
    pub refunded: Decimal,
    /// When we heard that it can no longer be paid, or the customer turned back.
    pub closed: Option<Micros>,
    /// What the ledger has granted for it, less what it took back.
    pub days_granted: i64,
}

/// How an order stands, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderState {
    /// Not paid yet.
    Open,
    /// Not paid, and not to be paid any more.
    Closed,
    Paid,
    /// A part was given back.
    PartlyRefunded,
    Refunded,
}

impl OrderState {
    /// For people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Paid => "paid",
            Self::PartlyRefunded => "partly refunded",
            Self::Refunded => "refunded",
        }
    }
}

/// What a provider tells of an order. Empty where it says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ProviderStatus {
    /// Its name for the payment.
    pub(super) payment: Option<String>,
    pub(super) paid: Option<Price>,
    /// In all.
    pub(super) refunded: Option<Price>,
    pub(super) closed: bool,
}

/// What was told does not fit the order, so nothing of it is believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Mismatch {
    #[error("the currency is {received}, not {expected}")]
    Currency { expected: String, received: String },
    #[error("the amount is {received}, not {expected}")]
    Amount { expected: Decimal, received: Decimal },
    #[error("{received} were given back of {paid}")]
    Refund { paid: Decimal, received: Decimal },
}

impl Mismatch {
    /// As it is written down.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Currency { .. } => "wrong currency",
            Self::Amount { .. } => "wrong amount",
            Self::Refund { .. } => "wrong refund",
        }
    }
}

impl Order {
    /// How it stands.
    #[must_use]
    pub fn state(&self) -> OrderState {
        match (self.paid, self.closed) {
            (None, None) => OrderState::Open,
            (None, Some(_)) => OrderState::Closed,
            (Some(_), _) if self.refunded.is_zero() => OrderState::Paid,
            (Some(_), _) if self.refunded < self.price.amount => OrderState::PartlyRefunded,
            (Some(_), _) => OrderState::Refunded,
        }
    }

    /// A month of what is bought, for people.
    #[must_use]
    pub fn unit_title(&self) -> String {
        let addon = match self.addon {
            Addon::Websocket => "WebSocket add-on",
            Addon::Sports => "Sports add-on",
            Addon::Odds => "Odds API",
        };
        format!("{addon}, {DAYS_PER_MONTH} days")
    }

    /// All of what is bought, for people.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} × {}", self.unit_title(), self.months)
    }

    /// What can still be given back.
    #[must_use]
    pub fn refundable(&self) -> Decimal {
        match self.paid {
            Some(_) => self.price.amount - self.refunded,
            None => Decimal::ZERO,
        }
    }

    /// Takes in what was told.
    ///
    /// # Errors
    ///
    /// If it does not fit; nothing has changed then.
    pub(super) fn learn(&mut self, received: &ProviderStatus, now: Micros) -> Result<(), Mismatch> {
        for price in received.paid.iter().chain(&received.refunded) {
            self.check_currency(price)?;
        }
        if let Some(paid) = &received.paid
            && paid.amount != self.price.amount
        {
            let expected = self.price.amount;
            return Err(Mismatch::Amount { expected, received: paid.amount });
        }
        let refunded = received.refunded.as_ref().map_or(Decimal::ZERO, |price| price.amount);
        if refunded > self.price.amount || refunded.is_sign_negative() {
            return Err(Mismatch::Refund { paid: self.price.amount, received: refunded });
        }
        if received.paid.is_some() {
            self.paid = self.paid.or(Some(now));
        }
        if received.closed {
            self.closed = self.closed.or(Some(now));
        }
        self.refunded = self.refunded.max(refunded);
        self.payment = self.payment.take().or_else(|| received.payment.clone());
        Ok(())
    }

    fn check_currency(&self, price: &Price) -> Result<(), Mismatch> {
        if price.currency == self.price.currency {
            return Ok(());
        }
        let (expected, received) = (self.price.currency.clone(), price.currency.clone());
        Err(Mismatch::Currency { expected, received })
    }

    /// The days that are due by the facts: all of them when it is paid, less a share of what was given
    /// back, in whole days, the rest of a day to the customer.
    #[must_use]
    pub fn days_due(&self) -> i64 {
        if self.paid.is_none() {
            return 0;
        }
        let days = i64::from(self.days);
        let share = Decimal::from(days) * self.refunded / self.price.amount;
        let back = share.round_dp_with_strategy(0, RoundingStrategy::ToZero).to_i64();
        days - back.unwrap_or(days).min(days)
    }

    /// What is paid for it by the facts, less what was given back.
    #[must_use]
    pub fn amount_due(&self) -> Decimal {
        self.refundable()
    }
}
