//! The archive of signals: all their SQL, and the task that writes them.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use super::store::{compressed, document};
use crate::signal_board::SignalBoard;
use database::{Database, STATEMENT_MAX, WriteBudget, is_deposed, within};
use record::signal::SignalRecord;

/// The interval at which changed signals are written.
const WRITE_EVERY: Duration = Duration::from_secs(1);

/// The capacity of a board.
const RESTORED_MAX: i64 = 20_000;

/// Restores the stored signals to the board. Those that the hub does not continue are ended by
/// [`SignalBoard::end_all_but`].
///
/// # Errors
///
/// If the database fails.
pub async fn restore(database: &Database, board: &SignalBoard) -> sqlx::Result<()> {
    let stored = "SELECT packed FROM archive_signals ORDER BY began_us DESC, id LIMIT $1";
    let stored = sqlx::query(stored)
        .bind(RESTORED_MAX)
        .try_map(|row| document::<SignalRecord>(&row, "packed"));
    let stored = stored.fetch_all(database.pool()).await?;
    board.restore(&stored.into_iter().map(Arc::new).collect::<Vec<_>>());
    Ok(())
}

/// Writes changed signals periodically until the hub has stopped, and then once more.
pub async fn keep(database: Database, board: SignalBoard, mut stopped: watch::Receiver<bool>) {
    let mut pace = WriteBudget::default();
    loop {
        let stop = stopped.wait_for(|stop| *stop);
        let is_last = tokio::time::timeout(WRITE_EVERY, stop).await.is_ok();
        write_changed(&database, &board, &mut pace).await;
        if is_last {
            return;
        }
    }
}

async fn write_changed(database: &Database, board: &SignalBoard, pace: &mut WriteBudget) {
    let queued = board.progress().queued();
    let unwritten = board.take_unwritten();
    match write(database, pace, &unwritten).await {
        Ok(()) => board.progress().mark_written(queued),
        // The node that leads writes them: it knows all that this one has recorded. They do not count as written, since
        // it may end before it has, and this node may lead next.
        Err(error) if is_deposed(&error) => {}
        Err(error) => {
            base::log_limited!(warn, error, "cannot write signals; will retry");
            board.not_written(&unwritten);
        }
    }
}

