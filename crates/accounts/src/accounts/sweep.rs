//! Removes obsolete rows from time to time: ended sessions, links that expired long ago, accounts
//! whose address was never confirmed, ended grants.

use std::time::Duration;

use tokio::{sync::watch, task::JoinHandle, time};
use tracing::warn;

use super::{Accounts, DAY_US, Micros, Result, store};
use crate::{
    clock,
    supervisor::{self, Lifetime},
};

/// The interval between sweeps. Nothing depends on it: ended sessions and expired links are refused
/// whether swept or not.
const EVERY: Duration = Duration::from_secs(60 * 60);
/// An expired link is retained this long, so that its page can say why it does not work.
const LINKS_KEPT: Micros = 30 * DAY_US;

/// An ended grant is retained this long, so that every process has noticed its end.
const GRANTS_KEPT: Micros = DAY_US;

/// What a sweep removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SweepResult {
    pub sessions: u64,
    pub links: u64,
    /// Unconfirmed accounts.
    pub accounts: u64,
    /// Ended grants of connected applications.
    pub grants: u64,
}

impl Accounts {
    /// Removes obsolete rows.
    ///
    /// # Errors
    ///
    /// If the store fails; nothing was removed then.
    pub async fn sweep(&self, now: Micros) -> Result<SweepResult> {
        self.shared.new_keys.drop_old(now);
        let config = &self.shared.config;
        let idle_since = now.saturating_sub(config.session_idle_max());
        let unconfirmed_since = now.saturating_sub(config.unconfirmed_age_max());
        let mut tx = self.shared.store.begin().await?;
        let sessions = store::remove_ended_sessions(&mut tx, idle_since, now).await?;
        let links = store::remove_old_links(&mut tx, now.saturating_sub(LINKS_KEPT)).await?;
        let accounts = store::remove_unconfirmed(&mut tx, unconfirmed_since, now).await?;
        let grants = store::remove_ended_grants(&mut tx, now.saturating_sub(GRANTS_KEPT)).await?;
        store::remove_ended_tickets(&mut tx, now).await?;
        tx.commit().await?;
        Ok(SweepResult { sessions, links, accounts, grants })
    }

    /// Sweeps at once and then every hour, until `stopped` turns true.
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
