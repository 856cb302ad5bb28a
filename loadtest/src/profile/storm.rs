//! `storm`: all sockets except a few are cut at once and resume.

use anyhow::Result;
use serde_json::json;

use super::flags::{Common, Extra, Shape};
use crate::{
    clock,
    outcome::Outcome,
    plan::{Action, Class},
};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Sockets that are not cut.
    #[arg(long, default_value_t = 20)]
    untouched: usize,
    /// Seconds after which the recovery counts as failed.
    #[arg(long, default_value_t = 60.0)]
    storm_seconds: f64,
}

const STORM: u8 = 1;
const UNTOUCHED: u8 = 2;

/// The minimum duration of the storm, so that there is something to measure.
const AT_LEAST_US: u64 = 1_000_000;

/// # Errors
///
/// If the run could not be carried out.
pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let common = &args.common;
    let classes = vec![Class::plain("storm"), Class::plain("untouched")];
    let shape = common.shape("storm", classes, &["before", "during", "after"]);
    let shape = Shape { sockets: common.sockets + args.untouched, ..shape };
    let follows = common.follow_all(&shape);
    let mut specs = common.specs(UNTOUCHED, args.untouched, &follows);
    specs.extend(common.specs(STORM, common.sockets, &follows));
    let half = common.seconds / 2.0;
    common.measure(&shape, specs, |run, specs| {
        common.warm_up(run, &shape, specs)?;
        run.phase(0, half)?;
        run.begin(1);
        run.act_all(STORM, Action::Cut)?;
        let since = clock::now();
        let mut back_at = None;
        // The generators read the command within a few milliseconds.
        run.hold(0.05)?;
        run.hold_while(args.storm_seconds, |run, now| {
            if run.away() == 0 && back_at.is_none() {
                back_at = Some(now);
            }
            Ok(back_at.is_none() || now < since + AT_LEAST_US)
        })?;
        run.phase(2, half)?;
        let seconds = back_at.map(|at| (at - since) as f64 / 1e6);
        Ok(Extra::from([
            ("all_back_after_s".to_owned(), json!(seconds)),
            ("away_at_the_end".to_owned(), json!(run.away())),
        ]))
    })
}
