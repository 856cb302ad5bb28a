//! Sends the deliveries that are due, for as long as the hub runs.
//!
//! One task looks for webhooks with deliveries that are due, and starts a round for each, up to a maximum at a time. A round
//! sends deliveries of its webhook one after the other, and ends with the first failure or after some seconds. Meanwhile the task counts what waits
//! and deletes what is old.

mod rounds;

use std::{
    ops::RangeInclusive,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use base::{
    Micros,
    backoff::{self, BackoffPolicy},
    supervisor::{self, Lifetime},
    work::{Payer, Pool, Work},
};
use metrics::{counter, gauge};
use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::{self, Instant},
};
use tracing::{error, info};

use self::rounds::Rounds;
use crate::{
    Delivery, MayReceive, OnDisabled, Webhook, Webhooks,
    client::{Client, SendError, SignedHeaders},
    config::WebhooksConfig,
    store::{Outcome, Store},
};

/// Deliveries in one round, and how long it may last before the last of them. Then it is the turn of other webhooks, if they wait
/// for a connection.
const ROUND_MAX: u32 = 50;
const ROUND_FOR: Duration = Duration::from_secs(5);
/// Webhooks that are read at once. More than can start, since those of one account or slow ones wait for their share.
const DUE_MAX: i64 = 4_096;
/// How often waiting deliveries are counted, and old ones deleted.
const COUNT_EVERY: Duration = Duration::from_secs(10);
const SWEEP_EVERY: Duration = Duration::from_secs(600);
/// The pause of a webhook after a failure that is not its own.
const RETRY_AFTER: Duration = Duration::from_millis(500);
/// A quarter either way: what failed together is not retried together.
const JITTER: RangeInclusive<f64> = 0.75..=1.25;
/// The status by which an endpoint says that it will never take anything again.
const GONE: u16 = 410;

pub(crate) struct Sender {
    pub(crate) webhooks: Webhooks,
    pub(crate) work: Work,
    pub(crate) client: Client,
    pub(crate) may_receive: MayReceive,
    pub(crate) on_disabled: OnDisabled,
    pub(crate) leads: Box<dyn Fn() -> bool + Send + Sync>,
    pub(crate) clock: fn() -> Micros,
    pub(crate) rounds: Mutex<Rounds>,
    /// Whether the store failed the last time, so that a change is logged once.
    pub(crate) is_failing: AtomicBool,
}

impl Sender {
    pub(crate) fn start(self, stopped: watch::Receiver<bool>) -> JoinHandle<()> {
        supervisor::spawn("webhooks", Lifetime::UntilStop, Arc::new(self).run(stopped))
    }

    async fn run(self: Arc<Self>, stopped: watch::Receiver<bool>) {
        tokio::join!(Arc::clone(&self).start_rounds(stopped.clone()), self.maintain(stopped));
    }

    async fn start_rounds(self: Arc<Self>, mut stopped: watch::Receiver<bool>) {
        let mut poll = time::interval(Duration::from_millis(self.config().poll_ms));
        poll.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
        let (mut rounds, mut last) = (JoinSet::new(), 0);
        loop {
            tokio::select! {
                () = wait_for_stop(&mut stopped) => break,
                Some(ended) = rounds.join_next(), if !rounds.is_empty() => {
                    // A round that panicked has ended the hub.
                    if let Ok(webhook) = ended {
                        self.rounds().end(webhook);
                    }
                }
                () = self.webhooks.shared.due.notified() => {}
                _ = poll.tick() => {}
            }
            if !(self.leads)() {
                continue;
            }
            for webhook in self.start_due(last).await {
                last = webhook;
                let round = Arc::clone(&self).round(webhook, stopped.clone());
                rounds.spawn(supervisor::watch("webhooks", Lifetime::Finite, round));
            }
        }
        while rounds.join_next().await.is_some() {}
    }

    /// Counts what waits, and deletes what is old.
    async fn maintain(&self, mut stopped: watch::Receiver<bool>) {
        let (mut count, mut sweep) = (time::interval(COUNT_EVERY), time::interval(SWEEP_EVERY));
        for interval in [&mut count, &mut sweep] {
            interval.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
        }
        loop {
            let done = tokio::select! {
                () = wait_for_stop(&mut stopped) => break,
                _ = count.tick() => self.count().await,
                _ = sweep.tick() => self.sweep(&stopped).await,
            };
            self.note(done);
        }
    }

