//! `slow`: how a share of sockets that read slowly or not at all affects the others.

use anyhow::Result;

use super::flags::{Common, Extra};
use crate::{
    outcome::Outcome,
    plan::{Class, ReadRate},
};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    /// The share of sockets that become slow.
    #[arg(long, default_value_t = 0.1)]
    share: f64,
    /// Bytes per second that each of them reads; 0 reads nothing.
    #[arg(long, default_value_t = 0)]
    slow_bytes: u32,
    /// The receive buffer of each of them; a small one keeps the kernel from reading ahead.
    #[arg(long, default_value_t = 16 << 10)]
    slow_buffer: usize,
    /// Their on_slow option: merge, resync or close.
    #[arg(long, default_value = "merge", value_parser = ["merge", "resync", "close"])]
    on_slow: String,
}

const SLOW: u8 = 2;

/// # Errors
///
/// If the run could not be carried out.
pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let common = &args.common;
    let slow = Class {
        receive_bytes: Some(args.slow_buffer),
        excused: true,
        on_slow: super::on_slow(&args.on_slow),
        ..Class::plain("slow")
    };
    let classes = vec![Class::plain("others"), slow];
    let shape = common.shape("slow", classes, &["before", "during", "after"]);
    let are_slow = common.sockets_of(args.share);
    let follows = common.follow_all(&shape);
    let mut specs = common.specs(1, common.sockets - are_slow, &follows);
    let mut slow_specs = common.specs(SLOW, are_slow, &follows);
    slow_specs.iter_mut().for_each(|spec| spec.documents = false);
    specs.extend(slow_specs);
    let read_rate = match args.slow_bytes {
        0 => ReadRate::Nothing,
        bytes => ReadRate::BytesPerSecond(bytes),
    };
    let third = common.seconds / 3.0;
    common.measure(&shape, specs, |run, specs| {
        common.warm_up(run, &shape, specs)?;
        run.phase(0, third)?;
        run.set_read_rate(SLOW, read_rate)?;
        run.phase(1, third)?;
        run.set_read_rate(SLOW, ReadRate::All)?;
        run.phase(2, third)?;
        Ok(Extra::new())
    })
}
