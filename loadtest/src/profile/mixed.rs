//! `mixed`: readers with different rates and different `on_slow` options.

use anyhow::{Result, ensure};

use super::flags::{Common, Extra};
use crate::{outcome::Outcome, plan::Class};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Proportions of the sockets that read everything, every 250 ms, every second, and that read
    /// everything with `on_slow` set to resync or close instead of merge.
    #[arg(long, value_delimiter = ',', default_value = "40,20,20,10,10", num_args = 1)]
    parts: Vec<usize>,
}

/// # Errors
///
/// If the run could not be carried out.
pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let common = &args.common;
    ensure!(!common.is_raw(), "bare channels have no rates");
    let class = |name, every_ms, on_slow| Class { every_ms, on_slow, ..Class::plain(name) };
    let classes = vec![
        class("every change", 0, "merge"),
        class("every 250 ms", 250, "merge"),
        class("every 1000 ms", 1000, "merge"),
        class("or resync", 0, "resync"),
        class("or close", 0, "close"),
    ];
    ensure!(args.parts.len() == classes.len(), "there are {} parts", classes.len());
    let all = args.parts.iter().sum::<usize>().max(1);
    let shape = common.shape("mixed", classes, &["mixed"]);
    let follows = common.follow_all(&shape);
    let mut specs = Vec::new();
    for (class, part) in (1..).zip(&args.parts) {
        specs.extend(common.specs(class, common.sockets * part / all, &follows));
    }
    common.measure(&shape, specs, |run, specs| {
        common.warm_up(run, &shape, specs)?;
        run.phase(0, common.seconds)?;
        Ok(Extra::new())
    })
}
