//! On a real database of each kind, with time moved by hand. A new meter on the same database is the
//! hub started again, and two are two hubs.

use std::{collections::BTreeMap, path::Path};

use proptest::{prelude::*, test_runner::TestRunner};
use tokio::{runtime::Handle, task::JoinSet};

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
    UsageDay { day: Day::of(now), product, counts }
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
        meter.mcp_call(account, Product::Football, NOON);
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
async fn last_thirty_days_are_reported_per_account_and_for_all() {
    on_each(async |database| {
        let (meter, one, other) =
            (hub(&database), account(&database).await, account(&database).await);
        for days_ago in [0, 29, 30] {
            meter.call(one, Product::Tennis, NOON - days_ago * DAY_US);
            if days_ago == 29 {
                meter.flush(NOON).await.unwrap();
            }
        }
        meter.call(other, Product::Tennis, NOON);
        meter.call(other, Product::Tennis, NOON + DAY_US);
        let shown = [
            used(NOON, Product::Tennis, calls(1)),
            used(NOON - 29 * DAY_US, Product::Tennis, calls(1)),
        ];
        assert_eq!(meter.last_30_days(one, NOON).await.unwrap(), shown);
        let of_all = meter.last_30_days_of_all(NOON).await.unwrap();
        assert_eq!(of_all, [used(NOON, Product::Tennis, calls(2)), shown[1]]);
        meter.flush(NOON).await.unwrap();
        assert_eq!(meter.last_30_days_of_all(NOON).await.unwrap(), of_all);
    })
    .await;
}

