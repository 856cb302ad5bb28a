//! Sends traces to a collector: OTLP over HTTP, as JSON (<https://opentelemetry.io/docs/specs/otlp/>, version 1).
//!
//! Written here, since it is one kind of request: the crates of OpenTelemetry would add protocol buffers, gRPC and a
//! second HTTP client to the program.

use std::{error::Error, fmt::Display, num::NonZeroU32, time::Duration};

use base::tls::{self, TrustError};
use fanout::Micros;
use hub::trace::{StepKind, Trace, Tracer};
use metrics::counter;
use reqwest::{Client, StatusCode, header::CONTENT_TYPE, redirect::Policy};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, watch},
    time,
};
use tracing::{info, warn};

use crate::config::TracesConfig;

/// Traces in one request.
const TRACES_PER_REQUEST: usize = 64;
/// The pause between two requests, in which traces gather.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the collector may take for a request.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The numbers of two kinds of span in OTLP.
const INTERNAL: u8 = 1;
const CONSUMER: u8 = 5;

/// No client for the collector can be made.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    #[error("cannot check the certificate of the collector of traces")]
    Trust(#[from] TrustError),
    #[error("cannot prepare HTTP for traces")]
    Http(#[from] reqwest::Error),
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error("the collector cannot be reached")]
    Http(#[from] reqwest::Error),
    #[error("the collector answered {0}")]
    Refused(StatusCode),
}

/// Sends traces until the hub stops. What the collector does not take is dropped and counted.
#[derive(Debug)]
pub struct TraceExporter {
    http: Client,
    url: String,
    traces: mpsc::Receiver<Trace>,
    is_failing: bool,
}

/// Chooses the messages that are traced, and sends their traces; `None` unless `traces.url` is set.
///
/// # Errors
///
/// If no HTTP client can be made.
pub fn start(config: &TracesConfig) -> Result<Option<(Tracer, TraceExporter)>, TracesError> {
    let every = NonZeroU32::new(config.every).filter(|_| !config.url.is_empty());
    let Some(every) = every else { return Ok(None) };
    let tls = if config.url.starts_with("https:") {
        tls::client(None)?
    } else {
        tls::without_authorities()
    };
    let http = Client::builder()
        .tls_backend_preconfigured(tls.as_ref().clone())
        .no_proxy()
        .redirect(Policy::none())
        .timeout(TIMEOUT)
        .build()?;
    let url = format!("{}/v1/traces", config.url.trim_end_matches('/'));
    let (tracer, traces) = Tracer::new(every);
    Ok(Some((tracer, TraceExporter { http, url, traces, is_failing: false })))
}

impl TraceExporter {
    pub async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                received = self.traces.recv_many(&mut batch, TRACES_PER_REQUEST) => {
                    if received == 0 {
                        return;
                    }
                }
                _ = stopped.wait_for(|stopped| *stopped) => return,
            }
            let sent = self.send(&batch).await;
            self.note(sent, batch.len());
            batch.clear();
            tokio::select! {
                () = time::sleep(PAUSE) => {}
                _ = stopped.wait_for(|stopped| *stopped) => return,
            }
        }
    }

    async fn send(&self, traces: &[Trace]) -> Result<(), SendError> {
        let body = request(traces).to_string();
        let post = self.http.post(&self.url).header(CONTENT_TYPE, "application/json");
        let response = post.body(body).send().await?;
        let status = response.status();
        if status.is_success() { Ok(()) } else { Err(SendError::Refused(status)) }
    }

    /// Counts, and logs the first failure of an outage.
    fn note(&mut self, sent: Result<(), SendError>, traces: usize) {
        let traces = traces as u64;
        match sent {
            Ok(()) => {
                counter!("matchwire_traces_sent_total").increment(traces);
                if self.is_failing {
                    info!("the collector takes traces again");
                }
                self.is_failing = false;
            }
            Err(error) => {
                counter!("matchwire_traces_dropped_total").increment(traces);
                if !self.is_failing {
                    let error = &error as &dyn Error;
                    warn!(error, url = self.url, "cannot send traces; they are dropped");
                }
                self.is_failing = true;
            }
        }
    }
}

/// The body of a request: an `ExportTraceServiceRequest`.
fn request(traces: &[Trace]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let resource = [text("service.name", "matchwire"), text("service.version", version)];
    let spans: Vec<Value> = traces.iter().flat_map(spans).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": "matchwire", "version": version}, "spans": spans}],
    }]})
}

/// The spans of a trace: the message, and below it each step.
fn spans(trace: &Trace) -> Vec<Value> {
    let (id, root) = (random_hex(16), random_hex(8));
    let ended = trace.steps.iter().map(|step| step.ended).max().unwrap_or(trace.received);
    let mut attributes = vec![
        text("matchwire.source", &trace.source),
        number("matchwire.facts", &trace.facts),
        number("matchwire.changes", &trace.changes),
    ];
    attributes.extend(trace.record.map(|record| number("matchwire.record", &record)));
    attributes.extend(
        trace
            .happened
            .map(|at| number("matchwire.source_delay_us", &trace.received.saturating_sub(at))),
    );
    let message = json!({
        "traceId": id, "spanId": root, "name": "feed message", "kind": CONSUMER,
        "startTimeUnixNano": nanoseconds(trace.received), "endTimeUnixNano": nanoseconds(ended),
        "attributes": attributes,
    });
    let steps = trace.steps.iter().map(|step| {
        let (name, attributes) = match step.kind {
            StepKind::Queue => ("queue", Vec::new()),
            StepKind::Apply => ("apply", Vec::new()),
            StepKind::Log => ("log", Vec::new()),
            StepKind::Deliver { shard } => ("deliver", vec![number("matchwire.shard", &shard)]),
        };
        json!({
            "traceId": id, "spanId": random_hex(8), "parentSpanId": root, "name": name, "kind": INTERNAL,
            "startTimeUnixNano": nanoseconds(step.began), "endTimeUnixNano": nanoseconds(step.ended),
            "attributes": attributes,
        })
    });
    [message].into_iter().chain(steps).collect()
}

fn text(name: &str, value: &str) -> Value {
    json!({"key": name, "value": {"stringValue": value}})
}

/// In OTLP's JSON, 64-bit numbers are text.
fn number(name: &str, value: &impl Display) -> Value {
    json!({"key": name, "value": {"intValue": value.to_string()}})
}

fn nanoseconds(at: Micros) -> String {
    (i128::from(at) * 1_000).to_string()
}

fn random_hex(bytes: usize) -> String {
    let mut random = [0; 16];
    getrandom::fill(&mut random).expect("the system has random bytes");
    random[..bytes].iter().map(|byte| format!("{byte:02x}")).collect()
}
