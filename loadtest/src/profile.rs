//! The profiles: which sockets there are, and what happens to them when.

mod common;
mod fanout;
mod idle;
mod mixed;
mod ramp;
mod slow;
mod soak;
mod storm;

use anyhow::Result;

pub(crate) use self::common::Extra;
use crate::outcome::Outcome;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Profile {
    /// A few channels to many sockets.
    Fanout(fanout::Args),
    /// Many channels, each to its share of the sockets.
    Many(fanout::ManyArgs),
    /// Readers at several rates and with several wishes for when they are slow.
    Mixed(mixed::Args),
    /// All sockets but some are cut at once, and come back from where they were.
    Storm(storm::Args),
    /// A share of the sockets reads slowly or not at all, for a while.
    Slow(slow::Args),
    /// The most sockets, or messages a second, for which p99 stays under a target.
    Ramp(ramp::Args),
    /// Sockets come, go, resume and read slowly, for as long as is wished.
    Soak(soak::Args),
    /// Sockets that have nothing to say: what a connection costs.
    Idle(idle::Args),
}

impl Profile {
    /// Runs it. The report is printed and written by the caller's wishes.
    ///
    /// # Errors
    ///
    /// When the run could not be made.
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
    pub(crate) fn common(&self) -> &common::Common {
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

/// One of the wishes that the protocol knows, as the command line has checked.
fn on_slow(wish: &str) -> &'static str {
    match wish {
        "resync" => "resync",
        "close" => "close",
        _ => "merge",
    }
}
