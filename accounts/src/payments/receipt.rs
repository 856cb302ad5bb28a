//! Receipts of payments: as text for a mail, and as a PDF of one page.

use jiff::Timestamp;
use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};

use super::Order;
use crate::{accounts::Micros, config::PaymentsConfig};

/// A page of A4, and where its text begins, in points.
const PAGE: Rect = Rect { x1: 0.0, y1: 0.0, x2: 595.0, y2: 842.0 };
const LEFT: f32 = 72.0;
const TOP: f32 = 760.0;
/// Where values begin beside their names.
const VALUES: f32 = 150.0;
const LINE: f32 = 18.0;
const TITLE_SIZE: f32 = 20.0;
const TEXT_SIZE: f32 = 11.0;

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
    pub(super) fn of(config: &PaymentsConfig) -> Self {
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
    #[serde(default)]
    country: Option<String>,
}

impl Receipt {
    /// `None` for an order that is not paid.
    pub(super) fn of(order: &Order, terms: &ReceiptTerms) -> Option<Self> {
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

    /// A name for the file.
    #[must_use]
    pub fn file_name(&self) -> String {
        let short: String = self.order.chars().take(8).collect();
        format!("receipt-{short}.pdf")
    }

    /// The receipt as a PDF. Characters beyond those of western Europe are shown as question marks.
    #[must_use]
    pub fn pdf(&self) -> Vec<u8> {
        let [catalog, pages, page, font, text, information] = [1, 2, 3, 4, 5, 6].map(Ref::new);
        let name = Name(b"F1");
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(pages);
        pdf.pages(pages).kids([page]).count(1);
        let mut writer = pdf.page(page);
        writer.media_box(PAGE).parent(pages).contents(text);
        writer.resources().fonts().pair(name, font);
        writer.finish();
        // One of the fonts that every reader has.
        let mut writer = pdf.type1_font(font);
        writer.base_font(Name(b"Helvetica")).encoding_predefined(Name(b"WinAnsiEncoding"));
        writer.finish();
        pdf.document_info(information).title(TextStr("Receipt"));
        pdf.stream(text, &self.page(name));
        pdf.finish()
    }

    fn page(&self, font: Name<'_>) -> Vec<u8> {
        let mut content = Content::new();
        let mut y = TOP;
        let mut write = |x: f32, y: f32, size: f32, text: &str| {
            content.begin_text();
            content.set_font(font, size);
            content.next_line(x, y);
            content.show(Str(&win_ansi(text)));
            content.end_text();
        };
        write(LEFT, y, TITLE_SIZE, "Receipt");
        y -= 2.0 * LINE;
        for line in self.seller.lines() {
            write(LEFT, y, TEXT_SIZE, line);
            y -= LINE;
        }
        y -= LINE;
        for (name, value) in self.rows() {
            write(LEFT, y, TEXT_SIZE, &name);
            write(VALUES, y, TEXT_SIZE, &value);
            y -= LINE;
        }
        content.finish().to_vec()
    }
}

/// Text in the encoding of the font.
fn win_ansi(text: &str) -> Vec<u8> {
    let byte = |character: char| match character {
        '€' => 0x80,
        '–' => 0x96,
        '\u{20}'..='\u{7e}' | '\u{a0}'..='\u{ff}' => {
            u8::try_from(u32::from(character)).unwrap_or(b'?')
        }
        _ => b'?',
    };
    text.chars().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(refunded: &str, tax_percent: &str) -> Receipt {
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

    #[test]
    fn pdf_has_the_same_in_the_encoding_of_its_font() {
        let pdf = receipt("0", "19").pdf();
        assert!(pdf.starts_with(b"%PDF-1.7") && pdf.ends_with(b"%%EOF"), "{pdf:?}");
        let has = |part: &[u8]| pdf.windows(part.len()).any(|window| window == part);
        assert!(has(b"(30.00 EUR) Tj") && has(b"(22 November 2026) Tj"));
        assert_eq!(win_ansi("Söhne × €–漢"), b"S\xf6hne \xd7 \x80\x96?");
    }
}
