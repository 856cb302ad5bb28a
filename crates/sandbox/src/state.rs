//! The sandbox's state: checkouts, payments and refunds. Plain values, no I/O.

use std::{collections::VecDeque, fmt};

use rust_decimal::Decimal;
use serde_json::Value;

use crate::Provider;

/// Maximum checkouts and responses; the oldest are evicted.
const ENTRIES_MAX: usize = 10_000;

#[derive(Debug, Clone)]
pub(super) struct Price {
    pub(super) amount: Decimal,
    pub(super) currency: String,
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign: &str = match &*self.currency {
            "USD" => "$",
            "EUR" => "€",
            "GBP" => "£",
            other => &format!("{other} "),
        };
        let decimals = if self.amount.is_integer() { 0 } else { 2 };
        write!(f, "{sign}{:.decimals$}", self.amount)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Checkout {
    pub(super) id: String,
    pub(super) provider: Provider,
    /// The hub's id of the order.
    pub(super) order: String,
    pub(super) title: String,
    pub(super) price: Price,
    /// Where the customer goes afterwards.
    pub(super) back: String,
    pub(super) cancel: String,
    pub(super) state: CheckoutState,
    /// The id of the payment, once there is one.
    pub(super) payment: Option<String>,
    /// Ids and amounts.
    pub(super) refunds: Vec<(String, Decimal)>,
    /// What a lost dispute gave back to the customer.
    pub(super) lost: Decimal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckoutState {
    Open,
    /// Approved by the customer, not captured yet.
    Approved,
    Paid,
    Closed,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Fields are missing or have the wrong form.
    Malformed,
    Unknown,
    NotApproved,
    AlreadyCaptured,
    /// It is no longer open.
    Ended,
    /// More than the amount left.
    TooMuch,
    /// The system gave no random bytes.
    NoRandomBytes,
}

#[derive(Debug, Default)]
pub(super) struct SandboxState {
    /// The newest last.
    pub(super) checkouts: VecDeque<Checkout>,
    /// Responses, and the idempotency keys of their requests.
    answers: VecDeque<(String, Value)>,
}

/// Adds the newest entry, and evicts the oldest one where there are too many.
fn add<T>(entries: &mut VecDeque<T>, entry: T) {
    if entries.len() >= ENTRIES_MAX {
        entries.pop_front();
    }
    entries.push_back(entry);
}

impl SandboxState {
    /// Stores a new checkout, and the response to the request that opened it.
    pub(super) fn open(&mut self, checkout: Checkout, key: &str, answer: &Value) {
        add(&mut self.checkouts, checkout);
        self.remember(key, answer.clone());
    }

    /// Stores the response to a request.
    pub(super) fn remember(&mut self, key: &str, answer: Value) {
        add(&mut self.answers, (key.to_owned(), answer));
    }

    /// The response to an earlier request with this idempotency key.
    pub(super) fn earlier_answer(&self, key: &str) -> Option<Value> {
        let found = self.answers.iter().rev().find(|(earlier, _)| earlier == key);
        found.map(|(_, answer)| answer.clone())
    }

    pub(super) fn checkout(&self, id: &str) -> Option<&Checkout> {
        self.checkouts.iter().find(|checkout| checkout.id == id)
    }

    /// Changes a checkout, and returns a copy of it.
    pub(super) fn change(
        &mut self,
        id: &str,
        change: impl FnOnce(&mut Checkout) -> Result<(), Refusal>,
    ) -> Result<Checkout, Refusal> {
        let found = self.checkouts.iter_mut().find(|checkout| checkout.id == id);
        let checkout = found.ok_or(Refusal::Unknown)?;
        change(checkout)?;
        Ok(checkout.clone())
    }

    /// Refunds part of a payment, and returns a copy of its checkout.
    pub(super) fn refund(
        &mut self,
        payment: &str,
        refund: &str,
        amount: Decimal,
    ) -> Result<Checkout, Refusal> {
        let mut all = self.checkouts.iter_mut();
        let checkout = all.find(|it| it.payment.as_deref() == Some(payment));
        let checkout = checkout.ok_or(Refusal::Unknown)?;
        checkout.refund(refund.to_owned(), amount)?;
        Ok(checkout.clone())
    }
}

impl Checkout {
    /// The customer approves. With a card that is the payment; PayPal waits for the capture.
    pub(super) fn agree(&mut self, payment: String) -> Result<(), Refusal> {
        if self.state != CheckoutState::Open {
            return Err(Refusal::Ended);
        }
        match self.provider {
            Provider::Stripe => self.pay(payment),
            Provider::Paypal => self.state = CheckoutState::Approved,
        }
        Ok(())
    }

    pub(super) fn capture(&mut self, payment: String) -> Result<(), Refusal> {
        match self.state {
            CheckoutState::Approved => {
                self.pay(payment);
                Ok(())
            }
            CheckoutState::Paid => Err(Refusal::AlreadyCaptured),
            CheckoutState::Open | CheckoutState::Closed => Err(Refusal::NotApproved),
        }
    }

    pub(super) fn close(&mut self) -> Result<(), Refusal> {
        if self.state != CheckoutState::Open {
            return Err(Refusal::Ended);
        }
        self.state = CheckoutState::Closed;
        Ok(())
    }

    /// The customer disputes what is left, and the seller loses.
    pub(super) fn lose(&mut self) -> Result<(), Refusal> {
        let left = self.left();
        if left.is_zero() {
            return Err(Refusal::TooMuch);
        }
        self.lost += left;
        Ok(())
    }

    fn refund(&mut self, refund: String, amount: Decimal) -> Result<(), Refusal> {
        if amount <= Decimal::ZERO || amount > self.left() {
            return Err(Refusal::TooMuch);
        }
        self.refunds.push((refund, amount));
        Ok(())
    }

    pub(super) fn refunded(&self) -> Decimal {
        self.refunds.iter().map(|(_, amount)| amount).sum()
    }

    /// The amount that can be refunded.
    pub(super) fn left(&self) -> Decimal {
        match self.state {
            CheckoutState::Paid => self.price.amount - self.refunded() - self.lost,
            CheckoutState::Open | CheckoutState::Approved | CheckoutState::Closed => Decimal::ZERO,
        }
    }

    fn pay(&mut self, payment: String) {
        self.state = CheckoutState::Paid;
        self.payment = Some(payment);
    }
}
