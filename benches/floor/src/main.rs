//! The floor under all figures: what a broadcast over WebSocket costs when nothing is done but the
//! system calls. Run it beside the hub on the same machine, and call what the hub does a ratio of it.
//!
//! `GET /sub/NNNNNN` follows a channel. `GET /pub` publishes: each binary message goes, as it is, to
//! the followers of the channel that bytes 1 to 7 of it name. One thread, no task, no lock.
//!
//! In reading order: [`floor`], the loop over what is ready; [`follower`], what one subscriber has
//! had; [`log`], the frames that wait; [`handshake`] and [`frame`], as much WebSocket as it takes.

mod floor;
mod follower;
mod frame;
mod handshake;
mod log;

use std::io::{self, Write};

use anyhow::Context;
use clap::Parser;
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::floor::{Floor, Mode};

/// A bare WebSocket broadcast over epoll.
#[derive(Debug, Parser)]
#[command(name = "matchwire-floor", version)]
struct Args {
    /// Port on loopback; 0 takes a free one, which is printed.
    #[arg(long)]
    port: u16,
    /// One write for each message and subscriber, or one for all that is pending to a subscriber.
    #[arg(long, value_enum)]
    mode: Mode,
}

fn main() -> anyhow::Result<()> {
    let Args { port, mode } = Args::parse();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit })
        .context("the limit of open files cannot be raised")?;
    let floor = Floor::listen(port, mode).context("it cannot listen")?;
    writeln!(io::stdout(), "listening on {}", floor.address()?)?;
    Ok(floor.run()?)
}
