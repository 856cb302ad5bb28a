//! Products, the add-ons they require, and prices.
//!
//! Pure: no store, no clock, no HTTP. `now` comes in.

mod catalogue;
mod product;

pub(crate) use self::catalogue::end_of_day;
pub use self::{
    catalogue::{Catalogue, DAYS_PER_MONTH, Price, TERMS},
    product::Product,
};