async fn write(
    database: &Database,
    pace: &mut WriteBudget,
    records: &[Arc<SignalRecord>],
) -> sqlx::Result<()> {
    let mut steps = database.batch_writer(pace);
    for record in records {
        let put = sqlx::query(
            "INSERT INTO archive_signals
                 (id, sport, kind, match_id, strength, began_us, ended_us, packed)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
             ON CONFLICT (id) DO UPDATE SET strength = excluded.strength,
                 ended_us = excluded.ended_us, packed = excluded.packed
             WHERE archive_signals.ended_us IS NULL OR excluded.ended_us IS NOT NULL",
        )
        .bind(record.digest().0.cast_signed())
        .bind(record.sport.as_str())
        .bind(record.signal.topic.kind.as_str())
        .bind(record.match_id.cast_signed())
        .bind(i64::from(record.signal.strength))
        .bind(record.began)
        .bind(record.ended)
        .bind(compressed(&**record)?);
        within(STATEMENT_MAX, put.execute(steps.next().await?)).await?;
    }
    steps.finish().await
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use facts::event::{Id, Outcome, Sport};
    use rust_decimal::dec;

    use super::*;
    use database::{Fence, testing::on_each};
    use record::EntityRef;
    use record::signal::{Finding, Leg, MarketKey, Signal, SignalKind, Topic};

    fn arbitrage(began: i64, ended: Option<i64>) -> Arc<SignalRecord> {
        let leg = |outcome, price| Leg {
            outcome,
            bookmaker: "a".into(),
            price,
            commission: dec!(0.05),
            stake: dec!(0.500000),
        };
        let line = Some(dec!(2.5));
        let market = MarketKey { kind: "over_under".into(), period: None, line };
        let legs = vec![leg(Outcome::Over, dec!(2.10)), leg(Outcome::Under, dec!(2.10))];
        let signal = Signal {
            topic: Topic {
                kind: SignalKind::Arbitrage,
                market: Some(market),
                outcome: None,
                bookmaker: None,
            },
            strength: 50,
            finding: Finding::Arbitrage { profit: dec!(0.0500), legs },
        };
        let sides = ["x", "y"].map(|name| EntityRef { id: 1, name: name.into() });
        let record = SignalRecord::new(Id(7), Sport::Football, Some(sides), began, signal);
        Arc::new(SignalRecord { ended, updated: began + 3, ..(*record).clone() })
    }

    /// After a crash, the exports since the last snapshot are applied again.
    #[tokio::test]
    async fn repeated_exports_neither_double_signals_nor_undo_their_end() {
        on_each(async |database| {
            let exports = [
                vec![arbitrage(10, None)],
                vec![arbitrage(20, None), arbitrage(10, Some(15))],
                vec![arbitrage(20, Some(23))],
            ];
            let stored = async || -> Vec<SignalRecord> {
                let all = sqlx::query("SELECT packed FROM archive_signals ORDER BY id");
                let all = all.try_map(|row| document::<SignalRecord>(&row, "packed"));
                all.fetch_all(database.pool()).await.unwrap()
            };
            let write = async |exports: &[Vec<Arc<SignalRecord>>]| {
                let board = SignalBoard::default();
                for export in exports {
                    board.put(export);
                    let unwritten = board.take_unwritten();
                    write(&database, &mut WriteBudget::default(), &unwritten).await.unwrap();
                }
            };
            write(&exports).await;
            let expected = stored().await;
            assert_eq!(expected.len(), 2);
            assert!(expected.iter().all(|record| record.ended.is_some()));
            // Each later program starts from an earlier export, and is killed after each export.
            for from in 0..exports.len() {
                for to in from..=exports.len() {
                    write(&exports[from..to]).await;
                    assert_eq!(stored().await, expected, "{from}..{to}");
                }
            }
        })
        .await;
    }

    /// The node that leads may end before it has written them.
    #[tokio::test]
    async fn signals_of_a_deposed_leader_do_not_count_as_written() {
        on_each(async |database| {
            let fences = [Fence::default(), Fence::default()];
            let [old, new] = [0, 1].map(|it: usize| database.fenced(&fences[it]));
            let (board, mut pace) = (SignalBoard::default(), WriteBudget::default());
            fences[0].lead("log", 4, false);
            board.put(&[arbitrage(10, None)]);
            write_changed(&old, &board, &mut pace).await;
            assert!(board.progress().is_written(1));
            fences[1].lead("log", 5, false);
            write(&new, &mut pace, &[arbitrage(20, None)]).await.unwrap();
            board.put(&[arbitrage(10, Some(15))]);
            write_changed(&old, &board, &mut pace).await;
            assert!(!board.progress().is_written(2), "the database does not have it");
        })
        .await;
    }

    #[tokio::test]
    async fn restored_signals_are_unchanged_and_end_unless_the_hub_continues_them() {
        on_each(async |database| {
            let board = SignalBoard::default();
            board.put(&[arbitrage(10, None), arbitrage(20, None)]);
            write(&database, &mut WriteBudget::default(), &board.take_unwritten()).await.unwrap();
            board.put(&[arbitrage(10, Some(15))]);
            write(&database, &mut WriteBudget::default(), &board.take_unwritten()).await.unwrap();
            let restored = SignalBoard::default();
            restore(&database, &restored).await.unwrap();
            restored.end_all_but(&BTreeSet::from([arbitrage(20, None).id]));
            assert_eq!(restored.find(|_| true), [arbitrage(20, None), arbitrage(10, Some(15))]);
            restored.end_all_but(&BTreeSet::new());
            let expected = [arbitrage(20, Some(23)), arbitrage(10, Some(15))];
            assert_eq!(restored.find(|_| true), expected);
        })
        .await;
    }
}
