//! Sends the mails of the outbox, for as long as the hub runs.
//!
//! Each of a few workers reads the mails that are due, claims them one by one, renders and sends them.
//! An unreachable transport costs no mail an attempt; the worker waits. Log lines about failures name
//! neither the part of an address before the @ nor a link.

use std::{
    ops::RangeInclusive,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use base::backoff::{self, BackoffPolicy};
use lettre::Address;
use metrics::{counter, gauge};
use tokio::{sync::watch, task::JoinHandle, time};
use tracing::{error, info, warn};

use super::{
    MailKind, Sender,
    outbox::{Outbox, QueuedEmail},
    render::{EmailContext, EmailLink, RenderedEmail, has_receipt, page},
    transport::{DeliveryFailure, OutgoingEmail, Transport, TransportUnreachable},
};
use crate::{
    accounts::{AccountsError, Micros, Result},
    supervisor::{self, Lifetime},
};

const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;
/// How often waiting mails are counted, and old ones deleted.
const COUNT_EVERY: Duration = Duration::from_secs(10);
const SWEEP_EVERY: Duration = Duration::from_secs(3_600);
/// Between two attempts while the transport is unreachable or the store fails.
const ABSENT: BackoffPolicy =
    BackoffPolicy { first: Duration::from_secs(1), max: Duration::from_secs(60) };
/// A quarter either way: mails that failed together are not retried together.
const JITTER: RangeInclusive<f64> = 0.75..=1.25;

/// When mails are polled, claimed, retried and deleted.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeliveryPolicy {
    pub(super) batch: u32,
    pub(super) poll: Duration,
    pub(super) attempts_max: u32,
    pub(super) retry: BackoffPolicy,
    /// How long a claim lasts, in microseconds: longer than an attempt can take.
    pub(super) claim_us: Micros,
    pub(super) keep_us: Micros,
}

/// The state that workers share. `L` returns the text of a link by its id; `None` if it no longer exists.
pub(super) struct MailWorker<L> {
    pub(super) outbox: Outbox,
    pub(super) policy: DeliveryPolicy,
    pub(super) sender: Sender,
    /// The URL of the site, without a trailing slash.
    pub(super) site: String,
    pub(super) link: L,
    pub(super) clock: fn() -> Micros,
    /// Whether the transport was reachable the last time, so that a change is logged once.
    pub(super) reached: AtomicBool,
}

