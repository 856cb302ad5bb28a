//! `matchwire admin`: manages who may open `/admin/`.

use std::io::{BufRead, Read, Write};

use zeroize::Zeroizing;

use super::{Done, OperatorError};
use crate::{
    cli::accounts::{AdminArgs, AdminCommand, AdminListArgs},
    config::AccountsConfig,
    table::{Table, line, time},
};
use accounts::{Accounts, Admin, Micros};

/// Maximum bytes of a line with a password.
const LINE_MAX: u64 = 4096;

/// Runs the command, and prints its output. A password is read from `input`.
///
/// # Errors
///
/// If the database cannot be used, if the password is too weak, if the name is taken or there is
/// none, or if the output cannot be written.
pub(super) async fn run(
    command: AdminCommand,
    config: &AccountsConfig,
    now: Micros,
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> Done {
    let (AdminCommand::Create(AdminArgs { db, .. })
    | AdminCommand::List(AdminListArgs { db, .. })
    | AdminCommand::Remove(AdminArgs { db, .. })) = &command;
    let accounts = match &command {
        AdminCommand::Create(_) => Accounts::open_with(db, config).await?,
        AdminCommand::List(_) | AdminCommand::Remove(_) => {
            Accounts::open_existing(db, config).await?
        }
    };
    let done = match &command {
        AdminCommand::Create(args) => {
            let password = read_password(input);
            create(&accounts, &args.name, password, now, out).await
        }
        AdminCommand::List(args) => list(&accounts, args, out).await,
        AdminCommand::Remove(args) => remove(&accounts, &args.name, out).await,
    };
    accounts.close().await;
    done
}

/// Reads a password from a line of the input, without the line end.
///
/// # Errors
///
/// If there is no line, or it is empty.
fn read_password(input: &mut impl BufRead) -> Result<Zeroizing<String>, OperatorError> {
    let mut password = Zeroizing::new(String::with_capacity(256));
    Read::take(input, LINE_MAX).read_line(&mut password)?;
    let length = password.trim_end_matches(['\r', '\n']).len();
    password.truncate(length);
    if password.is_empty() { Err(OperatorError::NoPassword) } else { Ok(password) }
}

async fn create(
    accounts: &Accounts,
    name: &str,
    password: Result<Zeroizing<String>, OperatorError>,
    now: Micros,
    out: &mut impl Write,
) -> Done {
    let password = accounts.new_password(password?.to_string(), None)?;
    if !accounts.create_admin(name, password, now).await? {
        return Err(OperatorError::AdminExists { name: name.to_owned() });
    }
    Ok(line(out, &["created", name])?)
}

async fn list(accounts: &Accounts, args: &AdminListArgs, out: &mut impl Write) -> Done {
    let admins = accounts.admins().await?;
    let mut table = Table::new(out, args.output.format(), ["name", "created"])?;
    for Admin { name, created, .. } in admins {
        table.row([Some(&name), Some(&time(created))])?;
    }
    Ok(())
}

async fn remove(accounts: &Accounts, name: &str, out: &mut impl Write) -> Done {
    if !accounts.remove_admin(name).await? {
        return Err(OperatorError::UnknownAdmin { name: name.to_owned() });
    }
    Ok(line(out, &["removed", name])?)
}
