//! Refused messages of feeds, stored for the operator in a bounded file of JSON lines.
//!
//! A [`QuarantineEntry`] has the time, the source, its format, the place, the kind, the reason and
//! the bytes. When the file reaches half of its size limit, or its first line half of its maximum
//! age, it is renamed to `<file>.1` and replaces the previous one, which is deleted when its own
//! first line is too old. So neither limit is ever exceeded.

mod entry;
mod reader;

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use fanout::Micros;
use ingest::error::{Refusal, RefusalKind};
use tracing::warn;

pub use self::{
    entry::QuarantineEntry,
    reader::{QuarantineTail, QuarantinedLine, read, read_last},
};

/// The interval between checks for old entries, in microseconds.
const SWEEP_EVERY_US: Micros = 10_000_000;

/// An entry may take this fraction of the size limit, so that there is always room for several.
const PARTS_OF_BUDGET: u64 = 32;

/// The mode of the files: feeds may have sent anything, so only the hub's own user may read them.
const OWNER_ONLY: u32 = 0o600;

#[derive(Debug)]
pub struct Quarantine {
    path: PathBuf,
    file: Option<File>,
    bytes: u64,
    limits: QuarantineLimits,
    /// The time of the first line of the file, and of the previous file.
    began: Option<Micros>,
    older_began: Option<Micros>,
    sweep_due: Micros,
    /// Source and kind of the refusals that were logged: each is logged once, the rest is counted.
    logged: HashSet<(Arc<str>, RefusalKind)>,
}

/// The limits of size and age.
#[derive(Debug, Clone, Copy)]
pub struct QuarantineLimits {
    /// Bytes of both files together.
    pub bytes_max: u64,
    /// Microseconds.
    pub age_max_us: Micros,
}

impl Quarantine {
    #[must_use]
    pub fn new(path: PathBuf, limits: QuarantineLimits) -> Self {
        let (began, older_began) = (first_moment(&path), first_moment(&older(&path)));
        Self {
            path,
            file: None,
            bytes: 0,
            limits,
            began,
            older_began,
            sweep_due: 0,
            logged: HashSet::new(),
        }
    }

    /// The quarantine next to a database.
    #[must_use]
    pub fn beside(db: &Path, limits: QuarantineLimits) -> Self {
        Self::new(path_beside(db), limits)
    }

    /// Stores a refused message. If the disk fails, the entry is lost, but the feed goes on.
    pub fn keep(&mut self, source: &Arc<str>, format: &str, refusal: &Refusal, now: Micros) {
        if self.logged.insert((Arc::clone(source), refusal.kind)) {
            let kind = refusal.kind.as_str();
            warn!(%source, "place" = %refusal.location, kind, reason = refusal.reason,
                "message refused; more of this kind are only counted");
        }
        let most = usize::try_from(self.limits.bytes_max / PARTS_OF_BUDGET).unwrap_or(usize::MAX);
        let line = QuarantineEntry::new(source, format, refusal, most, now);
        if let Err(error) = self.write(&line) {
            self.failed(&error);
        }
    }

    /// Deletes old entries, from time to time.
    pub fn sweep(&mut self, now: Micros) {
        if now < self.sweep_due {
            return;
        }
        self.sweep_due = now + SWEEP_EVERY_US.min(self.limits.age_max_us / 2);
        let age = |began: Option<Micros>| began.map_or(0, |began| now.saturating_sub(began));
        if age(self.older_began) >= self.limits.age_max_us {
            self.older_began = None;
            self.report_failure(fs::remove_file(older(&self.path)));
        }
        if age(self.began) >= self.limits.age_max_us / 2 {
            let rotated = self.rotate();
            self.report_failure(rotated);
        }
    }

    fn report_failure(&self, done: io::Result<()>) {
        match done {
            Err(error) if error.kind() != io::ErrorKind::NotFound => self.failed(&error),
            _ => {}
        }
    }

