//! Logs and metrics: how they leave the program, and what each metric counts.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector as Process;
use tokio::{sync::watch, time};
use tracing::Metadata;
use tracing_subscriber::{
    EnvFilter,
    filter::{FilterFn, filter_fn},
    fmt,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::config::{LogConfig, LogFormat};

/// Logging or metrics cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("log.filter {filter:?} is not a valid filter")]
    Filter { filter: String, source: tracing_subscriber::filter::ParseError },
    #[error("logging is already initialised")]
    Logging(#[from] tracing_subscriber::util::TryInitError),
    #[error("cannot start metrics")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
}

/// Starts logging to the standard error, one line an event.
///
/// # Errors
///
/// If the filter cannot be read.
pub fn start_logging(config: &LogConfig) -> Result<(), TelemetryError> {
    let filter = EnvFilter::try_new(&config.filter)
        .map_err(|source| TelemetryError::Filter { filter: config.filter.clone(), source })?;
    let registry = tracing_subscriber::registry().with(filter).with(without_secrets());
    match config.format {
        LogFormat::Text => {
            let colours = io::stderr().is_terminal();
            registry.with(fmt::layer().with_ansi(colours).with_writer(io::stderr)).try_init()?;
        }
        LogFormat::Json => {
            registry.with(fmt::layer().json().with_writer(io::stderr)).try_init()?;
        }
    }
    Ok(())
}

/// The AMQP library logs a broker's replies verbatim as errors; a broker that refuses a user
/// repeats the user name, which is the access token of odds feeds. The source reports what matters.
/// No setting re-enables this log.
fn without_secrets() -> FilterFn<fn(&Metadata<'_>) -> bool> {
    let shown: fn(&Metadata<'_>) -> bool = |it| !it.target().starts_with("lapin");
    filter_fn(shown)
}

/// Starts to count; the handle renders what was counted.
///
/// # Errors
///
/// If something else counts already.
pub fn start_metrics() -> Result<PrometheusHandle, TelemetryError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
        .set_buckets_for_metric(Matcher::Suffix("_a_turn".to_owned()), &COUNTS)?
        .install_recorder()?;
    describe();
    gauge!(BUILD_INFO, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    Process::default().describe();
    Ok(handle)
}

const BUILD_INFO: &str = "matchwire_build_info";

/// Upper bounds of delay buckets, in seconds: three per decade, from the delay of an idle hub to
/// one that a reader notices.
const SECONDS: [f64; 15] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0, 5.0,
];

/// Upper bounds of count buckets.
const COUNTS: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0];

/// All metrics, including current process figures, as Prometheus text.
#[must_use]
pub fn render(metrics: &PrometheusHandle) -> String {
    Process::default().collect();
    metrics.render()
}

/// The interval at which histograms are compacted.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// Compacts histograms until told to stop: otherwise this happens only when metrics are rendered,
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

