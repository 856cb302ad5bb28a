//! Loads a realtime server with many sockets, measures when messages arrive, and checks them.
//!
//! It knows the protocol page and nothing of the hub. `follow` is a plain client that checks
//! everything, in [`mod@follow`], [`follower`] and [`socket`]. The [`profile`]s measure. Their
//! path, in reading order: a profile makes a [`plan`] and conducts a [`run`]; for bare channels a
//! [`publisher`] sends by its [`schedule`]; a [`receiver`] holds the sockets ([`peer`], over a
//! [`transport`]), parses frames ([`wire`], [`inflate`]) and passes them to its [`ledger`], where [`channels`] cache messages,
//! [`position`] finds gaps, and a [`tally`] counts; the result is an [`outcome`] with a
//! [`verdict`].

mod address;
mod channels;
mod clock;
mod documents;
mod follow;
mod follower;
mod hub;
mod inflate;
mod latency;
mod ledger;
mod machine;
mod outcome;
mod page;
mod payload;
mod peer;
mod plan;
mod plot;
mod position;
mod profile;
mod publisher;
mod receiver;
mod report;
mod run;
mod schedule;
mod socket;
mod spread;
mod table;
mod tally;
mod transport;
mod upgrade;
mod verdict;
mod wire;

use std::{
    fs,
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use crate::profile::Profile;

#[derive(Debug, Parser)]
#[command(name = "matchwire-loadtest", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Follow channels with many sockets, and check every frame and the final documents.
    Follow(Box<follow::Args>),
    #[command(flatten)]
    Profile(Box<Profile>),
}

/// 0: nothing was wrong. 1: something was, or the run could not be carried out. 3: the tool itself
/// was the bottleneck, so that its figures do not describe the server.
fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Follow(args) => follow(*args),
        Command::Profile(profile) => measure(*profile),
    };
    outcome.unwrap_or_else(|error| {
        writeln!(io::stderr(), "matchwire-loadtest: {error:#}").ok();
        ExitCode::FAILURE
    })
}

fn follow(args: follow::Args) -> Result<ExitCode> {
    let (json, html, quiet) = (args.json.clone(), args.html.clone(), args.quiet);
    let report = tokio::runtime::Runtime::new()?.block_on(follow::run(args))?;
    if !quiet || !report.is_clean() {
        write!(io::stdout(), "{report}").ok();
    }
    write_file(json.as_deref(), || Ok(serde_json::to_vec_pretty(&report)?))?;
    write_file(html.as_deref(), || Ok(page::of_report(&report).into_bytes()))?;
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn measure(profile: Profile) -> Result<ExitCode> {
    let common = profile.common().clone();
    let outcome = profile.run()?;
    write!(io::stdout(), "{outcome}").ok();
    write_file(common.json.as_deref(), || Ok(serde_json::to_vec_pretty(&outcome)?))?;
    write_file(common.html.as_deref(), || Ok(page::render(&outcome).into_bytes()))?;
    Ok(ExitCode::from(outcome.verdict.code()))
}

/// Writes the results to a file, if one was named.
fn write_file(path: Option<&Path>, content: impl FnOnce() -> Result<Vec<u8>>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    fs::write(path, content()?).with_context(|| format!("cannot write {}", path.display()))
}
