//! `matchwire founders`: grants the Founder badge, once.

use std::io::Write;

use super::{Done, OperatorError};
use crate::{
    cli::accounts::FoundersCommand,
    config::AccountsConfig,
    table::{line, time},
};
use accounts::{Accounts, FounderGrantOutcome, Micros};

/// Runs the command, and prints how many accounts have the badge.
///
/// # Errors
///
/// If the database cannot be used, if the badge was granted before, if the moment has not come, or if
/// the output cannot be written.
pub(super) async fn run(
    command: FoundersCommand,
    config: &AccountsConfig,
    now: Micros,
    out: &mut impl Write,
) -> Done {
    let FoundersCommand::Grant(args) = command;
    let accounts = Accounts::open_existing(&args.db, config).await?;
    let granted = accounts.grant_founders(args.at, now).await;
    accounts.close().await;
    match granted? {
        FounderGrantOutcome::Now { accounts } => {
            Ok(line(out, &["granted to", &accounts.to_string()])?)
        }
        FounderGrantOutcome::Before { at } => Err(OperatorError::GrantedBefore { at: time(at) }),
        FounderGrantOutcome::TooEarly => Err(OperatorError::TooEarly { at: time(args.at) }),
    }
}
