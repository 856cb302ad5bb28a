//! The key of an account, and making another one.

use futures_util::future::join_all;
use proptest::prelude::*;
use tokio::sync::broadcast::error::TryRecvError;

use super::*;

/// SPEC section 3, the second row; section 5: after Regenerate the old key stops working immediately.
#[tokio::test]
async fn regeneration_replaces_the_old_key_at_once() {
    on_each_accounts(async |life| {
        let (account, old) = life.active(ME).await;
        let caller = life.accounts.authenticate(old.expose(), HERE, NOW).await.unwrap().unwrap();
        let mut changes = life.accounts.changes();

        let new = life.accounts.regenerate_key(account, NOW + 1).await.unwrap();
        assert!(!life.works(&old, NOW + 1).await, "not even from the cache");
        assert!(life.works(&new, NOW + 1).await);
        assert_eq!(life.accounts.renew(&caller).await.unwrap(), None, "its sockets are to close");
        assert_eq!(changes.try_recv(), Ok(caller.key));
        assert_eq!(changes.try_recv(), Err(TryRecvError::Empty), "no other key changed");
        let customer = life.customer(account).await.unwrap();
        assert_eq!(customer.key_prefix.as_deref(), Some(new.prefix()));
        assert_eq!(customer.key_created, Some(NOW + 1));
    })
    .await;
}

/// Issue: many regenerations at once leave exactly one working key.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_regenerations_leave_one_key() {
    on_each(async |database| {
        let life = TestAccounts::new(&database).await;
        let (account, first) = life.active(ME).await;
        let other = TestAccounts::new(&database).await;
        let regenerating = (0..16).map(|index| {
            let accounts = if index % 2 == 0 { &life.accounts } else { &other.accounts }.clone();
            tokio::spawn(async move { accounts.regenerate_key(account, NOW + 1).await.unwrap() })
        });
        let keys: Vec<Key> =
            join_all(regenerating).await.into_iter().map(|key| key.unwrap()).collect();
        let newest = life.customer(account).await.unwrap().key_prefix;
        // The second handle stands for another program, which sees the change later, so a handle
        // with an empty cache checks the keys.
        let judge = TestAccounts::new(&database).await;
        assert!(!judge.works(&first, NOW + 1).await);
        for key in keys {
            let last = newest.as_deref() == Some(key.prefix());
            assert_eq!(judge.works(&key, NOW + 1).await, last, "{key}");
        }
    })
    .await;
}

#[tokio::test]
async fn only_an_active_account_gets_a_key() {
    on_each_accounts(async |life| {
        life.register("inactive@x.org", PASSWORD, NOW).await;
        let inactive = life.find("inactive@x.org").await.unwrap();
        let (blocked, _) = life.active("blocked@x.org").await;
        life.accounts.block(blocked, true, NOW).await.unwrap();
        let (deleted, _) = life.active("deleted@x.org").await;
        life.accounts.delete_account(deleted, password(PASSWORD), NOW).await.unwrap();
        for account in [inactive, blocked, deleted, AccountId(999)] {
            let refused = life.accounts.regenerate_key(account, NOW).await;
            assert!(matches!(refused, Err(AccountsError::Gone)), "{refused:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn new_key_is_shown_in_full_once() {
    on_each_accounts(async |life| {
        let account = life.confirmed(ME).await;
        assert!(life.accounts.take_new_key(account, NewKeyKind::Main, NOW).is_some());
        assert_eq!(life.accounts.take_new_key(account, NewKeyKind::Main, NOW), None);
    })
    .await;
}

#[tokio::test]
async fn replaced_key_is_not_shown_even_if_it_was_never_viewed() {
    on_each_accounts(async |life| {
        let account = life.confirmed(ME).await;
        life.accounts.regenerate_key(account, NOW).await.unwrap();
        assert_eq!(life.accounts.take_new_key(account, NewKeyKind::Main, NOW), None);
    })
    .await;
}

/// What a person, the operator and time can do to keys.
#[derive(Debug, Clone, Copy)]
enum Act {
    Regenerate,
    OperatorsKey,
    Revoke(usize),
    Block(bool),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => Just(Act::Regenerate),
        2 => Just(Act::OperatorsKey),
        2 => (0usize..8).prop_map(Act::Revoke),
        2 => any::<bool>().prop_map(Act::Block),
    ]
}

/// Which keys work after any sequence of acts is what a plain list says.
async fn keys_work_as_the_list_says(acts: Vec<Act>) {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&folder.path().join("test.db").into()).await.unwrap();
    let life = TestAccounts::new(&database).await;
    let (account, first) = life.active(ME).await;
    let (mut keys, mut blocked) = (vec![(first, true)], false);
    for act in acts {
        match act {
            Act::Regenerate if blocked => {
                assert!(life.accounts.regenerate_key(account, NOW).await.is_err());
            }
            Act::Regenerate => {
                let new = life.accounts.regenerate_key(account, NOW).await.unwrap();
                keys.iter_mut().for_each(|(_, works)| *works = false);
                keys.push((new, true));
            }
            Act::OperatorsKey => {
                let new = life.accounts.create_key(Some(ME), &[], NOW).await.unwrap();
                keys.push((new, true));
            }
            Act::Revoke(index) => {
                let index = index % keys.len();
                life.accounts.revoke(keys[index].0.prefix(), NOW).await.unwrap();
                keys[index].1 = false;
            }
            Act::Block(block) => {
                life.accounts.block(account, block, NOW).await.unwrap();
                blocked = block;
            }
        }
        for (key, works) in &keys {
            assert_eq!(life.works(key, NOW).await, *works && !blocked, "{key} after {act:?}");
        }
    }
    database.close().await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn expected_keys_work_after_any_sequence_of_acts(acts in prop::collection::vec(act(), 1..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(keys_work_as_the_list_says(acts));
    }
}
