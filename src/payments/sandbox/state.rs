//! What the sandbox knows: checkouts, what was paid and given back. Plain values, no I/O.

use std::collections::{HashMap, VecDeque};

use rust_decimal::Decimal;

use crate::{payments::Rail, products::Price};

/// Checkouts and answers that are kept, at most; the oldest go.
const KEPT_MAX: usize = 10_000;

/// Things by name, of which the oldest go.
#[derive(Debug)]
pub(super) struct Recent<T> {
    by_name: HashMap<String, T>,
    names: VecDeque<String>,
}

#[derive(Debug, Clone)]
pub(super) struct Checkout {
    pub(super) id: String,
    pub(super) rail: Rail,
    /// The hub's name for it.
    pub(super) order: String,
    pub(super) title: String,
    pub(super) price: Price,
    /// Where the customer is sent afterwards.
    pub(super) back: String,
    pub(super) cancel: String,
    pub(super) state: State,
    /// The name of the payment, once there is one.
    pub(super) payment: Option<String>,
    /// Names and amounts.
    pub(super) refunds: Vec<(String, Decimal)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// By the customer; the money is not taken yet.
    Approved,
    Paid,
    Closed,
}

/// Why something is not to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Unknown,
    NotApproved,
    AlreadyCaptured,
    /// It is not open any more.
    Ended,
    /// More than is left.
    TooMuch,
}

#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) checkouts: Recent<Checkout>,
    /// The answers to requests, by their idempotency keys.
    pub(super) answers: Recent<serde_json::Value>,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { by_name: HashMap::new(), names: VecDeque::new() }
    }
}

impl<T> Recent<T> {
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        self.by_name.get(name)
    }

    pub(super) fn insert(&mut self, name: &str, value: T) {
        if self.names.len() >= KEPT_MAX
            && let Some(oldest) = self.names.pop_front()
        {
            self.by_name.remove(&oldest);
        }
        self.names.push_back(name.to_owned());
        self.by_name.insert(name.to_owned(), value);
    }

    /// The latest first.
    pub(super) fn latest(&self, most: usize) -> impl Iterator<Item = &T> {
        self.names.iter().rev().take(most).filter_map(|name| self.by_name.get(name))
    }
}

impl Book {
    pub(super) fn checkout(&mut self, id: &str) -> Result<&mut Checkout, Refusal> {
        self.checkouts.by_name.get_mut(id).ok_or(Refusal::Unknown)
    }

    /// The checkout with this payment.
    pub(super) fn paid_as(&mut self, payment: &str) -> Result<&mut Checkout, Refusal> {
        let mut all = self.checkouts.by_name.values_mut();
        all.find(|it| it.payment.as_deref() == Some(payment)).ok_or(Refusal::Unknown)
    }
}

impl Checkout {
    /// The customer says yes. With a card that is the payment; PayPal waits for us to take the money.
    pub(super) fn agree(&mut self, payment: String) -> Result<(), Refusal> {
        if self.state != State::Open {
            return Err(Refusal::Ended);
        }
        match self.rail {
            Rail::Card => self.pay(payment),
            Rail::Paypal => self.state = State::Approved,
        }
        Ok(())
    }

    pub(super) fn capture(&mut self, payment: String) -> Result<(), Refusal> {
        match self.state {
            State::Approved => {
                self.pay(payment);
                Ok(())
            }
            State::Paid => Err(Refusal::AlreadyCaptured),
            State::Open | State::Closed => Err(Refusal::NotApproved),
        }
    }

    pub(super) fn close(&mut self) -> Result<(), Refusal> {
        if self.state != State::Open {
            return Err(Refusal::Ended);
        }
        self.state = State::Closed;
        Ok(())
    }

    pub(super) fn refund(&mut self, refund: String, amount: Decimal) -> Result<(), Refusal> {
        if amount <= Decimal::ZERO || amount > self.left() {
            return Err(Refusal::TooMuch);
        }
        self.refunds.push((refund, amount));
        Ok(())
    }

    pub(super) fn refunded(&self) -> Decimal {
        self.refunds.iter().map(|(_, amount)| amount).sum()
    }

    /// What can be given back.
    pub(super) fn left(&self) -> Decimal {
        match self.state {
            State::Paid => self.price.amount - self.refunded(),
            State::Open | State::Approved | State::Closed => Decimal::ZERO,
        }
    }

    fn pay(&mut self, payment: String) {
        self.state = State::Paid;
        self.payment = Some(payment);
    }
}
