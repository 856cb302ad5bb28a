//! `soak`: a long run in which sockets are cut and resume, resubscribe, and pause reading, each at
//! its own rate.

use anyhow::Result;
use serde_json::json;

use super::flags::{Common, Extra};
use crate::{
    outcome::Outcome,
    plan::{Action, Class, ReadRate},
    run::Run,
};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    /// The share of sockets that is affected.
    #[arg(long, default_value_t = 0.5)]
    churning: f64,
    /// Sockets cut per second; they resume at once.
    #[arg(long, default_value_t = 5.0)]
    cuts: f64,
    /// Sockets that unsubscribe and subscribe per second; the hub only.
    #[arg(long, default_value_t = 5.0)]
    resubscribes: f64,
    /// Sockets that stop reading, per second.
    #[arg(long, default_value_t = 1.0)]
    pauses: f64,
    /// Seconds for which each of them reads nothing.
    #[arg(long, default_value_t = 3.0)]
    pause_seconds: f64,
}

const CHURNING: u8 = 2;
const PAUSING: u8 = 3;

/// One kind of disturbance, applied at a rate to one socket after another.
struct Churn {
    class: u8,
    sockets: usize,
    per_second: f64,
    done: usize,
}

/// # Errors
///
/// If the run could not be carried out.
pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let common = &args.common;
    let pausing = Class { excused: true, ..Class::plain("pausing") };
    let classes = vec![Class::plain("steady"), Class::plain("churning"), pausing];
    let shape = common.shape("soak", classes, &["soak"]);
    let churning = common.sockets_of(args.churning);
    let pauses = if args.pauses > 0.0 { churning / 4 } else { 0 };
    let churns = churning - pauses;
    let follows = common.follow_all(&shape);
    let mut specs = common.specs(1, common.sockets - churning, &follows);
    specs.extend(common.specs(CHURNING, churns, &follows));
    specs.extend(common.specs(PAUSING, pauses, &follows).into_iter().map(|mut spec| {
        spec.documents = false;
        spec
    }));
    common.measure(&shape, specs, |run, specs| {
        common.warm_up(run, &shape, specs)?;
        let resubscribes = if common.is_raw() { 0.0 } else { args.resubscribes };
        let mut cuts = Churn::new(CHURNING, churns, args.cuts);
        let mut resubscribing = Churn::new(CHURNING, churns, resubscribes);
        let mut stops = Churn::new(PAUSING, pauses, args.pauses);
        let mut starts = Churn::new(PAUSING, pauses, args.pauses);
        run.begin(0);
        let mut since = None;
        run.hold_while(common.seconds, |run, now| {
            let passed = (now - *since.get_or_insert(now)) as f64 / 1e6;
            cuts.catch_up(run, passed, &[Action::Cut])?;
            resubscribing.catch_up(run, passed, &[Action::Unsubscribe, Action::Subscribe])?;
            stops.catch_up(run, passed, &[Action::Read(ReadRate::Nothing)])?;
            starts.catch_up(run, passed - args.pause_seconds, &[Action::Read(ReadRate::All)])?;
            Ok(true)
        })?;
        run.set_read_rate(PAUSING, ReadRate::All)?;
        Ok(Extra::from([
            ("cuts".to_owned(), json!(cuts.done)),
            ("resubscribes".to_owned(), json!(resubscribing.done)),
            ("pauses".to_owned(), json!(stops.done)),
        ]))
    })
}

impl Churn {
    fn new(class: u8, sockets: usize, per_second: f64) -> Self {
        Self { class, sockets, per_second, done: 0 }
    }

    /// Carries out everything that is due after this many seconds.
    fn catch_up(&mut self, run: &Run, seconds: f64, actions: &[Action]) -> Result<()> {
        let due = (seconds.max(0.0) * self.per_second) as usize;
        while self.done < due && self.sockets > 0 {
            let nth = self.done % self.sockets;
            for action in actions {
                run.act(self.class, nth..nth + 1, *action)?;
            }
            self.done += 1;
        }
        Ok(())
    }
}
