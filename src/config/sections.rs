//! `[demo]`, `[bench]`, `[logging]` and `[traces]`: settings of the program itself.
//!
//! The settings of every other part are in its crate. `matchwire.toml.example` lists them all; a test keeps
//! the two in step.

use serde::{Deserialize, Serialize};

use super::DemoSpeed;

/// `[demo]`: an endless simulated day from a seed, with a key for everything, on loopback only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DemoConfig {
    /// Whether the hub plays the demo. Default true.
    pub enabled: bool,
    /// Seed of the day; the same seed gives the same day. Default 1.
    pub seed: u64,
    /// Whether two weeks of results (in football of the leagues that play on the day) and the fixtures of three days
    /// are written to the archive. Default true; about 12 MB, in the first seconds of the first start, until which
    /// REST answers with `X-Matchwire-Partial`. Those of other leagues follow on the day on which they play.
    pub past: bool,
    /// Minutes that the demo has already played when it starts, from 0 to 600. Default 70, so that
    /// some matches are in their second half. Fewer start faster.
    pub head_start_minutes: u32,
    /// Speed of the demo relative to real matches: 0.1 to 100. Default 1. Match clocks tick in real time between two
    /// events. A restart within the simulated day continues at the same speed; another speed starts a new run in the
    /// same world, and clients get new images. Flag: `--demo-speed`.
    pub speed: DemoSpeed,
}

impl Default for DemoConfig {
    fn default() -> Self {
        Self { enabled: true, seed: 1, past: true, head_start_minutes: 70, speed: DemoSpeed::REAL }
    }
}

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
    /// Log levels by crate, such as `info` or `warn,web=debug,ingest=debug`. Default `info`. `debug`
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
