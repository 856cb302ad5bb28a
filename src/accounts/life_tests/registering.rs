//! Registering an address and confirming it.

use super::*;

/// SPEC section 3, the first row and rule 1; section 5, obtaining the token, steps 1 to 3.
#[tokio::test]
async fn an_account_is_inactive_until_its_link_is_followed_and_has_its_key_from_then_on() {
    on_each(async |database| {
        let life = Life::of(&database).await;
        life.register("Me@X.org ", PASSWORD, NOW).await;
        let account = life.find(ME).await.unwrap();
        let before = life.customer(account).await.unwrap();
        assert_eq!((before.active, before.key_prefix), (None, None));
        assert!(life.accounts.keys().await.unwrap().is_empty(), "no key before the link");
        assert_eq!(life.log_in(ME, PASSWORD, NOW).await, None, "nobody gets in before the link");

        let link = life.link(ME, MailKind::Verify).await;
        let verified = life.verify(&link, NOW + 5).await;
        assert_eq!(verified, Verified::Now { account, same_browser: false });
        let after = life.customer(account).await.unwrap();
        assert_eq!((after.active, after.key_created), (Some(NOW + 5), Some(NOW + 5)));
        let key = life.accounts.take_new_key(account, NOW + 5).unwrap();
        assert_eq!(after.key_prefix.as_deref(), Some(key.prefix()));
        assert!(life.works(&key, NOW + 5).await);
        assert!(life.log_in(ME, PASSWORD, NOW + 5).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn a_link_is_used_once() {
    on_each(async |database| {
        let life = Life::of(&database).await;
        life.register(ME, PASSWORD, NOW).await;
        let link = life.link(ME, MailKind::Verify).await;
        assert!(matches!(life.verify(&link, NOW).await, Verified::Now { .. }));
        assert_eq!(life.verify(&link, NOW).await, Verified::Already);
        assert_eq!(life.verify(&link, NOW + 100 * DAY_US).await, Verified::Already);
        assert_eq!(life.accounts.keys().await.unwrap().len(), 1);
        assert_eq!(life.links(ME, MailKind::Verify).await, [""; 0], "none is sent any more");
    })
    .await;
}

#[tokio::test]
async fn a_link_is_good_for_24_hours_and_is_sent_again_on_demand() {
    on_each(async |database| {
        let life = Life::of(&database).await;
        life.register(ME, PASSWORD, NOW).await;
        let first = life.link(ME, MailKind::Verify).await;
        let over = NOW + 24 * HOUR_US;
        assert_eq!(life.verify(&first, over).await, Verified::Expired);
        life.accounts.resend_verification(&email(ME), over).await.unwrap();
        let second = life.link(ME, MailKind::Verify).await;
        assert_ne!(first, second);
        assert!(matches!(life.verify(&second, 2 * HOUR_US + over).await, Verified::Now { .. }));
        assert!(life.log_in(ME, PASSWORD, over).await.is_some(), "with the password of then");

        life.register("you@x.org", PASSWORD, NOW).await;
        let link = life.link("you@x.org", MailKind::Verify).await;
        assert!(matches!(life.verify(&link, over - 1).await, Verified::Now { .. }));
    })
    .await;
}

#[tokio::test]
async fn an_older_link_stops_working_when_a_newer_one_is_used() {
    on_each(async |database| {
        let life = Life::of(&database).await;
        life.register(ME, "the first password", NOW).await;
        life.register(ME, "the second password", NOW + 1).await;
        let links = life.links(ME, MailKind::Verify).await;
        let [older, newer] = &links[..] else { panic!("{links:?}") };
        assert!(matches!(life.verify(newer, NOW + 2).await, Verified::Now { .. }));
        assert_eq!(life.verify(older, NOW + 3).await, Verified::Already);
        assert_eq!(life.log_in(ME, "the first password", NOW + 3).await, None);
        assert!(life.log_in(ME, "the second password", NOW + 3).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn forged_and_guessed_links_are_refused() {
    on_each(async |database| {
        let life = Life::of(&database).await;
        life.active("you@x.org").await;
        life.accounts.ask_reset(&email("you@x.org"), NOW).await.unwrap();
        let of_other_kind = life.link("you@x.org", MailKind::Reset).await;
        life.register(ME, PASSWORD, NOW).await;
        let good = life.link(ME, MailKind::Verify).await;
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
            assert_eq!(life.verify(&forged, NOW).await, Verified::Unknown, "{forged}");
        }
        let reset = life.accounts.reset(&good, life.new_password(PASSWORD), NOW).await.unwrap();
        assert_eq!(reset, LinkUse::Unknown, "one kind is not taken for another");
        assert!(matches!(life.verify(&good, NOW).await, Verified::Now { .. }));
    })
    .await;
}

#[tokio::test]
async fn links_are_signed_with_the_pepper() {
    on_each(async |database| {
        let with = |pepper: &str| AccountsConfig { pepper: pepper.into(), ..quick() };
        let life = Life::with(&database, with("one")).await;
        life.register(ME, PASSWORD, NOW).await;
        let link = life.link(ME, MailKind::Verify).await;
        life.execute("DELETE FROM meta").await;
        let other = Life::with(&database, with("two")).await;
        assert_eq!(other.verify(&link, NOW).await, Verified::Unknown);
        assert!(matches!(life.verify(&link, NOW).await, Verified::Now { .. }));
    })
    .await;
}

/// Whoever registers a known address gets the same answer; only its owner is told.
#[tokio::test]
async fn registering_a_known_address_tells_its_owner_alone_and_changes_nothing() {
    on_each(async |database| {
        let life = Life::of(&database).await;
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
async fn the_time_of_an_answer_does_not_tell_who_is_registered() {
    on_each(async |database| {
        let life = Life::with(&database, AccountsConfig { answer_ms: 60, ..quick() }).await;
        life.active(ME).await;
        for address in [ME, "nobody@x.org"] {
            let start = tokio::time::Instant::now();
            life.accounts.resend_verification(&email(address), NOW).await.unwrap();
            life.accounts.ask_reset(&email(address), NOW).await.unwrap();
            life.register(address, PASSWORD, NOW).await;
            assert!(start.elapsed().as_millis() >= 180, "{address}: {:?}", start.elapsed());
        }
    })
    .await;
}

#[tokio::test]
async fn the_browser_that_registered_is_known_again() {
    on_each(async |database| {
        let life = Life::of(&database).await;
        let (mine, other) = (Visitor::generate().unwrap(), Visitor::generate().unwrap());
        for (address, visitor, same) in [
            ("a@x.org", Some(&mine), true),
            ("b@x.org", Some(&other), false),
            ("c@x.org", None, false),
        ] {
            let typed = life.new_password(PASSWORD);
            life.accounts.register(&email(address), typed, Some(&mine), NOW).await.unwrap();
            // The browser is remembered when the mail is sent again.
            life.accounts.resend_verification(&email(address), NOW).await.unwrap();
            let link = life.link(address, MailKind::Verify).await;
            let verified = life.accounts.follow_verification(&link, visitor, NOW).await.unwrap();
            let account = life.find(address).await.unwrap();
            assert_eq!(verified, Verified::Now { account, same_browser: same }, "{address}");
        }
    })
    .await;
}

#[tokio::test]
async fn strangers_cannot_flood_an_address_with_mail() {
    on_each(async |database| {
        let life = Life::with(&database, AccountsConfig { mails_max_per_hour: 3, ..quick() }).await;
        let ask = async |now| {
            life.register(ME, PASSWORD, now).await;
            life.accounts.resend_verification(&email(ME), now).await.unwrap();
            life.accounts.ask_reset(&email(ME), now).await.unwrap();
        };
        for minute in 0..5 {
            ask(NOW + minute * 60_000_000).await;
        }
        assert_eq!(life.mails(ME).await.len(), 3, "while it waits to be confirmed");
        let later = NOW + HOUR_US;
        let link = life.link(ME, MailKind::Verify).await;
        assert!(matches!(life.verify(&link, later).await, Verified::Now { .. }));
        ask(later).await;
        ask(later).await;
        assert_eq!(life.mails(ME).await.len(), 6, "and when it is active");
    })
    .await;
}

/// SPEC section 3, rule 2: the badge cannot be obtained by registering.
#[tokio::test]
async fn no_badge_comes_with_registering() {
    on_each(async |database| {
        let life = Life::of(&database).await;
        life.active("founder@x.org").await;
        life.execute("UPDATE accounts SET founder_us = 1").await;
        let (account, _) = life.active(ME).await;
        assert_eq!(life.customer(account).await.unwrap().founder, None);
    })
    .await;
}

/// Its address is shown to be somebody's by the link, as with any other; its key goes on working.
#[tokio::test]
async fn an_account_made_by_the_operator_is_claimed_by_registering() {
    on_each(async |database| {
        let life = Life::of(&database).await;
        let month = [(Addon::Odds, 30)];
        let key = life.accounts.create_key(Some("Me@X.org"), &month, NOW).await.unwrap();
        assert_eq!(life.log_in(ME, "", NOW).await, None, "it has no password, not an empty one");
        life.register(ME, PASSWORD, NOW).await;
        assert_eq!(life.log_in(ME, PASSWORD, NOW).await, None, "not before the link");
        let link = life.link(ME, MailKind::Verify).await;
        let Verified::Now { account, .. } = life.verify(&link, NOW).await else {
            panic!("refused")
        };
        assert!(life.log_in(ME, PASSWORD, NOW).await.is_some());
        assert!(life.works(&key, NOW).await);
        assert_eq!(life.accounts.take_new_key(account, NOW), None, "it has a key already");
        let customer = life.customer(account).await.unwrap();
        assert_eq!(customer.addons.expiry(Addon::Odds), Some(NOW + 30 * DAY_US));
    })
    .await;
}

/// Texts that would mean something to a database or a page mean nothing here.
#[tokio::test]
async fn passwords_may_be_any_text() {
    on_each(async |database| {
        let life = Life::of(&database).await;
        for (place, typed) in
            ["'; DROP TABLE accounts; --", "<script>alert(1)</script>", "\0\u{1}%s $1 \\\"' end"]
                .into_iter()
                .enumerate()
        {
            let address = format!("me{place}@x.org");
            life.register(&address, typed, NOW).await;
            let link = life.link(&address, MailKind::Verify).await;
            life.verify(&link, NOW).await;
            assert!(life.log_in(&address, typed, NOW).await.is_some(), "{typed}");
        }
    })
    .await;
}
