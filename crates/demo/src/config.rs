//! `[demo]`: whether and how the demo is played.

use serde::{Deserialize, Serialize};

pub use crate::speed::{DemoSpeed, WrongDemoSpeed};

/// `[demo]`: an endless simulated day from a seed, with a key for everything, on loopback only. Needs the feature
/// `demo`.
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
        let enabled = cfg!(feature = "simulator");
        Self { enabled, seed: 1, past: true, head_start_minutes: 70, speed: DemoSpeed::default() }
    }
}
