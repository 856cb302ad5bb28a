//! A hub continues with what released versions have stored. `stored/` has a folder for each, made by `stored/write.py`.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::{
    restart::verify,
    support::{Hub, QUIET, TestDatabase, clock::Clock},
};

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
}

/// Writes the compressed files of a folder to another one.
fn unpack(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for path in entries(from) {
        if path.is_dir() {
            unpack(&path, &to.join(path.file_name().expect("a name")));
        } else if path.extension().is_some_and(|extension| extension == "gz") {
            let mut bytes = Vec::new();
            let file = File::open(&path).expect("it opens");
            GzDecoder::new(file).read_to_end(&mut bytes).expect("it is whole");
            fs::write(to.join(path.file_stem().expect("a name")), bytes).expect("it is written");
        }
    }
}

/// Whether a document has all that an earlier one has. Later versions add fields.
fn contains(later: &Value, earlier: &Value) -> bool {
    match (later, earlier) {
        (Value::Object(later), Value::Object(earlier)) => earlier
            .iter()
            .all(|(name, value)| later.get(name).is_some_and(|found| contains(found, value))),
        (Value::Array(later), Value::Array(earlier)) => {
            later.len() == earlier.len()
                && later.iter().zip(earlier).all(|(found, value)| contains(found, value))
        }
        _ => later == earlier,
    }
}

/// Keys, documents with their epochs and sequences, and the archive are as before, and the log is valid.
#[tokio::test]
async fn hub_continues_what_released_versions_have_stored() {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/stored");
    for version in entries(&stored).filter(|path| path.is_dir()) {
        let expected = fs::read(version.join("expected.json")).expect("answers");
        let expected: Value = serde_json::from_slice(&expected).expect("JSON");
        let text = |name: &str| expected[name].as_str().expect("a text");
        let database = TestDatabase::file();
        unpack(&version, database.folder.path());
        // Matches end when no source reports them for long.
        let clock = Clock::at_or_skipped(text("stopped"), database.folder.path());
        let Some(clock) = clock else { return };
        let database = database.by(&Arc::new(clock));
        let mut hub = Hub::start_on(&database, &["serve"], &[QUIET]);
        for (path, answer) in expected["answers"].as_object().expect("answers by path") {
            hub.json_until(text("key"), path, |later| contains(later, answer)).await;
        }
        let line = r#"{"sport":"hockey","match":"later","fact":{"fixture":{}}}"#;
        hub.push(text("feed_key"), &[line.to_owned()]).await;
        assert_eq!(hub.stop(), Some(0), "{}", version.display());
        verify(&database);
    }
}
