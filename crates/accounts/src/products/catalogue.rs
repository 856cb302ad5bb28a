//! Prices of add-ons, and when one is free.

use std::{collections::BTreeMap, fmt};

use jiff::{civil::Date, tz::TimeZone};
use rust_decimal::Decimal;

use super::Country;
use crate::accounts::{Addon, Micros};

/// The days of a paid month.
pub const DAYS_PER_MONTH: u32 = 30;

/// The numbers of months that can be bought at once.
pub const TERMS: [u32; 4] = [1, 3, 6, 12];

/// An exact amount of money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    pub amount: Decimal,
    /// ISO 4217, upper case.
    pub currency: String,
}

impl Price {
    /// This price multiplied.
    #[must_use]
    pub fn times(&self, count: u32) -> Self {
        Self { amount: self.amount * Decimal::from(count), currency: self.currency.clone() }
    }
}

/// `$5`, `$2.50`; `CHF 5` for a currency without a sign here.
impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.currency {
            "USD" => write!(f, "$")?,
            "EUR" => write!(f, "€")?,
            "GBP" => write!(f, "£")?,
            other => write!(f, "{other} ")?,
        }
        let amount = self.amount.normalize();
        if amount.scale() == 0 { write!(f, "{amount}") } else { write!(f, "{amount:.2}") }
    }
}

/// The price list, and until when the odds are free for everyone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    pub currency: String,
    /// The monthly price of each add-on, in the order of [`Addon::ALL`].
    pub monthly: [Decimal; 3],
    /// The Founder rates, where there are any.
    pub monthly_for_founders: [Option<Decimal>; 3],
    /// The moment from which the odds require their add-on; `None` if they always do.
    pub odds_free_until: Option<Micros>,
    /// The tax that prices include, in percent, where it is not that of all receipts.
    pub tax_percent: Option<Decimal>,
    /// What customers of some countries see and pay instead. These have no countries themselves.
    pub countries: BTreeMap<Country, Self>,
}

impl Catalogue {
    /// The price list of a customer of this country, or who named none.
    #[must_use]
    pub fn for_country(&self, country: Option<Country>) -> &Self {
        country.and_then(|country| self.countries.get(&country)).unwrap_or(self)
    }

    /// Whether every account has now what this add-on pays for.
    #[must_use]
    pub fn is_free(&self, addon: Addon, now: Micros) -> bool {
        addon == Addon::Odds && self.odds_free_until.is_some_and(|end| now < end)
    }

    /// The monthly price of the add-on, with or without the badge, as shown and charged.
    #[must_use]
    pub fn price(&self, addon: Addon, founder: bool) -> Price {
        let of_founders = self.monthly_for_founders[addon as usize].filter(|_| founder);
        let amount = of_founders.unwrap_or(self.monthly[addon as usize]);
        Price { amount, currency: self.currency.clone() }
    }

    /// Whether the add-on has a Founder rate.
    #[must_use]
    pub fn has_founder_rate(&self, addon: Addon) -> bool {
        self.monthly_for_founders[addon as usize].is_some()
    }
}

/// The first moment after a day in a time zone; `None` if there is none.
#[must_use]
pub(crate) fn end_of_day(day: Date, zone: &TimeZone) -> Option<Micros> {
    let next = day.tomorrow().ok()?;
    Some(next.to_zoned(zone.clone()).ok()?.timestamp().as_microsecond())
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use rust_decimal::dec;

    use super::*;

    fn catalogue() -> Catalogue {
        Catalogue {
            currency: "USD".to_owned(),
            monthly: [dec!(3.00), dec!(5.00), dec!(5.00)],
            monthly_for_founders: [Some(dec!(1.50)), Some(dec!(2.50)), None],
            odds_free_until: end_of_day(date(2026, 8, 17), &TimeZone::UTC),
            tax_percent: None,
            countries: BTreeMap::new(),
        }
    }

    /// SPEC sections 4 and 5: free for everyone until 2026-08-17, that day included.
    #[test]
    fn odds_are_free_until_the_end_of_the_last_day() {
        let catalogue = catalogue();
        let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_microsecond();
        assert!(catalogue.is_free(Addon::Odds, at("2026-08-17T23:59:59.999999Z")));
        assert!(!catalogue.is_free(Addon::Odds, at("2026-08-18T00:00:00Z")));
        assert!(!catalogue.is_free(Addon::Sports, at("2026-08-01T00:00:00Z")));
    }

    /// SPEC section 3, rules 4 and 5.
    #[test]
    fn founders_pay_the_founder_rate_if_there_is_one() {
        let catalogue = catalogue();
        let shown = |addon, founder| catalogue.price(addon, founder).to_string();
        assert_eq!(shown(Addon::Websocket, false), "$3");
        assert_eq!(shown(Addon::Websocket, true), "$1.50");
        assert_eq!(shown(Addon::Sports, true), "$2.50");
        assert_eq!(shown(Addon::Odds, true), "$5");
        assert_eq!(catalogue.price(Addon::Websocket, true).times(3).to_string(), "$4.50");
    }

    #[test]
    fn end_of_day_depends_on_the_time_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(4));
        let end = end_of_day(date(2026, 8, 17), &zone).unwrap();
        assert_eq!(
            jiff::Timestamp::from_microsecond(end).unwrap().to_string(),
            "2026-08-17T20:00:00Z"
        );
    }
}
