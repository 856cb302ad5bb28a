//! Named keys: what each may do, from where and until when, and what ends them.

use super::*;

const HERE_V4: &str = "127.0.0.0/8";

fn terms(scopes: &str, networks: &str, ends: Option<Micros>) -> KeyTerms {
    KeyTerms::new("ci", Scopes::parse(scopes), networks, ends, NOW).unwrap()
}

async fn named(life: &TestAccounts, account: AccountId, terms: &KeyTerms) -> Key {
    life.accounts.create_named_key(account, terms, NOW).await.unwrap()
}

#[tokio::test]
async fn named_key_covers_its_scopes_only() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        for addon in Addon::ALL {
            life.accounts.grant_addon(account, addon, 30, "", NOW).await.unwrap();
        }
        let key = named(&life, account, &terms("football odds", "", None)).await;
        let caller = life.accounts.authenticate(key.expose(), HERE, NOW).await.unwrap().unwrap();
        assert_eq!(caller.account, account);
        let has = Scope::ALL.map(|scope| caller.has_scope(scope));
        assert_eq!(has, [true, false, true, false, false]);
        assert!(caller.has(Addon::Odds, NOW) && !caller.has(Addon::Sports, NOW));
        assert!(!caller.may_use(Addon::Sports));
        assert_eq!(life.accounts.renew(&caller).await.unwrap(), Some(caller));
    })
    .await;
}

#[tokio::test]
async fn owner_hears_of_a_new_key_and_deletion_erases_its_name() {
    on_each(async |database| {
        let life = TestAccounts::new(&database).await;
        let (account, _) = life.active(ME).await;
        named(&life, account, &terms("football", "192.0.2.0/24", None)).await;
        assert_eq!(life.mails(ME).await.last(), Some(&MailKind::NewNamedKey));
        assert!(life.accounts.delete_account_for_operator(account, NOW).await.unwrap());
        let left: Vec<(Option<String>, String)> =
            sqlx::query_as("SELECT name, networks FROM keys ORDER BY id")
                .fetch_all(database.pool())
                .await
                .unwrap();
        let named = (Some(String::new()), String::new());
        assert_eq!(left, [(None, String::new()), named], "the main key, and the named one");
    })
    .await;
}

#[tokio::test]
async fn named_key_works_from_its_networks_only() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        let key = named(&life, account, &terms("football", "192.0.2.0/24", None)).await;
        // Read from the database, then from the cache.
        for _ in 0..2 {
            let elsewhere = life.accounts.authenticate(key.expose(), HERE, NOW).await;
            assert!(matches!(elsewhere, Err(AccountsError::WrongAddress)), "{elsewhere:?}");
            let there = "192.0.2.200".parse().unwrap();
            assert!(life.accounts.authenticate(key.expose(), there, NOW).await.unwrap().is_some());
        }
        let here = named(&life, account, &terms("football", HERE_V4, None)).await;
        assert!(life.works(&here, NOW).await);
    })
    .await;
}

#[tokio::test]
async fn networks_that_cannot_be_read_let_nobody_in() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        let key = named(&life, account, &terms("football", HERE_V4, None)).await;
        sqlx::query("UPDATE keys SET networks = 'damaged' WHERE prefix = $1")
            .bind(key.prefix())
            .execute(life.accounts.database().pool())
            .await
            .unwrap();
        assert!(life.accounts.authenticate(key.expose(), HERE, NOW).await.is_err());
    })
    .await;
}

#[tokio::test]
async fn named_key_ends_at_its_time() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        let key = named(&life, account, &terms("stream", "", Some(NOW + 1_000))).await;
        let caller = life.accounts.authenticate(key.expose(), HERE, NOW + 999).await.unwrap();
        assert_eq!(caller.and_then(|caller| caller.ends()), Some(NOW + 1_000));
        assert!(!life.works(&key, NOW + 1_000).await, "not even from the cache");
        let listed = life.accounts.named_keys(account).await.unwrap();
        assert_eq!(listed.len(), 1, "it is listed until it is revoked");
    })
    .await;
}

