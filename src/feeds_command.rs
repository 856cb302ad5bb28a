//! `matchwire feeds`: keys of sources that push, from the operator's terminal, beside a running hub
//! or without one. What concerns the quarantine is `quarantine_command`'s.

use std::io::{self, Write};

use jiff::Timestamp;

use crate::{
    accounts::{Accounts, AccountsError, FeedKeySummary, Micros},
    cli::feeds::{FeedKeyCommand, FeedKeyCreateArgs, FeedKeyListArgs, FeedKeyRevokeArgs},
    config::AccountsConfig,
};

#[derive(Debug, thiserror::Error)]
pub enum FeedKeyError {
    #[error(transparent)]
    Accounts(#[from] AccountsError),
    #[error("no key of {source_name:?} to revoke")]
    NothingToRevoke { source_name: String },
    #[error("cannot write the answer")]
    Output(#[from] io::Error),
}

/// Does what the command says, and writes its answer.
///
/// # Errors
///
/// If the database cannot be used, if there is no such key, or if nobody reads the answer.
pub async fn key(
    command: FeedKeyCommand,
    config: &AccountsConfig,
    now: Micros,
    out: &mut impl Write,
) -> Result<(), FeedKeyError> {
    match command {
        FeedKeyCommand::Create(FeedKeyCreateArgs { db, all_matches, source }) => {
            let accounts = Accounts::open_with(&db, config).await?;
            let key = accounts.create_feed_key(&source, all_matches, now).await?;
            accounts.close().await;
            writeln!(out, "{}", key.expose())?;
        }
        FeedKeyCommand::List(FeedKeyListArgs { db, source }) => {
            let accounts = Accounts::open_existing(&db, config).await?;
            let keys = accounts.feed_keys().await?;
            accounts.close().await;
            let wanted =
                |key: &&FeedKeySummary| source.as_ref().is_none_or(|source| key.source == *source);
            for key in keys.iter().filter(wanted) {
                writeln!(out, "{}", line(key))?;
            }
        }
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

/// Tab-separated: prefix, source, when it was made, what became of it, what it may speak of.
fn line(key: &FeedKeySummary) -> String {
    let FeedKeySummary { source, prefix, all_matches, created, revoked } = key;
    let state = revoked.map_or_else(|| "active".to_owned(), |at| format!("revoked {}", time(at)));
    let matches = if *all_matches { "all matches" } else { "own matches" };
    format!("{prefix}\t{source}\t{}\t{state}\t{matches}", time(*created))
}

/// RFC 3339, to the second.
pub(crate) fn time(at: Micros) -> String {
    Timestamp::from_microsecond(at).map_or_else(|_| at.to_string(), |at| format!("{at:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::{DatabaseName, testing::on_each};

    const NOW: Micros = 1_788_280_000_000_000;

    async fn answer(command: FeedKeyCommand) -> Result<String, FeedKeyError> {
        let mut out = Vec::new();
        key(command, &AccountsConfig::default(), NOW, &mut out).await?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn create_in(db: &DatabaseName, source: &str, all_matches: bool) -> FeedKeyCommand {
        let (db, source) = (db.clone(), source.to_owned());
        FeedKeyCommand::Create(FeedKeyCreateArgs { db, all_matches, source })
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
            let all = FeedKeyListArgs { db: db.clone(), source: None };
            let at = "2026-09-01T16:26:40Z";
            assert_eq!(
                answer(FeedKeyCommand::List(all)).await.unwrap(),
                format!(
                    "{}\tacme\t{at}\trevoked {at}\town matches\n{}\tother\t{at}\tactive\tall matches\n",
                    &one[..12],
                    &other[..12]
                )
            );
            let of_one = FeedKeyListArgs { db: db.clone(), source: Some("other".to_owned()) };
            assert_eq!(answer(FeedKeyCommand::List(of_one)).await.unwrap().lines().count(), 1);
        })
        .await;
    }

    #[tokio::test]
    async fn a_mistyped_path_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let missing = FeedKeyListArgs { db: dir.path().join("b.db").into(), source: None };
        assert!(answer(FeedKeyCommand::List(missing)).await.is_err());
    }
}
