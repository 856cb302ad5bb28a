//! Any sequence of calls, flushes and kills, against sums that are counted beside them.

use std::collections::BTreeMap;

use proptest::{prelude::*, test_runner::TestRunner};
use tokio::runtime::Handle;

use super::*;

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
    let product = || prop_oneof![Just(Product::Football), Just(Product::TENNIS)];
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
                self.count(product, Day::at(at(ago)), Call::Rest.counts());
            }
            Step::McpCall(product, ago) => {
                meter.count(account, product, Call::Mcp.counts(), at(ago));
                self.count(product, Day::at(at(ago)), Call::Mcp.counts());
            }
            Step::Reserve(product, ago) => {
                let left =
                    meter.reserve(account, product, Call::Rest, LIMIT, at(ago)).await.unwrap();
                let before = self.calls(product, Day::at(at(ago)));
                assert_eq!(left, LIMIT.checked_sub(before + 1), "left after {before}");
                let counts = if left.is_some() { calls(1) } else { Counts::default() };
                self.count(product, Day::at(at(ago)), counts);
            }
            Step::Socket(socket_ms, messages, ago) => {
                meter.socket(account, socket_ms, messages, at(ago));
                let given = Counts { messages, ..Counts::default() };
                self.count(Product::Websocket, Day::at(at(ago)), given);
                // Since noon, and the day before.
                let second = socket_ms.saturating_sub(43_200_000);
                for (day, socket_ms) in [(0, socket_ms - second), (1, second)] {
                    let open = Counts { socket_ms, ..Counts::default() };
                    self.count(Product::Websocket, Day::at(at(ago)).before(day), open);
                }
            }
            Step::Today(product, ago) => {
                let today = meter.today(account, product, at(ago)).await.unwrap();
                assert_eq!(today, self.calls(product, Day::at(at(ago))));
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
            flushing.flush(database, tallies, None, Day::at(NOON)).await.unwrap();
        } else if let Some(pending) =
            flushing.begin(database, tallies, None, Day::at(NOON)).await.unwrap()
        {
            match commit {
                Commit::Unheard => pending.tx.commit().await.unwrap(),
                Commit::Fails | Commit::Succeeds => pending.tx.rollback().await.unwrap(),
            }
        }
        tallies.tidy(Day::at(NOON));
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
