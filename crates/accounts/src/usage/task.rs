//! Flushes in the background, and a last time at the stop.

use std::{error::Error, time::Duration};

use metrics::{counter, gauge};
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{self, MissedTickBehavior},
};
use tracing::{info, warn};

use super::{Meter, lease::RETURNED_AFTER_US};
use crate::{
    accounts::Micros,
    clock,
    supervisor::{self, Lifetime},
};

/// How often old usage is deleted.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);
/// Attempts of the last flush, without which its counts are lost, and the delay between them.
const LAST_TRIES: u32 = 3;
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The task that flushes.
#[derive(Debug)]
pub struct Flushes {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// Starts flushing at this interval.
///
/// # Panics
///
/// If `every` is zero.
#[must_use]
pub fn start(meter: Meter, every: Duration) -> Flushes {
    let (stop, stopped) = oneshot::channel();
    let task = supervisor::spawn("usage", Lifetime::UntilStop, run(meter, every, stopped));
    Flushes { stop, task }
}

impl Flushes {
    /// Flushes the rest, after all users of the meter have ended.
    pub async fn finish(self) {
        self.stop.send(()).ok();
        self.task.await.ok();
    }
}

async fn run(meter: Meter, every: Duration, mut stopped: oneshot::Receiver<()>) {
    let ticks = |every| {
        let mut ticks = time::interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    };
    let (mut flushes, mut sweeps) = (ticks(every), ticks(SWEEP_EVERY));
    loop {
        tokio::select! {
            _ = flushes.tick() => {
                flush(&meter).await;
                let idle = if meter.shared.tallies.is_crowded() { 0 } else { RETURNED_AFTER_US };
                if let Err(error) = meter.return_leases(clock::wall() - idle, clock::wall()).await {
                    base::log_limited!(warn, error, "cannot return parts of quotas; will retry");
                }
            }
            () = meter.shared.tallies.crowded() => {
                flush(&meter).await;
                // If flushing frees no room, it is not retried at once.
                flushes.reset_after(every);
                time::sleep(every.min(RETRY_AFTER)).await;
            }
            _ = sweeps.tick() => sweep(&meter).await,
            _ = &mut stopped => break,
        }
    }
    if let Err(error) = meter.return_leases(Micros::MAX, clock::wall()).await {
        let error = &error as &dyn Error;
        warn!(error, "cannot return parts of quotas; these calls cannot be made today");
    }
    flush_rest(&meter).await;
}

/// The last flush.
async fn flush_rest(meter: &Meter) {
    if meter.shared.journal.is_some() {
        if !flush(meter).await {
            info!("usage since the last flush stays in the journal, for the next start");
        }
        return;
    }
    for _ in 1..LAST_TRIES {
        if flush(meter).await {
            return;
        }
        time::sleep(RETRY_AFTER).await;
    }
    if !flush(meter).await {
        warn!("usage since the last flush is lost");
    }
}

async fn flush(meter: &Meter) -> bool {
    let flushed = meter.flush(clock::wall()).await;
    gauge!("matchwire_usage_entries").set(meter.shared.tallies.len() as f64);
    match &flushed {
        Ok(rows) => counter!("matchwire_usage_rows_total").increment(*rows as u64),
        Err(error) => {
            counter!("matchwire_usage_flush_failures_total").increment(1);
            base::log_limited!(warn, error = error as &dyn Error, "cannot write usage; will retry");
        }
    }
    flushed.is_ok()
}

async fn sweep(meter: &Meter) {
    match meter.sweep(clock::wall()).await {
        Ok(0) => {}
        Ok(rows) => info!(rows, "deleted old usage"),
        Err(error) => warn!(error = &error as &dyn Error, "cannot delete old usage"),
    }
}
