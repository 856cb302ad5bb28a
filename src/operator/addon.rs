//! `matchwire addon`: grants days without payment.

use std::io::Write;

use super::{OperatorError, named};
use crate::{
    accounts::{Accounts, Micros},
    cli::accounts::{AddonCommand, AddonGrantArgs},
    config::AccountsConfig,
    table::{line, time},
};

/// Runs the command, and prints the add-on and its new expiry.
///
/// # Errors
///
/// If the database cannot be used, if there is no such account, or if nobody reads the answer.
pub(super) async fn run(
    command: AddonCommand,
    config: &AccountsConfig,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    let AddonCommand::Grant(args) = command;
    let accounts = Accounts::open_existing(&args.db, config).await?;
    let done = grant(&accounts, &args, now, out).await;
    accounts.close().await;
    done
}

async fn grant(
    accounts: &Accounts,
    args: &AddonGrantArgs,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), OperatorError> {
    let account = named(accounts, &args.account).await?;
    if account.deleted.is_some() {
        return Err(OperatorError::Deleted);
    }
    accounts.grant_addon(account.account, args.addon, args.days, &args.note, now).await?;
    let after = named(accounts, &account.account.to_string()).await?;
    let expires = after.addons.expiry(args.addon).map(time).unwrap_or_default();
    Ok(line(out, &[args.addon.as_str(), "until", &expires])?)
}
