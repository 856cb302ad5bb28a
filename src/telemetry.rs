//! Logs and metrics: how they leave the program, and what each metric counts.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
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

/// Logging or metrics could not be started.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("log.filter {filter:?} is no filter")]
    Filter { filter: String, source: tracing_subscriber::filter::ParseError },
    #[error("logging was started before")]
    Logging(#[from] tracing_subscriber::util::TryInitError),
    #[error("metrics could not be started")]
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

/// The AMQP library logs what a broker says word for word, as errors; a broker that refuses a user
/// says his name, and with odds feeds that is the access token. What matters of it is told by the
/// source. No setting brings it back.
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
    let handle = PrometheusBuilder::new().install_recorder()?;
    describe();
    Ok(handle)
}

/// Between two times at which summaries take in what was recorded.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// Keeps summaries small until told to stop: what they recorded is taken in when they are rendered,
/// and nobody may ever ask for them.
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
    describe_gauge!("matchwire_sockets", "Open sockets");
    describe_gauge!("matchwire_matches", "Matches known");
    describe_counter!("matchwire_archive_matches_total", "Matches written to the archive");
    describe_counter!("matchwire_archive_failures_total", "Writes to the archive that failed");
    describe_gauge!(
        "matchwire_archive_waiting_seconds",
        "For how long the first match waits that could not be written"
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
