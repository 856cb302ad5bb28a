//! On a real database of each kind, with time moved by hand. A new meter on the same database is the
//! hub started again, and two are two hubs.

mod journal;
mod model;

use tokio::task::JoinSet;

use super::*;
use database::{DatabaseConfig, testing::on_each};

const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;
/// Noon of a day.
const NOON: Micros = 20_000 * DAY_US + DAY_US / 2;
/// After a failure the store is asked again by then, however long the failed call waited.
const ASKED_AGAIN: Micros = 60_000_000;

fn hub(database: &Database) -> Meter {
    with(database, &UsageConfig::default())
}

fn with(database: &Database, config: &UsageConfig) -> Meter {
    let writer = getrandom::u64().unwrap().cast_signed();
    Meter::new(database.clone(), config, writer)
}

async fn account(database: &Database) -> AccountId {
    let id = sqlx::query_scalar("INSERT INTO accounts (created_us) VALUES (0) RETURNING id");
    AccountId::numbered(id.fetch_one(database.pool()).await.unwrap())
}

async fn execute(database: &Database, statement: &'static str) {
    sqlx::query(statement).execute(database.pool()).await.unwrap();
}

fn calls(calls: u64) -> Counts {
    Counts { calls, ..Counts::default() }
}

fn used(now: Micros, product: Product, counts: Counts) -> UsageDay {
    UsageDay { day: Day::at(now), product, counts }
}

/// The stored usage of an account, bypassing the meter.
async fn stored(database: &Database, account: AccountId) -> Vec<UsageDay> {
    let all = (Day(0), Day(i64::MAX));
    report::merged(store::days_of(database, account, all.0, all.1).await.unwrap())
}

#[tokio::test]
async fn usage_is_counted_by_product_and_day() {
    on_each(async |database| {
        let (meter, account) = (hub(&database), account(&database).await);
        meter.call(account, Product::Football, NOON);
        meter.call(account, Product::Football, NOON);
        meter.count(account, Product::Football, Call::Mcp.counts(), NOON);
        meter.call(account, Product::Odds, NOON - DAY_US);
        meter.socket(account, 1_500, 7, NOON);
        let football = Counts { mcp_calls: 1, ..calls(2) };
        let socket = Counts { socket_ms: 1_500, messages: 7, ..Counts::default() };
        let expected = [
            used(NOON, Product::Football, football),
            used(NOON, Product::Websocket, socket),
            used(NOON - DAY_US, Product::Odds, calls(1)),
        ];
        assert_eq!(meter.last_30_days(account, NOON).await.unwrap(), expected);
        assert_eq!(stored(&database, account).await, [], "nothing is written at a call");
        assert_eq!(meter.flush(NOON).await.unwrap(), 3);
        assert_eq!(stored(&database, account).await, expected);
        assert_eq!(meter.last_30_days(account, NOON).await.unwrap(), expected);
        assert_eq!(meter.flush(NOON).await.unwrap(), 0, "nothing was counted since");
    })
    .await;
}

/// SPEC section 2: the figure of 30 days. Today is one of them.
#[tokio::test]
async fn last_thirty_days_are_reported_per_account() {
    on_each(async |database| {
        let (meter, one, other) =
            (hub(&database), account(&database).await, account(&database).await);
        for days_ago in [0, 29, 30] {
            meter.call(one, Product::TENNIS, NOON - days_ago * DAY_US);
            if days_ago == 29 {
                meter.flush(NOON).await.unwrap();
            }
        }
        meter.call(other, Product::TENNIS, NOON);
        meter.call(other, Product::TENNIS, NOON + DAY_US);
        let shown = [
            used(NOON, Product::TENNIS, calls(1)),
            used(NOON - 29 * DAY_US, Product::TENNIS, calls(1)),
        ];
        assert_eq!(meter.last_30_days(one, NOON).await.unwrap(), shown);
        meter.flush(NOON).await.unwrap();
        assert_eq!(meter.last_30_days(one, NOON).await.unwrap(), shown);
    })
    .await;
}

