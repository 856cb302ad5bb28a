//! Connects webhooks with the log, whose events they get, and with the accounts, which decide who may get them.

mod recipients;

use std::{
    collections::HashMap,
    error::Error,
    io,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use tokio::{runtime::Handle, task::JoinHandle, time};
use tracing::{info, warn};

use self::recipients::Recipients;
use super::{
    StartContext,
    running_hub::HubServices,
    stopping::{RunningPart, StopDeadline},
    stores::Stores,
};
use crate::config::Config;
use accounts::{
    Accounts,
    mail::{self, MailKind},
};
use base::{
    Micros,
    clock::wall,
    supervisor::{self, Lifetime},
    tls,
};
use webhooks::{FollowedHub as _, OnDisabled, Webhooks};

const HOUR_US: Micros = 3_600_000_000;
/// Mails about disabled webhooks that an account gets per hour: an owner can enable one again and again.
const MAILS_MAX_PER_HOUR: u32 = 6;

/// The tasks of webhooks.
pub(super) struct RunningWebhooks {
    sending: JoinHandle<()>,
    follower: thread::JoinHandle<()>,
}

/// The webhooks in the database of the accounts.
pub(super) fn open(accounts: &Accounts, config: &Config) -> Webhooks {
    let tls = tls::client(None).unwrap_or_else(|error| {
        // Nothing else needs an authority.
        warn!(error = &error as &dyn Error, "no webhook can be sent over HTTPS");
        tls::without_authorities()
    });
    let secret = accounts.derived_secret("webhooks");
    Webhooks::new(accounts.database().clone(), secret, &config.webhooks, tls)
}

/// Mails the owner of a webhook that was disabled.
fn mail_that_disabled() -> OnDisabled {
    let budget = Mutex::new(MailBudget::default());
    Arc::new(move |tx, account, now| {
        // Nothing panics while it holds the lock.
        let is_left = budget.lock().unwrap_or_else(PoisonError::into_inner).take(account, now);
        Box::pin(async move {
            if is_left {
                mail::enqueue_for_account(tx, account, MailKind::WebhookDisabled, now).await?;
            }
            Ok(())
        })
    })
}

/// The mails of each account in the hour that began with the first of them.
#[derive(Debug, Default)]
struct MailBudget(HashMap<i64, (Micros, u32)>);

impl MailBudget {
    /// Counts a mail; false if there were too many within an hour.
    fn take(&mut self, account: i64, now: Micros) -> bool {
        self.0.retain(|_, (begin, _)| (0..HOUR_US).contains(&now.saturating_sub(*begin)));
        let (_, count) = self.0.entry(account).or_insert((now, 0));
        *count = count.saturating_add(1);
        *count <= MAILS_MAX_PER_HOUR
    }
}

impl RunningWebhooks {
    /// Starts to record and to send. On a node of a cluster, only while it leads.
    ///
    /// # Errors
    ///
    /// If the system refuses a thread.
    pub(super) fn start(
        StartContext { stopped, .. }: StartContext<'_>,
        stores: &Stores,
        hub: &HubServices,
    ) -> io::Result<Self> {
        let recipients = Recipients {
            accounts: stores.accounts.clone(),
            entitlement: stores.entitlement.clone(),
            hub: hub.handle.clone(),
            callers: Arc::default(),
        };
        // Charged for deliveries.
        let work = hub.limits.work().clone();
        let (may_receive, handle) = (recipients.may_receive(), hub.handle.clone());
        let leads = move || handle.leads();
        let on_disabled = mail_that_disabled();
        let sending =
            stores.webhooks.start_sending(work, may_receive, on_disabled, leads, wall, stopped)?;
        let (webhooks, fenced) = (stores.webhooks.clone(), stores.fenced.clone());
        let (records, stopped) = (Arc::clone(&hub.records), stopped.clone());
        let runtime = Handle::current();
        let follower = supervisor::thread("webhook-events", Lifetime::UntilStop, move || {
            supervisor::yield_to_others();
            webhooks.follow(fenced, records, recipients, stopped, &runtime);
        })?;
        Ok(Self { sending, follower })
    }
}

impl RunningPart for RunningWebhooks {
    /// Waits for both. A request that was not answered in time is cut off, and sent again by the next run.
    async fn stop(self, deadline: StopDeadline) {
        let Self { mut sending, follower } = self;
        let ended = async {
            if time::timeout(deadline.patience(), &mut sending).await.is_err() {
                info!("a webhook was interrupted");
                sending.abort();
            }
            // The supervisor has reported a panic.
            tokio::task::spawn_blocking(move || follower.join().ok()).await.ok();
        };
        deadline.step("webhooks", ended).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mails_of_an_account_are_limited_per_hour() {
        let mut budget = MailBudget::default();
        let mut take = |account, now| (0..8).filter(|_| budget.take(account, now)).count();
        assert_eq!([take(1, 0), take(1, HOUR_US - 1), take(2, HOUR_US - 1)], [6, 0, 6]);
        assert_eq!([take(1, HOUR_US), take(2, HOUR_US)], [6, 0]);
    }
}
