//! Follows the log for webhooks.
//!
//! While nobody has a webhook, no record is read. Otherwise a thread reads the records behind the stored position. What they
//! contain of interest is stored together with the position behind them, and the position alone every few seconds.
//!
//! A webhook gets all events that are published after the response to its owner. So once webhooks have changed, no further
//! record is taken before they were read again. But those that the log had when the webhooks were read before were published
//! before that change, and are taken in any case: however often webhooks change, the others get their events.

use std::{
    collections::{BTreeSet, HashSet},
    error::Error,
    mem,
    sync::Arc,
    time::Duration,
};

use base::{
    Micros,
    clock::{monotonic, wall},
};
use database::{Database, is_deposed};
use fanout::ChannelId;
use log::{ReadError, RecordNumber, RecordReader, RecordSource, Wait, record::Record};
use metrics::counter;
use tokio::{runtime::Handle, sync::watch, time};
use tracing::{error, info, warn};

use crate::{
    EventKind, Extractor, MayReceive, MetConditions, Position, PriceCrossing, Recorder, Webhooks,
};

/// How often it looks which webhooks there are, and what their accounts may follow. A change in this process is noticed at once.
const REFRESH_EVERY_US: Micros = 1_000_000;
/// How often a position is stored behind records without an event of interest.
const STORE_EVERY_US: Micros = 10_000_000;
/// Records that are read, and events that are stored, at once.
const RECORDS_MAX: usize = 2_000;
const EVENTS_MAX: usize = 500;
/// The longest time without a look at the stop signal.
const WAIT: Duration = Duration::from_millis(250);
/// The pause after it has read something. Without it, each turn of the writer would wake it.
const PAUSE: Duration = Duration::from_millis(20);
/// The pause after a failure of the database or the log.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The hub that is followed, and who may get what.
pub trait FollowedHub {
    /// Whether this process records. On a node of a cluster, only while it leads.
    fn leads(&self) -> bool;

    /// The open channels; `None` if the hub has stopped.
    fn channels(&self) -> impl Future<Output = Option<Vec<ChannelId>>>;

    /// Reads what these accounts may follow, and forgets others: whether they may get something is not known any more.
    fn refresh(
        &self,
        accounts: BTreeSet<i64>,
    ) -> impl Future<Output = Result<(), Box<dyn Error + Send + Sync>>>;

    fn may_receive(&self) -> MayReceive;
}

struct WebhookFollower<H> {
    recorder: Recorder,
    webhooks: Webhooks,
    records: Arc<dyn RecordSource>,
    hub: H,
    stopped: watch::Receiver<bool>,
    /// When the webhooks were read last, by the monotonic clock.
    refreshed: Option<Micros>,
    /// The changes of this process that were seen then, and the end of the log before.
    changes: u64,
    known_end: RecordNumber,
    reading: Option<Reading>,
    /// When a position was stored last, by the monotonic clock.
    stored: Micros,
    /// Whether a position may be stored.
    has_position: bool,
    is_failing: bool,
}

/// Reads the log from a position on.
struct Reading {
    reader: Box<dyn RecordReader>,
    extractor: Extractor,
    /// The conditions on prices that are met.
    met: MetConditions,
    /// Behind the last record that was taken.
    position: Position,
    /// Whether records are missing before the end of the log. Channels may have closed in them.
    has_gap: bool,
}

/// What a look for the next record finds.
enum NextRecord {
    Record(Record),
    /// The webhooks must be read again before it can be taken.
    AfterRefresh,
    /// The end of the log as it is now.
    None,
}

impl Reading {
    /// The next record. `known_end`: the end of the log before the webhooks were read; `has_changed`: whether they have
    /// changed since.
    fn next(
        &mut self,
        known_end: RecordNumber,
        has_changed: impl FnOnce() -> bool,
    ) -> Result<NextRecord, ReadError> {
        let Some(record) = self.reader.next()? else { return Ok(NextRecord::None) };
        // In this order: the response to a change that is counted later comes after the record.
        if record.number > known_end && has_changed() {
            return Ok(NextRecord::AfterRefresh);
        }
        Ok(NextRecord::Record(record))
    }
}

