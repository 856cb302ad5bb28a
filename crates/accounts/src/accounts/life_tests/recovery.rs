//! Another password, another address.

use super::*;

async fn reset(life: &TestAccounts, link: &str, typed: &str, now: Micros) -> LinkOutcome {
    life.accounts.reset(link, life.new_password(typed), now).await.unwrap()
}

#[tokio::test]
async fn forgotten_password_is_replaced_by_a_link() {
    on_each_accounts(async |life| {
        let (_, key) = life.active(ME).await;
        let session = life.log_in(ME, PASSWORD, NOW).await.unwrap();
        let link = life.reset_link(ME).await;
        assert!(life.session(&session, NOW).await.is_some(), "a request alone changes nothing");

        assert_eq!(reset(&life, &link, "another horse", NOW).await, LinkOutcome::Done);
        assert_eq!(life.session(&session, NOW).await, None, "all sessions end");
        assert_eq!(life.log_in(ME, PASSWORD, NOW).await, None);
        assert!(life.log_in(ME, "another horse", NOW).await.is_some());
        assert_eq!(life.mails(ME).await.last(), Some(&MailKind::PasswordChanged));
        assert!(life.works(&key, NOW).await, "the key is not a password");

        assert_eq!(reset(&life, &link, "a third horse", NOW).await, LinkOutcome::Already);
        assert!(life.log_in(ME, "another horse", NOW).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn reset_links_expire_and_are_invalidated_by_a_used_one() {
    on_each_accounts(async |life| {
        life.active(ME).await;
        for _ in 0..3 {
            life.request_reset(ME, NOW).await;
        }
        let links = life.links(ME, MailKind::Reset).await;
        let [oldest, middle, newest] = &links[..] else { panic!("{links:?}") };
        let over = NOW + 24 * HOUR_US;
        assert_eq!(reset(&life, oldest, "another horse", over).await, LinkOutcome::Expired);
        assert_eq!(reset(&life, middle, "another horse", over - 1).await, LinkOutcome::Done);
        for link in [oldest, newest] {
            assert_eq!(reset(&life, link, "a third horse", NOW).await, LinkOutcome::Already);
        }
    })
    .await;
}

#[tokio::test]
async fn reset_request_sends_mail_only_to_existing_accounts() {
    on_each_accounts(async |life| {
        life.request_reset("nobody@x.org", NOW).await;
        assert_eq!(life.mails("nobody@x.org").await, []);
        assert_eq!(life.find("nobody@x.org").await, None);

        life.register("inactive@x.org", PASSWORD, NOW).await;
        life.request_reset("inactive@x.org", NOW).await;
        assert_eq!(life.mails("inactive@x.org").await, [MailKind::Verify, MailKind::Verify]);

        let (blocked, _) = life.active("blocked@x.org").await;
        let link = life.reset_link("blocked@x.org").await;
        life.accounts.block(blocked, true, NOW).await.unwrap();
        life.request_reset("blocked@x.org", NOW).await;
        assert_eq!(life.mails("blocked@x.org").await, [MailKind::Verify, MailKind::Reset]);
        assert_eq!(reset(&life, &link, "another horse", NOW).await, LinkOutcome::Unknown);
    })
    .await;
}

#[tokio::test]
async fn account_created_by_operator_gets_its_first_password_by_reset() {
    on_each_accounts(async |life| {
        let key = life.accounts.create_key(Some(ME), &[], NOW).await.unwrap();
        let link = life.reset_link(ME).await;
        assert_eq!(reset(&life, &link, PASSWORD, NOW).await, LinkOutcome::Done);
        assert!(life.log_in(ME, PASSWORD, NOW).await.is_some());
        assert!(life.works(&key, NOW).await);
    })
    .await;
}

#[tokio::test]
async fn password_change_requires_the_old_password() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        let session = life.log_in(ME, PASSWORD, NOW).await.unwrap();
        let link = life.reset_link(ME).await;
        let change = async |old: &str| {
            let new = life.new_password("another horse");
            life.accounts.change_password(account, password(old), new, NOW).await.unwrap()
        };
        assert_eq!(change("wrong horse").await, ReauthOutcome::WrongPassword);
        assert!(life.session(&session, NOW).await.is_some());
        assert_eq!(change(PASSWORD).await, ReauthOutcome::Done);
        assert_eq!(life.session(&session, NOW).await, None);
        assert_eq!(life.log_in(ME, PASSWORD, NOW).await, None);
        assert!(life.log_in(ME, "another horse", NOW).await.is_some());
        assert_eq!(life.mails(ME).await.last(), Some(&MailKind::PasswordChanged));
        assert_eq!(reset(&life, &link, PASSWORD, NOW).await, LinkOutcome::Already);
    })
    .await;
}

#[tokio::test]
async fn short_passwords_are_refused_only_when_set() {
    on_each(async |database| {
        let life = TestAccounts::new(&database).await;
        let refused = life.accounts.new_password("9 letters".to_owned(), None).unwrap_err();
        assert_eq!(refused, WeakPassword::TooShort { chars_min: 10 });
        life.active(ME).await;
        let strict = AccountsConfig { password_chars_min: 20, ..quick() };
        let later = TestAccounts::with(&database, strict).await;
        assert!(later.log_in(ME, PASSWORD, NOW).await.is_some());
    })
    .await;
}

async fn ask_change(life: &TestAccounts, account: AccountId, to: &str) -> EmailChangeOutcome {
    let (to, typed) = (email(to), password(PASSWORD));
    life.accounts.request_email_change(account, &to, typed, NOW).await.unwrap()
}

#[tokio::test]
async fn address_is_changed_by_a_link_to_the_new_one() {
    on_each_accounts(async |life| {
        let (account, key) = life.active(ME).await;
        let of_old_address = life.reset_link(ME).await;
        let wrong = password("wrong horse");
        let refused_change =
            life.accounts.request_email_change(account, &email("new@x.org"), wrong, NOW).await;
        assert_eq!(refused_change.unwrap(), EmailChangeOutcome::WrongPassword);
        assert_eq!(ask_change(&life, account, "New@x.org").await, EmailChangeOutcome::Sent);
        assert_eq!(life.mails("new@x.org").await, [MailKind::EmailChange]);
        assert!(life.log_in(ME, PASSWORD, NOW).await.is_some(), "nothing has changed yet");

        let link = life.link("new@x.org", MailKind::EmailChange).await;
        let done = life.accounts.follow_email_change(&link, NOW).await.unwrap();
        assert_eq!(done, LinkOutcome::Done);
        assert_eq!(life.mails(ME).await.last(), Some(&MailKind::EmailChanged));
        assert_eq!(life.customer(account).await.unwrap().email.as_deref(), Some("new@x.org"));
        assert_eq!(life.log_in(ME, PASSWORD, NOW).await, None);
        assert!(life.log_in("new@x.org", PASSWORD, NOW).await.is_some());
        assert!(life.works(&key, NOW).await);
        let again = life.accounts.follow_email_change(&link, NOW).await.unwrap();
        assert_eq!(again, LinkOutcome::Already);
        assert_eq!(reset(&life, &of_old_address, "another horse", NOW).await, LinkOutcome::Already);
    })
    .await;
}

#[tokio::test]
async fn address_change_expires_after_24_hours() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        ask_change(&life, account, "new@x.org").await;
        let link = life.link("new@x.org", MailKind::EmailChange).await;
        let late = life.accounts.follow_email_change(&link, NOW + 24 * HOUR_US).await.unwrap();
        assert_eq!(late, LinkOutcome::Expired);
    })
    .await;
}

