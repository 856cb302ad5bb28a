//! The results of a run, as in the JSON file. Field names are stable: other programs read them, and
//! the README lists them.

mod gather;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    latency::Percentiles,
    machine::{Machine, Process},
    tally::{Counts, HubTally, ThreadShare},
    verdict::{Limits, Verdict},
};

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Outcome {
    /// Raised when a field changes its meaning.
    pub(crate) version: u32,
    pub(crate) verdict: Verdict,
    pub(crate) profile: &'static str,
    pub(crate) target: &'static str,
    pub(crate) command: String,
    /// When the run began, in UTC.
    pub(crate) at: String,
    pub(crate) machine: Machine,
    pub(crate) options: Options,
    pub(crate) connections: Connections,
    /// Over all sockets except control.
    pub(crate) totals: Counts,
    /// Received over expected; 1 if nothing was missing.
    pub(crate) reach: f64,
    pub(crate) channels: u64,
    /// Over all measured phases.
    pub(crate) throughput: Throughput,
    /// Over all measured phases and all classes except control and those that are slow on purpose.
    pub(crate) latency: Latency,
    pub(crate) phases: Vec<Phase>,
    pub(crate) classes: Vec<Class>,
    pub(crate) spread: Percentiles,
    pub(crate) documents: Documents,
    pub(crate) generator: Generator,
    pub(crate) publisher: Option<Publisher>,
    /// Of all hubs together.
    pub(crate) server: Option<Server>,
    pub(crate) hubs: Vec<Hub>,
    /// Figures that only this profile has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) extra: BTreeMap<String, serde_json::Value>,
    pub(crate) series: Vec<Point>,
    pub(crate) memory: Vec<Memory>,
    pub(crate) curves: Curves,
    /// The first faults in words.
    pub(crate) faults: Vec<String>,
}

/// The options of the run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Options {
    pub(crate) sockets: usize,
    pub(crate) follows: Vec<String>,
    pub(crate) picks: Vec<String>,
    pub(crate) deflate: f64,
    pub(crate) threads: usize,
    pub(crate) seconds: f64,
    pub(crate) warmup: f64,
    pub(crate) rate: Option<f64>,
    pub(crate) bytes: Option<usize>,
    pub(crate) bare_channels: Option<u32>,
    pub(crate) saturate: bool,
    pub(crate) addresses: u8,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Connections {
    pub(crate) wanted: u64,
    pub(crate) upgraded: u64,
    pub(crate) joined: u64,
    pub(crate) seconds: f64,
    pub(crate) upgrades_per_s: f64,
    pub(crate) connect: Percentiles,
    pub(crate) join: Percentiles,
    pub(crate) resume: Percentiles,
    pub(crate) caught_up: Percentiles,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Throughput {
    pub(crate) seconds: f64,
    pub(crate) messages: u64,
    pub(crate) messages_per_s: f64,
    pub(crate) mb_per_s: f64,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Latency {
    pub(crate) corrected: Percentiles,
    pub(crate) uncorrected: Percentiles,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    /// When it began, in seconds since the start of the run.
    pub(crate) t_s: f64,
    pub(crate) seconds: f64,
    pub(crate) classes: Vec<ClassInPhase>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct ClassInPhase {
    pub(crate) class: &'static str,
    pub(crate) messages: u64,
    pub(crate) messages_per_s: f64,
    #[serde(flatten)]
    pub(crate) latency: Latency,
    /// How long the oldest change in each update was unseen; for rate-limited readers only.
    pub(crate) unseen: Percentiles,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Class {
    pub(crate) name: &'static str,
    pub(crate) sockets: u64,
    /// Whether these sockets are expected to miss something.
    pub(crate) excused: bool,
    pub(crate) reach: f64,
    #[serde(flatten)]
    pub(crate) counts: Counts,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Documents {
    pub(crate) compared: usize,
    pub(crate) different: usize,
    pub(crate) not_compared: usize,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Generator {
    pub(crate) threads: Vec<ThreadShare>,
    /// The greatest share of time in which a thread ran or waited for a core.
    pub(crate) busy_max: f64,
    /// The greatest share of time in which a thread waited for a core.
    pub(crate) starved_max: f64,
    /// From the kernel's receipt until this program reads the bytes, of a few sockets.
    pub(crate) lag: Percentiles,
    /// Sockets that had not reached the heads of their channels at the deadline.
    pub(crate) behind: u64,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Publisher {
    pub(crate) sent: u64,
    pub(crate) unsent: u64,
    pub(crate) sent_per_s: f64,
    /// How late the thread was, excluding the time it waited for the server.
    pub(crate) slip: Percentiles,
    /// The share of time in which the server accepted nothing.
    pub(crate) blocked: f64,
    pub(crate) thread: ThreadShare,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Hub {
    pub(crate) url: String,
    #[serde(flatten)]
    pub(crate) tally: HubTally,
    /// Its process, if that is known and not that of an earlier hub. Without figures that only the
    /// whole run has.
    pub(crate) server: Option<Server>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Server {
    /// Of the first hub, if there are several.
    pub(crate) pid: u32,
    /// Seconds of CPU used during the measurement.
    pub(crate) cpu_seconds: Option<f64>,
    /// Cores in use on average.
    pub(crate) cores: Option<f64>,
    pub(crate) messages_per_cpu_s: Option<f64>,
    /// At the beginning of each phase and at the end.
    pub(crate) marks: Vec<ServerMark>,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct ServerMark {
    pub(crate) t_s: f64,
    pub(crate) pss_bytes: Option<u64>,
    pub(crate) rss_bytes: Option<u64>,
    pub(crate) tcp_bytes: Option<u64>,
}

/// One interval of the measurement.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Point {
    pub(crate) t_s: f64,
    pub(crate) received_per_s: f64,
    pub(crate) p50_us: u64,
    pub(crate) p99_us: u64,
    pub(crate) max_us: u64,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Memory {
    pub(crate) t_s: f64,
    pub(crate) rss_bytes: Option<u64>,
    pub(crate) tcp_bytes: Option<u64>,
    /// Cores that the server used over the last few points.
    pub(crate) cores: Option<f64>,
}

/// Histograms as points: the share of messages that took longer, and the duration in microseconds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Curves {
    pub(crate) corrected: Vec<(f64, u64)>,
    pub(crate) uncorrected: Vec<(f64, u64)>,
    pub(crate) spread: Vec<(f64, u64)>,
    pub(crate) lag: Vec<(f64, u64)>,
}

/// What the outcome says about the run itself.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) profile: &'static str,
    pub(crate) target: &'static str,
    pub(crate) command: String,
    pub(crate) options: Options,
    pub(crate) servers: Vec<Option<Process>>,
    pub(crate) limits: Limits,
    pub(crate) documents: Documents,
    pub(crate) extra: BTreeMap<String, serde_json::Value>,
}