/// SERVICE section 6: quotas reset at 00:00 UTC.
#[tokio::test]
async fn quota_resets_at_midnight() {
    on_each(async |database| {
        let (meter, account) = (hub(&database), account(&database).await);
        let late = Day::at(NOON).start() + DAY_US - 1;
        let reserve =
            async |call, now| meter.reserve(account, Product::TENNIS, call, 3, now).await.unwrap();
        assert_eq!(reserve(Call::Rest, late).await, Some(2));
        assert_eq!(reserve(Call::Mcp, late).await, Some(1), "both kinds count");
        assert_eq!(reserve(Call::Rest, late).await, Some(0));
        assert_eq!(reserve(Call::Rest, late).await, None);
        assert_eq!(
            meter.today(account, Product::TENNIS, late).await.unwrap(),
            3,
            "refused calls count not"
        );
        assert_eq!(reserve(Call::Rest, late + 1).await, Some(2));
        assert_eq!(meter.today(account, Product::Football, late).await.unwrap(), 0);
        meter.flush(late + 1).await.unwrap();
        assert_eq!(meter.shared.tallies.len(), 1, "a day that is over is evicted from memory");
        // The clock is put back.
        assert_eq!(reserve(Call::Rest, late).await, None);
        meter.call(account, Product::TENNIS, late);
        assert_eq!(meter.today(account, Product::TENNIS, late).await.unwrap(), 4);
        meter.flush(late).await.unwrap();
        let days: Vec<u64> =
            stored(&database, account).await.iter().map(|day| day.counts.all_calls()).collect();
        assert_eq!(days, [1, 4]);
    })
    .await;
}

#[tokio::test]
async fn calls_of_previous_runs_and_other_hubs_count_today() {
    on_each(async |database| {
        let account = account(&database).await;
        let (one, other) = (hub(&database), hub(&database));
        let today =
            async |meter: &Meter| meter.today(account, Product::Football, NOON).await.unwrap();
        one.call(account, Product::Football, NOON);
        one.flush(NOON).await.unwrap();
        assert_eq!(today(&other).await, 1);
        one.call(account, Product::Football, NOON);
        one.flush(NOON).await.unwrap();
        other.call(account, Product::Football, NOON);
        other.flush(NOON).await.unwrap();
        assert_eq!(today(&other).await, 3, "a flush reads the calls of the other");
        assert_eq!(today(&hub(&database)).await, 3);
    })
    .await;
}

/// Of concurrent calls exactly as many as allowed succeed, while flushes run.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_calls_never_exceed_the_quota() {
    on_each(async |database| {
        let (meter, account) = (hub(&database), account(&database).await);
        let mut tasks = JoinSet::new();
        for _ in 0..8 {
            let meter = meter.clone();
            tasks.spawn(async move {
                let mut through = 0;
                for _ in 0..100 {
                    let left =
                        meter.reserve(account, Product::Football, Call::Rest, 500, NOON).await;
                    through += u64::from(left.unwrap().is_some());
                    tokio::task::yield_now().await;
                }
                through
            });
        }
        while meter.today(account, Product::Football, NOON).await.unwrap() < 500 {
            meter.flush(NOON).await.unwrap();
        }
        assert_eq!(tasks.join_all().await.iter().sum::<u64>(), 500);
        meter.flush(NOON).await.unwrap();
        assert_eq!(stored(&database, account).await, [used(NOON, Product::Football, calls(500))]);
    })
    .await;
}

/// A node of a cluster.
fn node(database: &Database, config: &UsageConfig) -> Meter {
    let writer = getrandom::u64().unwrap().cast_signed();
    let flusher = Flusher::new(writer, 0);
    Meter::with_parts(database.clone(), config, Quotas::WithOtherNodes, None, flusher)
}

/// Issue 16, point 3: quotas are exact across nodes, while they flush, evict tallies and return what they do not use.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_together_admit_exactly_the_quota() {
    on_each(async |database| {
        const LIMIT: u64 = 3_000;
        // Always crowded: each flush evicts what it may.
        let config = UsageConfig { entries_max: 2, ..UsageConfig::default() };
        let nodes = [0; 3].map(|_| node(&database, &config));
        let account = account(&database).await;
        // Counted before any node leased a part.
        nodes[0].call(account, Product::Football, NOON);
        nodes[0].flush(NOON).await.unwrap();
        let mut tasks = JoinSet::new();
        for round in 0..6 {
            let meter = nodes[round % 3].clone();
            tasks.spawn(async move {
                let (mut admitted, mut now) = (0, NOON);
                // Until nobody has anything left that another could return.
                while now < NOON + 60_000_000 {
                    let left =
                        meter.reserve(account, Product::Football, Call::Rest, LIMIT, now).await;
                    match left.unwrap() {
                        Some(_) => admitted += 1,
                        None => now += 1_000_000,
                    }
                    if admitted % 500 == 499 {
                        meter.flush(now).await.unwrap();
                        meter.return_leases(Micros::MAX, now).await.unwrap();
                    }
                    tokio::task::yield_now().await;
                }
                meter.return_leases(Micros::MAX, now).await.unwrap();
                admitted
            });
        }
        let admitted: u64 = tasks.join_all().await.iter().sum();
        assert!(admitted < LIMIT, "{admitted} and one before");
        // What one of them returned at its end is there for the others.
        let mut rest = 0;
        let later = NOON + 120_000_000;
        while nodes[1]
            .reserve(account, Product::Football, Call::Mcp, LIMIT, later)
            .await
            .unwrap()
            .is_some()
        {
            rest += 1;
        }
        assert_eq!(1 + admitted + rest, LIMIT);
        for node in &nodes {
            node.flush(later).await.unwrap();
        }
        let total = stored(&database, account).await[0].counts.all_calls();
        assert_eq!(total, LIMIT, "each admitted call is counted");
        let tomorrow = NOON + DAY_US;
        let left = nodes[2].reserve(account, Product::Football, Call::Rest, LIMIT, tomorrow).await;
        assert_eq!(left.unwrap(), Some(LIMIT - 1), "the next day has a quota of its own");
    })
    .await;
}

