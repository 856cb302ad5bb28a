//! The tasks that run beside the data path until the stop, and that nobody waits for while the hub runs.

use std::{sync::Arc, time::Duration};

use tokio::task::JoinHandle;

use super::{
    AppError, StartContext, orders, part_settings,
    running_hub::HubServices,
    stopping::{RunningPart, StopDeadline},
    stores::Stores,
};
use crate::{
    config::Config,
    telemetry::{self, traces::TraceExporter},
};
use accounts::usage::{self, Flushes, Meter, Quotas};
use base::{
    clock::wall,
    disk,
    supervisor::{self, Lifetime},
};
use web::{
    http::tls::CurrentCertificate,
    revocation::{self, Revoker},
};

/// The tasks that the stop waits for.
pub(super) struct RunningUpkeep(Vec<JoinHandle<()>>);

impl RunningUpkeep {
    pub(super) fn start(context: StartContext<'_>, stores: &Stores, hub: &HubServices) -> Self {
        let StartContext { config, stopped, .. } = context;
        let revoker = Revoker {
            accounts: stores.accounts.clone(),
            registry: hub.registry.clone(),
            fanout: hub.fanout.clone(),
            entitlement: stores.entitlement.clone(),
        };
        let every = Duration::from_millis(config.accounts.watch_ms);
        let mut tasks = Vec::from(revocation::start(revoker, every, stopped));
        if !config.cluster.is_enabled() {
            let lifetime = Lifetime::UntilStop;
            tasks.extend(orders::start(config, stores, &hub.handle, stopped, lifetime));
        }
        #[cfg(feature = "demo")]
        tasks.extend(super::demo::archive(context, stores));
        let probe = Duration::from_millis(config.database.probe_ms);
        let database = stores.accounts.database().clone();
        let probing = database.watch_writes(probe, wall, stopped.clone());
        tasks.push(supervisor::spawn("database", Lifetime::UntilStop, probing));
        tasks.push(stores.accounts.sweep_always(stopped.clone()));
        let archive = stores.history.archive.clone();
        let predictor = &stores.history.predictor;
        tasks.push(predictor.refit_always(archive, &config.predictions, stopped.clone()));
        Self(tasks)
    }
}

/// Starts to watch the process, its disks and the files that it follows. None of this delays a stop. `traces` and
/// `certificate`: `None` without the settings.
pub(super) fn watch_process(
    StartContext { config, metrics, stopped, .. }: StartContext<'_>,
    traces: Option<TraceExporter>,
    certificate: Option<Arc<CurrentCertificate>>,
) {
    let upkeep = telemetry::keep(metrics.clone(), stopped.clone());
    supervisor::spawn("metrics", Lifetime::UntilStop, upkeep);
    let disk_free_min = config.log.disk_free_min_bytes;
    let sampling = disk::watch(part_settings::folders(config), disk_free_min, stopped.clone());
    supervisor::spawn("disk", Lifetime::UntilStop, sampling);
    if let Some(exporter) = traces {
        supervisor::spawn("traces", Lifetime::UntilStop, exporter.run(stopped.clone()));
    }
    if let Some(certificate) = certificate
        && config.tls.watch_ms > 0
    {
        let every = Duration::from_millis(config.tls.watch_ms);
        let following = certificate.follow_files(every, stopped.clone());
        supervisor::spawn("certificate", Lifetime::UntilStop, following);
    }
}

impl RunningPart for RunningUpkeep {
    async fn stop(self, deadline: StopDeadline) {
        for task in self.0 {
            deadline.task("upkeep", task).await;
        }
    }
}

/// The meter, and the task that stores its counts.
pub(super) struct RunningUsage {
    pub meter: Meter,
    flushes: Flushes,
}

impl RunningUsage {
    pub(super) async fn start(config: &Config, stores: &Stores) -> Result<Self, AppError> {
        let writer = getrandom::u64()?.cast_signed();
        let journal = usage::path_beside(config.server.db.beside());
        let database = stores.accounts.database().clone();
        let is_clustered = config.cluster.is_enabled();
        let quotas = if is_clustered { Quotas::WithOtherNodes } else { Quotas::Alone };
        let meter = Meter::with_journal(database, &config.usage, quotas, writer, &journal).await?;
        let flushes = usage::start(meter.clone(), Duration::from_millis(config.usage.flush_ms));
        Ok(Self { meter, flushes })
    }
}

impl RunningPart for RunningUsage {
    /// Stores the rest. All users of the meter must have ended.
    async fn stop(self, deadline: StopDeadline) {
        deadline.step("usage", self.flushes.finish()).await;
    }
}
