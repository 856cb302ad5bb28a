//! What requests are answered from, grouped by what it is for.

use std::{path::PathBuf, sync::Arc};

use fanout::{Fanout, socket::SocketOptions};
use metrics_exporter_prometheus::PrometheusHandle;

use super::{ConnectionLimits, Proxies, Registry};
use crate::{
    config::{FanoutConfig, ServerConfig},
    entitlement::Entitlement,
    images::Images,
    limits::Limits,
    log_state::LogState,
    payments::Payments,
    pipeline::HubHandle,
    predict::Predictor,
    products::CurrentCatalogue,
    usage::Meter,
};
use ::mcp::McpConfig;
use accounts::{Accounts, OAuth, clients::ClientDocuments};
use cluster::{NodeHealth, ViewCluster};
use history::{query::History, signal_board::SignalBoard};
use hub::{
    config::{HubConfig, IngestConfig},
    sources::PlaybackControl,
    test_channels::TestTruth,
};

/// What requests are answered from.
#[derive(Debug)]
pub struct ServerParts {
    pub customers: CustomerParts,
    pub admission: AdmissionParts,
    pub hub: HubParts,
    pub matches: MatchParts,
    pub connections: ConnectionParts,
    pub settings: ServerSettings,
    pub demo: DemoParts,
    /// All metrics, as text.
    pub metrics: PrometheusHandle,
}

/// Who customers are, what they pay and what they have used: for their pages, for OAuth, and for the account in REST.
#[derive(Debug)]
pub struct CustomerParts {
    pub accounts: Accounts,
    pub prices: CurrentCatalogue,
    pub payments: Payments,
    /// Usage by account and day.
    pub meter: Meter,
    /// Applications that customers have connected.
    pub oauth: OAuth,
    /// What applications publish of themselves.
    pub clients: ClientDocuments,
    /// Webhooks of customers.
    #[cfg(feature = "webhooks")]
    pub webhooks: ::webhooks::Webhooks,
}

/// Which requests and sockets are admitted.
#[derive(Debug)]
pub struct AdmissionParts {
    /// Rates, CPU times and quotas.
    pub limits: Limits,
    /// What an account may follow on sockets.
    pub entitlement: Entitlement,
    /// The open sockets of each account.
    pub registry: Registry,
}

/// The hub and its stream.
#[derive(Debug)]
pub struct HubParts {
    pub handle: HubHandle,
    pub fanout: Fanout,
    /// The cluster, for the operator.
    pub cluster: Option<ViewCluster>,
    /// Whether a node of a cluster is ready.
    pub health: NodeHealth,
    /// Whether the log takes records.
    pub log_state: LogState,
    /// Recordings of matches that can be replayed, if they are kept.
    #[cfg(feature = "films")]
    pub films: Option<log::film::Films>,
    /// What the test channels publish, if there are any.
    pub test_truth: Option<TestTruth>,
    /// The file of refused messages.
    pub quarantine: PathBuf,
}

/// What is known of matches: for REST, MCP and images.
#[derive(Debug)]
pub struct MatchParts {
    /// All matches: current ones from the hub, others from the archive.
    pub history: History,
    /// Predicts the results of football matches.
    pub predictor: Predictor,
    /// Signals from odds and play.
    pub signals: SignalBoard,
    /// Images of teams, people and competitions.
    pub images: Images,
}

/// How connections are accepted, and what limits them.
#[derive(Debug)]
pub struct ConnectionParts {
    /// TLS, if the hub itself terminates it.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Which connections are those of proxies.
    pub proxies: Proxies,
    /// The number of connections of which nothing has been read yet.
    pub handshakes_max: usize,
    /// Connections whose file descriptor is not below this are closed: the others are for the log and the database.
    pub descriptors_max: usize,
    /// How many connections there may be, and how many bytes may wait for them.
    pub limits: ConnectionLimits,
    /// Limits on what the kernel buffers for a reader.
    pub socket_options: SocketOptions,
    /// Whether sockets may agree to compressed messages.
    pub deflate: bool,
}

/// Settings that are read while the hub serves.
#[derive(Debug)]
pub struct ServerSettings {
    /// Where clients reach the hub, without a trailing slash: `server.public_url`, or derived from the listen address.
    pub public_url: String,
    /// Settings for requests.
    pub server: ServerConfig,
    /// Settings of the fan-out, which the documentation shows.
    pub fanout: FanoutConfig,
    /// Settings of the hub, which the documentation shows.
    pub hub: HubConfig,
    /// Settings for pushed messages.
    pub ingest: IngestConfig,
    /// Settings for the MCP servers.
    pub mcp: McpConfig,
    /// Milliseconds after which a document without news is stale.
    pub stale_after_ms: u32,
}

/// What only a demo has.
#[derive(Debug)]
pub struct DemoParts {
    /// Shown on the page of a demo, to requests for a loopback host only.
    pub key: Option<String>,
    /// Interrupts the source of a demo, on request of a page on this machine.
    pub feed: Option<PlaybackControl>,
}
