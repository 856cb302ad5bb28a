//! `fanout` and `many`: a steady load.

use anyhow::Result;

use super::common::{Common, Extra, Shape};
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
    let shape = shape(common, "fanout", 1);
    steady(common, &shape, &common.follow_all(&shape))
}

/// # Errors
///
/// If the run could not be carried out.
pub(crate) fn many(args: &ManyArgs) -> Result<Outcome> {
    let common = &args.common;
    let shape = shape(common, "many", 100);
    let follows = common.follow_some(&shape, args.each)?;
    steady(common, &shape, &follows)
}

fn shape(common: &Common, name: &'static str, channels: u32) -> Shape {
    Shape {
        name,
        classes: vec![Class::plain("readers")],
        phases: &["steady"],
        seconds: common.seconds,
        channels,
        sockets: common.sockets,
    }
}

fn steady(common: &Common, shape: &Shape, follows: &[ChannelList]) -> Result<Outcome> {
    common.measure(shape, common.specs(1, common.sockets, follows), |run, specs| {
        common.warm_up(run, shape, specs)?;
        run.phase(0, common.seconds)?;
        Ok(Extra::new())
    })
}
