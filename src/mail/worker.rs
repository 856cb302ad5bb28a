//! Empties the outbox, for as long as the hub runs.
//!
//! Each of a few workers takes what is due, claims one mail after the other, writes it and has it
//! carried. A carrier that cannot be reached costs no mail an attempt; the worker waits. What is
//! said of failures names neither the part of an address before the @ nor a link.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use lettre::Address;
use metrics::{counter, gauge};
use tokio::{sync::watch, task::JoinHandle, time};
use tracing::{error, info, warn};

use super::{
    MailKind, Sender,
    backoff::Backoff,
    carrier::{Carrier, Parcel, Undelivered, Unreachable},
    letter::{Letter, Link, Occasion, page},
    outbox::{Outbox, Waiting},
};
use crate::{
    accounts::{AccountsError, Micros},
    supervisor::{self, Lifetime},
};

const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;
/// How often it is counted what waits, and what is old is deleted.
const COUNT_EVERY: Duration = Duration::from_secs(10);
const SWEEP_EVERY: Duration = Duration::from_secs(3_600);
/// Between two tries to reach a carrier that cannot be, and a store that fails.
const ABSENT: Backoff = Backoff { first_ms: 1_000, max_ms: 60_000 };

/// How stubborn it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) batch: u32,
    pub(super) poll: Duration,
    pub(super) attempts_max: u32,
    pub(super) retry: Backoff,
    /// How long a claimed mail is left alone, in microseconds: longer than an attempt can take.
    pub(super) claim_us: Micros,
    pub(super) keep_us: Micros,
}

/// Everything that workers share. `L` tells the text of a link by its number; `None` if it is gone.
pub(super) struct Postman<L> {
    pub(super) outbox: Outbox,
    pub(super) terms: Terms,
    pub(super) sender: Sender,
    /// Where the pages are, without a slash at the end.
    pub(super) site: String,
    pub(super) link: L,
    pub(super) clock: fn() -> Micros,
    /// Whether the carrier was reached the last time, so that a change is said once.
    pub(super) reached: AtomicBool,
}

