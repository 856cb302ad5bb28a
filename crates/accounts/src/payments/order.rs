//! An order: what a customer wants to buy, and what the provider has reported about it.
//!
//! Pure. Facts only ever grow: an order is paid once, its refund is the highest ever reported, and
//! a closed checkout stays closed. The days due follow from the facts alone, so the order and the
//! repetition of reports do not matter. Only a lost dispute is added to what is known, once for its
//! event.

use rust_decimal::{Decimal, RoundingStrategy, prelude::ToPrimitive};

use super::PaymentMethod;
use crate::{
    accounts::{AccountId, Addon, Micros},
    products::{Country, DAYS_PER_MONTH, Price},
};

/// What a customer wants to buy, and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Random, and known to the provider.
    pub id: String,
    pub account: AccountId,
    pub method: PaymentMethod,
    pub addon: Addon,
    pub months: u32,
    /// The days it grants once paid.
    pub days: u32,
    /// For all months together.
    pub price: Price,
    /// Whether it is a Founder price.
    pub founder: bool,
    /// The country whose prices these are, if the customer named one that has its own.
    pub country: Option<Country>,
    /// The tax that the price includes, in percent; `None`: that of all receipts.
    pub tax_percent: Option<Decimal>,
    pub created: Micros,
    /// The provider's ids of the checkout and of the payment.
    pub checkout: Option<String>,
    pub payment: Option<String>,
    /// Where the customer pays.
    pub checkout_url: Option<String>,
    /// When this process learnt of the payment.
    pub paid: Option<Micros>,
    /// The total refunded so far.
    pub refunded: Decimal,
    /// When this process learnt that it can no longer be paid, or the customer cancelled.
    pub closed: Option<Micros>,
    /// The days that the ledger has granted for it, less those taken back.
    pub days_granted: i64,
}

base::words! {
    /// The state of an order, as pages show it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum OrderState {
        /// Not paid yet.
        Open = "open",
        /// Not paid, and no longer payable.
        Closed = "closed",
        Paid = "paid",
        /// Partly refunded.
        PartlyRefunded = "partly refunded",
        Refunded = "refunded",
    }
}

/// What a provider reports about an order. Fields it does not report are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ProviderStatus {
    /// The provider's id of the payment.
    pub(super) payment: Option<String>,
    pub(super) paid: Option<Price>,
    /// In total.
    pub(super) refunded: Option<Price>,
    /// What a lost dispute gave back besides. It is added, so it must come with its event.
    pub(super) lost: Option<Price>,
    pub(super) closed: bool,
}

impl ProviderStatus {
    /// It can no longer be paid.
    pub(super) fn closed() -> Self {
        Self { closed: true, ..Self::default() }
    }
}

/// A report does not fit the order, so all of it is ignored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Mismatch {
    #[error("the currency is {received}, not {expected}")]
    Currency { expected: String, received: String },
    #[error("the amount is {received}, not {expected}")]
    Amount { expected: Decimal, received: Decimal },
    #[error("{received} of {paid} were refunded")]
    Refund { paid: Decimal, received: Decimal },
}

impl Mismatch {
    /// As it is stored.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Currency { .. } => "wrong currency",
            Self::Amount { .. } => "wrong amount",
            Self::Refund { .. } => "wrong refund",
        }
    }
}

impl Order {
    /// The order's state.
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

    /// The display name of one month of the purchase.
    #[must_use]
    pub fn unit_title(&self) -> String {
        let addon = match self.addon {
            Addon::Websocket => "WebSocket add-on",
            Addon::Sports => "Sports add-on",
            Addon::Odds => "Odds API",
        };
        format!("{addon}, {DAYS_PER_MONTH} days")
    }

    /// The display name of the whole purchase.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} × {}", self.unit_title(), self.months)
    }

    /// The amount that can still be refunded.
    #[must_use]
    pub fn refundable(&self) -> Decimal {
        match self.paid {
            Some(_) => self.price.amount - self.refunded,
            None => Decimal::ZERO,
        }
    }

    /// Adds the facts of a report.
    ///
    /// # Errors
    ///
    /// If the report does not fit the order; nothing has changed then.
    pub(super) fn learn(&mut self, received: &ProviderStatus, now: Micros) -> Result<(), Mismatch> {
        for price in received.paid.iter().chain(&received.refunded).chain(&received.lost) {
            self.check_currency(price)?;
        }
        if let Some(paid) = &received.paid
            && paid.amount != self.price.amount
        {
            let expected = self.price.amount;
            return Err(Mismatch::Amount { expected, received: paid.amount });
        }
        let amount = |price: &Option<Price>| price.as_ref().map_or(Decimal::ZERO, |it| it.amount);
        let (refunded, lost) = (amount(&received.refunded), amount(&received.lost));
        if refunded > self.price.amount || refunded.is_sign_negative() {
            return Err(Mismatch::Refund { paid: self.price.amount, received: refunded });
        }
        if lost.is_sign_negative() {
            return Err(Mismatch::Refund { paid: self.price.amount, received: lost });
        }
        if received.paid.is_some() {
            self.paid = self.paid.or(Some(now));
        }
        if received.closed {
            self.closed = self.closed.or(Some(now));
        }
        self.refunded = (self.refunded.max(refunded) + lost).min(self.price.amount);
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

    /// The days due by the facts: all of them once it is paid, less the share that was refunded, in
    /// whole days, rounded in the customer's favour.
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

    /// The amount paid by the facts, less refunds.
    #[must_use]
    pub fn amount_due(&self) -> Decimal {
        self.refundable()
    }
}
