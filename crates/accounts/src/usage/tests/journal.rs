//! The journal: what was counted before a kill counts once.

use std::path::Path;

use proptest::{prelude::*, test_runner::TestRunner};
use tokio::runtime::Handle;

use super::*;

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
            meter.call(account, Product::TENNIS, NOON);
            let pending = {
                let Shared { database, tallies, flushing, journal, .. } = &*meter.shared;
                let mut flushing = flushing.write().await;
                let today = Day::at(NOON);
                flushing.begin(database, tallies, journal.as_ref(), today).await.unwrap().unwrap()
            };
            if is_committed {
                pending.tx.commit().await.unwrap();
            } else {
                pending.tx.rollback().await.unwrap();
            }
            // Counted after the flush began.
            meter.call(account, Product::TENNIS, NOON);
            drop(meter);
            for _ in 0..2 {
                let again = journaled(&database, folder.path()).await;
                let all = again.last_30_days(account, NOON).await.unwrap();
                assert_eq!(all, [used(NOON, Product::TENNIS, calls(2))], "{is_committed}");
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
        first.call(account, Product::TENNIS, NOON);
        let second = journaled(&database, folder.path()).await;
        assert!(second.shared.journal.is_none());
        second.call(account, Product::TENNIS, NOON);
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
                    Act::Call(index) => {
                        meter.count_call(accounts[index], Product::Odds, Call::Rest, now).await;
                        expected[index] += 1;
                    }
                    Act::Quota(index) => {
                        let reserved =
                            meter.reserve(accounts[index], Product::Odds, Call::Mcp, 1_000, now);
                        reserved.await.unwrap();
                        expected[index] += 1;
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
                                flushing.begin(database, tallies, journal.as_ref(), Day::at(now));
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
            for (index, account) in accounts.into_iter().enumerate() {
                counted[index] = UsageDay::sum(&stored(&database, account).await).all_calls();
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
