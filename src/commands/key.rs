//! `matchwire key`: manages keys, with or without a running hub.
//!
//! A key is printed once, when it is created, alone on its line, so that a script can read it.

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

use crate::{
    cli::{KeyCommand, KeyCreateArgs, KeyListArgs, KeyRevokeArgs},
    commands::operator,
    config::AccountsConfig,
    table::{Table, time},
};
use accounts::{
    Accounts, AccountsError, KeySummary, KeyTerms, KeyTermsError, Micros, RevokeOutcome,
};

const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;

#[derive(Debug, thiserror::Error)]
pub enum KeyCommandError {
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    #[error(transparent)]
    Terms(#[from] KeyTermsError),
    #[error("no key `{prefix}`")]
    UnknownKey { prefix: String },
    #[error("cannot write the output")]
    Output(#[from] io::Error),
}

/// Runs the command, and prints its output.
///
/// # Errors
///
/// If the database cannot be used, if there is no such key, or if the output cannot be written.
pub async fn run(
    command: KeyCommand,
    config: &AccountsConfig,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), KeyCommandError> {
    match command {
        KeyCommand::Create(args) => create(args, config, now, out).await,
        KeyCommand::List(args) => list(args, config, now, out).await,
        KeyCommand::Revoke(args) => revoke(args, config, now, out).await,
    }
}

async fn create(
    args: KeyCreateArgs,
    config: &AccountsConfig,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), KeyCommandError> {
    let terms = args.named.name.as_ref().map(|name| {
        let scopes = args.named.scopes.iter().copied().collect();
        let ends = args.named.ends_after_days.map(|days| now + i64::from(days) * DAY_US);
        KeyTerms::new(name, scopes, &args.named.networks.join(" "), ends, now)
    });
    let terms = terms.transpose()?;
    let accounts = Accounts::open_with(&args.db, config).await?;
    // A repeated add-on counts once.
    let addons = BTreeSet::from_iter(args.addons);
    let addons = addons.into_iter().map(|addon| (addon, args.days)).collect::<Vec<_>>();
    let email = args.email.as_deref();
    let key = accounts.create_key_with(email, &addons, terms.as_ref(), now).await?;
    accounts.close().await;
    Ok(writeln!(out, "{}", key.expose())?)
}

async fn list(
    args: KeyListArgs,
    config: &AccountsConfig,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), KeyCommandError> {
    let accounts = Accounts::open_existing(&args.db, config).await?;
    let keys = accounts.keys().await?;
    accounts.close().await;
    let columns = ["prefix", "address", "created", "state", "addons", "name", "scopes"];
    let mut table = Table::new(out, args.output.format(), columns)?;
    for KeySummary { prefix, email, created, revoked, addons, terms, .. } in keys {
        let ended = terms.as_ref().and_then(|terms| terms.ends).filter(|ends| *ends <= now);
        let state = match (revoked, ended) {
            (None, Some(at)) => format!("ended {}", time(at)),
            (revoked, _) => key_state(revoked),
        };
        let scopes = terms.as_ref().map(|terms| terms.scopes.to_string());
        table.row([
            Some(&prefix),
            email.as_deref(),
            Some(&time(created)),
            Some(&state),
            Some(&operator::addons(&addons)),
            terms.as_ref().map(|terms| &*terms.name),
            scopes.as_deref(),
        ])?;
    }
    Ok(())
}

async fn revoke(
    args: KeyRevokeArgs,
    config: &AccountsConfig,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), KeyCommandError> {
    let accounts = Accounts::open_existing(&args.db, config).await?;
    let revoked = accounts.revoke(&args.key, now).await?;
    accounts.close().await;
    match revoked {
        RevokeOutcome::Now(_) => writeln!(out, "revoked")?,
        // The requested state is reached, so this is not a failure.
        RevokeOutcome::Already { at } => writeln!(out, "had been revoked at {}", time(at))?,
        RevokeOutcome::Unknown => {
            return Err(KeyCommandError::UnknownKey { prefix: visible_part(&args.key) });
        }
    }
    Ok(())
}

/// The cell for the state of a key or feed key.
pub(crate) fn key_state(revoked: Option<Micros>) -> String {
    revoked.map_or_else(|| "active".to_owned(), |at| format!("revoked {}", time(at)))
}

/// As much of a mistyped key as a prefix would have; the rest may be secret.
fn visible_part(key: &str) -> String {
    const PREFIX_CHARS: usize = 11;
    let prefix = key.chars().take(PREFIX_CHARS).collect::<String>();
    if prefix.len() < key.len() { prefix + ".." } else { prefix }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use serde_json::{Value, json};

    use super::*;
    use crate::cli::{NamedKeyArgs, OutputArgs};
    use accounts::{Addon, Scope};
    use database::{DatabaseError, DatabaseName, testing::on_each};

    const NOW: Micros = 1_788_280_000_000_000;

    async fn answer(command: KeyCommand) -> Result<String, KeyCommandError> {
        let mut out = Vec::new();
        run(command, &AccountsConfig::default(), NOW, &mut out).await?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn create_in(db: &DatabaseName, addons: &[Addon]) -> KeyCommand {
        let email = Some("me@example.org".to_owned());
        KeyCommand::Create(KeyCreateArgs {
            db: db.clone(),
            email,
            addons: addons.into(),
            days: 1,
            named: NamedKeyArgs::default(),
        })
    }

    fn list_in(db: &DatabaseName, json: bool) -> KeyCommand {
        KeyCommand::List(KeyListArgs { db: db.clone(), output: OutputArgs { json } })
    }

    fn revoke_in(db: &DatabaseName, key: &str) -> KeyCommand {
        KeyCommand::Revoke(KeyRevokeArgs { db: db.clone(), key: key.to_owned() })
    }

    #[tokio::test]
    async fn printed_key_is_the_only_output_and_works() {
        on_each(async |database| {
            let db = database.name();
            let printed = answer(create_in(db, &[Addon::Odds, Addon::Odds])).await.unwrap();
            let key = printed.strip_suffix('\n').unwrap();
            let accounts = Accounts::new(database, &AccountsConfig::default()).await.unwrap();
            let caller =
                accounts.authenticate(key, Ipv4Addr::LOCALHOST.into(), NOW).await.unwrap().unwrap();
            assert_eq!(caller.expiry(Addon::Odds), Some(NOW + 86_400_000_000));
        })
        .await;
    }

    #[tokio::test]
    async fn keys_are_listed_without_their_secret() {
        on_each(async |database| {
            let db = database.name();
            let key = answer(create_in(db, &[Addon::Websocket])).await.unwrap();
            let prefix = &key[..11];
            assert_eq!(
                answer(list_in(db, false)).await.unwrap(),
                format!(
                    "PREFIX\tADDRESS\tCREATED\tSTATE\tADDONS\tNAME\tSCOPES\n\
                     {prefix}\tme@example.org\t2026-09-01T16:26:40Z\tactive\t\
                     websocket until 2026-09-02T16:26:40Z\t-\t-\n"
                )
            );
        })
        .await;
    }

    #[tokio::test]
    async fn named_key_is_created_with_its_limits() {
        on_each(async |database| {
            let db = database.name();
            let create = |networks: &str| {
                KeyCommand::Create(KeyCreateArgs {
                    db: db.clone(),
                    email: Some("me@example.org".to_owned()),
                    addons: Vec::new(),
                    days: 1,
                    named: NamedKeyArgs {
                        name: Some("ci".to_owned()),
                        scopes: vec![Scope::Football],
                        networks: vec![networks.to_owned()],
                        ends_after_days: Some(2),
                    },
                })
            };
            let printed = answer(create("127.0.0.1")).await.unwrap();
            let accounts =
                Accounts::new(database.clone(), &AccountsConfig::default()).await.unwrap();
            let here = Ipv4Addr::LOCALHOST.into();
            let caller = accounts.authenticate(printed.trim(), here, NOW).await.unwrap().unwrap();
            assert!(caller.has_scope(Scope::Football) && !caller.has_scope(Scope::Stream));
            assert_eq!(caller.ends(), Some(NOW + 2 * DAY_US));
            let listed = answer(list_in(db, false)).await.unwrap();
            assert!(listed.ends_with("\tci\tfootball\n"), "{listed}");
            let wrong = answer(create("home")).await.unwrap_err();
            assert!(matches!(wrong, KeyCommandError::Terms(_)), "{wrong}");
        })
        .await;
    }

    #[tokio::test]
    async fn keys_are_listed_as_json() {
        on_each(async |database| {
            let db = database.name();
            assert_eq!(answer(list_in(db, true)).await.unwrap(), "");
            let key = answer(create_in(db, &[])).await.unwrap();
            let listed = answer(list_in(db, true)).await.unwrap();
            let expected = json!({
                "prefix": &key[..11],
                "address": "me@example.org",
                "created": "2026-09-01T16:26:40Z",
                "state": "active",
                "addons": null,
                "name": null,
                "scopes": null,
            });
            assert_eq!(serde_json::from_str::<Value>(&listed).unwrap(), expected);
        })
        .await;
    }

    #[tokio::test]
    async fn revocation_prints_its_outcome() {
        on_each(async |database| {
            let db = database.name();
            let key = answer(create_in(db, &[])).await.unwrap();
            assert_eq!(answer(revoke_in(db, &key[..11])).await.unwrap(), "revoked\n");
            let again = answer(revoke_in(db, key.trim())).await.unwrap();
            assert_eq!(again, "had been revoked at 2026-09-01T16:26:40Z\n");
            let list = answer(list_in(db, false)).await.unwrap();
            assert!(list.contains("\trevoked 2026-09-01T16:26:40Z\t-"), "{list}");
        })
        .await;
    }

    #[tokio::test]
    async fn unknown_key_is_not_repeated_in_full() {
        on_each(async |database| {
            let db = database.name();
            answer(create_in(db, &[])).await.unwrap();
            let unknown = format!("mw_{}", "0".repeat(48));
            let error = answer(revoke_in(db, &unknown)).await.unwrap_err();
            assert_eq!(error.to_string(), "no key `mw_00000000..`");
            assert_eq!(answer(revoke_in(db, "x")).await.unwrap_err().to_string(), "no key `x`");
        })
        .await;
    }

    #[tokio::test]
    async fn mistyped_path_creates_no_database() {
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("a.db");
        let name = db.as_path().into();
        for command in [list_in(&name, false), revoke_in(&name, "x")] {
            let error = answer(command).await.unwrap_err();
            assert!(matches!(
                error,
                KeyCommandError::Accounts(AccountsError::Database(DatabaseError::Missing { .. }))
            ));
        }
        assert!(!db.exists());
    }
}
