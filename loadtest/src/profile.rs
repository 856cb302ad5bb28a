//! The profiles: which sockets a run opens, and what happens to them when.

mod fanout;
mod flags;
mod idle;
mod mixed;
mod ramp;
mod slow;
mod soak;
mod storm;

use anyhow::Result;

pub(crate) use self::flags::Extra;
use crate::outcome::Outcome;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Profile {
    /// A few channels to many sockets.
    Fanout(fanout::Args),
    /// Many channels, each with its share of the sockets.
    Many(fanout::ManyArgs),
    /// Readers with different rates and different `on_slow` options.
    Mixed(mixed::Args),
    /// All sockets except a few are cut at once, and resume.
    Storm(storm::Args),
    /// For a while, a share of the sockets reads slowly or not at all.
    Slow(slow::Args),
    /// The most sockets, or messages a second, for which p99 stays under a target.
    Ramp(ramp::Args),
    /// Sockets are cut, resume, resubscribe and pause, for as long as the run lasts.
    Soak(soak::Args),
    /// Idle sockets: what a connection costs.
    Idle(idle::Args),
}

impl Profile {
    /// Runs the profile. The caller prints and writes the report.
    ///
    /// # Errors
    ///
    /// If the run could not be carried out.
    pub(crate) fn run(self) -> Result<Outcome> {
        match self {
            Self::Fanout(args) => fanout::run(&args),
            Self::Many(args) => fanout::many(&args),
            Self::Mixed(args) => mixed::run(&args),
            Self::Storm(args) => storm::run(&args),
            Self::Slow(args) => slow::run(&args),
            Self::Ramp(args) => ramp::run(&args),
            Self::Soak(args) => soak::run(&args),
            Self::Idle(args) => idle::run(&args),
        }
    }

    /// The flags that all profiles share.
    pub(crate) fn common(&self) -> &flags::Common {
        match self {
            Self::Fanout(args) => &args.common,
            Self::Many(args) => &args.common,
            Self::Mixed(args) => &args.common,
            Self::Storm(args) => &args.common,
            Self::Slow(args) => &args.common,
            Self::Ramp(args) => &args.common,
            Self::Soak(args) => &args.common,
            Self::Idle(args) => &args.common,
        }
    }
}

/// An `on_slow` option of the protocol; the command line has checked it.
fn on_slow(wish: &str) -> &'static str {
    match wish {
        "resync" => "resync",
        "close" => "close",
        _ => "merge",
    }
}
