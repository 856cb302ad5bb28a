//! `[products]`: prices of add-ons, and the free period of the odds.

use jiff::{civil::Date, tz::TimeZone};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::products::{Catalogue, end_of_day};

/// `[products]`: monthly prices, as exact decimals in text. Every displayed price and every charge
/// uses these values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProductsConfig {
    /// ISO 4217. Default `USD`. The payment providers must support it.
    pub currency: String,
    /// The WebSocket add-on. Default `3.00`.
    pub websocket: String,
    /// The Sports add-on. Default `5.00`.
    pub sports: String,
    /// The Odds API. Default `5.00`.
    pub odds: String,
    /// Prices for accounts with the Founder badge; empty for no discount. Defaults `1.50` and
    /// `2.50`, and none for the odds, which were free when the badge was granted.
    pub websocket_founder: String,
    pub sports_founder: String,
    pub odds_founder: String,
    /// The last day on which the odds are free for everyone; afterwards they require the Odds
    /// add-on. Default `2026-08-17`, a date in the past, so they are not free. Empty: they are
    /// never free.
    pub odds_free_until: String,
    /// The time zone in which that day ends: an IANA name. Default `UTC`.
    pub zone: String,
}

impl Default for ProductsConfig {
    fn default() -> Self {
        Self {
            currency: "USD".to_owned(),
            websocket: "3.00".to_owned(),
            sports: "5.00".to_owned(),
            odds: "5.00".to_owned(),
            websocket_founder: "1.50".to_owned(),
            sports_founder: "2.50".to_owned(),
            odds_founder: String::new(),
            odds_free_until: "2026-08-17".to_owned(),
            zone: "UTC".to_owned(),
        }
    }
}

impl ProductsConfig {
    /// The price list.
    ///
    /// # Errors
    ///
    /// The name of the setting that is wrong, and what it must be.
    pub fn catalogue(&self) -> Result<Catalogue, (&'static str, &'static str)> {
        let price = |name, text: &str| {
            let price: Decimal = text.parse().map_err(|_| (name, "a decimal amount"))?;
            let payable = price > Decimal::ZERO && price == price.round_dp(2);
            payable.then_some(price).ok_or((name, "more than nothing, to the cent"))
        };
        let rate = |name, text: &str| match text {
            "" => Ok(None),
            text => price(name, text).map(Some),
        };
        let is_code =
            self.currency.len() == 3 && self.currency.bytes().all(|byte| byte.is_ascii_uppercase());
        if !is_code {
            return Err(("products.currency", "three capital letters"));
        }
        let zone = TimeZone::get(&self.zone);
        let zone = zone.map_err(|_| ("products.zone", "the name of a time zone"))?;
        let odds_free_until = match &*self.odds_free_until {
            "" => None,
            day => day.parse::<Date>().ok().and_then(|day| end_of_day(day, &zone)).map_or(
                Err(("products.odds_free_until", "a date as in 2026-08-17, or empty")),
                |end| Ok(Some(end)),
            )?,
        };
        Ok(Catalogue {
            currency: self.currency.clone(),
            monthly: [
                price("products.websocket", &self.websocket)?,
                price("products.sports", &self.sports)?,
                price("products.odds", &self.odds)?,
            ],
            monthly_for_founders: [
                rate("products.websocket_founder", &self.websocket_founder)?,
                rate("products.sports_founder", &self.sports_founder)?,
                rate("products.odds_founder", &self.odds_founder)?,
            ],
            odds_free_until,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_exact_decimals() {
        let check = |price: &str, good: bool| {
            let config = ProductsConfig { sports: price.to_owned(), ..ProductsConfig::default() };
            assert_eq!(config.catalogue().is_ok(), good, "{price}");
        };
        check("5", true);
        check("0.10", true);
        for wrong in ["", "0", "-1", "5.001", "five", "NaN"] {
            check(wrong, false);
        }
    }

    #[test]
    fn zone_and_day_are_checked() {
        let wrong_zone = ProductsConfig { zone: "Mars/Base".to_owned(), ..Default::default() };
        assert_eq!(wrong_zone.catalogue().unwrap_err().0, "products.zone");
        let wrong_day =
            ProductsConfig { odds_free_until: "tomorrow".to_owned(), ..Default::default() };
        assert_eq!(wrong_day.catalogue().unwrap_err().0, "products.odds_free_until");
        let never = ProductsConfig { odds_free_until: String::new(), ..Default::default() };
        assert_eq!(never.catalogue().unwrap().odds_free_until, None);
    }
}
