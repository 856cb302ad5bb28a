//! The run of the demo, and what writes its past.

use tokio::task::JoinHandle;

use super::{AppError, RunMode, StartContext, part_settings::settings, stores::Stores};
use accounts::Accounts;
use base::{
    clock::now,
    supervisor::{self, Lifetime},
};
use demo::{Chronicle, ChronicleStores};

pub(super) use demo::{DemoRun, test_match};

/// Resumes the run or starts one, if the demo is played.
pub(super) async fn resume_or_start(
    StartContext { config, mode, .. }: StartContext<'_>,
    accounts: &Accounts,
) -> Result<Option<DemoRun>, AppError> {
    if !matches!(mode, RunMode::Demo) {
        return Ok(None);
    }
    // The settings that affect which changes the same facts produce.
    let settings = format!("{:?} {}", config.hub, config.feeds.stale_after_ms);
    Ok(Some(DemoRun::resume_or_start(accounts, &config.demo, &settings, now()).await?))
}

/// Starts to archive the demo's past and programme, if the settings enable it.
pub(super) fn archive(context: StartContext<'_>, stores: &Stores) -> Option<JoinHandle<()>> {
    let run = stores.demo.clone().filter(|_| context.config.demo.past)?;
    let stores = ChronicleStores {
        accounts: stores.accounts.clone(),
        archive: stores.history.archive.clone(),
        reader: stores.history.reader.clone(),
        ids: stores.ids.clone(),
    };
    let chronicle = Chronicle::new(run, stores, settings(context.config), context.stopped);
    // It ends early where the database fails; the next start tries again.
    Some(supervisor::spawn("chronicle", Lifetime::Finite, chronicle.keep()))
}
