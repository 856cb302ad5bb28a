//! The shards that serve sockets, with the hosts that answer them, and the limits on what clients use.

use fanout::Fanout;
use tokio::sync::mpsc;

use super::{
    AppError, RunMode, StartContext, demo::test_match, films::Replays, part_settings,
    stores::Stores,
};
use crate::config::FanoutConfig;
use accounts::limits::{Limits, LimitsKey};
use base::{
    supervisor::{self, Lifetime},
    work::WorkLimits,
};
use hub::{
    pipeline::HubHandle,
    test_channels::{TestChannels, TestHost},
};
use web::http::Registry;

/// The shards, and what they share with the HTTP server.
pub(super) struct Sockets {
    pub fanout: Fanout,
    pub limits: Limits,
    pub registry: Registry,
}

impl Sockets {
    /// Starts the shards. Without test channels and films, no thread or task serves these.
    pub(super) fn start(
        StartContext { config, mode, stopped, .. }: StartContext<'_>,
        stores: &Stores,
        hub_handle: &HubHandle,
        replays: &Replays,
    ) -> Result<Self, AppError> {
        let (tests, test_requests) = mpsc::channel(config.fanout.sockets_max);
        let tests = config.server.test_channels.then_some(tests);
        let host = replays.host(TestHost { host: hub_handle.clone(), tests });
        let key = match config.cluster.is_enabled() {
            false => LimitsKey::random(),
            true => LimitsKey::shared(stores.accounts.derived_secret("limits of all nodes")),
        };
        let limits = Limits::new(&config.limits, key);
        limits.work().add_queue(&stores.accounts.database().pool().turns);
        let mut fanout_limits = part_settings::limits(config, limits.work().clone());
        let mut sockets_per_account = config.fanout.sockets_max_per_account;
        if matches!(mode, RunMode::Load(_)) {
            // Its one key stands for many customers, unless the settings say otherwise.
            limits.work().set_limits(WorkLimits::UNLIMITED);
            if config.fanout.catch_up_burst == FanoutConfig::default().catch_up_burst {
                fanout_limits.catch_up_burst = u32::MAX;
            }
            fanout_limits.channels_max_per_payer = usize::MAX;
            // A load tool opens all its sockets with the one printed key.
            sockets_per_account = config.fanout.sockets_max;
        }
        let name = concat!("matchwire/", env!("CARGO_PKG_VERSION"));
        let fanout = Fanout::start_on(fanout_limits, name, host, |name, run| {
            supervisor::thread(name, Lifetime::UntilStop, run)
        })?;
        replays.start(&fanout)?;
        if config.server.test_channels {
            let tests = TestChannels::new(test_match(), hub_handle.clone(), fanout.clone());
            let playing = tests.run(test_requests, stopped.clone());
            supervisor::spawn("test channels", Lifetime::UntilStop, playing);
        }
        let registry = Registry::new(sockets_per_account, config.fanout.sockets_max);
        Ok(Self { fanout, limits, registry })
    }
}
