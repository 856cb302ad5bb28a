//! Products, the add-ons they require, and prices.
//!
//! No store, no clock, no HTTP: `now` comes in. Only [`CurrentCatalogue`] changes.

mod catalogue;
mod country;
mod current_catalogue;
mod product;

pub(crate) use self::catalogue::end_of_day;
pub use self::{
    catalogue::{Catalogue, DAYS_PER_MONTH, Price, TERMS},
    country::{Country, InvalidCountry},
    current_catalogue::CurrentCatalogue,
    product::Product,
};
