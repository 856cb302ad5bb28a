//! Logs, metrics and traces: how they leave the program, and what each metric counts.

pub mod traces;

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use base::log_queue::LogQueue;
use metrics::{describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector as Process;
use tokio::{sync::watch, time};
use tracing::Metadata;
use tracing_subscriber::{
    Registry,
    filter::{FilterFn, Targets, filter_fn},
    fmt,
    layer::SubscriberExt,
    reload,
    util::SubscriberInitExt,
};

use crate::config::{LogFormat, LoggingConfig};

/// Logging or metrics cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("logging.filter {filter:?} is not a valid filter")]
    Filter { filter: String, source: tracing_subscriber::filter::ParseError },
    #[error("logging is already initialised")]
    Logging(#[from] tracing_subscriber::util::TryInitError),
    #[error("the thread that writes the log cannot be started")]
    Writer(#[from] io::Error),
    #[error("cannot start metrics")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
}

/// Which events are logged, from now on or until it is replaced.
#[derive(Debug, Clone)]
pub struct LogFilter(reload::Handle<Targets, Registry>);

impl LogFilter {
    /// Logs by another filter from now on.
    pub fn replace(&self, filter: Targets) {
        // It fails only without a logger, which lives as long as the process.
        self.0.reload(filter).ok();
    }
}

/// Parses `logging.filter`.
///
/// # Errors
///
/// If it is no valid filter.
pub fn filter(config: &LoggingConfig) -> Result<Targets, TelemetryError> {
    let parsed = config.filter.parse();
    parsed.map_err(|source| TelemetryError::Filter { filter: config.filter.clone(), source })
}

/// Starts logging to standard error, one line per event, through a queue that its reader cannot delay.
///
/// # Errors
///
/// If the filter cannot be read, or the system refuses a thread.
pub fn start_logging(config: &LoggingConfig) -> Result<LogFilter, TelemetryError> {
    let (filter, handle) = reload::Layer::new(filter(config)?);
    let registry = tracing_subscriber::registry().with(filter).with(of_the_hub());
    let queue = LogQueue::stderr()?;
    let writer = move || queue.clone();
    match config.format {
        LogFormat::Text => {
            let colours = io::stderr().is_terminal();
            registry.with(fmt::layer().with_ansi(colours).with_writer(writer)).try_init()?;
        }
        LogFormat::Json => registry.with(fmt::layer().json().with_writer(writer)).try_init()?,
    }
    Ok(LogFilter(handle))
}

/// The AMQP library logs a broker's replies verbatim as errors; a broker that refuses a user
/// repeats the user name, which is the access token of odds feeds. The source reports what matters.
/// No setting re-enables this log. The MCP library logs each request, and each client that leaves before its
/// answer as an error; metrics count requests and refusals. The NATS library logs each of twenty attempts a second to
/// connect; the cluster reports that the connection is lost and made.
fn of_the_hub() -> FilterFn<fn(&Metadata<'_>) -> bool> {
    let is_logged: fn(&Metadata<'_>) -> bool = |metadata| {
        !["lapin", "rmcp", "async_nats"]
            .iter()
            .any(|library| metadata.target().starts_with(library))
    };
    filter_fn(is_logged)
}

/// Starts recording metrics; the handle renders them.
///
/// # Errors
///
/// If another recorder is installed.
pub fn start_metrics() -> Result<PrometheusHandle, TelemetryError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
        .set_buckets_for_metric(Matcher::Suffix("_a_turn".to_owned()), &COUNTS)?
        .set_buckets_for_metric(Matcher::Full(SOURCE_DELAY.to_owned()), &FEED_SECONDS)?
        .set_buckets_for_metric(Matcher::Full(BOOKMAKER_DELAY.to_owned()), &FEED_SECONDS)?
        .install_recorder()?;
    describe();
    gauge!(BUILD_INFO, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    Process::default().describe();
    Ok(handle)
}

const BUILD_INFO: &str = "matchwire_build_info";
const SOURCE_DELAY: &str = "matchwire_source_delay_seconds";
const BOOKMAKER_DELAY: &str = "matchwire_bookmaker_delay_seconds";

/// Upper bounds of delay buckets, in seconds: three per decade, from the delay of an idle hub to
/// one that a client notices.
const SECONDS: [f64; 15] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0, 5.0,
];

/// Upper bounds of the delays of feeds, in seconds.
const FEED_SECONDS: [f64; 13] =
    [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// Upper bounds of count buckets.
const COUNTS: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0];

/// The interval at which histograms are compacted.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// Compacts histograms until shutdown: otherwise this happens only when metrics are rendered,
/// which may never be.
pub async fn keep(metrics: PrometheusHandle, mut stopped: watch::Receiver<bool>) {
    let mut turns = time::interval(UPKEEP_EVERY);
    loop {
        tokio::select! {
            _ = turns.tick() => metrics.run_upkeep(),
            _ = stopped.wait_for(|stopped| *stopped) => return,
        }
    }
}

/// The kind, the name and the description of each metric, one a line. `deploy/monitoring/generate.py` writes it.
const METRICS: &str = include_str!("telemetry/metrics.txt");

fn describe() {
    for line in METRICS.lines() {
        let mut parts = line.splitn(3, ' ');
        let (Some(kind), Some(name), Some(description)) =
            (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        match kind {
            "counter" => describe_counter!(name, description),
            "gauge" => describe_gauge!(name, description),
            _ => describe_histogram!(name, description),
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing::{Level, enabled, subscriber::with_default};

    use super::*;

    #[test]
    fn logs_of_the_amqp_and_mcp_libraries_are_suppressed() {
        let registry = tracing_subscriber::registry().with(of_the_hub());
        with_default(registry, || {
            assert!(enabled!(target: "matchwire::app", Level::ERROR));
            assert!(!enabled!(target: "lapin::channel", Level::ERROR));
            assert!(!enabled!(target: "rmcp::service", Level::ERROR));
        });
    }
}