    /// Webhooks that have a round now: those after the last one first.
    async fn start_due(&self, last: i64) -> Vec<i64> {
        let connections = self.config().connections;
        if self.rounds().len() >= connections {
            return Vec::new();
        }
        let due = self.store().webhooks_due((self.clock)(), last, DUE_MAX).await;
        let due = self.note(due).unwrap_or_default();
        self.rounds().start(&due, connections)
    }

    /// Sends deliveries of a webhook, and returns its id.
    async fn round(self: Arc<Self>, webhook: i64, stopped: watch::Receiver<bool>) -> i64 {
        let sent = self.send_due(webhook, &stopped).await;
        if self.note(sent).is_none() {
            time::sleep(RETRY_AFTER).await;
        }
        webhook
    }

    async fn send_due(&self, id: i64, stopped: &watch::Receiver<bool>) -> sqlx::Result<()> {
        let until = Instant::now() + ROUND_FOR;
        for _ in 0..ROUND_MAX {
            if *stopped.borrow() || Instant::now() >= until {
                break;
            }
            let Some(webhook) = self.store().webhook(id).await? else { break };
            if webhook.disabled.is_some() {
                break;
            }
            let Some(delivery) = self.store().next_due(id, (self.clock)()).await? else { break };
            let payer = Payer::Account(webhook.account.cast_unsigned());
            let taken = self.work.run(payer, Pool::Webhooks, self.take(&webhook, &delivery));
            if !taken.await? {
                break;
            }
        }
        Ok(())
    }

    /// Makes one attempt. False if the webhook must wait.
    async fn take(&self, webhook: &Webhook, delivery: &Delivery) -> sqlx::Result<bool> {
        let now = (self.clock)();
        let is_test = delivery.kind == "test";
        let may_receive = if is_test {
            Some(true)
        } else {
            (self.may_receive)(webhook.account, &delivery.channel)
        };
        match may_receive {
            Some(true) => {}
            Some(false) => {
                let why = Some("the account may not follow the channel any more");
                self.store().finish(delivery.id, Outcome::Dropped, None, why, now).await?;
                return Ok(true);
            }
            None => {
                // The accounts are read once the hub has started.
                time::sleep(RETRY_AFTER).await;
                return Ok(false);
            }
        }
        if !self.store().claim(delivery, now.saturating_add(self.claim_us())).await? {
            return Ok(true);
        }
        let begun = Instant::now();
        let sent = self.send(webhook, delivery, now).await;
        self.rounds().note_attempt(webhook.id, begun.elapsed());
        match sent {
            Ok(status) => {
                counter!("matchwire_webhook_delivered_total").increment(1);
                let now = (self.clock)();
                self.store()
                    .finish(delivery.id, Outcome::Delivered, Some(status), None, now)
                    .await?;
                if webhook.failures > 0 {
                    self.store().note_success(webhook.id).await?;
                }
                Ok(true)
            }
            Err(error) => {
                self.failed(webhook, delivery, error).await?;
                Ok(false)
            }
        }
    }

    async fn send(
        &self,
        webhook: &Webhook,
        delivery: &Delivery,
        now: Micros,
    ) -> Result<u16, SendError> {
        let Delivery { message_id, body, .. } = delivery;
        let secret = &self.webhooks.shared.secret;
        let signature = &secret.signatures(webhook, message_id, now, body);
        let timestamp = now.div_euclid(1_000_000);
        let headers = SignedHeaders { id: message_id, timestamp, signature };
        self.client.post(&webhook.terms.url, headers, body.clone()).await
    }