/// SERVICE section 6: quotas reset at 00:00 UTC.
#[tokio::test]
async fn quota_resets_at_midnight() {
    on_each(async |database| {
        let (meter, account) = (hub(&database), account(&database).await);
        let late = Day::of(NOON).start() + DAY_US - 1;
        let reserve =
            async |call, now| meter.reserve(account, Product::Tennis, call, 3, now).await.unwrap();
        assert_eq!(reserve(Call::Rest, late).await, Some(2));
        assert_eq!(reserve(Call::Mcp, late).await, Some(1), "both kinds count");
        assert_eq!(reserve(Call::Rest, late).await, Some(0));
        assert_eq!(reserve(Call::Rest, late).await, None);
        assert_eq!(
            meter.today(account, Product::Tennis, late).await.unwrap(),
            3,
            "refused calls count not"
        );
        assert_eq!(reserve(Call::Rest, late + 1).await, Some(2));
        assert_eq!(meter.today(account, Product::Football, late).await.unwrap(), 0);
        meter.flush(late + 1).await.unwrap();
        assert_eq!(meter.shared.tallies.len(), 1, "a day that is over is evicted from memory");
        // The clock is put back.
        assert_eq!(reserve(Call::Rest, late).await, None);
        meter.call(account, Product::Tennis, late);
        assert_eq!(meter.today(account, Product::Tennis, late).await.unwrap(), 4);
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
    Meter::of(database.clone(), config, Quotas::WithOtherNodes, None, flusher)
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
        for it in 0..6 {
            let meter = nodes[it % 3].clone();
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
            meter.reserve(account, Product::Tennis, Call::Rest, 160, NOON).await
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
            let left = other.reserve(account, Product::Tennis, Call::Rest, 160, later).await;
            if left.unwrap().is_none() {
                break;
            }
            admitted += 1;
            if admitted == 1 {
                execute(&database, "ALTER TABLE quota_leases RENAME TO leases_away").await;
                let left = other.reserve(account, Product::Tennis, Call::Rest, 160, later).await;
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
            let left = meter.reserve(account, Product::Tennis, Call::Rest, 160, NOON).await;
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
            let config = DatabaseConfig { connections_max: 1, acquire_ms: 2_000, probe_ms: 1_000 };
            let narrow = Database::open_with(database.name(), &config).await.unwrap();
            let only = narrow.pool().acquire().await.unwrap();
            let flusher = Flusher::new(getrandom::u64().unwrap().cast_signed(), 0);
            let meter = Meter::of(narrow.clone(), &UsageConfig::default(), quotas, None, flusher);
            let reserve = |now| meter.reserve(account, Product::Tennis, Call::Rest, 160, now);
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
        assert_eq!(remaining, [Day::of(NOON), Day::of(NOON).before(40)]);
        meter.call(account, Product::Signals, NOON);
        meter.flush(NOON).await.unwrap();
        assert_eq!(meter.sweep(NOON).await.unwrap(), 0);
    })
    .await;
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Call(Product, i64),
    McpCall(Product, i64),
    Reserve(Product, i64),
    /// Milliseconds and messages.
    Socket(u64, u64, i64),
    Today(Product, i64),
    Flush(Commit),
    Report,
    /// The hub is killed and started again.
    Kill,
}

#[derive(Debug, Clone, Copy)]
enum Commit {
    Succeeds,
    Fails,
    /// It is committed, but the hub does not learn the outcome.
    Unheard,
}

fn step() -> impl Strategy<Value = Step> {
    let product = || prop_oneof![Just(Product::Football), Just(Product::Tennis)];
    let days_ago = || 0_i64..3;
    let commit = prop_oneof![4 => Just(Commit::Succeeds), 1 => Just(Commit::Fails), 2 => Just(Commit::Unheard)];
    prop_oneof![
        4 => (product(), days_ago()).prop_map(|(p, d)| Step::Call(p, d)),
        1 => (product(), days_ago()).prop_map(|(p, d)| Step::McpCall(p, d)),
        3 => (product(), days_ago()).prop_map(|(p, d)| Step::Reserve(p, d)),
        2 => (0_u64..90_000_000, 0_u64..9, days_ago()).prop_map(|(o, m, d)| Step::Socket(o, m, d)),
        3 => (product(), days_ago()).prop_map(|(p, d)| Step::Today(p, d)),
        5 => commit.prop_map(Step::Flush),
        2 => Just(Step::Report),
        1 => Just(Step::Kill),
    ]
}

const LIMIT: u64 = 5;

type Sums = BTreeMap<(Product, Day), Counts>;

/// A hub, and what it should know.
struct World {
    database: Database,
    account: AccountId,
    meter: Meter,
    counted: Sums,
    stored: Sums,
    /// What may be stored instead: a read settles a commit of unknown outcome by flushing all counts.
    settled: Vec<Sums>,
}

impl World {
    fn new(database: &Database, account: AccountId) -> Self {
        Self {
            meter: hub(database),
            database: database.clone(),
            account,
            counted: BTreeMap::new(),
            stored: BTreeMap::new(),
            settled: Vec::new(),
        }
    }

    async fn step(&mut self, step: Step) {
        if matches!(step, Step::Reserve(..) | Step::Today(..) | Step::Report) {
            self.settled.push(self.counted.clone());
        }
        let at = |days_ago: i64| NOON - days_ago * DAY_US;
        let Self { meter, account, .. } = self;
        let account = *account;
        match step {
            Step::Call(product, ago) => {
                meter.call(account, product, at(ago));
                self.count(product, Day::of(at(ago)), Call::Rest.counts());
            }
            Step::McpCall(product, ago) => {
                meter.mcp_call(account, product, at(ago));
                self.count(product, Day::of(at(ago)), Call::Mcp.counts());
            }
            Step::Reserve(product, ago) => {
                let left =
                    meter.reserve(account, product, Call::Rest, LIMIT, at(ago)).await.unwrap();
                let before = self.calls(product, Day::of(at(ago)));
                assert_eq!(left, LIMIT.checked_sub(before + 1), "left after {before}");
                let counts = if left.is_some() { calls(1) } else { Counts::default() };
                self.count(product, Day::of(at(ago)), counts);
            }
            Step::Socket(socket_ms, messages, ago) => {
                meter.socket(account, socket_ms, messages, at(ago));
                let given = Counts { messages, ..Counts::default() };
                self.count(Product::Websocket, Day::of(at(ago)), given);
                // Since noon, and the day before.
                let second = socket_ms.saturating_sub(43_200_000);
                for (day, socket_ms) in [(0, socket_ms - second), (1, second)] {
                    let open = Counts { socket_ms, ..Counts::default() };
                    self.count(Product::Websocket, Day::of(at(ago)).before(day), open);
                }
            }
            Step::Today(product, ago) => {
                let today = meter.today(account, product, at(ago)).await.unwrap();
                assert_eq!(today, self.calls(product, Day::of(at(ago))));
            }
            Step::Flush(commit) => self.flush(commit).await,
            Step::Kill => {
                self.meter = hub(&self.database);
                let stored = stored(&self.database, account).await;
                let mut expected = std::mem::take(&mut self.settled);
                expected.push(self.stored.clone());
                let found = expected.into_iter().find(|sums| days(sums) == stored);
                self.stored = found.unwrap_or_else(|| panic!("{stored:?} after a kill"));
                self.counted = self.stored.clone();
            }
            Step::Report => {
                let shown = meter.last_30_days(account, NOON).await.unwrap();
                assert_eq!(shown, days(&self.counted));
            }
        }
    }

    async fn flush(&mut self, commit: Commit) {
        let Shared { database, tallies, flushing, .. } = &*self.meter.shared;
        let mut flushing = flushing.write().await;
        if let Commit::Succeeds = commit {
            flushing.flush(database, tallies, None, Day::of(NOON)).await.unwrap();
        } else if let Some(pending) =
            flushing.begin(database, tallies, None, Day::of(NOON)).await.unwrap()
        {
            match commit {
                Commit::Unheard => pending.tx.commit().await.unwrap(),
                Commit::Fails | Commit::Succeeds => pending.tx.rollback().await.unwrap(),
            }
        }
        tallies.tidy(Day::of(NOON));
        if !matches!(commit, Commit::Fails) {
            self.stored = self.counted.clone();
            self.settled.clear();
        }
    }

    fn count(&mut self, product: Product, day: Day, counts: Counts) {
        let sum = self.counted.entry((product, day)).or_default();
        *sum = sum.plus(counts);
    }

    fn calls(&self, product: Product, day: Day) -> u64 {
        self.counted.get(&(product, day)).map_or(0, Counts::all_calls)
    }
}

fn days(sums: &Sums) -> Vec<UsageDay> {
    report::merged(sums.iter().map(|(&(product, day), &counts)| UsageDay { day, product, counts }))
}

/// An unheard commit turns out to be stored while the next flush fails: its tally is evicted, and the
/// failed flush must not be mistaken for later counts of the same day.
#[tokio::test]
async fn call_after_an_evicted_tally_is_flushed() {
    on_each(async |database| {
        let account = account(&database).await;
        let mut world = World::new(&database, account);
        let yesterday = Step::Call(Product::Football, 1);
        let steps = [
            yesterday,
            Step::Flush(Commit::Unheard),
            Step::Flush(Commit::Fails),
            yesterday,
            Step::Flush(Commit::Succeeds),
        ];
        for step in steps {
            world.step(step).await;
        }
        assert_eq!(stored(&database, account).await, days(&world.counted));
    })
    .await;
}

/// After any sequence of calls, flushes, failed or unheard commits and kills, the sums are correct, and a
/// kill loses only counts that were not written.
#[tokio::test(flavor = "multi_thread")]
async fn sums_are_correct_after_any_sequence_of_steps() {
    on_each(async |database| {
        let run = |steps: Vec<Step>| async {
            let account = account(&database).await;
            let mut world = World::new(&database, account);
            for step in steps {
                world.step(step).await;
            }
            world.flush(Commit::Succeeds).await;
            assert_eq!(stored(&database, account).await, days(&world.counted));
        };
        let run = |steps| tokio::task::block_in_place(|| Handle::current().block_on(run(steps)));
        let mut runner = TestRunner::new(ProptestConfig { cases: 48, ..ProptestConfig::default() });
        let steps = prop::collection::vec(step(), 1..40);
        let outcome = runner.run(&steps, |steps| {
            run(steps);
            Ok(())
        });
        outcome.unwrap();
    })
    .await;
}

/// A hub with a journal in this folder.
async fn journaled(database: &Database, folder: &Path) -> Meter {
    let journal = path_beside(&folder.join("matchwire.db"));
    let writer = getrandom::u64().unwrap().cast_signed();
    let config = UsageConfig::default();
    let quotas = Quotas::Alone;
    Meter::with_journal(database.clone(), &config, quotas, writer, &journal).await.unwrap()
}

fn journal_len(folder: &Path) -> u64 {
    std::fs::metadata(path_beside(&folder.join("matchwire.db"))).unwrap().len()
}

#[tokio::test]
async fn counts_before_a_kill_are_in_the_journal() {
    on_each(async |database| {
        let folder = tempfile::tempdir().unwrap();
        let account = account(&database).await;
        let meter = journaled(&database, folder.path()).await;
        let reserve = async |meter: &Meter| {
            meter.reserve(account, Product::Football, Call::Rest, 4, NOON).await.unwrap()
        };
        assert_eq!(reserve(&meter).await, Some(3));
        meter.count_call(account, Product::Football, Call::Mcp, NOON).await;
        meter.flush(NOON).await.unwrap();
        assert_eq!(reserve(&meter).await, Some(1));
        meter.socket(account, 1_500, 7, NOON);
        // Killed, and the last entry was cut off.
        drop(meter);
        let path = path_beside(&folder.path().join("matchwire.db"));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend([0xa7, 20, 0, 1]);
        std::fs::write(&path, bytes).unwrap();
        let again = journaled(&database, folder.path()).await;
        let football = Counts { mcp_calls: 1, ..calls(2) };
        let socket = Counts { socket_ms: 1_500, messages: 7, ..Counts::default() };
        let expected =
            [used(NOON, Product::Football, football), used(NOON, Product::Websocket, socket)];
        assert_eq!(again.last_30_days(account, NOON).await.unwrap(), expected);
        assert_eq!(reserve(&again).await, Some(0), "the quota includes calls before the kill");
        assert_eq!(reserve(&again).await, None);
        again.flush(NOON).await.unwrap();
        assert_eq!(journal_len(folder.path()), 0, "the database has everything");
        drop(again);
        let third = journaled(&database, folder.path()).await;
        let all = third.last_30_days(account, NOON).await.unwrap();
        assert_eq!(all, stored(&database, account).await);
        assert_eq!(UsageDay::sum(&all).all_calls(), 4);
    })
    .await;
}

#[tokio::test]
async fn flush_before_a_kill_is_not_counted_twice() {
    on_each(async |database| {
        for is_committed in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let account = account(&database).await;
            let meter = journaled(&database, folder.path()).await;
            meter.call(account, Product::Tennis, NOON);
            let pending = {
                let Shared { database, tallies, flushing, journal, .. } = &*meter.shared;
                let mut flushing = flushing.write().await;
                let today = Day::of(NOON);
                flushing.begin(database, tallies, journal.as_ref(), today).await.unwrap().unwrap()
            };
            if is_committed {
                pending.tx.commit().await.unwrap();
            } else {
                pending.tx.rollback().await.unwrap();
            }
            // Counted after the flush began.
            meter.call(account, Product::Tennis, NOON);
            drop(meter);
            for _ in 0..2 {
                let again = journaled(&database, folder.path()).await;
                let all = again.last_30_days(account, NOON).await.unwrap();
                assert_eq!(all, [used(NOON, Product::Tennis, calls(2))], "{is_committed}");
            }
            journaled(&database, folder.path()).await.flush(NOON).await.unwrap();
            assert_eq!(UsageDay::sum(&stored(&database, account).await).calls, 2);
        }
    })
    .await;
}

#[tokio::test]
async fn second_process_does_without_the_journal_of_the_first() {
    on_each(async |database| {
        let folder = tempfile::tempdir().unwrap();
        let account = account(&database).await;
        let first = journaled(&database, folder.path()).await;
        first.call(account, Product::Tennis, NOON);
        let second = journaled(&database, folder.path()).await;
        assert!(second.shared.journal.is_none());
        second.call(account, Product::Tennis, NOON);
        second.flush(NOON).await.unwrap();
        first.flush(NOON).await.unwrap();
        assert_eq!(UsageDay::sum(&stored(&database, account).await).calls, 2);
    })
    .await;
}

#[derive(Debug, Clone)]
enum Act {
    Call(usize),
    Quota(usize),
    Socket,
    Flush,
    /// A flush that is killed before or after its commit.
    KilledInFlush(bool),
    Kill,
    Midnight,
}

/// Whatever is killed and when: every call counts once.
#[test]
fn every_call_counts_once_over_kills() {
    let act = prop_oneof![
        6 => (0_usize..2).prop_map(Act::Call),
        3 => (0_usize..2).prop_map(Act::Quota),
        2 => Just(Act::Socket),
        2 => Just(Act::Flush),
        2 => any::<bool>().prop_map(Act::KilledInFlush),
        2 => Just(Act::Kill),
        1 => Just(Act::Midnight),
    ];
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(on_each(async |database| {
        let handle = Handle::current();
        let config = proptest::test_runner::Config::with_cases(24);
        let mut runner = TestRunner::new(config);
        let run = async |acts: Vec<Act>| {
            let folder = tempfile::tempdir().unwrap();
            let accounts = [account(&database).await, account(&database).await];
            let mut meter = journaled(&database, folder.path()).await;
            let (mut now, mut expected) = (NOON, [0_u64; 2]);
            for act in acts {
                match act {
                    Act::Call(of) => {
                        meter.count_call(accounts[of], Product::Odds, Call::Rest, now).await;
                        expected[of] += 1;
                    }
                    Act::Quota(of) => {
                        let reserved =
                            meter.reserve(accounts[of], Product::Odds, Call::Mcp, 1_000, now);
                        reserved.await.unwrap();
                        expected[of] += 1;
                    }
                    Act::Socket => meter.socket(accounts[0], 10, 1, now),
                    Act::Flush => {
                        meter.flush(now).await.unwrap();
                    }
                    Act::KilledInFlush(is_committed) => {
                        let pending = {
                            let Shared { database, tallies, flushing, journal, .. } =
                                &*meter.shared;
                            let mut flushing = flushing.write().await;
                            let begun =
                                flushing.begin(database, tallies, journal.as_ref(), Day::of(now));
                            begun.await.unwrap()
                        };
                        if let Some(pending) = pending {
                            if is_committed {
                                pending.tx.commit().await.unwrap();
                            } else {
                                pending.tx.rollback().await.unwrap();
                            }
                        }
                        drop(meter);
                        meter = journaled(&database, folder.path()).await;
                    }
                    Act::Kill => {
                        drop(meter);
                        meter = journaled(&database, folder.path()).await;
                    }
                    Act::Midnight => now += DAY_US,
                }
            }
            meter.flush(now).await.unwrap();
            let mut counted = [0; 2];
            for (of, account) in accounts.into_iter().enumerate() {
                counted[of] = UsageDay::sum(&stored(&database, account).await).all_calls();
            }
            (counted, expected)
        };
        let run = |acts| tokio::task::block_in_place(|| handle.block_on(run(acts)));
        let all = runner.run(&prop::collection::vec(act.clone(), 1..25), |acts| {
            let (counted, expected) = run(acts);
            prop_assert_eq!(counted, expected);
            Ok(())
        });
        all.unwrap();
    }));
}
