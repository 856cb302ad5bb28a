//! Follows a hub's channels with many sockets and checks what arrives.
//!
//! It knows the protocol page and nothing of the hub: [`frame`] and [`follower`] are what a client
//! author would write from it, [`socket`] is the connection, and each command is a module.

mod address;
mod follow;
mod follower;
mod frame;
mod report;
mod socket;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "matchwire-loadtest", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Follow channels with many sockets, and check every frame and the final documents.
    Follow(follow::Args),
}

/// 0: nothing was wrong. 1: something was, or the run could not be made.
fn main() -> ExitCode {
    let Command::Follow(args) = Cli::parse().command;
    let outcome = tokio::runtime::Runtime::new()
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(follow::run(args)));
    match outcome {
        Ok(report) => {
            write!(io::stdout(), "{report}").ok();
            if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            writeln!(io::stderr(), "matchwire-loadtest: {error:#}").ok();
            ExitCode::FAILURE
        }
    }
}
