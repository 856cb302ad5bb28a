//! Messages of feeds that could not be used, kept for the operator in a bounded file of JSON lines.
//!
//! Each line has the moment, the source, the place, the kind, the reason and the bytes. When the
//! file has reached half of its budget it becomes `<file>.1`, in place of the one before.

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use fanout::Micros;
use ingest::error::{Refusal, RefusalKind};
use serde::Serialize;
use tracing::{error, warn};

#[derive(Debug)]
pub struct Quarantine {
    path: PathBuf,
    file: Option<File>,
    bytes: u64,
    bytes_max: u64,
    /// Source and kind of what has been logged: each is logged once, the rest is counted.
    logged: HashSet<(Arc<str>, RefusalKind)>,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    at: Micros,
    source: &'a str,
    place: String,
    kind: &'static str,
    reason: &'a str,
    bytes: String,
}

impl Quarantine {
    /// `bytes_max`: of both files together.
    #[must_use]
    pub fn new(path: PathBuf, bytes_max: u64) -> Self {
        Self { path, file: None, bytes: 0, bytes_max, logged: HashSet::new() }
    }

    /// The quarantine beside a database: `matchwire.db` has `matchwire.db.quarantine.ndjson`.
    #[must_use]
    pub fn beside(db: &Path, bytes_max: u64) -> Self {
        let mut name = db.as_os_str().to_owned();
        name.push(".quarantine.ndjson");
        Self::new(name.into(), bytes_max)
    }

    /// Keeps a refused message. A disk that fails costs the line, never the feed.
    pub fn keep(&mut self, source: &Arc<str>, refusal: &Refusal, now: Micros) {
        if self.logged.insert((Arc::clone(source), refusal.kind)) {
            let kind = refusal.kind.as_str();
            warn!(%source, place = %refusal.place, kind, reason = refusal.reason,
                "message refused; more of this kind are only counted");
        }
        let line = Line {
            at: now,
            source,
            place: refusal.place.to_string(),
            kind: refusal.kind.as_str(),
            reason: &refusal.reason,
            bytes: String::from_utf8_lossy(&refusal.bytes).into_owned(),
        };
        if let Err(error) = self.write(&line) {
            error!(path = %self.path.display(), %error, "quarantine could not be written");
        }
    }

    fn write(&mut self, line: &Line<'_>) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let length = text.len() as u64;
        self.open()?;
        if self.bytes + length > self.bytes_max / 2 {
            self.rotate()?;
        }
        self.open()?.write_all(&text)?;
        self.bytes += length;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file = None;
        let mut old = self.path.as_os_str().to_owned();
        old.push(".1");
        if self.path.exists() {
            fs::rename(&self.path, old)?;
        }
        self.bytes = 0;
        Ok(())
    }

    fn open(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            let file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            self.bytes = file.metadata()?.len();
            self.file = Some(file);
        }
        Ok(self.file.as_mut().expect("opened above"))
    }
}

#[cfg(test)]
mod tests {
    use ingest::error::{DecodeError, Place};

    use super::*;

    #[test]
    fn file_stays_within_its_budget_and_keeps_the_newest() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("q.ndjson");
        let mut quarantine = Quarantine::new(path.clone(), 4000);
        let source: Arc<str> = "test".into();
        for line in 1..=100 {
            let place = Place { file: "feed.json".into(), line };
            let error = DecodeError::new(RefusalKind::Syntax, "no JSON");
            quarantine.keep(&source, &Refusal::new(error, place, &[0xff; 50]), 7);
        }
        let newest = fs::read_to_string(&path).expect("the file");
        let older = fs::read_to_string(folder.path().join("q.ndjson.1")).expect("the older file");
        assert!(newest.len() + older.len() <= 4000);
        assert!(newest.ends_with('\n') && newest.contains("feed.json:100"), "{newest}");
    }
}
