//! Records and folders for the tests.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use fanout::{ChannelId, Epoch};
use log::record::{Output, Record};
use proptest::test_runner::Config as ProptestConfig;
use tempfile::TempDir;

/// A folder for a log. In memory if possible: most tests force files to the disk often.
pub(crate) fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.unwrap()
}

/// The configuration of all properties: 100 cases, or what `PROPTEST_CASES` says. `cost`: how many times more a case
/// costs than usual, so that there are fewer.
#[expect(
    clippy::disallowed_methods,
    reason = "the library's own variable, which it does not tell from its default"
)]
pub(crate) fn cases(cost: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = cases.unwrap_or(100) / cost;
    ProptestConfig { cases, max_shrink_iters: 2_000, ..ProptestConfig::default() }
}

/// Some record: `seed` decides its content, `bytes` about how large it is.
pub(crate) fn record(number: u64, seed: u64, bytes: usize) -> Record {
    let channel = ChannelId::new(format!("football/{}/odds", seed % 7));
    let epoch = Epoch(u32::try_from(seed % 1_000).unwrap());
    let payload = |salt: u64| Bytes::from(noise(seed ^ salt, bytes / 3));
    let outputs = [
        Output::Opened { channel: channel.clone(), epoch, seq: 0, payload: payload(1) },
        Output::Published {
            channel: channel.clone(),
            epoch,
            prev: seed >> 1,
            seq: (seed >> 1) + 1,
            urgent: seed & 1 == 0,
            has_events: seed & 2 == 0,
            payload: payload(2),
        },
        Output::Closed { channel, epoch },
    ];
    let inputs = payload(3);
    let count = usize::try_from(seed % 4).unwrap();
    Record { number, at: at(number), inputs, outputs: outputs[..count.min(3)].to_vec() }
}

/// When a record is made.
pub(crate) fn at(number: u64) -> i64 {
    1_700_000_000_000_000 + i64::try_from(number % 1_000_000_000).unwrap() * 1_000
}

/// Bytes of which zstd can save about half.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed | 1;
    (0..bytes)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
            b"0123456789abcdef"[usize::try_from(state >> 60).unwrap()]
        })
        .collect()
}

pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The files of a folder, without the lock and without what was moved aside.
pub(crate) fn files(folder: &Path) -> Files {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let kept = entries.filter(|path| path.is_file() && !path.ends_with("lock"));
    kept.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

/// Puts the folder's files back.
pub(crate) fn restore(folder: &Path, kept: &Files) {
    for path in files(folder).keys() {
        fs::remove_file(path).unwrap();
    }
    for (path, bytes) in kept {
        fs::write(path, bytes).unwrap();
    }
}

/// Files of segments, oldest first.
pub(crate) fn segments(files: &Files) -> Vec<PathBuf> {
    let is_segment = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "log");
    files.keys().filter(is_segment).cloned().collect()
}
