//! Follows the log for webhooks.
//!
//! While nobody has a webhook, no record is read. Otherwise a thread reads the records behind the stored position. What they
//! contain of interest is stored together with the position behind them, and the position alone every few seconds.

use std::{sync::Arc, time::Duration};

use log::{ReadError, RecordReader, RecordSource, Wait};
use metrics::counter;
use tokio::{runtime::Handle, sync::watch, time};
use tracing::{error, info, warn};

use super::{extract::Extractor, recipients::Recipients};
use accounts::AccountsError;
use base::{
    Micros,
    clock::{monotonic, wall},
};
use database::{Database, is_deposed};
use fanout::ChannelId;
use hub::pipeline::HubHandle;
use webhooks::{EventKind, MetConditions, Position, Recorder, Webhooks};

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

pub(super) struct WebhookFollower {
    recorder: Recorder,
    webhooks: Webhooks,
    recipients: Recipients,
    records: Arc<dyn RecordSource>,
    hub: HubHandle,
    stopped: watch::Receiver<bool>,
    /// When the webhooks were read last, by the monotonic clock.
    refreshed: Option<Micros>,
    /// The changes of this process that were seen then.
    changes: u64,
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
    /// Behind the last record that was read.
    position: Position,
}

#[derive(Debug, thiserror::Error)]
enum FollowError {
    #[error("the store of webhooks failed")]
    Store(#[from] sqlx::Error),
    #[error("the store of accounts failed")]
    Accounts(#[from] AccountsError),
    #[error("cannot read the log")]
    Log(#[from] ReadError),
}

impl WebhookFollower {
    /// `fenced`: the database of the recorder.
    pub(super) fn new(
        webhooks: Webhooks,
        fenced: Database,
        recipients: Recipients,
        records: Arc<dyn RecordSource>,
        hub: HubHandle,
        stopped: watch::Receiver<bool>,
    ) -> Self {
        Self {
            recorder: webhooks.recorder(fenced),
            webhooks,
            recipients,
            records,
            hub,
            stopped,
            refreshed: None,
            changes: 0,
            reading: None,
            stored: monotonic(),
            has_position: true,
            is_failing: false,
        }
    }

    /// Follows until the stop.
    pub(super) fn run(mut self, runtime: &Handle) {
        while !self.is_stopped() {
            let step = self.step(runtime);
            self.note(runtime, step);
        }
    }

    /// Also if the start of the hub has failed.
    fn is_stopped(&self) -> bool {
        *self.stopped.borrow() || self.stopped.has_changed().is_err()
    }

    fn step(&mut self, runtime: &Handle) -> Result<(), FollowError> {
        if !self.hub.leads() {
            (self.reading, self.refreshed, self.has_position) = (None, None, true);
            self.recipients.clear();
            pause(runtime, WAIT);
            return Ok(());
        }
        let is_due = self.refreshed.is_none_or(|at| monotonic() - at >= REFRESH_EVERY_US);
        if is_due || self.has_changed() {
            runtime.block_on(self.refresh())?;
        }
        if self.recorder.kinds().is_empty() {
            self.reading = None;
            if std::mem::take(&mut self.has_position) {
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
        self.changes = self.webhooks.changes();
        if self.recorder.refresh().await? {
            // Conditions on prices have other places, and those that are met must be read again.
            self.reading = None;
        }
        self.recipients.refresh(self.recorder.accounts()).await?;
        self.refreshed = Some(monotonic());
        Ok(())
    }

    async fn wait_for_webhooks(&mut self) {
        tokio::select! {
            () = self.webhooks.changed() => {}
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
        if let Some(Position { record, .. }) = stored
            && oldest > record + 1
        {
            counter!("matchwire_webhook_gaps_total").increment(1);
            warn!(
                record,
                oldest,
                "webhooks continue at the beginning of the log, which no longer has what they had not read"
            );
        }
        let reader = self.records.read_since(position.at.max(begin));
        let met = self.recorder.met_conditions().await?;
        let extractor = Extractor::default();
        Ok(Reading { reader, extractor, met, position })
    }

    /// Reads records, and stores their deliveries and the position. `None` if they must be read again, because webhooks have
    /// changed.
    fn read(
        &mut self,
        mut reading: Reading,
        runtime: &Handle,
    ) -> Result<Option<Reading>, FollowError> {
        let kinds = self.recorder.kinds();
        let (mut events, mut prices, mut crossings) = (Vec::new(), Vec::new(), Vec::new());
        let (has_prices, mut read) = (kinds.contains(&EventKind::Price), 0);
        while read < RECORDS_MAX && events.len() + crossings.len() < EVENTS_MAX {
            let record = match reading.reader.next() {
                Ok(Some(record)) => record,
                Ok(None) => break,
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
        if self.has_changed() {
            // A webhook gets all events since its creation was answered, so also those that were just read.
            return Ok(None);
        }
        let is_due = read > 0 && monotonic() - self.stored >= STORE_EVERY_US;
        if is_due || !events.is_empty() || !crossings.is_empty() {
            let may_receive = self.recipients.may_receive();
            let position = reading.position;
            let recording =
                self.recorder.record(&events, &crossings, position, &may_receive, wall());
            runtime.block_on(recording)?;
            self.stored = monotonic();
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
            error = error as &dyn std::error::Error,
            after, "webhooks miss events, because the log cannot be read"
        );
        reading.reader = self.records.read_after(after);
    }

    /// Logs when it begins or ceases to fail, and waits after a failure.
    fn note(&mut self, runtime: &Handle, step: Result<(), FollowError>) {
        let Err(failure) = step else {
            if std::mem::take(&mut self.is_failing) {
                info!("events are recorded for webhooks again");
            }
            return;
        };
        (self.reading, self.refreshed, self.has_position) = (None, None, true);
        let is_fenced = matches!(&failure, FollowError::Store(error) if is_deposed(error));
        if !is_fenced && !std::mem::replace(&mut self.is_failing, true) {
            error!(
                error = &failure as &dyn std::error::Error,
                "cannot record events for webhooks; will retry"
            );
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