/// A killed node keeps what it leased, so that nothing is admitted twice; a leased part outlasts a fault of the store.
#[tokio::test]
async fn killed_node_costs_at_most_its_lease() {
    on_each(async |database| {
        let (config, account) = (UsageConfig::default(), account(&database).await);
        let (killed, other) = (node(&database, &config), node(&database, &config));
        let reserve = async |meter: &Meter| {
            meter.reserve(account, Product::TENNIS, Call::Rest, 160, NOON).await
        };
        assert_eq!(reserve(&killed).await.unwrap(), Some(159));
        drop(killed);
        execute(&database, "ALTER TABLE quota_leases RENAME TO leases_away").await;
        reserve(&other).await.unwrap_err();
        assert!(matches!(reserve(&other).await, Err(UsageError::Unavailable)), "asked again");
        execute(&database, "ALTER TABLE leases_away RENAME TO quota_leases").await;
        let mut admitted = 0;
        let later = NOON + 2_000_000;
        loop {
            let left = other.reserve(account, Product::TENNIS, Call::Rest, 160, later).await;
            if left.unwrap().is_none() {
                break;
            }
            admitted += 1;
            if admitted == 1 {
                execute(&database, "ALTER TABLE quota_leases RENAME TO leases_away").await;
                let left = other.reserve(account, Product::TENNIS, Call::Rest, 160, later).await;
                assert!(left.unwrap().is_some(), "the store is not needed for what is leased");
                execute(&database, "ALTER TABLE leases_away RENAME TO quota_leases").await;
                admitted += 1;
            }
        }
        assert_eq!(admitted, 150, "160 less the 10 that the killed node had leased");
    })
    .await;
}

/// What a node cannot return it keeps, and returns later.
#[tokio::test]
async fn lease_that_cannot_be_returned_goes_on() {
    on_each(async |database| {
        let (config, account) = (UsageConfig::default(), account(&database).await);
        let (one, other) = (node(&database, &config), node(&database, &config));
        let reserve = async |meter: &Meter| {
            let left = meter.reserve(account, Product::TENNIS, Call::Rest, 160, NOON).await;
            left.unwrap()
        };
        assert_eq!(reserve(&one).await, Some(159));
        execute(&database, "ALTER TABLE quota_leases RENAME TO leases_away").await;
        one.return_leases(Micros::MAX, NOON).await.unwrap_err();
        assert_eq!(reserve(&one).await, Some(158), "it still has what it leased");
        execute(&database, "ALTER TABLE leases_away RENAME TO quota_leases").await;
        one.return_leases(Micros::MAX, NOON).await.unwrap();
        let mut admitted = 0;
        while reserve(&other).await.is_some() {
            admitted += 1;
        }
        assert_eq!(admitted, 158, "all that the first did not use");
    })
    .await;
}

/// A call may wait for a connection for `acquire_ms`. Others that come or wait meanwhile do not wait for it again.
#[tokio::test]
async fn calls_do_not_queue_for_a_store_that_is_away() {
    on_each(async |database| {
        let account = account(&database).await;
        for quotas in [Quotas::Alone, Quotas::WithOtherNodes] {
            let config = DatabaseConfig {
                connections_max: 1,
                acquire_ms: 2_000,
                ..DatabaseConfig::default()
            };
            let narrow = Database::open_with(database.name(), &config).await.unwrap();
            let only = narrow.pool().acquire().await.unwrap();
            let flusher = Flusher::new(getrandom::u64().unwrap().cast_signed(), 0);
            let meter =
                Meter::with_parts(narrow.clone(), &UsageConfig::default(), quotas, None, flusher);
            let reserve = |now| meter.reserve(account, Product::TENNIS, Call::Rest, 160, now);
            let (first, second) = tokio::join!(reserve(NOON), reserve(NOON));
            let timed_out = matches!(first, Err(UsageError::Store(sqlx::Error::PoolTimedOut)));
            assert!(timed_out, "{quotas:?}: {first:?}");
            assert!(matches!(second, Err(UsageError::Unavailable)), "{quotas:?}: {second:?}");
            // More than a second after the first began, but not after it ended.
            let third = reserve(NOON + 2_000_000).await;
            assert!(matches!(third, Err(UsageError::Unavailable)), "{quotas:?}: {third:?}");
            drop(only);
            assert_eq!(reserve(NOON + ASKED_AGAIN).await.unwrap(), Some(159), "{quotas:?}");
            narrow.close().await;
        }
    })
    .await;
}