/// Why a round ended early. The cause is no single mail.
#[derive(Debug, thiserror::Error)]
enum RoundError {
    #[error("cannot send mail")]
    TransportUnreachable(#[from] TransportUnreachable),
    #[error("the store of mails failed")]
    Store(#[from] sqlx::Error),
    #[error("the store of links failed")]
    Link(#[from] AccountsError),
}

impl<L, F> MailWorker<L>
where
    L: Fn(i64) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Option<String>>> + Send + 'static,
{
    /// Starts a worker for each transport, and the task that counts and sweeps.
    pub(super) fn start(
        self,
        transports: Vec<Transport>,
        stopped: &watch::Receiver<bool>,
    ) -> Vec<JoinHandle<()>> {
        let worker = Arc::new(self);
        let workers = transports
            .into_iter()
            .map(|transport| Arc::clone(&worker).work(transport, stopped.clone()))
            .map(|working| supervisor::spawn("mail", Lifetime::UntilStop, working));
        let mut tasks = workers.collect::<Vec<_>>();
        let tidying = Arc::clone(&worker).tidy(stopped.clone());
        tasks.push(supervisor::spawn("mail-sweep", Lifetime::UntilStop, tidying));
        tasks
    }

    async fn work(self: Arc<Self>, mut transport: Transport, mut stopped: watch::Receiver<bool>) {
        let mut failures = 0;
        while !*stopped.borrow() {
            let pause = match self.round(&mut transport, &stopped).await {
                Ok(more) => {
                    failures = 0;
                    if more { Duration::ZERO } else { self.policy.poll }
                }
                Err(error) => {
                    self.report(&error);
                    failures += 1;
                    ABSENT.wait(failures, JITTER, &mut backoff::rng())
                }
            };
            tokio::select! {
                () = wait_for_stop(&mut stopped) => {}
                () = time::sleep(pause) => {}
            }
        }
        transport.idle().await;
    }

    /// Sends the mails that are due. True if there may be more.
    async fn round(
        &self,
        transport: &mut Transport,
        stopped: &watch::Receiver<bool>,
    ) -> Result<bool, RoundError> {
        let due = self.outbox.due((self.clock)(), self.policy.batch).await?;
        let more = due.len() == self.policy.batch as usize;
        for mail in due {
            if *stopped.borrow() {
                return Ok(false);
            }
            self.take(transport, &mail).await?;
        }
        if !more {
            transport.idle().await;
        }
        Ok(more)
    }

    /// Makes one attempt, unless the mail can no longer be useful.
    async fn take(&self, transport: &mut Transport, mail: &QueuedEmail) -> Result<(), RoundError> {
        let now = (self.clock)();
        if let Some(why) = self.skip_reason(mail, now) {
            return self.give_up(mail, &DeliveryFailure::internal(false, why)).await;
        }
        transport.ready().await?;
        if !self.reached.swap(true, Ordering::Relaxed) {
            info!("mail can be sent again");
        }
        if !self.outbox.claim(mail, now.saturating_add(self.policy.claim_us)).await? {
            return Ok(());
        }
        let sent = match self.write(mail).await? {
            Ok(email) => transport.send(&email).await,
            Err(failure) => Err(failure),
        };
        match sent {
            Ok(()) => self.done(mail).await,
            Err(failed) if failed.retryable => self.reschedule(mail, &failed).await,
            Err(failed) => self.give_up(mail, &failed).await,
        }
    }

    /// Why the mail must not be sent any more.
    fn skip_reason(&self, mail: &QueuedEmail, now: Micros) -> Option<&'static str> {
        if mail.used {
            return Some("its link was followed before it could be sent");
        }
        if mail.expires.is_some_and(|expires| expires <= now) {
            return Some("its link ran out before it could be sent");
        }
        (mail.attempts >= self.policy.attempts_max).then_some("no attempt came to an end")
    }

    /// Renders the mail at the last moment, so that its link is never stored.
    async fn write(
        &self,
        mail: &QueuedEmail,
    ) -> Result<Result<OutgoingEmail, DeliveryFailure>, RoundError> {
        let never = |why: &str| Ok(Err(DeliveryFailure::internal(false, why)));
        let Ok(kind) = mail.kind.parse::<MailKind>() else {
            return never("this program knows no such kind of mail");
        };
        let Ok(address) = mail.address.parse::<Address>() else {
            return never("no mail can be sent to such an address");
        };
        let link = match (page(kind), mail.link) {
            (Some(page), Some(id)) => match (self.link)(id).await? {
                Some(text) => Some(self.full_link(page, &text, mail)),
                None => return never("its link is gone"),
            },
            (Some(_), None) => return never("it should have a link"),
            (None, _) => None,
        };
        let receipt = match &mail.content {
            Some(content) => match serde_json::from_str(content) {
                Ok(receipt) => Some(receipt),
                Err(_) => return never("its receipt is of another version"),
            },
            None if has_receipt(kind) => return never("it should have a receipt"),
            None => None,
        };
        let context = EmailContext {
            id: mail.id,
            kind,
            address: &address,
            requested: mail.created,
            link,
            receipt,
            site: &self.site,
        };
        Ok(self.email(&context).map_err(|error| DeliveryFailure::internal(false, error)))
    }

    fn full_link(&self, page: &str, text: &str, mail: &QueuedEmail) -> EmailLink {
        let url = format!("{}{page}?link={text}", self.site);
        EmailLink { url, expires: mail.expires.unwrap_or(mail.created) }
    }

    fn email(&self, context: &EmailContext<'_>) -> Result<OutgoingEmail, String> {
        let rendered =
            RenderedEmail::render(context, &self.sender).map_err(|error| error.to_string())?;
        let message = rendered.into_message(context, &self.sender);
        Ok(OutgoingEmail {
            name: format!("{}-{}-{}", context.requested, context.id, context.kind.as_str()),
            message: message.map_err(|error| error.to_string())?,
            link: context.link.as_ref().map(|link| link.url.clone()),
        })
    }

    async fn done(&self, mail: &QueuedEmail) -> Result<(), RoundError> {
        counter!("matchwire_mails_sent_total", "kind" => mail.kind.clone()).increment(1);
        Ok(self.outbox.sent(mail.id, (self.clock)()).await?)
    }

    async fn reschedule(
        &self,
        mail: &QueuedEmail,
        failed: &DeliveryFailure,
    ) -> Result<(), RoundError> {
        let attempts = mail.attempts.saturating_add(1);
        if attempts >= self.policy.attempts_max {
            return self.give_up(mail, failed).await;
        }
        counter!("matchwire_mails_put_off_total", "kind" => mail.kind.clone()).increment(1);
        let wait = self.policy.retry.wait(attempts, JITTER, &mut backoff::rng());
        let wait_us = Micros::try_from(wait.as_micros()).unwrap_or(Micros::MAX);
        let until = (self.clock)().saturating_add(wait_us);
        Ok(self.outbox.reschedule(mail.id, until, &failed.detail).await?)
    }

    async fn give_up(
        &self,
        mail: &QueuedEmail,
        failed: &DeliveryFailure,
    ) -> Result<(), RoundError> {
        if !self.outbox.fail(mail.id, (self.clock)(), &failed.detail).await? {
            return Ok(());
        }
        let (_, host) = mail.address.rsplit_once('@').unwrap_or_default();
        let (id, kind, why) = (mail.id, &*mail.kind, &*failed.log_detail);
        warn!(mail = id, kind, host, attempts = mail.attempts, why, "gave up on a mail");
        counter!("matchwire_mails_failed_total", "kind" => mail.kind.clone()).increment(1);
        Ok(())
    }

    fn report(&self, error: &RoundError) {
        counter!("matchwire_mail_halts_total").increment(1);
        match error {
            RoundError::TransportUnreachable(why)
                if self.reached.swap(false, Ordering::Relaxed) =>
            {
                warn!(%why, "cannot send mail; will retry");
            }
            RoundError::TransportUnreachable(_) => {}
            RoundError::Store(_) | RoundError::Link(_) => {
                error!(
                    error = error as &dyn std::error::Error,
                    "cannot read the outbox; will retry"
                );
            }
        }
    }

    /// Counts waiting mails and deletes old ones, periodically.
    async fn tidy(self: Arc<Self>, mut stopped: watch::Receiver<bool>) {
        let (mut count, mut sweep) = (time::interval(COUNT_EVERY), time::interval(SWEEP_EVERY));
        loop {
            let done = tokio::select! {
                () = wait_for_stop(&mut stopped) => return,
                _ = count.tick() => self.count().await,
                _ = sweep.tick() => self.sweep().await,
            };
            if let Err(error) = done {
                error!(error = &error as &dyn std::error::Error, "cannot delete old mails");
            }
        }
    }

    async fn count(&self) -> sqlx::Result<()> {
        let waiting = self.outbox.waiting().await?;
        gauge!("matchwire_mails_waiting").set(waiting as f64);
        Ok(())
    }

    async fn sweep(&self) -> sqlx::Result<()> {
        let before = (self.clock)().saturating_sub(self.policy.keep_us);
        self.outbox.sweep(before).await.map(|_| ())
    }
}

/// Waits until the stop signal is set or its sender is dropped.
async fn wait_for_stop(stopped: &mut watch::Receiver<bool>) {
    stopped.wait_for(|stop| *stop).await.ok();
}

/// `days` in microseconds.
pub(super) fn days(days: u32) -> Micros {
    Micros::from(days).saturating_mul(DAY_US)
}