    fn failed(&self, error: &io::Error) {
        base::log_limited!(error, path = %self.path.display(), %error, "cannot write the quarantine");
    }

    fn write(&mut self, line: &QuarantineEntry) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let length = text.len() as u64;
        self.open()?;
        if self.bytes + length > self.limits.bytes_max / 2 {
            self.rotate()?;
        }
        self.open()?.write_all(&text)?;
        self.bytes += length;
        self.began.get_or_insert(line.at);
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file = None;
        if self.path.exists() {
            fs::rename(&self.path, older(&self.path))?;
            self.older_began = self.began.take();
        }
        self.bytes = 0;
        Ok(())
    }

    fn open(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            let file =
                OpenOptions::new().create(true).append(true).mode(OWNER_ONLY).open(&self.path)?;
            self.bytes = file.metadata()?.len();
            self.file = Some(file);
        }
        Ok(self.file.as_mut().expect("opened above"))
    }
}

/// `matchwire.db` has `matchwire.db.quarantine.ndjson`.
#[must_use]
pub fn path_beside(db: &Path) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(".quarantine.ndjson");
    name.into()
}

fn older(path: &Path) -> PathBuf {
    let mut old = path.as_os_str().to_owned();
    old.push(".1");
    old.into()
}

/// The time of the first line in a file.
fn first_moment(path: &Path) -> Option<Micros> {
    let lines = BufReader::new(File::open(path).ok()?).split(b'\n').map_while(Result::ok);
    lines.filter_map(|line| Some(serde_json::from_slice::<QuarantineEntry>(&line).ok()?.at)).next()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use ingest::error::{DecodeError, Place};

    use super::*;

    const LIMITS: QuarantineLimits =
        QuarantineLimits { bytes_max: 8000, age_max_us: 1_000_000_000 };

    fn refusal(line: u64, bytes: &[u8]) -> Refusal {
        let location = Place { file: "feed.json".into(), line };
        Refusal::new(DecodeError::new(RefusalKind::Syntax, "no JSON"), location, bytes)
    }

    fn places(path: &Path) -> Vec<String> {
        read(path).expect("it is read").into_iter().map(|it| it.entry.location).collect()
    }

    #[test]
    fn file_stays_within_its_budget_and_keeps_the_newest() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("q.ndjson");
        let mut quarantine = Quarantine::new(path.clone(), LIMITS);
        for line in 1..=100 {
            quarantine.keep(&"test".into(), "f", &refusal(line, &[0xff; 50]), 7);
        }
        let newest = fs::read_to_string(&path).expect("the file");
        let older = fs::read_to_string(folder.path().join("q.ndjson.1")).expect("the older file");
        assert!(newest.len() + older.len() <= 8000);
        assert!(newest.ends_with('\n') && newest.contains("feed.json:100"), "{newest}");
    }

    #[test]
    fn quarantined_messages_are_stored_byte_for_byte() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("q.ndjson");
        let mut quarantine = Quarantine::new(path.clone(), LIMITS);
        let messages: [&[u8]; 4] = [b"", "caf\u{e9} \"\n".as_bytes(), b"\xff\x00", &[b'x'; 5000]];
        for message in messages {
            quarantine.keep(&"test".into(), "f", &refusal(1, message), 7);
        }
        let entries = read(&path).expect("it is read");
        for (stored, message) in entries.iter().zip(messages) {
            let bytes = stored.entry.message().expect("a message");
            assert_eq!(bytes, message[..bytes.len()]);
            assert_eq!(stored.entry.truncated, bytes.len() < message.len());
            assert_eq!(bytes.len(), message.len().min(250));
        }
    }

    #[test]
    fn quarantine_files_are_private_and_contain_no_key() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("q.ndjson");
        let mode = |path: &Path| fs::metadata(path).expect("the file").permissions().mode() & 0o777;
        let key = format!("mw_1f09c3d2{}", "0a".repeat(20));
        let mut quarantine = Quarantine::new(path.clone(), LIMITS);
        quarantine.keep(&"test".into(), "f", &refusal(1, key.as_bytes()), 7);
        assert_eq!(mode(&path), 0o600);
        let text = fs::read_to_string(&path).expect("the file");
        assert!(text.contains("mw_1f09c3d2***") && !text.contains(&key), "{text}");
        for line in 0..100 {
            quarantine.keep(&"test".into(), "f", &refusal(line, &[b'x'; 200]), 7);
        }
        assert_eq!((mode(&path), mode(&older(&path))), (0o600, 0o600), "after a change of files");
    }

    #[test]
    fn entries_are_removed_after_the_maximum_age() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("q.ndjson");
        let age = LIMITS.age_max_us;
        let mut quarantine = Quarantine::new(path.clone(), LIMITS);
        quarantine.keep(&"test".into(), "f", &refusal(1, b"a"), 0);
        quarantine.sweep(age / 2 - 1);
        quarantine.keep(&"test".into(), "f", &refusal(2, b"b"), age / 2 - 1);
        assert_eq!(places(&path), ["feed.json:1", "feed.json:2"]);
        // Another process goes on with the files of the one before.
        let mut quarantine = Quarantine::new(path.clone(), LIMITS);
        quarantine.sweep(age / 2);
        quarantine.keep(&"test".into(), "f", &refusal(3, b"c"), age - 1);
        assert_eq!(places(&path), ["feed.json:1", "feed.json:2", "feed.json:3"]);
        quarantine.sweep(age + SWEEP_EVERY_US);
        assert_eq!(places(&path), ["feed.json:3"]);
    }

    #[test]
    fn last_entries_are_read_within_bounds() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("q.ndjson");
        let check = |source, entries_max, bytes_max, expected: &[u64], has_more: bool| {
            let tail = read_last(&path, source, entries_max, bytes_max).expect("it is read");
            let lines = tail.entries.iter().map(|entry| entry.location.rsplit(':').next());
            let lines: Vec<u64> = lines.map(|line| line.unwrap().parse().unwrap()).collect();
            assert_eq!((&*lines, tail.has_more), (expected, has_more), "{source:?} {bytes_max}");
        };
        check(None, 9, 1 << 20, &[], false);
        let mut quarantine = Quarantine::new(path.clone(), LIMITS);
        for line in 1..=6 {
            let source = if line % 2 == 0 { "even" } else { "odd" };
            quarantine.keep(&source.into(), "f", &refusal(line, b"a"), 0);
        }
        fs::rename(&path, older(&path)).expect("it is renamed");
        let mut quarantine = Quarantine::new(path.clone(), LIMITS);
        quarantine.keep(&"odd".into(), "f", &refusal(7, b"a"), 0);
        check(None, 9, 1 << 20, &[7, 6, 5, 4, 3, 2, 1], false);
        check(Some("even"), 9, 1 << 20, &[6, 4, 2], false);
        check(Some("odd"), 2, 1 << 20, &[7, 5], true);
        let line = fs::metadata(&path).expect("the file").len();
        // Two lines and a part of a third.
        check(None, 9, 3 * line - 5, &[7, 6], true);
        check(None, 9, 0, &[], true);
        // The line that is being written has no end.
        fs::write(&path, b"{\"at\":7").expect("it is written");
        check(None, 1, 1 << 20, &[6], true);
    }

    #[test]
    fn entry_is_removed_while_others_are_added() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("q.ndjson");
        let mut quarantine = Quarantine::new(path.clone(), LIMITS);
        for line in 1..=3 {
            quarantine.keep(&"test".into(), "f", &refusal(line, b"a"), 0);
        }
        let entries = read(&path).expect("it is read");
        quarantine.keep(&"test".into(), "f", &refusal(4, b"a"), 0);
        entries[1].remove().expect("it is written");
        quarantine.keep(&"test".into(), "f", &refusal(5, b"a"), 0);
        assert_eq!(places(&path), ["feed.json:1", "feed.json:3", "feed.json:4", "feed.json:5"]);
    }
}
