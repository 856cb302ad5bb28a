//! A clock that the test sets for whole processes.

use std::{path::Path, process::Command};

use jiff::Timestamp;

use super::clock_offset::ClockOffset;

#[derive(Debug)]
pub(crate) struct Clock(ClockOffset);

impl Clock {
    /// A clock that a file in this folder controls, set to a moment such as `2026-08-17T12:00:00Z`; `None`, with a message,
    /// if clocks cannot be moved here.
    pub(crate) fn at_or_skipped(moment: &str, folder: &Path) -> Option<Self> {
        let clock = Self(ClockOffset::in_file_or_skipped(folder.join("clock"))?);
        clock.set(moment);
        Some(clock)
    }

    /// Sets it to this moment; it continues from there.
    pub(crate) fn set(&self, moment: &str) {
        let moment: Timestamp = moment.parse().expect("a moment");
        self.0.set(moment.as_microsecond() - Timestamp::now().as_microsecond());
    }

    pub(crate) fn is_the_clock_of(&self, command: &mut Command) {
        command.envs(self.0.variables());
    }
}
