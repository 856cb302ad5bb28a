//! `odds_format=`: prices as people of other countries write them, beside the decimal ones, which stay.

use rust_decimal::{Decimal, RoundingStrategy, dec};

pub(super) const ODDS_FORMAT: &str =
    "`decimal`, `american` or `fractional`: adds `odds`, the price as a text in that format";

params! {
    /// That of endpoints without filters.
    pub(super) struct FormatParams { odds_format: PriceFormat = ODDS_FORMAT }
}

/// The values of `odds_format`.
pub(crate) const ODDS_FORMATS: [&str; 3] = ["decimal", "american", "fractional"];

/// How a price is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rest) enum OddsFormat {
    /// The return of a stake of 1: `2.5`.
    Decimal,
    /// The profit of a stake of 100, `+150`, or the stake for a profit of 100, `-200`: to two decimal places, exact where those
    /// suffice.
    American,
    /// The profit for a stake, exactly and in lowest terms: `3/2`.
    Fractional,
}

impl OddsFormat {
    /// The format of a word, in any case.
    pub(in crate::rest) fn named(text: &str) -> Option<Self> {
        Some(match text.to_ascii_lowercase().as_str() {
            "decimal" => Self::Decimal,
            "american" => Self::American,
            "fractional" => Self::Fractional,
            _ => return None,
        })
    }

    /// A decimal price in this format; `None` if it pays nothing, or cannot be written in it.
    #[must_use]
    pub(in crate::rest) fn write(self, price: Decimal) -> Option<String> {
        let profit = price.checked_sub(Decimal::ONE).filter(|profit| *profit > Decimal::ZERO)?;
        match self {
            Self::Decimal => Some(price.normalize().to_string()),
            Self::American => {
                let hundred = dec!(100);
                let units = if profit >= Decimal::ONE {
                    profit.checked_mul(hundred)?
                } else {
                    -hundred.checked_div(profit)?
                };
                let rounding = RoundingStrategy::MidpointAwayFromZero;
                let units = units.round_dp_with_strategy(2, rounding).normalize();
                Some(format!("{}{units}", if units.is_sign_positive() { "+" } else { "" }))
            }
            Self::Fractional => {
                let profit = profit.normalize();
                let scale = 10_i128.checked_pow(profit.scale())?;
                let divisor = common_divisor(profit.mantissa(), scale);
                Some(format!("{}/{}", profit.mantissa() / divisor, scale / divisor))
            }
        }
    }
}

/// The greatest common divisor of two positive numbers.
fn common_divisor(one: i128, other: i128) -> i128 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn prices_are_written_in_every_format() {
        for (price, decimal, american, fractional) in [
            (dec!(2.50), "2.5", "+150", "3/2"),
            (dec!(2), "2", "+100", "1/1"),
            (dec!(1.5), "1.5", "-200", "1/2"),
            (dec!(1.91), "1.91", "-109.89", "91/100"),
            (dec!(1.01), "1.01", "-10000", "1/100"),
            (dec!(1001), "1001", "+100000", "1000/1"),
            (dec!(2.005), "2.005", "+100.5", "201/200"),
        ] {
            let formats = [OddsFormat::Decimal, OddsFormat::American, OddsFormat::Fractional];
            let written = formats.map(|format| format.write(price).unwrap());
            assert_eq!(written, [decimal, american, fractional]);
        }
        for nothing in [dec!(1), dec!(0.5), dec!(0), dec!(-2)] {
            assert_eq!(OddsFormat::Fractional.write(nothing), None);
        }
    }

    proptest! {
        #[test]
        fn fractions_are_exact(units in 1_001_i64..1_000_000) {
            let price = Decimal::new(units, 3);
            let fraction = OddsFormat::Fractional.write(price).unwrap();
            let (profit, stake) = fraction.split_once('/').unwrap();
            let [profit, stake] = [profit, stake].map(|text| text.parse::<Decimal>().unwrap());
            prop_assert_eq!(profit / stake + Decimal::ONE, price);
        }
    }
}
