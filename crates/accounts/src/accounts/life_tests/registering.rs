//! Registering an address and confirming it.

use super::*;

/// SPEC section 3, the first row and rule 1; section 5, obtaining the token, steps 1 to 3.
#[tokio::test]
async fn account_is_active_and_has_a_key_once_its_link_is_followed() {
    on_each_accounts(async |life| {
        life.register("Me@X.org ", PASSWORD, NOW).await;
        let account = life.find(ME).await.unwrap();
        let before = life.customer(account).await.unwrap();
        assert_eq!((before.active, before.key_prefix), (None, None));
        assert!(life.accounts.keys().await.unwrap().is_empty(), "no key before the link");
        assert_eq!(life.log_in(ME, PASSWORD, NOW).await, None, "no log-in before the link");

        let link = life.link(ME, MailKind::Verify).await;
        let verified = life.verify(&link, NOW + 5).await;
        assert_eq!(verified, VerificationOutcome::Now { account });
        let after = life.customer(account).await.unwrap();
        assert_eq!((after.active, after.key_created), (Some(NOW + 5), Some(NOW + 5)));
        let key = life.accounts.take_new_key(account, NewKeyKind::Main, NOW + 5).unwrap();
        assert_eq!(after.key_prefix.as_deref(), Some(key.prefix()));
        assert!(life.works(&key, NOW + 5).await);
        assert!(life.log_in(ME, PASSWORD, NOW + 5).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn verification_link_is_used_once() {
    on_each_accounts(async |life| {
        let link = life.verification_link(ME).await;
        assert!(matches!(life.verify(&link, NOW).await, VerificationOutcome::Now { .. }));
        assert_eq!(life.verify(&link, NOW).await, VerificationOutcome::Already);
        assert_eq!(life.verify(&link, NOW + 100 * DAY_US).await, VerificationOutcome::Already);
        assert_eq!(life.accounts.keys().await.unwrap().len(), 1);
        assert_eq!(life.links(ME, MailKind::Verify).await, [""; 0], "none is sent any more");
    })
    .await;
}

#[tokio::test]
async fn link_is_valid_for_24_hours_and_is_resent_on_request() {
    on_each_accounts(async |life| {
        let first = life.verification_link(ME).await;
        let over = NOW + 24 * HOUR_US;
        assert_eq!(life.verify(&first, over).await, VerificationOutcome::Expired);
        life.accounts.resend_verification(&email(ME), over).await.unwrap();
        let second = life.link(ME, MailKind::Verify).await;
        assert_ne!(first, second);
        assert!(matches!(
            life.verify(&second, 2 * HOUR_US + over).await,
            VerificationOutcome::Now { .. }
        ));
        assert!(life.log_in(ME, PASSWORD, over).await.is_some(), "with the password of then");

        let link = life.verification_link("you@x.org").await;
        assert!(matches!(life.verify(&link, over - 1).await, VerificationOutcome::Now { .. }));
    })
    .await;
}

#[tokio::test]
async fn older_link_stops_working_when_a_newer_one_is_used() {
    on_each_accounts(async |life| {
        life.register(ME, "the first password", NOW).await;
        life.register(ME, "the second password", NOW + 1).await;
        let links = life.links(ME, MailKind::Verify).await;
        let [older, newer] = &links[..] else { panic!("{links:?}") };
        assert!(matches!(life.verify(newer, NOW + 2).await, VerificationOutcome::Now { .. }));
        assert_eq!(life.verify(older, NOW + 3).await, VerificationOutcome::Already);
        assert_eq!(life.log_in(ME, "the first password", NOW + 3).await, None);
        assert!(life.log_in(ME, "the second password", NOW + 3).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn forged_and_guessed_links_are_refused() {
    on_each_accounts(async |life| {
        life.active("you@x.org").await;
        let of_other_kind = life.reset_link("you@x.org").await;
        let good = life.verification_link(ME).await;
        let (id, mac) = good.split_once('.').unwrap();
        let flipped = if mac.starts_with('0') { '1' } else { '0' };
        for forged in [
            String::new(),
            ".".to_owned(),
            id.to_owned(),
            format!("{id}."),
            format!("{id}.{}", "0".repeat(64)),
            format!("{id}.{flipped}{}", &mac[1..]),
            format!("{id}.{}", &mac[..63]),
            format!("{id}.{mac}0"),
            format!("{id}.{}", mac.to_uppercase()),
            format!("0{id}.{mac}"),
            format!("+{id}.{mac}"),
            format!("{}.{mac}", id.parse::<i64>().unwrap() - 1),
            format!("{}.{mac}", i64::MAX),
            format!("99999999999999999999.{mac}"),
            format!("{id}' OR '1'='1.{mac}"),
            of_other_kind,
        ] {
            // A digest in upper case may have no letter in it.
            if forged == good {
                continue;
            }
            assert_eq!(life.verify(&forged, NOW).await, VerificationOutcome::Unknown, "{forged}");
        }
        let reset = life.accounts.reset(&good, life.new_password(PASSWORD), NOW).await.unwrap();
        assert_eq!(reset, LinkOutcome::Unknown, "one kind is not taken for another");
        assert!(matches!(life.verify(&good, NOW).await, VerificationOutcome::Now { .. }));
    })
    .await;
}

#[tokio::test]
async fn links_are_signed_with_the_pepper() {
    on_each(async |database| {
        let with = |pepper: &str| AccountsConfig { pepper: pepper.into(), ..quick() };
        let life = TestAccounts::with(&database, with("one")).await;
        let link = life.verification_link(ME).await;
        life.execute("DELETE FROM meta").await;
        let other = TestAccounts::with(&database, with("two")).await;
        assert_eq!(other.verify(&link, NOW).await, VerificationOutcome::Unknown);
        assert!(matches!(life.verify(&link, NOW).await, VerificationOutcome::Now { .. }));
    })
    .await;
}

/// Registering a known address gets the same answer; only the owner of the address gets a mail.
#[tokio::test]
async fn registering_a_known_address_only_notifies_its_owner() {
    on_each_accounts(async |life| {
        let (account, key) = life.active(ME).await;
        let before = life.customer(account).await;
        life.register(ME, "a stranger's password", NOW + 1).await;
        assert_eq!(life.mails(ME).await, [MailKind::Verify, MailKind::AlreadyRegistered]);
        assert_eq!(life.customer(account).await, before);
        assert!(life.works(&key, NOW + 1).await);
        assert_eq!(life.log_in(ME, "a stranger's password", NOW + 1).await, None);
        assert!(life.log_in(ME, PASSWORD, NOW + 1).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn response_time_does_not_reveal_registered_addresses() {
    on_each(async |database| {
        let life = TestAccounts::with(&database, AccountsConfig { answer_ms: 60, ..quick() }).await;
        life.active(ME).await;
        for address in [ME, "nobody@x.org"] {
            let start = tokio::time::Instant::now();
            life.accounts.resend_verification(&email(address), NOW).await.unwrap();
            life.request_reset(address, NOW).await;
            life.register(address, PASSWORD, NOW).await;
            assert!(start.elapsed().as_millis() >= 180, "{address}: {:?}", start.elapsed());
        }
    })
    .await;
}

/// A link proves the address; the password is that of the browser that follows it, or is typed there.
/// `first` and `second` register, then the links are followed in a browser: cases A and B.
#[tokio::test]
async fn link_activates_only_the_password_of_the_same_browser() {
    const MINE: &str = "the password of the owner";
    const STRANGERS: &str = "the password of a stranger";
    on_each_accounts(async |life| {
        let (owner, stranger) = (Visitor::generate().unwrap(), Visitor::generate().unwrap());
        for (round, owner_is_first) in [true, false].into_iter().enumerate() {
            for newest in [true, false] {
                let me = &format!("me{round}{newest}@x.org");
                let mut both = [(&owner, MINE), (&stranger, STRANGERS)];
                if !owner_is_first {
                    both.reverse();
                }
                for (browser, typed) in both {
                    life.register_in(browser, me, typed, NOW).await;
                }
                let links = life.links(me, MailKind::Verify).await;
                let link = if newest { links.last() } else { links.first() }.unwrap();
                let verified = life.verify_in(&owner, link, NOW).await;
                assert!(matches!(verified, VerificationOutcome::Now { .. }), "{me}: {verified:?}");
                assert!(life.log_in(me, MINE, NOW).await.is_some(), "{me}");
                assert_eq!(life.log_in(me, STRANGERS, NOW).await, None, "{me}");
            }
        }
    })
    .await;
}

/// Cases C and D: the owner, in a browser that never registered, requests the mail again or a password
/// reset. Case E: the operator created the account.
#[tokio::test]
async fn browser_that_did_not_register_must_choose_a_password() {
    const STRANGERS: &str = "the password of a stranger";
    on_each_accounts(async |life| {
        let (owner, stranger) = (Visitor::generate().unwrap(), Visitor::generate().unwrap());
        let key = life.accounts.create_key(Some("e@x.org"), &[], NOW).await.unwrap();
        for me in ["c@x.org", "d@x.org", "e@x.org"] {
            life.register_in(&stranger, me, STRANGERS, NOW).await;
            match me {
                "c@x.org" => life.accounts.resend_verification(&email(me), NOW).await.unwrap(),
                "d@x.org" => life.request_reset(me, NOW).await,
                _ => {}
            }
            for link in life.links(me, MailKind::Verify).await {
                for _ in 0..2 {
                    let looked = life.verify_in(&owner, &link, NOW).await;
                    assert_eq!(
                        looked,
                        VerificationOutcome::NeedsPassword,
                        "{me}: looking changes nothing"
                    );
                }
            }
            assert_eq!(life.log_in(me, STRANGERS, NOW).await, None, "{me}");
            let link = life.link(me, MailKind::Verify).await;
            let account = life.find(me).await.unwrap();
            let chosen = life.verify_with(&link, "what the owner typed", NOW).await;
            assert_eq!(chosen, VerificationOutcome::Now { account }, "{me}");
            assert!(life.log_in(me, "what the owner typed", NOW).await.is_some(), "{me}");
            assert_eq!(life.log_in(me, STRANGERS, NOW).await, None, "{me}");
            let again = life.verify_in(&stranger, &link, NOW).await;
            assert_eq!(again, VerificationOutcome::Already, "{me}: the stranger comes too late");
            assert_eq!(life.log_in(me, STRANGERS, NOW).await, None, "{me}");
        }
        assert!(life.works(&key, NOW).await, "the operator's key");
    })
    .await;
}

/// Requests by strangers neither flood a mailbox nor prevent its owner from getting a link.
#[tokio::test]
async fn strangers_cannot_exhaust_the_mail_limit_of_the_owner() {
    on_each(async |database| {
        let config =
            AccountsConfig { mails_max_per_hour: 4, mails_reserved_per_hour: 2, ..quick() };
        let life = TestAccounts::with(&database, config).await;
        life.active(ME).await;
        for minute in 0..30 {
            let now = NOW + minute * 60_000_000;
            life.register(ME, PASSWORD, now).await;
            life.request_reset(ME, now).await;
        }
        let kinds = life.mails(ME).await;
        let count = |kinds: &[MailKind], kind| kinds.iter().filter(|it| **it == kind).count();
        // The first of the four was the registration's.
        assert_eq!(count(&kinds, MailKind::Reset), 3, "{kinds:?}");
        assert_eq!(count(&kinds, MailKind::AlreadyRegistered), 1, "{kinds:?}");
        let soon = NOW + 31 * 60_000_000;
        for _ in 0..5 {
            life.accounts.request_reset(&email(ME), Requester::Owner, soon).await.unwrap();
        }
        let kinds = life.mails(ME).await;
        assert_eq!(count(&kinds, MailKind::Reset), 3 + 2, "the owner's reserve: {kinds:?}");
        // A link that a stranger caused is as valid as one that the owner requested.
        let first = life.links(ME, MailKind::Reset).await.swap_remove(0);
        let reset = life.accounts.reset(&first, life.new_password("another horse"), soon).await;
        assert_eq!(reset.unwrap(), LinkOutcome::Done);
        let later = NOW + 3 * HOUR_US;
        life.request_reset(ME, later).await;
        let kinds = life.mails(ME).await;
        assert_eq!(count(&kinds, MailKind::Reset), 3 + 2 + 1, "an hour later: {kinds:?}");
    })
    .await;
}

/// SPEC section 3, rule 2: the badge cannot be obtained by registering.
#[tokio::test]
async fn registration_grants_no_badge() {
    on_each_accounts(async |life| {
        life.active("founder@x.org").await;
        life.execute("UPDATE accounts SET founder_us = 1").await;
        let (account, _) = life.active(ME).await;
        assert_eq!(life.customer(account).await.unwrap().founder, None);
    })
    .await;
}

/// The link confirms the address, as for any other account; the key continues to work.
#[tokio::test]
async fn account_created_by_operator_is_claimed_by_registering() {
    on_each_accounts(async |life| {
        let month = [(Addon::Odds, 30)];
        let key = life.accounts.create_key(Some("Me@X.org"), &month, NOW).await.unwrap();
        assert_eq!(life.log_in(ME, "", NOW).await, None, "it has no password, not an empty one");
        life.register(ME, PASSWORD, NOW).await;
        assert_eq!(life.log_in(ME, PASSWORD, NOW).await, None, "not before the link");
        let link = life.link(ME, MailKind::Verify).await;
        let VerificationOutcome::Now { account } = life.verify(&link, NOW).await else {
            panic!("refused")
        };
        assert!(life.log_in(ME, PASSWORD, NOW).await.is_some());
        assert!(life.works(&key, NOW).await);
        assert_eq!(
            life.accounts.take_new_key(account, NewKeyKind::Main, NOW),
            None,
            "it has a key already"
        );
        let customer = life.customer(account).await.unwrap();
        assert_eq!(customer.addons.expiry(Addon::Odds), Some(NOW + 30 * DAY_US));
    })
    .await;
}

/// Texts that would mean something to a database or a page mean nothing here.
#[tokio::test]
async fn passwords_may_be_any_text() {
    on_each_accounts(async |life| {
        for (index, typed) in
            ["'; DROP TABLE accounts; --", "<script>alert(1)</script>", "%s $1 \\\"' \u{202e}end"]
                .into_iter()
                .enumerate()
        {
            let address = format!("me{index}@x.org");
            life.register(&address, typed, NOW).await;
            let link = life.link(&address, MailKind::Verify).await;
            life.verify(&link, NOW).await;
            assert!(life.log_in(&address, typed, NOW).await.is_some(), "{typed}");
        }
    })
    .await;
}