#[tokio::test]
async fn change_to_a_taken_address_fails_without_disclosure() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        let (owner, _) = life.active("taken@x.org").await;
        assert_eq!(ask_change(&life, account, "taken@x.org").await, EmailChangeOutcome::Sent);
        let expected = [MailKind::Verify, MailKind::AlreadyRegistered];
        assert_eq!(life.mails("taken@x.org").await, expected);

        // Taken between the request and the click.
        assert_eq!(ask_change(&life, account, "later@x.org").await, EmailChangeOutcome::Sent);
        let link = life.link("later@x.org", MailKind::EmailChange).await;
        life.active("later@x.org").await;
        let followed = life.accounts.follow_email_change(&link, NOW).await.unwrap();
        assert_eq!(followed, LinkOutcome::Unknown);
        assert_eq!(life.find(ME).await, Some(account));
        assert_eq!(life.find("taken@x.org").await, Some(owner));
    })
    .await;
}

/// Otherwise an unconfirmed registration of a foreign address would block its owner.
#[tokio::test]
async fn unconfirmed_registration_yields_to_the_owner_of_the_address() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        life.register("new@x.org", "a stranger's password", NOW).await;
        let strangers = life.link("new@x.org", MailKind::Verify).await;
        assert_eq!(ask_change(&life, account, "new@x.org").await, EmailChangeOutcome::Sent);
        let link = life.link("new@x.org", MailKind::EmailChange).await;
        let done = life.accounts.follow_email_change(&link, NOW).await.unwrap();
        assert_eq!(done, LinkOutcome::Done);
        assert_eq!(life.find("new@x.org").await, Some(account));
        assert_eq!(life.verify(&strangers, NOW).await, VerificationOutcome::Unknown);
        assert_eq!(life.log_in("new@x.org", "a stranger's password", NOW).await, None);
    })
    .await;
}

#[tokio::test]
async fn address_changes_cannot_flood_other_mailboxes() {
    on_each(async |database| {
        let config =
            AccountsConfig { mails_max_per_hour: 1, mails_reserved_per_hour: 1, ..quick() };
        let life = TestAccounts::with(&database, config).await;
        let (account, _) = life.active(ME).await;
        assert_eq!(ask_change(&life, account, "a@x.org").await, EmailChangeOutcome::Sent);
        assert_eq!(ask_change(&life, account, "b@x.org").await, EmailChangeOutcome::TooMany);
        assert_eq!(life.mails("b@x.org").await, []);
    })
    .await;
}

/// SPEC section 3, rule 3: the badge is never removed.
#[tokio::test]
async fn founder_badge_survives_all_account_changes() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        life.execute("UPDATE accounts SET founder_us = 7").await;
        life.accounts.regenerate_key(account, NOW).await.unwrap();
        ask_change(&life, account, "new@x.org").await;
        let link = life.link("new@x.org", MailKind::EmailChange).await;
        life.accounts.follow_email_change(&link, NOW).await.unwrap();
        let link = life.reset_link("new@x.org").await;
        reset(&life, &link, "another horse", NOW).await;
        life.accounts.block(account, true, NOW).await.unwrap();
        life.accounts.block(account, false, NOW).await.unwrap();
        life.accounts.sweep(NOW + 1_000 * DAY_US).await.unwrap();
        assert_eq!(life.customer(account).await.unwrap().founder, Some(7));
    })
    .await;
}
