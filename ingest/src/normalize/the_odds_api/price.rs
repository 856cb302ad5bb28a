//! Decimal and American prices.
//!
//! An American price is what 100 win (`+150`), or what must be staked to win 100 (`-110`). The
//! answer does not say which of the two it holds.

use rust_decimal::{Decimal, RoundingStrategy};

use crate::decode::the_odds_api::{Answer, OddsApiOutcome};

/// How the prices of an answer are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PriceFormat {
    /// Detected from the prices of each whole response: American if any is negative, or if all are
    /// whole numbers from 100 on. A decimal response with only such long odds would be misdetected.
    #[default]
    Auto,
    Decimal,
    American,
}

impl PriceFormat {
    /// This format, or what the answer looks like.
    pub(super) fn detect(self, answer: &Answer) -> Self {
        match self {
            Self::Auto if is_american(answer) => Self::American,
            Self::Auto => Self::Decimal,
            Self::Decimal | Self::American => self,
        }
    }

    /// The decimal price; `None` for what is no price.
    #[must_use]
    pub fn decimal(self, price: Decimal) -> Option<Decimal> {
        match self {
            Self::American => from_american(price),
            Self::Auto | Self::Decimal => (price > Decimal::ONE).then_some(price),
        }
    }
}

fn is_american(answer: &Answer) -> bool {
    let mut prices = prices(answer).peekable();
    let some = prices.peek().is_some();
    let long = |price: Decimal| price.is_integer() && price >= Decimal::ONE_HUNDRED;
    let mut all_long = true;
    for price in prices {
        if price.is_sign_negative() {
            return true;
        }
        all_long &= long(price);
    }
    some && all_long
}

fn prices(answer: &Answer) -> impl Iterator<Item = Decimal> {
    let bookmakers = answer.events.iter().flat_map(|event| event.bookmakers.iter().flatten());
    let outcomes = bookmakers.flat_map(|it| &it.markets).flat_map(|market| &market.outcomes);
    outcomes.filter_map(|outcome: &OddsApiOutcome| outcome.price)
}

/// Decimal places of a price that was American. With them it is exact enough to be converted back. Signals allow for what they
/// round up.
const PLACES: u32 = 8;

fn from_american(price: Decimal) -> Option<Decimal> {
    if price.abs() < Decimal::ONE_HUNDRED {
        return None;
    }
    let win = match price.is_sign_negative() {
        true => Decimal::ONE_HUNDRED.checked_div(price.abs())?,
        false => price.checked_div(Decimal::ONE_HUNDRED)?,
    };
    let price = win.checked_add(Decimal::ONE)?;
    Some(price.round_dp_with_strategy(PLACES, RoundingStrategy::MidpointNearestEven).normalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::the_odds_api::decode;

    #[test]
    fn american_prices_become_decimal() {
        for (american, expected) in [
            ("150", Some("2.5")),
            ("-110", Some("1.90909091")),
            ("-2200", Some("1.04545455")),
            ("-200", Some("1.5")),
            ("100", Some("2")),
            ("-100", Some("2")),
            ("1205", Some("13.05")),
            ("-10000", Some("1.01")),
            ("99", None),
            ("-1.5", None),
        ] {
            let price = PriceFormat::American.decimal(american.parse().unwrap());
            assert_eq!(price.map(|it| it.to_string()).as_deref(), expected, "{american}");
        }
        assert_eq!(PriceFormat::Decimal.decimal("0.5".parse().unwrap()), None);
    }

    #[test]
    fn price_format_is_detected_from_the_whole_response() {
        let check = |prices: &[&str], expected| {
            let outcomes: Vec<_> =
                prices.iter().map(|price| format!(r#"{{"name":"x","price":{price}}}"#)).collect();
            let body = format!(
                r#"[{{"id":"e","sport_key":"s","bookmakers":[{{"key":"b","markets":[{{"key":"h2h","outcomes":[{}]}}]}}]}}]"#,
                outcomes.join(",")
            );
            let answer = decode(body.as_bytes()).unwrap();
            assert_eq!(PriceFormat::Auto.detect(&answer), expected, "{prices:?}");
        };
        check(&["-110", "-110"], PriceFormat::American);
        check(&["150", "220"], PriceFormat::American);
        check(&["-110", "1.5"], PriceFormat::American);
        check(&["1.5", "120"], PriceFormat::Decimal);
        check(&["2", "3"], PriceFormat::Decimal);
        check(&["100.5"], PriceFormat::Decimal);
        check(&[], PriceFormat::Decimal);
    }
}
