//! `matchwire feeds`: manages feed keys, with or without a running hub. The quarantine is handled
//! by [`quarantine`](super::quarantine).

use std::io::{self, Write};

use crate::{
    cli::feeds::{
        FeedHistoryArgs, FeedKeyCommand, FeedKeyCreateArgs, FeedKeyListArgs, FeedKeyRevokeArgs,
    },
    commands::key::key_state,
    config::AccountsConfig,
    table::{Table, time},
};
use accounts::{Accounts, AccountsError, FeedKeySummary, Micros};
use hub::sources::states::{StateChange, StateStore};

#[derive(Debug, thiserror::Error)]
pub enum FeedKeyError {
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    #[error("no key of {source_name:?} to revoke")]
    NothingToRevoke { source_name: String },
    #[error("cannot write the output")]
    Output(#[from] io::Error),
    #[error("cannot read the database")]
    Database(#[from] sqlx::Error),
}

/// Runs the command, and prints its output.
///
/// # Errors
///
/// If the database cannot be used, if there is no such key, or if the output cannot be written.
pub async fn key(
    command: FeedKeyCommand,
    config: &AccountsConfig,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), FeedKeyError> {
    match command {
        FeedKeyCommand::Create(FeedKeyCreateArgs { db, all_matches, deadline_ms, source }) => {
            let accounts = Accounts::open_with(&db, config).await?;
            let key = accounts.create_feed_key(&source, all_matches, deadline_ms, now).await?;
            accounts.close().await;
            writeln!(out, "{}", key.expose())?;
        }
        FeedKeyCommand::List(args) => list(args, config, out).await?,
        FeedKeyCommand::Revoke(FeedKeyRevokeArgs { db, source, key }) => {
            let accounts = Accounts::open_existing(&db, config).await?;
            let revoked = accounts.revoke_feed_keys(&source, key.as_deref(), now).await?;
            accounts.close().await;
            if revoked == 0 {
                return Err(FeedKeyError::NothingToRevoke { source_name: source });
            }
            writeln!(out, "revoked {revoked}")?;
        }
    }
    Ok(())
}

async fn list(
    args: FeedKeyListArgs,
    config: &AccountsConfig,
    out: &mut impl Write,
) -> Result<(), FeedKeyError> {
    let FeedKeyListArgs { db, source: wanted, output } = args;
    let accounts = Accounts::open_existing(&db, config).await?;
    let mut keys = accounts.feed_keys().await?;
    accounts.close().await;
    keys.retain(|key| wanted.as_ref().is_none_or(|wanted| key.source == *wanted));
    let columns = ["prefix", "source", "created", "state", "matches", "deadline_ms"];
    let mut table = Table::new(out, output.format(), columns)?;
    for key in keys {
        let FeedKeySummary { source, prefix, all_matches, deadline_ms, created, revoked } = key;
        let state = key_state(revoked);
        let matches = if all_matches { "all matches" } else { "own matches" };
        table.row([
            Some(&prefix),
            Some(&source),
            Some(&time(created)),
            Some(&state),
            Some(matches),
            deadline_ms.map(|ms| ms.to_string()).as_deref(),
        ])?;
    }
    Ok(())
}

/// Prints the history of the states of sources.
///
/// # Errors
///
/// If the database cannot be used, or the output cannot be written.
pub async fn history(
    FeedHistoryArgs { db, source, output }: FeedHistoryArgs,
    config: &AccountsConfig,
    out: &mut impl Write,
) -> Result<(), FeedKeyError> {
    let accounts = Accounts::open_existing(&db, config).await?;
    let changes = StateStore::new(accounts.database()).newest(source.as_deref(), usize::MAX).await;
    accounts.close().await;
    let mut table = Table::new(out, output.format(), ["at", "source", "state", "reason"])?;
    for StateChange { source, at, state, reason } in changes? {
        table.row([Some(&*time(at)), Some(&*source), Some(&*state), reason.as_deref()])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::OutputArgs;
    use database::{DatabaseName, testing::on_each};

    const NOW: Micros = 1_788_280_000_000_000;

    async fn answer(command: FeedKeyCommand) -> Result<String, FeedKeyError> {
        let mut out = Vec::new();
        key(command, &AccountsConfig::default(), NOW, &mut out).await?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn create_in(db: &DatabaseName, source: &str, all_matches: bool) -> FeedKeyCommand {
        let (db, source) = (db.clone(), source.to_owned());
        let deadline_ms = all_matches.then_some(30_000);
        FeedKeyCommand::Create(FeedKeyCreateArgs { db, all_matches, deadline_ms, source })
    }

    fn list_in(db: &DatabaseName, source: Option<&str>, json: bool) -> FeedKeyCommand {
        let (db, source) = (db.clone(), source.map(str::to_owned));
        FeedKeyCommand::List(FeedKeyListArgs { db, source, output: OutputArgs { json } })
    }

    #[tokio::test]
    async fn keys_are_listed_without_their_secret_and_revoked() {
        on_each(async |database| {
            let db = database.name();
            let one = answer(create_in(db, "acme", false)).await.unwrap();
            let other = answer(create_in(db, "other", true)).await.unwrap();
            assert_eq!((one.len(), &one[..4]), (53, "mwf_"));
            let revoke = |key| {
                FeedKeyCommand::Revoke(FeedKeyRevokeArgs {
                    db: db.clone(),
                    source: "acme".to_owned(),
                    key,
                })
            };
            let wrong = answer(revoke(Some(other.trim().to_owned()))).await.unwrap_err();
            assert_eq!(wrong.to_string(), "no key of \"acme\" to revoke");
            assert_eq!(answer(revoke(Some(one.trim().to_owned()))).await.unwrap(), "revoked 1\n");
            let (one, other) = (&one[..12], &other[..12]);
            let at = "2026-09-01T16:26:40Z";
            assert_eq!(
                answer(list_in(db, None, false)).await.unwrap(),
                format!(
                    "PREFIX\tSOURCE\tCREATED\tSTATE\tMATCHES\tDEADLINE_MS\n\
                     {one}\tacme\t{at}\trevoked {at}\town matches\t-\n\
                     {other}\tother\t{at}\tactive\tall matches\t30000\n"
                )
            );
            let of_one = answer(list_in(db, Some("other"), false)).await.unwrap();
            assert_eq!(of_one.lines().count(), 2, "{of_one}");
            let json = answer(list_in(db, Some("other"), true)).await.unwrap();
            let begin = format!("{{\"prefix\":\"{other}\",\"source\":\"other\",");
            assert!(json.starts_with(&begin) && json.lines().count() == 1, "{json}");
        })
        .await;
    }

    #[tokio::test]
    async fn changes_of_states_are_listed() {
        on_each(async |database| {
            let store = StateStore::new(&database);
            for (source, at, state, reason) in
                [("acme", NOW, "late", Some("silent for 60000 ms")), ("other", NOW, "live", None)]
            {
                let (source, state) = (source.into(), state.into());
                let reason = reason.map(std::sync::Arc::from);
                store.write(&StateChange { source, at, state, reason }).await.unwrap();
            }
            let answer = async |source: Option<&str>| {
                let (db, output) = (database.name().clone(), OutputArgs { json: false });
                let args = FeedHistoryArgs { db, source: source.map(str::to_owned), output };
                let mut out = Vec::new();
                history(args, &AccountsConfig::default(), &mut out).await.unwrap();
                String::from_utf8(out).unwrap()
            };
            let late = "2026-09-01T16:26:40Z\tacme\tlate\tsilent for 60000 ms\n";
            let live = "2026-09-01T16:26:40Z\tother\tlive\t-\n";
            let head = "AT\tSOURCE\tSTATE\tREASON\n";
            assert_eq!(answer(None).await, format!("{head}{live}{late}"));
            assert_eq!(answer(Some("acme")).await, format!("{head}{late}"));
        })
        .await;
    }

    #[tokio::test]
    async fn mistyped_path_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("b.db").into();
        assert!(answer(list_in(&missing, None, false)).await.is_err());
    }
}
