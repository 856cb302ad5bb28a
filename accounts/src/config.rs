//! The settings of accounts, products, payments, mail, limits and usage.

mod accounts;
mod limits;
mod mail;
mod payments;
mod products;
mod usage;

pub use self::{
    accounts::{AccountsConfig, PepperSetting},
    limits::LimitsConfig,
    mail::MailConfig,
    payments::PaymentsConfig,
    products::ProductsConfig,
    usage::UsageConfig,
};
