//! A clock that the test sets for whole processes, with libfaketime from Debian's `faketime`.
//!
//! Only their time of day changes. Timeouts are unaffected, so a hub that is moved by a month has
//! not been silent for a month.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use jiff::Timestamp;

/// Where Debian installs the library, below a folder for each architecture.
const LIBRARIES: &str = "/usr/lib";
/// The variant for programs with threads.
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";

#[derive(Debug)]
pub(crate) struct Clock {
    library: PathBuf,
    file: PathBuf,
}

impl Clock {
    /// A clock controlled by a file in this folder, set to a moment such as `2026-08-17T12:00:00Z`;
    /// `None`, with a message, if the library is not installed.
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    pub(crate) fn at_or_skipped(moment: &str, folder: &Path) -> Option<Self> {
        let folders = fs::read_dir(LIBRARIES).into_iter().flatten().flatten();
        let library = folders.map(|it| it.path().join(LIBRARY)).find(|path| path.exists());
        let Some(library) = library else {
            eprintln!("skipped: faketime is not installed");
            return None;
        };
        let clock = Self { library, file: folder.join("clock") };
        clock.set(moment);
        Some(clock)
    }

    /// Sets it to this moment or up to a second later; it continues from there.
    pub(crate) fn set(&self, moment: &str) {
        let moment: Timestamp = moment.parse().expect("a moment");
        let offset = moment.as_microsecond() - Timestamp::now().as_microsecond();
        // Every clock read reads this file, so it is never half written.
        let new = self.file.with_extension("new");
        let seconds = offset.div_euclid(1_000_000) + 1;
        fs::write(&new, format!("{seconds:+}\n")).expect("the hand is written");
        fs::rename(new, &self.file).expect("the hand is moved");
    }

    pub(crate) fn is_the_clock_of(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", &self.library)
            .env("FAKETIME_TIMESTAMP_FILE", &self.file)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    }
}
