//! Products, the add-ons they require, and prices.
//!
//! No store, no clock, no HTTP: `now` comes in. Only [`Prices`] changes.

mod catalogue;
mod country;
mod prices;
mod product;

pub(crate) use self::catalogue::end_of_day;
pub use self::{
    catalogue::{Catalogue, DAYS_PER_MONTH, Price, TERMS},
    country::{Country, InvalidCountry},
    prices::Prices,
    product::Product,
};
