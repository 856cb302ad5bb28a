//! The background task that writes queued records, reads changes by other programs, and deletes old data.

use std::{error::Error, time::Duration};

use base::{
    Micros,
    disk::{Folder, is_low},
    log_rate_limit::LogRateLimit,
};
use metrics::{counter, gauge};
use tokio::{
    sync::watch,
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};
use tracing::warn;

use super::{
    Archive,
    inbox::{PendingWrites, WriteQueue},
    retention,
};
use crate::{clock::now, config::ArchiveConfig, match_query::MatchQuery, reader::Reader};
use database::is_deposed;
use record::{Key, MatchSummary, Status};

/// The interval of searches for matches that no source will report again. By the first search, a
/// newly started hub has received what its sources still report.
const RESOLVE_EVERY: Duration = Duration::from_secs(60);
/// A write that takes longer is reported, and longer for each match: the history has gaps then.
const SLOW_WRITE: Duration = Duration::from_secs(5);
const SLOW_MATCH: Duration = Duration::from_millis(10);
/// Matches given up per step.
const AT_ONCE: usize = 500;

/// Writes queued records.
#[derive(Debug)]
pub struct ArchiveWorker {
    archive: Archive,
    reader: Reader,
    queue: WriteQueue,
    open: watch::Receiver<()>,
    config: ArchiveConfig,
}

impl ArchiveWorker {
    pub(super) fn new(
        archive: Archive,
        reader: Reader,
        queue: WriteQueue,
        open: watch::Receiver<()>,
        config: ArchiveConfig,
    ) -> Self {
        Self { archive, reader, queue, open, config }
    }

    /// Runs until the queue is closed.
    pub async fn run(mut self) {
        let mut writes = ticks(Duration::from_millis(self.config.write_ms));
        let mut reloads = ticks(Duration::from_millis(self.config.reload_ms));
        let unreported_after = Duration::from_millis(self.config.untold_after_ms);
        let (mut resolves, mut sweeps) =
            (ticks(RESOLVE_EVERY.min(unreported_after)), ticks(retention::SWEEP_EVERY));
        let mut intervals = 0;
        loop {
            tokio::select! {
                // Nothing is ever sent: a change means that the queue is closed.
                _ = self.open.changed() => {
                    self.write().await;
                    return;
                }
                // What waits is bounded, and in the log.
                _ = writes.tick(), if !is_low(Folder::Database) => {
                    intervals += 1;
                    if intervals >= self.queue.intervals() {
                        self.write().await;
                        intervals = 0;
                    }
                }
                _ = reloads.tick() => self.reload().await,
                _ = resolves.tick() => log_failure("unresolved matches", self.resolve(now()).await),
                _ = sweeps.tick() => log_failure("old data", retention::sweep(&self.archive, &self.config, now()).await),
            }
        }
    }

    pub(super) async fn write(&self) {
        let queued = self.queue.progress.queued();
        let pending = self.queue.take();
        if let Some(since) = pending.since {
            gauge!("matchwire_archive_waiting_seconds").set(seconds(now() - since));
        }
        let began = Instant::now();
        let written = self.try_write(&pending).await;
        let (took, matches) = (began.elapsed(), pending.records.len());
        let count = u32::try_from(matches).unwrap_or(u32::MAX);
        if took > SLOW_WRITE.max(SLOW_MATCH.saturating_mul(count)) {
            let took_ms = took.as_millis();
            warn!(matches, took_ms, "a write to the archive took long");
        }
        match written {
            Ok(()) => {
                gauge!("matchwire_archive_waiting_seconds").set(0.0);
                self.queue.progress.mark_written(queued);
            }
            // The one that leads writes it: it knows all that this node has recorded. It does not count as written, since that
            // node may end before it has, and this one may lead next.
            Err(error) if is_deposed(&error) => {}
            Err(error) => {
                static FAILED: LogRateLimit = LogRateLimit::new();
                counter!("matchwire_archive_failures_total").increment(1);
                if let Some(left_out) = FAILED.admit() {
                    let error = &error as &dyn Error;
                    warn!(error, left_out, "cannot write matches to the archive; will retry");
                }
                self.queue.put_back(pending);
            }
        }
    }

    async fn try_write(&self, pending: &PendingWrites) -> sqlx::Result<()> {
        let records: Vec<_> = pending.records.values().cloned().collect();
        if !records.is_empty() {
            let earlier = self.archive.keep(&records, &pending.trail, now()).await?;
            self.reader.complete(earlier);
            counter!("matchwire_archive_matches_total").increment(records.len() as u64);
        }
        let gone: Vec<_> = pending.gone.iter().copied().collect();
        self.archive.close_matches(&gone, now()).await
    }

    async fn reload(&self) {
        log_failure("changes by other programs", self.archive.reload().await);
    }

    /// Gives up matches that have no result, will get none, and are not in the hub: those that
    /// should have begun long ago, and those that were in play when a hub was killed and have not
    /// been reported since.
    pub(super) async fn resolve(&self, now: Micros) -> sqlx::Result<()> {
        let before = |ms: u64| {
            now.saturating_sub(i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000))
        };
        let started_before = before(self.config.unresolved_after_ms);
        let updated_before = before(self.config.untold_after_ms);
        // Postponed matches wait for a new date.
        let mut statuses = Status::not_over();
        statuses.retain(|status| *status != Status::Postponed);
        let open = MatchQuery { statuses: Some(statuses), ..MatchQuery::default() };
        let open = self.archive.find(&open).summaries;
        // A match in play may have begun late, or at an unknown time, and another hub may follow it.
        let is_due = |summary: &MatchSummary| {
            if Status::UPCOMING.contains(&summary.status) {
                summary.start.is_some_and(|start| start < started_before)
            } else {
                summary.updated < updated_before
            }
        };
        let open = open.iter().filter(|it| is_due(it) && self.reader.get(it.id).is_none());
        let open: Vec<Key> = open.map(|summary| summary.id).collect();
        for ids in open.chunks(AT_ONCE) {
            self.archive.give_up(ids, now).await?;
        }
        Ok(())
    }
}

fn log_failure(what: &'static str, outcome: sqlx::Result<()>) {
    // The node that leads does it.
    if let Err(error) =
        outcome.or_else(|error| if is_deposed(&error) { Ok(()) } else { Err(error) })
    {
        base::log_limited!(
            warn,
            error = &error as &dyn Error,
            what,
            "the archive failed; will retry"
        );
    }
}

/// The first one after `every`.
fn ticks(every: Duration) -> Interval {
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

fn seconds(span: Micros) -> f64 {
    span as f64 / 1e6
}
