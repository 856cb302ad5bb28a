//! The operator's commands for customers and payments.

use std::path::Path;

use clap::Subcommand;

use super::{
    accounts::{AccountCommand, AddonCommand, AdminCommand, FoundersCommand},
    orders::{LedgerArgs, OrderCommand, RefundArgs},
};

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum OperatorCommand {
    /// Show, block and delete customers' accounts.
    #[command(subcommand)]
    Account(AccountCommand),
    /// Grant days of an add-on.
    #[command(subcommand)]
    Addon(AddonCommand),
    /// Show orders.
    #[command(subcommand)]
    Order(OrderCommand),
    Ledger(LedgerArgs),
    Refund(RefundArgs),
    /// Grant the Founder badge.
    #[command(subcommand)]
    Founders(FoundersCommand),
    /// Create, list and remove operators' accounts for `/admin/`.
    #[command(subcommand)]
    Admin(AdminCommand),
}

impl OperatorCommand {
    /// The config file, for the one command that needs more than the environment provides.
    #[must_use]
    pub fn config(&self) -> Option<&Path> {
        match self {
            Self::Refund(args) => args.config.as_deref(),
            Self::Account(_)
            | Self::Addon(_)
            | Self::Order(_)
            | Self::Ledger(_)
            | Self::Founders(_)
            | Self::Admin(_) => None,
        }
    }
}