#[tokio::test]
async fn regeneration_leaves_named_keys_and_revocation_leaves_the_others() {
    on_each_accounts(async |life| {
        let (account, main) = life.active(ME).await;
        let (one, other) = (terms("football", "", None), terms("stream", "", None));
        let (one, other) = (named(&life, account, &one).await, named(&life, account, &other).await);
        let customer = life.customer(account).await.unwrap();
        assert_eq!(customer.key_prefix.as_deref(), Some(main.prefix()), "not a named one");

        let new = life.accounts.regenerate_key(account, NOW).await.unwrap();
        assert!(!life.works(&main, NOW).await);
        assert!(life.works(&one, NOW).await && life.works(&other, NOW).await);

        let caller = life.accounts.authenticate(one.expose(), HERE, NOW).await.unwrap().unwrap();
        let mut changes = life.accounts.changes();
        assert!(life.accounts.revoke_named_key(account, one.prefix(), NOW).await.unwrap());
        assert!(!life.works(&one, NOW).await, "not even from the cache");
        assert_eq!(life.accounts.renew(&caller).await.unwrap(), None, "its sockets are to close");
        assert_eq!(changes.try_recv(), Ok(caller.key));
        assert!(life.works(&other, NOW).await && life.works(&new, NOW).await);

        let (stranger, _) = life.active("other@x.org").await;
        let revoke = async |account, key: &Key| {
            life.accounts.revoke_named_key(account, key.prefix(), NOW).await.unwrap()
        };
        assert!(!revoke(account, &one).await, "it is revoked already");
        assert!(!revoke(stranger, &other).await, "it is another account's");
        assert!(!revoke(account, &new).await, "it is the main key");
        assert!(life.works(&other, NOW).await && life.works(&new, NOW).await);
    })
    .await;
}

#[tokio::test]
async fn named_keys_of_an_account_are_limited() {
    on_each(async |database| {
        let config = AccountsConfig { named_keys_max: 2, ..quick() };
        let accounts = Accounts::new(database, &config).await.unwrap();
        accounts.create_key(Some(ME), &[], NOW).await.unwrap();
        let account = accounts.find_account_by_id_or_email(ME).await.unwrap().unwrap().account;
        let create =
            async || accounts.create_named_key(account, &terms("football", "", None), NOW).await;
        let first = create().await.unwrap();
        create().await.unwrap();
        assert!(matches!(create().await, Err(AccountsError::TooManyKeys { limit: 2 })));
        accounts.revoke_named_key(account, first.prefix(), NOW).await.unwrap();
        create().await.unwrap();
    })
    .await;
}

/// It does not work any more, so it needs no place.
#[tokio::test]
async fn ended_named_key_gives_its_place_to_another() {
    on_each(async |database| {
        let config = AccountsConfig { named_keys_max: 2, ..quick() };
        let accounts = Accounts::new(database, &config).await.unwrap();
        accounts.create_key(Some(ME), &[], NOW).await.unwrap();
        let account = accounts.find_account_by_id_or_email(ME).await.unwrap().unwrap().account;
        let create = async |ends, now| {
            accounts.create_named_key(account, &terms("football", "", ends), now).await
        };
        let keys = async || accounts.named_keys(account).await.unwrap().len();
        create(None, NOW).await.unwrap();
        create(Some(NOW + 10), NOW).await.unwrap();
        let refused = create(None, NOW + 9).await;
        assert!(matches!(refused, Err(AccountsError::TooManyKeys { limit: 2 })), "{refused:?}");
        assert_eq!(keys().await, 2);
        create(None, NOW + 10).await.unwrap();
        assert_eq!(keys().await, 2);
        assert!(create(None, NOW + 10).await.is_err(), "neither of them has ended");
    })
    .await;
}

#[tokio::test]
async fn mails_about_new_named_keys_are_limited_per_hour() {
    on_each(async |database| {
        let config = AccountsConfig { mails_max_per_hour: 3, ..quick() };
        let accounts = Accounts::new(database.clone(), &config).await.unwrap();
        accounts.create_key(Some(ME), &[], NOW).await.unwrap();
        let account = accounts.find_account_by_id_or_email(ME).await.unwrap().unwrap().account;
        let mails_after = async |now| -> i64 {
            let key = accounts.create_named_key(account, &terms("football", "", None), now).await;
            accounts.revoke_named_key(account, key.unwrap().prefix(), now).await.unwrap();
            sqlx::query_scalar("SELECT count(*) FROM mails WHERE kind = 'new-named-key'")
                .fetch_one(database.pool())
                .await
                .unwrap()
        };
        for (now, expected) in [(NOW, 1), (NOW, 2), (NOW, 3), (NOW, 3), (NOW + HOUR_US - 1, 3)] {
            assert_eq!(mails_after(now).await, expected);
        }
        assert_eq!(mails_after(NOW + HOUR_US).await, 4);
    })
    .await;
}

#[tokio::test]
async fn blocked_account_has_no_working_named_key() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        let key = named(&life, account, &terms("football", "", None)).await;
        life.accounts.block(account, true, NOW).await.unwrap();
        assert!(!life.works(&key, NOW).await);
        let refused =
            life.accounts.create_named_key(account, &terms("football", "", None), NOW).await;
        assert!(matches!(refused, Err(AccountsError::Gone)), "{refused:?}");
        life.accounts.block(account, false, NOW).await.unwrap();
        assert!(life.works(&key, NOW).await);
    })
    .await;
}
