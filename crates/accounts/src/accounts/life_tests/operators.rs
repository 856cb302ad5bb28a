//! What operators do: block accounts, and log in themselves.

use super::*;

#[tokio::test]
async fn blocked_account_loses_access_at_once_and_regains_its_key() {
    on_each_accounts(async |life| {
        let (account, key) = life.active(ME).await;
        let caller = life.accounts.authenticate(key.expose(), HERE, NOW).await.unwrap().unwrap();
        let session = life.log_in(ME, PASSWORD, NOW).await.unwrap();
        let mut changes = life.accounts.changes();

        assert!(life.accounts.block(account, true, NOW + 1).await.unwrap());
        assert!(!life.works(&key, NOW + 1).await, "not even from the cache");
        assert_eq!(life.accounts.renew(&caller).await.unwrap(), None, "its sockets are to close");
        assert_eq!(changes.try_recv(), Ok(caller.key));
        assert_eq!(life.session(&session, NOW + 1).await, None);
        assert_eq!(life.log_in(ME, PASSWORD, NOW + 1).await, None);
        let mails = life.mails(ME).await;
        life.register(ME, PASSWORD, NOW + 1).await;
        assert_eq!(life.mails(ME).await, mails, "and hears nothing");
        assert!(!life.accounts.block(account, true, NOW + 2).await.unwrap());
        assert_eq!(life.customer(account).await.unwrap().blocked, Some(NOW + 1));

        assert!(life.accounts.block(account, false, NOW + 3).await.unwrap());
        assert!(life.works(&key, NOW + 3).await);
        assert!(life.log_in(ME, PASSWORD, NOW + 3).await.is_some());
        assert_eq!(life.session(&session, NOW + 3).await, None, "sessions have ended for good");
        assert!(!life.accounts.block(AccountId(999), true, NOW).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn administrators_are_separate_from_customers() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        let new = || life.new_password("an admin's password");
        assert!(life.accounts.create_admin("root", new(), NOW).await.unwrap());
        assert!(
            !life.accounts.create_admin("root", new(), NOW).await.unwrap(),
            "the name is taken"
        );
        let log_in = async |name: &str, typed: &str| {
            life.accounts.log_in_admin(name, password(typed), NOW).await.unwrap()
        };
        for (name, typed) in [("root", PASSWORD), ("nobody", "an admin's password"), (ME, PASSWORD)]
        {
            assert_eq!(log_in(name, typed).await, LogInOutcome::Refused, "{name}");
        }
        let LogInOutcome::In { who, secret } = log_in("root", "an admin's password").await else {
            panic!("refused");
        };
        let admins = life.accounts.admins().await.unwrap();
        assert_eq!((admins[0].name.as_str(), admins[0].created), ("root", NOW));
        assert_eq!(who, SessionOwner::Admin(admins[0].id));
        assert_eq!(life.session(&secret, NOW).await.unwrap().who, who);
        life.accounts.end_all_sessions(account).await.unwrap();
        assert!(life.session(&secret, NOW).await.is_some());

        let end = NOW + quick().admin_session_age_max();
        assert!(life.session(&secret, end - 1).await.is_some());
        assert_eq!(life.session(&secret, end).await, None, "sooner than a customer's");
        assert!(life.accounts.remove_admin("root").await.unwrap());
        assert!(!life.accounts.remove_admin("root").await.unwrap());
        assert_eq!(life.session(&secret, NOW).await, None, "the session goes with its owner");
        assert_eq!(log_in("root", "an admin's password").await, LogInOutcome::Refused);
    })
    .await;
}

#[tokio::test]
async fn password_of_an_administrator_is_rehashed() {
    on_each(async |database| {
        let before = TestAccounts::new(&database).await;
        let new = before.new_password(PASSWORD);
        before.accounts.create_admin("root", new, NOW).await.unwrap();
        let after =
            TestAccounts::with(&database, AccountsConfig { password_passes: 2, ..quick() }).await;
        for _ in 0..2 {
            let entered = after.accounts.log_in_admin("root", password(PASSWORD), NOW).await;
            assert!(matches!(entered.unwrap(), LogInOutcome::In { .. }));
        }
        let new = "SELECT count(*) FROM admins WHERE password LIKE '%t=2,p=1$%'";
        assert_eq!(after.count(new).await, 1);
    })
    .await;
}
