//! A part of a day as a recording in our own format, which `matchwire replay` plays.

use std::{collections::BinaryHeap, io};

use facts::{
    event::{Batch, Micros, Sport, Timed},
    line::LineWriter,
};

use super::{Simulator, programme::Plan, scheduled_match::quoted_by};

/// What of a day is written down.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// All sports if `None`.
    pub sport: Option<Sport>,
    /// The first so many matches in the order of their announcements.
    pub matches_max: usize,
    /// The first so many bookmakers.
    pub bookmakers_max: usize,
}

/// Writes a part of a day as lines of `matchwire-events`.
///
/// # Errors
///
/// Only those of `out`.
pub fn write_recording(
    seed: u64,
    start: Micros,
    part: Part,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let plan = Plan::new(seed, start);
    let mut entries = plan.programme();
    entries.retain(|entry| part.sport.is_none_or(|sport| sport == entry.sport()));
    entries.truncate(part.matches_max);
    let upcoming = entries.into_iter().peekable();
    let simulator = Simulator { seed: plan.seed, upcoming, running: BinaryHeap::new() };
    let mut lines = LineWriter::default();
    let wanted = quoted_by(part.bookmakers_max);
    for timed in simulator {
        let Timed { clock_us, batch } = timed;
        let mut events = batch.events;
        events.retain(&wanted);
        if !events.is_empty() {
            let timed = Timed { clock_us, batch: Batch { events, ..batch } };
            writeln!(out, "{}", lines.timed(&timed))?;
        }
    }
    Ok(())
}
