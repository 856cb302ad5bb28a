//! The settings of accounts, products, payments, mail, OAuth, limits and usage.

mod accounts;
mod limits;
mod mail;
mod oauth;
mod payments;
mod products;
mod usage;

pub use self::{
    accounts::{AccountsConfig, PepperSetting},
    limits::LimitsConfig,
    mail::MailConfig,
    oauth::OAuthConfig,
    payments::PaymentsConfig,
    products::{CountryConfig, ProductsConfig},
    usage::UsageConfig,
};
