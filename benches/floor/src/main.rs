//! The floor under all figures: what a broadcast over WebSocket costs if it does only the system
//! calls. Run it on the same machine as the hub, and state the hub's figures as ratios to it.
//!
//! `GET /sub/NNNNNN` follows a channel. `GET /pub` publishes: each binary message goes unchanged to
//! the followers of the channel named by its bytes 1 to 7. One thread, no task, no lock.
//!
//! In reading order: [`floor`], the loop over what is ready; [`follower`], the progress of one
//! subscriber; [`log`], the pending frames; [`handshake`] and [`frame`], the necessary part of
//! WebSocket.

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
    /// Port on loopback; 0 chooses a free one. The program prints it.
    #[arg(long)]
    port: u16,
    /// One write per message and subscriber, or one for everything that is pending for a
    /// subscriber.
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
