//! `[bench]`, `[logging]` and `[traces]`: settings of the program itself.
//!
//! The settings of every other part are in its crate. `matchwire.toml.example` lists them all; a test keeps
//! the two in step.

use serde::{Deserialize, Serialize};

/// `[bench]`: a steady load for measurements, instead of the demo, on loopback only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BenchConfig {
    /// Price changes per second, in total. Default 0: none. docs/OPERATING.md#a-steady-load Flag: `--bench-rate`.
    pub rate: u32,
    /// Channels that change in turn, at most `hub.matches_max_per_source`. Default 20. Each may fill its tail
    /// (`hub.tail_bytes`). Flag: `--bench-channels`.
    pub channels: u32,
}

impl Default for BenchConfig {
    fn default() -> Self {
        Self { rate: 0, channels: 20 }
    }
}

/// `[logging]`: what is written to standard error, and how. docs/OPERATING.md#logs
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoggingConfig {
    /// `text` for people or `json` for programs, one line per event. Default `text`.
    pub format: LogFormat,
    /// Log levels by crate, such as `info` or `warn,web=debug,sources=debug`. Default `info`. `debug`
    /// reduces throughput.
    pub filter: String,
}

impl Default for LoggingConfig {
    fn default() -> Self {
        Self { format: LogFormat::Text, filter: "info".to_owned() }
    }
}

/// `[traces]`: the way of single messages of sources through the hub, for a collector that takes OTLP.
/// docs/OPERATING.md#traces
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TracesConfig {
    /// The collector's address for OTLP over HTTP, such as `http://127.0.0.1:4318`, to which `/v1/traces` is added.
    /// Default empty: nothing is traced.
    pub url: String,
    /// One of so many messages is traced. Default 1000.
    pub every: u32,
}

impl TracesConfig {
    /// The setting that is wrong, and what it must be.
    #[must_use]
    pub fn problem(&self) -> Option<(&'static str, &'static str)> {
        let is_url = ["http://", "https://"].iter().any(|scheme| self.url.starts_with(scheme));
        (!self.url.is_empty() && !is_url)
            .then_some(("traces.url", "empty, or begin with http:// or https://"))
    }
}

impl Default for TracesConfig {
    fn default() -> Self {
        Self { url: String::new(), every: 1_000 }
    }
}

/// How a log line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
}
