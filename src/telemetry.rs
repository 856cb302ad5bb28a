//! Logs, metrics and traces: how they leave the program, and what each metric counts.

pub mod traces;

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use base::log_queue::LogQueue;
use metrics::{Unit, describe_counter, describe_gauge, describe_histogram, gauge};
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
    let is_logged: fn(&Metadata<'_>) -> bool = |it| {
        !["lapin", "rmcp", "async_nats"].iter().any(|library| it.target().starts_with(library))
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

/// Names and descriptions of all gauges.
const GAUGES: &[(&str, &str)] = &[
    (BUILD_INFO, "Always 1; the label `version` is the version of the program"),
    ("matchwire_replays", "Replays that are running or paused"),
    (
        "matchwire_certificate_begins_timestamp_seconds",
        "Since when the certificate is valid that new connections get, as Unix time",
    ),
    (
        "matchwire_certificate_expires_timestamp_seconds",
        "When the certificate expires that new connections get, as Unix time",
    ),
    ("matchwire_settings_refused", "1 after the last reload of the settings was refused"),
    ("matchwire_disk_free_bytes", "Free bytes of the disk of the log and of the database"),
    ("matchwire_film_bytes", "Bytes of the films of matches on disk"),
    ("matchwire_sockets", "Open sockets"),
    ("matchwire_matches", "Matches in the hub"),
    ("matchwire_database_writable", "1 while the database accepts writes, 0 while it does not"),
    ("matchwire_archive_waiting_seconds", "Age of the oldest match that could not be written"),
    ("matchwire_ids", "Public ids allocated"),
    ("matchwire_work_waiting", "Jobs that wait for a blocking thread, by pool"),
    ("matchwire_channels", "Channels that clients can subscribe to"),
    ("matchwire_lanes", "Channels merged for subscribers with every_ms, once per rate in use"),
    ("matchwire_feed_state", "1 for the current state of a source, 0 for the others"),
    ("matchwire_feed_last_message_age_seconds", "How long ago the last message of a source came"),
    (
        "matchwire_source_compared_matches",
        "Matches whose score a source reports while clients see that of another source",
    ),
    (
        "matchwire_source_differing_matches",
        "Compared matches whose score a source reports otherwise than clients see it",
    ),
    ("matchwire_usage_entries", "Usage counters in memory, one per account, product and day"),
    ("matchwire_http_connections", "HTTP connections, without sockets"),
    ("matchwire_http_unread_bytes", "Bytes of HTTP responses not yet written"),
    ("matchwire_mails_waiting", "Mails neither sent nor given up"),
    ("matchwire_webhook_waiting", "Deliveries of webhooks that wait"),
    (
        "matchwire_webhook_overdue_seconds",
        "How long the oldest delivery has waited for a free connection",
    ),
    ("matchwire_log_bytes", "Bytes of the log and its snapshots on the disk"),
    ("matchwire_log_refused", "1 while the log cannot be written, so that nothing is published"),
    ("matchwire_log_follower_lag_seconds", "How far the history is behind the log"),
    ("matchwire_cluster_leads", "1 while this node leads its cluster"),
    ("matchwire_cluster_term", "The newest term that this node knows"),
    ("matchwire_cluster_lag_seconds", "Age of the last record on this node, 0 while it leads"),
    ("matchwire_cluster_stream_copies", "Servers that have the whole log of the cluster"),
    ("matchwire_cluster_stream_bytes", "Bytes of the cluster's log on one server"),
    ("matchwire_cluster_stale", "1 while this node may lack what the leader has published"),
    (
        "matchwire_cluster_clock_offset_seconds",
        "How far the clock of this node is ahead of the other nodes'",
    ),
];

/// Names and descriptions of all counters.
const COUNTERS: &[(&str, &str)] = &[
    ("matchwire_panics_total", "Panics in request handlers and background jobs"),
    ("matchwire_work_microseconds_total", "Processor time, by pool"),
    ("matchwire_archive_matches_total", "Matches written to the archive"),
    ("matchwire_archive_failures_total", "Failed writes to the archive"),
    ("matchwire_ids_refused_total", "Ids not allocated because hub.ids_max was reached"),
    (
        "matchwire_ids_contested_total",
        "Public ids that another program allocated to something else at the same time",
    ),
    (
        "matchwire_ids_journal_failures_total",
        "Public ids that could not be written to the journal next to the database",
    ),
    ("matchwire_usage_rows_total", "Usage rows written, one per account, product and day"),
    ("matchwire_usage_flush_failures_total", "Failed writes of usage, which are retried"),
    (
        "matchwire_usage_uncounted_total",
        "Requests and socket times not counted because usage.entries_max was reached",
    ),
    (
        "matchwire_usage_journal_failures_total",
        "Failed writes to the usage journal next to the database",
    ),
    ("matchwire_log_retries_total", "Retried appends to the log"),
    ("matchwire_log_lines_dropped_total", "Log lines dropped because standard error was not read"),
    (
        "matchwire_cluster_isolated_total",
        "How often this node was cut off from the leader and sent its clients away",
    ),
    ("matchwire_cluster_takeovers_total", "How often this node took the lead"),
    ("matchwire_cluster_append_retries_total", "Appends to the cluster's log that were repeated"),
    ("matchwire_cluster_gaps_total", "Times that messages of the cluster's log were missing"),
    ("matchwire_log_follower_behind_total", "Turns that the history had to read from the log"),
    ("matchwire_log_follower_waits_total", "Times the log waited for the history"),
    (
        "matchwire_log_unwritten_dropped_total",
        "Changes of removed matches that snapshots leave out, because the database is far behind",
    ),
    (
        "matchwire_log_differences_total",
        "Times the history numbered updates differently than the log",
    ),
    ("matchwire_bench_ignored_total", "Messages on the bench listener that name no channel"),
    ("matchwire_batches_total", "Feed messages applied"),
    ("matchwire_refused_total", "Feed messages rejected, by source and kind"),
    ("matchwire_pushed_lines_total", "Lines pushed, by source and outcome"),
    ("matchwire_feed_messages_total", "Messages of a source"),
    ("matchwire_feed_states_unwritten_total", "Changes of states that the history lacks"),
    ("matchwire_publications_total", "Channel changes published"),
    ("matchwire_deliveries_total", "Publications written to or queued for a socket"),
    ("matchwire_behind_total", "Times a subscription fell behind because its client was slow"),
    (
        "matchwire_skipped_total",
        "Messages dropped on the bench listener because subscribers did not keep up",
    ),
    ("matchwire_mailbox_overflows_total", "Turns in which a shard's queue overflowed"),
    ("matchwire_beats_skipped_total", "Beats skipped because the outbox was already long"),
    (
        "matchwire_film_updates_without_image_total",
        "Updates that were not filmed, because the film has no image of their channel",
    ),
    ("matchwire_lag_frames_total", "Frames that report their delay to slow clients"),
    ("matchwire_questions_dropped_total", "Requests to a hub that was stopping"),
    ("matchwire_commands_refused_total", "Commands answered with an error"),
    ("matchwire_sockets_refused_total", "Sockets closed during the handshake, by reason"),
    (
        "matchwire_mcp_calls_total",
        "Calls of MCP tools, by server, tool and outcome: `ok`, or the code of the refusal",
    ),
    (
        "matchwire_requests_refused_total",
        "Requests to products rejected by authorization or limits, by reason",
    ),
    (
        "matchwire_requests_delayed_total",
        "Requests that waited because of the limit of their address",
    ),
    (
        "matchwire_http_connections_refused_total",
        "Connections refused, by the limit: address or all",
    ),
    (
        "matchwire_http_answers_refused_total",
        "Requests answered 503 because too many unread bytes were buffered",
    ),
    ("matchwire_http_compressions_total", "HTTP responses compressed"),
    ("matchwire_http_stalled_total", "Connections closed because the client read nothing"),
    ("matchwire_closes_total", "Sockets closed, by reason"),
    ("matchwire_passwords_hashed_total", "Passwords hashed"),
    (
        "matchwire_passwords_refused_total",
        "Passwords not hashed because the queue was full or the wait too long",
    ),
    ("matchwire_orders_total", "Orders placed, by payment method"),
    ("matchwire_webhooks_total", "Webhooks of payment providers, by outcome"),
    ("matchwire_payment_failures_total", "Requests that a payment provider did not answer"),
    ("matchwire_mails_sent_total", "Mails sent, by kind"),
    ("matchwire_mails_put_off_total", "Failed attempts to send a mail that are retried, by kind"),
    ("matchwire_mails_failed_total", "Mails given up, by kind"),
    ("matchwire_mail_halts_total", "Times no mail could be sent at all"),
    ("matchwire_traces_sent_total", "Traces that the collector took"),
    (
        "matchwire_traces_dropped_total",
        "Messages not traced because too many were under way, and traces that the collector did not take",
    ),
    ("matchwire_webhook_deliveries_total", "Deliveries of webhooks recorded"),
    ("matchwire_webhook_delivered_total", "Deliveries of webhooks that their endpoints took"),
    ("matchwire_webhook_failures_total", "Failed attempts to send a webhook, by reason"),
    ("matchwire_webhook_dropped_total", "Deliveries dropped because too many were waiting"),
    ("matchwire_webhook_disabled_total", "Webhooks disabled because their endpoints failed"),
    ("matchwire_webhook_gaps_total", "Times records were no longer there for webhooks to read"),
    ("matchwire_log_appended_bytes_total", "Bytes appended to the log"),
    ("matchwire_log_append_failures_total", "Failed appends to the log, which are retried"),
    ("matchwire_log_sync_failures_total", "Times the log could not be forced to the disk"),
    (
        "matchwire_commands_held_total",
        "Times a socket's commands waited because its account had resumed too often",
    ),
];

/// Names, units and descriptions of all histograms.
const HISTOGRAMS: &[(&str, Unit, &str)] = &[
    (
        "matchwire_cluster_append_seconds",
        Unit::Seconds,
        "From the append of records until the stream has them",
    ),
    (
        SOURCE_DELAY,
        Unit::Seconds,
        "From the time that a source states in a message until the hub receives it",
    ),
    (BOOKMAKER_DELAY, Unit::Seconds, "The same for messages with prices, by bookmaker"),
    ("matchwire_changes_a_turn", Unit::Count, "Changes published in one turn of the writer"),
    (
        "matchwire_publish_delay_seconds",
        Unit::Seconds,
        "From receipt of the oldest message of a turn until its changes are published",
    ),
    (
        "matchwire_delivery_delay_seconds",
        Unit::Seconds,
        "From publication of a change until it is written to clients that keep up",
    ),
];

fn describe() {
    for &(name, description) in GAUGES {
        describe_gauge!(name, description);
    }
    for &(name, description) in COUNTERS {
        describe_counter!(name, description);
    }
    for &(name, unit, description) in HISTOGRAMS {
        describe_histogram!(name, unit, description);
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
