//! Deletes segments that are no longer kept.

use std::{fs, io};

use fanout::Micros;
use metrics::gauge;
use tracing::warn;

use super::{segment, shared::FileShared, snapshot};
use crate::LogPosition;

/// Deletes the segments whose records are all too old, and the oldest ones if there are too many bytes.
/// Returns how many.
pub(super) fn retain(shared: &FileShared, now: Micros) -> io::Result<usize> {
    let settings = &shared.settings;
    let (snapshots, _) = snapshot::list(&settings.folder)?;
    let snapshot_bytes: u64 = snapshots.iter().map(|snapshot| snapshot.file_bytes).sum();
    let newest = snapshots.first().map(|snapshot| snapshot.position);
    let second = snapshots.get(1).map(|snapshot| snapshot.position);
    // Nothing goes by age alone before there are two snapshots to restart from.
    let age_limit = second.map(|second| {
        let needed = second.at.saturating_sub(settings.tail_us);
        needed.min(now.saturating_sub(settings.records_keep_us))
    });
    let mut deleted = 0;
    loop {
        let (first, last, bytes) = {
            let mut state = shared.state();
            let bytes: u64 = state.segments.values().map(|segment| segment.bytes).sum();
            let bytes = bytes.saturating_add(snapshot_bytes);
            let mut segments = state.segments.iter();
            let (Some((&first, _)), Some((_, next))) = (segments.next(), segments.next()) else {
                break;
            };
            let last = next.before;
            let old = age_limit.is_some_and(|limit| last.at < limit);
            if !old && bytes <= settings.bytes_max {
                gauge!("matchwire_log_bytes").set(bytes as f64);
                break;
            }
            state.segments.remove(&first);
            (first, last, bytes)
        };
        warn_if_needed(newest, last, bytes);
        fs::remove_file(segment::path(&settings.folder, first))?;
        deleted += 1;
    }
    Ok(deleted)
}

fn warn_if_needed(newest: Option<LogPosition>, last: LogPosition, bytes: u64) {
    if newest.is_none_or(|newest| newest.number < last.number) {
        warn!(bytes, "the log has too many bytes: deleted records that a restart needs");
    }
}
