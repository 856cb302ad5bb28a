//! Shifts the time of day of programs under test. Crates include this file by its path.
//!
//! A library that is preloaded does it, made of `clock.c` by the C compiler that Rust links with. Durations stay as they
//! are, so a hub that is moved by a month has not been silent for a month.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::{self, Command},
    sync::OnceLock,
};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clock/clock.c");

/// How far the time of day of some programs is from the machine's.
#[derive(Debug)]
pub(crate) struct ClockOffset {
    library: &'static Path,
    file: PathBuf,
}

impl ClockOffset {
    /// Keeps the offset, 0 at first, in this file; `None`, with a message, without a C compiler.
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    pub(crate) fn in_file_or_skipped(file: PathBuf) -> Option<Self> {
        static LIBRARY: OnceLock<Option<PathBuf>> = OnceLock::new();
        let Some(library) = LIBRARY.get_or_init(compile) else {
            eprintln!("skipped: there is no C compiler for the library that moves clocks");
            return None;
        };
        let clock = Self { library, file };
        clock.set(0);
        Some(clock)
    }

    /// Sets it to this many microseconds, also in programs that run.
    pub(crate) fn set(&self, micros: i64) {
        // The programs have mapped the file, so it stays the same one.
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&self.file);
        let offset_ns = (micros * 1_000).to_ne_bytes();
        file.and_then(|file| file.write_all_at(&offset_ns, 0)).expect("the offset is written");
    }

    /// The variables of the environment that a program starts with.
    pub(crate) fn variables(&self) -> [(&'static str, &Path); 2] {
        [("LD_PRELOAD", self.library), ("TEST_CLOCK_FILE", &self.file)]
    }
}

/// The library, which several test programs may make at once.
fn compile() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(folder).expect("cargo's own folder");
    let (library, temporary) =
        (folder.join("clock.so"), folder.join(format!("clock-{}.so", process::id())));
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o"])
        .arg(&temporary)
        .arg(SOURCE);
    let compiled = compiler.status().ok()?;
    assert!(compiled.success(), "{SOURCE} does not compile");
    fs::rename(&temporary, &library).expect("it was compiled");
    Some(library)
}
