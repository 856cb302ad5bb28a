//! Deleting an account.

use super::*;

#[tokio::test]
async fn deleted_account_loses_keys_sessions_links_and_mails() {
    on_each_accounts(async |life| {
        let (account, key) = life.active(ME).await;
        let other = life.accounts.create_key(Some(ME), &[(Addon::Odds, 30)], NOW).await.unwrap();
        let caller = life.accounts.authenticate(key.expose(), HERE, NOW).await.unwrap().unwrap();
        let session = life.log_in(ME, PASSWORD, NOW).await.unwrap();
        let link = life.reset_link(ME).await;
        let mut changes = life.accounts.changes();

        let wrong = life.accounts.delete_account(account, password("wrong horse"), NOW).await;
        assert_eq!(wrong.unwrap(), ReauthOutcome::WrongPassword);
        assert!(life.works(&key, NOW).await);
        let done = life.accounts.delete_account(account, password(PASSWORD), NOW + 1).await;
        assert_eq!(done.unwrap(), ReauthOutcome::Done);

        assert!(!life.works(&key, NOW + 1).await && !life.works(&other, NOW + 1).await);
        assert_eq!(life.accounts.renew(&caller).await.unwrap(), None, "its sockets are to close");
        let changed = [changes.try_recv().unwrap(), changes.try_recv().unwrap()];
        assert!(changed.contains(&caller.key), "{changed:?}");
        assert_eq!(life.session(&session, NOW + 1).await, None);
        assert_eq!(life.customer(account).await, None);
        assert_eq!(life.log_in(ME, PASSWORD, NOW + 1).await, None);
        let reset = life.accounts.reset(&link, life.new_password(PASSWORD), NOW + 1).await;
        assert_eq!(reset.unwrap(), LinkOutcome::Unknown);
        assert_eq!(life.mails(ME).await, [MailKind::AccountDeleted]);
        let again = life.accounts.delete_account(account, password(PASSWORD), NOW + 2).await;
        assert_eq!(again.unwrap(), ReauthOutcome::WrongPassword);
    })
    .await;
}

#[tokio::test]
async fn deleted_account_leaves_an_anonymous_row_and_its_ledger() {
    on_each(async |database| {
        let life = TestAccounts::new(&database).await;
        let (account, _) = life.active(ME).await;
        life.accounts.create_key(Some(ME), &[(Addon::Odds, 30)], NOW).await.unwrap();
        sqlx::query(
            "INSERT INTO ledger (account_id, addon, kind, days, amount, currency, expires_us, note, at_us) \
             VALUES ($1, 'odds', 'gift', 30, '0', 'USD', 1, '', 1)",
        )
        .bind(account.0)
        .execute(database.pool())
        .await
        .unwrap();
        life.accounts.delete_account(account, password(PASSWORD), NOW).await.unwrap();
        let nameless = "SELECT count(*) FROM accounts WHERE email IS NULL AND password IS NULL \
                        AND deleted_us IS NOT NULL";
        assert_eq!(life.count(nameless).await, 1);
        assert_eq!(life.count("SELECT count(*) FROM ledger WHERE expires_us = 1").await, 1);
        assert_eq!(life.count("SELECT count(*) FROM addons").await, 0);
        assert_eq!(life.count("SELECT count(*) FROM sessions").await, 0);
        assert_eq!(life.count("SELECT count(*) FROM links").await, 0);
        life.accounts.sweep(NOW + 1_000 * DAY_US).await.unwrap();
        assert_eq!(life.count("SELECT count(*) FROM accounts").await, 1, "it is never swept");
    })
    .await;
}

/// SPEC section 3, rule 2: a returning customer has a new account without the badge.
#[tokio::test]
async fn address_of_a_deleted_account_can_register_a_new_account() {
    on_each_accounts(async |life| {
        let (old, old_key) = life.active(ME).await;
        life.execute("UPDATE accounts SET founder_us = 7").await;
        life.accounts.delete_account(old, password(PASSWORD), NOW).await.unwrap();
        let (new, key) = life.active(ME).await;
        assert_ne!(new, old);
        assert_eq!(life.customer(new).await.unwrap().founder, None);
        assert!(life.works(&key, NOW).await && !life.works(&old_key, NOW).await);
    })
    .await;
}
