//! How long sessions last.

use data_encoding::HEXLOWER;

use super::*;

#[tokio::test]
async fn idle_session_expires() {
    on_each_accounts(async |life| {
        life.active(ME).await;
        let idle = quick().session_idle_max();
        let unused = life.log_in(ME, PASSWORD, NOW).await.unwrap();
        let used = life.log_in(ME, PASSWORD, NOW).await.unwrap();
        assert!(life.session(&used, NOW + idle - 1).await.is_some());
        assert!(life.session(&unused, NOW + idle).await.is_none());
        assert!(life.session(&used, NOW + idle).await.is_some(), "it was used meanwhile");
    })
    .await;
}

#[tokio::test]
async fn active_session_expires_at_its_maximum_age() {
    on_each_accounts(async |life| {
        life.active(ME).await;
        let secret = life.log_in(ME, PASSWORD, NOW).await.unwrap();
        let end = NOW + quick().session_age_max();
        let mut now = NOW;
        while now + DAY_US < end {
            now += DAY_US;
            assert_eq!(life.session(&secret, now).await.unwrap().expires, end);
        }
        assert!(life.session(&secret, end - 1).await.is_some());
        assert_eq!(life.session(&secret, end).await, None);
    })
    .await;
}

#[tokio::test]
async fn visit_is_stored_at_most_once_a_minute() {
    on_each_accounts(async |life| {
        life.active(ME).await;
        let secret = life.log_in(ME, PASSWORD, NOW).await.unwrap();
        let seen = async || life.count("SELECT seen_us FROM sessions").await - NOW;
        for (visit, written) in
            [(59_999_999, 0), (60_000_000, 60_000_000), (61_000_000, 60_000_000)]
        {
            life.session(&secret, NOW + visit).await.unwrap();
            assert_eq!(seen().await, written, "after a visit at {visit}");
        }
    })
    .await;
}

#[tokio::test]
async fn oldest_session_ends_beyond_the_limit() {
    on_each(async |database| {
        let config = AccountsConfig { sessions_max_per_account: 3, ..quick() };
        let life = TestAccounts::with(&database, config).await;
        life.active(ME).await;
        life.active("you@x.org").await;
        let others = life.log_in("you@x.org", PASSWORD, NOW).await.unwrap();
        let mut secrets = Vec::new();
        for second in 0..5 {
            let now = NOW + second * 1_000_000;
            secrets.push(life.log_in(ME, PASSWORD, now).await.unwrap());
        }
        let mut last = Vec::new();
        for secret in &secrets {
            last.push(life.session(secret, NOW + 5_000_000).await.is_some());
        }
        assert_eq!(last, [false, false, true, true, true]);
        assert!(life.session(&others, NOW).await.is_some(), "the session of another account");
    })
    .await;
}

#[tokio::test]
async fn newest_session_survives_if_all_started_at_once() {
    on_each(async |database| {
        let config = AccountsConfig { sessions_max_per_account: 1, ..quick() };
        let life = TestAccounts::with(&database, config).await;
        life.active(ME).await;
        for _ in 0..5 {
            let secret = life.log_in(ME, PASSWORD, NOW).await.unwrap();
            assert!(life.session(&secret, NOW).await.is_some());
        }
        assert_eq!(life.count("SELECT count(*) FROM sessions").await, 1);
    })
    .await;
}

#[tokio::test]
async fn log_out_ends_one_session_and_log_out_everywhere_ends_all() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        life.active("you@x.org").await;
        let others = life.log_in("you@x.org", PASSWORD, NOW).await.unwrap();
        let mut secrets = Vec::new();
        for _ in 0..3 {
            secrets.push(life.log_in(ME, PASSWORD, NOW).await.unwrap());
        }
        life.accounts.end_session(secrets[0].expose()).await.unwrap();
        assert_eq!(life.session(&secrets[0], NOW).await, None);
        assert!(life.session(&secrets[1], NOW).await.is_some());
        life.accounts.end_all_sessions(account).await.unwrap();
        for secret in &secrets {
            assert_eq!(life.session(secret, NOW).await, None);
        }
        assert!(life.session(&others, NOW).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn invalid_session_secret_has_no_session() {
    on_each(async |database| {
        let life = TestAccounts::new(&database).await;
        life.active(ME).await;
        let secret = life.log_in(ME, PASSWORD, NOW).await.unwrap();
        let stolen: Vec<u8> = sqlx::query_scalar("SELECT hash FROM sessions")
            .fetch_one(database.pool())
            .await
            .unwrap();
        let hash = HEXLOWER.encode(&stolen);
        let guessed = SessionSecret::generate().unwrap();
        for text in ["", "' OR 1=1 --", &secret.expose()[1..], &hash, guessed.expose()] {
            assert_eq!(life.accounts.session(text, NOW).await.unwrap(), None, "{text}");
            life.accounts.end_session(text).await.unwrap();
        }
        assert!(life.session(&secret, NOW).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn only_an_active_account_gets_a_session() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        assert!(life.accounts.start_session(SessionOwner::Customer(account), NOW).await.is_ok());
        life.accounts.block(account, true, NOW).await.unwrap();
        for who in [
            SessionOwner::Customer(account),
            SessionOwner::Customer(AccountId(999)),
            SessionOwner::Admin(AdminId(999)),
        ] {
            let refused = life.accounts.start_session(who, NOW).await;
            assert!(matches!(refused, Err(AccountsError::Gone)), "{who:?}: {refused:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn only_expired_rows_are_swept() {
    on_each_accounts(async |life| {
        life.active(ME).await;
        life.register("never@x.org", PASSWORD, NOW).await;
        life.log_in(ME, PASSWORD, NOW).await.unwrap();
        assert_eq!(life.accounts.sweep(NOW + HOUR_US).await.unwrap(), SweepResult::default());

        let idle = NOW + quick().session_idle_max();
        let secret = life.log_in(ME, PASSWORD, idle - 1).await.unwrap();
        // Registered again lately: its link is good for a while.
        life.register("again@x.org", PASSWORD, NOW).await;
        life.accounts.resend_verification(&email("again@x.org"), idle - 1).await.unwrap();
        let swept = life.accounts.sweep(idle).await.unwrap();
        assert_eq!(swept, SweepResult { sessions: 1, links: 0, accounts: 1, grants: 0 });
        assert!(life.session(&secret, idle).await.is_some());
        assert_eq!(life.find("never@x.org").await, None);
        assert!(life.find("again@x.org").await.is_some());
        assert!(life.find(ME).await.is_some());

        let late = idle + 32 * DAY_US;
        let swept = life.accounts.sweep(late).await.unwrap();
        assert_eq!((swept.sessions, swept.accounts), (1, 1));
        assert_eq!(life.count("SELECT count(*) FROM links").await, 0);
        assert!(life.find(ME).await.is_some(), "who was confirmed stays");
    })
    .await;
}
