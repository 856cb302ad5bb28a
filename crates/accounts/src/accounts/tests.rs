//! On real databases of each kind, with time moved by hand. Two handles on one database stand for two
//! programs.

use std::{collections::HashSet, future, path::PathBuf, time::Duration};

use tempfile::TempDir;
use tokio::{sync::broadcast::error::TryRecvError, task::JoinSet, time::timeout};

use super::*;
use database::{
    DatabaseError,
    testing::{PostgresTestDatabase, on_each, postgres_or_skipped},
};

const NOW: Micros = 1_788_280_000_000_000;
const WAIT: Duration = Duration::from_secs(60);

/// One program on this database.
async fn open(database: &Database) -> Accounts {
    open_with(database, &AccountsConfig::default()).await.unwrap()
}

/// Runs a test on new accounts in a database of each kind.
async fn on_each_accounts(test: impl AsyncFn(Accounts)) {
    on_each(async |database| test(open(&database).await).await).await;
}

async fn open_with(
    database: &Database,
    config: &AccountsConfig,
) -> Result<Accounts, AccountsError> {
    Accounts::open_existing(database.name(), config).await
}

/// An SQLite file that does not exist yet.
struct TestFile {
    dir: TempDir,
}

impl TestFile {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("accounts.db")
    }

    async fn open(&self) -> Accounts {
        Accounts::open(&self.path()).await.unwrap()
    }

    /// The database file and the files that SQLite creates next to it.
    fn paths(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.dir.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn bytes(&self) -> Vec<u8> {
        self.paths().into_iter().flat_map(|path| std::fs::read(path).unwrap()).collect()
    }
}

async fn caller(accounts: &Accounts, key: &Key, now: Micros) -> Option<Caller> {
    accounts.authenticate(key.expose(), HERE, now).await.unwrap()
}

#[tokio::test]
async fn key_is_valid_until_it_is_revoked() {
    on_each_accounts(async |accounts| {
        let key = accounts.create_key(None, &[], NOW).await.unwrap();
        let id = caller(&accounts, &key, NOW).await.unwrap().key;
        assert_eq!(accounts.revoke(key.prefix(), NOW + 1).await.unwrap(), RevokeOutcome::Now(id));
        assert_eq!(caller(&accounts, &key, NOW + 1).await, None);
        let again = accounts.revoke(key.expose(), NOW + 2).await.unwrap();
        assert_eq!(again, RevokeOutcome::Already { at: NOW + 1 });
    })
    .await;
}

#[tokio::test]
async fn only_the_key_or_its_prefix_revokes() {
    on_each_accounts(async |accounts| {
        let key = accounts.create_key(None, &[], NOW).await.unwrap();
        let forged = format!("{}{}", key.prefix(), "0".repeat(40));
        for text in ["", "mw_", "%", "mw_________", &key.prefix()[3..], &forged] {
            assert_eq!(accounts.revoke(text, NOW).await.unwrap(), RevokeOutcome::Unknown, "{text}");
        }
        assert!(caller(&accounts, &key, NOW).await.is_some());
    })
    .await;
}

/// Issue 16, point 3: of all attempts at all nodes one succeeds, while the ticket lives and its key is valid.
#[tokio::test]
async fn ticket_works_once_at_any_node() {
    on_each_accounts(async |accounts| {
        let key = accounts.create_key(None, &[], NOW).await.unwrap();
        let buyer = caller(&accounts, &key, NOW).await.unwrap();
        let store = async |ticket: u8| {
            assert!(accounts.store_ticket(&[ticket; 32], &buyer, NOW + 10, NOW).await.unwrap());
        };
        let redeem = async |ticket: u8, now| {
            accounts.redeem_ticket(&[ticket; 32], now).await.unwrap().map(|caller| caller.key)
        };
        for ticket in 1..=4 {
            store(ticket).await;
        }
        let tries = futures_util::future::join_all((0..8).map(|_| redeem(1, NOW + 1))).await;
        assert_eq!(tries.iter().flatten().collect::<Vec<_>>(), [&buyer.key]);
        assert_eq!(redeem(9, NOW).await, None, "never sold");
        assert_eq!(redeem(2, NOW + 10).await, None, "ended");
        assert_eq!(redeem(2, NOW).await, None, "an ended one was redeemed too");
        accounts.sweep(NOW + 11).await.unwrap();
        assert_eq!(redeem(3, NOW).await, None, "swept");
        store(5).await;
        accounts.revoke(key.expose(), NOW).await.unwrap();
        assert_eq!(redeem(5, NOW).await, None, "of a revoked key");
    })
    .await;
}