fn describe() {
    describe_gauge!(BUILD_INFO, "1; the version of the program is a label");
    describe_gauge!("matchwire_sockets", "Open sockets");
    describe_gauge!("matchwire_matches", "Matches known");
    describe_gauge!(
        "matchwire_database_writable",
        "1 while the database takes writes, 0 while it does not"
    );
    describe_counter!(
        "matchwire_panics_total",
        "Handlers of requests, and jobs in the background, that panicked"
    );
    describe_counter!("matchwire_archive_matches_total", "Matches written to the archive");
    describe_counter!("matchwire_archive_failures_total", "Writes to the archive that failed");
    describe_gauge!(
        "matchwire_archive_waiting_seconds",
        "For how long the first match waits that could not be written"
    );
    describe_gauge!("matchwire_ids", "Public ids that were given out");
    describe_counter!("matchwire_ids_refused_total", "Ids left out: hub.ids_max is reached");
    describe_counter!(
        "matchwire_ids_contested_total",
        "Public ids that another program gave to something else in the same moment"
    );
    describe_counter!(
        "matchwire_ids_journal_failures_total",
        "Public ids that could not be written to the journal beside the database"
    );
    describe_gauge!("matchwire_channels", "Channels that can be followed");
    describe_gauge!("matchwire_lanes", "Channels merged in time, once for each rate in use");
    describe_gauge!(
        "matchwire_feed_state",
        "1 for the state that a source is in, 0 for the others"
    );
    describe_gauge!(
        "matchwire_usage_entries",
        "Accounts, products and days whose use is counted in memory"
    );
    describe_counter!(
        "matchwire_usage_rows_total",
        "Rows of use written, one for each account, product and day"
    );
    describe_counter!(
        "matchwire_usage_flush_failures_total",
        "Writes of what was used that failed, and are tried again"
    );
    describe_counter!(
        "matchwire_usage_uncounted_total",
        "Calls and socket times that were not counted because memory was full"
    );
    describe_counter!(
        "matchwire_bench_ignored_total",
        "Messages on the measuring door without a channel"
    );
    describe_counter!("matchwire_batches_total", "Messages of feeds applied");
    describe_counter!("matchwire_refused_total", "Messages of feeds refused, by source and kind");
    describe_counter!("matchwire_pushed_lines_total", "Lines pushed, by source and outcome");
    describe_counter!("matchwire_publications_total", "Changes of channels published");
    describe_counter!("matchwire_deliveries_total", "Publications queued for a socket");
    describe_counter!(
        "matchwire_behind_total",
        "Subscriptions that fell behind and were caught up"
    );
    describe_counter!(
        "matchwire_skipped_total",
        "Messages left out on the measuring door, for followers who did not keep up"
    );
    describe_counter!("matchwire_mailbox_overflows_total", "Turns in which a shard was overrun");
    describe_counter!("matchwire_beats_skipped_total", "Beats left out for want of room");
    describe_counter!("matchwire_lag_frames_total", "Frames that told a slow reader of its delay");
    describe_counter!("matchwire_questions_dropped_total", "Questions to a hub that was stopping");
    describe_counter!("matchwire_commands_refused_total", "Commands answered with an error");
    describe_counter!("matchwire_sockets_refused_total", "Sockets closed at the door, by reason");
    describe_counter!(
        "matchwire_requests_refused_total",
        "Requests to products answered at the gate, by reason"
    );
    describe_gauge!("matchwire_http_connections", "HTTP connections, without sockets");
    describe_gauge!("matchwire_http_unread_bytes", "Bytes of HTTP answers not yet written");
    describe_counter!(
        "matchwire_http_connections_refused_total",
        "Connections refused, by the limit: address or all"
    );
    describe_counter!(
        "matchwire_http_answers_refused_total",
        "Requests answered 503 because too many bytes waited for their readers"
    );
    describe_counter!("matchwire_http_compressions_total", "HTTP answers compressed");
    describe_counter!(
        "matchwire_http_stalled_total",
        "Connections closed because their readers took nothing"
    );
    describe_counter!("matchwire_closes_total", "Sockets closed, by reason");
    describe_counter!("matchwire_passwords_hashed_total", "Passwords hashed");
    describe_counter!(
        "matchwire_passwords_refused_total",
        "Passwords that found no turn to be hashed"
    );
    describe_counter!("matchwire_orders_total", "Orders taken, by rail");
    describe_counter!("matchwire_webhooks_total", "Webhooks of payment providers, by outcome");
    describe_counter!(
        "matchwire_payment_failures_total",
        "Requests that a payment provider did not answer"
    );
    describe_gauge!("matchwire_mails_waiting", "Mails neither sent nor given up");
    describe_counter!("matchwire_mails_sent_total", "Mails sent, by kind");
    describe_counter!("matchwire_mails_put_off_total", "Attempts at a mail that failed, by kind");
    describe_counter!("matchwire_mails_failed_total", "Mails given up, by kind");
    describe_counter!("matchwire_mail_halts_total", "Times that no mail could be sent at all");
    describe_histogram!("matchwire_changes_a_turn", Unit::Count, "Changes published at once");
    describe_histogram!(
        "matchwire_publish_delay_seconds",
        Unit::Seconds,
        "From when the oldest message of a turn was received until its changes were published"
    );
    describe_histogram!(
        "matchwire_delivery_delay_seconds",
        Unit::Seconds,
        "From when a change was published until it was written to those who keep up"
    );
    describe_counter!(
        "matchwire_commands_held_total",
        "Times that a socket's commands waited because its account had resumed too much"
    );
}

#[cfg(test)]
mod tests {
    use tracing::{Level, enabled, subscriber::with_default};

    use super::*;

    #[test]
    fn what_the_amqp_library_logs_is_shown_to_nobody() {
        let registry = tracing_subscriber::registry().with(without_secrets());
        with_default(registry, || {
            assert!(enabled!(target: "matchwire::app", Level::ERROR));
            assert!(!enabled!(target: "lapin::channel", Level::ERROR));
        });
    }
}
