//! A file of any format, compressed or not, opened and played as by a user.

#![no_main]

use std::{fs, path::PathBuf, process, sync::LazyLock};

use ingest::{
    error::Refusal,
    recording::{Format, Limits, Recording, Step},
};
use libfuzzer_sys::fuzz_target;

/// In memory, if the system has such a folder.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    folder.join(format!("matchwire-fuzz-{}", process::id()))
});

/// Less than the compressed bytes of an input can expand to.
const LIMITS: Limits = Limits { message_bytes_max: 64 << 10, document_bytes_max: 1 << 20 };

fuzz_target!(|bytes: &[u8]| {
    fs::write(&*FILE, bytes).expect("there is room for the input");
    let Ok(recording) = Recording::open(&FILE, &[], 0, &LIMITS) else { return };
    let format = recording.format();
    let mut clock_us = i64::MIN;
    for step in recording {
        match step {
            Step::Refused(refusal) => assert!(refusal.bytes.len() <= Refusal::BYTES_MAX),
            // A stream has its own clock.
            Step::Batch(_) if format == Format::BetfairStream => {}
            Step::Batch(timed) => {
                assert!(timed.clock_us >= clock_us, "{} < {clock_us}", timed.clock_us);
                clock_us = timed.clock_us;
            }
        }
    }
});
