//! `ramp`: finds the most sockets, or messages a second, for which p99 stays under a target.
//! Doubles until p99 exceeds the target, then bisects.

use anyhow::{Result, ensure};
use serde_json::json;

use super::{
    fanout::{self, Args as FanoutArgs},
    flags::Common,
};
use crate::{outcome::Outcome, verdict::Status};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    /// What grows: sockets, or the rate (bare channels only).
    #[arg(long, default_value = "sockets", value_parser = ["sockets", "rate"])]
    over: String,
    /// The target for the corrected p99, in milliseconds.
    #[arg(long, default_value_t = 10.0)]
    p99_ms: f64,
    /// The first value.
    #[arg(long, default_value_t = 100)]
    from: usize,
    /// The last value at most.
    #[arg(long, default_value_t = 16_000)]
    to: usize,
    /// Seconds of each step; --seconds is ignored.
    #[arg(long, default_value_t = 3.0)]
    step_seconds: f64,
    /// The precision of the limit: 0.1 is within a tenth.
    #[arg(long, default_value_t = 0.1)]
    within: f64,
}

/// # Errors
///
/// If a step could not be carried out.
pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let over_rate = args.over == "rate";
    ensure!(!over_rate || args.common.is_raw(), "the hub has a rate of its own");
    ensure!(args.from > 0 && args.from <= args.to, "--from has to be above 0 and up to --to");
    let mut steps = Vec::new();
    let mut best: Option<Outcome> = None;
    let (mut passed, mut failed, mut limited_by) = (0, None, "nothing");
    let mut value = args.from;
    loop {
        let outcome = step(args, value, over_rate)?;
        let p99_ms = outcome.latency.corrected.p99_us as f64 / 1e3;
        let is_ok = outcome.verdict.status == Status::Ok && p99_ms <= args.p99_ms;
        steps.push(json!({
            "value": value, "p99_ms": p99_ms, "ok": is_ok,
            "verdict": outcome.verdict.status, "reasons": outcome.verdict.reasons,
        }));
        if is_ok {
            passed = value;
            best = Some(outcome);
        } else {
            failed = Some(value);
            limited_by = match outcome.verdict.status {
                Status::Ok => "the target",
                Status::Wrong => "faults of the server",
                Status::GeneratorBound => "the tool",
            };
            // A failure of the first step at least explains why.
            best.get_or_insert(outcome);
        }
        value = match failed {
            None if value >= args.to => break,
            None => (value * 2).min(args.to),
            Some(failed) => {
                if passed == 0 || (failed - passed) as f64 <= passed as f64 * args.within {
                    break;
                }
                passed + (failed - passed) / 2
            }
        };
    }
    let mut outcome = best.expect("there was a step");
    outcome.profile = "ramp";
    let over = if over_rate { "rate" } else { "sockets" };
    outcome.extra.insert(format!("most_{over}"), json!(passed));
    outcome.extra.insert("p99_ms_target".to_owned(), json!(args.p99_ms));
    outcome.extra.insert("limited_by".to_owned(), json!(limited_by));
    outcome.extra.insert("steps".to_owned(), json!(steps));
    Ok(outcome)
}

fn step(args: &Args, value: usize, over_rate: bool) -> Result<Outcome> {
    let mut common = args.common.clone();
    common.seconds = args.step_seconds;
    common.warmup = common.warmup.min(1.0);
    if over_rate {
        common.rate = value as f64;
    } else {
        common.sockets = value;
    }
    fanout::run(&FanoutArgs { common })
}
