//! Input that is damaged, cut, endless or wrong: the usable part is used, the rest is refused with
//! its location, and nothing panics.

mod api_football;
mod betfair;
mod container;
mod events;
mod fixtures;
mod odds;
mod opening;
mod point_strings;
mod properties;
mod scores;
mod slam;
mod statsbomb;
mod statsperform;
mod wyscout;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use facts::event::{Event, Fact};
use ingest::{
    error::Refusal,
    recording::{Limits, OpenError, Recording, Step},
};

/// A test's directory, removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("matchwire-bad-input-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// The results of a recording of one file, batches and refusals separately.
#[derive(Default)]
struct Outcome {
    batches: usize,
    events: Vec<Event>,
    refusals: Vec<Refusal>,
}

impl Outcome {
    fn read(path: &Path, limits: &Limits) -> Result<Self, OpenError> {
        Self::with_named(path, &[], limits)
    }

    fn with_named(path: &Path, named: &[PathBuf], limits: &Limits) -> Result<Self, OpenError> {
        let mut outcome = Self::default();
        for step in Recording::open(path, named, 0, limits)? {
            match step {
                Step::Batch(timed) => {
                    outcome.batches += 1;
                    outcome.events.extend(timed.batch.events);
                }
                Step::Refused(refusal) => outcome.refusals.push(refusal),
            }
        }
        Ok(outcome)
    }

    /// Opens bytes under a name, with the usual limits.
    fn of_bytes(name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let scratch = Scratch::new();
        Self::read(&scratch.file(name, bytes), &Limits::default()).unwrap()
    }

    /// Each refusal as kind and line.
    fn refused(&self) -> Vec<(&'static str, u64)> {
        self.refusals.iter().map(|it| (it.kind.as_str(), it.location.line)).collect()
    }

    fn reasons(&self) -> Vec<&str> {
        self.refusals.iter().map(|it| it.reason.as_str()).collect()
    }

    fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.events.iter().map(|event| &event.fact)
    }
}

/// A football match cut after its first two goals is played to the cut, and has no final whistle.
fn check_cut(name: &str, bytes: &[u8]) {
    let outcome = Outcome::of_bytes(name, bytes);
    assert_eq!(outcome.refused(), [("truncated", 0)]);
    assert_eq!(outcome.last_score().goals, [1, 1]);
    assert!(!outcome.has_finished());
}
