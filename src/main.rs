//! Starts what the command line asks for, and turns its end into an exit code.

use std::{
    error::Error,
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser;
use matchwire::{
    cli::{Cli, Command, KeyCommand},
    config::{Config, Flags},
    key_command,
};

const FAILED: u8 = 1;
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    match Cli::parse().into_command() {
        Command::Key(command) => key(command),
        Command::Serve(_) | Command::Replay(_) | Command::Simulate(_) => ExitCode::SUCCESS,
    }
}

fn key(command: KeyCommand) -> ExitCode {
    let config = match Config::load(None, &Flags::default()) {
        Ok(config) => config,
        Err(error) => return ended_by(&error, WRONG_USAGE),
    };
    match run_key(command, &config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ended_by(&*error, FAILED),
    }
}

fn run_key(command: KeyCommand, config: &Config) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let now = jiff::Timestamp::now().as_microsecond();
    let mut out = io::stdout();
    Ok(runtime.block_on(key_command::run(command, &config.accounts, now, &mut out))?)
}

/// Says on one line what went wrong, with every cause.
fn ended_by(error: &dyn Error, code: u8) -> ExitCode {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    // Where nobody reads, the exit code is all there is to say.
    writeln!(io::stderr(), "matchwire: {text}").ok();
    ExitCode::from(code)
}
