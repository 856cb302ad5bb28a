//! `[products]`: prices of add-ons, and the free period of the odds.

use std::collections::BTreeMap;

use jiff::{civil::Date, tz::TimeZone};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::products::{Catalogue, Country, end_of_day};

/// `[products]`: monthly prices, as exact decimals in text. Every displayed price and every charge uses these values.
/// A paid month is 30 days.
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
    /// The WebSocket add-on for accounts with the Founder badge. Default `1.50`. Empty: the same price.
    pub websocket_founder: String,
    /// The Sports add-on for accounts with the Founder badge. Default `2.50`. Empty: the same price.
    pub sports_founder: String,
    /// The Odds add-on for accounts with the Founder badge. Default empty: the same price, since the odds were free
    /// when the badge was granted.
    pub odds_founder: String,
    /// The last day on which the odds are free for everyone; afterwards they require the Odds
    /// add-on. Default `2026-08-17`, a date in the past, so they are not free. Empty: they are
    /// never free.
    pub odds_free_until: String,
    /// The time zone in which that day ends: an IANA name. Default `UTC`.
    pub zone: String,
    /// Other prices for customers of some countries, by the code of the country (ISO 3166-1, two capital letters).
    /// Default none. docs/PAYMENTS.md#prices-by-country
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub countries: BTreeMap<String, CountryConfig>,
}

/// `[products.countries.CH]`: prices for customers who say that they are in this country. What is
/// absent is as elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CountryConfig {
    /// With another currency, all prices must be given.
    pub currency: Option<String>,
    pub websocket: Option<String>,
    pub sports: Option<String>,
    pub odds: Option<String>,
    pub websocket_founder: Option<String>,
    pub sports_founder: Option<String>,
    pub odds_founder: Option<String>,
    /// The tax that these prices include, in percent, for receipts: `"19"`. Default
    /// `payments.tax_percent`.
    pub tax_percent: Option<String>,
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
            countries: BTreeMap::new(),
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
        let mut catalogue = self.list(None)?;
        for (code, prices) in &self.countries {
            let of_country = |(_, expected)| ("products.countries", expected);
            let wrong_code = |_| ("products.countries", "tables named by two capital letters");
            let country: Country = code.parse().map_err(wrong_code)?;
            let list = self.for_country(prices)?.list(Some(prices)).map_err(of_country)?;
            catalogue.countries.insert(country, list);
        }
        Ok(catalogue)
    }

    /// The currencies of all price lists.
    pub fn currencies(&self) -> impl Iterator<Item = &str> {
        let of_countries = self.countries.values().filter_map(|prices| prices.currency.as_deref());
        [&*self.currency].into_iter().chain(of_countries)
    }

    /// These settings with the prices of a country.
    fn for_country(&self, prices: &CountryConfig) -> Result<Self, (&'static str, &'static str)> {
        let CountryConfig { currency, websocket, sports, odds, .. } = prices;
        let is_complete = [websocket, sports, odds].iter().all(|price| price.is_some());
        let is_other = currency.as_ref().is_some_and(|currency| *currency != self.currency);
        if is_other && !is_complete {
            return Err(("products.countries", "all three prices with another currency"));
        }
        let or =
            |set: &Option<String>, general: &String| set.clone().unwrap_or_else(|| general.clone());
        // Beside another price or in another currency, a Founder rate may be the higher one.
        let founder = |set: &Option<String>, price: &Option<String>, general| match set {
            None if is_other || price.is_some() => String::new(),
            set => or(set, general),
        };
        Ok(Self {
            currency: or(currency, &self.currency),
            websocket: or(websocket, &self.websocket),
            sports: or(sports, &self.sports),
            odds: or(odds, &self.odds),
            websocket_founder: founder(
                &prices.websocket_founder,
                websocket,
                &self.websocket_founder,
            ),
            sports_founder: founder(&prices.sports_founder, sports, &self.sports_founder),
            odds_founder: founder(&prices.odds_founder, odds, &self.odds_founder),
            odds_free_until: self.odds_free_until.clone(),
            zone: self.zone.clone(),
            countries: BTreeMap::new(),
        })
    }

    /// The price list of these settings without countries.
    fn list(
        &self,
        country: Option<&CountryConfig>,
    ) -> Result<Catalogue, (&'static str, &'static str)> {
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
        let tax_percent = country.and_then(|country| country.tax_percent.as_deref());
        let tax_percent = tax_percent.map(|text| text.parse::<Decimal>()).transpose();
        let tax_percent = tax_percent.ok().filter(|percent| {
            percent.is_none_or(|it| (Decimal::ZERO..=Decimal::ONE_HUNDRED).contains(&it))
        });
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
            tax_percent: tax_percent.ok_or(("products.countries", "a tax from 0 to 100"))?,
            countries: BTreeMap::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use rust_decimal::dec;
    use serde_json::json;

    use super::*;
    use crate::accounts::Addon;

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

    #[test]
    fn country_has_its_own_prices_and_otherwise_the_general_ones() {
        let country = |prices: serde_json::Value| {
            let country: CountryConfig = serde_json::from_value(prices).unwrap();
            let countries = BTreeMap::from([("CH".to_owned(), country)]);
            ProductsConfig { countries, ..ProductsConfig::default() }.catalogue()
        };
        let shown = |prices, founder| {
            let catalogue = country(prices).unwrap();
            let list = catalogue.for_country(Some("CH".parse().unwrap()));
            Addon::ALL.map(|addon| list.price(addon, founder).to_string())
        };
        assert_eq!(shown(json!({"sports": "6"}), false), ["$3", "$6", "$5"]);
        assert_eq!(shown(json!({"sports": "2"}), true), ["$1.50", "$2", "$5"]);
        let francs = json!({"currency": "CHF", "websocket": "3", "sports": "6", "odds": "7"});
        assert_eq!(shown(francs, true), ["CHF 3", "CHF 6", "CHF 7"], "no rate in dollars");
        let taxed = country(json!({"tax_percent": "8.1"})).unwrap();
        assert_eq!(taxed.for_country(Some("CH".parse().unwrap())).tax_percent, Some(dec!(8.1)));
        assert_eq!(taxed.for_country(Some("DE".parse().unwrap())).tax_percent, None);
        for wrong in [
            json!({"currency": "CHF"}),
            json!({"currency": "x", "websocket": "3", "sports": "6", "odds": "7"}),
            json!({"sports": "-1"}),
            json!({"tax_percent": "101"}),
        ] {
            assert_eq!(country(wrong.clone()).unwrap_err().0, "products.countries", "{wrong}");
        }
        let countries = BTreeMap::from([("Chile".to_owned(), CountryConfig::default())]);
        let wrong = ProductsConfig { countries, ..ProductsConfig::default() };
        assert_eq!(wrong.catalogue().unwrap_err().0, "products.countries");
    }
}
