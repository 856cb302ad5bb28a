//! `matchwire check`: whether a hub can start with these settings.

use std::io::{self, Write};

use base::clock::wall;

use crate::{
    app,
    cli::HubArgs,
    config::{Config, ConfigError},
    with_causes,
};

#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("cannot write the output")]
    Output(#[from] io::Error),
}

/// Prints all problems, one per line, and returns how many there are. It must run in a runtime.
///
/// # Errors
///
/// If the settings cannot be read at all, or the output cannot be written.
pub fn run(args: &HubArgs, out: &mut impl Write) -> Result<usize, CheckError> {
    let (config, wrong) = Config::load_with_problems(args.config.as_deref(), &args.flags())?;
    for error in &wrong {
        writeln!(out, "{}", with_causes(error))?;
    }
    let unusable = app::check(&config, wall() / 1_000_000);
    for problem in &unusable {
        writeln!(out, "{}: {}", problem.setting, with_causes(&problem.error))?;
    }
    let problems = wrong.len() + unusable.len();
    if problems == 0 {
        writeln!(out, "no problem was found")?;
    }
    Ok(problems)
}