#[tokio::test]
async fn forged_secret_is_refused() {
    on_each_accounts(async |accounts| {
        let key = accounts.create_key(None, &[], NOW).await.unwrap();
        let forged = format!("{}{}", key.prefix(), "0".repeat(40));
        assert_eq!(accounts.authenticate(&forged, HERE, NOW).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn malformed_keys_never_reach_the_database() {
    on_each_accounts(async |accounts| {
        let key = accounts.create_key(None, &[], NOW).await.unwrap();
        accounts.close().await;
        for text in ["", "x", "mw_' OR 1=1", &key.expose()[1..], &key.expose().to_uppercase()] {
            assert_eq!(accounts.authenticate(text, HERE, NOW).await.unwrap(), None, "{text}");
        }
        assert!(accounts.authenticate(key.expose(), HERE, NOW).await.is_err());
    })
    .await;
}

#[tokio::test]
async fn cached_key_needs_no_database() {
    on_each_accounts(async |accounts| {
        let key = accounts.create_key(None, &[], NOW).await.unwrap();
        let first = caller(&accounts, &key, NOW).await;
        accounts.close().await;
        assert_eq!(caller(&accounts, &key, NOW + 59_000_000).await, first);
        assert!(accounts.authenticate(key.expose(), HERE, NOW + 60_000_000).await.is_err());
    })
    .await;
}

#[tokio::test]
async fn addon_ends_when_its_days_are_over() {
    on_each_accounts(async |accounts| {
        let key = accounts.create_key(None, &[(Addon::Websocket, 30)], NOW).await.unwrap();
        let end = NOW + 30 * DAY_US;
        let caller = caller(&accounts, &key, NOW).await.unwrap();
        assert_eq!(caller.expiry(Addon::Websocket), Some(end));
        assert!(caller.has(Addon::Websocket, end - 1));
        assert!(!caller.has(Addon::Websocket, end));
        assert!(!caller.has(Addon::Odds, NOW));
    })
    .await;
}

/// SPEC section 3: thirty days are added to the current expiry, and to now when it has run out.
#[tokio::test]
async fn days_are_added_to_the_remaining_ones() {
    on_each_accounts(async |accounts| {
        let month = [(Addon::Sports, 30)];
        let key = accounts.create_key(Some("a@b"), &month, NOW).await.unwrap();
        let expiry = async |now| caller(&accounts, &key, now).await.unwrap().expiry(Addon::Sports);

        let twelve_left = NOW + 18 * DAY_US;
        accounts.create_key(Some("a@b"), &month, twelve_left).await.unwrap();
        assert_eq!(expiry(twelve_left).await, Some(twelve_left + 42 * DAY_US));

        let long_over = NOW + 100 * DAY_US;
        accounts.create_key(Some("a@b"), &month, long_over).await.unwrap();
        assert_eq!(expiry(long_over).await, Some(long_over + 30 * DAY_US));
    })
    .await;
}

#[tokio::test]
async fn address_is_one_account_in_any_case_and_no_address_is_a_new_one() {
    on_each_accounts(async |accounts| {
        let mut ids = Vec::new();
        for email in [Some("me@x.org"), Some("Me@X.org"), None, None, Some("' OR 1=1 --@x")] {
            let key = accounts.create_key(email, &[], NOW).await.unwrap();
            ids.push(caller(&accounts, &key, NOW).await.unwrap().account);
        }
        assert_eq!(ids[0], ids[1]);
        assert_eq!(HashSet::<AccountId>::from_iter(ids).len(), 4);
    })
    .await;
}

#[tokio::test]
async fn too_many_days_change_nothing() {
    on_each_accounts(async |accounts| {
        let days = [(Addon::Odds, 1), (Addon::Sports, Accounts::DAYS_MAX + 1)];
        let error = accounts.create_key(Some("a@b"), &days, NOW).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot add 36501 days at once: the limit is 36500");
        assert_eq!(accounts.keys().await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn keys_are_listed_with_their_addons() {
    on_each_accounts(async |accounts| {
        let addons = [(Addon::Websocket, 1), (Addon::Odds, 2)];
        let one = accounts.create_key(Some("a@b"), &addons, NOW).await.unwrap();
        let other = accounts.create_key(None, &[], NOW + 1).await.unwrap();
        accounts.revoke(other.prefix(), NOW + 2).await.unwrap();

        let keys = accounts.keys().await.unwrap();
        let [first, second] = keys.as_slice() else { panic!("{keys:?}") };
        assert_eq!((first.prefix.as_str(), first.email.as_deref()), (one.prefix(), Some("a@b")));
        assert_eq!((first.created, first.revoked), (NOW, None));
        let expiries = first.addons.iter().collect::<Vec<_>>();
        assert_eq!(expiries, [(Addon::Websocket, NOW + DAY_US), (Addon::Odds, NOW + 2 * DAY_US)]);
        assert_eq!((second.email.as_deref(), second.revoked), (None, Some(NOW + 2)));
        assert_eq!(second.addons, Addons::default());
    })
    .await;
}

#[tokio::test]
async fn keys_survive_a_restart() {
    on_each(async |database| {
        let before = open(&database).await;
        let key = before.create_key(None, &[], NOW).await.unwrap();
        before.close().await;
        assert!(caller(&open(&database).await, &key, NOW).await.is_some());
    })
    .await;
}

/// Only for SQLite: PostgreSQL manages its own files.
#[tokio::test]
async fn files_have_no_secret_and_are_readable_only_by_their_owner() {
    let file = TestFile::new();
    let accounts = file.open().await;
    let key = accounts.create_key(None, &[], NOW).await.unwrap();
    let bytes = file.bytes();
    let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(holds(key.prefix()));
    assert!(!holds(&key.expose()[key.prefix().len()..]));
    #[cfg(unix)]
    for path in file.paths() {
        let mode = std::fs::metadata(path).unwrap().permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
    }
}

#[tokio::test]
async fn own_changes_are_broadcast_at_once_and_only_for_their_keys() {
    on_each_accounts(async |accounts| {
        let one = accounts.create_key(Some("a@b"), &[], NOW).await.unwrap();
        let other = accounts.create_key(None, &[(Addon::Odds, 1)], NOW).await.unwrap();
        let (one_id, other_id) = (id(&accounts, &one).await, id(&accounts, &other).await);
        let mut changes = accounts.changes();

        accounts.create_key(Some("a@b"), &[(Addon::Odds, 1)], NOW).await.unwrap();
        assert_eq!(changes.try_recv(), Ok(one_id));
        accounts.revoke(other.prefix(), NOW).await.unwrap();
        assert_eq!(changes.try_recv(), Ok(other_id));
        assert_eq!(changes.try_recv(), Err(TryRecvError::Empty));
    })
    .await;
}

/// A key that was used a moment ago opens sockets although the database does not answer, also after other keys have changed.
#[tokio::test]
async fn change_of_another_key_needs_no_answer_of_the_database() {
    on_each(async |database| {
        let accounts = open(&database).await;
        let [one, other] =
            [accounts.create_key(None, &[], NOW), accounts.create_key(None, &[], NOW)];
        let (one, other) = (one.await.unwrap(), other.await.unwrap());
        let early = caller(&accounts, &one, NOW).await.unwrap();
        accounts.revoke(other.prefix(), NOW).await.unwrap();
        accounts.close().await;
        let cached = caller(&accounts, &one, NOW).await.unwrap();
        assert_eq!(accounts.renew(&cached).await.unwrap(), Some(cached));

        // A caller from before the change cannot be confirmed now, and must be checked again later.
        accounts.renew(&early).await.unwrap_err();
        let mut changes = accounts.changes();
        accounts.recheck(&early);
        assert_eq!(changes.try_recv(), Ok(early.key));
    })
    .await;
}

async fn id(accounts: &Accounts, key: &Key) -> KeyId {
    caller(accounts, key, NOW).await.unwrap().key
}

#[tokio::test]
async fn caller_is_renewed_after_a_change() {
    on_each_accounts(async |accounts| {
        let key = accounts.create_key(Some("a@b"), &[], NOW).await.unwrap();
        let old = caller(&accounts, &key, NOW).await.unwrap();
        assert_eq!(accounts.renew(&old).await.unwrap(), Some(old));

        accounts.create_key(Some("a@b"), &[(Addon::Odds, 1)], NOW).await.unwrap();
        let new = accounts.renew(&old).await.unwrap().unwrap();
        assert!(new.has(Addon::Odds, NOW) && !old.has(Addon::Odds, NOW));
        assert_eq!(caller(&accounts, &key, NOW).await, Some(new));

        accounts.revoke(key.prefix(), NOW).await.unwrap();
        assert_eq!(accounts.renew(&new).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn changes_by_another_program_are_noticed() {
    on_each(async |database| {
        let (hub, command) = (open(&database).await, open(&database).await);
        let key = hub.create_key(Some("a@b"), &[], NOW).await.unwrap();
        let id = id(&hub, &key).await;
        let mut changes = hub.changes();
        let watch = tokio::spawn(hub.clone().watch(Duration::from_millis(1), future::pending()));

        command.create_key(Some("a@b"), &[(Addon::Websocket, 1)], NOW).await.unwrap();
        assert_eq!(timeout(WAIT, changes.recv()).await.unwrap(), Ok(id));
        assert!(caller(&hub, &key, NOW).await.unwrap().has(Addon::Websocket, NOW));

        command.revoke(key.prefix(), NOW).await.unwrap();
        assert_eq!(timeout(WAIT, changes.recv()).await.unwrap(), Ok(id));
        assert_eq!(caller(&hub, &key, NOW).await, None);
        watch.abort();
    })
    .await;
}

/// Keys carry the time zone of their account: a change reaches each of its callers, also in another program.
#[tokio::test]
async fn time_zone_reaches_the_next_call_of_a_key() {
    on_each(async |database| {
        let (hub, other) = (open(&database).await, open(&database).await);
        let key = hub.create_key(Some("a@b"), &[], NOW).await.unwrap();
        let zone = async |accounts: &Accounts| caller(accounts, &key, NOW).await.unwrap().zone;
        assert_eq!((zone(&hub).await, zone(&other).await), (None, None));
        let account = caller(&hub, &key, NOW).await.unwrap();
        let mut changes = other.changes();
        let watch = tokio::spawn(other.clone().watch(Duration::from_millis(1), future::pending()));

        let berlin = ZoneName::parse("Europe/Berlin");
        hub.set_zone(account.account, berlin).await.unwrap();
        assert_eq!(zone(&hub).await, berlin);
        assert_eq!(hub.renew(&account).await.unwrap().unwrap().zone, berlin);
        assert_eq!(timeout(WAIT, changes.recv()).await.unwrap(), Ok(account.key));
        assert_eq!(zone(&other).await, berlin);
        watch.abort();

        // Another machine may know zones that this one does not.
        let unknown = "UPDATE accounts SET time_zone = 'Mars/Base'";
        sqlx::query(unknown).execute(database.pool()).await.unwrap();
        hub.broadcast_own_changes().await;
        assert_eq!(zone(&hub).await, None);
    })
    .await;
}

#[tokio::test]
async fn changes_before_the_watch_started_are_noticed() {
    on_each(async |database| {
        let hub = open(&database).await;
        let key = hub.create_key(None, &[], NOW).await.unwrap();
        let id = id(&hub, &key).await;
        let mut changes = hub.changes();
        // Past our own code, as an operator with the shell of the database.
        sqlx::query("UPDATE keys SET revoked_us = 1").execute(database.pool()).await.unwrap();
        assert!(caller(&hub, &key, NOW).await.is_some());

        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let stopped = async { stopped.await.unwrap_or_default() };
        let watch = tokio::spawn(hub.clone().watch(Duration::from_millis(1), stopped));
        assert_eq!(timeout(WAIT, changes.recv()).await.unwrap(), Ok(id));
        assert_eq!(caller(&hub, &key, NOW).await, None);
        stop.send(()).unwrap();
        timeout(WAIT, watch).await.unwrap().unwrap();
    })
    .await;
}

#[tokio::test]
async fn file_that_is_not_a_database_is_refused() {
    let file = TestFile::new();
    std::fs::write(file.path(), "not a database, but long enough to be taken for one".repeat(30))
        .unwrap();
    let error = Accounts::open(&file.path()).await.unwrap_err();
    let AccountsError::Database(DatabaseError::Open { source, .. }) = error else {
        panic!("{error:?}")
    };
    assert!(source.to_string().contains("file is not a database"), "{source}");
    let nowhere = file.path().join("a.db");
    let error = Accounts::open(&nowhere).await.unwrap_err();
    assert!(matches!(error, AccountsError::Database(DatabaseError::Create { .. })), "{error:?}");
}

#[tokio::test]
async fn another_pepper_is_refused() {
    on_each(async |database| {
        let with =
            |pepper: &str| AccountsConfig { pepper: pepper.into(), ..AccountsConfig::default() };
        let accounts = open_with(&database, &with("one")).await.unwrap();
        let key = accounts.create_key(None, &[], NOW).await.unwrap();
        assert_eq!(accounts.meta("pepper").await.unwrap(), None);
        for other in ["two", ""] {
            let error = open_with(&database, &with(other)).await.unwrap_err();
            assert!(matches!(error, AccountsError::OtherPepper), "{error:?}");
        }
        let again = open_with(&database, &with("one")).await.unwrap();
        assert!(caller(&again, &key, NOW).await.is_some());
    })
    .await;
}

/// Eight programs open a database concurrently and buy for the same address.
async fn race_on(name: &DatabaseName) {
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let name = name.clone();
        tasks.spawn(async move {
            let accounts = Accounts::open_with(&name, &AccountsConfig::default()).await.unwrap();
            for _ in 0..10 {
                accounts.create_key(Some("a@b"), &[(Addon::Odds, 1)], NOW).await.unwrap();
            }
            accounts.close().await;
        });
    }
    tasks.join_all().await;
    let accounts = Accounts::open_existing(name, &AccountsConfig::default()).await.unwrap();
    let keys = accounts.keys().await.unwrap();
    assert_eq!(keys.len(), 80);
    assert!(keys.iter().all(|key| key.account == keys[0].account));
    assert_eq!(keys[0].addons.expiry(Addon::Odds), Some(NOW + 80 * DAY_US));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn programs_can_create_the_file_and_keys_concurrently() {
    let file = TestFile::new();
    race_on(&file.path().into()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs PostgreSQL: make test-systems runs it"]
async fn programs_can_create_the_tables_and_keys_concurrently() {
    let Some(server) = postgres_or_skipped() else { return };
    let empty = PostgresTestDatabase::create_empty(&server).await;
    race_on(&empty.name).await;
    empty.drop().await;
}

#[tokio::test]
async fn metadata_is_stored_and_overwritten() {
    on_each(async |database| {
        let accounts = open(&database).await;
        assert_eq!(accounts.meta("epoch").await.unwrap(), None);
        accounts.set_meta("epoch", "1").await.unwrap();
        accounts.set_meta("epoch", "2").await.unwrap();
        assert_eq!(open(&database).await.meta("epoch").await.unwrap().as_deref(), Some("2"));
    })
    .await;
}

#[tokio::test]
async fn demo_key_is_the_same_after_a_restart() {
    on_each(async |database| {
        let key = open(&database).await.ensure_demo_key(NOW).await.unwrap();
        let accounts = open(&database).await;
        assert_eq!(accounts.ensure_demo_key(NOW + DAY_US).await.unwrap(), key);
        let caller = caller(&accounts, &key, NOW).await.unwrap();
        assert!(Addon::ALL.into_iter().all(|addon| caller.has(addon, NOW)));
        assert_eq!(accounts.keys().await.unwrap()[0].email.as_deref(), Some("demo@localhost"));
    })
    .await;
}

#[tokio::test]
async fn expired_or_revoked_demo_key_is_replaced() {
    on_each_accounts(async |accounts| {
        let first = accounts.ensure_demo_key(NOW).await.unwrap();
        accounts.revoke(first.prefix(), NOW).await.unwrap();
        let second = accounts.ensure_demo_key(NOW).await.unwrap();
        let late = NOW + 1_000 * DAY_US;
        let third = accounts.ensure_demo_key(late).await.unwrap();
        assert!(first != second && second != third);
        assert_eq!(caller(&accounts, &second, late).await, None);
        assert!(caller(&accounts, &third, late).await.is_some());
    })
    .await;
}

#[tokio::test]
async fn hub_without_the_demo_revokes_the_demo_key() {
    on_each_accounts(async |accounts| {
        accounts.forget_demo_key(NOW).await.unwrap();
        let key = accounts.ensure_demo_key(NOW).await.unwrap();
        accounts.forget_demo_key(NOW).await.unwrap();
        assert_eq!(caller(&accounts, &key, NOW).await, None);
        assert_eq!(accounts.meta("demo_key").await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn debug_output_has_no_secret() {
    on_each(async |database| {
        let config = AccountsConfig { pepper: "a-secret".into(), ..AccountsConfig::default() };
        let accounts = open_with(&database, &config).await.unwrap();
        let key = accounts.create_key(None, &[], NOW).await.unwrap();
        let caller = caller(&accounts, &key, NOW).await;
        let keys = accounts.keys().await.unwrap();
        let shown = format!("{accounts:?} {key:?} {key} {caller:?} {keys:?} {config:?}");
        assert!(!shown.contains(&key.expose()[key.prefix().len()..][..8]), "{shown}");
        assert!(!shown.contains("a-secret"), "{shown}");
    })
    .await;
}