#[derive(Debug, thiserror::Error)]
enum FollowError {
    #[error("the store of webhooks failed")]
    Store(#[from] sqlx::Error),
    #[error("the store of accounts failed")]
    Accounts(#[from] Box<dyn Error + Send + Sync>),
    #[error("cannot read the log")]
    Log(#[from] ReadError),
}

impl Webhooks {
    /// Reads the log, and records what webhooks get, until `stopped` turns true. `database`: takes no writes once another
    /// node of the cluster leads. `runtime`: for what is asynchronous.
    pub fn follow(
        self,
        database: Database,
        records: Arc<dyn RecordSource>,
        hub: impl FollowedHub,
        stopped: watch::Receiver<bool>,
        runtime: &Handle,
    ) {
        let mut follower = WebhookFollower {
            recorder: Recorder::new(database, self.clone()),
            webhooks: self,
            records,
            hub,
            stopped,
            refreshed: None,
            changes: 0,
            known_end: 0,
            reading: None,
            stored: monotonic(),
            has_position: true,
            is_failing: false,
        };
        // `has_changed` fails if the start of the hub has failed.
        while !*follower.stopped.borrow() && follower.stopped.has_changed().is_ok() {
            let step = follower.step(runtime);
            follower.note(runtime, step);
        }
    }
}

impl<H: FollowedHub> WebhookFollower<H> {
    fn step(&mut self, runtime: &Handle) -> Result<(), FollowError> {
        if !self.hub.leads() {
            (self.reading, self.refreshed, self.has_position) = (None, None, true);
            runtime.block_on(self.hub.refresh(BTreeSet::new()))?;
            pause(runtime, WAIT);
            return Ok(());
        }
        let is_due = self.refreshed.is_none_or(|at| monotonic() - at >= REFRESH_EVERY_US);
        if is_due || self.has_changed() {
            runtime.block_on(self.refresh())?;
        }
        if self.recorder.kinds().is_empty() {
            self.reading = None;
            if mem::take(&mut self.has_position) {
                runtime.block_on(self.recorder.forget_position())?;
            }
            runtime.block_on(self.wait_for_webhooks());
            return Ok(());
        }
        self.has_position = true;
        let reading = match self.reading.take() {
            Some(reading) => reading,
            None => runtime.block_on(self.open())?,
        };
        // A failure leaves none, so that it begins behind the stored position again.
        self.reading = self.read(reading, runtime)?;
        Ok(())
    }

    /// Whether this process has changed webhooks since they were read.
    fn has_changed(&self) -> bool {
        self.webhooks.changes() != self.changes
    }

    async fn refresh(&mut self) -> Result<(), FollowError> {
        self.known_end = self.records.end().number;
        self.changes = self.webhooks.changes();
        if self.recorder.refresh().await? {
            // Conditions on prices have other places, and those that are met must be read again.
            self.reading = None;
        }
        self.hub.refresh(self.recorder.accounts()).await?;
        self.refreshed = Some(monotonic());
        Ok(())
    }

    async fn wait_for_webhooks(&mut self) {
        tokio::select! {
            () = self.webhooks.shared.changed.notified() => {}
            () = time::sleep(Duration::from_micros(REFRESH_EVERY_US.unsigned_abs())) => {}
            _ = self.stopped.wait_for(|stop| *stop) => {}
        }
        self.refreshed = None;
    }

    /// Begins behind the stored position. Without one, at the time from which on webhooks get events.
    async fn open(&self) -> Result<Reading, FollowError> {
        let begin = self.recorder.begin().unwrap_or(Micros::MAX);
        let stored = self.recorder.position().await?;
        let position = stored.unwrap_or(Position { record: 0, at: begin });
        let oldest = self.records.oldest();
        let has_gap = stored.is_some_and(|stored| oldest > stored.record + 1);
        if let Some(Position { record, .. }) = stored.filter(|_| has_gap) {
            counter!("matchwire_webhook_gaps_total").increment(1);
            warn!(
                record,
                oldest,
                "webhooks continue at the beginning of the log, which no longer has what they had not read"
            );
        }
        let from = position.at.max(begin);
        let (reader, extractor) = (self.records.read_since(from), Extractor::new(from));
        let met = self.recorder.met_conditions().await?;
        Ok(Reading { reader, extractor, met, position, has_gap })
    }

    /// Reads records, and stores their deliveries and the position. `None` if the webhooks must be read again before it can go
    /// on.
    fn read(
        &mut self,
        mut reading: Reading,
        runtime: &Handle,
    ) -> Result<Option<Reading>, FollowError> {
        let kinds = self.recorder.kinds();
        let (mut events, mut prices, mut crossings) = (Vec::new(), Vec::new(), Vec::new());
        let (has_prices, mut read) = (kinds.contains(&EventKind::Price), 0);
        let mut must_refresh = false;
        while read < RECORDS_MAX && events.len() + crossings.len() < EVENTS_MAX {
            let record = match reading.next(self.known_end, || self.has_changed()) {
                Ok(NextRecord::Record(record)) => record,
                Ok(NextRecord::AfterRefresh) => {
                    must_refresh = true;
                    break;
                }
                Ok(NextRecord::None) => {
                    if mem::take(&mut reading.has_gap) {
                        self.end_closed(&mut reading.met, &mut crossings, runtime);
                    }
                    break;
                }
                Err(ReadError::Storage(error)) => return Err(ReadError::Storage(error).into()),
                Err(error) => {
                    self.skip(&mut reading, &error);
                    break;
                }
            };
            read += 1;
            let Position { record: number, at } = reading.position;
            if (record.at, record.number) > (at, number) {
                reading.extractor.extract(&record, &kinds, &mut events);
                if has_prices {
                    let follows = |channel: &ChannelId| self.recorder.follows_prices(channel);
                    Extractor::extract_prices(&record, follows, &mut prices);
                    for update in prices.drain(..) {
                        self.recorder.check_prices(&update, &mut reading.met, &mut crossings);
                    }
                }
                reading.position = Position { record: record.number, at: record.at };
            }
        }
        // After a change of webhooks it begins at the stored position again, and must get further each time.
        let is_due =
            read > 0 && (self.has_changed() || monotonic() - self.stored >= STORE_EVERY_US);
        if is_due || !events.is_empty() || !crossings.is_empty() {
            let may_receive = self.hub.may_receive();
            let position = reading.position;
            let recording =
                self.recorder.record(&events, &crossings, position, &may_receive, wall());
            runtime.block_on(recording)?;
            self.stored = monotonic();
        }
        if must_refresh {
            return Ok(None);
        }
        if read == 0 && reading.reader.wait(WAIT) == Wait::Closed {
            pause(runtime, WAIT);
        } else if read < RECORDS_MAX {
            pause(runtime, PAUSE);
        }
        Ok(Some(reading))
    }

    /// Goes on behind what cannot be read: with the oldest record that is kept, or the end if a record is damaged.
    fn skip(&self, reading: &mut Reading, error: &ReadError) {
        counter!("matchwire_webhook_gaps_total").increment(1);
        let after = match error {
            ReadError::Gone(_) => self.records.oldest().saturating_sub(1),
            ReadError::Damaged { .. } | ReadError::Storage(_) => self.records.end().number,
        };
        warn!(
            error = error as &dyn Error,
            after, "webhooks miss events, because the log cannot be read"
        );
        reading.reader = self.records.read_after(after);
        reading.has_gap = true;
    }

    /// Adds that no price meets a condition in channels that are no longer open: their end may be among what cannot be read.
    fn end_closed(
        &self,
        met: &mut MetConditions,
        crossings: &mut Vec<PriceCrossing>,
        runtime: &Handle,
    ) {
        // A hub that has stopped needs no answer: its next run has no gap, or notices it.
        if let Some(open) = runtime.block_on(self.hub.channels()) {
            let open: HashSet<ChannelId> = open.into_iter().collect();
            Recorder::end_closed(|channel| open.contains(channel), met, crossings);
        }
    }

    /// Logs when it begins or ceases to fail, and waits after a failure.
    fn note(&mut self, runtime: &Handle, step: Result<(), FollowError>) {
        let Err(failure) = step else {
            if mem::take(&mut self.is_failing) {
                info!("events are recorded for webhooks again");
            }
            return;
        };
        (self.reading, self.refreshed, self.has_position) = (None, None, true);
        let is_fenced = matches!(&failure, FollowError::Store(error) if is_deposed(error));
        if !is_fenced && !mem::replace(&mut self.is_failing, true) {
            error!(error = &failure as &dyn Error, "cannot record events for webhooks; will retry");
        }
        let mut stopped = self.stopped.clone();
        runtime.block_on(async {
            time::timeout(RETRY_AFTER, stopped.wait_for(|stop| *stop)).await.ok();
        });
    }
}

fn pause(runtime: &Handle, time: Duration) {
    // A timer must be made within the runtime.
    runtime.block_on(async { time::sleep(time).await });
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use log::{Log, MemoryLog};

    use super::*;

    fn append(log: &mut MemoryLog, count: u64) {
        let end = log.end().number;
        let records: Vec<_> = (end + 1..=end + count)
            .map(|number| Record {
                number,
                at: number.cast_signed(),
                inputs: Bytes::new(),
                outputs: Vec::new(),
            })
            .collect();
        log.append(end, &records).expect("a log in memory takes records");
    }

    /// The numbers of the records that are taken, and whether webhooks must be read again.
    fn take(
        log: &MemoryLog,
        after: RecordNumber,
        known_end: RecordNumber,
        mut has_changed: impl FnMut() -> bool,
    ) -> (Vec<RecordNumber>, bool) {
        let mut reading = Reading {
            reader: log.source().read_after(after),
            extractor: Extractor::new(0),
            met: MetConditions::default(),
            position: Position { record: after, at: 0 },
            has_gap: false,
        };
        let mut taken = Vec::new();
        loop {
            match reading.next(known_end, &mut has_changed).expect("a log in memory is readable") {
                NextRecord::Record(record) => taken.push(record.number),
                NextRecord::AfterRefresh => return (taken, true),
                NextRecord::None => return (taken, false),
            }
        }
    }

    #[test]
    fn record_after_a_change_waits_until_webhooks_were_read_again() {
        let mut log = MemoryLog::new(1 << 20).expect("a log");
        append(&mut log, 3);
        assert_eq!(take(&log, 0, 0, || false), (vec![1, 2, 3], false));
        let mut looks = 0;
        let changed_after_one = || {
            looks += 1;
            looks > 1
        };
        assert_eq!(take(&log, 0, 0, changed_after_one), (vec![1], true));
        assert_eq!(take(&log, 0, 2, || true), (vec![1, 2], true));
    }

    /// A customer who changes webhooks all the time must not delay the events of others.
    #[test]
    fn records_are_taken_while_webhooks_change_all_the_time() {
        let mut log = MemoryLog::new(1 << 20).expect("a log");
        let (mut known_end, mut taken) = (0, 0);
        for _ in 0..10 {
            append(&mut log, 5);
            let (records, must_refresh) = take(&log, taken, known_end, || true);
            assert!(must_refresh && taken + records.len() as u64 == known_end, "{records:?}");
            taken = records.last().copied().unwrap_or(taken);
            known_end = log.end().number;
        }
        assert_eq!(take(&log, taken, known_end, || true), ((46..=50).collect(), false));
    }
}