/// Why a round ended early. No mail is to blame.
#[derive(Debug, thiserror::Error)]
enum Halt {
    #[error("no mail can be sent")]
    Unreachable(#[from] Unreachable),
    #[error("the store of mails failed")]
    Store(#[from] sqlx::Error),
    #[error("the store of links failed")]
    Link(#[from] AccountsError),
}

impl<L, F> Postman<L>
where
    L: Fn(i64) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Option<String>, AccountsError>> + Send + 'static,
{
    /// Starts a worker for each carrier, and who counts and tidies up.
    pub(super) fn start(
        self,
        carriers: Vec<Carrier>,
        stopped: &watch::Receiver<bool>,
    ) -> Vec<JoinHandle<()>> {
        let postman = Arc::new(self);
        let workers = carriers
            .into_iter()
            .map(|carrier| Arc::clone(&postman).work(carrier, stopped.clone()))
            .map(|working| supervisor::spawn("mail", Lifetime::UntilStop, working));
        let mut tasks = workers.collect::<Vec<_>>();
        let tidying = Arc::clone(&postman).tidy(stopped.clone());
        tasks.push(supervisor::spawn("mail-sweep", Lifetime::UntilStop, tidying));
        tasks
    }

    async fn work(self: Arc<Self>, mut carrier: Carrier, mut stopped: watch::Receiver<bool>) {
        let mut failures = 0;
        while !*stopped.borrow() {
            let pause = match self.round(&mut carrier, &stopped).await {
                Ok(more) => {
                    failures = 0;
                    if more { Duration::ZERO } else { self.terms.poll }
                }
                Err(halt) => {
                    self.say(&halt);
                    failures += 1;
                    Duration::from_millis(ABSENT.after(failures, random()))
                }
            };
            tokio::select! {
                () = told(&mut stopped) => {}
                () = time::sleep(pause) => {}
            }
        }
        carrier.rest().await;
    }

    /// Takes what is due. True if there may be more.
    async fn round(
        &self,
        carrier: &mut Carrier,
        stopped: &watch::Receiver<bool>,
    ) -> Result<bool, Halt> {
        let due = self.outbox.due((self.clock)(), self.terms.batch).await?;
        let more = due.len() == self.terms.batch as usize;
        for mail in due {
            if *stopped.borrow() {
                return Ok(false);
            }
            self.take(carrier, &mail).await?;
        }
        if !more {
            carrier.rest().await;
        }
        Ok(more)
    }

    /// One attempt, or none where there is no point in one.
    async fn take(&self, carrier: &mut Carrier, mail: &Waiting) -> Result<(), Halt> {
        let now = (self.clock)();
        if let Some(why) = self.pointless(mail, now) {
            return self.give_up(mail, &Undelivered::of_ours(false, why)).await;
        }
        carrier.ready().await?;
        if !self.reached.swap(true, Ordering::Relaxed) {
            info!("mail can be sent again");
        }
        if !self.outbox.claim(mail, now.saturating_add(self.terms.claim_us)).await? {
            return Ok(());
        }
        let carried = match self.write(mail).await? {
            Ok(parcel) => carrier.carry(&parcel).await,
            Err(unwritten) => Err(unwritten),
        };
        match carried {
            Ok(()) => self.done(mail).await,
            Err(failed) if failed.again => self.put_off(mail, &failed).await,
            Err(failed) => self.give_up(mail, &failed).await,
        }
    }

    fn pointless(&self, mail: &Waiting, now: Micros) -> Option<&'static str> {
        if mail.used {
            return Some("its link was followed before it could be sent");
        }
        if mail.expires.is_some_and(|expires| expires <= now) {
            return Some("its link ran out before it could be sent");
        }
        (mail.attempts >= self.terms.attempts_max).then_some("no attempt came to an end")
    }

    /// Everything about the mail is made here, at the last moment, its link above all.
    async fn write(&self, mail: &Waiting) -> Result<Result<Parcel, Undelivered>, Halt> {
        let never = |why: &str| Ok(Err(Undelivered::of_ours(false, why)));
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
        let occasion = Occasion {
            id: mail.id,
            kind,
            address: &address,
            asked: mail.created,
            link,
            site: &self.site,
        };
        Ok(self.parcel(&occasion).map_err(|error| Undelivered::of_ours(false, error)))
    }

    fn full_link(&self, page: &str, text: &str, mail: &Waiting) -> Link {
        let url = format!("{}{page}?link={text}", self.site);
        Link { url, expires: mail.expires.unwrap_or(mail.created) }
    }

    fn parcel(&self, occasion: &Occasion<'_>) -> Result<Parcel, String> {
        let letter = Letter::write(occasion, &self.sender).map_err(|error| error.to_string())?;
        let message = letter.into_message(occasion, &self.sender);
        Ok(Parcel {
            name: format!("{}-{}-{}", occasion.asked, occasion.id, occasion.kind.as_str()),
            message: message.map_err(|error| error.to_string())?,
            link: occasion.link.as_ref().map(|link| link.url.clone()),
        })
    }

    async fn done(&self, mail: &Waiting) -> Result<(), Halt> {
        counter!("matchwire_mails_sent_total", "kind" => mail.kind.clone()).increment(1);
        Ok(self.outbox.sent(mail.id, (self.clock)()).await?)
    }

    async fn put_off(&self, mail: &Waiting, failed: &Undelivered) -> Result<(), Halt> {
        let attempts = mail.attempts.saturating_add(1);
        if attempts >= self.terms.attempts_max {
            return self.give_up(mail, failed).await;
        }
        counter!("matchwire_mails_put_off_total", "kind" => mail.kind.clone()).increment(1);
        let wait_ms = self.terms.retry.after(attempts, random());
        let wait_us = Micros::try_from(wait_ms).unwrap_or(Micros::MAX).saturating_mul(1_000);
        let until = (self.clock)().saturating_add(wait_us);
        Ok(self.outbox.put_off(mail.id, until, &failed.full).await?)
    }

    async fn give_up(&self, mail: &Waiting, failed: &Undelivered) -> Result<(), Halt> {
        if !self.outbox.fail(mail.id, (self.clock)(), &failed.full).await? {
            return Ok(());
        }
        let (_, host) = mail.address.rsplit_once('@').unwrap_or_default();
        let (id, kind, why) = (mail.id, &*mail.kind, &*failed.plain);
        warn!(mail = id, kind, host, attempts = mail.attempts, why, "a mail was given up");
        counter!("matchwire_mails_failed_total", "kind" => mail.kind.clone()).increment(1);
        Ok(())
    }

    fn say(&self, halt: &Halt) {
        counter!("matchwire_mail_halts_total").increment(1);
        match halt {
            Halt::Unreachable(why) if self.reached.swap(false, Ordering::Relaxed) => {
                warn!(%why, "mail cannot be sent now; it waits");
            }
            Halt::Unreachable(_) => {}
            Halt::Store(_) | Halt::Link(_) => {
                error!(error = halt as &dyn std::error::Error, "mail cannot be read now; it waits");
            }
        }
    }

    /// Counts what waits, and deletes what is old.
    async fn tidy(self: Arc<Self>, mut stopped: watch::Receiver<bool>) {
        let (mut count, mut sweep) = (time::interval(COUNT_EVERY), time::interval(SWEEP_EVERY));
        loop {
            let done = tokio::select! {
                () = told(&mut stopped) => return,
                _ = count.tick() => self.count().await,
                _ = sweep.tick() => self.sweep().await,
            };
            if let Err(error) = done {
                error!(error = &error as &dyn std::error::Error, "mails cannot be tidied up");
            }
        }
    }

    async fn count(&self) -> Result<(), sqlx::Error> {
        let waiting = self.outbox.waiting().await?;
        gauge!("matchwire_mails_waiting").set(waiting as f64);
        Ok(())
    }

    async fn sweep(&self) -> Result<(), sqlx::Error> {
        let before = (self.clock)().saturating_sub(self.terms.keep_us);
        self.outbox.sweep(before).await.map(|_| ())
    }
}

/// Waits until it is told to stop, or nobody is left to tell.
async fn told(stopped: &mut watch::Receiver<bool>) {
    stopped.wait_for(|stop| *stop).await.ok();
}

/// Any number; always the same one where the system has none, which only costs the spread.
fn random() -> u32 {
    getrandom::u32().unwrap_or(u32::MAX / 2)
}

/// `days` in microseconds.
pub(super) fn days(days: u32) -> Micros {
    Micros::from(days).saturating_mul(DAY_US)
}
