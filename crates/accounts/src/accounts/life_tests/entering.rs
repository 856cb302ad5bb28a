//! Logging in.

use super::*;

/// Every refusal is the same answer.
#[tokio::test]
async fn all_refused_log_ins_look_the_same() {
    on_each_accounts(async |life| {
        life.active(ME).await;
        life.register("inactive@x.org", PASSWORD, NOW).await;
        let (blocked, _) = life.active("blocked@x.org").await;
        life.accounts.block(blocked, true, NOW).await.unwrap();
        let (deleted, _) = life.active("deleted@x.org").await;
        life.accounts.delete_account(deleted, password(PASSWORD), NOW).await.unwrap();
        life.accounts.create_key(Some("operators@x.org"), &[], NOW).await.unwrap();
        for (address, typed) in [
            (ME, "wrong horse"),
            (ME, ""),
            (ME, "Correct horse"),
            ("nobody@x.org", PASSWORD),
            ("inactive@x.org", PASSWORD),
            ("blocked@x.org", PASSWORD),
            ("deleted@x.org", PASSWORD),
            ("operators@x.org", ""),
        ] {
            let answer = life.accounts.log_in(&email(address), password(typed), NOW).await;
            assert_eq!(answer.unwrap(), LogInOutcome::Refused, "{address}");
        }
        assert!(life.log_in(" ME@x.org", PASSWORD, NOW).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn each_log_in_starts_a_new_session() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        let one = life.log_in(ME, PASSWORD, NOW).await.unwrap();
        let other = life.log_in(ME, PASSWORD, NOW).await.unwrap();
        assert_ne!(one, other);
        let who = life.session(&one, NOW).await.unwrap().who;
        assert_eq!(who, SessionOwner::Customer(account));
        assert!(life.session(&other, NOW).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn password_is_rehashed_when_the_settings_change() {
    on_each(async |database| {
        let before = TestAccounts::new(&database).await;
        before.active(ME).await;
        let after = TestAccounts::with(&database, AccountsConfig { password_passes: 2, ..quick() }).await;
        let hash = "SELECT CASE WHEN password LIKE '$argon2id$v=19$m=8,t=2,p=1$%' THEN 1 ELSE 0 END \
                    FROM accounts";
        let is_new = async || -> i64 {
            let hash = sqlx::query_scalar(hash).fetch_one(database.pool()).await;
            hash.unwrap()
        };
        assert_eq!(after.log_in(ME, "wrong horse", NOW).await, None);
        assert_eq!(is_new().await, 0, "a wrong password changes nothing");
        assert!(after.log_in(ME, PASSWORD, NOW).await.is_some());
        assert_eq!(is_new().await, 1);
        assert!(after.log_in(ME, PASSWORD, NOW).await.is_some());
        assert!(before.log_in(ME, PASSWORD, NOW).await.is_some(), "and back again");
    })
    .await;
}

/// With the pepper in a setting, a stolen database alone does not allow testing a guess.
#[tokio::test]
async fn password_hashes_depend_on_the_pepper() {
    on_each(async |database| {
        let with = |pepper: &str| AccountsConfig { pepper: pepper.into(), ..quick() };
        let life = TestAccounts::with(&database, with("one")).await;
        life.active(ME).await;
        life.execute("DELETE FROM meta").await;
        let thief = TestAccounts::with(&database, with("two")).await;
        assert_eq!(thief.log_in(ME, PASSWORD, NOW).await, None);
        assert!(life.log_in(ME, PASSWORD, NOW).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn database_has_no_password_and_no_session_secret() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&folder.path().join("test.db").into()).await.unwrap();
    let life = TestAccounts::new(&database).await;
    let (_, key) = life.active(ME).await;
    let secret = life.log_in(ME, PASSWORD, NOW).await.unwrap();
    let link = life.reset_link(ME).await;
    let files = std::fs::read_dir(folder.path()).unwrap();
    let bytes: Vec<u8> =
        files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds(ME) && holds("$argon2id$"));
    let (_, mac) = link.split_once('.').unwrap();
    for text in [PASSWORD, secret.expose(), &key.expose()[11..], mac] {
        assert!(!holds(text), "{text} lies in the file");
    }
    database.close().await;
}
