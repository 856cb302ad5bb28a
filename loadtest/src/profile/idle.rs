//! `idle`: what a subscribed, idle connection costs in the server and in the kernel.

use anyhow::Result;
use serde_json::{Value, json};

use super::flags::{Common, Extra};
use crate::{
    machine::Usage,
    outcome::Outcome,
    plan::Class,
    run::{Mark, Run},
};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
}

/// # Errors
///
/// If the run could not be carried out.
pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let common = &args.common;
    let shape = common.shape("idle", vec![Class::plain("idle")], &["opening", "quiet"]);
    let specs = common.specs(1, common.sockets, &common.follow_all(&shape));
    common.measure(&shape, specs, |run, specs| {
        run.begin(0);
        run.open(specs)?;
        // Let the server free what only the handshakes needed.
        run.hold(common.warmup)?;
        run.phase(1, common.seconds)?;
        Ok(each(run, common.sockets))
    })
}

/// The difference between before and after, per connection.
fn each(run: &Run, sockets: usize) -> Extra {
    let (before, after) = (&run.marks()[0], run.mark());
    let bytes = |field: fn(&Mark) -> Option<u64>| -> Value {
        let (Some(before), Some(after)) = (field(before), field(&after)) else {
            return Value::Null;
        };
        let each = (after as f64 - before as f64) / sockets.max(1) as f64;
        json!(each.round())
    };
    Extra::from([
        ("pss_bytes_each".to_owned(), bytes(|mark| Usage::sum(&mark.used, |used| used.pss_bytes))),
        ("rss_bytes_each".to_owned(), bytes(|mark| Usage::sum(&mark.used, |used| used.rss_bytes))),
        // Counts both ends, because they are on one machine.
        ("tcp_bytes_each".to_owned(), bytes(|mark| mark.tcp_bytes)),
    ])
}
