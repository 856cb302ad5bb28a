//! Whether the figures are reliable, and whether the server met its limits.

use std::fmt;

use serde::Serialize;

use crate::{outcome::Outcome, plan::Plan, tally::Counts};

/// The limits beyond which the tool is the bottleneck.
#[derive(Debug, Clone, Copy, clap::Args)]
#[group(skip)]
pub(crate) struct Limits {
    /// The share of time for which a thread of the tool may run or wait for a core.
    #[arg(long, default_value_t = 0.95, help_heading = "Limits of the tool itself")]
    pub(crate) busy_max: f64,
    /// How late the publisher itself may send, at p99.
    #[arg(long, default_value_t = 5.0, help_heading = "Limits of the tool itself")]
    pub(crate) slip_ms_max: f64,
    /// How late the tool may read bytes that the kernel has, at p99, if this is also most of the
    /// latency.
    #[arg(long, default_value_t = 5.0, help_heading = "Limits of the tool itself")]
    pub(crate) lag_ms_max: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    #[default]
    Ok,
    /// The server broke a promise.
    Wrong,
    /// The tool was the bottleneck, so the figures do not describe the server.
    GeneratorBound,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Verdict {
    pub(crate) status: Status,
    pub(crate) reasons: Vec<String>,
    /// Remarks for the reader, which fail nothing.
    pub(crate) notes: Vec<String>,
}

impl Verdict {
    /// The exit code: 0, 1 if the server was wrong, 3 if the tool was the bottleneck.
    pub(crate) fn code(&self) -> u8 {
        match self.status {
            Status::Ok => 0,
            Status::Wrong => 1,
            Status::GeneratorBound => 3,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.status {
            Status::Ok => "OK: nothing was wrong",
            Status::Wrong => "FAILED: delivery guarantees violated",
            Status::GeneratorBound => "FAILED: the generator was the bottleneck",
        })
    }
}

/// The profile in which nothing happens.
const QUIET: &str = "idle";

/// Judges a run.
pub(crate) fn judge(outcome: &Outcome, plan: &Plan, limits: Limits) -> Verdict {
    let mut notes = Vec::new();
    let mut bound = bottlenecks(outcome, limits);
    if plan.saturate {
        notes.push(
            "in saturation latency is what waits in buffers: it is no figure of merit".into(),
        );
        notes.extend(bound.drain(..).map(|reason| format!("in saturation: {reason}")));
    }
    if let Some(publisher) = &outcome.publisher
        && publisher.blocked > 0.01
        && !plan.saturate
    {
        let share = publisher.blocked * 100.0;
        notes.push(format!("the server made the publisher wait {share:.1} % of the time"));
    }
    let starved = outcome.generator.starved_max;
    if starved > 0.2 {
        notes.push(format!("a generator waited for a core {:.0} % of the time", starved * 100.0));
    }
    notes.extend(moves(outcome));
    notes.extend(remedies(outcome));
    let wrong = faults(outcome);
    // Results of a generator that could not keep up prove nothing about the server.
    if !bound.is_empty() {
        bound.extend(wrong);
        return Verdict { status: Status::GeneratorBound, reasons: bound, notes };
    }
    let status = if wrong.is_empty() { Status::Ok } else { Status::Wrong };
    Verdict { status, reasons: wrong, notes }
}

/// How sockets went from one hub to another, other than by being cut.
fn moves(outcome: &Outcome) -> Vec<String> {
    let Counts { moved, unreached, .. } = outcome.totals;
    let moves = [
        (moved, "connections were closed by a hub and continued at the next"),
        (unreached, "attempts to connect failed and were repeated at the next hub"),
    ];
    let moves = moves.iter().filter(|(count, _)| *count > 0);
    moves.map(|(count, what)| format!("{count} {what}")).collect()
}

/// Advice for two mistakes of a first run: a hub that limits the sockets of an account, and
/// followed channels on which nothing happens.
fn remedies(outcome: &Outcome) -> Vec<String> {
    let start = "start it with `matchwire serve --bench-rate 200`";
    let mut remedies = Vec::new();
    if outcome.faults.iter().any(|fault| fault.contains("too_many_sockets")) {
        remedies.push(format!(
            "the hub limits the sockets of one account: {start}, which lifts the limit, or set \
             MATCHWIRE_FANOUT_SOCKETS_MAX_PER_ACCOUNT={}",
            outcome.options.sockets + 10
        ));
    } else if outcome.totals.messages == 0 && outcome.target == "stream" && outcome.profile != QUIET
    {
        remedies.push(format!(
            "nothing changed on {}: {start}, or follow what the hub has, such as \
             --channel 'football/*'",
            outcome.options.follows.join(", ")
        ));
    }
    remedies
}

fn bottlenecks(outcome: &Outcome, limits: Limits) -> Vec<String> {
    let mut reasons = Vec::new();
    let busy = outcome.generator.busy_max;
    if busy > limits.busy_max {
        reasons.push(format!("a generator was busy {:.1} % of the time", busy * 100.0));
    }
    if let Some(publisher) = &outcome.publisher {
        let slip = publisher.slip.p99_us as f64 / 1e3;
        if slip > limits.slip_ms_max {
            reasons.push(format!("the publisher was {slip:.1} ms late by itself at p99"));
        }
    }
    if outcome.profile == QUIET {
        // If latency is not measured, its cause does not matter.
        return reasons;
    }
    let lag = outcome.generator.lag.p99_us;
    let lag_ms = lag as f64 / 1e3;
    if lag_ms > limits.lag_ms_max && lag * 2 > outcome.latency.corrected.p99_us {
        reasons.push(format!("what the kernel had was read {lag_ms:.1} ms late at p99"));
    }
    reasons
}

/// Everything in which the server broke its promises, except in the excused classes.
fn faults(outcome: &Outcome) -> Vec<String> {
    let mut counts = Counts::default();
    for class in outcome.classes.iter().filter(|class| !class.excused) {
        counts.add(&class.counts);
    }
    let publisher = outcome.publisher.as_ref();
    let never_joined = outcome.connections.wanted - outcome.connections.joined;
    let faults = [
        (counts.missing, "changes missing"),
        (counts.gaps, "gaps"),
        (counts.duplicates, "duplicates"),
        (counts.reorders, "messages out of order"),
        (counts.errors, "errors"),
        (counts.refused, "connections refused"),
        (counts.closed, "connections ended"),
        (never_joined, "sockets that never joined"),
        (publisher.map_or(0, |publisher| publisher.unsent), "messages the server did not take"),
        (outcome.documents.different as u64, "documents different from the image"),
        (outcome.documents.not_compared as u64, "documents that could not be compared"),
    ];
    let mut faults: Vec<String> = faults
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if outcome.totals.messages == 0 && outcome.profile != QUIET {
        faults.push("no message came".to_owned());
    }
    faults
}
