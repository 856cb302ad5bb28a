//! Receipts of payments: as text for a mail, and with the feature `receipts` as a PDF of one page.

#[cfg(feature = "receipts")]
mod pdf;

use jiff::Timestamp;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};

use super::Order;
use crate::{accounts::Micros, config::PaymentsConfig};

/// Characters of a name beside its value in text.
const NAME_WIDTH: usize = 12;

/// What every receipt says of the seller.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ReceiptTerms {
    /// Name, address and tax number, in lines.
    seller: String,
    /// The tax that prices include, in percent.
    tax_percent: Decimal,
}

impl ReceiptTerms {
    pub(super) fn new(config: &PaymentsConfig) -> Self {
        Self { seller: config.seller.clone(), tax_percent: config.tax_percent }
    }
}

/// The receipt of an order that is paid, with what was refunded of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The id of the order.
    pub order: String,
    what: String,
    method: String,
    paid: Decimal,
    refunded: Decimal,
    /// ISO 4217.
    currency: String,
    paid_at: Micros,
    seller: String,
    tax_percent: Decimal,
    /// The country that the customer named, if it decided the price.
    country: Option<String>,
}

impl Receipt {
    /// `None` for an order that is not paid.
    pub(super) fn for_order(order: &Order, terms: &ReceiptTerms) -> Option<Self> {
        Some(Self {
            order: order.id.clone(),
            what: order.title(),
            method: order.method.title().to_owned(),
            paid: order.price.amount,
            refunded: order.refunded,
            currency: order.price.currency.clone(),
            paid_at: order.paid?,
            seller: terms.seller.clone(),
            tax_percent: order.tax_percent.unwrap_or(terms.tax_percent),
            country: order.country.map(|country| country.to_string()),
        })
    }

    /// The tax in what was paid and not refunded.
    fn tax(&self) -> Option<Decimal> {
        let kept = self.paid - self.refunded;
        let tax = kept * self.tax_percent / (Decimal::ONE_HUNDRED + self.tax_percent);
        let tax = tax.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero);
        (!self.tax_percent.is_zero()).then_some(tax)
    }

    /// Names with their values.
    fn rows(&self) -> Vec<(String, String)> {
        let amount = |amount: Decimal| format!("{amount:.2} {}", self.currency);
        let row = |name: &str, value: String| (name.to_owned(), value);
        let day = Timestamp::from_microsecond(self.paid_at).unwrap_or_default();
        let mut rows = vec![
            row("Order", self.order.clone()),
            row("Date", day.strftime("%-d %B %Y").to_string()),
            row("Item", self.what.clone()),
            row("Paid with", self.method.clone()),
            row("Paid", amount(self.paid)),
        ];
        if !self.refunded.is_zero() {
            rows.push(row("Refunded", amount(-self.refunded)));
            rows.push(row("Total", amount(self.paid - self.refunded)));
        }
        if let Some(country) = &self.country {
            rows.push(row("Country", country.clone()));
        }
        if let Some(tax) = self.tax() {
            let percent = self.tax_percent.normalize();
            rows.push(row("Tax", format!("{} ({percent}%, included)", amount(tax))));
        }
        rows
    }

    /// One row in each line, and then the seller.
    #[must_use]
    pub fn text(&self) -> String {
        let rows = self.rows().into_iter();
        let mut lines: Vec<_> =
            rows.map(|(name, value)| format!("{name:<NAME_WIDTH$}{value}")).collect();
        if !self.seller.is_empty() {
            lines.push(String::new());
            lines.extend(self.seller.lines().map(ToOwned::to_owned));
        }
        lines.join("\n")
    }

    /// Whether receipts are made as PDF.
    pub const HAS_PDF: bool = cfg!(feature = "receipts");

    /// The receipt as a PDF; `None` in a program without the feature `receipts`. Characters beyond those of western Europe
    /// are shown as question marks.
    #[must_use]
    pub fn pdf(&self) -> Option<Vec<u8>> {
        #[cfg(feature = "receipts")]
        return Some(pdf::render(self));
        #[cfg(not(feature = "receipts"))]
        None
    }

    /// A name for the file.
    #[must_use]
    pub fn file_name(&self) -> String {
        let short: String = self.order.chars().take(8).collect();
        format!("receipt-{short}.pdf")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn receipt(refunded: &str, tax_percent: &str) -> Receipt {
        let number = |text: &str| text.parse::<Decimal>().expect("a number");
        Receipt {
            order: "0123456789abcdef".to_owned(),
            what: "Odds API, 30 days × 3".to_owned(),
            method: "Card".to_owned(),
            paid: number("30.00"),
            refunded: number(refunded),
            currency: "EUR".to_owned(),
            paid_at: 1_795_356_300_000_000,
            seller: "Hub & Söhne\nHamburg\nDE123".to_owned(),
            tax_percent: number(tax_percent),
            country: None,
        }
    }

    #[test]
    fn text_has_amounts_tax_and_seller() {
        let expected = "Order       0123456789abcdef\nDate        22 November 2026\nItem        Odds API, 30 days × 3\n\
                        Paid with   Card\nPaid        30.00 EUR\nTax         4.79 EUR (19%, included)\n\n\
                        Hub & Söhne\nHamburg\nDE123";
        assert_eq!(receipt("0", "19").text(), expected);
        let refunded = receipt("10", "0").text();
        assert!(
            refunded.contains("\nRefunded    -10.00 EUR\nTotal       20.00 EUR\n"),
            "{refunded}"
        );
        assert!(!refunded.contains("Tax"), "{refunded}");
    }
}
