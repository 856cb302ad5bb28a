//! `fanout` and `many`: a steady load.

use anyhow::Result;

use super::flags::{Common, Extra, Shape};
use crate::{
    outcome::Outcome,
    plan::{ChannelList, Class},
};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ManyArgs {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Channels that each socket follows; a bare socket follows one.
    #[arg(long, default_value_t = 1)]
    each: usize,
}

/// # Errors
///
/// If the run could not be carried out.
pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let common = &args.common;
    let shape = common.shape("fanout", vec![Class::plain("readers")], &["steady"]);
    steady(common, &shape, &common.follow_all(&shape))
}

/// # Errors
///
/// If the run could not be carried out.
pub(crate) fn many(args: &ManyArgs) -> Result<Outcome> {
    let common = &args.common;
    let shape = common.shape("many", vec![Class::plain("readers")], &["steady"]);
    let shape = Shape { channels: 100, ..shape };
    let follows = common.follow_some(&shape, args.each)?;
    steady(common, &shape, &follows)
}

fn steady(common: &Common, shape: &Shape, follows: &[ChannelList]) -> Result<Outcome> {
    common.measure(shape, common.specs(1, common.sockets, follows), |run, specs| {
        common.warm_up(run, shape, specs)?;
        run.phase(0, common.seconds)?;
        Ok(Extra::new())
    })
}