/// Calls counted by many threads during constant flushes and evictions are counted once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_lost_when_tallies_are_evicted() {
    on_each(async |database| {
        // Always crowded: each flush evicts what it has written.
        let config = UsageConfig { entries_max: 2, ..UsageConfig::default() };
        let (meter, account) = (with(&database, &config), account(&database).await);
        let mut tasks = JoinSet::new();
        for _ in 0..4 {
            let meter = meter.clone();
            tasks.spawn(async move {
                for _ in 0..500 {
                    meter.call(account, Product::Football, NOON);
                    tokio::task::yield_now().await;
                }
            });
        }
        while !tasks.is_empty() {
            meter.flush(NOON).await.unwrap();
            while tasks.try_join_next().is_some() {}
        }
        meter.flush(NOON).await.unwrap();
        assert_eq!(meter.shared.tallies.len(), 0);
        assert_eq!(stored(&database, account).await, [used(NOON, Product::Football, calls(2_000))]);
        assert_eq!(meter.today(account, Product::Football, NOON).await.unwrap(), 2_000);
    })
    .await;
}

#[tokio::test]
async fn number_of_tallies_is_bounded() {
    on_each(async |database| {
        let config = UsageConfig { entries_max: 2, ..UsageConfig::default() };
        let meter = with(&database, &config);
        let accounts =
            [account(&database).await, account(&database).await, account(&database).await];
        for account in accounts {
            meter.call(account, Product::Odds, NOON);
        }
        let refused = meter.reserve(accounts[2], Product::Odds, Call::Rest, 10, NOON).await;
        assert!(matches!(refused, Err(UsageError::Full)), "{refused:?}");
        assert_eq!(meter.flush(NOON).await.unwrap(), 2, "the third went uncounted");
        let left = meter.reserve(accounts[2], Product::Odds, Call::Rest, 10, NOON).await.unwrap();
        assert_eq!(left, Some(9), "there is room again");
    })
    .await;
}

#[tokio::test]
async fn failed_flush_loses_nothing() {
    on_each(async |database| {
        let (meter, account) = (hub(&database), account(&database).await);
        meter.call(account, Product::Football, NOON);
        execute(&database, "ALTER TABLE usage RENAME TO usage_away").await;
        meter.flush(NOON).await.unwrap_err();
        meter.call(account, Product::Football, NOON);
        meter.flush(NOON + DAY_US).await.unwrap_err();
        meter.today(account, Product::Football, NOON).await.unwrap_err();
        execute(&database, "ALTER TABLE usage_away RENAME TO usage").await;
        let at_once = meter.today(account, Product::Football, NOON + 500_000).await;
        assert!(matches!(at_once, Err(UsageError::Unavailable)), "asked again: {at_once:?}");
        let later = NOON + ASKED_AGAIN;
        assert_eq!(meter.today(account, Product::Football, later).await.unwrap(), 2);
        meter.flush(NOON).await.unwrap();
        assert_eq!(stored(&database, account).await, [used(NOON, Product::Football, calls(2))]);
    })
    .await;
}

#[tokio::test]
async fn missing_account_does_not_block_the_flush() {
    on_each(async |database| {
        let (meter, account) = (hub(&database), account(&database).await);
        meter.call(AccountId::numbered(account.number() + 1), Product::Football, NOON);
        meter.call(account, Product::Football, NOON);
        meter.flush(NOON).await.unwrap();
        assert_eq!(stored(&database, account).await, [used(NOON, Product::Football, calls(1))]);
        assert_eq!(meter.flush(NOON).await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn days_beyond_retention_are_swept() {
    on_each(async |database| {
        let config = UsageConfig { keep_days: 40, ..UsageConfig::default() };
        let (meter, account) = (with(&database, &config), account(&database).await);
        for days_ago in [0, 40, 41, 50] {
            meter.call(account, Product::Signals, NOON - days_ago * DAY_US);
        }
        meter.flush(NOON).await.unwrap();
        assert_eq!(meter.sweep(NOON).await.unwrap(), 2);
        let remaining: Vec<Day> =
            stored(&database, account).await.iter().map(|day| day.day).collect();
        assert_eq!(remaining, [Day::at(NOON), Day::at(NOON).before(40)]);
        meter.call(account, Product::Signals, NOON);
        meter.flush(NOON).await.unwrap();
        assert_eq!(meter.sweep(NOON).await.unwrap(), 0);
    })
    .await;
}