    /// Lets the delivery and its webhook wait, or gives up.
    async fn failed(
        &self,
        webhook: &Webhook,
        delivery: &Delivery,
        failure: SendError,
    ) -> sqlx::Result<()> {
        counter!("matchwire_webhook_failures_total", "reason" => failure.reason()).increment(1);
        let now = (self.clock)();
        let (status, why) = (failure.status(), failure.to_string());
        let attempts = delivery.attempts.saturating_add(1);
        if attempts >= self.config().attempts_max {
            self.store().finish(delivery.id, Outcome::Failed, status, Some(&why), now).await?;
        } else {
            let until = now.saturating_add(self.wait_us(attempts));
            self.store().reschedule(delivery.id, until, status, &why).await?;
        }
        let pause = now.saturating_add(self.wait_us(webhook.failures.saturating_add(1)));
        self.store().note_failure(webhook.id, pause, now).await?;
        let failing_us = now.saturating_sub(webhook.failing_since.unwrap_or(now));
        let limit_us =
            Micros::from(self.config().disable_after_hours).saturating_mul(3_600_000_000);
        let reason = match status {
            Some(GONE) => "its endpoint answered 410 Gone".to_owned(),
            _ if failing_us >= limit_us => {
                let hours = self.config().disable_after_hours;
                format!("every attempt of {hours} hours failed; the last one: {why}")
            }
            _ => return Ok(()),
        };
        if !self.store().disable(webhook, &reason, &self.on_disabled, now).await? {
            return Ok(());
        }
        counter!("matchwire_webhook_disabled_total").increment(1);
        info!(webhook = webhook.id, account = webhook.account, why = reason, "disabled a webhook");
        Ok(())
    }

    async fn count(&self) -> sqlx::Result<()> {
        if !(self.leads)() {
            return Ok(());
        }
        let now = (self.clock)();
        let waiting = self.store().waiting(now).await?;
        let count: i64 = waiting.iter().map(|it| it.count).sum();
        // Those of a webhook with a request in flight wait for its endpoint.
        let oldest = {
            let rounds = self.rounds();
            let free = waiting.iter().filter(|it| !rounds.is_running(it.webhook));
            free.filter_map(|it| it.due).min()
        };
        let overdue = oldest.map_or(0, |due| now.saturating_sub(due));
        gauge!("matchwire_webhook_waiting").set(count as f64);
        gauge!("matchwire_webhook_overdue_seconds").set(overdue as f64 / 1e6);
        Ok(())
    }

    async fn sweep(&self, stopped: &watch::Receiver<bool>) -> sqlx::Result<()> {
        if !(self.leads)() {
            return Ok(());
        }
        let WebhooksConfig { keep_days, log_max, .. } = *self.config();
        let keep_us = Micros::from(keep_days).saturating_mul(24 * 3_600_000_000);
        let before = (self.clock)().saturating_sub(keep_us);
        self.store().sweep(before, log_max, || *stopped.borrow()).await
    }

    /// Logs when the store begins or ceases to fail.
    fn note<T>(&self, done: sqlx::Result<T>) -> Option<T> {
        let was_failing = self.is_failing.swap(done.is_err(), Ordering::Relaxed);
        match done {
            Ok(value) => {
                if was_failing {
                    info!("webhooks can be sent again");
                }
                Some(value)
            }
            Err(error) => {
                if !was_failing {
                    error!(
                        error = &error as &dyn std::error::Error,
                        "the store of webhooks failed; will retry"
                    );
                }
                None
            }
        }
    }

    /// Longer than an attempt, even if the clock is set forward a little.
    fn claim_us(&self) -> Micros {
        let timeout_ms = Micros::try_from(self.config().timeout_ms).unwrap_or(Micros::MAX);
        timeout_ms.saturating_mul(2_000).saturating_add(1_000_000)
    }

    fn wait_us(&self, failures: u32) -> Micros {
        let WebhooksConfig { retry_ms, retry_max_ms, .. } = *self.config();
        let (first, max) = (Duration::from_millis(retry_ms), Duration::from_millis(retry_max_ms));
        let wait = BackoffPolicy { first, max }.wait(failures, JITTER, &mut backoff::rng());
        Micros::try_from(wait.as_micros()).unwrap_or(Micros::MAX)
    }

    /// Nothing panics while it holds the lock.
    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self) -> &Store {
        &self.webhooks.shared.store
    }

    fn config(&self) -> &WebhooksConfig {
        &self.webhooks.shared.config
    }
}

/// Waits until the stop signal is set or its sender is dropped.
async fn wait_for_stop(stopped: &mut watch::Receiver<bool>) {
    stopped.wait_for(|stop| *stop).await.ok();
}

#[cfg(test)]
mod tests;
