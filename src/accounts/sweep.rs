//! What nobody needs any more is removed from time to time: sessions that have ended, links that ran
//! out long ago, accounts whose address was never confirmed.

use std::time::Duration;

use tokio::{sync::watch, task::JoinHandle, time};
use tracing::warn;

use super::{Accounts, AccountsError, DAY_US, Micros, store};
use crate::{
    clock,
    supervisor::{self, Lifetime},
};

/// Between two sweeps. Nothing depends on it: what has ended is refused whether it was swept or not.
const EVERY: Duration = Duration::from_secs(60 * 60);
/// A link that has run out is still known for so long, so that whoever follows it is told why it does
/// not work.
const LINKS_KEPT: Micros = 30 * DAY_US;

/// What a sweep has removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SweepResult {
    pub sessions: u64,
    pub links: u64,
    /// Accounts that were never confirmed.
    pub accounts: u64,
}

impl Accounts {
    /// Removes what nobody needs any more.
    ///
    /// # Errors
    ///
    /// If the store fails; nothing was removed then.
    pub async fn sweep(&self, now: Micros) -> Result<SweepResult, AccountsError> {
        self.forget_old_new_keys(now);
        let config = &self.shared.config;
        let idle_since = now.saturating_sub(config.session_idle_max());
        let unconfirmed_since = now.saturating_sub(config.unconfirmed_age_max());
        let mut tx = self.shared.store.begin().await?;
        let sessions = store::remove_ended_sessions(&mut tx, idle_since, now).await?;
        let links = store::remove_old_links(&mut tx, now.saturating_sub(LINKS_KEPT)).await?;
        let accounts = store::remove_unconfirmed(&mut tx, unconfirmed_since, now).await?;
        tx.commit().await?;
        Ok(SweepResult { sessions, links, accounts })
    }

    /// Sweeps once an hour, and at once, until told to stop.
    pub fn sweep_always(&self, mut stopped: watch::Receiver<bool>) -> JoinHandle<()> {
        let accounts = self.clone();
        supervisor::spawn("accounts", Lifetime::UntilStop, async move {
            let mut ticks = time::interval(EVERY);
            loop {
                tokio::select! {
                    _ = ticks.tick() => {}
                    _ = stopped.wait_for(|stopped| *stopped) => return,
                }
                if let Err(error) = accounts.sweep(clock::wall()).await {
                    warn!(error = &error as &dyn std::error::Error, "cannot sweep the accounts");
                }
            }
        })
    }
}
