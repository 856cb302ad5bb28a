//! The fan-out alone: bare channels over WebSocket, without keys, documents or the rest of the hub. It serves what
//! `benches/floor` serves, so that the same load tool measures what the fan-out adds to the system calls.
//!
//! `GET /sub/NNNNNN` follows a channel. `GET /pub` publishes: each binary message goes unchanged to the followers of
//! the channel named by its bytes 1 to 7. `GET /echo` returns each message, so that protocol suites exercise the
//! fan-out's reader and writer of frames.
//!
//! In reading order: [`server`], the upgrades and the publishers; [`channels`], the host of the fan-out; [`dialects`],
//! what followers and clients of the echo say.

mod channels;
mod dialects;
mod server;

use std::{
    io::{self, Write},
    net::{Ipv4Addr, SocketAddr},
};

use anyhow::Context;
use base::process::OpenFiles;
use clap::Parser;
use tokio::net::{TcpListener, TcpSocket};

use crate::channels::Channels;

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 4096;

/// Bare channels over WebSocket, served by the fan-out.
#[derive(Debug, Parser)]
#[command(name = "matchwire-bare", version)]
struct Args {
    /// Port on loopback; 0 chooses a free one. The program prints it.
    #[arg(long)]
    port: u16,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let Args { port } = Args::parse();
    let _limit = OpenFiles::raised();
    let channels = Channels::start()?;
    let listener = listen(port).context("it cannot listen")?;
    writeln!(io::stdout(), "listening on {}", listener.local_addr()?)?;
    server::serve(&listener, &channels).await
}

fn listen(port: u16) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    socket.listen(BACKLOG)
}
