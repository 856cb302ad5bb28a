//! `matchwire addon`: grants days without payment.

use std::io::Write;

use super::{Done, OperatorError, named, with_accounts};
use crate::{
    cli::accounts::{AddonCommand, AddonGrantArgs},
    config::AccountsConfig,
    table::{line, time},
};
use accounts::{Accounts, Micros};

/// Runs the command, and prints the add-on and its new expiry.
///
/// # Errors
///
/// If the database cannot be used, if there is no such account, or if the output cannot be written.
pub(super) async fn run(
    command: AddonCommand,
    config: &AccountsConfig,
    now: Micros,
    out: &mut impl Write,
) -> Done {
    let AddonCommand::Grant(args) = command;
    with_accounts(&args.db, config, async |accounts| grant(accounts, &args, now, out).await).await
}

async fn grant(
    accounts: &Accounts,
    args: &AddonGrantArgs,
    now: Micros,
    out: &mut impl Write,
) -> Done {
    let account = named(accounts, &args.account).await?;
    if account.deleted.is_some() {
        return Err(OperatorError::Deleted);
    }
    accounts.grant_addon(account.account, args.addon, args.days, &args.note, now).await?;
    let after = named(accounts, &account.account.to_string()).await?;
    let expires = after.addons.expiry(args.addon).map(time).unwrap_or_default();
    Ok(line(out, &[args.addon.as_str(), "until", &expires])?)
}
