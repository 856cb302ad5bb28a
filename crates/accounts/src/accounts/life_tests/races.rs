//! What happens at the same moment. Each is run many times, in the hope of every order.

use tokio::join;

use super::*;

const TIMES: usize = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn link_followed_twice_at_once_is_used_once() {
    on_each(async |database| {
        let (one, other) = (TestAccounts::new(&database).await, TestAccounts::new(&database).await);
        for round in 0..TIMES {
            let address = format!("me{round}@x.org");
            let link = one.verification_link(&address).await;
            let (first, second) = join!(one.verify(&link, NOW), other.verify(&link, NOW));
            let outcomes = [first, second];
            let used =
                outcomes.iter().filter(|it| matches!(it, VerificationOutcome::Now { .. })).count();
            assert_eq!(used, 1, "{outcomes:?}");
            assert!(outcomes.contains(&VerificationOutcome::Already), "{outcomes:?}");
        }
        let keys = one.accounts.keys().await.unwrap();
        assert_eq!(keys.len(), TIMES, "one key for each account");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reset_link_used_twice_at_once_changes_the_password_once() {
    on_each(async |database| {
        let config = AccountsConfig { mails_max_per_hour: 1_000, ..quick() };
        let life = TestAccounts::with(&database, config).await;
        life.active(ME).await;
        for round in 0..TIMES {
            let link = life.reset_link(ME).await;
            let typed = [format!("horse number {round}"), format!("mule number {round}")];
            let reset = |typed: &str| life.accounts.reset(&link, life.new_password(typed), NOW);
            let (first, second) = join!(reset(&typed[0]), reset(&typed[1]));
            let (first, second) = (first.unwrap(), second.unwrap());
            let winner = match (first, second) {
                (LinkOutcome::Done, LinkOutcome::Already) => 0,
                (LinkOutcome::Already, LinkOutcome::Done) => 1,
                both => panic!("{both:?}"),
            };
            assert!(life.log_in(ME, &typed[winner], NOW).await.is_some());
            assert_eq!(life.log_in(ME, &typed[1 - winner], NOW).await, None);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_registrations_create_one_account() {
    on_each(async |database| {
        let (one, other) = (TestAccounts::new(&database).await, TestAccounts::new(&database).await);
        for round in 0..TIMES {
            let address = format!("me{round}@x.org");
            join!(
                one.register(&address, "the first password", NOW),
                other.register(&address, "the second password", NOW)
            );
            assert_eq!(one.links(&address, MailKind::Verify).await.len(), 2);
        }
        let accounts = one.count("SELECT count(*) FROM accounts").await;
        assert_eq!(usize::try_from(accounts), Ok(TIMES));
    })
    .await;
}

/// A log-in during a change that ends all sessions: it fails, or its session ends too.
async fn no_session_outlives(change: impl AsyncFn(&TestAccounts, AccountId) -> ReauthOutcome) {
    on_each(async |database| {
        let (one, other) = (TestAccounts::new(&database).await, TestAccounts::new(&database).await);
        for round in 0..TIMES {
            let address = format!("me{round}@x.org");
            let (account, _) = one.active(&address).await;
            let (entered, changed) =
                join!(other.log_in(&address, PASSWORD, NOW), change(&one, account));
            assert_eq!(changed, ReauthOutcome::Done);
            if let Some(secret) = entered {
                assert_eq!(one.session(&secret, NOW).await, None);
            }
        }
        assert_eq!(one.count("SELECT count(*) FROM sessions").await, 0);
    })
    .await;
}

/// In either order, no session of the deleted account remains.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_session_outlives_an_account_deleted_during_log_in() {
    no_session_outlives(async |life, account| {
        life.accounts.delete_account(account, password(PASSWORD), NOW).await.unwrap()
    })
    .await;
}

/// A log-in with the old password fails, or its session ends with the change.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_session_outlives_a_password_changed_during_log_in() {
    no_session_outlives(async |life, account| {
        let new = life.new_password("another horse");
        life.accounts.change_password(account, password(PASSWORD), new, NOW).await.unwrap()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn hourly_mail_limit_holds_for_concurrent_requests() {
    on_each(async |database| {
        let config = AccountsConfig { mails_max_per_hour: 3, ..quick() };
        let life = TestAccounts::with(&database, config).await;
        life.register(ME, PASSWORD, NOW).await;
        let requests = (0..12).map(|_| {
            let accounts = life.accounts.clone();
            tokio::spawn(async move { accounts.resend_verification(&email(ME), NOW).await })
        });
        for outcome in futures_util::future::join_all(requests).await {
            outcome.unwrap().unwrap();
        }
        assert_eq!(life.mails(ME).await.len(), 3);
    })
    .await;
}

/// Two accounts change their address to the same one concurrently.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn address_requested_by_two_accounts_at_once_goes_to_one() {
    on_each_accounts(async |life| {
        for round in 0..TIMES {
            let wanted = format!("wanted{round}@x.org");
            let mut links = Vec::new();
            for who in ["a", "b"] {
                let (account, _) = life.active(&format!("{who}{round}@x.org")).await;
                let (to, typed) = (email(&wanted), password(PASSWORD));
                life.accounts.request_email_change(account, &to, typed, NOW).await.unwrap();
                links.push(life.link(&wanted, MailKind::EmailChange).await);
            }
            let follow = |link| life.accounts.follow_email_change(link, NOW);
            let (first, second) = join!(follow(&links[0]), follow(&links[1]));
            let mut outcomes = [first.unwrap(), second.unwrap()];
            outcomes.sort_by_key(|it| *it != LinkOutcome::Done);
            assert_eq!(outcomes, [LinkOutcome::Done, LinkOutcome::Unknown]);
        }
    })
    .await;
}
